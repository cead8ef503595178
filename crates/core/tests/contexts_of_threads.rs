//! Scoped values where a thread has a context of its own that is older than its role as a worker.

use myriad_core::Builder;
use myriad_core::task::ScopedValue;
use std::sync::mpsc::{Sender, channel};

static USER: ScopedValue<&str> = ScopedValue::new("nobody");

/// Spawns in its destructor.
struct Ends(Sender<&'static str>);

impl Drop for Ends {
    fn drop(&mut self) {
        let to = self.0.clone();
        USER.with_value("ann", || drop(myriad_core::spawn(move || to.send(USER.get()).unwrap())));
    }
}

/// The hook makes the context; the result of a detached task is dropped by the worker, in no task.
#[test]
fn what_is_spawned_in_no_task_inherits() {
    let hook = |_| USER.with_value("hook", || ());
    let rt = Builder::new().workers(1).spare_workers(0).on_thread_start(hook).build().unwrap();
    let (to, from) = channel();
    drop(rt.spawn(move || Ends(to)));
    assert_eq!(from.recv().unwrap(), "ann");
}
