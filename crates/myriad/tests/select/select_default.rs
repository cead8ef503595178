//! A select with `default`, and one whose time is over, say that nothing was ready *at one moment*.
//! So they do not say it while at each moment one of the arms is, however these take turns.
//!
//! Two arms take turns here *within* a pass of the select: arms that are futures stand between
//! them, and are polled there.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select::{Order, Select};
use myriad::{select, select_async};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// Runs it on this thread, and in a task of each sort of runtime.
fn everywhere(body: impl Fn() + Sync) {
    {
        let _watch = crate::common::watch("plain thread");
        body();
    }
    each_runtime(|rt| rt.run(&body));
}

/// An arm that is ready now and then.
trait Turns: Send {
    /// Makes this one ready; the other one is.
    fn begin(&mut self);
    /// Makes it not ready.
    fn end(&mut self);
}

type InLine = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Twice, because the first poll may find that the task has done enough in a row.
fn stand_in_line(future: &mut InLine) {
    for _ in 0..2 {
        assert!(poll_once(future.as_mut()).is_pending());
    }
}

/// A message in the buffer.
struct Buffered(Sender<u32>, Receiver<u32>);

impl Turns for Buffered {
    fn begin(&mut self) {
        self.0.try_send(1).unwrap();
    }
    fn end(&mut self) {
        self.1.try_recv().unwrap();
    }
}

/// A sender in line at a rendezvous.
struct Waiting(Sender<u32>, Option<InLine>);

impl Turns for Waiting {
    fn begin(&mut self) {
        let tx = self.0.clone();
        let mut sending: InLine = Box::pin(async move { tx.send_async(1).await.unwrap() });
        stand_in_line(&mut sending);
        self.1 = Some(sending);
    }
    fn end(&mut self) {
        self.1 = None;
    }
}

/// A message that comes back from a receive that was dropped; before the select begins they stand
/// in line and have been handed messages.
struct Back {
    receiver: Receiver<u32>,
    handed: Vec<InLine>,
    /// Keeps the channel open.
    _sender: Sender<u32>,
}

impl Back {
    fn new() -> (Back, Receiver<u32>) {
        let (tx, rx) = bounded(1);
        let handed = (0..20).map(|_| {
            let rx = rx.clone();
            let mut receiving: InLine = Box::pin(async move { _ = rx.recv_async().await });
            stand_in_line(&mut receiving);
            tx.try_send(1).unwrap();
            receiving
        });
        let handed = handed.collect();
        let back = Back { receiver: rx.clone(), handed, _sender: tx };
        (back, rx)
    }
}

impl Turns for Back {
    fn begin(&mut self) {
        drop(self.handed.pop().expect("the test has enough of them"));
    }
    fn end(&mut self) {
        self.receiver.try_recv().unwrap();
    }
}

/// Room in the buffer, for an arm that sends.
struct Room(Sender<u32>, Receiver<u32>);

impl Turns for Room {
    fn begin(&mut self) {
        self.1.try_recv().unwrap();
    }
    fn end(&mut self) {
        self.0.try_send(1).unwrap();
    }
}

/// A receiver in line at a rendezvous, for an arm that sends.
struct Wanted(Receiver<u32>, Option<InLine>);

impl Turns for Wanted {
    fn begin(&mut self) {
        let rx = self.0.clone();
        let mut receiving: InLine = Box::pin(async move { _ = rx.recv_async().await });
        stand_in_line(&mut receiving);
        self.1 = Some(receiving);
    }
    fn end(&mut self) {
        self.1 = None;
    }
}

/// Two that take turns: one of them is ready at each moment.
struct Game {
    players: [Box<dyn Turns>; 2],
    /// Whose turn it is.
    ready: usize,
    /// How often that changes.
    left: usize,
}

impl Game {
    /// The second is ready.
    fn new(mut players: [Box<dyn Turns>; 2], changes: usize) -> Arc<Mutex<Game>> {
        players[1].begin();
        Arc::new(Mutex::new(Game { players, ready: 1, left: changes }))
    }

