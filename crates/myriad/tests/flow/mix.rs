//! Inputs that are added, removed, muted, paused and soloed while it runs.

use crate::common::wait_until;
use crate::each_runtime;
use myriad::channel::{Receiver, Sender, bounded, rendezvous, unbounded};
use myriad::flow::ops::{Input, Mix, Mode, SoloMode, Why};
use myriad::flow::{mix, pipe, pipeline};
use myriad::{spawn, yield_now};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

fn add<T: Send + 'static>(mix: &Mix<T>, mode: Mode) -> (Sender<T>, Input) {
    let (tx, rx) = unbounded();
    (tx, mix.add_as(rx, mode))
}

/// For what must not happen.
fn for_a_while() {
    (0..100).for_each(|_| yield_now());
}

/// 12: what is muted is taken and dropped, what is paused is not taken.
#[test]
fn muted_is_taken_and_paused_is_not() {
    each_runtime(|| {
        let (to, out) = unbounded();
        let mix = mix(to);
        let ((a_tx, a), (b_tx, b), (c_tx, _)) = (add(&mix, Mode::Mute), add(&mix, Mode::Pause), add(&mix, Mode::Play));
        for n in 0..100 {
            a_tx.send(n).unwrap();
            b_tx.send(100 + n).unwrap();
            c_tx.send(200 + n).unwrap();
        }
        assert!(out.iter().take(100).eq(200..300));
        wait_until(|| a_tx.is_empty());
        assert_eq!((b_tx.len(), out.len()), (100, 0));
        // (Its last item may be judged by what comes now.)
        mix.set([(b, Mode::Play), (a, Mode::Play)]);
        a_tx.send(-1).unwrap();
        let mut got = HashSet::new();
        while !(got.contains(&-1) && (100..200).all(|n| got.contains(&n))) {
            got.insert(out.recv().unwrap());
        }
        assert!((0..99).all(|n| !got.contains(&n)), "{got:?}");
        drop((a_tx, b_tx, c_tx));
        let ended = mix.join();
        assert!(ended.is_complete(), "{}", ended.why);
        assert_eq!((ended.taken, ended.left.len()), (301, 0));
        assert!(ended.given == 201 || ended.given == 202, "{}", ended.given);
    });
}

/// 12: others than the soloed are muted, or paused; a soloed one that ends is not soloed any more.
#[test]
fn solo() {
    each_runtime(|| {
        let (to, out) = unbounded();
        let mix = mix(to);
        let ((a_tx, a), (b_tx, b), (c_tx, _)) = (add(&mix, Mode::Play), add(&mix, Mode::Solo), add(&mix, Mode::Pause));
        for tx in [&a_tx, &b_tx, &c_tx] {
            (0..10).for_each(|n| tx.send(n).unwrap());
        }
        assert!(out.iter().take(10).eq(0..10));
        wait_until(|| a_tx.is_empty());
        assert_eq!((c_tx.len(), out.len()), (10, 0));
        mix.solo_mode(SoloMode::Pause);
        (20..30).for_each(|n| a_tx.send(n).unwrap());
        (30..40).for_each(|n| b_tx.send(n).unwrap());
        assert!(out.iter().take(10).eq(30..40));
        for_a_while();
        assert!(a_tx.len() >= 9 && out.is_empty());
        // Two of them.
        mix.set([(a, Mode::Solo)]);
        (40..50).for_each(|n| b_tx.send(n).unwrap());
        let (from_a, from_b): (Vec<i32>, Vec<i32>) = out.iter().take(20).partition(|n| *n < 30);
        assert!(from_a.into_iter().eq(20..30) && from_b.into_iter().eq(40..50));
        // By its end, and by another mode.
        drop(a_tx);
        mix.set([(b, Mode::Mute)]);
        let (d_tx, _) = add(&mix, Mode::Play);
        d_tx.send(50).unwrap();
        assert_eq!(out.recv(), Ok(50));
        assert_eq!(c_tx.len(), 10);
    });
}

