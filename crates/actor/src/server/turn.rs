//! A turn of a server: a short task that handles what is in the inbox.

use super::cell::ServerCell;
use super::{Context, Next, Server};
use crate::frame;
use crate::left::WatchedTurn;
use crate::pid::this;
use crate::reason::Reason;
use crate::shared::Shared;
use crate::task::reason_of;
use myriad_core::engine::guest::spawn_behind;
use myriad_core::engine::running::{UnderWay, call_nested};
use myriad_core::engine::{unwind, user_code};
use myriad_core::time::sleep_async;
use myriad_core::{Handle, JoinHandle};
use myriad_sync::inbox::Popped;
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
pub(super) struct Turn<S: Server> {
    /// `None` once the turn has begun.
    server: Option<Shared<ServerCell<S>>>,
    first: Option<First<S::Message>>,
}

impl<S: Server> Turn<S> {
    /// Starts a turn. The caller has the inbox, and gives it up.
    #[inline]
    pub(super) fn begin(server: Shared<ServerCell<S>>, first: First<S::Message>) {
        Turn::begin_by(server, first, |home, turn| drop(home.spawn(move || turn.run())));
    }

    /// The same, behind the tasks that the calling worker has.
    fn begin_behind(server: Shared<ServerCell<S>>, first: First<S::Message>) {
        Turn::begin_by(server, first, |home, turn| spawn_behind(home, move || turn.run()));
    }

    /// The same by this function; or so that a supervisor hears if the runtime leaves the turn.
    #[inline]
    fn begin_by(server: Shared<ServerCell<S>>, first: First<S::Message>, spawn: impl FnOnce(Handle, Turn<S>)) {
        let home = server.home();
        let watched = server.cell().life.is_outlived().then(|| this(&*server));
        let turn = Turn { server: Some(server), first: Some(first) };
        // (Where the runtime has ended `spawn` panics, and the turn is dropped, which ends the
        // server: that is no panic of who has sent a message.)
        let refused = user_code::body(|| match watched {
            None => spawn(home, turn),
            Some(server) => WatchedTurn::spawn(home, &server, move || turn.run()),
        });
        if let Err(refused) = refused {
            unwind::discard(refused);
        }
    }

    /// Starts a turn that ends the server.
    #[cold]
    pub(super) fn begin_end(server: Shared<ServerCell<S>>, why: Reason, put_off: frame::PutOff) {
        _ = server.cell().life.settle(why);
        drop(put_off); // (Here: it is of the caller's thread.)
        Turn::begin(server, First::End);
    }

    fn run(mut self) {
        let Some(server) = &self.server else { return };
        let task = UnderWay::here();
        // SAFETY: this task was spawned for the turn; it makes the inbox idle or closes it before
        // it ends, or tells the next turn to.
        let goes_on = unsafe { server.cell().inbox.consume(Some(task)) };
        if !goes_on || matches!(self.first, Some(First::End)) {
            return self.end(Reason::Normal);
        }
        let (Some(server), Some(first)) = (self.server.take(), self.first.take()) else { return };
        // (Written where it stands: see `in_place.rs`.)
        let (mut why, mut failed) = (None, None);
        let ((), put_off) = frame::enter(&*server, task, || {
            failed = user_code::body(|| why = all(&server, first)).err();
        });
        let Some(why) = failed.map(reason_of).or(why) else { return };
        // SAFETY: `all` has not given the inbox up.
        unsafe { ServerCell::end(&server, why, put_off) }
    }

    /// Ends the server, if the turn has not begun.
    #[cold]
    fn end(&mut self, why: Reason) {
        let Some(server) = self.server.take() else { return };
        if let Some(First::Message(message)) = self.first.take() {
            // With the others in the mailbox it is dropped, before anybody is told.
            drop(server.cell().inbox.put_back(message));
        }
        // SAFETY: the turn is the right to consume, which ends here.
        unsafe { ServerCell::end(&server, why, None) }
    }
}

/// Handles what there is. `Some`: the server is to end. `None`: somebody else consumes, or nobody.
fn all<S: Server>(server: &Shared<ServerCell<S>>, first: First<S::Message>) -> Option<Reason> {
    let cell = server.cell();
    if cell.life.is_marked() {
        return attentive(server, first);
    }
    // SAFETY: this turn consumes, and the server has not ended: who ends it consumes no more.
    if let Next::Stop(why) = unsafe { server.step(first) } {
        return Some(why);
    }
    for _ in 1..MOST {
        // SAFETY: this turn consumes, and the server has not ended: its last step has said so.
        let Some(state) = (unsafe { server.plain() }) else { return attentive(server, First::Look) };
        let next = match cell.inbox.pop_or_idle() {
            // (A message has no other use here, or it would be copied on its way to the handler.)
            Popped::Message(message) => state.handle(message, &mut Context::new(server)),
            Popped::Idle if server.has_order() => return attentive(server, First::Look),
            Popped::Idle => return None,
            Popped::Interrupted => return Some(Reason::Cancelled),
        };
        if matches!(next, Next::Go) {
            std::mem::forget(next); // (So nobody asks whether there is anything to drop.)
            continue;
        }
        // SAFETY: this turn consumes, and the server has not ended: its handler has returned.
        if let Next::Stop(why) = unsafe { server.go_on(next) } {
            return Some(why);
        }
    }
    pop(server).map_or_else(|end| end, |next| hand_over(server, next))
}

/// What comes next. `Err`: nothing, and why the server ends, if it does.
fn pop<S: Server>(server: &ServerCell<S>) -> Result<First<S::Message>, Option<Reason>> {
    match server.cell().inbox.pop_or_idle() {
        Popped::Message(message) => Ok(First::Message(message)),
        Popped::Idle if server.has_order() => Ok(First::Look),
        Popped::Idle => Err(None),
        // (What it was told to end with goes before this.)
        Popped::Interrupted => Err(Some(Reason::Cancelled)),
    }
}

/// The same, where there is more to look at than messages and the server's state.
#[inline(never)]
fn attentive<S: Server>(server: &Shared<ServerCell<S>>, first: First<S::Message>) -> Option<Reason> {
    let mut next = first;
    for _ in 0..MOST {
        if server.cell().life.is_marked() {
            // SAFETY: this turn consumes, and the server has not ended, as in `all`.
            next = unsafe { server.look_around(next) };
        }
        // SAFETY: this turn consumes still: a look around gives nothing up.
        if let Next::Stop(why) = unsafe { server.step(next) } {
            return Some(why);
        }
        next = match pop(server) {
            Ok(next) => next,
            Err(end) => return end,
        };
    }
    hand_over(server, next)
}

/// This turn has had its share.
fn hand_over<S: Server>(server: &Shared<ServerCell<S>>, next: First<S::Message>) -> Option<Reason> {
    // SAFETY: nobody is named: this task goes, and the next one names itself.
    if unsafe { !server.cell().inbox.consume(None) } {
        if let First::Message(message) = next {
            drop(server.cell().inbox.put_back(message));
        }
        return Some(Reason::Cancelled);
    }
    Turn::begin_behind(server.clone(), next);
    None
}

impl<S: Server> Drop for Turn<S> {
    fn drop(&mut self) {
        if self.server.is_some() {
            let mut turn = Turn { server: self.server.take(), first: self.first.take() };
            // (Whom that tells of its end may be such a server, too, and so on.)
            call_nested(move || turn.end(Reason::Cancelled));
        }
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
                    return Turn::begin(server, First::Idle(number));
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
