//! Functions of the user that are called because a worker is stuck, and that do not come back:
//! nobody's help waits for them.

use crate::common::{MODES, Mode, assert_ok, compute_until, in_child, wait_until, watch};
use myriad::{OnStuck, Runtime, Stuck};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A hook that is called as soon as possible.
fn hook(f: impl Fn(&Stuck) + Send + Sync + 'static) -> OnStuck {
    OnStuck::Hook { after: Duration::from_millis(1), hook: Arc::new(f) }
}

/// The only worker of the runtime is stuck until a task has run that has not begun.
fn needs_help(rt: &Runtime) {
    let begun = Arc::new(AtomicBool::new(false));
    let says = begun.clone();
    let stuck = rt.spawn(move || compute_until(|| says.load(SeqCst)));
    rt.spawn(move || begun.store(true, SeqCst)).join().unwrap();
    stuck.join().unwrap();
}

/// A hook waits for a task of the very worker that is stuck: a spare runs it.
#[test]
fn a_hook_that_waits_for_help() {
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let handle = Arc::new(Mutex::new(None::<myriad::Handle>));
        let helped = Arc::new(AtomicBool::new(false));
        let (knows, helps) = (handle.clone(), helped.clone());
        let waits = hook(move |_| {
            let handle = *knows.lock().unwrap();
            if let Some(handle) = handle {
                assert_eq!(handle.spawn(|| 5).join().unwrap(), 5);
                helps.store(true, SeqCst);
            }
        });
        let rt = mode.builder().workers(1).on_stuck(waits).build().unwrap();
        *handle.lock().unwrap() = Some(rt.handle());
        rt.run(|| compute_until(|| helped.load(SeqCst)));
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}

/// Of one runtime the hook and of another the function for names do not come back. Others get help,
/// and their hooks are called.
#[test]
fn help_beside_functions_that_do_not_come_back() {
    let output = in_child(&[], || {
        for mode in MODES {
            let [told, asked, go] = [(); 3].map(|()| Arc::new(AtomicBool::new(false)));
            let (tells, goes) = (told.clone(), go.clone());
            let waits = hook(move |_| {
                tells.store(true, SeqCst);
                wait_until(|| goes.load(SeqCst));
            });
            let first = mode.builder().workers(1).on_stuck(waits).build().unwrap();
            let was_told = told.clone();
            first.run(move || compute_until(|| was_told.load(SeqCst)));
            needs_help(&first);
            let (asks, goes) = (asked.clone(), go.clone());
            let name = move |worker: usize| {
                if worker > 0 {
                    asks.store(true, SeqCst);
                    wait_until(|| goes.load(SeqCst));
                }
                format!("named {worker}")
            };
            let second = mode.builder().workers(1).name_threads(name).build().unwrap();
            let was_asked = asked.clone();
            let stuck = second.spawn(move || compute_until(|| was_asked.load(SeqCst)));
            drop(second.spawn(|| ()));
            stuck.join().unwrap();
            // Spares do without the name after a while.
            needs_help(&second);
            needs_help(&mode.runtime(1));
            let calls = Arc::new(AtomicUsize::new(0));
            let counts = calls.clone();
            let third = mode.builder().workers(1).on_stuck(hook(move |_| _ = counts.fetch_add(1, SeqCst)));
            third.build().unwrap().run(|| compute_until(|| calls.load(SeqCst) > 0));
            go.store(true, SeqCst);
            drop((first, second));
        }
    });
    assert_ok(&output);
}

/// A runtime that ends does not wait for its hook, calls it no more, and lets go of it.
#[test]
fn the_end_of_a_runtime_beside_its_hook() {
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let calls = Arc::new(AtomicUsize::new(0));
        let go = Arc::new(AtomicBool::new(false));
        let held = Arc::new(());
        let (counts, goes, holds) = (calls.clone(), go.clone(), held.clone());
        let waits = hook(move |_| {
            _ = &holds;
            counts.fetch_add(1, SeqCst);
            wait_until(|| goes.load(SeqCst));
        });
        let rt = mode.builder().workers(2).on_stuck(waits).build().unwrap();
        let counts = calls.clone();
        rt.run(move || compute_until(|| counts.load(SeqCst) == 1));
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        // (It may be the pool of the one that has ended.)
        let next = mode.builder().workers(2).on_stuck(hook(|_| ())).build().unwrap();
        needs_help(&next);
        assert!(Arc::strong_count(&held) > 1);
        go.store(true, SeqCst);
        wait_until(|| Arc::strong_count(&held) == 1);
        assert_eq!(calls.load(SeqCst), 1);
    }
}

