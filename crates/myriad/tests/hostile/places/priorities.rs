//! Tasks of the two classes of priority: closures, polls, captures.

use super::tasks::task_yields;
use crate::cell::{Cx, Seen};
use myriad::task::{self, Priority};

fn of_class(priority: Priority) -> task::Builder {
    task::Builder::new().priority(priority)
}

fn closure_of_class(cx: &Cx, priority: Priority) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let seen = Seen::joined(of_class(priority).spawn(move || inner.act()).join());
    wait();
    seen
}

/// In the closure of an interactive task.
pub(crate) fn interactive(cx: &Cx) -> Seen {
    closure_of_class(cx, Priority::Interactive)
}

/// In the closure of a background task.
pub(crate) fn background(cx: &Cx) -> Seen {
    closure_of_class(cx, Priority::Background)
}

fn future_of_class(cx: &Cx, priority: Priority) -> Seen {
    let (inner, value, wait) = (cx.clone(), cx.value(), cx.last_sender());
    let seen = Seen::joined(
        of_class(priority)
            .spawn_async(async move {
                let _value = value;
                task_yields().await;
                inner.act();
                task_yields().await;
            })
            .join(),
    );
    wait();
    seen
}

/// In a poll of an interactive future, and where it is dropped.
pub(crate) fn interactive_poll(cx: &Cx) -> Seen {
    future_of_class(cx, Priority::Interactive)
}

/// In a poll of a background future, and where it is dropped.
pub(crate) fn background_poll(cx: &Cx) -> Seen {
    future_of_class(cx, Priority::Background)
}

fn captures_of_class(cx: &Cx, priority: Priority) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = of_class(priority).spawn(move || _ = &value);
    h.cancel();
    let seen = match Seen::joined(h.join()) {
        // Its own cancellation, and not the caller's.
        Seen::Cancelled => Seen::Well,
        seen => seen,
    };
    wait();
    seen
}

/// An interactive task is cancelled before it begins.
pub(crate) fn interactive_cancelled(cx: &Cx) -> Seen {
    captures_of_class(cx, Priority::Interactive)
}

/// A background task is cancelled before it begins.
pub(crate) fn background_cancelled(cx: &Cx) -> Seen {
    captures_of_class(cx, Priority::Background)
}
