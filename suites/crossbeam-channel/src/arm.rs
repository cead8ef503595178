//! The arms of `select!`: one type for the receivers of all kinds.

use crate::channel::{Flavor, Receiver, Sender, Slot, back, instant};
use crate::err::{RecvError, SendError};
use myriad::channel as on;
use myriad::select::{Arm, Link};
use myriad::time::Instant;
use myriad_core::engine::wait::{Caller, MultiWait};
use std::task::Waker;

/// What a receive brings when it has been chosen.
pub type Came<T> = Result<Slot<T>, on::RecvError>;

type TimesArm<'a> = Box<dyn Arm<Output = Result<Instant, on::RecvError>> + Send + 'a>;

/// The arm of a receiver.
#[allow(missing_debug_implementations, reason = "nobody can name it")]
pub enum RecvArm<'a, T> {
    Channel(on::RecvArm<'a, Slot<T>>),
    Times(TimesArm<'a>, fn(std::time::Instant) -> T),
    Never,
}

impl<T> Receiver<T> {
    #[doc(hidden)]
    pub fn recv_arm(&self) -> RecvArm<'_, T> {
        match &self.on {
            Flavor::Channel(rx) => RecvArm::Channel(rx.recv_arm()),
            Flavor::Times(times) => RecvArm::Times(Box::new(times.0.recv_arm()), times.1),
            Flavor::Never => RecvArm::Never,
        }
    }
}

impl<T> Sender<T> {
    #[doc(hidden)]
    pub fn send_arm(&self, message: T) -> on::SendArm<'_, Slot<T>> {
        self.on.send_arm(Slot::Now(message))
    }
}

/// What the arm of a chosen receive brings, to the program.
pub fn received<T>(came: Came<T>) -> Result<T, RecvError> {
    came.map(Slot::message).map_err(|_| RecvError)
}

/// What the arm of a chosen send brings, to the program.
pub fn sent<T>(sent: Result<(), on::SendError<Slot<T>>>) -> Result<(), SendError<T>> {
    sent.map_err(|error| SendError(back(error.0)))
}

fn at<T>(output: Result<Instant, on::RecvError>, message: fn(std::time::Instant) -> T) -> Came<T> {
    output.map(|at| Slot::Now(message(instant(at))))
}

// SAFETY: what is linked is an arm of Myriad's inside, of which the same is true; the arm of
// `never` is never linked.
unsafe impl<T> Arm for RecvArm<'_, T> {
    type Output = Came<T>;

    unsafe fn attempt(&mut self, here: Caller, waker: Option<&Waker>) -> Option<Came<T>> {
        match self {
            // SAFETY: the arm inside is linked when this one is, and moves with this one.
            RecvArm::Channel(arm) => unsafe { arm.attempt(here, waker) },
            // SAFETY: the arm inside is linked when this one is, and moves with this one.
            RecvArm::Times(arm, message) => unsafe { arm.attempt(here, waker) }.map(|output| at(output, *message)),
            RecvArm::Never => None,
        }
    }
    unsafe fn reattempt(&mut self, here: Caller, waker: Option<&Waker>, seen: &mut u64) -> Option<Came<T>> {
        match self {
            // SAFETY: the arm inside is linked when this one is, and moves with this one.
            RecvArm::Channel(arm) => unsafe { arm.reattempt(here, waker, seen) },
            RecvArm::Times(arm, message) => {
                // SAFETY: the arm inside is linked when this one is, and moves with this one.
                unsafe { arm.reattempt(here, waker, seen) }.map(|output| at(output, *message))
            }
            RecvArm::Never => None,
        }
    }
    unsafe fn link(&mut self, here: Caller, me: MultiWait) -> Link {
        match self {
            // SAFETY: the arm inside is linked when this one is, and moves with this one; `me` is
            // the same wait.
            RecvArm::Channel(arm) => unsafe { arm.link(here, me) },
            // SAFETY: the arm inside is linked when this one is, and moves with this one; `me` is
            // the same wait.
            RecvArm::Times(arm, _) => unsafe { arm.link(here, me) },
            RecvArm::Never => Link::Linked,
        }
    }
    fn unlink(&mut self, here: Caller) -> Option<Came<T>> {
        match self {
            RecvArm::Channel(arm) => arm.unlink(here),
            RecvArm::Times(arm, message) => arm.unlink(here).map(|output| at(output, *message)),
            RecvArm::Never => None,
        }
    }
    fn abandon(&mut self, here: Caller) {
        match self {
            RecvArm::Channel(arm) => arm.abandon(here),
            RecvArm::Times(arm, _) => arm.abandon(here),
            RecvArm::Never => {}
        }
    }
    fn deadline(&mut self) -> Option<Instant> {
        match self {
            RecvArm::Channel(arm) => arm.deadline(),
            RecvArm::Times(arm, _) => arm.deadline(),
            RecvArm::Never => None,
        }
    }
}
