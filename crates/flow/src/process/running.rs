//! The handle of a network that runs.

use super::control::Control;
use super::end::{Finished, ProcessEnd, Report, StepError};
use super::inject::{InjectError, Port, Targets};
use super::network::Network;
use super::ping::{Answer, InputState, Pong};
use super::port::In;
use super::process_ref::ProcessRef;
use super::wiring::AnyInput;
use myriad_core::JoinHandle;
use myriad_core::time;
use myriad_sync::channel::{Receiver, Sender, oneshot};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A network that runs.
///
/// **End.** A process ends when all who give to its inputs have ended and it has read what they
/// gave; so a network whose sources end does, from one end to the other. (Processes that give to
/// each other in a circle do not: [`stop`](Self::stop) them.) An input that is connected with no
/// output stays open for [`inject`](Self::inject), until [`close`](Self::close) or
/// [`join`](Self::join). A process also ends when nobody reads any of its outputs any more, which
/// is seen when it gives. A handle that is dropped stops its network, without waiting for that.
///
/// Examples: [the module](super), [`ping`](Self::ping), [`process`](Self::process).
#[must_use = "a handle that is dropped stops its network"]
pub struct Running {
    pub(super) network: Network,
    pub(super) inputs: Vec<Vec<Box<dyn AnyInput>>>,
    pub(super) controls: Vec<Arc<Control>>,
    pub(super) tasks: Vec<JoinHandle<ProcessEnd>>,
    errors: Receiver<StepError>,
    reports: Receiver<Report>,
    /// To be stopped when the handle goes.
    is_held: bool,
}

impl Running {
    pub(super) fn new(
        network: Network,
        inputs: Vec<Vec<Box<dyn AnyInput>>>,
        controls: Vec<Arc<Control>>,
        errors: Receiver<StepError>,
        reports: Receiver<Report>,
    ) -> Running {
        Running { network, inputs, controls, tasks: Vec::new(), errors, reports, is_held: true }
    }

    /// Pauses all processes. A step that runs goes on to its end; what it gives then stays where it
    /// is, and no further message is taken, until [`resume`](Self::resume). Nothing is lost.
    ///
    /// # Blocking
    /// Never blocks: [`ping`](Self::ping) says who is paused.
    pub fn pause(&self) {
        self.controls.iter().for_each(|control| control.pause(true));
    }

