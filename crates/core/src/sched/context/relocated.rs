//! A task that goes on on another stack, perhaps of another worker, or on a thread for blocking
//! calls, while its own stack is set aside: it is the same task there.
//!
//! Its word goes with it, and with that its context; nobody else uses them, because the one stack
//! waits for the other. There is one exception. Task-locals need not be `Sync`, so they cannot go
//! to another thread while the task holds a reference to one: then it has others there, for that
//! time.

use super::generator::Generator;
use super::{Context, adopt, end, end_if_empty, enter, make, whole, with_own};
use crate::record::current::CurrentTask;
use crate::record::header::Header;
use crate::sched::pool::number_in;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code;
use crate::sched::worker::{self, Role};
use std::cell::Cell;
use std::ptr::{null, null_mut};

/// See the module's header.
pub(crate) struct Relocated {
    /// What the task is, before and after.
    word: Cell<CurrentTask>,
    /// What stands for its context, in the exception, until it goes on; else null.
    part: Cell<*mut Context>,
    rng: Cell<Option<Generator>>,
    /// A context that it made on a thread, where it had none.
    made: Cell<*mut Context>,
}

// SAFETY: touched by the task that lends before and after, by the one that borrows in between.
unsafe impl Sync for Relocated {}

fn here() -> Role {
    worker::current().expect("on a worker")
}

impl Relocated {
    /// Of the running task, which goes on on this very thread, and not as a worker's: so its
    /// task-locals go with it in any case.
    pub(crate) fn on_this_thread() -> Relocated {
        let w = here();
        let word = w.running.get();
        // It waits as its bare record: the context is elsewhere meanwhile, and may say that it sits
        // there.
        // SAFETY: the word is that of the running task, which has not ended.
        w.running.set(CurrentTask::of_task(unsafe { word.cancel_record() }.cast_mut()));
        Relocated {
            word: Cell::new(word),
            part: Cell::new(null_mut()),
            rng: Cell::new(None),
            made: Cell::new(null_mut()),
        }
    }

    /// Of the running task, which is about to wait.
    pub(crate) fn new() -> Relocated {
        let w = here();
        let loan = Relocated::on_this_thread();
        let word = loan.word.get();
        if word.has_context() {
            // SAFETY: the context is that of the running task, which is the caller.
            let context = unsafe { &*whole(word) };
            if context.borrows.get() > 0 {
                // SAFETY: the word is that of the running task, which has not ended.
                let part = Context::new(Some(&w), unsafe { word.record() }.cast_mut());
                let rng = context.with_rng(|rng| rng.clone());
                // SAFETY: `new` has just made the part, and nobody else knows it. (The part stands
                // for the whole, a context of the same task: it has the number.)
                unsafe { (*part).number().set(number_in(context.number()).as_u64()) };
                // SAFETY: `new` has just made the part, and nobody else knows it.
                unsafe {
                    (*part).with_rng(|part| *part = rng);
                    (*part).keep();
                    (*part).with_bindings(|b| *b = context.with_bindings(|bindings| bindings.clone()));
                }
                loan.part.set(part);
            }
        }
        loan
    }

    /// Runs `f` as that task, on top of what runs here.
    pub(crate) fn run<T>(&self, f: impl FnOnce() -> T) -> T {
        let part = self.part.replace(null_mut());
        let own = here().running.get();
        if !part.is_null() {
            enter(&here(), part);
        } else {
            become_(self.word.get());
        }
        // Here it is found and cancelled by what runs here, for which its own stack waits.
        let before = sit(own);
        let result = user_code::body(f);
        get_up(before);
        if !part.is_null() {
            // SAFETY: the part was entered above, and is kept, so it stands until it is ended
            // below.
            self.rng.set(unsafe { (*part).with_rng(|rng| rng.take()) });
            let w = here();
            if w.running.has_context() {
                _ = end(w);
            }
        } else {
            self.word.set(here().running.get());
        }
        here().running.set(own);
        match result {
            Ok(value) => value,
            Err(payload) => unwind::resume(payload),
        }
    }

    /// Runs `f` as that task, on a thread that is no worker.
    pub(crate) fn run_on_thread<T>(&self, f: impl FnOnce() -> T) -> Result<T, Payload> {
        let part = self.part.replace(null_mut());
        let word = self.word.get();
        let whole = if word.has_context() { whole(word) } else { null_mut() };
        let (result, after) = with_own(if part.is_null() { whole } else { part }, f);
        if !part.is_null() {
            // SAFETY: the part stands for the task during the call, which is over, and nobody else
            // has it.
            unsafe {
                self.rng.set((*part).with_rng(|rng| rng.take()));
                Context::end_unused(part, None);
            }
        } else if whole.is_null() {
            self.made.set(after);
        }
        result
    }

    /// The task goes on on its own stack.
    ///
    /// In a child that was forked meanwhile the calling thread is no worker any more: there is
    /// nobody to give it back to.
    pub(crate) fn give_back(&self) {
        if worker::current().is_none() {
            return;
        }
        let word = self.word.get();
        let rng = self.rng.take();
        become_(word);
        let made = self.made.replace(null_mut());
        if !made.is_null() {
            // SAFETY: the task has none, and nobody else has this one.
            unsafe { adopt(&here(), made) };
        }
        if rng.is_some() {
            // SAFETY: the running task's context, which had a generator before.
            unsafe { (*whole(word)).with_rng(|own| *own = rng) };
        }
        let part = self.part.replace(null_mut());
        if !part.is_null() {
            // It never began: the runtime was shut down.
            // SAFETY: the part was never entered, so nobody else has it.
            unsafe { Context::end_unused(part, worker::current()) };
        }
    }
}

/// What runs has the seat of another task from here on. Returns its own.
fn sit(other: CurrentTask) -> *const Header {
    let w = here();
    if w.running.get() == CurrentTask::NOTHING {
        return null();
    }
    if !w.running.has_context() {
        make(&w);
    }
    // SAFETY: the running task's context; the other word is of what ran here until now.
    unsafe {
        let context = &*whole(w.running.get());
        context.head.cancel_record.replace(other.cancel_record())
    }
}

/// It has its own again.
fn get_up(cancel_record: *const Header) {
    let word = here().running.get();
    if !cancel_record.is_null() && word.has_context() {
        // SAFETY: the running task's context, which stays while another's seat is in it.
        unsafe { (*word.head()).cancel_record.set(cancel_record) };
        end_if_empty();
    }
}

fn become_(word: CurrentTask) {
    let w = here();
    if word.has_context() {
        w.meet_context();
    }
    w.running.set(word);
}
