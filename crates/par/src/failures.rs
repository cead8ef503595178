//! The panics of a loop, collected: none is lost, and none keeps the other iterations from running.

use crate::unwind::{self, Payload};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::user_code::{self, UserValue};
use std::any::Any;
use std::fmt;
use std::mem::needs_drop;
use std::panic::resume_unwind;

/// The panics of a loop's iterations, at least one: what [`Loop::try_run`](crate::Loop::try_run)
/// returns.
///
/// # Examples
/// ```
/// use myriad::par::Loop;
/// # std::panic::set_hook(Box::new(|_| ()));
/// let panics = Loop::new(0..10).try_run(|i| assert!(i % 4 != 3, "not {i}")).unwrap_err();
/// assert_eq!(panics.iter().map(|(i, _)| i).collect::<Vec<_>>(), [3, 7]);
/// assert_eq!(panics.to_string(), "2 iterations of a loop panicked; number 3: not 3");
/// assert_eq!(panics.into_payloads()[1].downcast_ref(), Some(&"not 7".to_string()));
/// ```
pub struct Panics {
    /// Sorted by number.
    list: Vec<Failure>,
}

/// A panic with the number of its iteration.
type Failure = (usize, UserValue<Payload>);

/// What collects them runs no user code, under its lock or where it is dropped.
const _: () = assert!(!needs_drop::<Failure>());

impl Panics {
    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Each panic with the number of its iteration, counted from 0 at the beginning of the range;
    /// in that order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &(dyn Any + Send))> {
        self.list.iter().map(|(number, payload)| (*number, &**payload.peek()))
    }

    /// The lowest number of an iteration that has panicked.
    pub(crate) fn first_number(&self) -> usize {
        self.list[0].0
    }

    /// What they carry, in the same order.
    pub fn into_payloads(mut self) -> Vec<Box<dyn Any + Send>> {
        std::mem::take(&mut self.list).into_iter().map(|(_, payload)| payload.give()).collect()
    }

    /// Lets the panic of the lowest number go on, as [`Loop::run`](crate::Loop::run) does.
    ///
    /// # Panics
    /// That is what it does.
    pub fn resume(mut self) -> ! {
        let first = self.list.swap_remove(0).1.give();
        drop(self);
        resume_unwind(first)
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        // One by one: the destructor of a payload may panic.
        std::mem::take(&mut self.list).into_iter().for_each(|(_, payload)| unwind::discard(payload.give()));
    }
}

// Nothing but their numbers and texts is reached through a reference by more than one thread:
// payloads need not be `Sync`.
impl fmt::Debug for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.list.iter().map(|(number, payload)| (number, text(&**payload.peek())))).finish()
    }
}

impl fmt::Display for Panics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, payload) = &self.list[0];
        let what = if self.len() == 1 { "iteration" } else { "iterations" };
        write!(f, "{} {what} of a loop panicked; number {number}: {}", self.len(), text(&**payload.peek()))
    }
}

impl std::error::Error for Panics {}

/// The text of a panic, if it has one.
fn text(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a payload that is not text)"
    }
}

/// Where the parts of a loop leave their panics.
#[derive(Default)]
pub(crate) struct Collector(Mutex<Vec<Failure>>);

impl Collector {
    /// One more.
    #[cold]
    pub(crate) fn add(&self, number: usize, payload: Payload) {
        self.0.lock().push((number, UserValue::new(payload)));
    }

    /// All of them, when the loop has ended.
    pub(crate) fn finish(mut self) -> Result<(), Panics> {
        let mut list = self.take();
        if list.is_empty() {
            return Ok(());
        }
        list.sort_by_key(|(number, _)| *number);
        Err(Panics { list })
    }

    fn take(&mut self) -> Vec<Failure> {
        std::mem::take(self.0.get_mut())
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // The loop is left by a cancellation: a payload's destructor that panicked now would end
        // the process.
        drop(Panics { list: self.take() });
    }
}

/// Runs `body` for each number of the range; the panic of one does not keep the others from
/// running. A cancellation does.
#[inline(always)]
pub(crate) fn run_each(from: usize, to: usize, panics: &Collector, body: &impl Fn(usize)) {
    let mut at = from;
    loop {
        let caught = user_code::body(|| {
            let mut next = NextWrite { out: &mut at, now: 0 };
            next.now = *next.out;
            while next.now < to {
                body(next.now);
                next.now += 1;
            }
            std::mem::forget(next);
        });
        match caught {
            Ok(()) => return,
            Err(payload) if unwind::is_cancellation(&payload) => unwind::resume(payload),
            Err(payload) => panics.add(at, payload),
        }
        at += 1;
        if at >= to {
            return;
        }
    }
}

/// Where it was, for who catches the panic. (Written only then: so the number can stay in a
/// register.)
struct NextWrite<'a> {
    out: &'a mut usize,
    now: usize,
}

impl Drop for NextWrite<'_> {
    fn drop(&mut self) {
        *self.out = self.now;
    }
}
