//! One program, from its start to its end: by system calls, on a thread that may be held up.

use super::CommandOutput;
use crate::machine::{Outcome, memory};
use myriad_base::sys::clock;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

pub(super) struct Limits {
    /// Bytes of all processes of the group together; 0: none.
    pub memory: u64,
    /// Bytes of output and of error each.
    pub output: u64,
    pub grace: Duration,
}

pub(super) struct Ended {
    pub output: CommandOutput,
    pub outcome: Outcome,
    /// Why it did not end well.
    pub verdict: Option<String>,
}

/// How often limits are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// So much of the standard error is in a verdict.
const LAST: usize = 200;

pub(super) fn run(command: &mut Command, limits: &Limits, is_cancelled: &dyn Fn() -> bool) -> Ended {
    let ended = try_run(command, limits, is_cancelled);
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

fn try_run(command: &mut Command, limits: &Limits, is_cancelled: &dyn Fn() -> bool) -> io::Result<Ended> {
    let (mut out, mut err) = (unnamed_file()?, unnamed_file()?);
    command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(err.try_clone()?).process_group(0);
    let child = command.spawn()?;
    let group = child.id() as libc::pid_t;
    let pidfd = Pidfd::open(group);
    let mut peak = 0;
    let mut killed: Option<String> = None;
    let mut told: Option<clock::Instant> = None;
    // The process has ended, and is not reaped: its number is its own until `reap`.
    while !pidfd.has_ended(group, if told.is_some() { LOOK / 10 } else { LOOK }) {
        let now = clock::system_now();
        match told {
            None if is_cancelled() => {
                signal(group, libc::SIGTERM);
                told = Some(now);
            }
            Some(at) if now.duration_since(at) >= limits.grace => signal(group, libc::SIGKILL),
            _ => {}
        }
        if killed.is_some() {
            continue;
        }
        if limits.memory > 0 {
            let used = memory_of(group);
            peak = peak.max(used);
            if used > limits.memory {
                killed = Some(format!("killed: memory {} of {}", memory(used), memory(limits.memory)));
            }
        }
        killed = killed.or_else(|| written_too_much(&out, &err, limits).map(|what| format!("killed: {what}")));
        if killed.is_some() {
            signal(group, libc::SIGKILL);
        }
    }
    if told.is_some() || killed.is_some() {
        // What is left of its group. (The leader is a zombie still, so the number is the group's.)
        signal(group, libc::SIGKILL);
    }
    let (status, usage) = reap(group)?;
    // (One that ended before anybody looked was not killed.)
    let killed =
        killed.or_else(|| written_too_much(&out, &err, limits).map(|what| format!("too much was written: {what}")));
    let time = |at: libc::timeval| Duration::new(at.tv_sec as u64, at.tv_usec as u32 * 1000);
    let output = CommandOutput {
        stdout: contents(&mut out, limits.output),
        stderr: contents(&mut err, limits.output),
        peak_memory: peak.max(usage.ru_maxrss as u64 * 1024),
        cpu_time: time(usage.ru_utime) + time(usage.ru_stime),
    };
    let (outcome, verdict) = match (killed, told) {
        (Some(why), _) => (Outcome::Failed, Some(why)),
        (None, _) if status.success() => (Outcome::Done, None),
        (None, Some(_)) => (Outcome::Stopped, Some(verdict(status, &output.stderr))),
        (None, None) => (Outcome::Failed, Some(verdict(status, &output.stderr))),
    };
    Ok(Ended { output, outcome, verdict })
}

/// "output 2.0 MB of 1.0 MB".
fn written_too_much(out: &File, err: &File, limits: &Limits) -> Option<String> {
    let written =
        [("output", out), ("error", err)].map(|(name, file)| (name, file.metadata().map_or(0, |of| of.len())));
    let (name, size) = written.into_iter().find(|written| written.1 > limits.output)?;
    Some(format!("{name} {} of {}", memory(size), memory(limits.output)))
}

/// "exit code 3: no such file", "killed by signal 9".
fn verdict(status: ExitStatus, stderr: &[u8]) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    };
    let last = String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(LAST)..]);
    match last.trim().lines().last() {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

fn unnamed_file() -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let folder = std::env::temp_dir();
    let open = |flags: i32, path: &std::path::Path| {
        File::options().read(true).append(true).create_new(flags == 0).custom_flags(flags).mode(0o600).open(path)
    };
    #[cfg(target_os = "linux")]
    if let Ok(file) = open(libc::O_TMPFILE, &folder) {
        return Ok(file);
    }
    // A file system without such files, or another system.
    for _ in 0..100 {
        let path = folder.join(format!("myriad-{}-{:x}", std::process::id(), myriad_core::task::rng::rng().next_u64()));
        if let Ok(file) = open(0, &path) {
            std::fs::remove_file(&path)?;
            return Ok(file);
        }
    }
    Err(io::Error::other("no file for the output in the folder for temporary files"))
}

