//! All of several handles, or any.

use super::error::NodeError;
use super::handle::Handle;
use super::output::{Outcome, Taker, pass_to};
use super::promise::Promise;
use super::ready::Ready;
use super::settings::{NodeName, Settings};
use super::{args::Arg, node};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::unwind;
use std::panic::Location;
use std::sync::Arc;

/// A node with the values of all these, in their order.
///
/// # Errors
/// Its handle's: one of them has failed. The error names the first of these as the root.
///
/// # Examples
/// ```
/// use myriad::flow;
/// let squares = (1..=3).map(|n: u64| flow::spawn(move || n * n, ())).collect();
/// assert_eq!(flow::all(squares).join()?, [1, 4, 9]);
/// # Ok::<(), flow::NodeError>(())
/// ```
#[track_caller]
pub fn all<T: Send + 'static>(handles: Vec<Handle<T>>) -> Handle<Vec<T>> {
    let work = |kept: &mut (_,)| Ok(<Vec<Handle<T>> as Arg>::give(&mut kept.0));
    node::start(work, (handles.keep(),), Settings::plain(Location::caller()))
}

/// A node with the value of the first of these that ends well, and its place among them. The others
/// run on, and their values are dropped.
///
/// # Panics
/// If there are none: nothing would ever end.
///
/// # Errors
/// Its handle's: all of them have failed.
///
/// # Examples
/// ```
/// use myriad::{flow, time};
/// use std::time::Duration;
/// let slow = flow::spawn(|| { time::sleep(Duration::from_secs(3600)); "slow" }, ());
/// let fast = flow::spawn(|| "fast", ());
/// assert_eq!(flow::any(vec![slow, fast]).join()?, (1, "fast"));
/// # Ok::<(), flow::NodeError>(())
/// ```
#[track_caller]
pub fn any<T: Send + 'static>(handles: Vec<Handle<T>>) -> Handle<(usize, T)> {
    assert!(!handles.is_empty(), "`flow::any` of no handles would never end: give it at least one");
    let name = NodeName::at(Location::caller());
    let (promise, errors) = (Promise::new(name.clone()), Mutex::new((vec![None; handles.len()], handles.len())));
    let race = Arc::new(Race { promise: Mutex::new(Some(promise.clone())), name, errors });
    for (place, handle) in handles.into_iter().enumerate() {
        pass_to(handle.into_source(), Arc::new(Entrant { race: race.clone(), place }));
    }
    Handle::new(promise)
}

/// What the first one and its place go to.
type Winner<T> = Arc<Promise<(usize, T)>>;

struct Race<T: 'static> {
    /// Taken by the first that ends well, or the last: whoever joins it has it alone then.
    promise: Mutex<Option<Winner<T>>>,
    name: NodeName,
    /// Of those that have failed, and how many have not.
    errors: Mutex<(Vec<Option<NodeError>>, usize)>,
}

struct Entrant<T: 'static> {
    race: Arc<Race<T>>,
    place: usize,
}

impl<T: Send + 'static> Race<T> {
    fn end(&self, outcome: Outcome<(usize, T)>, ready: &mut Ready) {
        let promise = self.promise.lock().take();
        match promise {
            Some(promise) => promise.take(outcome, ready),
            None => unwind::drop_quietly(outcome),
        }
    }

    /// The errors of all, when this is the last.
    fn fail(&self, place: usize, error: NodeError) -> Option<NodeError> {
        let mut errors = self.errors.lock();
        errors.0[place] = Some(error);
        errors.1 -= 1;
        let all = (errors.1 == 0).then(|| std::mem::take(&mut errors.0))?;
        drop(errors);
        Some(NodeError::parents(self.name.clone(), all.into_iter().flatten().collect()))
    }
}

impl<T: Send + 'static> Taker<T> for Entrant<T> {
    fn take(self: Arc<Self>, outcome: Outcome<T>, ready: &mut Ready) {
        match outcome {
            Ok(value) => self.race.end(Ok((self.place, value)), ready),
            Err(error) => {
                if let Some(all) = self.race.fail(self.place, error) {
                    self.race.end(Err(all), ready);
                }
            }
        }
    }
}

impl<T: 'static> Drop for Race<T> {
    /// Errors may have destructors of the user's.
    fn drop(&mut self) {
        std::mem::take(&mut self.errors.get_mut().0).into_iter().for_each(unwind::drop_quietly);
    }
}
