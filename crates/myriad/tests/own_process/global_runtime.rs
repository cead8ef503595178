//! The global runtime: one test, because it exists once in a process.

use crate::common::{assert_ok, in_child};
use myriad::{Builder, join, run, scope, spawn};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Installed before the first use; a second time is refused.
#[test]
fn installed_with_settings() {
    let output = in_child(&[], || {
        // SAFETY: nothing here blocks inside a thread-local scope.
        let builder = unsafe { Builder::fibers() }.workers(3).name("global");
        builder.clone().install().unwrap();
        let error = builder.install().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert!(error.to_string().contains("install it before the first spawn"), "{error}");
        assert_eq!(Builder::new().workers(0).install().unwrap_err().kind(), ErrorKind::AlreadyExists);
        let name = run(|| std::thread::current().name().map(str::to_owned));
        assert!(name.is_some_and(|n| n.starts_with("global-")));
    });
    assert_ok(&output);
}

/// Started by the first use, with a worker for each processor; then it is too late to install one.
#[test]
fn started_by_the_first_use() {
    let output = in_child(&[], || {
        assert_eq!(spawn(|| 1).join().unwrap(), 1);
        assert_eq!(Builder::new().install().unwrap_err().kind(), ErrorKind::AlreadyExists);
        // All from a foreign thread, and from tasks.
        let word = String::from("borrowed");
        assert_eq!(run(|| word.len() + run(|| 1)), 9);
        assert_eq!(join(|| word.len(), || run(|| join(|| 1, || 2))), (8, (1, 2)));
        assert_eq!(scope(|s| s.spawn(|| word.len()).join().unwrap()), 8);
        assert_eq!(myriad::block_on(myriad::spawn_async(async { 3 })).unwrap(), 3);
        assert_eq!(myriad::task::Builder::new().name("n").spawn(|| 4).join().unwrap(), 4);
        assert_eq!(spawn(|| myriad::Handle::current().unwrap().run(|| 5)).join().unwrap(), 5);
    });
    assert_ok(&output);
}

/// Where it cannot be started a spawn panics, and what was to be spawned is dropped.
#[test]
fn a_start_that_fails_drops_what_was_to_be_spawned() {
    let output = in_child(&[("MYRIAD_POLICY", "no-such-policy")], || {
        let held = Arc::new(());
        let (in_closure, in_future) = (held.clone(), held.clone());
        let spawned = catch_unwind(AssertUnwindSafe(|| drop(spawn(move || drop(in_closure)))));
        let text = *spawned.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("cannot start the global runtime") && text.contains("MYRIAD_POLICY"), "{text}");
        let spawned = catch_unwind(AssertUnwindSafe(|| drop(myriad::spawn_async(async move { drop(in_future) }))));
        assert!(spawned.is_err());
        assert_eq!(Arc::strong_count(&held), 1);
    });
    assert_ok(&output);
}

/// Settings that are refused leave the place free.
#[test]
fn after_bad_settings() {
    let output = in_child(&[], || {
        assert_eq!(Builder::new().workers(0).install().unwrap_err().kind(), ErrorKind::InvalidInput);
        Builder::new().workers(1).install().unwrap();
        assert_eq!(run(|| 1), 1);
    });
    assert_ok(&output);
}

/// A program ends when `main` does, whatever its tasks are doing: no wait, no crash.
#[test]
fn the_program_ends_with_main() {
    let began = Instant::now();
    let output = in_child(&[], || {
        for _ in 0..100 {
            drop(spawn(|| myriad::time::sleep(Duration::MAX)));
            drop(spawn(|| {
                loop {
                    myriad::yield_now();
                }
            }));
        }
        run(|| (0..100).for_each(|_| myriad::yield_now()));
    });
    assert_ok(&output);
    assert!(began.elapsed() < crate::common::PATIENCE);
}

/// Many threads come first at the same time.
#[test]
fn first_use_by_many_threads() {
    let output = in_child(&[], || {
        let handles: Vec<_> = (0..8)
            .map(|i| std::thread::spawn(move || if i % 2 == 0 { spawn(move || i).join().unwrap() } else { run(|| i) }))
            .collect();
        assert_eq!(handles.into_iter().map(|h| h.join().unwrap()).sum::<i32>(), 28);
    });
    assert_ok(&output);
}

/// In a child that is forked while another thread starts it, nobody starts it: the child does.
#[cfg(unix)]
#[test]
fn forked_while_another_thread_starts_it() {
    use std::sync::mpsc::channel;
    let output = in_child(&[], || {
        let (begun, has_begun) = channel();
        let (go_on, goes_on) = channel::<()>();
        let goes_on = std::sync::Mutex::new(goes_on);
        let starts = std::thread::spawn(move || {
            let hook = move |_| {
                begun.send(()).unwrap();
                _ = goes_on.lock().unwrap().recv();
            };
            Builder::new().workers(1).on_thread_start(hook).install().unwrap();
        });
        // The start waits for its hook, and the hook for us.
        has_begun.recv().unwrap();
        // SAFETY: the child ends by `_exit`, or by the alarm if it hangs.
        let child = unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::alarm(100);
                let sum = catch_unwind(|| run(|| join(|| 3, || spawn(|| 4).join().unwrap())));
                libc::_exit(if sum.is_ok_and(|sum| sum == (3, 4)) { 0 } else { 1 });
            }
            child
        };
        let mut status = 0;
        // SAFETY: our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "status {status}: 14 is a hang");
        drop(go_on);
        starts.join().unwrap();
        assert_eq!(run(|| 1), 1);
    });
    assert_ok(&output);
}
