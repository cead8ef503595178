//! One program, from its start to its end: by system calls, on a thread that may be held up.

use super::limits::Limits;
use super::output::named;
use super::process::{Pidfd, Processes, memory_in_parts, most_memory, own_peak, peak_of, used_by};
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
/// So much of the standard error is in a verdict.
const LAST: usize = 200;

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
    let ended = try_run(command, rules);
    // The files for the output, which the command would hold for its next run.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    match ended {
        Ok(ended) => ended,
        Err(error) => {
            let verdict = Some(format!("the program did not start: {error}"));
            Ended { output: CommandOutput::default(), outcome: Outcome::Failed, verdict }
        }
    }
}

fn try_run(command: &mut Command, rules: &Watched<'_>) -> io::Result<Ended> {
    let Watched { limits, outputs, group, .. } = rules;
    let (mut out, mut err) =
        (outputs.out.open(outputs.append, limits.output)?, outputs.err.open(outputs.append, limits.output)?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?);
    // (Before the program is there: it is to be outside of its wall as shortly as can be.)
    let wall = (limits.memory > 0).then(|| Wall::new(limits.memory, limits.output)).flatten();
    let leader = group.spawn(command).map_err(|error| what_is_missing(command, error))?;
    // (One that has ended by now needs none.)
    let wall = wall.filter(|wall| wall.put_in(leader).is_ok());
    let written = || Written { out: outputs.out.written(&out), err: outputs.err.written(&err) };
    let (mut seen, told) = watch(leader, rules, wall.as_ref(), &written);
    seen.killed = seen.killed.or_else(|| wall_has_killed(wall.as_ref(), limits));
    if told || seen.killed.is_some() {
        // What is left of its group after its grace. (The leader is a zombie still, so the number
        // is the group's.)
        group.signal(libc::SIGKILL);
    }
    let killed = seen.killed.map(|what| format!("killed: {what}"));
    // (One that ended before anybody looked was not killed.)
    let too_much = written().over(limits).map(|what| format!("too much was written: {what}"));
    let (status, usage) = group.reap()?;
    let time = |at: libc::timeval| Duration::new(at.tv_sec as u64, at.tv_usec as u32 * 1000);
    // (A process that has just been forked has the memory of its parent, and that counts there. So
    // what is said of one that never had more is not to be believed.)
    let peak = most_memory(&usage);
    let output = CommandOutput {
        stdout: outputs.out.contents(&mut out, limits.output),
        stderr: outputs.err.contents(&mut err, limits.output),
        peak_memory: seen.peak.max(if peak > own_peak() { peak } else { 0 }),
        cpu_time: time(usage.ru_utime) + time(usage.ru_stime),
    };
    outputs.out.close(&out);
    outputs.err.close(&err);
    let (outcome, verdict) = match (killed.or(too_much), told) {
        (Some(why), _) => (Outcome::Failed, Some(why)),
        (None, _) if status.success() => (Outcome::Done, None),
        (None, true) => (Outcome::Stopped, Some(verdict(status, last_words(&output)))),
        (None, false) => {
            let by_limit = limits.ended_by(status, output.cpu_time).map(|what| format!("killed: {what}"));
            let by_itself = || verdict(status, last_words(&output)) + &limits.note();
            (Outcome::Failed, Some(by_limit.unwrap_or_else(by_itself)))
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
/// its grace is over. The leader is not reaped, so the number is that of the group all the time.
/// The second is: was it told to stop?
fn watch(leader: libc::pid_t, rules: &Watched<'_>, wall: Option<&Wall>, written: &dyn Fn() -> Written) -> (Seen, bool) {
    let Watched { limits, group, grace, is_cancelled, .. } = rules;
    let pidfd = Pidfd::open(leader);
    let mut seen = Seen::default();
    let mut told: Option<Instant> = None;
    let mut pace = Pace { pause: FIRST_LOOK, last: clock::system_now(), written: 0 };
    let mut processes_at = clock::system_now() + LOOK / 5;
    let mut has_ended = false;
    let mut grace_left = *grace;
    loop {
        if has_ended {
            clock::sleep(pace.pause.min(grace_left));
        } else if pidfd.has_ended(leader, if told.is_some() { LOOK / 10 } else { pace.pause }) {
            has_ended = true;
            pace.pause = FIRST_LOOK;
        }
        let now = clock::system_now();
        grace_left = told.map_or(*grace, |at| grace.saturating_sub(now.duration_since(at)));
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
        if seen.killed.is_some() {
            continue;
        }
        if (limits.memory > 0 || limits.cpu.is_some()) && now >= processes_at {
            // (All processes of the machine have to be looked at, so this is not done more often.)
            processes_at = now + LOOK;
            let mut used = used_by(leader);
            if limits.memory > 0 && used.memory > limits.memory {
                // (This takes long for processes with much memory, so it is done less often then.)
                used.memory = used.memory.min(memory_in_parts(leader));
                processes_at = clock::system_now() + LOOK.max(10 * clock::system_now().duration_since(now));
            }
            seen.peak = seen.peak.max(used.memory);
            seen.killed = limits.exceeded(used);
        }
        let written = written();
        pace.next(now, written.out.max(written.err), limits.output);
        seen.killed = seen.killed.or_else(|| written.over(limits)).or_else(|| wall_has_killed(wall, limits));
        if seen.killed.is_some() {
            group.signal(libc::SIGKILL);
        }
    }
}

/// The system has killed one of the processes: "memory 2.2 GB of 2.0 GB".
fn wall_has_killed(wall: Option<&Wall>, limits: &Limits) -> Option<String> {
    let most = wall?.killed_at()?;
    Some(format!("memory {} of {}", memory(most), memory(limits.memory)))
}

/// How long to wait for the next look: longer each time, and not so long that a program that goes
/// on writing as fast as it does is far over its limit.
struct Pace {
    pause: Duration,
    last: Instant,
    written: u64,
}

impl Pace {
    fn next(&mut self, now: Instant, written: u64, most: u64) {
        let (time, more) = (now.duration_since(self.last), written.saturating_sub(self.written));
        (self.last, self.written) = (now, written);
        self.pause = (2 * self.pause).min(LOOK);
        if more > 0 {
            let until_full = time.as_secs_f64() * (most.saturating_sub(written) as f64 / more as f64);
            self.pause = self.pause.min(Duration::from_secs_f64(until_full.min(1.0))).max(Duration::from_millis(1));
        }
    }
}

/// Bytes of what is kept.
#[derive(Clone, Copy)]
struct Written {
    out: u64,
    err: u64,
}

impl Written {
    /// "output 2.0 MB of 1.0 MB".
    fn over(self, limits: &Limits) -> Option<String> {
        let (name, size) =
            [("output", self.out), ("error", self.err)].into_iter().find(|written| written.1 > limits.output)?;
        Some(format!("{name} {} of {}", memory(size), memory(limits.output)))
    }
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

#[cfg(test)]
mod test {
    use super::*;

    /// One that is silent is looked at less and less often; one that writes fast, before it is
    /// full.
    #[test]
    fn the_pace_of_looks() {
        let begin = clock::system_now();
        let ms = Duration::from_millis;
        let mut pace = Pace { pause: FIRST_LOOK, last: begin, written: 0 };
        let pauses = [4, 8, 16, 32, 64, 100, 100].map(|_| {
            pace.next(pace.last + pace.pause, 0, 1000);
            pace.pause
        });
        assert_eq!(pauses, [4, 8, 16, 32, 64, 100, 100].map(ms));
        pace.next(pace.last + ms(100), 500, 1000);
        assert_eq!(pace.pause, ms(100));
        pace.next(pace.last + ms(10), 900, 1000);
        assert!(pace.pause < ms(3), "{:?}", pace.pause);
        pace.next(pace.last + ms(1), 2000, 1000);
        assert_eq!(pace.pause, ms(1));
    }
}
