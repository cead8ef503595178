//! Threads come and go with the blocked tasks of threads mode. In a process of its own: it counts
//! threads and mappings.
#![cfg(target_os = "linux")]

use crate::common::{Mode, PATIENCE, assert_ok, in_child, wait_until};
use myriad::channel::rendezvous;
use myriad::spawn;

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// Five hundred blocked tasks take as many threads. Afterwards most of them end, and their stacks
/// are given back.
#[test]
fn threads_end_when_they_are_not_needed() {
    let output = in_child(&[], || {
        let rt = Mode::Threads.runtime(2);
        for _ in 0..3 {
            rt.run(|| {
                let (tx, rx) = rendezvous::<usize>();
                let handles: Vec<_> = (0..500)
                    .map(|_| {
                        let rx = rx.clone();
                        spawn(move || rx.recv().unwrap())
                    })
                    .collect();
                wait_until(|| threads() >= 500);
                let sender = spawn(move || (0..500).for_each(|i| tx.send(i).unwrap()));
                assert_eq!(handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>(), 124_750);
                sender.join().unwrap();
            });
            // 64 are kept for each worker.
            wait_until(|| threads() <= 150);
            wait_until(|| mappings() <= 150 * 6 + 100);
        }
        let report = rt.shutdown(PATIENCE);
        assert!(report.is_clean(), "{report}");
        wait_until(|| threads() <= 3);
    });
    assert_ok(&output);
}
