//! Scripts of promises, watches and broadcasts: a reader waits against a write, a close, a drop;
//! nobody is forgotten, and what is read was written.
//!
//! Values are shared by `std`'s `Arc`, which orders nothing in a model: so they hold a watched cell
//! that is written before the send and only read after it.

use super::channel::{Flag, PAST, both, poll};
use super::{SYNC, Script};
use loom::thread;
use myriad_base::sys::cell::UnsafeCell;
use myriad_sync::channel::*;
use myriad_sync::select::{Order, Won, wait, wait_deadline};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Poll, RawWaker, RawWakerVTable, Waker};

struct Value(UnsafeCell<usize>);

// SAFETY: the model watches the cell.
unsafe impl Sync for Value {}
// SAFETY: the model watches the cell.
unsafe impl Send for Value {}

impl Value {
    fn new(n: usize) -> Value {
        let value = Value(UnsafeCell::new(0));
        // SAFETY: it is ours as yet.
        value.0.with_mut(|at| unsafe { *at = n });
        value
    }
    fn get(&self) -> usize {
        // SAFETY: written before it was sent; the model says so if that is not seen.
        self.0.with(|at| unsafe { *at })
    }
}

/// The message's number; 0 if some were missed, `None` if the channel is closed.
fn heard<E>(heard: Result<Heard<Value>, E>) -> Option<usize> {
    heard.ok().map(|heard| heard.message().map_or(0, |value| value.get()))
}

fn read<E>(result: Result<Arc<Value>, E>) -> Option<usize> {
    result.ok().map(|value| value.get())
}

/// Polls until ready, each time when woken.
fn awaited<F: Future>(mut future: Pin<&mut F>, flag: &Flag, waker: &Waker) -> F::Output {
    loop {
        flag.wait();
        if let Poll::Ready(output) = poll(future.as_mut(), waker) {
            return output;
        }
    }
}

/// A reader that blocks, against a write and the last sender's end.
fn write_and_end() {
    let (set, mut get) = watch(Value::new(0));
    let (read, ()) = both(
        move || {
            let first = read(get.recv());
            assert!(get.recv().is_err());
            (first, get.get().get())
        },
        move || assert!(set.send(Value::new(7)).is_ok()),
    );
    assert_eq!(read, (Some(7), 7));
}

/// A promise is given up while somebody waits.
fn given_up_promise() {
    let (set, mut get) = promise::<Value>();
    let (read, ()) = both(move || read(get.recv()), move || drop(set));
    assert_eq!(read, None);
}

/// Closed while a value is written: the reader hears of both, or of the end alone, and nothing
/// comes later.
fn write_or_close() {
    let (set, mut get) = watch(Value::new(0));
    let set2 = set.clone();
    let (flag, waker) = Flag::new();
    let mut get2 = get.clone();
    let mut reading = pin!(get2.recv_async());
    assert!(poll(reading.as_mut(), &waker).is_pending());
    let writer = thread::spawn(move || set2.send(Value::new(7)).is_ok());
    set.close();
    let first = read(awaited(reading.as_mut(), &flag, &waker));
    let written = writer.join().unwrap();
    assert_eq!(first, written.then_some(7));
    assert_eq!(get.get().get(), if written { 7 } else { 0 });
    assert_eq!(read(get.recv()), first);
}

/// Two readers wait, one of them by blocking: one value wakes both.
fn two_readers() {
    let (set, get) = promise();
    let (mut first, mut second) = (get.clone(), get);
    let (flag, waker) = Flag::new();
    let mut reading = pin!(first.recv_async());
    assert!(poll(reading.as_mut(), &waker).is_pending());
    let other = thread::spawn(move || read(second.recv()));
    assert!(set.send(Value::new(7)).is_ok());
    assert_eq!(read(awaited(reading.as_mut(), &flag, &waker)), Some(7));
    assert_eq!(other.join().unwrap(), Some(7));
    drop(set);
}

/// Two set a promise: one does, and all that read agree.
fn two_writers() {
    let (set, mut get) = promise();
    let (set2, mut get2) = (set.clone(), get.clone());
    let (flag, waker) = Flag::new();
    let mut reading = pin!(get2.recv_async());
    assert!(poll(reading.as_mut(), &waker).is_pending());
    let (a, b) = both(move || set.send(Value::new(1)).is_ok(), move || set2.send(Value::new(2)).is_ok());
    let winner = if a { 1 } else { 2 };
    assert!(a != b, "{a} {b}");
    assert_eq!(read(awaited(reading.as_mut(), &flag, &waker)), Some(winner));
    assert_eq!(read(get.recv()), Some(winner));
}

