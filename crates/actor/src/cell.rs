//! What an actor is to others: its life, and the inbox that its addresses put messages in.

use crate::crash::Crash;
use crate::left::end_left;
use crate::life::{Life, ORDERS};
use crate::pid::{Exit, Pid, Process, this};
use crate::reason::Reason;
use crate::shared::Shared;
use myriad_core::engine::unwind::{self, Payload};
use myriad_core::engine::user_code;
use myriad_core::engine::wait::Caller;
use myriad_sync::inbox::{Inbox, Put};
use myriad_sync::lock::{Permit, Semaphore};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// What a send does when the mailbox is full.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Builder, Mailbox, OnFull};
/// let (tx, rx) = myriad::channel::unbounded();
/// let display = Builder::new().mailbox(1, OnFull::DropOldest).spawn(move |mut mail: Mailbox<f64>| {
///     tx.send(mail.receive())
/// });
/// actor::suspend(&display).unwrap();
/// display.cast(20.5);
/// display.cast(21.0);
/// actor::resume(&display).unwrap();
/// assert_eq!(rx.recv(), Ok(21.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFull {
    /// It waits until there is room; a send that never waits is refused.
    Wait,
    /// It is refused, and gives the message back.
    Refuse,
    /// It drops its own message.
    DropNewest,
    /// It drops the message that has waited longest in the queue.
    ///
    /// That may be one of the runtime of actors, too: an exit, a [`Down`](crate::Down), a timer's
    /// message. The queue does not tell them apart, which would take a word for each message of all
    /// actors. So an actor that must hear of ends has another policy.
    ///
    /// What a selective receive has put off, and the message with which a server's turn begins,
    /// were taken out of the queue, and stay. If these are all that the limit allows, one more
    /// comes in, and is the one that is dropped next.
    DropOldest,
}

/// What bounds a mailbox.
///
/// A permit of `room` stands for a place. What the runtime of actors itself puts in (an exit, a
/// [`Down`](crate::Down), a timer's message) never waits and always comes in: without a permit it
/// counts as `over`, and those who take messages out first work that off. The same is done for the
/// newest message of a mailbox that drops the oldest, where the queue has none.
pub(crate) struct Gate {
    pub(crate) room: Semaphore,
    pub(crate) on_full: OnFull,
    over: AtomicUsize,
}

impl Gate {
    pub(crate) fn new(limit: usize, on_full: OnFull) -> Gate {
        Gate { room: Semaphore::new(limit), on_full, over: AtomicUsize::new(0) }
    }

    /// A place without waiting for it.
    pub(crate) fn try_enter(&self) -> bool {
        self.room.try_acquire().map(Gate::keep).is_some()
    }

    /// A place that was waited for. It is given back by [`leave`](Self::leave), not by a drop.
    pub(crate) fn keep(permit: Permit<'_>) {
        std::mem::forget(permit);
    }

    /// A place for something that is put in whether there is room or not.
    pub(crate) fn force(&self) {
        if !self.try_enter() {
            // Relaxed: a count; the messages themselves go through the inbox.
            self.over.fetch_add(1, Relaxed);
        }
    }

    /// A message was taken out.
    fn leave(&self) {
        let over = self.over.fetch_update(Relaxed, Relaxed, |over| over.checked_sub(1));
        if over.is_err() {
            self.room.add_permits(1);
        }
    }
}

/// A place that is nobody's yet: dropped, it is free.
pub(crate) struct OpenPlace<'a>(pub(crate) &'a Gate);

impl Drop for OpenPlace<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// What makes a message of an exit.
pub(crate) type Trap<M> = fn(Exit) -> M;
/// The same, where the type of messages is not known.
pub(crate) type AnyTrap = fn();

/// See the module's header.
pub(crate) struct Cell<M> {
    pub(crate) life: Life,
    pub(crate) inbox: Inbox<M>,
    pub(crate) gate: Option<Box<Gate>>,
    /// See [`trap`](Self::trap).
    _of: PhantomData<Trap<M>>,
}