/// 12: several inputs change at once. In between nobody would be soloed, and `c` be heard.
#[test]
fn changes_of_several_inputs_are_one() {
    each_runtime(|| {
        let (to, out) = bounded(2);
        let mix = mix(to);
        let inputs = [Mode::Solo, Mode::Play, Mode::Play].map(|mode| {
            let (tx, rx) = bounded(3);
            (tx, mix.add_as(rx, mode))
        });
        let [a, b, _] = [&inputs[0], &inputs[1], &inputs[2]].map(|(_, input)| *input);
        let sources: Vec<_> = (0..).zip(inputs).map(|(n, (tx, _))| pipe(std::iter::repeat(n), tx)).collect();
        let mut seen = [0; 3];
        for n in 0..120 {
            let (on, off) = if n % 2 == 0 { (b, a) } else { (a, b) };
            // (Also if it takes a while to say which.)
            let both = [(off, Mode::Play), (on, Mode::Solo)].into_iter();
            mix.set(both.inspect(|_| (0..3).for_each(|_| seen[out.recv().unwrap()] += 1)));
            (0..n % 7).for_each(|_| seen[out.recv().unwrap()] += 1);
        }
        assert!(seen[0] > 0 && seen[1] > 0 && seen[2] == 0, "{seen:?}");
        mix.cancel();
        assert!(matches!(mix.join().why, Why::Cancelled));
        for source in sources {
            assert!(matches!(source.join().why, Why::TargetClosed));
        }
    });
}

/// 12: from the return of `set` on, whatever the task does meanwhile.
#[test]
fn what_is_sent_after_a_change_is_treated_by_it() {
    each_runtime(|| {
        let (to, out) = unbounded();
        let mix = mix(to);
        let ((tx, input), (other_tx, _)) = (add(&mix, Mode::Play), add(&mix, Mode::Play));
        for n in 0..60 {
            other_tx.send(-1).unwrap();
            mix.set([(input, Mode::Pause)]);
            tx.send(n).unwrap();
            (0..n % 5).for_each(|_| yield_now());
            assert!(out.try_iter().all(|got| got == -1), "it is paused");
            mix.set([(input, Mode::Play)]);
            assert_eq!(out.iter().find(|got| *got != -1), Some(n));
        }
        // And what is sent after its removal is not given.
        for n in 0..60 {
            let ((tx, input), (last_tx, _)) = (add(&mix, Mode::Play), add(&mix, Mode::Play));
            other_tx.send(-1).unwrap();
            (0..n % 3).for_each(|_| yield_now());
            mix.remove(input);
            _ = tx.send(-2);
            last_tx.send(n).unwrap();
            wait_until(|| tx.is_closed());
            assert!(out.iter().take_while(|got| *got != n).all(|got| got == -1), "it was removed");
        }
        drop((tx, other_tx));
        let ended = mix.join();
        assert!(ended.is_complete() && ended.left.iter().all(|item| *item == -2), "{:?}", ended.left);
    });
}

/// 12: the output is open while there is the handle.
#[test]
fn it_ends_with_its_handle_and_its_inputs() {
    each_runtime(|| {
        let (to, out) = unbounded();
        let all = mix(to);
        for n in 0..3 {
            let (tx, rx) = unbounded();
            let input = all.add(rx);
            tx.send(n).unwrap();
            drop(tx);
            assert_eq!(out.recv(), Ok(n));
            for_a_while();
            assert!(!out.is_closed());
            // (It has ended, so nothing happens.)
            all.set([(input, Mode::Solo)]);
            all.remove(input);
        }
        // The handle goes first.
        let ((a_tx, _), (b_tx, _)) = (add(&all, Mode::Play), add(&all, Mode::Pause));
        b_tx.send(-1).unwrap();
        all.detach();
        (0..9).for_each(|n| a_tx.send(n).unwrap());
        assert!(out.iter().take(9).eq(0..9));
        for_a_while();
        assert!(!out.is_closed() && !b_tx.is_closed());
        drop(a_tx);
        // What is paused then would be so for ever.
        assert!(out.recv().is_err());
        wait_until(|| b_tx.is_closed());
        // Without any inputs.
        let (to, out) = unbounded::<u32>();
        drop(mix(to));
        assert!(out.recv().is_err());
        // Inputs that come too late are closed.
        let (to, out) = unbounded();
        let all = mix(to);
        all.cancel();
        assert!(out.recv().is_err());
        let (tx, _) = add(&all, Mode::Play);
        wait_until(|| tx.is_closed());
        assert!(tx.send(1).is_err() && matches!(all.join().why, Why::Cancelled));
    });
}

