//! A turn of a server: a short task that handles what is in the inbox.

use super::cell::ServerCell;
use super::{Context, Next, Server};
use crate::frame;
use crate::left::WatchedTurn;
use crate::pid::this;
use crate::reason::Reason;
use crate::task::reason_of;
use myriad_core::JoinHandle;
use myriad_core::engine::guest::{spawn_behind, spawn_detached_here};
use myriad_core::engine::running::{UnderWay, call_nested};
use myriad_core::engine::{unwind, user_code};
use myriad_core::time::sleep_async;
use myriad_sync::inbox::Popped;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::time::Duration;

/// So many messages a turn handles before it goes behind the tasks that wait.
const MOST: usize = 128;

/// With what a turn begins.
pub(super) enum First<M> {
    Message(M),
    /// The timer of this number has fired.
    Idle(u64),
    /// There is something to look at beside the messages.
    Look,
    /// The server was told to end.
    End,
}

/// The right and the duty to consume, on the way into a task. Dropped without a turn (the runtime
/// has ended), it ends the server.
///
/// **Invariant.** The record of the server stands as long as this is there: see `cell.rs`.
pub(super) struct Turn<S: Server> {
    server: NonNull<ServerCell<S>>,
    first: First<S::Message>,
}

// SAFETY: the record is reached from all threads, and a message goes from one to the other.
unsafe impl<S: Server> Send for Turn<S> {}

impl<S: Server> Turn<S> {
    /// Starts a turn. The caller has the inbox, and gives it up.
    #[inline]
    pub(super) fn begin(server: &ServerCell<S>, first: First<S::Message>) {
        Turn::begin_with(server, || first);
    }

    /// The same with what `first` makes.
    #[inline(always)]
    pub(super) fn begin_with(server: &ServerCell<S>, first: impl FnOnce() -> First<S::Message>) {
        let make = || {
            let turn = Turn { server: NonNull::from(server), first: first() };
            turn.into_run()
        };
        let home = server.home();
        // (Past `begin_by`: nothing panics there, and the turn is written where it is to be.)
        let begun = if server.cell().life.is_outlived() { Err(make) } else { spawn_detached_here(home, make) };
        if let Err(make) = begun {
            Turn::begin_by(server, make(), |run| drop(home.spawn(run)));
        }
    }

    /// The same, behind the tasks that the calling worker has.
    fn begin_behind(server: &ServerCell<S>, first: First<S::Message>) {
        let (home, turn) = (server.home(), Turn { server: NonNull::from(server), first });
        Turn::begin_by(server, turn.into_run(), |run| spawn_behind(home, run));
    }

    /// Starts what runs a turn by this function; or so that a supervisor hears if the runtime
    /// leaves the turn.
    #[cold]
    #[inline(never)]
    fn begin_by<F: FnOnce() + Send + 'static>(server: &ServerCell<S>, run: F, spawn: impl FnOnce(F)) {
        let home = server.home();
        let watched = server.cell().life.is_outlived().then(|| this(server));
        // (Where the runtime has ended `spawn` panics, and the turn is dropped, which ends the
        // server: that is no panic of who has sent a message.)
        let refused = user_code::body(|| match watched {
            None => spawn(run),
            Some(server) => WatchedTurn::spawn(home, &server, run),
        });
        if let Err(refused) = refused {
            unwind::discard(refused);
        }
    }

    /// Starts a turn that ends the server.
    #[cold]
    pub(super) fn begin_end(server: &ServerCell<S>, why: Reason, put_off: frame::PutOff) {
        _ = server.cell().life.settle(why);
        drop(put_off); // (Here: it is of the caller's thread.)
        Turn::begin(server, First::End);
    }

    #[inline(always)]
    fn server(&self) -> &ServerCell<S> {
        // SAFETY: the record stands (the type's invariant).
        unsafe { self.server.as_ref() }
    }

    fn into_run(self) -> impl FnOnce() + Send + 'static {
        // SAFETY: the turn is used by nobody else.
        move || unsafe { Turn::run(&mut ManuallyDrop::new(self)) }
    }

    /// What a turn's task does. (The turn stays where that task has it: it may be large.)
    ///
    /// # Safety
    /// The turn is neither used nor dropped afterwards.
    unsafe fn run(turn: &mut ManuallyDrop<Self>) {
        let (cell, server, task) = (turn.server().cell(), turn.server, UnderWay::here());
        // SAFETY: this task was spawned for the turn; it makes the inbox idle or closes it before
        // it ends, or tells the next turn to.
        let goes_on = unsafe { cell.inbox.consume(Some(task)) };
        if !goes_on || matches!(turn.first, First::End) {
            // SAFETY: nobody uses the turn after this (this function's contract).
            return unsafe { ManuallyDrop::take(turn) }.end(Reason::Normal);
        }
        let first = &raw const turn.first;
        // (Written where it stands: see `in_place.rs`.)
        let (mut why, mut failed) = (None, None);
        let ((), put_off) = frame::enter_and_leave(server.as_ptr(), task, || {
            // SAFETY: this turn consumes; what it begins with is moved out here, once: nobody uses
            // the turn after this (this function's contract).
            failed = user_code::body(|| why = unsafe { all(server, first) }).err();
        });
        let Some(why) = failed.map(reason_of).or(why) else { return };
        // SAFETY: `all` has not given the inbox up.
        unsafe { ServerCell::end(server, why, put_off) }
    }

    /// Ends the server: the turn has not begun.
    #[cold]
    #[inline(never)]
    fn end(self, why: Reason) {
        let mut turn = ManuallyDrop::new(self);
        if let First::Message(message) = std::mem::replace(&mut turn.first, First::End) {
            // With the others in the mailbox it is dropped, before anybody is told.
            drop(turn.server().cell().inbox.put_back(message));
        }
        // SAFETY: the turn is the right to consume, which ends here.
        unsafe { ServerCell::end(turn.server, why, None) }
    }
}

