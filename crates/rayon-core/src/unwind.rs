//! Frames that must not be left by a panic, for others hold pointers into them.

pub(crate) use myriad_base::unwind::{Payload, catch};
pub(crate) use myriad_core::engine::unwind::resume;

/// Calls `f`, in which frames of the caller are borrowed by jobs that may still run: if `f`
/// unwinds, the process ends.
///
/// Nothing in `f` unwinds, as far as we know: whatever is foreign is called through [the
/// door](crate::user_code). This is for what we do not know. A frame that is left while others
/// borrow from it is undefined behaviour, and rayon ends the process too.
#[inline(always)]
pub(crate) fn never_left<R>(what: &'static str, f: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind(what);
    let result = f();
    std::mem::forget(guard);
    result
}

/// As `eprintln!`, which would panic where the standard error is full or closed: then nothing is
/// said.
macro_rules! say {
    ($($text:tt)*) => { myriad_base::sys::say::line(format_args!($($text)*)) };
}
pub(crate) use say;

/// While it stands, nothing may unwind.
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    #[cold]
    fn drop(&mut self) {
        say!(
            "rayon (on Myriad): a panic was about to leave {}, while jobs that may still run borrow from the frames below it. \
             Aborting. This is a bug in Myriad: please report it, with the message of the panic above",
            self.0
        );
        std::process::abort();
    }
}

#[cfg(test)]
mod tests {
    use super::{AbortOnUnwind, never_left};
    use std::process::{Command, Output};

    const CHILD: &str = "MYRIAD_RAYON_TEST_CHILD";

    /// Runs one of the tests here in a process of its own.
    fn child(test: &str) -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("unwind::tests::{test}"), "--nocapture"]).env(CHILD, test);
        command.output().unwrap()
    }

    fn is_child(test: &str) -> bool {
        std::env::var(CHILD).is_ok_and(|name| name == test)
    }

    #[test]
    fn a_wait_that_unwinds_ends_the_process() {
        const NAME: &str = "a_wait_that_unwinds_ends_the_process";
        if is_child(NAME) {
            // It is not stopped on the way by somebody who catches.
            _ = std::panic::catch_unwind(|| never_left("a test's wait", || panic!("the cause")));
            println!("it went on");
            return;
        }
        let output = child(NAME);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!output.status.success() && !out.contains("it went on"), "{out}\n{err}");
        assert!(err.contains("the cause") && err.contains("leave a test's wait"), "{err}");
    }

    #[test]
    fn a_wait_that_returns_goes_on() {
        assert_eq!(never_left("a wait", || 7), 7);
        std::mem::forget(AbortOnUnwind("not dropped"));
    }
}
