//! Scripts of the monitor's sleep: it does not sleep beside a worker that is awake, which may get
//! stuck.

use super::pool::{TestPool, spawn_part};
use super::{SCRIPT, Script};
use crate::sched::rescue::parking::{AWAKE, Parking};
use myriad_base::sys::atomic::{AtomicUsize, Ordering::*};
use myriad_base::sys::mutant::on;
use std::sync::Arc;

struct World {
    w: Arc<TestPool>,
    parking: Parking,
}

/// Something comes while the only worker is going to sleep, or sleeps, and the monitor looks
/// whether it may sleep, too. The worker then works for long; what others do in time, here nobody
/// does.
fn looks(asleep: bool) {
    let world = Arc::new(World { w: TestPool::new(1, 0), parking: Parking { asleep: AtomicUsize::new(AWAKE) } });
    if asleep {
        world.w.put_to_sleep(0);
    }
    let worker = spawn_part(&world, move |world| {
        let (workers, me) = (world.w.workers, world.w.shared(0));
        let slept = asleep || workers.fall_asleep(me);
        if slept {
            workers.stay_asleep(me, None);
        }
        if (slept || !on("retract-not-told")) && world.parking.is_asleep() {
            world.parking.take();
        }
    });
    let monitor = spawn_part(&world, |world| _ = world.parking.fall_asleep(1, || world.w.workers.all_sleep()));
    world.w.workers.inject();
    worker.join().unwrap();
    monitor.join().unwrap();
    assert!(!world.w.workers.all_sleep(), "the worker works");
    assert_eq!(world.parking.asleep.load(Relaxed), AWAKE, "the monitor sleeps, and is forgotten");
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "monitor.nearly_asleep",
        run: || looks(false),
        threads: 3,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["retract-not-told", "doze-fence", "awake-fence"],
        ..SCRIPT
    },
    Script {
        name: "monitor.woken",
        run: || looks(true),
        threads: 3,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["count-alone", "doze-fence", "awake-fence"],
        ..SCRIPT
    },
];
