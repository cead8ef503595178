//! One program, from its start to its end: by system calls, on a thread that may be held up.

use super::capture::Captures;
use super::limits::Limits;
use super::output::named;
use super::process::{Leader, Pidfd, Processes, Used, memory_in_parts, most_memory, own_peak, peak_of, used_by};
use super::wall::Wall;
use super::{CommandOutput, Outputs};
use crate::machine::{Outcome, memory};
use myriad_base::sys::clock::{self, Instant};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

pub(super) struct Ended {
    pub output: CommandOutput,
    pub outcome: Outcome,
    /// Why it did not end well.
    pub verdict: Option<String>,
}

/// How often limits are looked at, at least ...
const LOOK: Duration = Duration::from_millis(100);
/// ... and at most.
const FIRST_LOOK: Duration = Duration::from_millis(2);
/// Where nothing tells us of the end of a process, it is looked at so often.
const WITHOUT_PIDFD: Duration = Duration::from_millis(5);
/// So much of the standard error is in a verdict.
const LAST: usize = 200;
/// The verdict on a [`Leader::Lost`].
const UNKNOWN: &str = "its exit status is unknown, as this process ignores SIGCHLD, or waits for children that it \
    did not start (set the signal to SIG_DFL, or wait for each child by its number)";

/// What the watcher needs to know.
pub(super) struct Watched<'a> {
    pub limits: Limits,
    pub outputs: &'a Outputs,
    /// Between `SIGTERM` and `SIGKILL`.
    pub grace: Duration,
    pub group: &'a Processes,
    pub is_cancelled: &'a (dyn Fn() -> bool + Sync),
}

pub(super) fn run(command: &mut Command, rules: &Watched<'_>) -> Ended {
    try_run(command, rules).unwrap_or_else(|error| {
        let verdict = Some(format!("the program did not start: {error}"));
        Ended { output: CommandOutput::default(), outcome: Outcome::Failed, verdict }
    })
}

/// An error: the program did not start.
fn try_run(command: &mut Command, rules: &Watched<'_>) -> io::Result<Ended> {
    let Watched { limits, outputs, group, .. } = rules;
    let (out, programs_out) = outputs.out.open(outputs.append, limits.output)?;
    let (err, programs_err) = outputs.err.open(outputs.append, limits.output)?;
    let mut kept = Captures::new(out, err);
    command.stdin(Stdio::null()).stdout(programs_out).stderr(programs_err);
    // (Before the program is there: it is to be outside of its wall as shortly as can be.)
    let wall = (limits.memory > 0).then(|| Wall::new(limits.memory)).flatten();
    let started = group.spawn(command);
    // (Its ends of the pipes are the program's alone from now on, so they end with it.)
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let leader = started.map_err(|error| what_is_missing(command, error))?;
    // (One that has ended by now needs none.)
    let wall = wall.filter(|wall| wall.put_in(leader).is_ok());
    let (mut seen, told) = watch(leader, rules, wall.as_ref(), &mut kept);
    seen.killed = seen.killed.or_else(|| wall_has_killed(wall.as_ref(), limits));
    if told || seen.killed.is_some() {
        // What is left of its group after its grace. (The leader is a zombie still, so the number
        // is the group's; else it is forgotten.)
        group.signal(libc::SIGKILL);
    }
    kept.read_rest();
    let [stdout, stderr] = kept.take();
    let killed = seen.killed.map(|what| format!("killed: {what}"));
    // (One that ended before anybody looked was not killed.)
    let too_much = || kept.over().map(|what| format!("too much was written: {what}"));
    let why = killed.or_else(too_much).or_else(|| kept.lost());
    let status = group.reap();
    let mut output = CommandOutput { stdout, stderr, peak_memory: seen.peak, ..CommandOutput::default() };
    if let Some((_, usage)) = &status {
        let time = |at: libc::timeval| Duration::new(at.tv_sec as u64, at.tv_usec as u32 * 1000);
        // (A process that has just been forked has the memory of its parent, and that counts there.
        // So what is said of one that never had more is not to be believed.)
        let peak = most_memory(usage);
        output.peak_memory = seen.peak.max(if peak > own_peak() { peak } else { 0 });
        output.cpu_time = time(usage.ru_utime) + time(usage.ru_stime);
    }
    let status = status.map(|(status, _)| status);
    let by_itself = || status.map_or_else(|| UNKNOWN.to_owned(), |status| verdict(status, last_words(&output)));
    let (outcome, verdict) = match (why, status, told) {
        (Some(why), ..) => (Outcome::Failed, Some(why)),
        // (Also if it says that all is well: it was told to stop before its work was done.)
        (None, _, true) => (Outcome::Stopped, Some(by_itself())),
        (None, None, false) => (Outcome::Lost, Some(by_itself())),
        (None, Some(status), false) if status.success() => (Outcome::Done, None),
        (None, Some(status), false) => {
            let by_limit = limits.ended_by(status, output.cpu_time).map(|what| format!("killed: {what}"));
            (Outcome::Failed, Some(by_limit.unwrap_or_else(|| by_itself() + &limits.note())))
        }
    };
    Ok(Ended { output, outcome, verdict })
}

