//! Deadlocks: what is done when no task can ever go on.
//!
//! A deadlock is found when it is certain: all workers sleep, and every thread of the process waits
//! for another thread, without a time limit (`sched::rescue::quiet`). So there is no timer, no
//! input, no child process and no thread outside that could wake a task, and no handle, sender or
//! waker matters, for nobody is left to use it. One thread that waits for anything else hides it,
//! as in Go.
//!
//! What [`OnDeadlock::Panic`] does is in `ends`.
//!
//! In debug builds there is a hint, once, when a deadlock is only likely: see [`tell_perhaps`].
//!
//! **Rejected.** To count who holds the ends of a channel: a thread may have one and never use it,
//! or get one later from a list. "Perhaps", whenever all tasks have waited for a second: each
//! program that waits for its user would say so.

mod ends;

use super::dump::{Activity, Dump, TaskState, WhyWaiting, count, describe, doing, dump};
use crate::queue::reason::WaitReason;
use crate::sched::hints;
use crate::sched::pool::Handle;
use crate::sched::rescue::quiet;
use crate::sched::wait::sleepers;
use crate::sched::{unwind, user_code};
use myriad_base::sys::fork::{self, Rank};
use myriad_base::sys::mutex::Mutex;
use myriad_base::sys::passing::passing;
use myriad_base::sys::say::say;
use myriad_base::sys::thread::abort_with;
use std::fmt;
use std::sync::Arc;
// Std's: a hint.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
    /// As `Report`, and tasks of this runtime that wait are ended by a panic, so that those who
    /// wait for them go on: the payload is a [`Deadlock`], and a join brings an error that
    /// [is one](crate::JoinError::is_deadlock).
    ///
    /// A task that waits for the end of another task, or of a scope, is not ended: it gets the
    /// error or the panic. But where tasks wait for each other's ends in a cycle, and where nobody
    /// waits for anything else, these are ended, too. So a plain thread comes back from `run`, a
    /// join, a scope; its other waits end when what it waits for is dropped or let go.
    ///
    /// The panic arrives as a cancellation does: at the wait; in a shield, at the first wait after
    /// it; a future is dropped. A task that catches it goes on. If a look comes to the deadlock
    /// again, and no task can be ended, as in a shield, the process ends (SIGABRT). So it does at
    /// once if it was compiled with `panic = "abort"`.
    Panic,
}

impl fmt::Debug for OnDeadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnDeadlock::Ignore => "Ignore",
            OnDeadlock::Report => "Report",
            OnDeadlock::Hook(_) => "Hook(..)",
            OnDeadlock::Abort => "Abort",
            OnDeadlock::Panic => "Panic",
        })
    }
}

/// No task of the process can ever go on: all that wait, and why. Example:
/// [`Builder::on_deadlock`](crate::Builder::on_deadlock).
///
/// Its `Display` is a line, the cycle or the chain of tasks that wait for each other's ends, if
/// there is one, and the dump.
///
/// Also the payload of the panics of [`OnDeadlock::Panic`].
#[derive(Debug, Clone)]
pub struct Deadlock {
    dump: Arc<Dump>,
    /// Of a payload: what is said of its task.
    text: String,
}

impl Deadlock {
    fn now() -> Deadlock {
        Deadlock { dump: Arc::new(dump()), text: String::new() }
    }

    /// All tasks, and the threads that wait for them.
    pub fn dump(&self) -> &Dump {
        &self.dump
    }

    /// The longest chain of tasks that wait for each other's ends, or a cycle of them, if there is
    /// one.
    pub fn chain(&self) -> Option<WhyWaiting> {
        self.dump.longest_chain()
    }
}

impl fmt::Display for Deadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = |task: &&TaskState| task.activity() == Activity::Waits;
        let (tasks, threads) = (self.dump.tasks().iter().filter(waits).count(), self.dump.threads().len());
        let (tasks, threads) = (count(tasks, "task", "tasks"), count(threads, "thread", "threads"));
        writeln!(f, "deadlock: nobody can wake the {tasks} and {threads} that wait,")?;
        writeln!(f, "  because every thread of this process waits for another one")?;
        if let Some(chain) = self.chain() {
            let (last, before) = (chain.chain().len() - 1, chain.chain());
            for task in &before[..last] {
                writeln!(f, "  {} waits for", describe(task))?;
            }
            match chain.is_cycle() {
                true => writeln!(f, "  {} waits for one of these", describe(&before[last]))?,
                false => writeln!(f, "  {}\n    {}", describe(&before[last]), doing(&before[last]))?,
            }
        }
        write!(f, "{}", self.dump)
    }
}

