//! A process, while it is declared.

use super::error::NetworkError;
use super::inlet::Keep;
use super::outputs::Outputs;
use super::port::{In, Out, PortId};
use super::settings::{Buffer, OnPanic, Transition, Workload};
use super::spec::Spec;
use super::wiring::{AnyOutput, TypedInput, TypedOutput};
use myriad_core::Handle as Pool;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A process that is declared: what [`NetworkBuilder::process`](super::NetworkBuilder::process)
/// gives to its function. `S` is the state.
pub struct Process<S> {
    pub(super) spec: Spec<S>,
    pub(super) outputs: Vec<Box<dyn AnyOutput>>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) error: Option<NetworkError>,
    id: PortId,
}

impl<S: Send + 'static> Process<S> {
    pub(super) fn new(name: &str, id: PortId, init: impl Fn() -> S + Send + Sync + 'static) -> Self {
        let spec = Spec {
            name: name.into(),
            init: Box::new(init),
            inputs: Vec::new(),
            produce: None,
            transition: None,
            show: None,
            clone: None,
            on_panic: OnPanic::default(),
            workload: Workload::default(),
            pool: None,
            names: Default::default(),
        };
        Process { spec, outputs: Vec::new(), buffers: Vec::new(), error: None, id }
    }

    /// An input with this name: each message that comes there goes through this step.
    ///
    /// A step gets the state, the message, and where to put what it gives. One step of a process
    /// runs at a time. Of several inputs that have messages each has its turn.
    pub fn input<T: Send + 'static>(
        &mut self,
        name: &str,
        step: impl Fn(&mut S, T, &mut Outputs) + Send + Sync + 'static,
    ) -> In<T> {
        self.add_input(name, TypedInput { step: Arc::new(step), keep: None })
    }

    /// As [`input`](Self::input), and each message is cloned before its step: if that panics,
    /// [`StepError::message`](super::StepError::message) has it.
    pub fn input_kept<T: Clone + fmt::Debug + Send + 'static>(
        &mut self,
        name: &str,
        step: impl Fn(&mut S, T, &mut Outputs) + Send + Sync + 'static,
    ) -> In<T> {
        let keep = Keep { clone: T::clone, show: |message| format!("{message:?}") };
        self.add_input(name, TypedInput { step: Arc::new(step), keep: Some(Arc::new(keep)) })
    }

    fn add_input<T: Send + 'static>(&mut self, name: &str, input: TypedInput<S, T>) -> In<T> {
        let id = PortId { at: self.spec.inputs.len(), ..self.id };
        let name = self.port(name);
        self.spec.names.0.push(name);
        self.spec.inputs.push(Box::new(input));
        self.buffers.push(Buffer::default());
        In::new(id)
    }

    /// An output with this name.
    pub fn output<T: Send + 'static>(&mut self, name: &str) -> Out<T> {
        let id = PortId { at: self.outputs.len(), ..self.id };
        let name = self.port(name);
        self.spec.names.1.push(name);
        self.outputs.push(Box::new(TypedOutput::<T> { targets: Vec::new(), clone: None }));
        Out::new(id)
    }

    fn port(&mut self, name: &str) -> Arc<str> {
        if self.spec.names.0.iter().chain(&self.spec.names.1).any(|known| &**known == name) {
            let (process, port) = (self.spec.name.to_string(), name.to_owned());
            self.error.get_or_insert(NetworkError::SamePort { process, port });
        }
        name.into()
    }

    /// The process is a source: it has no inputs, and this function is called again and again, when
    /// what it gave last has been taken, until it breaks. It may wait for what comes from outside;
    /// [`stop`](super::Running::stop) unwinds that wait.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// use std::ops::ControlFlow;
    /// let mut net = Network::builder();
    /// let squares = net.process("squares", || 0_u32, |p| {
    ///     let squares = p.output("squares");
    ///     p.produce(move |n, out| {
    ///         *n += 1;
    ///         out.give(squares, *n * *n);
    ///         if *n < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    ///     });
    ///     squares
    /// });
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let all = net.sink("all", move |n| tx.send(n).unwrap());
    /// net.connect(squares, all);
    /// net.build()?.start().join();
    /// assert_eq!(rx.try_iter().sum::<u32>(), 385);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn produce(&mut self, f: impl Fn(&mut S, &mut Outputs) -> ControlFlow<()> + Send + Sync + 'static) {
        self.spec.produce = Some(Box::new(f));
    }

    /// Is called at each [`Transition`], and may give, too: for what the process holds outside,
    /// and for the last word of one that counts. Of a pause and a resume that come together it may
    /// see neither.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Network, Transition};
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let mut net = Network::builder();
    /// let words = net.source("words", || "a rose is a rose".split(' '));
    /// let (each, count) = net.process("count", || 0, |p| {
    ///     let count = p.output("count");
    ///     p.on_transition(move |n, transition, out| {
    ///         if transition == Transition::InputsEnded {
    ///             out.give(count, *n);
    ///         }
    ///     });
    ///     (p.input("each", |n, _: &str, _| *n += 1), count)
    /// });
    /// let shown = net.sink("shown", move |n: i32| tx.send(n).unwrap());
    /// net.connect(words, each).connect(count, shown);
    /// assert!(net.build()?.start().join().is_complete());
    /// assert_eq!(rx.recv(), Ok(5));
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn on_transition(&mut self, f: impl Fn(&mut S, Transition, &mut Outputs) + Send + Sync + 'static) {
        self.spec.transition = Some(Box::new(f));
    }

    /// How pings and errors show the state.
    pub fn show(&mut self, show: fn(&S) -> String) {
        self.spec.show = Some(show);
    }

    /// What becomes of the process when a step or a transition panics: [`OnPanic::End`] at first.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{During, Network, OnPanic, Outcome};
    /// let mut net = Network::builder();
    /// let each = net.process("sum", || 0_u8, |p| {
    ///     p.on_panic(OnPanic::Keep);
    ///     p.show(|sum| sum.to_string());
    ///     p.input("each", |sum: &mut u8, n: u8, _| *sum = sum.checked_add(n).expect("a small sum"))
    /// });
    /// let run = net.build()?.start();
    /// run.inject(each, [1, 255, 2]).unwrap();
    /// let error = run.errors().recv().unwrap();
    /// assert_eq!(error.during, During::Step { input: "each".into(), number: 2 });
    /// assert_eq!((error.outcome, error.state), (Outcome::Kept, Some("1".to_owned())));
    /// assert_eq!(run.join().process("sum").unwrap().steps, 3);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn on_panic(&mut self, on_panic: OnPanic) {
        self.spec.on_panic = on_panic;
    }

    /// When a step or a transition panics the process goes on, with the state that it had before,
    /// as in core.async. The state is cloned before each of these, so it should be small.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Network, Outcome};
    /// let mut net = Network::builder();
    /// let each = net.process("names", Vec::new, |p| {
    ///     p.restore_on_panic();
    ///     p.show(|names| format!("{names:?}"));
    ///     p.input("each", |names, name: &str, _| {
    ///         names.push(name);
    ///         assert!(!name.is_empty(), "a name is empty");
    ///     })
    /// });
    /// let run = net.build()?.start();
    /// run.inject(each, ["Ann", ""]).unwrap();
    /// let error = run.errors().recv().unwrap();
    /// assert_eq!((error.outcome, error.state.as_deref()), (Outcome::Restored, Some(r#"["Ann"]"#)));
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn restore_on_panic(&mut self)
    where
        S: Clone,
    {
        self.spec.clone = Some(S::clone);
    }

    /// What kind of work the steps are.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Network, Workload};
    /// use std::path::Path;
    /// let mut net = Network::builder();
    /// let look = net.process("look", || (), |p| {
    ///     p.workload(Workload::Io);
    ///     p.input("path", |_, path: &str, out| out.report(format!("a folder: {}", Path::new(path).is_dir())))
    /// });
    /// let run = net.build()?.start();
    /// run.inject(look, ["."]).unwrap();
    /// assert_eq!(run.reports().recv().unwrap().text, "a folder: true");
    /// assert!(run.join().is_complete());
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn workload(&mut self, workload: Workload) {
        self.spec.workload = workload;
    }

    /// The process runs in this pool, or on this runtime; if nothing is said, in the pool of who
    /// starts the network.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let rt = myriad::Builder::new().workers(1).pool("files", 1).build()?;
    /// let mut net = Network::builder();
    /// let read = net.process("read", || (), |p| {
    ///     p.pool(rt.handle().pool("files").unwrap());
    ///     p.input("path", |_, path: &str, out| out.report(format!("read {path}")))
    /// });
    /// let run = rt.run(|| net.build().unwrap().start());
    /// run.inject(read, ["a.txt"]).unwrap();
    /// assert_eq!(run.reports().recv().unwrap().text, "read a.txt");
    /// assert!(run.join().is_complete());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn pool(&mut self, pool: Pool) {
        self.spec.pool = Some(pool);
    }
}

impl<S> fmt::Debug for Process<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inputs, outputs) = &self.spec.names;
        f.debug_struct("Process")
            .field("name", &self.spec.name)
            .field("inputs", inputs)
            .field("outputs", outputs)
            .finish_non_exhaustive()
    }
}