    /// From now on this one is ready.
    fn pass_to(&mut self, next: usize) {
        if self.ready != next && self.left > 0 {
            self.left -= 1;
            self.players[next].begin();
            self.players[self.ready].end();
            self.ready = next;
        }
    }
}

/// A future that is never ready. When it is polled, it makes this one ready.
fn pass_to(game: &Arc<Mutex<Game>>, next: usize) -> impl Future<Output = ()> + Send + use<> {
    let game = game.clone();
    poll_fn(move |_| {
        game.lock().unwrap().pass_to(next);
        Poll::Pending
    })
}

/// All forms of a select over two receivers, whose messages take turns.
fn all_forms(what: &str, make: impl Fn() -> ([Box<dyn Turns>; 2], Receiver<u32>, Receiver<u32>)) {
    for changes in 0..9 {
        for form in 0..6 {
            let (players, a, b) = make();
            let game = Game::new(players, changes);
            let (to_a, to_b) = (pass_to(&game, 0), pass_to(&game, 1));
            let arms = (a.recv_arm(), to_a, b.recv_arm(), to_b);
            let found = match form {
                0 => select! {
                    biased;
                    _ = a.recv() => true,
                    _ = arms.1 => unreachable!(),
                    _ = b.recv() => true,
                    _ = arms.3 => unreachable!(),
                    default => false,
                },
                1 => {
                    let arms = (arms.0, select::future(arms.1), arms.2, select::future(arms.3));
                    select::try_wait(Order::Biased, arms).is_some()
                }
                2 => {
                    let mut select = Select::biased();
                    select.add(arms.0, |_| ()).add(select::future(arms.1), |()| ());
                    select.add(arms.2, |_| ()).add(select::future(arms.3), |()| ());
                    select.try_wait().is_some()
                }
                3 => myriad::block_on(async {
                    select_async! {
                        biased;
                        _ = a.recv() => true,
                        _ = arms.1 => unreachable!(),
                        _ = b.recv() => true,
                        _ = arms.3 => unreachable!(),
                        default => false,
                    }
                }),
                4 => {
                    let arms = (arms.0, select::future(arms.1), arms.2, select::future(arms.3));
                    select::wait_timeout(Order::Biased, Duration::ZERO, arms).is_some()
                }
                _ => {
                    let mut select = Select::biased();
                    select.add(arms.0, |_| ()).add(select::future(arms.1), |()| ());
                    select.add(arms.2, |_| ()).add(select::future(arms.3), |()| ());
                    select.wait_timeout(Duration::ZERO).is_some()
                }
            };
            assert!(found, "{what}, {changes} changes, form {form}: one was ready all the time");
        }
    }
}

#[test]
fn messages_that_take_turns_are_found() {
    everywhere(|| {
        all_forms("buffered", || {
            let ((tx, rx), (tx2, rx2)) = (bounded(1), bounded(1));
            ([Box::new(Buffered(tx, rx.clone())), Box::new(Buffered(tx2, rx2.clone()))], rx, rx2)
        });
        all_forms("in any number", || {
            let ((tx, rx), (tx2, rx2)) = (unbounded(), unbounded());
            ([Box::new(Buffered(tx, rx.clone())), Box::new(Buffered(tx2, rx2.clone()))], rx, rx2)
        });
        all_forms("at a rendezvous", || {
            let ((tx, rx), (tx2, rx2)) = (rendezvous(), rendezvous());
            ([Box::new(Waiting(tx, None)), Box::new(Waiting(tx2, None))], rx, rx2)
        });
        all_forms("given back", || {
            let ((back, rx), (back2, rx2)) = (Back::new(), Back::new());
            ([Box::new(back), Box::new(back2)], rx, rx2)
        });
    });
}