/// An actor with this type of messages.
pub(crate) trait Target<M>: Process {
    fn cell(&self) -> &Cell<M>;
    /// The inbox was idle, and the caller has taken it: starts the consumer.
    ///
    /// # Safety
    /// As it says. `first` holds a message, which is moved out.
    unsafe fn start(&self, first: *const M);
    /// Runs the handler here, on top of the caller, if the actor is idle and allows that: true.
    ///
    /// # Safety
    /// `message` holds one; it is moved out if the answer is true.
    unsafe fn run_here(&self, message: *const M) -> bool;
    /// Starts a turn with this message, if the actor is idle and is not to handle calls in place:
    /// true. (A send does so too; this is the shorter way for a call, which most often finds it
    /// idle.)
    ///
    /// # Safety
    /// As for [`run_here`](Self::run_here).
    unsafe fn start_here(&self, message: *const M) -> bool;
}

impl<M> Cell<M> {
    #[inline(always)]
    pub(crate) fn new(life: Life, is_started: bool, gate: Option<Gate>) -> Cell<M> {
        Cell { life, inbox: Inbox::new(is_started), gate: gate.map(Box::new), _of: PhantomData }
    }

    /// A message was taken out of the mailbox.
    #[inline(always)]
    pub(crate) fn took(&self) {
        if let Some(gate) = &self.gate {
            gate.leave();
        }
    }

    pub(crate) fn set_trap(&self, trap: Option<Trap<M>>) {
        // SAFETY: it is called only as what it is: see `trap`.
        let trap = trap.map(|trap| unsafe { std::mem::transmute::<Trap<M>, AnyTrap>(trap) });
        self.life.extra(true, |extra| extra.trap = trap);
    }

    /// How an exit becomes a message, of an actor that traps exits.
    pub(crate) fn trap(&self) -> Option<Trap<M>> {
        let trap = self.life.with_extra(|extra| extra.trap).flatten()?;
        // SAFETY: `set_trap` alone writes it, from a `Trap<M>`.
        Some(unsafe { std::mem::transmute::<AnyTrap, Trap<M>>(trap) })
    }

