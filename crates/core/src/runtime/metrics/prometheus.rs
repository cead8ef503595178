//! Metrics as Prometheus reads them: its text format, version 0.0.4.

use super::{Metrics, PoolMetrics, WorkerActivity, WorkerCounts};
use std::fmt::{self, Display, Write};

/// A family of samples of one worker: name, help, and the value.
type OfWorker<T> = (&'static str, &'static str, fn(&WorkerCounts) -> T);

const GAUGES: [OfWorker<usize>; 6] = [
    ("myriad_tasks_queued", "Unstarted tasks and woken futures in the worker's queue.", |c| c.queued),
    ("myriad_tasks_ready", "Blocked closures that are woken and go on next.", |c| c.ready),
    ("myriad_tasks_blocked", "Closures that are blocked.", |c| c.blocked),
    ("myriad_stacks", "Stacks: fibers or threads.", |c| c.stacks),
    ("myriad_stacks_idle", "Stacks that are kept for the next closures.", |c| c.idle_stacks),
    ("myriad_timers_pending", "Pending sleeps and time limits.", |c| c.timers),
];

const COUNTERS: [OfWorker<u64>; 5] = [
    ("myriad_tasks_spawned_total", "Tasks spawned by tasks, but for branches of join.", |c| c.spawned),
    ("myriad_tasks_begun_total", "Closures begun and futures polled by the loop.", |c| c.begun),
    ("myriad_tasks_resumed_total", "Turns in which a blocked closure went on.", |c| c.resumed),
    ("myriad_tasks_stolen_total", "Tasks taken from other workers.", |c| c.stolen),
    ("myriad_worker_sleeps_total", "How often the worker has fallen asleep.", |c| c.sleeps),
];

const STATES: [WorkerActivity; 4] =
    [WorkerActivity::Busy, WorkerActivity::Searching, WorkerActivity::Parked, WorkerActivity::Stuck];

/// A value of a label: backslashes, quotes and ends of lines are escaped.
struct LabelValue<'a>(&'a str);

impl Display for LabelValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// The text, as it grows.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.0 += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: impl Display, value: impl Display) {
        self.0 += &format!("{name}{{{labels}}} {value}\n");
    }
}

fn of_pool(pool: &PoolMetrics) -> String {
    format!("runtime={},pool={}", LabelValue(&pool.threads_name), LabelValue(&pool.name))
}

impl Metrics {
    /// The text that Prometheus reads (its format 0.0.4): serve it as
    /// `text/plain; version=0.0.4`.
    ///
    /// Samples have the labels `runtime` (what the threads are called: give each runtime of a
    /// process a [name](crate::Builder::name) of its own), `pool`, and `worker` or another one.
    /// Those of `myriad_call_threads`, `myriad_calls_queued` and `myriad_task_records` are of the
    /// process.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(2).build()?;
    /// let text = rt.metrics().to_prometheus();
    /// assert!(text.contains("# TYPE myriad_tasks_spawned_total counter\n"));
    /// assert!(text.contains("myriad_tasks_queued{runtime=\"myriad\",pool=\"default\",worker=\"1\"} 0\n"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut text = Text(String::new());
        text.family("myriad_workers", "gauge", "Workers by what they do, with spares.");
        for (pool, state) in self.pools.iter().flat_map(|pool| STATES.map(|state| (pool, state))) {
            let n = pool.workers.iter().filter(|w| w.state == state).count();
            text.sample("myriad_workers", format_args!("{},state=\"{}\"", of_pool(pool), state.label()), n);
        }
        text.family("myriad_spares", "gauge", "Workers beside those asked for, on duty while others are stuck.");
        for pool in &self.pools {
            text.sample("myriad_spares", of_pool(pool), pool.spares());
        }
        text.family("myriad_threads", "gauge", "Threads of workers.");
        self.pools.iter().for_each(|pool| text.sample("myriad_threads", of_pool(pool), pool.threads));
        text.family("myriad_tasks_injected", "gauge", "Unstarted tasks that are in no worker's queue.");
        for pool in &self.pools {
            let queues = [
                ("normal", pool.injected),
                ("interactive", pool.interactive),
                ("background", pool.background),
                ("pinned", pool.pinned),
            ];
            for (queue, n) in queues {
                text.sample("myriad_tasks_injected", format_args!("{},queue=\"{queue}\"", of_pool(pool)), n);
            }
        }
        text.family("myriad_tasks_dedicated", "gauge", "Tasks with a thread of their own.");
        self.pools.iter().for_each(|pool| text.sample("myriad_tasks_dedicated", of_pool(pool), pool.dedicated));
        text.family("myriad_futures_gathered", "gauge", "1 while one worker runs all woken futures.");
        let gathered = |pool: &PoolMetrics| u8::from(pool.gathered_at.is_some());
        self.pools.iter().for_each(|pool| text.sample("myriad_futures_gathered", of_pool(pool), gathered(pool)));
        GAUGES.iter().for_each(|family| self.of_workers(&mut text, "gauge", family));
        COUNTERS.iter().for_each(|family| self.of_workers(&mut text, "counter", family));
        self.latencies(&mut text);
        let calls = [("blocking", self.blocking), ("compute", self.compute)];
        text.family("myriad_call_threads", "gauge", "Threads for calls outside of the workers.");
        for (kind, of_kind) in calls {
            for (state, n) in [("running", of_kind.running), ("idle", of_kind.idle)] {
                text.sample("myriad_call_threads", format_args!("kind=\"{kind}\",state=\"{state}\""), n);
            }
        }
        text.family("myriad_calls_queued", "gauge", "Calls that wait for a thread.");
        for (kind, of_kind) in calls {
            text.sample("myriad_calls_queued", format_args!("kind=\"{kind}\""), of_kind.queued);
        }
        text.family("myriad_task_records", "gauge", "Records of tasks in use.");
        text.0 += &format!("myriad_task_records {}\n", self.records);
        text.0
    }

    fn latencies(&self, text: &mut Text) {
        const NAME: &str = "myriad_scheduling_latency_seconds";
        let measured = |pool: &'_ PoolMetrics| pool.latency.is_some();
        if !self.pools.iter().any(measured) {
            return;
        }
        text.family(NAME, "histogram", "How long tasks waited from being queued or woken until they ran.");
        for pool in &self.pools {
            let Some(latency) = &pool.latency else { continue };
            let (labels, mut counted) = (of_pool(pool), 0);
            for (bound, count) in &latency.buckets {
                counted += count;
                let labels = format_args!("{labels},le=\"{}\"", bound.as_secs_f64()).to_string();
                text.sample(&format!("{NAME}_bucket"), labels, counted);
            }
            text.sample(&format!("{NAME}_bucket"), format_args!("{labels},le=\"+Inf\""), latency.count);
            text.sample(&format!("{NAME}_sum"), &labels, latency.sum.as_secs_f64());
            text.sample(&format!("{NAME}_count"), &labels, latency.count);
        }
    }

    fn of_workers<T: Display>(&self, text: &mut Text, kind: &str, &(name, help, value): &OfWorker<T>) {
        text.family(name, kind, help);
        for pool in &self.pools {
            for w in &pool.workers {
                let labels = format_args!("{},worker=\"{}\"", of_pool(pool), w.index).to_string();
                text.sample(name, labels, value(&w.counts));
            }
        }
    }
}

impl WorkerActivity {
    fn label(self) -> &'static str {
        if self == WorkerActivity::Searching { "searching" } else { self.word() }
    }
}
