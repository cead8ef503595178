//! A process as it is declared.

use super::body::{Ends, ProcessBody};
use super::control::Control;
use super::end::ProcessEnd;
use super::inlet::Inlet;
use super::outlet::Outlet;
use super::outputs::Outputs;
use super::port::PortId;
use super::settings::{Buffer, OnPanic, Transition, Workload};
use super::wiring::{AnyInput, InputSpec};
use myriad_core::Handle as Pool;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(super) type OnTransition<S> = dyn Fn(&mut S, Transition, &mut Outputs) + Send + Sync;
pub(super) type Produce<S> = dyn Fn(&mut S, &mut Outputs) -> ControlFlow<()> + Send + Sync;

/// A process, without its connections.
pub(super) struct Spec<S> {
    pub(super) name: Arc<str>,
    pub(super) init: Box<dyn Fn() -> S + Send + Sync>,
    pub(super) inputs: Vec<Box<dyn InputSpec<S>>>,
    pub(super) produce: Option<Box<Produce<S>>>,
    pub(super) transition: Option<Box<OnTransition<S>>>,
    pub(super) show: Option<fn(&S) -> String>,
    pub(super) clone: Option<fn(&S) -> S>,
    pub(super) on_panic: OnPanic,
    pub(super) workload: Workload,
    pub(super) pool: Option<Pool>,
    /// Of inputs, and of outputs.
    pub(super) names: (Vec<Arc<str>>, Vec<Arc<str>>),
}

/// With a state of any type.
pub(super) trait AnySpec: Send + Sync {
    fn name(&self) -> &Arc<str>;
    fn names(&self) -> &(Vec<Arc<str>>, Vec<Arc<str>>);
    fn is_source(&self) -> bool;
    fn pool(&self) -> Option<Pool>;

    /// Makes the channels of its inputs; what is to be done with them then makes the process that
    /// runs.
    fn open(self: Arc<Self>, buffers: &[Buffer]) -> (Vec<Box<dyn AnyInput>>, Box<dyn Prepared>);
}

/// A process that has inputs, and waits for its outputs.
pub(super) trait Prepared: Send {
    fn run(
        self: Box<Self>,
        process: PortId,
        outputs: Vec<Box<dyn Outlet>>,
        control: Arc<Control>,
        ends: Ends,
    ) -> ProcessEnd;
}

struct Opened<S> {
    spec: Arc<Spec<S>>,
    inlets: Vec<Box<dyn Inlet<S>>>,
}

impl<S: Send + 'static> AnySpec for Spec<S> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn names(&self) -> &(Vec<Arc<str>>, Vec<Arc<str>>) {
        &self.names
    }

    fn is_source(&self) -> bool {
        self.produce.is_some()
    }

    fn pool(&self) -> Option<Pool> {
        self.pool
    }

    fn open(self: Arc<Self>, buffers: &[Buffer]) -> (Vec<Box<dyn AnyInput>>, Box<dyn Prepared>) {
        let open = self.inputs.iter().zip(buffers).map(|(input, buffer)| input.open(*buffer));
        let (inputs, inlets) = open.unzip();
        (inputs, Box::new(Opened { spec: self, inlets }))
    }
}

impl<S: Send + 'static> Prepared for Opened<S> {
    fn run(
        self: Box<Self>,
        process: PortId,
        outputs: Vec<Box<dyn Outlet>>,
        control: Arc<Control>,
        ends: Ends,
    ) -> ProcessEnd {
        ProcessBody::new(self.spec, self.inlets, Outputs::new(process, outputs), control, ends).run()
    }
}
