//! A system that has no more threads.

use super::{GangError, try_gang};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// So many more threads the system has.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

pub(super) fn may_start() -> io::Result<()> {
    let one_less = LEFT.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1));
    one_less.map(|_| ()).map_err(|_| io::Error::from_raw_os_error(11))
}

fn meet(n: usize) {
    let here = AtomicUsize::new(0);
    let meeting = try_gang(n, |_| {
        here.fetch_add(1, SeqCst);
        while here.load(SeqCst) < n {
            std::thread::yield_now();
        }
    });
    meeting.unwrap();
}

/// All or none, and an error that says what to do; the threads that there were are for others.
#[test]
fn without_threads_no_job_begins() {
    LEFT.store(5, SeqCst);
    for _ in 0..3 {
        let error = try_gang(8, |_| unreachable!("not all have a thread")).unwrap_err();
        assert!(matches!(error, GangError::NoThread(_)), "{error:?}");
        assert!(error.to_string().contains("ask for fewer jobs"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }
    // With the five that were started then, although there are no more.
    assert_eq!(LEFT.load(SeqCst), 0);
    meet(6);
    LEFT.store(usize::MAX, SeqCst);
    meet(8);
}

/// A panic that comes to the end of a helper's thread ends the process, with a message: a gang
/// would wait for that job for ever.
#[test]
fn a_stray_panic_ends_the_process() {
    const CHILD: &str = "MYRIAD_GANG_STRAY";
    if std::env::var_os(CHILD).is_some() {
        let helper = super::Helper::engage(1).unwrap().pop().unwrap();
        let (runs, has_run) = std::sync::mpsc::channel::<()>();
        helper.run(Box::new(move || {
            let _runs = runs;
            panic!("stray");
        }));
        _ = has_run.recv();
        // Longer than a process takes to end.
        std::thread::sleep(std::time::Duration::from_secs(5));
        std::process::exit(0);
    }
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "--nocapture", "api::gang::test::a_stray_panic_ends_the_process"]).env(CHILD, "1");
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("the end of a gang's thread"), "{} {said}", output.status);
}