/// What it has in hand comes back: when nobody receives, and when it is cancelled.
#[test]
fn what_is_in_hand_comes_back() {
    each_runtime(|| {
        for mode in [Mode::Play, Mode::Mute] {
            let (to, out) = unbounded();
            let mix = mix(to);
            drop(out);
            let (tx, _) = add(&mix, mode);
            tx.send(7).unwrap();
            let ended = mix.join();
            assert!(matches!(ended.why, Why::TargetClosed), "{}", ended.why);
            assert_eq!((ended.taken, ended.given, &*ended.left), (1, 0, &[7][..]));
        }
        // While it waits for room: it takes nothing more, also from what is muted.
        let (to, out) = bounded(1);
        let mix_full = mix(to);
        let (a_tx, _) = add(&mix_full, Mode::Play);
        (0..10).for_each(|n| a_tx.send(n).unwrap());
        wait_until(|| out.is_full() && a_tx.len() == 8);
        let (b_tx, _) = add(&mix_full, Mode::Mute);
        b_tx.send(0).unwrap();
        for_a_while();
        assert_eq!((a_tx.len(), b_tx.len()), (8, 1));
        mix_full.cancel();
        let ended = mix_full.join();
        assert!(matches!(ended.why, Why::Cancelled), "{}", ended.why);
        assert_eq!((ended.taken, ended.given, &*ended.left), (2, 1, &[1][..]));
        assert!(out.into_iter().eq([0]) && a_tx.is_closed() && b_tx.is_closed());
        // While it waits for an item; and the end of the handle is not taken for the reason.
        let (to, _out) = bounded::<u32>(1);
        let mix_empty = mix(to);
        let (tx, _) = add(&mix_empty, Mode::Play);
        drop(tx);
        mix_empty.cancel();
        let why = mix_empty.join().why;
        assert!(matches!(why, Why::Cancelled), "{why}");
    });
}

/// Cancelled, it ends also if there is always an item, and nobody to wait for.
#[test]
fn one_that_never_waits_is_cancelled() {
    struct Again(Sender<Again>, Arc<AtomicUsize>);
    impl Drop for Again {
        fn drop(&mut self) {
            self.1.fetch_add(1, SeqCst);
            if !self.0.is_closed() {
                _ = self.0.send(Again(self.0.clone(), self.1.clone()));
            }
        }
    }
    each_runtime(|| {
        let (to, _out) = bounded(1);
        let mix = mix(to);
        let (tx, _) = add(&mix, Mode::Mute);
        let dropped = Arc::new(AtomicUsize::new(0));
        tx.send(Again(tx.clone(), dropped.clone())).unwrap_or_else(|_| panic!());
        wait_until(|| dropped.load(SeqCst) > 100);
        mix.cancel();
        assert!(matches!(mix.join().why, Why::Cancelled));
    });
}

/// 23: a mix in the middle of stages is cancelled, or one of its neighbours.
#[test]
fn with_its_neighbours() {
    for cancelled in 0..3 {
        each_runtime(|| {
            let ((a_tx, a), (b_tx, b), (c_tx, c), (d_tx, d)) = (bounded(1), bounded(2), bounded(3), bounded(4));
            let sources = [pipe(0.., a_tx), pipe(0.., b_tx)];
            let mix = mix(c_tx);
            _ = (mix.add(a), mix.add(b));
            let work = pipeline(2, c, d_tx, |n: u64| n);
            assert!(d.recv().is_ok());
            match cancelled {
                0 => sources.iter().for_each(|source| source.cancel()),
                1 => mix.cancel(),
                _ => work.cancel(),
            }
            let drains = spawn(move || d.into_iter().for_each(drop));
            let why = mix.join().why;
            match cancelled {
                0 => assert!(matches!(why, Why::SourceEnded), "{why}"),
                1 => assert!(matches!(why, Why::Cancelled), "{why}"),
                _ => assert!(matches!(why, Why::TargetClosed), "{why}"),
            }
            sources.into_iter().for_each(|source| drop(source.join()));
            work.join();
            drains.join().unwrap();
        });
    }
}