/// The last handle of a runtime goes in its hook.
#[test]
fn a_hook_that_drops_its_runtime() {
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let rt = Arc::new(Mutex::new(None::<Runtime>));
        let [dropped, begun] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (takes, says, begins) = (rt.clone(), dropped.clone(), begun.clone());
        let drops = hook(move |_| {
            let rt = takes.lock().unwrap().take();
            begins.store(true, SeqCst);
            drop(rt);
            says.store(true, SeqCst);
        });
        *rt.lock().unwrap() = Some(mode.builder().workers(1).on_stuck(drops).build().unwrap());
        let handle = rt.lock().unwrap().as_ref().unwrap().handle();
        drop(handle.spawn(move || compute_until(|| begun.load(SeqCst))));
        wait_until(|| dropped.load(SeqCst));
        assert!(rt.lock().unwrap().is_none());
    }
}

/// Reports that nobody has had time to hear are lost, and the next one that is told says how many.
#[test]
fn reports_that_are_lost_are_counted() {
    const TASKS: usize = 120;
    let _watch = watch("reports that are lost");
    let [told, lost] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let go = Arc::new(AtomicBool::new(false));
    let (tells, loses, goes) = (told.clone(), lost.clone(), go.clone());
    let slow = hook(move |stuck| {
        assert_eq!(stuck.lost() > 0, stuck.to_string().contains("were lost"), "{stuck}");
        loses.fetch_add(stuck.lost(), SeqCst);
        tells.fetch_add(1, SeqCst);
        wait_until(|| goes.load(SeqCst));
    });
    let rt = Mode::Threads.builder().workers(16).on_stuck(slow).build().unwrap();
    // Each holds a worker in the system. A spare begins for those that were found stuck, so when
    // all have begun all but the last 16 were.
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = Arc::new(Mutex::new(ended));
    let begun = Arc::new(AtomicUsize::new(0));
    let all: Vec<_> = (0..TASKS)
        .map(|_| {
            let (ended, begun) = (ended.clone(), begun.clone());
            rt.spawn(move || {
                begun.fetch_add(1, SeqCst);
                _ = ended.lock().unwrap().recv();
            })
        })
        .collect();
    wait_until(|| begun.load(SeqCst) == TASKS && told.load(SeqCst) == 1);
    go.store(true, SeqCst);
    drop(end);
    all.into_iter().for_each(|h| h.join().unwrap());
    while lost.load(SeqCst) == 0 {
        let before = told.load(SeqCst);
        let told = told.clone();
        rt.run(move || compute_until(|| told.load(SeqCst) > before));
    }
}

/// A thread of a runtime ends, and the destructor of a thread-local of it does not come back: who
/// joins such threads (the monitor, and who starts or ends another) does not wait for that.
#[test]
fn help_beside_a_thread_that_does_not_end() {
    struct Waits(Arc<AtomicUsize>, Arc<AtomicBool>);
    impl Drop for Waits {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
            wait_until(|| self.1.load(SeqCst));
        }
    }
    thread_local! { static LAST: RefCell<Option<Waits>> = const { RefCell::new(None) }; }
    let output = in_child(&[], || {
        let rt = Mode::Threads.runtime(1);
        let (ending, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        // Each task that waits takes a thread, and most of them end afterwards.
        let crowd = || {
            let (tx, rx) = myriad::channel::bounded::<()>(1);
            let begun = Arc::new(AtomicUsize::new(0));
            let all: Vec<_> = (0..200)
                .map(|_| {
                    let (rx, ending, go, begun) = (rx.clone(), ending.clone(), go.clone(), begun.clone());
                    rt.spawn(move || {
                        begun.fetch_add(1, SeqCst);
                        LAST.with(|cell| _ = cell.borrow_mut().get_or_insert_with(|| Waits(ending, go)));
                        _ = rx.recv();
                    })
                })
                .collect();
            wait_until(|| begun.load(SeqCst) == 200);
            drop(tx);
            all.into_iter().for_each(|h| h.join().unwrap());
        };
        crowd();
        wait_until(|| ending.load(SeqCst) > 0);
        needs_help(&rt);
        needs_help(&Mode::Fibers.runtime(1));
        // And threads begin.
        crowd();
        go.store(true, SeqCst);
    });
    assert_ok(&output);
}

/// What the environment asks for is said where nobody reads it: nobody's help waits for that.
#[cfg(unix)]
#[test]
fn a_standard_error_that_nobody_reads() {
    let output = in_child(&[("MYRIAD_STUCK_MS", "1")], || {
        let mut ends = [0; 2];
        // SAFETY: a pipe of our own, whose writing end becomes the standard error, kept beside.
        let kept = unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let kept = libc::dup(2);
            libc::dup2(ends[1], 2);
            let flags = libc::fcntl(2, libc::F_GETFL);
            libc::fcntl(2, libc::F_SETFL, flags | libc::O_NONBLOCK);
            while libc::write(2, [0u8; 512].as_ptr().cast(), 512) > 0 {}
            // (The watchdog would say nothing here.)
            libc::alarm(100);
            libc::fcntl(2, libc::F_SETFL, flags);
            kept
        };
        for mode in MODES {
            let rt = mode.runtime(1);
            (0..3).for_each(|_| needs_help(&rt));
            std::mem::forget(rt);
        }
        // SAFETY: our own descriptors.
        unsafe { libc::dup2(kept, 2) };
    });
    assert_ok(&output);
}
