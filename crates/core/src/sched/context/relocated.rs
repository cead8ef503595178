//! A task that goes on on another stack, perhaps of another worker, or on a thread for blocking
//! calls, while its own stack is set aside: it is the same task there.
//!
//! Its word goes with it, and with that its context; nobody else uses them, because the one stack
//! waits for the other. There is one exception. Task-locals need not be `Sync`, so they cannot go
//! to another thread while the task holds a reference to one: then it has others there, for that
//! time.

use super::generator::Generator;
use super::{Context, UnusedContext, attach, end, end_if_empty, enter, make, whole, with_own};
use crate::record::current::CurrentTask;
use crate::record::header::Header;
use crate::sched::pool::number_in;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code;
use crate::sched::worker::{self, Role};
use std::cell::Cell;
use std::ptr::null;

/// See the module's header.
pub(crate) struct Relocated {
    /// What the task is, before and after.
    word: Cell<CurrentTask>,
    /// What stands for its context, in the exception, until it goes on; else null.
    part: Cell<Option<UnusedContext>>,
    rng: Cell<Option<Generator>>,
    /// A context that it made on a thread, where it had none.
    made: Cell<Option<UnusedContext>>,
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
        w.running.set(CurrentTask::of_task(w.runs_here().as_ptr().cast_mut()));
        Relocated { word: Cell::new(word), part: Cell::new(None), rng: Cell::new(None), made: Cell::new(None) }
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
                let part = Context::fresh(Some(&w), context.head.record.get());
                let rng = context.with_rng(|rng| rng.clone());
                // (The part stands for the whole, a context of the same task: it has the number.)
                part.number().set(number_in(context.number()).as_u64());
                part.with_rng(|part| *part = rng);
                part.keep();
                part.with_bindings(|b| *b = context.with_bindings(|bindings| bindings.clone()));
                loan.part.set(Some(part));
            }
        }
        loan
    }

    /// Runs `f` as that task, on top of what runs here.
    pub(crate) fn run<T>(&self, f: impl FnOnce() -> T) -> T {
        let own = here().running.get();
        let part = self.part.take().map(|part| enter(&here(), part));
        if part.is_none() {
            become_(self.word.get());
        }
        // Here it is found and cancelled by what runs here, for which its own stack waits.
        let before = sit(own);
        let result = user_code::body(f);
        get_up(before);
        if let Some(part) = part {
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
        let word = self.word.get();
        let part = self.part.take();
        let is_part = part.is_some();
        // SAFETY: the task's own context, which nobody uses while its own stack waits.
        let whole = word.has_context().then(|| unsafe { UnusedContext::from_raw(whole(word)) });
        let has_whole = whole.is_some();
        let (result, after) = with_own(part.or(whole), f);
        if is_part {
            if let Some(part) = after {
                self.rng.set(part.with_rng(|rng| rng.take()));
                part.end(None);
            }
        } else if !has_whole {
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
        if let Some(made) = self.made.take() {
            attach(&here(), made);
        }
        if rng.is_some() {
            // SAFETY: the running task's context, which had a generator before.
            unsafe { (*whole(word)).with_rng(|own| *own = rng) };
        }
        if let Some(part) = self.part.take() {
            // It never began: the runtime was shut down.
            part.end(worker::current());
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
