//! What a run did when.

use myriad_base::sys::clock::Instant;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::guest;
use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;
use std::time::Duration;

/// What is written down while a graph runs.
pub(crate) struct TraceOfRun {
    begun: Instant,
    spans: Mutex<Vec<RawSpan>>,
}

struct RawSpan {
    node: u32,
    worker: Option<usize>,
    begin: Instant,
    end: Instant,
}

impl TraceOfRun {
    /// Of a run of so many nodes.
    pub(crate) fn new(nodes: usize) -> TraceOfRun {
        let spans = Mutex::new(Vec::with_capacity(nodes));
        TraceOfRun { begun: Instant::real_now(), spans }
    }

    /// A body begins, and ends when this is dropped.
    pub(crate) fn begin(&self, node: u32) -> impl Drop + '_ {
        Open { trace: self, node, worker: worker(), begin: Instant::real_now() }
    }

    pub(crate) fn finish(self, names: &[impl Deref<Target = str>]) -> Trace {
        let whole = Instant::real_now().duration_since(self.begun);
        let mut spans: Vec<Span> = self
            .spans
            .lock()
            .drain(..)
            .map(|raw| Span {
                name: names[raw.node as usize].to_string(),
                worker: raw.worker,
                begin: raw.begin.duration_since(self.begun),
                end: raw.end.duration_since(self.begun),
            })
            .collect();
        spans.sort_by_key(|span| (span.begin, span.end));
        Trace { spans, whole }
    }
}

fn worker() -> Option<usize> {
    guest::worker().map(|worker| worker.index())
}

struct Open<'a> {
    trace: &'a TraceOfRun,
    node: u32,
    worker: Option<usize>,
    begin: Instant,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let end = Instant::real_now();
        self.trace.spans.lock().push(RawSpan { node: self.node, worker: self.worker, begin: self.begin, end });
    }
}

/// When each body of a run began and ended, and where: of
/// [`Graph::run_traced`](crate::graph::Graph::run_traced).
///
/// # Examples
/// ```
/// use myriad::flow::Graph;
/// let mut graph = Graph::builder();
/// let first = graph.node("first", || ()).id();
/// graph.node("second", || ()).after([first]);
/// let (result, trace) = graph.build()?.run_traced();
/// result?;
/// assert_eq!(trace.spans()[1].name, "second");
/// let (picture, file) = (trace.to_svg(), trace.to_perfetto());
/// assert!(picture.contains("second") && file.contains("second"));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Trace {
    pub(super) spans: Vec<Span>,
    pub(super) whole: Duration,
}

/// One call of a body, within a [`Trace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The node's.
    pub name: String,
    /// The number of the worker on which it began.
    pub worker: Option<usize>,
    /// When it began, after the beginning of the run.
    pub begin: Duration,
    /// When it ended; what it waited in between is part of it.
    pub end: Duration,
}

impl Trace {
    /// All calls, in the order in which they began.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// How long the run took.
    pub fn duration(&self) -> Duration {
        self.whole
    }

    /// The spans in rows for a picture: those of one worker beside each other where they do not
    /// overlap, and in a further row of that worker where they do, as bodies that wait make room
    /// for others. Each row with its worker.
    pub(super) fn rows(&self) -> Vec<(Option<usize>, Vec<&Span>)> {
        let mut rows: Vec<(Option<usize>, Vec<&Span>)> = Vec::new();
        // Of each worker, when its rows are free again.
        let mut free: HashMap<Option<usize>, BTreeSet<(Duration, usize)>> = HashMap::new();
        for span in &self.spans {
            let free = free.entry(span.worker).or_default();
            let row = match free.first().copied() {
                Some((end, row)) if end <= span.begin => {
                    free.pop_first();
                    row
                }
                _ => {
                    rows.push((span.worker, Vec::new()));
                    rows.len() - 1
                }
            };
            rows[row].1.push(span);
            free.insert((span.end, row));
        }
        rows.sort_by_key(|row| row.0);
        rows
    }
}