/// Two send at the same time, so two wake: all that wait hear both, in one order.
fn two_that_wake() {
    let (tx, mut rx) = broadcast(2);
    let (tx2, mut rx2) = (tx.clone(), tx.subscribe());
    let ((flag, waker), (flag2, waker2)) = (Flag::new(), Flag::new());
    let mut order = [0; 2];
    {
        let (mut first, mut second) = (pin!(rx.recv_async()), pin!(rx2.recv_async()));
        assert!(poll(first.as_mut(), &waker).is_pending());
        assert!(poll(second.as_mut(), &waker2).is_pending());
        both(move || assert!(tx.send(Value::new(1)).is_ok()), move || assert!(tx2.send(Value::new(2)).is_ok()));
        order[0] = heard(awaited(first.as_mut(), &flag, &waker)).unwrap();
        assert_eq!(heard(awaited(second.as_mut(), &flag2, &waker2)), Some(order[0]));
    }
    order[1] = heard(rx.recv()).unwrap();
    assert_eq!(heard(rx2.recv()), Some(order[1]));
    assert!(order == [1, 2] || order == [2, 1], "{order:?}");
    assert_eq!((heard(rx.recv()), heard(rx2.recv())), (None, None));
}

/// Woken, it waits again, while its waker may still be at work: for the next it is woken, too.
fn waits_again() {
    let (tx, mut rx) = broadcast(2);
    let (all, ()) = both(
        move || (heard(rx.recv()), heard(rx.recv()), heard(rx.recv())),
        move || {
            assert!(tx.send(Value::new(1)).is_ok());
            assert!(tx.send(Value::new(2)).is_ok());
        },
    );
    assert_eq!(all, (Some(1), Some(2), None));
}

/// There is room for one: who is late is told so, and hears the last.
fn too_late() {
    let (tx, mut rx) = broadcast(1);
    let (all, ()) = both(
        move || [heard(rx.recv()), heard(rx.recv()), heard(rx.recv())],
        move || {
            assert!(tx.send(Value::new(1)).is_ok());
            assert!(tx.send(Value::new(2)).is_ok());
        },
    );
    assert!(matches!(all, [Some(0 | 1), Some(2), None]), "{all:?}");
}

/// A reader's time is over when a value comes: it has it, or finds it afterwards.
fn times_out() {
    let (set, get) = watch(Value::new(0));
    let mut impatient = get.clone();
    let (got, ()) = both(
        move || {
            let first = read(impatient.recv_deadline(PAST));
            (first, impatient)
        },
        || assert!(set.send(Value::new(7)).is_ok()),
    );
    let (first, mut impatient) = got;
    assert_eq!(read(impatient.try_recv()), if first.is_some() { None } else { Some(7) });
}

/// The same, and somebody else waits behind it.
fn times_out_before_another() {
    let (set, get) = watch(Value::new(0));
    let (mut impatient, mut patient) = (get.clone(), get);
    let (flag, waker) = Flag::new();
    let other = thread::spawn(move || read(impatient.recv_deadline(PAST)));
    let mut reading = pin!(patient.recv_async());
    assert!(poll(reading.as_mut(), &waker).is_pending());
    assert!(set.send(Value::new(7)).is_ok());
    assert_eq!(read(awaited(reading.as_mut(), &flag, &waker)), Some(7));
    assert!(other.join().unwrap().is_none_or(|n| n == 7));
}

/// Polled again with another waker while a value comes: it is ready, or that waker is woken.
fn polled_again() {
    let (set, mut get) = promise();
    let set2 = set.clone();
    let (got, ()) = both(
        move || {
            let mut reading = pin!(get.recv_async());
            if let Poll::Ready(got) = poll(reading.as_mut(), Waker::noop()) {
                return read(got);
            }
            let (flag, waker) = Flag::new();
            match poll(reading.as_mut(), &waker) {
                Poll::Ready(got) => read(got),
                Poll::Pending => read(awaited(reading.as_mut(), &flag, &waker)),
            }
        },
        move || assert!(set.send(Value::new(7)).is_ok()),
    );
    assert_eq!(got, Some(7));
    drop(set2);
}

/// A waker that is made and used up as often, or somebody has taken it twice.
struct Tally(AtomicUsize);

const TALLY: RawWakerVTable = RawWakerVTable::new(
    |data| {
        // SAFETY: it is leaked, as the script says.
        unsafe { (*data.cast::<Tally>()).0.fetch_add(1, SeqCst) };
        RawWaker::new(data, &TALLY)
    },
    used_up,
    |_| (),
    used_up,
);

fn used_up(data: *const ()) {
    // SAFETY: it is leaked, as the script says.
    let before = unsafe { (*data.cast::<Tally>()).0.fetch_sub(1, SeqCst) };
    assert!(before > 0, "a waker is used twice");
}

