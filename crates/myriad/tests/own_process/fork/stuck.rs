//! Reports of stuck workers, and children that are forked meanwhile.

use crate::common::{self, MODES, Mode};
use crate::{alone, in_fork};
use myriad::{OnStuck, Stuck};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Told as soon as possible of each worker that is stuck.
fn on_stuck(hook: impl Fn(&Stuck) + Send + Sync + 'static) -> OnStuck {
    OnStuck::Hook { after: Duration::from_millis(1), hook: Arc::new(hook) }
}

/// A runtime is told of a worker of its own that is stuck.
fn is_told(mode: Mode) -> String {
    let told = Arc::new(Mutex::new(None));
    let tells = told.clone();
    let hook = on_stuck(move |stuck| *tells.lock().unwrap() = Some(stuck.to_string()));
    let rt = mode.builder().workers(1).name("own").on_stuck(hook).build().unwrap();
    rt.run(|| common::compute_until(|| told.lock().unwrap().is_some()));
    told.lock().unwrap().take().unwrap()
}

/// A child hears of its own stuck workers, though in the parent a hook was running, and others of
/// the parent's reports were waiting for it.
#[test]
fn reports_of_stuck_workers_in_a_child() {
    let _alone = alone();
    for mode in MODES {
        let [told, go] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let (tells, goes) = (told.clone(), go.clone());
        let hook = on_stuck(move |_| {
            tells.store(true, SeqCst);
            common::wait_until(|| goes.load(SeqCst));
        });
        let rt = mode.builder().workers(2).on_stuck(hook).build().unwrap();
        // The second one's report waits, sooner or later.
        let both = [(); 2].map(|()| {
            let go = go.clone();
            rt.spawn(move || common::compute_until(|| go.load(SeqCst)))
        });
        common::wait_until(|| told.load(SeqCst));
        for _ in 0..5 {
            let says = in_fork(|| is_told(mode));
            // (A spare one takes the task where worker 0 gets no processor in time.)
            assert!(says.contains("of 'own' has been stuck"), "{mode}: {says}");
            std::thread::sleep(Duration::from_millis(5));
        }
        go.store(true, SeqCst);
        both.into_iter().for_each(|h| h.join().unwrap());
    }
}

/// The hook forks: the child can build runtimes, and hears of their stuck workers. If it comes back
/// from the hook its thread ends, the only one that it has.
#[test]
fn a_hook_for_stuck_workers_that_forks() {
    let _alone = alone();
    for mode in MODES {
        let told = Arc::new(Mutex::new(None::<(String, i32)>));
        let tells = told.clone();
        let hook = on_stuck(move |_| {
            let says = in_fork(|| is_told(mode));
            // SAFETY: the child ends soon, or after 100 s; the parent waits for its own child.
            let status = unsafe {
                let child = libc::fork();
                if child == 0 {
                    libc::alarm(100);
                    return;
                }
                let mut status = 0;
                libc::waitpid(child, &mut status, 0);
                status
            };
            *tells.lock().unwrap() = Some((says, status));
        });
        let rt = mode.builder().workers(1).on_stuck(hook).build().unwrap();
        rt.run(|| common::compute_until(|| told.lock().unwrap().is_some()));
        let (says, status) = told.lock().unwrap().take().unwrap();
        assert!(says.contains(" of 'own'"), "{mode}: {says}");
        assert_eq!(status, 0, "{mode}");
    }
}
