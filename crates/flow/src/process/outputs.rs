//! What a step gives.
//!
//! A step only puts messages here. When it has ended, they are given: `outlet.rs`.

use super::outlet::{Outlet, TypedOutlet};
use super::port::{Out, PortId};
use std::any::Any;
use std::fmt;

/// What a step gives. It is sent when the step has ended; a step that panics gives nothing.
///
/// Examples: [`give`](Self::give), [`report`](Self::report), [`recorder`](Self::recorder).
pub struct Outputs {
    /// As that of an output of this process.
    process: PortId,
    pub(super) all: Vec<Box<dyn Outlet>>,
    pub(super) reports: Vec<String>,
    /// What was given, where there is no process.
    recorded: Option<Vec<(PortId, Box<dyn Any + Send>)>>,
}

impl Outputs {
    pub(super) fn new(process: PortId, all: Vec<Box<dyn Outlet>>) -> Outputs {
        Outputs { process, all, reports: Vec::new(), recorded: None }
    }

    /// Outputs of no process, which keep what is given, to any output: for tests that call a step.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{In, Network, NetworkBuilder, Out, Outputs};
    /// fn add(sum: &mut i32, n: i32, out: &mut Outputs, sums: Out<i32>) {
    ///     *sum += n;
    ///     out.give(sums, *sum);
    /// }
    /// fn adder(net: &mut NetworkBuilder) -> (In<i32>, Out<i32>) {
    ///     net.process("adder", || 0, |p| {
    ///         let sums = p.output("sums");
    ///         (p.input("each", move |sum, n, out| add(sum, n, out, sums)), sums)
    ///     })
    /// }
    /// // A test, without a task or a channel.
    /// let (_, sums) = adder(&mut Network::builder());
    /// let (mut sum, mut outputs) = (10, Outputs::recorder());
    /// add(&mut sum, 5, &mut outputs, sums);
    /// add(&mut sum, 1, &mut outputs, sums);
    /// assert_eq!(outputs.recorded(sums), [15, 16]);
    /// ```
    pub fn recorder() -> Outputs {
        let nobody = PortId { network: u64::MAX, process: 0, at: 0 };
        Outputs { recorded: Some(Vec::new()), ..Outputs::new(nobody, Vec::new()) }
    }

    /// Takes what was given to this output of a [`recorder`](Self::recorder).
    pub fn recorded<T: 'static>(&mut self, from: Out<T>) -> Vec<T> {
        let Some(recorded) = &mut self.recorded else { return Vec::new() };
        let (these, rest): (Vec<_>, _) = recorded.drain(..).partition(|(id, _)| *id == from.id);
        *recorded = rest;
        these.into_iter().filter_map(|(_, message)| message.downcast().ok()).map(|message| *message).collect()
    }

    /// Takes the texts of a [`recorder`](Self::recorder).
    pub fn recorded_reports(&mut self) -> Vec<String> {
        if self.recorded.is_some() { std::mem::take(&mut self.reports) } else { Vec::new() }
    }

    /// Gives a message, when the step has ended, to each input with which the output is connected.
    /// If there is none, the message is dropped now.
    ///
    /// # Blocking
    /// Never blocks. After the step the process waits until all its messages have room.
    ///
    /// # Panics
    /// If the output is another process's.
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::unbounded;
    /// use myriad::flow::process::Network;
    /// let (tx, rx) = unbounded();
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || 1..=4);
    /// // Odd ones, and even ones.
    /// let (each, odd, even) = net.process("parity", || (), |p| {
    ///     let (odd, even) = (p.output("odd"), p.output("even"));
    ///     let each = p.input("each", move |_, n: i32, out| out.give(if n % 2 == 0 { even } else { odd }, n));
    ///     (each, odd, even)
    /// });
    /// let shown = net.sink("shown", move |n| tx.send(n).unwrap());
    /// net.connect(numbers, each).connect(even, shown);
    /// // Nobody reads the odd ones.
    /// _ = odd;
    /// net.build()?.start().join();
    /// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [2, 4]);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    #[track_caller]
    pub fn give<T: Send + 'static>(&mut self, to: Out<T>, message: T) {
        if let Some(recorded) = &mut self.recorded {
            return recorded.push((to.id, Box::new(message)));
        }
        let is_own = (to.id.network, to.id.process) == (self.process.network, self.process.process);
        assert!(is_own, "a step gives to an output of another process: it can give to those of its own only");
        let outlet = self.all[to.id.at].as_any().downcast_mut::<TypedOutlet<T>>();
        outlet.expect("an output's type is its declaration's").push(message);
    }

    /// Sends a text to the [report channel](super::Running::reports) of the run, when the step has
    /// ended.
    ///
    /// # Blocking
    /// Never blocks: where nobody reads reports, the oldest are dropped.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || [1, 2]);
    /// let sum = net.process("sum", || 0, |p| {
    ///     p.input("each", |sum, n: i32, out| {
    ///         *sum += n;
    ///         out.report(format!("{sum} so far"));
    ///     })
    /// });
    /// net.connect(numbers, sum);
    /// let run = net.build()?.start();
    /// let reports: Vec<_> = run.reports().iter().map(|report| report.text).collect();
    /// assert_eq!(reports, ["1 so far", "3 so far"]);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn report(&mut self, text: impl Into<String>) {
        self.reports.push(text.into());
    }

    /// Was one connected, and is none read any more?
    pub(super) fn is_unread(&self) -> bool {
        self.all.iter().any(|outlet| outlet.is_closed()) && !self.all.iter().any(|outlet| outlet.is_open())
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs").field("reports", &self.reports).finish_non_exhaustive()
    }
}
