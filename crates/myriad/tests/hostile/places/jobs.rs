//! What queues of jobs call, and the results that they drop.

use crate::behaviours::{Value, is_hostile};
use crate::cell::{Cx, Seen, until, well_after};
use myriad::jobs::{Job, JobError, JobHandle, Local, Queue, Refused};
use std::fmt;
use std::time::Duration;

fn queue(cx: &Cx) -> Queue {
    let queue = Local::new().cpus(4).start();
    let again = queue.clone();
    cx.foe.on_again(move || {
        _ = (again.len(), again.jobs().len(), again.table().len(), again.submit(Job::new(|| ())).is_ok());
    });
    let cancelled = queue.clone();
    cx.foe.on_cancel(move || cancelled.cancel_all());
    queue
}

/// Why a job has no result.
fn seen_of(error: &JobError) -> Seen {
    match error {
        JobError::Failed(_, why) if why.split_once("panicked: ").is_some_and(|(_, text)| is_hostile(text)) => {
            Seen::Panic
        }
        JobError::Cancelled(_) => Seen::Cancelled,
        other => Seen::Other(other.to_string()),
    }
}

/// Submits a job, and takes what comes of it.
fn joined<T: Send + 'static>(cx: &Cx, queue: &Queue, job: Job<T>) -> Seen {
    let seen = match queue.submit(job).map(JobHandle::join) {
        Ok(Ok(_)) => Seen::Well,
        Ok(Err(error)) => seen_of(&error),
        Err(Refused::Closed) => Seen::Shutdown,
        Err(error) => Seen::Other(error.to_string()),
    };
    // A runtime that ends cancels its jobs.
    match seen {
        Seen::Cancelled if cx.caller == crate::cell::Caller::Shutdown => Seen::Shutdown,
        seen => seen,
    }
}

/// The closure of a job.
pub(crate) fn closure(cx: &Cx) -> Seen {
    let (queue, inner, wait) = (queue(cx), cx.clone(), cx.last_sender());
    let seen = joined(cx, &queue, Job::new(move || inner.act()));
    wait();
    seen
}

/// A job that is tried again until it is done.
pub(crate) fn again(cx: &Cx) -> Seen {
    let (queue, inner, wait) = (queue(cx), cx.clone(), cx.last_sender());
    let job = Job::again(move || {
        inner.act();
        Ok::<(), &str>(())
    });
    let seen = joined(cx, &queue, job.retries(20).backoff(Duration::from_micros(1)..Duration::from_micros(10)));
    wait();
    seen
}

/// The elements of an array.
pub(crate) fn array(cx: &Cx) -> Seen {
    let (queue, inner, wait) = (queue(cx), cx.clone(), cx.last_sender());
    let job = Job::array(4, move |i| {
        if i == 2 {
            inner.act();
        }
    });
    let seen = match joined(cx, &queue, job) {
        // (An array says how many have failed.)
        Seen::Other(why) if why.contains("failed") => Seen::Panic,
        seen => seen,
    };
    wait();
    seen
}

/// What makes a text of an error.
pub(crate) fn error_text(cx: &Cx) -> Seen {
    struct Shown(Cx);
    impl fmt::Display for Shown {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.act();
            Ok(())
        }
    }
    let (queue, inner, wait) = (queue(cx), cx.clone(), cx.last_sender());
    let seen = match joined(cx, &queue, Job::fallible(move || Err::<(), _>(Shown(inner)))) {
        Seen::Other(why) if why.ends_with("failed: ") => Seen::Well,
        seen => seen,
    };
    wait();
    seen
}

/// The error itself, once its text is there.
pub(crate) fn error_dropped(cx: &Cx) -> Seen {
    let (queue, value, wait) = (queue(cx), cx.value(), cx.last_sender());
    let seen = match joined(cx, &queue, Job::fallible(move || Err::<(), Value>(value))) {
        Seen::Other(why) if why.ends_with("failed: value 0") => Seen::Well,
        seen => seen,
    };
    wait();
    seen
}

/// The result of a job whose handle is gone.
pub(crate) fn result(cx: &Cx) -> Seen {
    let (queue, value, wait) = (queue(cx), cx.value(), cx.last_sender());
    drop(queue.submit(Job::new(move || value)));
    until("the result is not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    well_after(wait)
}

/// A result that a handle drops.
pub(crate) fn result_kept(cx: &Cx) -> Seen {
    let (queue, value, wait) = (queue(cx), cx.value(), cx.last_sender());
    let job = queue.submit(Job::new(move || value));
    let seen = Seen::of(|| {
        job.iter().for_each(|job| _ = job.wait());
        drop(job);
    });
    until("the result is not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    wait();
    seen
}

/// What a job has captured that never begins.
pub(crate) fn captures(cx: &Cx) -> Seen {
    let (queue, value, wait) = (queue(cx), cx.value(), cx.last_sender());
    let job = queue.submit(Job::new(move || _ = &value).held());
    let seen = Seen::of(|| {
        job.iter().for_each(JobHandle::cancel);
        drop(job);
    });
    until("the closure is not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    wait();
    seen
}

/// What a job has captured that its queue refuses.
pub(crate) fn refused(cx: &Cx) -> Seen {
    let (queue, value, wait) = (queue(cx), cx.value(), cx.last_sender());
    let seen = Seen::of(|| assert!(queue.submit(Job::new(move || _ = &value).cpus(1000)).is_err()));
    wait();
    seen
}

/// A queue goes with the jobs that it has.
pub(crate) fn queue_dropped(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let queue = Local::new().start();
    cx.foe.on_again(|| _ = Local::new().start().submit(Job::new(|| ())));
    for _ in 0..3 {
        let value = cx.value();
        drop(queue.submit(Job::new(move || _ = &value).held()));
    }
    let seen = Seen::of(|| drop(queue));
    until("the jobs are not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    wait();
    seen
}

/// Who is told what happens to jobs.
pub(crate) fn listener(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let queue = Local::new().on_event(move |_| inner.act()).start();
    cx.foe.on_again(|| _ = Local::new().start().submit(Job::new(|| ())));
    let seen = joined(cx, &queue, Job::new(|| ()));
    until("nobody is told", || cx.foe.over() > 0 || seen != Seen::Well);
    wait();
    seen
}
