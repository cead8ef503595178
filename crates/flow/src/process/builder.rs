//! A network, while it is declared.

use super::draft::Process;
use super::error::NetworkError;
use super::network::{Declared, Network};
use super::outputs::Outputs;
use super::port::{In, Out, PortId};
use super::settings::{Buffer, OnPanic};
use super::wiring::TypedOutput;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A network that is declared: [`Network::builder`].
///
/// What is wrong is said by [`build`](Self::build). That the two ends of a connection have messages
/// of one type is checked by the compiler.
pub struct NetworkBuilder {
    id: u64,
    processes: Vec<Declared>,
    error: Option<NetworkError>,
}

impl NetworkBuilder {
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // (Relaxed: a number that nobody else has, and no more.)
        NetworkBuilder { id: NEXT.fetch_add(1, Relaxed), processes: Vec::new(), error: None }
    }

    /// A process. `init` makes its state, at each start of the network, in the task of the process;
    /// `describe` says what it has, and returns what is to be known of it, that is, its ends.
    ///
    /// # Examples
    /// See [the module](super).
    pub fn process<S: Send + 'static, P>(
        &mut self,
        name: &str,
        init: impl Fn() -> S + Send + Sync + 'static,
        describe: impl FnOnce(&mut Process<S>) -> P,
    ) -> P {
        let id = PortId { network: self.id, process: self.processes.len(), at: 0 };
        let mut process = Process::new(name, id, init);
        let ends = describe(&mut process);
        let Process { spec, outputs, buffers, error, .. } = process;
        if let Some(error) = error {
            self.error.get_or_insert(error);
        }
        if self.processes.iter().any(|known| **known.spec.name() == *name) {
            self.error.get_or_insert(NetworkError::SameProcess(name.to_owned()));
        }
        match (&spec.produce, spec.inputs.is_empty()) {
            (None, true) => _ = self.error.get_or_insert(NetworkError::NothingToDo(name.to_owned())),
            (Some(_), false) => _ = self.error.get_or_insert(NetworkError::InputsOfASource(name.to_owned())),
            _ => {}
        }
        self.processes.push(Declared { spec: Arc::new(spec), outputs, buffers });
        ends
    }

    /// A source: it gives what an iterator brings, which is made at each start and lives in the
    /// task of the process. It may wait.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || 0..5);
    /// let all = net.sink("all", move |n| tx.send(n).unwrap());
    /// net.connect(numbers, all);
    /// let net = net.build()?;
    /// for _ in 0..2 {
    ///     assert!(net.start().join().is_complete());
    ///     assert_eq!(rx.try_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    /// }
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn source<I>(&mut self, name: &str, f: impl Fn() -> I + Send + Sync + 'static) -> Out<I::Item>
    where
        I: IntoIterator,
        I::IntoIter: Send + 'static,
        I::Item: Send + 'static,
    {
        let init = move || f().into_iter();
        self.process(name, init, |p| {
            let out = p.output("out");
            p.produce(move |iterator: &mut I::IntoIter, outputs: &mut Outputs| match iterator.next() {
                Some(message) => {
                    outputs.give(out, message);
                    ControlFlow::Continue(())
                }
                None => ControlFlow::Break(()),
            });
            out
        })
    }

    /// A process without a state, which gives all that a function makes of each message: an
    /// `Option`, or any iterator. A panic is reported, and the process goes on.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let mut net = Network::builder();
    /// let texts = net.source("texts", || ["1", "two", "3"]);
    /// let (text, number) = net.flat_map("parse", |text: &str| text.parse::<i32>().ok());
    /// let all = net.sink("all", move |n| tx.send(n).unwrap());
    /// net.connect(texts, text).connect(number, all);
    /// net.build()?.start().join();
    /// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 3]);
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    #[doc(alias = "lift*->step")]
    pub fn flat_map<T, I>(&mut self, name: &str, f: impl Fn(T) -> I + Send + Sync + 'static) -> (In<T>, Out<I::Item>)
    where
        T: Send + 'static,
        I: IntoIterator,
        I::Item: Send + 'static,
    {
        self.process(
            name,
            || (),
            |p| {
                let out = p.output("out");
                p.on_panic(OnPanic::Keep);
                let each = p.input("in", move |(), message, outputs| {
                    f(message).into_iter().for_each(|made| outputs.give(out, made));
                });
                (each, out)
            },
        )
    }

    /// A process without a state and without outputs. A panic is reported, and the process goes on.
    pub fn sink<T: Send + 'static>(&mut self, name: &str, f: impl Fn(T) + Send + Sync + 'static) -> In<T> {
        self.process(
            name,
            || (),
            |p| {
                p.on_panic(OnPanic::Keep);
                p.input("in", move |(), message, _| f(message))
            },
        )
    }

    /// All that the output gives goes to the input. An input may be connected with several outputs.
    /// An output that is connected with several inputs needs one
    /// [`connect_each`](Self::connect_each).
    ///
    /// # Examples
    /// Messages of another type are refused by the compiler:
    /// ```compile_fail
    /// # use myriad::flow::process::Network;
    /// let mut net = Network::builder();
    /// let texts = net.source("texts", || ["1", "2"]);
    /// let all = net.sink("all", |_: i32| ());
    /// net.connect(texts, all);
    /// ```
    pub fn connect<T: Send + 'static>(&mut self, from: Out<T>, to: In<T>) -> &mut Self {
        self.connect_with(from, to, None)
    }

    /// All that the output gives goes to each of these inputs, as a clone: an `Arc` makes that
    /// cheap. The slowest input holds up the others, by its buffer.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || 1..4);
    /// let sinks = ["one", "other"].map(|name| {
    ///     let tx = tx.clone();
    ///     net.sink(name, move |n| tx.send(n).unwrap())
    /// });
    /// net.connect_each(numbers, sinks);
    /// let ended = net.build()?.start().join();
    /// assert_eq!((rx.try_iter().sum::<i32>(), ended.process("numbers").unwrap().given), (12, 3));
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    #[doc(alias = "mult")]
    pub fn connect_each<T: Clone + Send + 'static>(
        &mut self,
        from: Out<T>,
        to: impl IntoIterator<Item = In<T>>,
    ) -> &mut Self {
        to.into_iter().for_each(|to| _ = self.connect_with(from, to, Some(T::clone)));
        self
    }

    fn connect_with<T: Send + 'static>(&mut self, from: Out<T>, to: In<T>, clone: Option<fn(&T) -> T>) -> &mut Self {
        let known = |id: PortId| id.network == self.id;
        let error = match (known(from.id), known(to.id)) {
            (true, true) => None,
            (false, false) => Some(NetworkError::OtherNetwork(None)),
            (true, false) => Some(NetworkError::OtherNetwork(Some(self.output_name(from.id)))),
            (false, true) => Some(NetworkError::OtherNetwork(Some(self.input_name(to.id)))),
        };
        if let Some(error) = error {
            self.error.get_or_insert(error);
            return self;
        }
        let output = self.processes[from.id.process].outputs[from.id.at].as_any_mut().downcast_mut::<TypedOutput<T>>();
        let output = output.expect("an output's type is its declaration's");
        let is_new = !output.targets.contains(&to.id);
        output.targets.push(to.id);
        output.clone = output.clone.or(clone);
        if !is_new {
            let (from, to) = (self.output_name(from.id), self.input_name(to.id));
            self.error.get_or_insert(NetworkError::SameConnection { from, to });
        }
        self
    }

    /// The channel in front of an input; without a word, one for ten messages.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::{Buffer, Network};
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let mut net = Network::builder();
    /// let shown = net.sink("shown", move |n: i32| tx.send(n).unwrap());
    /// net.buffer(shown, Buffer::DropOldest(2));
    /// let run = net.build()?.start_paused();
    /// run.inject(shown, 0..5).unwrap();
    /// run.resume();
    /// run.join();
    /// assert!(rx.try_iter().eq([3, 4]));
    /// # Ok::<(), myriad::flow::process::NetworkError>(())
    /// ```
    pub fn buffer<T>(&mut self, input: In<T>, buffer: Buffer) -> &mut Self {
        if input.id.network == self.id {
            self.processes[input.id.process].buffers[input.id.at] = buffer;
        } else {
            self.error.get_or_insert(NetworkError::OtherNetwork(None));
        }
        self
    }

    fn input_name(&self, id: PortId) -> String {
        let spec = &self.processes[id.process].spec;
        format!("{}.{}", spec.name(), spec.names().0[id.at])
    }

    fn output_name(&self, id: PortId) -> String {
        let spec = &self.processes[id.process].spec;
        format!("{}.{}", spec.name(), spec.names().1[id.at])
    }

    /// The network, which can be started.
    ///
    /// # Errors
    /// The first thing that is wrong, with the names of those concerned.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::process::Network;
    /// let mut net = Network::builder();
    /// let numbers = net.source("numbers", || 0..5);
    /// let (one, other) = (net.sink("one", |_| ()), net.sink("other", |_| ()));
    /// net.connect(numbers, one).connect(numbers, other);
    /// assert_eq!(
    ///     net.build().unwrap_err().to_string(),
    ///     "'numbers.out' has messages of type i32 and is connected with 'one.in', 'other.in': \
    ///      use `connect_each`, which clones them"
    /// );
    /// ```
    pub fn build(self) -> Result<Network, NetworkError> {
        let all = self.processes.iter().enumerate();
        let outputs = all.flat_map(|(process, known)| known.outputs.iter().enumerate().map(move |at| (process, at)));
        let not_copied = outputs.into_iter().find_map(|(process, (at, output))| {
            (output.targets().len() > 1 && !output.is_copied()).then(|| NetworkError::NotCopied {
                from: self.output_name(PortId { network: self.id, process, at }),
                messages: output.messages(),
                to: output.targets().iter().map(|to| self.input_name(*to)).collect(),
            })
        });
        match self.error.or(not_copied) {
            Some(error) => Err(error),
            None => Ok(Network::new(self.id, self.processes)),
        }
    }
}

impl fmt::Debug for NetworkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.processes.iter().map(|process| process.spec.name());
        f.debug_list().entries(names).finish()
    }
}
