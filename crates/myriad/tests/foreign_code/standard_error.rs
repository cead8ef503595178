//! A standard error that is full or closed: nothing is said, and nothing else happens.

use crate::common::{MODES, assert_ok, is_child, plan, watch};
use myriad::{scope, time};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

struct Bomb;
impl Drop for Bomb {
    fn drop(&mut self) {
        plan("the destructor of a result");
    }
}

/// What would be reported, and the tasks that stand by.
fn program() {
    std::panic::set_hook(Box::new(|_| ()));
    for mode in MODES {
        let rt = mode.builder().workers(2).spare_workers(0).build().unwrap();
        for _ in 0..10 {
            drop(rt.spawn(|| plan("a detached task")));
            let h = rt.spawn(|| {
                let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
                scope(|s| {
                    drop(s.spawn(|| {
                        begun.store(true, SeqCst);
                        time::sleep(Duration::from_millis(5));
                        ended.store(true, SeqCst);
                    }));
                    drop(s.spawn(|| Bomb));
                    while !begun.load(SeqCst) {
                        myriad::yield_now();
                    }
                });
                ended.load(SeqCst)
            });
            assert!(h.join().unwrap(), "the scope was left before its task had ended");
        }
        // Both workers live.
        rt.run(|| _ = myriad::join(|| time::sleep(Duration::from_millis(1)), || time::sleep(Duration::from_millis(1))));
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}

/// Runs this test's program in a process of its own, with this standard error.
fn in_child_with(name: &str, stderr: Stdio) {
    if is_child() {
        let _watch = watch("in a process of its own");
        program();
        std::process::exit(0);
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([&format!("standard_error::{name}"), "--exact", "--nocapture"])
        .env("MYRIAD_TEST_CHILD", "1")
        .stderr(stderr)
        .output()
        .unwrap();
    assert_ok(&output);
}

#[test]
fn that_is_full() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    in_child_with("that_is_full", full.into());
}

#[test]
fn that_is_closed() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    in_child_with("that_is_closed", writer.into());
}
