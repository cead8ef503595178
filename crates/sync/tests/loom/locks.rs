//! Scripts of locks: one at a time, each sees what those before did; who waits is woken; what is
//! given up has had no effect.
//!
//! A third waiter is a future that one of the two threads polls: of three threads that want a spin
//! lock two may spin for ever.

use super::channel::{Book, Flag, Message, PAST, block_on, both, poll, received};
use super::{SYNC, Script};
use loom::thread;
use myriad_base::sys::cell::UnsafeCell;
use myriad_sync::lock::*;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A watched number behind a lock.
type Count = UnsafeCell<usize>;

fn counter() -> Arc<Mutex<Count>> {
    Arc::new(Mutex::new(UnsafeCell::new(0)))
}

/// Adds one; the model says so if another one is inside, or its work not visible.
fn add(count: &Count) {
    // SAFETY: whoever calls has the lock; the model checks it.
    count.with_mut(|n| unsafe { *n += 1 });
}

fn get(count: &Count) -> usize {
    // SAFETY: whoever calls has the lock, or is the last; the model checks it.
    count.with(|n| unsafe { *n })
}

fn locked(lock: &Mutex<Count>) {
    add(&lock.lock().unwrap());
}

fn is_ready<T>(polled: Poll<T>) -> bool {
    polled.is_ready()
}

/// Two threads, each locks once, and blocks if it must.
fn mutex_two() {
    let lock = counter();
    let l = lock.clone();
    both(move || locked(&l), || locked(&lock));
    assert_eq!(get(&lock.lock().unwrap()), 2);
    assert!(!lock.is_locked());
}

/// The same after somebody has waited: unlocking is watched.
fn mutex_two_calm() {
    let lock = counter();
    let guard = lock.lock().unwrap();
    drop(polled_once(&lock));
    drop(guard);
    let l = lock.clone();
    both(move || locked(&l), || locked(&lock));
    assert_eq!(get(&lock.lock().unwrap()), 2);
}

/// A future that stands in line.
fn polled_once(lock: &Mutex<Count>) -> std::pin::Pin<Box<LockFuture<'_, Count>>> {
    let mut waiting = Box::pin(lock.lock_async());
    assert!(poll(waiting.as_mut(), Waker::noop()).is_pending());
    waiting
}

/// One unlocks while another begins to wait, gives up, and a third begins: the unlocker may have
/// begun when nobody waited.
fn mutex_given_up_between() {
    let lock = counter();
    let guard = lock.lock().unwrap();
    let l = lock.clone();
    let waiter = thread::spawn(move || {
        let mut first = Box::pin(l.lock_async());
        if is_ready(poll(first.as_mut(), Waker::noop())) {
            return;
        }
        drop(first);
        locked(&l);
    });
    add(&guard);
    drop(guard);
    waiter.join().unwrap();
    assert!(lock.try_lock().is_ok());
}

/// Somebody waits in line before; woken, or not, it is dropped: the one behind gets the lock.
fn mutex_cancelled() {
    let lock: &'static Mutex<Count> = Box::leak(Box::new(Mutex::new(UnsafeCell::new(0))));
    let guard = lock.lock().unwrap();
    let first = polled_once(lock);
    let waiter = thread::spawn(move || {
        drop(first);
        locked(lock);
    });
    add(&guard);
    drop(guard);
    waiter.join().unwrap();
    assert_eq!(get(&lock.lock().unwrap()), 2);
    free(lock);
}

/// The same with the one behind on the unlocking thread's side, already in line.
fn mutex_cancelled_before_another() {
    let lock: &'static Mutex<Count> = Box::leak(Box::new(Mutex::new(UnsafeCell::new(0))));
    let guard = lock.lock().unwrap();
    let first = polled_once(lock);
    let (flag, waker) = Flag::new();
    let mut second = Box::pin(lock.lock_async());
    assert!(poll(second.as_mut(), &waker).is_pending());
    let dropper = thread::spawn(move || drop(first));
    drop(guard);
    loop {
        flag.wait();
        if let Poll::Ready(guard) = poll(second.as_mut(), &waker) {
            add(&guard.unwrap());
            break;
        }
    }
    dropper.join().unwrap();
    drop(second);
    assert!(lock.try_lock().is_ok());
    free(lock);
}

