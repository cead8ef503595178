//! Deadlocks: what is done when no task can ever go on.
//!
//! A deadlock is found when it is certain: all workers sleep, and every thread of the process waits
//! for another thread, without a time limit (`sched::rescue::quiet`). So there is no timer, no
//! input, no child process and no thread outside that could wake a task, and no handle, sender or
//! waker matters, for nobody is left to use it. One thread that waits for anything else hides it,
//! as in Go.
//!
//! **Rejected.** To count who holds the ends of a channel: a thread may have one and never use it,
//! or get one later from a list. "Perhaps", when all tasks have waited for a second: each program
//! that waits for its user would say so.

use super::dump::{Activity, Dump, TaskState, WhyWaiting, describe, dump};
use crate::queue::reason::WaitReason;
use crate::sched::pool::Handle;
use crate::sched::rescue::quiet;
use crate::sched::{unwind, user_code};
use myriad_base::sys::fork::{self, Rank};
use myriad_base::sys::mutex::Mutex;
use myriad_base::sys::passing::passing;
use myriad_base::sys::say::say;
use myriad_base::sys::thread::abort_with;
use std::fmt;
use std::sync::Arc;

/// What is done at a deadlock: see [`Builder::on_deadlock`](crate::Builder::on_deadlock).
///
/// # Examples
/// ```
/// use myriad::{Builder, OnDeadlock};
/// let rt = Builder::new().workers(1).on_deadlock(OnDeadlock::Abort).build()?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnDeadlock {
    /// Nothing.
    Ignore,
    /// A [`Deadlock`] on the standard error.
    #[default]
    Report,
    /// Calls this function, on a thread that is no worker. A panic in it stops there.
    Hook(Arc<dyn Fn(&Deadlock) + Send + Sync>),
    /// As `Report`, and the process ends (SIGABRT).
    Abort,
}

impl fmt::Debug for OnDeadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnDeadlock::Ignore => "Ignore",
            OnDeadlock::Report => "Report",
            OnDeadlock::Hook(_) => "Hook(..)",
            OnDeadlock::Abort => "Abort",
        })
    }
}

/// No task of the process can ever go on: all that wait, and why. Example:
/// [`Builder::on_deadlock`](crate::Builder::on_deadlock).
///
/// Its `Display` is a line, the cycle or the chain of tasks that wait for each other's ends, if
/// there is one, and the dump.
#[derive(Debug, Clone)]
pub struct Deadlock {
    dump: Dump,
}

impl Deadlock {
    /// All tasks, and the threads that wait for them.
    pub fn dump(&self) -> &Dump {
        &self.dump
    }

    /// The longest chain of tasks that wait for each other's ends, or a cycle of them, if there is
    /// one.
    ///
    /// Looks at all tasks that wait for one, up to a thousand of them.
    pub fn chain(&self) -> Option<WhyWaiting> {
        let joiners = self.dump.tasks().iter().filter(|task| task.waits_for() == Some(WaitReason::Join));
        let chains = joiners.take(1000).map(|task| self.dump.why(task));
        chains.max_by_key(|why| (why.is_cycle(), why.chain().len()))
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = |task: &&TaskState| task.activity() == Activity::Waits;
        let (tasks, threads) = (self.dump.tasks().iter().filter(waits).count(), self.dump.threads().len());
        let many = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        writeln!(
            f,
            "deadlock: nobody can wake the {} and {} that wait,",
            many(tasks, "task"),
            many(threads, "thread")
        )?;
        writeln!(f, "  because every thread of this process waits for another one")?;
        if let Some(chain) = self.chain() {
            let (last, before) = (chain.chain().len() - 1, chain.chain());
            for task in &before[..last] {
                writeln!(f, "  {} waits for", describe(task))?;
            }
            match chain.is_cycle() {
                true => writeln!(f, "  {} waits for one of these", describe(&before[last]))?,
                false => writeln!(f, "  {}", before[last])?,
            }
        }
        write!(f, "{}", self.dump)
    }
}

/// What each runtime has asked for.
static ASKED: Mutex<Vec<(Handle, OnDeadlock)>> = Mutex::new(Vec::new());

/// The runtime of this handle begins.
pub(super) fn watch(runtime: Handle, what: OnDeadlock) {
    fork::hold(Rank::Deadlocks, || {
        let held = ASKED.lock();
        Box::new(|_| drop(held))
    });
    quiet::when_deadlocked(tell);
    forget();
    ASKED.lock().push((runtime, what));
}

/// A runtime has ended: what is asked for and what it holds is dropped.
pub(super) fn forget() {
    let mut asked = ASKED.lock();
    let (stay, over) = std::mem::take(&mut *asked).into_iter().partition(|(runtime, _)| is_in_use(*runtime));
    *asked = stay;
    drop(asked);
    // What hooks hold is the user's.
    unwind::drop_quietly::<Vec<_>>(over);
}

fn is_in_use(runtime: Handle) -> bool {
    runtime.is_of_now() && !runtime.inner().is_elsewhere() && !runtime.inner().runtime_pools().pools().is_empty()
}

/// There is a deadlock. On the monitor's thread, which calls no user: another one tells.
fn tell() {
    let body = || unwind::never_unwinds("the thread that tells of a deadlock", tell_all);
    if std::thread::Builder::new().name("myriad-deadlock".into()).spawn(passing(body)).is_err() {
        say!("myriad: {}", Deadlock { dump: dump() });
    }
}

fn tell_all() {
    let asked: Vec<_> = ASKED.lock().iter().filter(|(runtime, _)| is_in_use(*runtime)).cloned().collect();
    let found = Deadlock { dump: dump() };
    let waits = found.dump.tasks().iter().any(|task| task.activity() == Activity::Waits);
    if !waits && found.dump.threads().is_empty() {
        // Nothing of ours: the program's own threads wait for each other.
        return;
    }
    let reports = |(_, what): &&(Handle, OnDeadlock)| matches!(what, OnDeadlock::Report | OnDeadlock::Abort);
    if asked.iter().any(|asked| reports(&asked)) {
        say!("myriad: {found}");
    }
    for (_, what) in &asked {
        match what {
            OnDeadlock::Hook(hook) => {
                if let Err(payload) = user_code::call(|| hook(&found)) {
                    unwind::discard(payload);
                    say!("myriad: {found}; and the hook for deadlocks panicked");
                }
            }
            OnDeadlock::Abort => abort_with("no task can ever go on: see the report of the deadlock above"),
            OnDeadlock::Ignore | OnDeadlock::Report => {}
        }
    }
    unwind::drop_quietly(asked);
}