    /// Steps 3 to 5 of the [exit protocol](crate::life); in a [`user_code::call`].
    #[inline]
    pub(crate) fn end(&self, process: &(dyn Process + 'static), reason: &Reason) {
        let crash = Crash::of(process, reason);
        let left = self.inbox.close();
        if let Some(gate) = &self.gate {
            // Those who wait for room find that it is closed.
            gate.room.add_permits(usize::MAX / 4);
        }
        if !left.is_empty() {
            // The first panic of a destructor ends here; the others were reported.
            call_nested(|| drop(left));
        }
        if self.life.has_mark(ORDERS) {
            let orders = self.life.take_orders();
            call_nested(|| drop(orders));
        }
        Life::tell(process, reason, crash);
    }
}

/// Runs user code within a [`user_code::call`]: cancellations are kept off already, so that only
/// its panic is to be stopped. (A second shield is counted, under a lock: 250 instructions.)
fn nested(f: impl FnOnce(), panicked: impl FnOnce(Payload)) {
    if let Err(payload) = user_code::body(f) {
        panicked(payload);
    }
}

/// The same for user code whose panic is one of an end, and is nobody's.
pub(crate) fn call_nested(f: impl FnOnce()) {
    nested(f, |mut payload| {
        unwind::end_cancellation(&mut payload);
        unwind::discard(payload);
    });
}

/// The same for user code whose panic is reported. `what` names the code, for that message.
pub(crate) fn run_nested(what: &str, f: impl FnOnce()) {
    nested(f, |payload| user_code::run(what, || unwind::resume(payload)));
}

/// Puts a message in, past the limit of the mailbox. `Err`: the actor has ended.
pub(crate) fn force<M>(target: &dyn Target<M>, message: M) -> Result<(), M> {
    let cell = target.cell();
    let Some(gate) = &cell.gate else { return put(target, message) };
    Caller::get().spend();
    gate.force();
    put_in_place(target, message)
}

/// Puts a message in that has its place, for who has spent an operation of the budget before it
/// took that: nothing unwinds until the message is in, so the place is not lost.
pub(crate) fn put_in_place<M>(target: &dyn Target<M>, message: M) -> Result<(), M> {
    let message = ManuallyDrop::new(message);
    // SAFETY: the message is there, and not used any more if it was moved. Who is to start has
    // taken the inbox, and the message is still there.
    unsafe {
        match target.cell().inbox.push_unspent(&raw const *message) {
            Put::Done => {}
            Put::Start => target.start(&raw const *message),
            Put::Closed => return Err(ManuallyDrop::into_inner(message)),
        }
    }
    Ok(())
}

/// Puts a message in, of a mailbox without a limit.
#[inline(always)]
pub(crate) fn put<M>(target: &dyn Target<M>, message: M) -> Result<(), M> {
    // SAFETY: the message is there, and is forgotten if it was moved.
    if unsafe { put_from(target, target.cell(), &raw const message) } {
        std::mem::forget(message);
        Ok(())
    } else {
        Err(message)
    }
}

/// The same of a message that stays where its maker has written it until it is moved in; `cell` is
/// the target's, which the caller has looked at. False: the actor has ended. If this unwinds,
/// because a cancellation has arrived, the message is still there.
///
/// # Safety
/// `message` holds one; it is moved out if the answer is true.
#[inline(always)]
pub(crate) unsafe fn put_from<M>(target: &dyn Target<M>, cell: &Cell<M>, message: *const M) -> bool {
    // SAFETY: this function's contract. Who is to start has taken the inbox, and the message is
    // still there.
    unsafe {
        let put = cell.inbox.push_from(message);
        if put == Put::Start {
            target.start(message);
        }
        put != Put::Closed
    }
}

/// An exit for an actor that may trap exits.
pub(crate) fn exit_message<M>(target: &dyn Target<M>, exit: Exit) -> Result<(), Exit> {
    let Some(trap) = target.cell().trap() else { return Err(exit) };
    user_code::run("a function for exits", || {
        // (Where the actor has ended the message is dropped.)
        drop(force(target, trap(exit)));
    });
    Ok(())
}

// SAFETY: made by `Builder::cell`, in a `Shared`.
unsafe impl<M: Send + 'static> Process for Cell<M> {
    fn life(&self) -> &Life {
        &self.life
    }

    fn exit_message(&self, exit: Exit) -> Result<(), Exit> {
        exit_message(self, exit)
    }

    fn was_left(&self) {
        end_left(self, self);
    }

    fn interrupt(&self) {
        // (Never idle: its task is told, or looks when it begins.)
        self.inbox.interrupt();
    }

    fn queued(&self) -> usize {
        self.inbox.len()
    }

    fn is_at_rest(&self) -> bool {
        self.inbox.is_at_rest()
    }

    fn traps_exits(&self) -> bool {
        self.trap().is_some()
    }

    fn pause(&self) -> bool {
        self.inbox.pause()
    }

    fn resume(&self) {
        // (Never parked: its consumer waits in the inbox.)
        _ = self.inbox.resume();
    }

    fn is_paused(&self) -> bool {
        self.inbox.is_paused()
    }
}

/// An actor that is a function: its own task consumes.
impl<M: Send + 'static> Target<M> for Cell<M> {
    #[inline(always)]
    fn cell(&self) -> &Cell<M> {
        self
    }

    unsafe fn start(&self, _: *const M) {
        unreachable!("the inbox of a function is never idle");
    }

    unsafe fn run_here(&self, _: *const M) -> bool {
        false
    }

    unsafe fn start_here(&self, _: *const M) -> bool {
        false
    }
}

/// An actor without the type of its messages.
pub(crate) fn pid_of<M: Send + 'static>(cell: &Shared<Cell<M>>) -> Pid {
    this(&**cell)
}

/// An actor, whatever it is.
#[inline(always)]
pub(crate) fn target<M, C: Target<M> + 'static>(cell: Shared<C>) -> Shared<dyn Target<M>> {
    // SAFETY: `erase` returns what it is given.
    unsafe { cell.erased(|cell| cell) }
}
