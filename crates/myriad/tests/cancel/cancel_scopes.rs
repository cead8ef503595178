//! Time limits, shields and tokens: parts of a task that are cancelled.

use crate::common::{Drops, in_both_modes, wait_until};
use myriad::cancel::{self, Token};
use myriad::channel::{bounded, unbounded};
use myriad::task::Builder;
use myriad::time::{Elapsed, Instant, deadline, now, sleep, timeout, timeout_async};
use myriad::{block_on, join, scope, spawn, spawn_async, yield_now};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(1);

/// Runs `f` in a task of each runtime, and on a foreign thread.
fn anywhere(f: impl Fn() + Sync) {
    in_both_modes(|rt| rt.run(&f));
    f();
}

#[test]
fn a_time_limit_ends_each_wait() {
    anywhere(|| {
        assert_eq!(timeout(SHORT, || sleep(LONG)), Err(Elapsed));
        let (tx, rx) = bounded::<u32>(1);
        assert_eq!(timeout(SHORT, || rx.recv()), Err(Elapsed));
        assert_eq!(timeout(SHORT, || rx.recv_timeout(LONG)), Err(Elapsed));
        tx.send(1).unwrap();
        assert_eq!(timeout(SHORT, || tx.send(2)), Err(Elapsed));
        assert_eq!(timeout(SHORT, || block_on(std::future::pending::<()>())), Err(Elapsed));
        assert_eq!(rx.recv(), Ok(1));
        assert!(rx.try_recv().is_err());
        // A limit that is over leaves nothing behind.
        sleep(SHORT);
        assert!(!cancel::is_cancelled());
    });
}

#[test]
fn a_result_in_time() {
    anywhere(|| {
        assert_eq!(timeout(LONG, || 42), Ok(42));
        assert_eq!(deadline(Instant::NEVER, || 42), Ok(42));
        // Done although the time is over: nothing was blocked on.
        assert_eq!(deadline(now(), || 42), Ok(42));
    });
}

#[test]
fn a_limit_reaches_what_is_joined() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            for _ in 0..10 {
                let held = drops.one();
                assert!(timeout(SHORT, move || spawn(move || (sleep(LONG), held)).join()).is_err());
                let (a, b) = (drops.one(), drops.one());
                assert!(timeout(SHORT, move || join(move || (sleep(LONG), a), move || (sleep(LONG), b))).is_err());
                let one = drops.one();
                let late = timeout(SHORT, || {
                    scope(|s| {
                        s.spawn(|| (sleep(LONG), one));
                    })
                });
                assert!(late.is_err());
            }
            drops.assert_all(40);
        });
    });
}

#[test]
fn limits_nest() {
    anywhere(|| {
        // The outer one first: the inner one lets it pass.
        let after_inner = AtomicBool::new(false);
        let outer = timeout(SHORT, || {
            _ = timeout(LONG, || sleep(LONG));
            after_inner.store(true, SeqCst);
        });
        assert_eq!(outer, Err(Elapsed));
        assert!(!after_inner.load(SeqCst));
        // The inner one first: the outer one goes on.
        let outer = timeout(LONG, || {
            assert_eq!(timeout(SHORT, || sleep(LONG)), Err(Elapsed));
            sleep(SHORT);
            7
        });
        assert_eq!(outer, Ok(7));
        // Ten deep.
        fn nest(n: u32) -> u32 {
            if n == 0 {
                sleep(LONG);
                return 0;
            }
            match timeout(if n == 5 { SHORT } else { LONG }, || nest(n - 1)) {
                Ok(depth) => depth + 1,
                Err(Elapsed) => 0,
            }
        }
        assert_eq!(nest(10), 5);
    });
}

#[test]
fn a_limit_within_a_shield() {
    anywhere(|| {
        let done = AtomicUsize::new(0);
        let late = timeout(SHORT, || {
            cancel::shield(|| {
                sleep(3 * SHORT);
                done.fetch_add(1, SeqCst);
                assert_eq!(timeout(SHORT, || sleep(LONG)), Err(Elapsed));
                done.fetch_add(1, SeqCst);
            });
            done.fetch_add(1, SeqCst);
            sleep(LONG);
        });
        assert_eq!(late, Err(Elapsed));
        assert_eq!(done.load(SeqCst), 3);
    });
}

