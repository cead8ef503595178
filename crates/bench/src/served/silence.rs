//! A server whose clients are silent: the memory of a connection, and whether the server rests.

use std::collections::HashMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use super::Server;
use super::client::Client;
use crate::memory::Memory;
use crate::record::{Failure, Measured, Outcome};
use crate::serving::Silent;

/// How long the silence is that is measured.
const SILENCE: Duration = Duration::from_secs(2);
/// The server rests when no thread of it has run for so long…
const SETTLED: Duration = Duration::from_millis(100);
/// …or when that has not come about by then.
const PATIENCE: Duration = Duration::from_secs(3);

/// Measures it. Of Myriad it is checked that no thread runs.
pub(super) fn measure(mut client: Client, server: &Server, m: u64, is_ours: bool) -> Outcome {
    let process = server.process();
    let (memory, used) = (Memory::of(process), server.processor_time());
    client.go();
    client.wait_for_begin()?;
    let begin = Instant::now();
    while Threads::during(process, SETTLED).runs > 0 && begin.elapsed() < PATIENCE {}
    let bytes_per_task = memory.zip(Memory::of(process)).map(|(before, now)| now.growth_since(before, m));
    let used = server.processor_time().zip(used).map(|(now, before)| now.saturating_sub(before));
    let Threads { runs, nanos } = Threads::during(process, SILENCE);
    client.go();
    let result = client.wait_for_end()?;
    if is_ours && runs > 0 {
        let used = Duration::from_nanos(nanos);
        return Err(Failure::Wrong(format!("its threads ran {runs} times, {used:.1?}, in {SILENCE:?} of silence")));
    }
    let time = Duration::from_nanos(result.nanos);
    let silent = Silent { seconds: SILENCE.as_secs_f64(), wakes: runs, cpu_seconds: nanos as f64 / 1e9 };
    let measured = Measured { bytes_per_task, silent: Some(silent), ..Measured::once(m, time) };
    Ok(measured.with_processors(used, time))
}

/// What the threads of a process did in a while, without the thread that looks. A thread that makes
/// a system call has run: so while none has, there was no call.
struct Threads {
    /// How often the kernel has put one of them on a processor.
    runs: u64,
    nanos: u64,
}

impl Threads {
    /// Sleeps, and looks before and after.
    fn during(process: Option<u32>, time: Duration) -> Threads {
        let before = look(process);
        thread::sleep(time);
        let mut all = Threads { runs: 0, nanos: 0 };
        for (thread, [nanos, runs]) in look(process) {
            let [nanos_before, runs_before] = before.get(&thread).copied().unwrap_or_default();
            all.nanos += nanos.saturating_sub(nanos_before);
            all.runs += runs.saturating_sub(runs_before);
        }
        all
    }
}

/// Of each thread the time on a processor, and how often it was put there.
fn look(process: Option<u32>) -> HashMap<String, [u64; 2]> {
    let folder = format!("/proc/{}/task", process.map_or("self".into(), |process| process.to_string()));
    let own = own_thread().to_string();
    let threads = fs::read_dir(folder).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| {
            let name = thread.file_name().into_string().ok().filter(|name| *name != own)?;
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
            let (nanos, runs) = (numbers.next()?, numbers.nth(1)?);
            Some((name, [nanos, runs]))
        })
        .collect()
}

/// The number of the calling thread, as the system has it.
fn own_thread() -> libc::pid_t {
    // SAFETY: takes no pointers.
    unsafe { libc::gettid() }
}

#[cfg(test)]
mod test {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_thread_that_runs_is_seen_and_one_that_sleeps_is_not() {
        let (stop, stopped) = mpsc::channel::<()>();
        let (told, tell) = mpsc::channel();
        let sleeper = thread::spawn(move || {
            told.send(own_thread().to_string()).expect("it is waited for");
            while stopped.recv_timeout(Duration::from_millis(2)).is_err_and(|e| e == mpsc::RecvTimeoutError::Timeout) {}
            stopped.recv().is_err()
        });
        let name = tell.recv().expect("it says so");
        let runs = || look(None).get(&name).map(|numbers| numbers[1]).expect("it is alive");
        // It wakes again and again, as often as one looks.
        let before = runs();
        while runs() < before + 3 {
            thread::yield_now();
        }
        drop(stop);
        assert!(sleeper.join().expect("it does not panic"));
        assert!(!look(None).contains_key(&own_thread().to_string()));
    }
}