/// Handles what there is. `Some`: the server is to end. `None`: somebody else consumes, or nobody,
/// and the record is not to be touched.
///
/// # Safety
/// The caller consumes. `first` is moved out.
#[inline(always)]
unsafe fn all<S: Server>(server: NonNull<ServerCell<S>>, first: *const First<S::Message>) -> Option<Reason> {
    // SAFETY: this turn consumes, so the record stands, and the server has not ended: who ends it
    // consumes no more.
    let this = unsafe { server.as_ref() };
    // SAFETY: as above; what the turn begins with is moved once (this function's contract).
    let mut next = unsafe {
        match (&*first, this.plain()) {
            // (A message has no other use here, or it would be copied on its way to the handler.)
            (First::Message(message), Some(state)) => {
                state.handle(std::ptr::from_ref(message).read(), &mut Context::new(this))
            }
            _ => return attentive(server, first.read()),
        }
    };
    for _ in 1..MOST {
        if matches!(next, Next::Go) {
            std::mem::forget(next); // (So nobody asks whether there is anything to drop.)
        // SAFETY: this turn consumes, and the server has not ended: its handler has returned.
        } else if let Next::Stop(why) = unsafe { this.go_on(next) } {
            return Some(why);
        }
        // SAFETY: this turn consumes, and the server has not ended: its last step has said so.
        let Some(state) = (unsafe { this.plain() }) else { return unsafe { attentive(server, First::Look) } };
        next = match this.pop() {
            Popped::Message(message) => state.handle(message, &mut Context::new(this)),
            Popped::Idle => return None,
            // SAFETY: the inbox is this turn's still.
            Popped::Stays => return unsafe { attentive(server, First::Look) },
            Popped::Interrupted => return Some(Reason::Cancelled),
        };
    }
    // SAFETY: as in the loop.
    if let Next::Stop(why) = unsafe { this.go_on(next) } {
        return Some(why);
    }
    // SAFETY: this turn consumes, and goes on only if there is something.
    unsafe { pop(server).map_or_else(|end| end, |next| hand_over(server, next)) }
}

/// What comes next. `Err`: nothing, and why the server ends, if it does.
///
/// # Safety
/// The caller consumes, up to an `Err` without a reason.
unsafe fn pop<S: Server>(server: NonNull<ServerCell<S>>) -> Result<First<S::Message>, Option<Reason>> {
    // SAFETY: this turn consumes, so the record stands.
    let this = unsafe { server.as_ref() };
    frame::goes_on(&this.cell().life);
    match this.pop() {
        Popped::Message(message) => Ok(First::Message(message)),
        Popped::Stays => Ok(First::Look),
        Popped::Idle => Err(None),
        // (What it was told to end with goes before this.)
        Popped::Interrupted => Err(Some(Reason::Cancelled)),
    }
}