/// A destructor that panics ends it, whether the item is muted, or goes with its channel.
#[test]
fn destructors_that_panic() {
    struct Item(Arc<AtomicBool>);
    impl Drop for Item {
        fn drop(&mut self) {
            assert!(!self.0.swap(false, SeqCst), "dropped");
        }
    }
    each_runtime(|| {
        for mode in [Mode::Mute, Mode::Pause] {
            let (to, out) = unbounded();
            let mix = mix(to);
            let (tx, input) = add(&mix, mode);
            let item = Item(Arc::new(AtomicBool::new(true)));
            tx.send(item).unwrap_or_else(|_| panic!());
            mix.remove(input);
            // (Before the removal, or by it. Perhaps nobody was there when it was added.)
            let removed = catch_unwind(AssertUnwindSafe(|| drop(tx)));
            let ended = mix.join();
            assert!(removed.is_ok());
            assert!(matches!(&ended.why, Why::Panicked(panic) if panic.message() == "dropped"), "{}", ended.why);
            assert!(out.recv().is_err());
        }
    });
}

/// From a thread of another make, in any order: what was sent is given once, in the order of its
/// input, or comes back, or is still in the channel.
#[test]
fn nothing_is_lost_while_inputs_come_and_go() {
    each_runtime(|| {
        const EACH: u64 = 100;
        const INPUTS: u64 = 6;
        let (to, out) = bounded(3);
        let mix = mix(to);
        let clones: Arc<[(Sender<u64>, Receiver<u64>)]> = (0..INPUTS).map(|_| bounded(2)).collect();
        let sources: Vec<_> =
            (0..INPUTS).zip(&*clones).map(|(n, (tx, _))| pipe(n * EACH..(n + 1) * EACH, tx.clone())).collect();
        let got = spawn(move || out.into_iter().collect::<Vec<u64>>());
        let (returns, returned) = rendezvous();
        let channels = clones.clone();
        std::thread::spawn(move || {
            let mut inputs: Vec<Input> = channels.iter().map(|(_, rx)| mix.add(rx.clone())).collect();
            for n in 0..120 {
                let at = n * 7 % INPUTS as usize;
                match n % 4 {
                    0 => mix.set([(inputs[at], Mode::Pause), (inputs[(at + 1) % 6], Mode::Play)]),
                    1 => mix.solo_mode(SoloMode::Pause),
                    2 => mix.set([(inputs[at], if n % 8 == 2 { Mode::Solo } else { Mode::Play })]),
                    _ => {
                        mix.remove(inputs[at]);
                        inputs[at] = mix.add(channels[at].1.clone());
                    }
                }
                if n % 5 == 0 {
                    std::thread::yield_now();
                }
            }
            mix.set(inputs.iter().map(|input| (*input, Mode::Play)));
            returns.send(mix).unwrap();
        });
        let mix = returned.recv().unwrap();
        sources.into_iter().for_each(|source| assert!(source.join().is_complete()));
        clones.iter().for_each(|(tx, _)| assert!(tx.close()));
        let ended = mix.join();
        let got = got.join().unwrap();
        assert!(ended.is_complete(), "{}", ended.why);
        assert_eq!((ended.given, ended.taken), (got.len() as u64, (got.len() + ended.left.len()) as u64));
        for n in 0..INPUTS {
            assert!(got.iter().filter(|item| **item / EACH == n).is_sorted());
        }
        let all: HashSet<u64> = got.iter().copied().chain(ended.left).collect();
        assert_eq!(all.len() as u64, EACH * INPUTS);
        assert_eq!(ended.taken, EACH * INPUTS);
    });
}
