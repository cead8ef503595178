//! Channels whose partners a shutdown has left blocked. (A file of its own: what such closures hold
//! is leaked.)

use crate::channel_common::*;
use myriad::Runtime;
use myriad::channel::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(1000);

/// Closures that a shutdown left blocked stay in line, for ever: what they are handed is lost with
/// them, what they wanted to send is received; nothing else is harmed.
#[test]
fn partners_that_a_shutdown_left_behind() {
    for mode in modes() {
        let (tx, rx) = bounded(1);
        let (sender, left) = rendezvous();
        let begun = Arc::new(AtomicUsize::new(0));
        let rt = mode.builder().workers(1).pin_workers(false).build().unwrap();
        let mut forgotten = Vec::new();
        for timed in [false, true] {
            let (rx, begun) = (rx.clone(), begun.clone());
            forgotten.push(rt.spawn(move || {
                begun.fetch_add(1, SeqCst);
                _ = if timed { rx.recv_timeout(LONG).ok() } else { rx.recv().ok() };
            }));
            let begun = forgotten_sender(&rt, &sender, timed, &mut forgotten);
            wait_until(|| begun.load(SeqCst) == 1);
        }
        wait_until(|| begun.load(SeqCst) == 2);
        // The last one has begun to wait, too: the worker runs this only then.
        rt.run(|| ());
        let report = rt.shutdown(Duration::ZERO);
        assert_eq!(report.unfinished().len(), 4, "{report}");
        // Those that wait get two of these.
        (0..3).for_each(|i| tx.send(i).unwrap());
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [2]);
        assert_eq!(left.try_iter().collect::<Vec<_>>(), [false, true]);
        assert!(tx.close() && left.close());
        drop(forgotten);
    }
}

fn forgotten_sender(
    rt: &Runtime,
    sender: &Sender<bool>,
    timed: bool,
    forgotten: &mut Vec<myriad::JoinHandle<()>>,
) -> Arc<AtomicUsize> {
    let begun = Arc::new(AtomicUsize::new(0));
    let (sender, mine) = (sender.clone(), begun.clone());
    forgotten.push(rt.spawn(move || {
        mine.fetch_add(1, SeqCst);
        _ = if timed { sender.send_timeout(timed, LONG).is_ok() } else { sender.send(timed).is_ok() };
    }));
    begun
}