/// Clean-up with a limit of its own, in a destructor that runs because of a cancellation.
#[test]
fn a_limit_in_a_destructor() {
    struct Cleans<'a>(&'a AtomicUsize);
    impl Drop for Cleans<'_> {
        fn drop(&mut self) {
            assert_eq!(timeout(SHORT, || sleep(LONG)), Err(Elapsed));
            sleep(SHORT);
            self.0.fetch_add(1, SeqCst);
        }
    }
    anywhere(|| {
        let cleaned = AtomicUsize::new(0);
        let late = timeout(SHORT, || {
            let _cleans = Cleans(&cleaned);
            sleep(LONG);
        });
        assert_eq!(late, Err(Elapsed));
        assert_eq!(cleaned.load(SeqCst), 1);
    });
}

#[test]
fn a_task_that_is_cancelled_in_a_limit() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded::<()>();
            let h = spawn(move || {
                tx.send(()).unwrap();
                _ = timeout(LONG, || sleep(LONG));
                unreachable!("the limit lets the task's cancellation pass");
            });
            rx.recv().unwrap();
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn futures_have_limits() {
    anywhere(|| {
        assert_eq!(block_on(timeout_async(SHORT, std::future::pending::<()>())), Err(Elapsed));
        assert_eq!(block_on(timeout_async(LONG, async { 42 })), Ok(42));
    });
}

#[test]
fn a_token_cancels_tasks_and_threads() {
    in_both_modes(|rt| {
        let token = Token::new();
        let (tx, rx) = unbounded::<()>();
        let begun = tx.clone();
        let hs: Vec<_> = (0..20)
            .map(|i| {
                let (token, tx) = (if i % 2 == 0 { token.clone() } else { token.child() }, tx.clone());
                rt.spawn(move || {
                    token.run(|| {
                        tx.send(()).unwrap();
                        sleep(LONG);
                    })
                })
            })
            .collect();
        std::thread::scope(|s| {
            let foreign = token.child();
            let h = s.spawn(move || {
                foreign.run(|| {
                    begun.send(()).unwrap();
                    sleep(LONG);
                })
            });
            (0..21).for_each(|_| rx.recv().unwrap());
            token.cancel();
            assert!(h.join().unwrap().is_err());
        });
        for h in hs {
            assert!(h.join().unwrap().is_err());
        }
        assert!(token.child().is_cancelled());
        assert!(token.run(|| unreachable!("it is cancelled")).is_err());
    });
}

/// Who hears of a cancelled token finds those below it cancelled, for the same reason.
#[test]
fn a_child_as_soon_as_its_parent() {
    struct Looks(Token, Mutex<Vec<(bool, Option<String>)>>);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            let cause = self.0.cause().map(|cause| cause.to_string());
            self.1.lock().unwrap().push((self.0.is_cancelled(), cause));
            self.0.cancel_with("too late");
        }
    }
    let parent = Token::new();
    let child = parent.child();
    let looks = Arc::new(Looks(child.child(), Mutex::default()));
    let waker = Waker::from(looks.clone());
    let mut waiting = pin!(parent.cancelled());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    parent.cancel_with("the disk is full");
    assert_eq!(*looks.1.lock().unwrap(), [(true, Some("the disk is full".to_string()))]);
    assert_eq!(looks.0.cause().unwrap().to_string(), "the disk is full");
    assert!(child.is_cancelled());
}

/// Neither the cancellation nor the end of a long chain of children needs a deep stack.
#[test]
fn a_long_chain_of_children() {
    for cancelled in [true, false] {
        let first = Token::new();
        let last = (0..200_000).fold(first.clone(), |token, _| token.child());
        if cancelled {
            first.cancel_with("the disk is full");
            assert_eq!(last.cause().unwrap().to_string(), "the disk is full");
        }
        drop(first);
        drop(last);
    }
}

#[test]
fn a_child_alone() {
    anywhere(|| {
        let token = Token::new();
        let (one, other) = (token.child(), token.child());
        one.cancel();
        assert!(one.is_cancelled() && !token.is_cancelled() && !other.is_cancelled());
        assert!(other.run(|| one.run(|| ()).is_err()).unwrap());
        // A grandchild whose parent's handle is gone.
        let grandchild = other.child();
        drop(other);
        token.cancel();
        assert!(grandchild.is_cancelled());
    });
}