/// As [`all`], where there is more to look at than messages and the server's state.
///
/// # Safety
/// As for [`all`].
#[inline(never)]
unsafe fn attentive<S: Server>(server: NonNull<ServerCell<S>>, first: First<S::Message>) -> Option<Reason> {
    // SAFETY: this turn consumes, so the record stands.
    let this = unsafe { server.as_ref() };
    let mut next = first;
    for _ in 0..MOST {
        if this.cell().life.is_marked() {
            // SAFETY: this turn consumes, and the server has not ended, as in `all`.
            next = unsafe { this.look_around(next) };
        }
        // SAFETY: this turn consumes still: a look around gives nothing up.
        if let Next::Stop(why) = unsafe { this.step(next) } {
            return Some(why);
        }
        // SAFETY: this turn consumes still: its step has not said that the server ends.
        next = match unsafe { pop(server) } {
            Ok(next) => next,
            Err(end) => return end,
        };
    }
    // SAFETY: this turn consumes: it has taken this from the inbox.
    unsafe { hand_over(server, next) }
}

/// This turn has had its share.
///
/// # Safety
/// The caller consumes, and does so no longer when this returns `None`.
unsafe fn hand_over<S: Server>(server: NonNull<ServerCell<S>>, next: First<S::Message>) -> Option<Reason> {
    // SAFETY: this turn consumes, so the record stands, until the next one begins.
    let this = unsafe { server.as_ref() };
    // SAFETY: nobody is named: this task goes, and the next one names itself.
    if unsafe { !this.cell().inbox.consume(None) } {
        if let First::Message(message) = next {
            drop(this.cell().inbox.put_back(message));
        }
        return Some(Reason::Cancelled);
    }
    Turn::begin_behind(this, next);
    None
}

impl<S: Server> Drop for Turn<S> {
    fn drop(&mut self) {
        let first = std::mem::replace(&mut self.first, First::End);
        let turn = Turn { server: self.server, first };
        // (Whom that tells of its end may be such a server, too, and so on.)
        call_nested(move || turn.end(Reason::Cancelled));
    }
}

impl<S: Server> ServerCell<S> {
    /// After this time, if no message has come, a turn begins with [`First::Idle`].
    pub(super) fn wake_later(&self, limit: Duration, number: u64) -> JoinHandle<()> {
        /// How long a server may take to come to rest.
        const MOMENT: Duration = Duration::from_millis(1);
        let this = self.shared().downgrade();
        self.home().spawn_async(async move {
            sleep_async(limit).await;
            while let Some(server) = this.upgrade() {
                let (inbox, life) = (&server.cell().inbox, &server.cell().life);
                if inbox.begin() {
                    return Turn::begin(&server, First::Idle(number));
                }
                if inbox.is_paused() {
                    life.set_late(number);
                    // Where this finds it paused still, the resume finds the number.
                    if inbox.is_paused() || life.take_late().is_none() {
                        return;
                    }
                }
                drop(server);
                // The turn that has set the timer has not given the inbox up yet; or a message has
                // come, whose turn cancels this.
                sleep_async(MOMENT).await;
            }
        })
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::life::Life;
    use crate::pid::this;
    use crate::server::Context;
    use std::panic::Location;

    struct Idle;

    impl Server for Idle {
        type Message = ();
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> Next<()> {
            Next::Go
        }
    }

    /// The timer fires between the handler and the idle inbox: it waits until the server is at
    /// rest.
    #[test]
    fn a_timer_that_fires_before_the_server_is_at_rest_is_not_lost() {
        myriad_core::run(|| {
            let server = ServerCell::start(Idle, Life::new(Location::caller()), None);
            assert!(server.cell().inbox.begin());
            // SAFETY: the inbox was idle, and was taken here.
            unsafe { server.state() }.timers = 1;
            let timer = server.wake_later(Duration::ZERO, 1);
            // So often it is its turn.
            for _ in 0..100 {
                myriad_core::yield_now();
            }
            assert_eq!(server.cell().inbox.pop_or_idle(), Popped::Idle);
            let told = crate::monitor::monitor(&this(&*server)).wait_timeout(Duration::from_secs(60));
            assert!(told.is_ok_and(|down| down.reason.is_expected()));
            assert!(timer.join().is_ok());
        });
    }
}