    /// All processes go on.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn resume(&self) {
        self.controls.iter().for_each(|control| control.pause(false));
    }

    /// Ends all processes: each when its step has ended. What it has still to give is dropped, and
    /// so is what waits in channels; [`join`](Self::join) says how many messages that were. A
    /// source that waits for its next message unwinds from that wait.
    ///
    /// To lose nothing, end the sources, and join.
    ///
    /// # Blocking
    /// Never blocks: [`join`](Self::join) waits for the end.
    pub fn stop(&self) {
        self.controls.iter().for_each(|control| control.stop());
    }

    /// As [`stop`](Self::stop), and steps unwind at their next wait.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Examples
    /// ```
    /// use myriad::{flow::process::{EndReason, Network}, time};
    /// use std::time::Duration;
    /// let mut net = Network::builder();
    /// let slow = net.sink("slow", |_: u32| time::sleep(Duration::from_secs(3600)));
    /// let run = net.build()?.start();
    /// run.inject(slow, [1, 2]).unwrap();
    /// run.cancel();
    /// let ended = run.join();
    /// assert!(!ended.is_complete());
    /// assert_eq!(ended.process("slow").unwrap().why, EndReason::Cancelled);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn cancel(&self) {
        self.controls.iter().for_each(|control| control.token.cancel());
    }

    /// Waits until all processes have ended. Nothing can be injected any more, so inputs that only
    /// this handle has kept open are closed now; otherwise nothing is done that would end it.
    ///
    /// # Blocking
    /// Until then.
    ///
    /// # Cancellation
    /// Stops the network: a time limit around `join` leaves nothing behind that runs on.
    ///
    /// # Panics
    /// If the runtime has ended first.
    pub fn join(mut self) -> Finished {
        self.close_all();
        let tasks = std::mem::take(&mut self.tasks);
        let ends = tasks.into_iter().map(|task| task.join().unwrap_or_else(|error| error.resume()));
        Finished { processes: ends.collect() }
    }

    /// Leaves it running without a handle: it ends with its sources.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || 0..3);
    /// let all = net.sink("all", move |n| tx.send(n).unwrap());
    /// net.connect(numbers, all);
    /// net.build()?.start().detach();
    /// assert!(rx.iter().take(3).eq(0..3));
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn detach(mut self) {
        self.is_held = false;
    }

    /// Have all processes ended?
    pub fn is_finished(&self) -> bool {
        self.tasks.iter().all(|task| task.is_finished())
    }

    /// What has panicked. A hundred wait here, and then the oldest is dropped; each is also counted
    /// in [`ProcessEnd::panics`]. Closed when all processes have ended.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Network, Outcome};
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || [1, 0, 4]);
    /// let (number, share) = net.flat_map("divide", |n: i32| Some(100 / n));
    /// let sum = net.process("sum", || 0, |p| p.input_kept("each", |sum, n: i32, _| *sum += n));
    /// net.connect(numbers, number).connect(share, sum);
    /// let run = net.build()?.start();
    /// let error = run.errors().recv().unwrap();
    /// assert_eq!((&*error.process, error.outcome), ("divide", Outcome::Kept));
    /// assert_eq!(run.join().process("sum").unwrap().steps, 2);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn errors(&self) -> &Receiver<StepError> {
        &self.errors
    }

    /// What steps [report](super::Outputs::report). A hundred wait here, and then the oldest is
    /// dropped. Closed when all processes have ended.
    pub fn reports(&self) -> &Receiver<Report> {
        &self.reports
    }

    /// A process, by its name.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Activity, Network};
    /// use std::time::Duration;
    /// let mut net = Network::builder();
    /// let each = net.sink("each", |_: i32| ());
    /// let run = net.build()?.start();
    /// let process = run.process("each").unwrap();
    /// process.pause();
    /// assert_eq!(process.ping(Duration::from_secs(10)).activity, Activity::Paused);
    /// process.resume();
    /// run.inject(each, [1, 2, 3]).unwrap();
    /// assert_eq!(run.join().process("each").unwrap().steps, 3);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn process(&self, name: &str) -> Option<ProcessRef<'_>> {
        let at = self.network.processes.iter().position(|process| **process.spec.name() == *name)?;
        Some(ProcessRef { run: self, at })
    }

    /// Asks all processes, at the same time, what they do. One that does not answer within the
    /// limit is in a step that lasts long, or its worker is: [`Pong::activity`] says which.
    ///
    /// # Blocking
    /// Until all have answered, for at most as long as the limit.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Activity, Network};
    /// use std::time::Duration;
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || 0..5);
    /// let all = net.sink("all", |_| ());
    /// net.connect(numbers, all);
    /// let run = net.build()?.start_paused();
    /// for pong in run.ping(Duration::from_secs(10)) {
    ///     assert_eq!((pong.activity, pong.steps), (Activity::Paused, 0));
    ///     assert!(pong.outputs.iter().all(|output| (output.given, output.readers) == (0, 1)));
    /// }
    /// run.resume();
    /// assert!(run.join().is_complete());
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn ping(&self, within: Duration) -> Vec<Pong> {
        let asked: Vec<_> = (0..self.controls.len()).map(|at| self.ask(at)).collect();
        let deadline = time::now() + within;
        asked.into_iter().enumerate().map(|(at, answer)| self.pong(at, answer.recv_deadline(deadline).ok())).collect()
    }

    /// As [`ping`](Self::ping), as a future.
    pub async fn ping_async(&self, within: Duration) -> Vec<Pong> {
        let asked: Vec<_> = (0..self.controls.len()).map(|at| self.ask(at)).collect();
        let deadline = time::now() + within;
        let mut pongs = Vec::new();
        for (at, answer) in asked.into_iter().enumerate() {
            let answer = answer.recv_deadline_async(deadline).await.ok();
            pongs.push(self.pong(at, answer));
        }
        pongs
    }

    pub(super) fn ask(&self, at: usize) -> Receiver<Answer> {
        let (answer, answered) = oneshot();
        self.controls[at].ping(answer);
        answered
    }

    pub(super) fn pong(&self, at: usize, answer: Option<Answer>) -> Pong {
        let (spec, live) = (&self.network.processes[at].spec, &self.controls[at].live);
        let (inputs, outputs) = spec.names();
        let states = inputs.iter().zip(&self.inputs[at]).map(|(name, input)| {
            let (waiting, capacity, is_closed) = input.state();
            InputState { name: name.clone(), waiting, capacity, is_closed }
        });
        let (process, states) = (spec.name().clone(), states.collect());
        match answer {
            Some(Answer { activity, state, steps, panics, outputs: given }) => Pong {
                process,
                answered: true,
                activity: activity.named(inputs, outputs),
                state,
                steps,
                panics,
                inputs: states,
                outputs: given,
            },
            None => {
                let activity = live.activity().named(inputs, outputs);
                let answered = activity == super::Activity::Ended;
                let (steps, panics) = (live.steps(), live.panics());
                Pong { process, answered, activity, state: None, steps, panics, inputs: states, outputs: Vec::new() }
            }
        }
    }

    /// Gives messages to an input, or to all that an output is connected with, as if its process
    /// had given them.
    ///
    /// # Blocking
    /// While the input is full. (A paused process takes nothing.)
    ///
    /// # Errors
    /// Nobody reads there: the process has ended, or the output is connected with nothing. The
    /// message that finds that out is dropped, and the rest of the messages is not asked for.
    pub fn inject<T: Send + 'static>(
        &self,
        to: impl Port<T>,
        messages: impl IntoIterator<Item = T>,
    ) -> Result<(), InjectError> {
        let mut targets = self.targets(to)?;
        for message in messages {
            targets.give(message)?;
        }
        Ok(())
    }

    /// As [`inject`](Self::inject), as a future.
    pub async fn inject_async<T: Send + 'static>(
        &self,
        to: impl Port<T>,
        messages: impl IntoIterator<Item = T>,
    ) -> Result<(), InjectError> {
        let mut targets = self.targets(to)?;
        for message in messages {
            targets.give_async(message).await?;
        }
        Ok(())
    }

    /// A sending end of an input's channel, for what comes from outside for long. The input stays
    /// open while it is there.
    ///
    /// # Errors
    /// As of [`inject`](Self::inject).
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let mut net = Network::builder();
    /// let each = net.sink("each", |_: i32| ());
    /// let run = net.build()?.start();
    /// let tx = run.sender(each).unwrap();
    /// myriad::spawn(move || (0..1000).for_each(|n| tx.send(n).unwrap()));
    /// assert_eq!(run.join().process("each").unwrap().steps, 1000);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn sender<T: Send + 'static>(&self, to: In<T>) -> Result<Sender<T>, InjectError> {
        self.targets(to)?.into_first()
    }

    fn targets<T: Send + 'static>(&self, to: impl Port<T>) -> Result<Targets<T>, InjectError> {
        Targets::new(self, to.port())
    }

    /// No further message comes to this input from the handle: it ends when it is read, unless
    /// others give to it.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Network, Transition};
    /// let mut net = Network::builder();
    /// let each = net.process("sum", || 0, |p| {
    ///     p.on_transition(|sum, transition, out| {
    ///         if transition == Transition::InputsEnded {
    ///             out.report(format!("{sum} in all"));
    ///         }
    ///     });
    ///     p.input("each", |sum, n: i32, _| *sum += n)
    /// });
    /// let run = net.build()?.start();
    /// run.inject(each, [1, 2]).unwrap();
    /// run.close(each);
    /// assert_eq!(run.reports().recv().unwrap().text, "3 in all");
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn close<T>(&self, input: In<T>) {
        if input.id.network == self.network.id {
            self.inputs[input.id.process][input.id.at].close();
        }
    }

    pub(super) fn close_all(&self) {
        self.inputs.iter().flatten().for_each(|input| input.close());
    }
}

/// A handle that is dropped stops its network.
impl Drop for Running {
    fn drop(&mut self) {
        if self.is_held {
            self.stop();
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("network", &self.network).field("finished", &self.is_finished()).finish()
    }
}
