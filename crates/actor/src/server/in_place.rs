//! A message that is handled in place: on top of who calls.
//!
//! The server is idle, and the caller its consumer for this message; what has come meanwhile a turn
//! handles. The handler is code of the server, in a frame of its own, and not part of what a
//! cancellation of the caller ends. A call in place is to cost little more than the call of a
//! function: so the message is moved once, and the usual way has no other types to move or drop.

use super::cell::ServerCell;
use super::turn::{First, Turn};
use super::{Context, Next, Server};
use crate::frame;
use crate::reason::Reason;
use crate::task::reason_of;
use myriad_core::engine::running::{UnderWay, has_room};
use myriad_core::engine::user_code;
use myriad_sync::inbox::Popped;

impl<S: Server> ServerCell<S> {
    /// Handles the message here, if the server is idle: true.
    ///
    /// # Safety
    /// `message` holds one; it is moved out if the answer is true.
    #[inline]
    pub(super) unsafe fn call_in_place(&self, message: *const S::Message) -> bool {
        if self.cell().gate.is_some() || !has_room(self.home()) || !self.cell().inbox.begin() {
            return false;
        }
        // (Both are written where they stand: a result that has them in it is moved with words of
        // its own that were written just now, which takes 5 ns.)
        let (mut why, mut failed) = (None, None);
        let ((), put_off) = frame::enter(self, UnderWay::here(), || {
            // (`why` is written where there is one: else the one before would be dropped.)
            let step = || {
                // SAFETY: the inbox was idle, and the caller has taken it; an idle server has not
                // ended. The message is moved once (this function's contract).
                if let Some(stop) = unsafe { self.step_in_place(message) } {
                    why = Some(stop);
                }
            };
            failed = user_code::call(step).err();
        });
        match failed.map(reason_of).or(why) {
            None if self.cell().inbox.idle(|| self.has_order()) => {}
            None => self.hand_over(),
            Some(why) => Turn::begin_end(self, why, put_off),
        }
        true
    }

    /// Runs the handler. `Some`: the server is to end.
    ///
    /// # Safety
    /// The caller consumes, and the server has not ended. `message` holds one, which is moved out.
    #[inline(always)]
    unsafe fn step_in_place(&self, message: *const S::Message) -> Option<Reason> {
        // SAFETY: the caller consumes, and `message` is moved once (this function's contract).
        let next = unsafe {
            match self.plain() {
                Some(server) => {
                    let next = server.handle(message.read(), &mut Context::new(self));
                    if matches!(next, Next::Go) {
                        std::mem::forget(next); // (So nobody asks whether there is anything to drop.)
                        return None;
                    }
                    self.go_on(next)
                }
                None => self.step(First::Message(message.read())),
            }
        };
        if let Next::Stop(why) = next { Some(why) } else { None }
    }

    /// Something has come meanwhile.
    #[cold]
    #[inline(never)]
    fn hand_over(&self) {
        match self.pop() {
            Popped::Idle => {}
            Popped::Stays => Turn::begin(self, First::Look),
            Popped::Message(message) => Turn::begin(self, First::Message(message)),
            Popped::Interrupted => Turn::begin(self, First::End),
        }
    }
}