fn free<T>(leaked: &'static T) {
    // SAFETY: made by `Box::leak`, and not used any more.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(leaked).cast_mut()) });
}

/// A time limit runs out while it is unlocked.
fn mutex_times_out() {
    let lock = counter();
    let guard = lock.lock().unwrap();
    let l = lock.clone();
    let impatient = thread::spawn(move || l.lock_deadline(PAST).map(|guard| add(&guard)).is_ok());
    add(&guard);
    drop(guard);
    let n = usize::from(impatient.join().unwrap());
    assert_eq!(get(&lock.try_lock().unwrap()), 1 + n);
}

/// Starving, it is handed the lock by the other thread; or it is dropped, and unlocks.
fn mutex_handed_over() {
    let lock: &'static Mutex<Count> = Box::leak(Box::new(Mutex::new(UnsafeCell::new(0))));
    let mut guard = lock.lock().unwrap();
    let (flag, waker) = Flag::new();
    let mut starving = Box::pin(lock.lock_async());
    assert!(poll(starving.as_mut(), &waker).is_pending());
    for _ in 0..4 {
        drop(guard);
        flag.wait();
        guard = lock.try_lock().unwrap();
        assert!(poll(starving.as_mut(), &waker).is_pending());
    }
    let unlocker = thread::spawn(move || {
        add(&guard);
        drop(guard);
        locked(lock);
    });
    flag.wait();
    let Poll::Ready(guard) = poll(starving.as_mut(), &waker) else { panic!("it was not handed over") };
    add(&guard.unwrap());
    unlocker.join().unwrap();
    drop(starving);
    assert_eq!(get(&lock.try_lock().unwrap()), 3);
    free(lock);
}

/// No notification is missed between the look at the value and the wait.
fn condition_not_missed() {
    let shared = Arc::new((counter(), Condvar::new()));
    let s = shared.clone();
    both(
        move || {
            let mut guard = s.0.lock().unwrap();
            while get(&guard) == 0 {
                guard = s.1.wait(guard).unwrap();
            }
        },
        || {
            locked(&shared.0);
            shared.1.notify_one();
        },
    );
}

/// Nobody wakes for nothing: a wait ends after the notification that was made under the lock.
fn condition_not_for_nothing() {
    let shared = Arc::new((counter(), Condvar::new()));
    let guard = shared.0.lock().unwrap();
    let s = shared.clone();
    let notifier = thread::spawn(move || {
        locked(&s.0);
        s.1.notify_all();
    });
    let guard = shared.1.wait(guard).unwrap();
    assert_eq!(get(&guard), 1);
    drop(guard);
    notifier.join().unwrap();
}

/// One that is notified gives up: the other one is.
fn condition_given_up() {
    let shared: &'static (Mutex<Count>, Condvar) =
        Box::leak(Box::new((Mutex::new(UnsafeCell::new(0)), Condvar::new())));
    let mut first = Box::pin(shared.1.wait_async(shared.0.lock().unwrap()));
    assert!(poll(first.as_mut(), Waker::noop()).is_pending());
    let (flag, waker) = Flag::new();
    let mut second = Box::pin(shared.1.wait_async(shared.0.lock().unwrap()));
    assert!(poll(second.as_mut(), &waker).is_pending());
    let dropper = thread::spawn(move || drop(first));
    shared.1.notify_one();
    flag.wait();
    dropper.join().unwrap();
    assert!(poll(second.as_mut(), &waker).is_ready());
    drop(second);
    free(shared);
}

/// A notification with a value: the one who waits has it, or whoever sent it.
fn value_or_nobody() {
    let book = Arc::new(Book::default());
    let condition = Arc::new(Condition::new());
    let (c, message) = (condition.clone(), book.message(7));
    let (got, back) = both(
        move || received(c.wait_deadline(PAST)),
        move || condition.notify_one(message).err().map(|message| message.id()),
    );
    assert!(matches!((got, back), (Some(7), None) | (None, Some(7))), "{got:?} {back:?}");
    book.assert_all_dropped();
}