#[test]
fn room_that_takes_turns_is_found() {
    everywhere(|| {
        for changes in 0..9 {
            for at_a_rendezvous in [false, true] {
                let capacity = if at_a_rendezvous { 0 } else { 1 };
                let ((tx, rx), (tx2, rx2)) = (bounded::<u32>(capacity), bounded::<u32>(capacity));
                let player = |tx: &Sender<u32>, rx: &Receiver<u32>| -> Box<dyn Turns> {
                    if at_a_rendezvous {
                        return Box::new(Wanted(rx.clone(), None));
                    }
                    tx.try_send(0).unwrap();
                    Box::new(Room(tx.clone(), rx.clone()))
                };
                let game = Game::new([player(&tx, &rx), player(&tx2, &rx2)], changes);
                let (to_a, to_b) = (pass_to(&game, 0), pass_to(&game, 1));
                let found = select! {
                    biased;
                    sent = tx.send(7) => sent.is_ok(),
                    _ = to_a => unreachable!(),
                    sent = tx2.send(7) => sent.is_ok(),
                    _ = to_b => unreachable!(),
                    default => false,
                };
                assert!(found, "{changes} changes, at a rendezvous: {at_a_rendezvous}");
            }
        }
    });
}

/// It does say so when it is so: also while others move messages about, as long as they come to an
/// end.
#[test]
fn nothing_ready_is_said() {
    everywhere(|| {
        let ((_tx, rx), (_tx2, rx2)) = (bounded::<u32>(1), rendezvous::<u32>());
        let (full, _left) = bounded(1);
        full.send(1).unwrap();
        assert!(
            select! { _ = rx.recv() => false, _ = rx2.recv() => false, _ = full.send(2) => false, default => true }
        );
        assert!(select! { _ = rx.recv() => false, default => true });
        assert!(select! { default => true });
        let mut select = Select::new();
        select.recv(&rx, |_| ()).recv(&rx2, |_| ());
        assert_eq!(select.try_wait(), None);
        assert_eq!(select.wait_timeout(Duration::ZERO), None);
    });
}

