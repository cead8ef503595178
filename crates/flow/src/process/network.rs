//! A network that can be started, and how it is.

use super::body::Ends;
use super::builder::NetworkBuilder;
use super::control::Control;
use super::outlet::Outlet;
use super::port::PortId;
use super::running::Running;
use super::settings::Buffer;
use super::spec::AnySpec;
use super::wiring::{AnyInput, AnyOutput};
use crate::view::{Arrow, dot};
use myriad_core::task;
use myriad_sync::channel::bounded_drop_oldest;
use std::fmt;
use std::sync::Arc;

/// How many errors, and how many reports, wait to be read: as in core.async.
const UNREAD: usize = 100;

/// Processes and their connections, declared once, and started as often as you like: see [the
/// module](super). A clone is the same network.
#[derive(Clone)]
pub struct Network {
    pub(super) id: u64,
    pub(super) processes: Arc<Vec<Declared>>,
}

/// A process with its connections.
pub(super) struct Declared {
    pub(super) spec: Arc<dyn AnySpec>,
    pub(super) outputs: Vec<Box<dyn AnyOutput>>,
    /// Of its inputs.
    pub(super) buffers: Vec<Buffer>,
}

impl Network {
    /// An empty one.
    pub fn builder() -> NetworkBuilder {
        NetworkBuilder::new()
    }

    pub(super) fn new(id: u64, processes: Vec<Declared>) -> Network {
        Network { id, processes: Arc::new(processes) }
    }

    /// Starts it: each process makes its state, in a task of its own, and takes messages.
    ///
    /// Each start has channels, states and tasks of its own. Unless a process says where it runs,
    /// it runs in the caller's pool; on a thread that is no worker, in the global runtime.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Panics
    /// Where the global runtime is needed and cannot be started.
    #[track_caller]
    pub fn start(&self) -> Running {
        self.start_as(false)
    }

    /// As [`start`](Self::start), and each process is paused before it takes or makes a message.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// use std::time::Duration;
    /// let mut net = Network::builder();
    /// let words = net.sink("words", |word: &str| println!("{word}"));
    /// let run = net.build()?.start_paused();
    /// run.inject(words, ["one", "two"]).unwrap();
    /// assert_eq!(run.ping(Duration::from_secs(10))[0].inputs[0].waiting, 2);
    /// run.resume();
    /// assert_eq!(run.join().process("words").unwrap().steps, 2);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    #[track_caller]
    pub fn start_paused(&self) -> Running {
        self.start_as(true)
    }

    #[track_caller]
    fn start_as(&self, is_paused: bool) -> Running {
        let opened = self.processes.iter().map(|process| process.spec.clone().open(&process.buffers));
        let (inputs, prepared): (Vec<Vec<Box<dyn AnyInput>>>, Vec<_>) = opened.unzip();
        let outlets: Vec<Vec<Box<dyn Outlet>>> = self
            .processes
            .iter()
            .map(|process| process.outputs.iter().map(|output| output.open(&inputs)).collect())
            .collect();
        // From now on those keep them open who give to them.
        for to in self.processes.iter().flat_map(|process| &process.outputs).flat_map(|output| output.targets()) {
            inputs[to.process][to.at].close();
        }
        let control = |process: &Declared| Arc::new(Control::new(is_paused, process.spec.is_source()));
        let controls = self.processes.iter().map(control).collect();
        let ((errors_tx, errors), (reports_tx, reports)) = (bounded_drop_oldest(UNREAD), bounded_drop_oldest(UNREAD));
        let mut running = Running::new(self.clone(), inputs, controls, errors, reports);
        for (number, (prepared, outlets)) in prepared.into_iter().zip(outlets).enumerate() {
            let spec = &self.processes[number].spec;
            let id = PortId { network: self.id, process: number, at: 0 };
            let ends = Ends { errors: errors_tx.clone(), reports: reports_tx.clone() };
            let control = running.controls[number].clone();
            let builder = task::Builder::new().name(spec.name().clone());
            let builder = spec.pool().into_iter().fold(builder, task::Builder::on);
            running.tasks.push(builder.spawn(move || prepared.run(id, outlets, control, ends)));
        }
        running
    }

    /// A picture for Graphviz: a box for each process, an arrow for each connection.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || 0..5);
    /// let sum = net.sink("sum", |_| ());
    /// net.connect(numbers, sum);
    /// assert!(net.build()?.to_dot().contains(r#"0 -> 1 [style=dashed, label="out → in"]"#));
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn to_dot(&self) -> String {
        let arrows = self.processes.iter().enumerate().flat_map(|(from, process)| {
            process.outputs.iter().enumerate().flat_map(move |(at, output)| {
                output.targets().iter().map(move |to| {
                    let (out, into) = (&process.spec.names().1[at], &self.processes[to.process].spec.names().0[to.at]);
                    Arrow { from, to: to.process, label: Some(format!("{out} → {into}")) }
                })
            })
        });
        dot(self.processes.iter().map(|process| (&**process.spec.name(), "box")), arrows)
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.processes.iter().map(|process| process.spec.name())).finish()
    }
}