fn contents(file: &mut File, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // (An output that cannot be read is none: the program's end says more.)
    _ = file.rewind().and_then(|()| file.take(most).read_to_end(&mut bytes));
    bytes
}

/// To all processes of a group, whose leader is not reaped yet.
fn signal(group: libc::pid_t, signal: libc::c_int) {
    // SAFETY: `kill` takes numbers, and the group's is its own as long as its leader is not reaped,
    // which `reap` does after the last signal.
    unsafe { libc::kill(-group, signal) };
}

/// The status of a process that has ended, and what it has used.
fn reap(process: libc::pid_t) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: all zeros is a value of this struct of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both places are valid for writing, and of the types that the call writes.
        let got = unsafe { libc::wait4(process, &raw mut status, 0, &raw mut usage) };
        if got == process {
            return Ok((ExitStatus::from_raw(status), usage));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A file that becomes readable when the process ends; or none, where the system has no such files.
struct Pidfd(Option<std::os::fd::OwnedFd>);

impl Pidfd {
    fn open(process: libc::pid_t) -> Pidfd {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::FromRawFd;
            // SAFETY: the call takes two numbers, and returns a file of ours or -1.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
            // SAFETY: a number that is not negative is a file that was just opened, and nobody
            // else's.
            Pidfd((fd >= 0).then(|| unsafe { std::os::fd::OwnedFd::from_raw_fd(fd as libc::c_int) }))
        }
        #[cfg(not(target_os = "linux"))]
        {
            _ = process;
            Pidfd(None)
        }
    }

    /// Waits so long at most. True: the process has ended; it is not reaped.
    fn has_ended(&self, process: libc::pid_t, most: Duration) -> bool {
        use std::os::fd::AsRawFd;
        if let Some(fd) = &self.0 {
            let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid entry, for the length of the call.
            return unsafe { libc::poll(&raw mut poll, 1, most.as_millis() as libc::c_int) } > 0;
        }
        // SAFETY: all zeros is a value of this struct.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the place is valid for writing; `si_pid` is set by this call, or still zero.
        let ended = unsafe {
            libc::waitid(libc::P_PID, process as libc::id_t, &raw mut info, flags) == 0 && info.si_pid() == process
        };
        if !ended {
            clock::sleep(most.min(Duration::from_millis(5)));
        }
        ended
    }
}

/// What the processes of a group have of memory together, in bytes. 0 where the system does not
/// say.
fn memory_of(group: libc::pid_t) -> u64 {
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    // SAFETY: `sysconf` reads a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64;
    let resident = |entry: std::fs::DirEntry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        // After the name, which may have any characters: state, parent, group, ..; pages are the
        // 22nd.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        (fields.get(2)?.parse() == Ok(group)).then_some(())?;
        fields.get(21)?.parse::<u64>().ok()
    };
    processes.flatten().filter_map(resident).sum::<u64>() * page
}