/// So many rounds of each kind; `MYRIAD_TEST_ROUNDS` for another number.
fn rounds() -> usize {
    std::env::var("MYRIAD_TEST_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(4_000)
}

/// Where two meet at the beginning and at the end of each round, without leaving their processors
/// if they can.
#[derive(Default)]
struct Meeting(AtomicUsize);

impl Meeting {
    /// Number `n` of the meetings.
    fn meet(&self, n: usize) {
        self.0.fetch_add(1, AcqRel);
        let mut looks = 0_u32;
        while self.0.load(Acquire) < 2 * n {
            looks += 1;
            if looks.is_multiple_of(256) { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

/// In each round a message is in one of two channels at each moment, and another one moves it while
/// this one selects. The first says how often the default was taken; the second, how often it has
/// moved the message.
fn one_of_two(rounds: usize) -> [Box<dyn FnOnce() -> usize + Send>; 2] {
    let ((s1, r1), (s2, r2)) = (bounded(1), bounded(1));
    let (r1b, meeting) = (r1.clone(), Arc::new(Meeting::default()));
    let other = meeting.clone();
    let selects = Box::new(move || {
        let mut dynamic = Select::new();
        dynamic.recv(&r1, |got| got.is_ok()).recv(&r2, |got| got.is_ok());
        let mut missed = 0;
        for round in 0..rounds {
            s1.send(1).unwrap();
            meeting.meet(2 * round + 1);
            let found = match round % 2 {
                0 => select! { _ = r1.recv() => true, _ = r2.recv() => true, default => false },
                _ => dynamic.try_wait().is_some(),
            };
            missed += usize::from(!found);
            meeting.meet(2 * round + 2);
            _ = r2.try_recv();
            _ = r1.try_recv();
        }
        missed
    });
    let moves = Box::new(move || {
        let mut moved = 0;
        for round in 0..rounds {
            other.meet(2 * round + 1);
            s2.send(1).unwrap();
            moved += usize::from(r1b.try_recv().is_ok());
            other.meet(2 * round + 2);
        }
        moved
    });
    [selects, moves]
}

/// A watch that has patience for so many rounds.
fn watch_rounds(what: &str, rounds: usize) -> impl Drop + use<> {
    watch_for(what, Duration::from_secs(600.max(rounds as u64 / 2_000)))
}

#[test]
fn the_default_is_not_taken_while_one_is_ready() {
    let rounds = rounds();
    for mode in modes() {
        let _watch = watch_rounds(&mode.to_string(), rounds);
        let rt = mode.builder().workers(2).pin_workers(false).build().unwrap();
        let tasks = one_of_two(rounds).map(|body| rt.spawn(body));
        let [missed, moved] = tasks.map(|task| task.join().unwrap());
        println!("{mode}: of {rounds} rounds {moved} moved the message");
        assert_eq!(missed, 0, "{mode}");
    }
}

#[test]
fn the_default_is_not_taken_while_one_is_ready_on_plain_threads() {
    let rounds = rounds();
    let _watch = watch_rounds("plain threads", rounds);
    let threads = one_of_two(rounds).map(std::thread::spawn);
    let [missed, moved] = threads.map(|thread| thread.join().unwrap());
    println!("plain threads: of {rounds} rounds {moved} moved the message");
    assert_eq!(missed, 0);
}

/// The same in futures.
fn one_of_two_async(rounds: usize) -> [Pin<Box<dyn Future<Output = usize> + Send>>; 2] {
    let ((s1, r1), (s2, r2)) = (bounded(1), bounded(1));
    let (r1b, meeting) = (r1.clone(), Arc::new(Meeting::default()));
    let other = meeting.clone();
    let selects = Box::pin(async move {
        let mut missed = 0;
        for round in 0..rounds {
            s1.send_async(1).await.unwrap();
            meeting.meet(2 * round + 1);
            let found = select_async! { _ = r1.recv() => true, _ = r2.recv() => true, default => false };
            missed += usize::from(!found);
            meeting.meet(2 * round + 2);
            _ = r2.try_recv();
            _ = r1.try_recv();
        }
        missed
    });
    let moves = Box::pin(async move {
        let mut moved = 0;
        for round in 0..rounds {
            other.meet(2 * round + 1);
            s2.send_async(1).await.unwrap();
            moved += usize::from(r1b.try_recv().is_ok());
            other.meet(2 * round + 2);
        }
        moved
    });
    [selects, moves]
}

#[test]
fn the_default_of_the_async_form_is_not_taken_while_one_is_ready() {
    let rounds = rounds();
    for mode in modes() {
        let _watch = watch_rounds(&mode.to_string(), rounds);
        let rt = mode.builder().workers(2).pin_workers(false).build().unwrap();
        let tasks = one_of_two_async(rounds).map(|future| rt.spawn_async(future));
        let [missed, moved] = tasks.map(|task| task.join().unwrap());
        println!("futures, {mode}: of {rounds} rounds {moved} moved the message");
        assert_eq!(missed, 0, "{mode}");
    }
}

#[test]
fn the_default_of_the_async_form_is_not_taken_while_one_is_ready_on_plain_threads() {
    let rounds = rounds();
    let _watch = watch_rounds("plain threads", rounds);
    let threads = one_of_two_async(rounds).map(|future| std::thread::spawn(move || myriad::block_on(future)));
    let [missed, moved] = threads.map(|thread| thread.join().unwrap());
    println!("futures, plain threads: of {rounds} rounds {moved} moved the message");
    assert_eq!(missed, 0);
}

/// Counts how often it is polled.
#[test]
fn a_single_arm_is_looked_at_once() {
    let polls = AtomicUsize::new(0);
    let future = poll_fn(|_| {
        polls.fetch_add(1, Relaxed);
        Poll::<()>::Pending
    });
    assert!(select! { _ = future => false, default => true });
    assert_eq!(polls.load(Relaxed), 1);
}