/// One that has a value sent to it gives up: the other one has it.
fn value_given_up() {
    let book = Arc::new(Book::default());
    let condition: &'static Condition<Message> = Box::leak(Box::new(Condition::new()));
    let (flag, waker) = Flag::new();
    let (mut first, mut second) = (Box::pin(condition.wait_async()), Box::pin(condition.wait_async()));
    assert!(poll(first.as_mut(), Waker::noop()).is_pending());
    assert!(poll(second.as_mut(), &waker).is_pending());
    let dropper = thread::spawn(move || drop(first));
    assert!(condition.notify_one(book.message(7)).is_ok());
    flag.wait();
    dropper.join().unwrap();
    let Poll::Ready(got) = poll(second.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(got.id(), 7);
    drop((got, second));
    book.assert_all_dropped();
    free(condition);
}

/// No value is missed between the look under the lock and the wait.
fn value_not_missed() {
    let shared = Arc::new((counter(), Condition::new()));
    let s = shared.clone();
    both(
        move || {
            let guard = s.0.lock().unwrap();
            if get(&guard) == 0 {
                let (guard, value) = s.1.wait_with(guard).unwrap();
                assert_eq!((get(&guard), value), (1, 7));
            }
        },
        || {
            let guard = shared.0.lock().unwrap();
            add(&guard);
            _ = shared.1.notify_one(7);
        },
    );
}

/// A permit comes back while one wait for it runs out; another waits on, and gets it.
fn semaphore_times_out() {
    let semaphore: &'static Semaphore = Box::leak(Box::new(Semaphore::new(1)));
    let held = semaphore.acquire();
    let impatient = thread::spawn(move || semaphore.acquire_deadline(PAST).is_ok());
    let (flag, waker) = Flag::new();
    let mut patient = Box::pin(semaphore.acquire_async());
    assert!(poll(patient.as_mut(), &waker).is_pending());
    drop(held);
    flag.wait();
    assert!(poll(patient.as_mut(), &waker).is_ready());
    impatient.join().unwrap();
    drop(patient);
    assert_eq!(semaphore.available(), 1);
    free(semaphore);
}

/// One that wants two stands before one that wants one, and is dropped.
fn semaphore_cancelled() {
    let semaphore: &'static Semaphore = Box::leak(Box::new(Semaphore::new(2)));
    let held = semaphore.acquire();
    let mut big = Box::pin(semaphore.acquire_many_async(2));
    assert!(poll(big.as_mut(), Waker::noop()).is_pending());
    let (flag, waker) = Flag::new();
    let mut small = Box::pin(semaphore.acquire_async());
    assert!(poll(small.as_mut(), &waker).is_pending());
    let dropper = thread::spawn(move || drop(big));
    drop(held);
    flag.wait();
    assert!(poll(small.as_mut(), &waker).is_ready());
    dropper.join().unwrap();
    drop(small);
    assert_eq!(semaphore.available(), 2);
    free(semaphore);
}

/// A permit is handed to one that blocks: what was done under it is visible.
fn semaphore_hand_over() {
    let shared = Arc::new((Semaphore::new(1), Shared(UnsafeCell::new(0))));
    let s = shared.clone();
    let work = |s: &(Semaphore, Shared)| {
        let _permit = s.0.acquire();
        add(&s.1.0);
    };
    both(move || work(&s), || work(&shared));
    assert_eq!((get(&shared.1.0), shared.0.available()), (2, 1));
}

struct Shared(Count);
// SAFETY: the model watches the cell.
unsafe impl Sync for Shared {}
// SAFETY: the model watches the cell.
unsafe impl Send for Shared {}

/// Two call it at the same time: one does it, both see what it did.
fn once_two() {
    let shared = Arc::new((Once::new(), Shared(UnsafeCell::new(0))));
    let s = shared.clone();
    let call = |s: &(Once, Shared)| {
        s.0.call_once(|| add(&s.1.0));
        assert_eq!(get(&s.1.0), 1);
    };
    both(move || call(&s), || call(&shared));
}

/// A look without a call sees what was done, or nothing.
fn once_looked_at() {
    let cell = Arc::new(OnceLock::new());
    let c = cell.clone();
    both(
        move || assert!(c.set(Shared(UnsafeCell::new(7))).is_ok()),
        || {
            if let Some(value) = cell.get() {
                assert_eq!(get(&value.0), 7);
            }
        },
    );
}

/// It is tried in vain: one that waits tries again.
fn once_in_vain() {
    let cell: &'static OnceLock<usize> = Box::leak(Box::new(OnceLock::new()));
    let mut first = Box::pin(cell.get_or_init_async(std::future::pending));
    assert!(poll(first.as_mut(), Waker::noop()).is_pending());
    let dropper = thread::spawn(move || drop(first));
    assert_eq!(block_on(cell.get_or_init_async(|| async { 2 })), &2);
    dropper.join().unwrap();
    free(cell);
}

fn rw() -> &'static RwLock<Shared> {
    Box::leak(Box::new(RwLock::new(Shared(UnsafeCell::new(0)))))
}