/// What each runtime has asked for.
struct Asked {
    /// Whose runtime it is: see [`fork`].
    era: u32,
    runtime: Handle,
    what: OnDeadlock,
    /// [`Builder::deadlock_hint`](crate::Builder::deadlock_hint).
    hint: bool,
}

static ASKED: Mutex<Vec<Asked>> = Mutex::new(Vec::new());

/// The runtime of this handle begins.
pub(super) fn watch(runtime: Handle, what: OnDeadlock, hint: bool) {
    fork::hold(Rank::Deadlocks, || {
        let held = ASKED.lock();
        Box::new(|_| drop(held))
    });
    quiet::when_deadlocked(tell);
    let off = || std::env::var_os("MYRIAD_DEADLOCK_HINT").is_some_and(|value| value == "0");
    let hint = hint && hints::ON && !matches!(what, OnDeadlock::Ignore) && !off();
    if hint {
        quiet::when_perhaps_deadlocked(is_hint_wanted, || _ = on_own_thread(tell_perhaps));
    }
    forget();
    ASKED.lock().push(Asked { era: fork::era(), runtime, what, hint });
}

/// A runtime has ended: what is asked for and what it holds is dropped.
pub(super) fn forget() {
    let mut asked = ASKED.lock();
    // What the parent's hooks hold is the parent's.
    asked.extract_if(.., |asked| asked.era != fork::era()).for_each(std::mem::forget);
    let over: Vec<_> = asked.extract_if(.., |asked| !is_in_use(asked.runtime)).collect();
    drop(asked);
    // What hooks hold is the user's.
    unwind::drop_quietly(over);
}

fn has_reactor(runtime: Handle) -> bool {
    runtime.inner().runtime_pools().pools().iter().any(|pool| pool.workers.reactor.get().is_some())
}

fn is_in_use(runtime: Handle) -> bool {
    runtime.is_of_now() && !runtime.inner().is_elsewhere() && !runtime.inner().runtime_pools().pools().is_empty()
}

/// There is a deadlock. On the monitor's thread, which calls no user, and does not wait for a
/// reader of the standard error: another one tells.
fn tell() {
    if !on_own_thread(tell_all) {
        say!("myriad: {}", Deadlock::now());
    }
}

/// False: there is no thread.
fn on_own_thread(body: fn()) -> bool {
    let body = move || unwind::never_unwinds("the thread that tells of a deadlock", body);
    std::thread::Builder::new().name("myriad-deadlock".into()).spawn(passing(body)).is_ok()
}

/// Was the hint given? Std's: a hint.
static HINTED: AtomicBool = AtomicBool::new(false);

/// Does a plain thread wait for tasks, without a time limit, and no runtime has no hints?
fn is_hint_wanted() -> bool {
    let mut waits = false;
    sleepers::for_each(|_, waits_for, timed| waits |= !timed && is_for_tasks(waits_for.reason));
    // (Where tasks wait for sockets, a server that nobody calls looks the same.)
    let hinted = |asked: &Asked| asked.hint && !has_reactor(asked.runtime);
    waits && !HINTED.load(Relaxed) && ASKED.lock().iter().all(|asked| hinted(asked) || !is_in_use(asked.runtime))
}

/// As in `run`, a join, a scope, `block_on`.
fn is_for_tasks(reason: WaitReason) -> bool {
    matches!(reason, WaitReason::Join | WaitReason::Scope | WaitReason::Future)
}

/// All threads have stood still for a second: there is perhaps a deadlock. That is said, if all
/// tasks wait, a plain thread waits for tasks, and nothing of ours ends by itself: no timer, no
/// call, no time limit. (Only the process's first thread could go on, if it waits for a time in a
/// lock of others.)
fn tell_perhaps() {
    let found = dump();
    let tasks_wait = !found.tasks.is_empty()
        && found.tasks.iter().all(|task| matches!(task.activity, Activity::Waits | Activity::Dedicated));
    let awaited = found.threads.iter().any(|thread| is_for_tasks(thread.reason));
    let timed = found.threads.iter().any(|thread| thread.timed)
        || found.pools.iter().flat_map(|pool| &pool.workers).any(|w| w.timer.is_some());
    let calls = found.calls.iter().any(|calls| calls.threads > calls.idle || calls.queued > 0);
    if !tasks_wait || !awaited || timed || calls || HINTED.swap(true, Relaxed) {
        return;
    }
    say!(
        "myriad: hint: perhaps a deadlock: all tasks wait, and a thread waits for them, while no thread has moved for a second or \
         more, and none of ours waits for a time. (Said once, in debug builds; `Builder::deadlock_hint` decides.)\n{found}"
    );
}

