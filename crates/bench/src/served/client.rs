//! The client: a child of this process, with one thread.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::FromRawFd;
use std::time::Duration;

use super::traffic::{self, Place, Traffic};
use super::{Protocol, pin};
use crate::record::Failure;
use crate::serving::Served;

/// The client, seen from the server.
pub(super) struct Client {
    child: libc::pid_t,
    /// To it, and from it.
    go: File,
    said: File,
}

/// What it has measured. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Result {
    pub(super) requests: u64,
    /// From the first to the last that counts.
    pub(super) nanos: u64,
    pub(super) p50: u64,
    pub(super) p75: u64,
    pub(super) p90: u64,
    pub(super) p99: u64,
    pub(super) p999: u64,
    pub(super) worst: u64,
    /// How late the client itself saw that a request was due, at the 99th percentile.
    pub(super) late: u64,
}

impl Result {
    /// By the time of each request.
    pub(super) fn new(times: Vec<Duration>, all: Duration) -> Result {
        let mut times: Vec<_> = times.iter().map(|time| time.as_nanos() as u64).collect();
        times.sort_unstable();
        let [p50, p75, p90, p99, p999, worst] = [500, 750, 900, 990, 999, 1000].map(|per_mille| at(&times, per_mille));
        Result { requests: times.len() as u64, nanos: all.as_nanos() as u64, p50, p75, p90, p99, p999, worst, late: 0 }
    }

    /// As it is recorded.
    pub(super) fn served(&self) -> Served {
        let seconds = |nanos: u64| nanos as f64 / 1e9;
        Served {
            requests: self.requests,
            cpu_seconds_per_request: None,
            p50: seconds(self.p50),
            p75: seconds(self.p75),
            p90: seconds(self.p90),
            p99: seconds(self.p99),
            p999: seconds(self.p999),
            worst: seconds(self.worst),
            client_late: (self.late > 0).then(|| seconds(self.late)),
        }
    }

    fn to_numbers(self) -> [u64; NUMBERS] {
        let Result { requests, nanos, p50, p75, p90, p99, p999, worst, late } = self;
        [requests, nanos, p50, p75, p90, p99, p999, worst, late]
    }

    fn of_numbers([requests, nanos, p50, p75, p90, p99, p999, worst, late]: [u64; NUMBERS]) -> Result {
        Result { requests, nanos, p50, p75, p90, p99, p999, worst, late }
    }
}

/// The fields of a [`Result`].
const NUMBERS: usize = 9;

/// Of sorted times the one that so many of a thousand do not exceed.
pub(super) fn at(times: &[u64], per_mille: usize) -> u64 {
    times[(times.len() * per_mille).div_ceil(1000).max(1) - 1]
}

/// What the child says, in this order: a byte when it begins to measure, then a byte and the
/// numbers of a [`Result`], or an error's text.
pub(super) const BEGINS: u8 = 1;
const ENDS: u8 = 2;

impl Client {
    /// Starts the child, which waits for [`go`](Self::go).
    pub(super) fn start(
        address: SocketAddr,
        traffic: Traffic,
        apart: bool,
        protocol: impl Protocol,
    ) -> io::Result<Client> {
        let (from_parent, go) = pipe()?;
        let (said, to_parent) = pipe()?;
        // SAFETY: this process has one thread yet, or others that hold no lock of ours: the child
        // does nothing but what follows, and ends.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: takes no pointers: the child ends with its parent.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                drop((go, said));
                child(traffic, protocol, Place { address, apart, go: from_parent, said: to_parent });
                // SAFETY: ends the child, and runs nothing of its parent's.
                unsafe { libc::_exit(0) }
            }
            child => Ok(Client { child, go, said }),
        }
    }

    /// The server listens; of [`Traffic::Silent`]: the silence is over.
    pub(super) fn go(&mut self) {
        _ = self.go.write_all(&[0]);
    }

    /// Waits until it begins to measure.
    pub(super) fn wait_for_begin(&mut self) -> std::result::Result<(), Failure> {
        self.hear(BEGINS)
    }

    /// Waits until it has measured.
    pub(super) fn wait_for_end(&mut self) -> std::result::Result<Result, Failure> {
        self.hear(ENDS)?;
        let mut numbers = [[0; 8]; NUMBERS];
        let read = self.said.read_exact(numbers.as_flattened_mut());
        read.map_err(|error| Failure::Wrong(format!("the client: {error}")))?;
        Ok(Result::of_numbers(numbers.map(u64::from_le_bytes)))
    }

    fn hear(&mut self, what: u8) -> std::result::Result<(), Failure> {
        let mut byte = [0];
        match self.said.read(&mut byte) {
            Ok(1) if byte[0] == what => Ok(()),
            _ => {
                let mut text = String::from_utf8_lossy(&byte).into_owned();
                _ = self.said.read_to_string(&mut text);
                Err(Failure::Wrong(format!("the client: {}", text.trim_matches('\0'))))
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: takes no pointers but null: the child is ours, and is waited for once.
        unsafe {
            libc::kill(self.child, libc::SIGKILL);
            libc::waitpid(self.child, std::ptr::null_mut(), 0);
        }
    }
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` is room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fresh descriptors, which nobody else has.
    Ok(unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) })
}

/// The child's whole life.
fn child(traffic: Traffic, protocol: impl Protocol, mut place: Place) {
    if place.apart {
        pin::to_last();
    }
    if place.go.read_exact(&mut [0]).is_err() {
        return;
    }
    _ = match traffic::run(traffic, protocol, &mut place) {
        Ok(result) => {
            let numbers = result.to_numbers().map(u64::to_le_bytes);
            place.said.write_all(&[ENDS]).and_then(|()| place.said.write_all(numbers.as_flattened()))
        }
        Err(error) => place.said.write_all(error.to_string().as_bytes()),
    };
}