/// A writer and one that reads, then writes.
fn rwlock_two() {
    let lock = rw();
    both(
        move || add(&lock.write().unwrap().0),
        || {
            let n = get(&lock.read().unwrap().0);
            let guard = lock.write().unwrap();
            assert!(get(&guard.0) >= n);
            add(&guard.0);
        },
    );
    assert_eq!(get(&lock.try_read().unwrap().0), 2);
    assert!(lock.try_write().is_ok());
    free(lock);
}

/// What a reader has read comes before what the next writer writes.
fn rwlock_reader_leaves() {
    let lock = rw();
    let reading = lock.read().unwrap();
    let writer = thread::spawn(move || add(&lock.write().unwrap().0));
    assert_eq!(get(&reading.0), 0);
    drop(reading);
    writer.join().unwrap();
    free(lock);
}

/// A time limit runs out while the writer leaves; then the lock is taken without waiting.
fn rwlock_writer_leaves() {
    let lock = rw();
    let mut writing = lock.write().unwrap();
    let impatient = thread::spawn(move || {
        if lock.write_deadline(PAST).map(|guard| add(&guard.0)).is_err() {
            add(&lock.write().unwrap().0);
        }
    });
    add(&writing.0);
    drop(writing);
    impatient.join().unwrap();
    writing = lock.try_write().unwrap();
    assert_eq!(get(&writing.0), 2);
    drop(writing);
    free(lock);
}

/// When the reader that a leaving writer has woken is gone, nobody has the lock, though the writer
/// may not have returned.
fn rwlock_writer_holds_nothing() {
    let lock = rw();
    let writing = lock.write().unwrap();
    let (flag, waker) = Flag::new();
    let mut reader = Box::pin(lock.read_async());
    assert!(poll(reader.as_mut(), &waker).is_pending());
    let leaver = thread::spawn(move || {
        add(&writing.0);
        drop(writing);
    });
    flag.wait();
    let Poll::Ready(guard) = poll(reader.as_mut(), &waker) else { panic!("woken for nothing") };
    assert_eq!(get(&guard.unwrap().0), 1);
    drop(reader);
    add(&lock.try_write().expect("nobody reads, nobody writes").0);
    leaver.join().unwrap();
    free(lock);
}

/// A reader gives up while a leaving writer lets it in, before or after it is woken: it does not
/// stay counted.
fn rwlock_let_in_and_given_up() {
    let lock = rw();
    let writing = lock.write().unwrap();
    let mut reader = Box::pin(lock.read_async());
    assert!(poll(reader.as_mut(), Waker::noop()).is_pending());
    let dropper = thread::spawn(move || drop(reader));
    drop(writing);
    dropper.join().unwrap();
    assert!(lock.try_write().is_ok());
    free(lock);
}

/// A writer that waits gives up while the reader leaves; a reader behind it is let in.
fn rwlock_given_up() {
    let lock = rw();
    let reading = lock.read().unwrap();
    let mut writer = Box::pin(lock.write_async());
    assert!(poll(writer.as_mut(), Waker::noop()).is_pending());
    let (flag, waker) = Flag::new();
    let mut reader = Box::pin(lock.read_async());
    assert!(poll(reader.as_mut(), &waker).is_pending());
    let dropper = thread::spawn(move || drop(writer));
    drop(reading);
    flag.wait();
    assert!(poll(reader.as_mut(), &waker).is_ready());
    dropper.join().unwrap();
    drop(reader);
    assert!(lock.try_write().is_ok());
    free(lock);
}

