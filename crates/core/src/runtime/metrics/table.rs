//! Metrics as a table of 80 columns.

use super::{CallMetrics, Metrics, PoolMetrics, WorkerActivity, WorkerCounts};
use std::fmt::{self, Display};
use std::time::Duration;

/// Workers that have a line each; of more, only the sum.
const MOST: usize = 16;

impl WorkerActivity {
    /// Its word in texts.
    pub(super) fn word(self) -> &'static str {
        match self {
            WorkerActivity::Busy => "busy",
            WorkerActivity::Searching => "search",
            WorkerActivity::Parked => "parked",
            WorkerActivity::Stuck => "stuck",
        }
    }
}

/// A number in 7 columns at most.
struct Short(u64);

impl Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut value = self.0 as f64;
        if self.0 < 1_000_000 {
            return f.pad(&self.0.to_string());
        }
        for unit in ["k", "M", "G", "T", "P", "E"] {
            value /= 1000.0;
            if value < 9999.5 {
                return f.pad(&format!("{value:.0}{unit}"));
            }
        }
        f.pad("many")
    }
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, state: &str, counts: &WorkerCounts) -> fmt::Result {
    let WorkerCounts { queued, ready, blocked, timers, spawned, begun, resumed, stolen, .. } = *counts;
    write!(f, "\n{name:<8}{state:<7}")?;
    for n in [queued, ready, blocked, timers] {
        write!(f, "{:>8}", Short(n as u64))?;
    }
    for n in [spawned, begun, resumed, stolen] {
        write!(f, "{:>8}", Short(n))?;
    }
    Ok(())
}

fn pool(f: &mut fmt::Formatter<'_>, pool: &PoolMetrics) -> fmt::Result {
    let (sum, PoolMetrics { injected, interactive, background, pinned, dedicated, .. }) = (pool.sum(), pool);
    writeln!(
        f,
        "pool '{}': {} threads, {} stacks ({} idle), {} sleeps",
        pool.name,
        pool.threads,
        sum.stacks,
        sum.idle_stacks,
        Short(sum.sleeps)
    )?;
    writeln!(
        f,
        "injected {injected}, interactive {interactive}, background {background}, pinned {pinned}, on own threads {dedicated}"
    )?;
    write!(f, "{:<8}{:<7}", "worker", "state")?;
    for name in ["queued", "ready", "blocked", "timers", "spawned", "begun", "resumed", "stolen"] {
        write!(f, "{name:>8}")?;
    }
    for w in pool.workers.iter().take(MOST) {
        let name = if w.is_spare { format!("{} spare", w.index) } else { w.index.to_string() };
        line(f, &name, w.state.word(), &w.counts)?;
    }
    match pool.workers.len() {
        0 | 1 => {}
        n if n > MOST => line(f, "all", &format!("({n})"), &sum)?,
        _ => line(f, "all", "", &sum)?,
    }
    let Some(latency) = pool.latency.as_ref().filter(|latency| latency.count > 0) else { return Ok(()) };
    let [half, most, nearly_all] = [0.5, 0.99, 0.999].map(|part| Time(latency.quantile(part)));
    write!(f, "\nran within {half} (50 %), {most} (99 %), {nearly_all} (99.9 % of {})", Short(latency.count))
}

/// The bound of a bucket.
struct Time(Option<Duration>);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) if time < Duration::MAX => write!(f, "{time:?}"),
            _ => f.write_str("more"),
        }
    }
}

impl Display for CallMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} run, {} idle, {} queued", self.running, self.idle, self.queued)
    }
}

impl Display for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [busy, searching, parked, stuck] =
            [WorkerActivity::Busy, WorkerActivity::Searching, WorkerActivity::Parked, WorkerActivity::Stuck]
                .map(|state| self.workers_in(state));
        write!(f, "workers: {busy} busy, {searching} search, {parked} parked, {stuck} stuck; ")?;
        writeln!(f, "{} spares; {} task records", self.spares(), Short(self.records as u64))?;
        write!(f, "blocking calls: {}; compute: {}", self.blocking, self.compute)?;
        for of_pool in &self.pools {
            writeln!(f)?;
            pool(f, of_pool)?;
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::super::{LatencyMetrics, Metrics, WorkerActivity, WorkerMetrics};
    use super::{Duration, MOST, PoolMetrics, Short, WorkerCounts};

    #[test]
    fn large_numbers_are_short() {
        let cases = [
            (0, "0"),
            (999_999, "999999"),
            (1_000_000, "1000k"),
            (9_999_499, "9999k"),
            (9_999_500, "10M"),
            (u64::MAX, "18E"),
        ];
        for (n, text) in cases {
            assert_eq!(Short(n).to_string(), text);
        }
    }

    /// However large the numbers are, and however many workers there are.
    #[test]
    fn a_table_has_80_columns() {
        let big = u64::MAX;
        let n = usize::MAX / 1000;
        let counts = WorkerCounts {
            queued: n,
            ready: n,
            blocked: n,
            stacks: 123_456,
            idle_stacks: 12_345,
            timers: n,
            spawned: big,
            begun: big,
            resumed: big,
            stolen: big,
            sleeps: big / 1000,
        };
        let worker = |index| WorkerMetrics { index, is_spare: index > 2, state: WorkerActivity::Searching, counts };
        for workers in [1, 2, MOST, MOST + 1] {
            let pool = PoolMetrics {
                name: "default".into(),
                threads_name: "myriad".into(),
                workers: (0..workers).map(worker).collect(),
                injected: 1000,
                interactive: 1000,
                background: 10,
                pinned: 10,
                dedicated: 0,
                threads: 100,
                gathered_at: Some(999),
                latency: Some(LatencyMetrics {
                    buckets: vec![(Duration::from_micros(1_048_576), 50), (Duration::from_micros(8_388_608), 50)],
                    count: u64::MAX,
                    sum: Duration::MAX,
                }),
            };
            // (Of more than one the sum would overflow.)
            let zero = |mut pool: PoolMetrics| {
                pool.workers.iter_mut().skip(1).for_each(|w| w.counts = WorkerCounts::default());
                pool
            };
            let text = Metrics { pools: vec![zero(pool)], records: 1_000_000, ..Metrics::default() }.to_string();
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(80), "{text}");
            assert_eq!(text.lines().count(), 6 + workers.min(MOST) + usize::from(workers > 1), "{text}");
        }
    }
}