/// The error of a start, with the name of the folder if that is not there, else of the program.
/// (The system says the same of both.)
fn what_is_missing(command: &Command, error: io::Error) -> io::Error {
    let folder = command.get_current_dir();
    match folder.and_then(|folder| Some((folder, std::fs::metadata(folder).err()?))) {
        Some((folder, error)) => io::Error::new(error.kind(), format!("the folder {}: {error}", folder.display())),
        None => named(Path::new(command.get_program()), error),
    }
}

/// What was seen of a program while it ran.
#[derive(Default)]
struct Seen {
    /// Why we have killed it, or the system has: "memory 2.1 GB of 2.0 GB".
    killed: Option<String>,
    /// The most memory of its group, or of its leader.
    peak: u64,
}

/// Until the leader has ended; and if it was told to stop, until the others of its group have, or
/// its grace is over. The leader is not reaped, so the number is that of the group all the time;
/// if somebody else has reaped it, the group is forgotten. The second is: was it told to stop?
fn watch(leader: libc::pid_t, rules: &Watched<'_>, wall: Option<&Wall>, kept: &mut Captures) -> (Seen, bool) {
    let Watched { limits, group, grace, is_cancelled, .. } = rules;
    let pidfd = Pidfd::open(leader);
    let mut seen = Seen::default();
    let mut told: Option<Instant> = None;
    let mut has_ended = false;
    let begin = clock::system_now();
    let (mut pause, mut look_at, mut processes_at) = (FIRST_LOOK, begin + FIRST_LOOK, begin + LOOK / 5);
    loop {
        let rest = look_at.duration_since(clock::system_now());
        match wait(leader, &pidfd, has_ended, rest, kept) {
            Leader::Lost => {
                group.forget();
                return (seen, told.is_some());
            }
            Leader::Ended if !has_ended => {
                has_ended = true;
                (pause, look_at) = (FIRST_LOOK, clock::system_now());
            }
            _ => {}
        }
        // (What it has written is known at once. All else has to be looked at.)
        let mut killed = kept.over().or_else(|| kept.lost());
        let now = clock::system_now();
        if now >= look_at {
            let grace_left = told.map_or(*grace, |at| grace.saturating_sub(now.duration_since(at)));
            if has_ended && (told.is_none() || grace_left.is_zero() || seen.killed.is_some() || !group.has_others()) {
                return (seen, told.is_some());
            }
            match told {
                None if is_cancelled() => {
                    // (One that is paused has to go on, to be told.)
                    group.signal(libc::SIGTERM);
                    group.signal(libc::SIGCONT);
                    told = Some(now);
                }
                Some(_) if grace_left.is_zero() => _ = group.signal(libc::SIGKILL),
                _ => {}
            }
            seen.peak = seen.peak.max(peak_of(leader));
            if seen.killed.is_none() && (limits.memory > 0 || limits.cpu.is_some()) && now >= processes_at {
                // (All processes of the machine have to be looked at, so this is done less often.)
                let (used, pause) = look_at_processes(leader, limits);
                processes_at = clock::system_now() + pause;
                seen.peak = seen.peak.max(used.memory);
                killed = killed.or_else(|| limits.exceeded(used));
            }
            killed = killed.or_else(|| wall_has_killed(wall, limits));
            pause = (2 * pause).min(if told.is_some() && !has_ended { LOOK / 10 } else { LOOK });
            look_at = clock::system_now() + if grace_left.is_zero() { pause } else { pause.min(grace_left) };
        }
        if seen.killed.is_none() && killed.is_some() {
            seen.killed = killed;
            group.signal(libc::SIGKILL);
        }
    }
}

/// Waits so long at most for the end of the leader, and keeps what is written meanwhile.
fn wait(leader: libc::pid_t, pidfd: &Pidfd, has_ended: bool, most: Duration, kept: &mut Captures) -> Leader {
    let Some(file) = pidfd.file().filter(|_| !has_ended) else {
        kept.wait(None, if has_ended { most } else { most.min(WITHOUT_PIDFD) });
        return Leader::of(leader);
    };
    if !kept.wait(Some(file), most) {
        return Leader::Runs;
    }
    match Leader::of(leader) {
        // (One that is traced has ended for its tracer before it has for us.)
        Leader::Runs => Leader::Ended,
        state => state,
    }
}

/// What its processes use together, and after what time to look at them again.
fn look_at_processes(leader: libc::pid_t, limits: &Limits) -> (Used, Duration) {
    let begin = clock::system_now();
    let mut used = used_by(leader);
    if limits.memory == 0 || used.memory <= limits.memory {
        return (used, LOOK);
    }
    // (This takes long for processes with much memory, so it is done less often then.)
    used.memory = used.memory.min(memory_in_parts(leader));
    (used, LOOK.max(10 * clock::system_now().duration_since(begin)))
}

/// The system has killed one of the processes: "memory 2.2 GB of 2.0 GB".
fn wall_has_killed(wall: Option<&Wall>, limits: &Limits) -> Option<String> {
    let most = wall?.killed_at()?;
    Some(format!("memory {} of {}", memory(most), memory(limits.memory)))
}

/// The end of the standard error, if it was kept.
fn last_words(output: &CommandOutput) -> &[u8] {
    &output.stderr[output.stderr.len().saturating_sub(LAST)..]
}

/// "exit code 3: no such file", "killed by signal 9".
fn verdict(status: ExitStatus, stderr: &[u8]) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    };
    match String::from_utf8_lossy(stderr).trim().lines().last() {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}