/// The same by a time limit.
fn rwlock_times_out() {
    let lock = rw();
    let reading = lock.read().unwrap();
    let impatient = thread::spawn(move || lock.write_deadline(PAST).is_ok());
    let mut reader = Box::pin(lock.read_async());
    let (flag, waker) = Flag::new();
    let waits = poll(reader.as_mut(), &waker).is_pending();
    drop(reading);
    if waits {
        flag.wait();
        assert!(poll(reader.as_mut(), &waker).is_ready());
    }
    impatient.join().unwrap();
    drop(reader);
    assert!(lock.try_write().is_ok());
    free(lock);
}

/// Set while one that waits gives up: the setting is kept, or another is let go.
fn event_given_up() {
    let event: &'static Event = Box::leak(Box::new(Event::auto_reset()));
    let mut first = Box::pin(event.wait_async());
    assert!(poll(first.as_mut(), Waker::noop()).is_pending());
    let dropper = thread::spawn(move || drop(first));
    event.set();
    event.wait();
    dropper.join().unwrap();
    assert!(!event.is_set());
    free(event);
}

/// Two meet, one of them with a time limit: both have met, or none.
fn barrier_times_out() {
    let barrier = Arc::new(Barrier::new(2));
    let b = barrier.clone();
    let (a, b) = both(move || b.wait_deadline(PAST).ok(), || barrier.wait_deadline(PAST).ok());
    assert_eq!(a.is_some(), b.is_some());
    if let (Some(a), Some(b)) = (a, b) {
        assert_ne!(a.is_leader(), b.is_leader());
    }
    assert_eq!(barrier.arrived(), 0);
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, bound: (Some(4), None), mutants, ..SYNC }
}

pub const SCRIPTS: &[Script] = &[
    script(
        "lock.mutex_two",
        mutex_two,
        &["mutex-acquire", "mutex-release", "unlock-light", "unlock-unread", "begin-no-heavy"],
    ),
    script("lock.mutex_two_calm", mutex_two_calm, &["unlock-swap", "begin-swap"]),
    script("lock.mutex_given_up_between", mutex_given_up_between, &[]),
    script("lock.mutex_cancelled", mutex_cancelled, &[]),
    script("lock.mutex_cancelled_before_another", mutex_cancelled_before_another, &["wake-not-passed-on"]),
    script("lock.mutex_times_out", mutex_times_out, &[]),
    script("lock.mutex_handed_over", mutex_handed_over, &[]),
    script("lock.condition_not_missed", condition_not_missed, &["unlock-before-wait"]),
    script("lock.condition_not_for_nothing", condition_not_for_nothing, &[]),
    script("lock.condition_given_up", condition_given_up, &["notification-lost"]),
    script("lock.semaphore_times_out", semaphore_times_out, &[]),
    script("lock.value_or_nobody", value_or_nobody, &[]),
    script("lock.value_given_up", value_given_up, &["value-lost"]),
    script("lock.value_not_missed", value_not_missed, &[]),
    script("lock.semaphore_cancelled", semaphore_cancelled, &[]),
    script("lock.semaphore_hand_over", semaphore_hand_over, &[]),
    script("lock.once_two", once_two, &["once-release", "once-acquire"]),
    script("lock.once_looked_at", once_looked_at, &["once-release", "once-acquire"]),
    script("lock.once_in_vain", once_in_vain, &[]),
    script("lock.rwlock_two", rwlock_two, &["read-acquire", "write-acquire", "leave-write"]),
    script("lock.rwlock_reader_leaves", rwlock_reader_leaves, &["leave-read"]),
    script("lock.rwlock_writer_leaves", rwlock_writer_leaves, &["leave-write-slow"]),
    script("lock.rwlock_writer_holds_nothing", rwlock_writer_holds_nothing, &["writer-entry-held"]),
    script("lock.rwlock_let_in_and_given_up", rwlock_let_in_and_given_up, &["let-go-forgotten"]),
    script("lock.rwlock_given_up", rwlock_given_up, &[]),
    script("lock.rwlock_times_out", rwlock_times_out, &[]),
    script("lock.event_given_up", event_given_up, &[]),
    script("lock.barrier_times_out", barrier_times_out, &[]),
];