/// A reader is dropped while it is woken, and another waits behind it.
fn reader_dropped() {
    let (set, get) = promise();
    let (first, second) = (Box::leak(Box::new(get.clone())), Box::leak(Box::new(get)));
    let tally: &'static Tally = Box::leak(Box::new(Tally(AtomicUsize::new(1))));
    // SAFETY: the table keeps the contract, for what is never freed.
    let counted = unsafe { Waker::from_raw(RawWaker::new(std::ptr::from_ref(tally).cast(), &TALLY)) };
    let (flag, waker) = Flag::new();
    // Its memory stays, so that whoever uses it too late is seen.
    let going = Box::leak(Box::new(first.recv_async()));
    let mut staying = Box::pin(second.recv_async());
    // SAFETY: it is not moved.
    assert!(poll(unsafe { Pin::new_unchecked(&mut *going) }, &counted).is_pending());
    assert!(poll(staying.as_mut(), &waker).is_pending());
    drop(counted);
    struct Going<F>(*mut F);
    // SAFETY: futures of observables are Send.
    unsafe impl<F: Send> Send for Going<F> {}
    let going = Going(going);
    let dropper = thread::spawn(move || {
        let going = going;
        // SAFETY: dropped once.
        unsafe { going.0.drop_in_place() };
    });
    assert!(set.send(Value::new(7)).is_ok());
    assert_eq!(read(awaited(staying.as_mut(), &flag, &waker)), Some(7));
    dropper.join().unwrap();
    drop(staying);
    assert_eq!(tally.0.load(SeqCst), 0, "a waker is left");
}

/// A select waits for a promise and a message: the promise is kept, or the message comes, and
/// nothing is lost by it.
fn in_a_select() {
    let (set, mut get) = promise();
    let mut get2 = get.clone();
    let (tx, rx) = bounded::<usize>(1);
    let rx2 = rx.clone();
    let (won, ()) = both(
        move || match wait(Order::Biased, (get.recv_arm(), rx.recv_arm())) {
            Won::A0(value) => read(value).unwrap(),
            Won::A1(n) => n.unwrap(),
        },
        move || {
            assert!(set.send(Value::new(7)).is_ok());
            tx.try_send(9).unwrap();
        },
    );
    assert!(won == 7 || won == 9);
    assert_eq!(rx2.try_recv().ok(), (won == 7).then_some(9));
    assert_eq!(read(get2.recv()), Some(7));
}

/// A select whose time is over: what it does not take is there afterwards.
fn in_a_select_out_of_time() {
    let (tx, mut rx) = broadcast(2);
    let (_tx2, rx2) = bounded::<usize>(1);
    let tx2 = tx.clone();
    let ((won, mut rx), ()) = both(
        move || {
            let won = match wait_deadline(Order::Biased, PAST, (rx.recv_arm(), rx2.recv_arm())) {
                Some(Won::A0(got)) => heard(got),
                Some(Won::A1(_)) => unreachable!(),
                None => None,
            };
            (won, rx)
        },
        move || assert!(tx.send(Value::new(7)).is_ok()),
    );
    assert_eq!(heard(rx.try_recv()), if won.is_some() { None } else { Some(7) });
    drop(tx2);
}

/// Closed while a select enters.
fn closed_under_a_select() {
    let (tx, mut rx) = broadcast::<Value>(1);
    let (_tx2, rx2) = bounded::<usize>(1);
    let (closed, ()) = both(
        move || match wait(Order::Biased, (rx2.recv_arm(), rx.recv_arm())) {
            Won::A0(_) => unreachable!(),
            Won::A1(heard) => heard.is_err(),
        },
        move || drop(tx),
    );
    assert!(closed);
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, bound: (Some(4), None), mutants, ..SYNC }
}

pub const SCRIPTS: &[Script] = &[
    script("observable.write_and_end", write_and_end, &["close-calls-nobody"]),
    script("observable.given_up_promise", given_up_promise, &["close-calls-nobody"]),
    script("observable.write_or_close", write_or_close, &[]),
    script("observable.two_readers", two_readers, &["observable-wakes-one"]),
    script("observable.two_writers", two_writers, &[]),
    script("observable.two_that_wake", two_that_wake, &[]),
    script("observable.waits_again", waits_again, &[]),
    script("observable.too_late", too_late, &[]),
    script("observable.times_out", times_out, &[]),
    script("observable.times_out_before_another", times_out_before_another, &[]),
    script("observable.polled_again", polled_again, &[]),
    script("observable.reader_dropped", reader_dropped, &["waking-forgotten", "observable-give-up-unchecked"]),
    script("observable.in_a_select", in_a_select, &[]),
    script("observable.in_a_select_out_of_time", in_a_select_out_of_time, &[]),
    script("observable.closed_under_a_select", closed_under_a_select, &["link-unread"]),
];