#[test]
fn waiting_for_a_token() {
    in_both_modes(|rt| {
        rt.run(|| {
            let token = Token::new();
            let (a, b, c) = (token.clone(), token.clone(), token.clone());
            let closure = spawn(move || a.wait());
            let future = spawn_async(async move { b.cancelled().await });
            let run = spawn_async(async move { c.run_async(std::future::pending::<()>()).await });
            let (d, done) = (token.clone(), Arc::new(AtomicBool::new(false)));
            let says = done.clone();
            let thread = std::thread::spawn(move || {
                d.wait();
                says.store(true, SeqCst);
            });
            for _ in 0..100 {
                yield_now();
            }
            assert!(!closure.is_finished() && !future.is_finished() && !done.load(SeqCst));
            token.cancel();
            closure.join().unwrap();
            future.join().unwrap();
            assert!(run.join().unwrap().is_err());
            wait_until(|| done.load(SeqCst));
            thread.join().unwrap();
            token.wait();
        });
    });
}

#[test]
fn a_task_built_with_a_token() {
    in_both_modes(|rt| {
        rt.run(|| {
            let token = Token::new();
            let hs: Vec<_> = (0..10).map(|_| Builder::new().token(&token).spawn(|| sleep(LONG))).collect();
            let fine = Builder::new().token(&token).name("fine").spawn(|| 42);
            assert_eq!(fine.join().unwrap(), 42);
            token.cancel();
            for h in hs {
                assert!(h.join().unwrap_err().is_cancelled());
            }
            let never = Builder::new().token(&token).spawn(|| unreachable!("its token is cancelled"));
            assert!(never.join().unwrap_err().is_cancelled());
        });
    });
}

/// Why a token was cancelled: the first to do it says so, to those below it too, also to those that
/// come later.
#[test]
fn a_cause() {
    anywhere(|| {
        let root = Token::new();
        let (early, alone) = (root.child(), root.child());
        alone.cancel();
        assert!(early.cause().is_none());
        let h = {
            let early = early.clone();
            spawn(move || {
                let ended = early.run(|| sleep(LONG));
                (ended.is_err(), early.cause().map(|cause| cause.to_string()))
            })
        };
        root.cancel_with(std::io::Error::other("no more disk"));
        root.cancel_with("too late");
        early.cancel_with("too late");
        assert_eq!(h.join().unwrap(), (true, Some("no more disk".into())));
        assert!(early.cause().unwrap().is::<std::io::Error>());
        assert!(alone.is_cancelled() && alone.cause().is_none(), "it was cancelled alone, before");
        assert_eq!(early.child().child().cause().unwrap().to_string(), "no more disk");
    });
}

/// What is to be done after a cancellation is a task of its own, once; stopped, it never is.
#[test]
fn after_a_cancellation() {
    anywhere(|| {
        let drops = Drops::new();
        let (token, calls) = (Token::new(), Arc::new(AtomicUsize::new(0)));
        let call = |add: usize| {
            let (calls, held) = (calls.clone(), drops.one());
            move || {
                let _held = held;
                // It may wait like any task, although the token is cancelled.
                sleep(Duration::from_micros(10));
                calls.fetch_add(add, SeqCst);
            }
        };
        let (first, second) = (token.on_cancel(call(1)), token.child().on_cancel(call(10)));
        assert!(token.on_cancel(call(100)).stop(), "it was not started, and never is");
        assert_eq!(drops.dropped(), 1);
        token.cancel();
        wait_until(|| drops.dropped() == 3);
        // At once.
        let third = token.on_cancel(call(1000));
        wait_until(|| drops.dropped() == 4);
        token.cancel();
        assert!(!first.stop() && !second.stop() && !third.stop());
        assert_eq!(calls.load(SeqCst), 1011);
        // One that nothing is left of.
        drop(Token::new().on_cancel(call(5)));
        drops.assert_all(5);
    });
}

/// Either it is stopped or it is called, whatever comes first.
#[test]
fn stopped_at_the_same_time() {
    in_both_modes(|rt| {
        rt.run(|| {
            for _ in 0..200 {
                let (token, called) = (Token::new(), Arc::new(AtomicBool::new(false)));
                let says = called.clone();
                let on_cancel = token.on_cancel(move || says.store(true, SeqCst));
                let (stopped, ()) = join(|| on_cancel.stop(), || token.cancel());
                if !stopped {
                    wait_until(|| called.load(SeqCst));
                }
                yield_now();
                assert_eq!(called.load(SeqCst), !stopped);
            }
        });
    });
}