fn tell_all() {
    let of_now = |asked: &&Asked| is_in_use(asked.runtime);
    let asked: Vec<_> = ASKED.lock().iter().filter(of_now).map(|asked| (asked.runtime, asked.what.clone())).collect();
    tell_each(&asked);
    // What hooks hold is the user's, and ours may be the last.
    unwind::drop_quietly(asked);
}

fn tell_each(asked: &[(Handle, OnDeadlock)]) {
    let found = Deadlock::now();
    let waits = found.dump.tasks().iter().any(|task| task.activity() == Activity::Waits);
    if !waits && found.dump.threads().is_empty() {
        // Nothing of ours: the program's own threads wait for each other.
        return;
    }
    let says = |what: &OnDeadlock| matches!(what, OnDeadlock::Report | OnDeadlock::Abort | OnDeadlock::Panic);
    if asked.iter().any(|(_, what)| says(what)) {
        say!("myriad: {found}");
    }
    // First: after a hook, which may wake somebody, the dump's records may be other tasks'.
    let aborts = asked.iter().any(|(_, what)| matches!(what, OnDeadlock::Abort));
    let panics = asked.iter().filter(|(_, what)| matches!(what, OnDeadlock::Panic) && !aborts);
    let panics: Vec<_> = panics.map(|(runtime, _)| *runtime).collect();
    let go_on = panics.is_empty() || ends::end_tasks(&found, &panics);
    for (_, what) in asked {
        match what {
            OnDeadlock::Hook(hook) => {
                if let Err(payload) = user_code::call(|| hook(&found)) {
                    unwind::discard(payload);
                    say!("myriad: {found}; and the hook for deadlocks panicked");
                }
            }
            OnDeadlock::Abort => abort_with("no task can ever go on: see the report of the deadlock above"),
            OnDeadlock::Ignore | OnDeadlock::Report | OnDeadlock::Panic => {}
        }
    }
    if !go_on {
        abort_with(
            "no task can ever go on, and none can be ended where it waits: see the report of the deadlock above",
        );
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::panic::Location;
    use std::time::Duration;

    /// A deadlock of tasks in these records, each of which waits for the end of another one, or
    /// (0) for something else.
    fn deadlock(joins: impl Iterator<Item = (usize, usize)>) -> Deadlock {
        let location = Location::caller();
        let tasks = joins.map(|(record, object)| TaskState {
            location,
            words: None,
            id: None,
            record,
            object,
            scope: 0,
            since: 0,
            pool: 0,
            is_future: false,
            activity: Activity::Waits,
            reason: Some(if object == 0 { WaitReason::Other } else { WaitReason::Join }),
        });
        let (took, tasks) = (Duration::ZERO, tasks.collect());
        let dump = Dump { took, pools: Vec::new(), tasks, threads: Vec::new(), calls: Vec::new() };
        Deadlock { dump: Arc::new(dump), text: String::new() }
    }

    fn length(found: &Deadlock) -> Option<(bool, usize)> {
        found.chain().map(|why| (why.is_cycle(), why.chain().len()))
    }

    #[test]
    fn the_longest_chain_is_that_of_all_tasks() {
        assert_eq!(length(&deadlock([(1, 0), (2, 0)].into_iter())), None);
        // A task that is not in the dump.
        assert_eq!(length(&deadlock([(1, 9)].into_iter())), Some((false, 1)));
        assert_eq!(length(&deadlock([(1, 2), (2, 3), (3, 0), (4, 3)].into_iter())), Some((false, 3)));
        assert_eq!(length(&deadlock([(1, 1), (2, 3), (3, 4), (4, 0)].into_iter())), Some((true, 1)));
        // A cycle, with one task before it, behind many that wait for one.
        let many = (10..5000).map(|record| (record, 9));
        let cycle = [(9, 0), (1, 2), (2, 3), (3, 2)];
        assert_eq!(length(&deadlock(many.chain(cycle))), Some((true, 3)));
        // A chain of many, which is walked over once from wherever one begins.
        let all = 100_000;
        let chain = |rest: usize| deadlock((1..all).map(|record| (record, record + 1)).chain([(all, rest)]));
        assert_eq!(length(&chain(0)), Some((false, all)));
        assert_eq!(length(&chain(all / 2)), Some((true, all)));
    }
}
