//! Nodes with options whose values count towards a budget.

use super::ledger::Ledger;
use super::slot::Slot;
use super::{Budget, Spillable};
use crate::dataflow::args::{Args, Body, BodyAgain, Kept};
use crate::dataflow::gate::Gate;
use crate::dataflow::options::{Error, Options, Retrying};
use crate::dataflow::output::Parent;
use crate::dataflow::ready::Dependent;
use crate::dataflow::recall::Recall;
use crate::dataflow::time_limits::{attempts, within};
use crate::graph::Cause;
use crate::protocol::Edge;
use crate::stored::Stored;
use std::panic::Location;
use std::sync::Arc;

/// What a node keeps of the budget that its value counts towards.
struct InBudget(Arc<Ledger>);

impl Kept for InBudget {
    type Edges = Arc<Gate>;
    fn edges(&self) -> Arc<Gate> {
        self.0.gate.clone()
    }
    fn each(&self, _: &Self::Edges, _: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {}
    fn gate(gate: &Self::Edges) -> Option<&Arc<Gate>> {
        Some(gate)
    }
    /// Room for the value, before there is one.
    fn fetch(&mut self) -> Result<(), Cause> {
        self.0.make_room(0);
        Ok(())
    }
}

impl<R> Options<R> {
    /// As [`spawn`](Self::spawn), of a node whose value counts towards this [`Budget`].
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::{self, Budget};
    /// let budget = Budget::new(1 << 30);
    /// let zeros = flow::named("zeros").spawn_in(&budget, || vec![0_u8; 1000], ());
    /// let ones = flow::named("ones").retries(1).spawn_in(&budget, |n: &Vec<u8>| vec![1_u8; n.len()], (&zeros,));
    /// assert_eq!(budget.spawn(|a: Vec<u8>, b: Vec<u8>| [a, b].concat(), (zeros, ones)).join()?.len(), 2000);
    /// # Ok::<(), flow::NodeError>(())
    /// ```
    #[track_caller]
    pub fn spawn_in<F, A>(self, budget: &Budget, f: F, args: A) -> Spillable<F::Output>
    where
        A: Args,
        F: Body<A> + Send + 'static,
        F::Output: Stored + Send + Sync + 'static,
        R: Recall<F::Output>,
    {
        let time = self.limits.time;
        self.start_in(Location::caller(), budget, args, move |kept| within(time, || Ok(f.call(kept))))
    }

    /// As [`try_spawn`](Self::try_spawn), of a node whose value counts towards this [`Budget`].
    ///
    /// Example: [`spawn_in`](Self::spawn_in).
    #[track_caller]
    pub fn try_spawn_in<F, A, T, E>(self, budget: &Budget, f: F, args: A) -> Spillable<T>
    where
        A: Args,
        F: Body<A, Output = Result<T, E>> + Send + 'static,
        T: Stored + Send + Sync + 'static,
        E: Into<Error>,
        R: Recall<T>,
    {
        let time = self.limits.time;
        self.start_in(Location::caller(), budget, args, move |kept| within(time, || f.call(kept).map_err(Cause::of)))
    }

    fn start_in<A, T, W>(self, place: &'static Location<'static>, budget: &Budget, args: A, work: W) -> Spillable<T>
    where
        A: Args,
        T: Stored + Send + Sync + 'static,
        W: FnOnce(&mut A::Kept) -> Result<T, Cause> + Send + 'static,
        R: Recall<T>,
    {
        let (ledger, beside) = (budget.0.clone(), InBudget(budget.0.clone()));
        let end = move |name, value| Ok(Slot::new(ledger, name, value));
        Spillable::new(self.start_limited(place, args, beside, work, end), budget.0.gate.clone())
    }
}

impl<R> Retrying<R> {
    /// As [`spawn`](Self::spawn), of a node whose value counts towards this [`Budget`]. (Nothing
    /// is tried again that has to do with files.)
    ///
    /// Example: [`Options::spawn_in`].
    #[track_caller]
    pub fn spawn_in<F, A>(self, budget: &Budget, f: F, args: A) -> Spillable<F::Output>
    where
        A: Args,
        F: BodyAgain<A> + Send + 'static,
        F::Output: Stored + Send + Sync + 'static,
        R: Recall<F::Output>,
    {
        let (retries, time) = (self.retries, self.options.limits.time);
        let work = move |kept: &mut A::Kept| attempts(retries, time, || Ok(f.call_again(kept)));
        self.options.start_in(Location::caller(), budget, args, work)
    }

    /// As [`try_spawn`](Self::try_spawn), of a node whose value counts towards this [`Budget`].
    ///
    /// Example: [`Options::spawn_in`].
    #[track_caller]
    pub fn try_spawn_in<F, A, T, E>(self, budget: &Budget, f: F, args: A) -> Spillable<T>
    where
        A: Args,
        F: BodyAgain<A, Output = Result<T, E>> + Send + 'static,
        T: Stored + Send + Sync + 'static,
        E: Into<Error>,
        R: Recall<T>,
    {
        let (retries, time) = (self.retries, self.options.limits.time);
        let work = move |kept: &mut A::Kept| attempts(retries, time, || f.call_again(kept).map_err(Cause::of));
        self.options.start_in(Location::caller(), budget, args, work)
    }
}
