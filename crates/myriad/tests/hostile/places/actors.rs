//! What actors call, and the state, the messages and the keys that they drop.

use crate::behaviours::{Value, When, is_hostile};
use crate::cell::{Cx, Seen, until, well_after};
use crate::common::plan;
use myriad::actor::{self, Address, AsPid, Builder, Mailbox, OnFull, Pid, Reason, Registry};
use myriad::channel::bounded;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SOON: Duration = Duration::from_micros(50);
const NEVER: Duration = Duration::from_secs(3600);

/// How an actor has ended.
pub(super) fn seen_of(reason: &Reason) -> Seen {
    match reason {
        Reason::Normal | Reason::Shutdown | Reason::Killed => Seen::Well,
        Reason::Panic(text) if is_hostile(text) => Seen::Panic,
        // (It ended before it was watched: its runtime has refused its task.)
        Reason::Cancelled | Reason::NoProcess => Seen::Shutdown,
        other => Seen::Other(other.to_string()),
    }
}

/// An actor that does not outlive its place: a caller that is cancelled leaves none behind.
pub(super) struct Watched(Pid, Option<actor::Monitor>);

impl Watched {
    /// Of an actor that has not ended yet.
    pub(super) fn new(cx: &Cx, actor: &impl AsPid) -> Watched {
        let (again, cancelled) = (actor.pid(), actor.pid());
        cx.foe.on_again(move || {
            let told = actor::monitor(&again);
            _ = (again.info(), again.queued(), actor::suspend(&again), actor::resume(&again));
            drop(told);
        });
        cx.foe.on_cancel(move || actor::kill(&cancelled));
        Watched(actor.pid(), Some(actor::monitor(actor)))
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> Seen {
        self.1.take().map_or(Seen::Well, |monitor| seen_of(&monitor.wait().reason))
    }

    pub(super) fn is_alive(&self) -> bool {
        self.0.is_alive()
    }

    /// Ends it.
    pub(super) fn kill(self) {
        actor::kill(&self.0);
        _ = self.end();
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.1.is_some() {
            actor::kill(&self.0);
        }
    }
}

/// An actor that waits until it is told to end.
fn waits<M: Send + 'static>(builder: Builder) -> Address<M> {
    builder.spawn(|mail: Mailbox<M>| {
        let (_held, never) = bounded::<()>(1);
        let _mail = mail;
        _ = never.recv();
    })
}

/// The closure of an actor.
pub(crate) fn body(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (go, begins) = bounded::<()>(1);
    let watched = Watched::new(
        cx,
        &actor::spawn(move |_: Mailbox<()>| {
            _ = begins.recv();
            inner.act();
        }),
    );
    drop(go);
    let seen = watched.end();
    wait();
    seen
}

/// The future of an actor.
pub(crate) fn poll(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (go, begins) = bounded::<()>(1);
    let watched = Watched::new(
        cx,
        &actor::spawn_async(async move |_: Mailbox<()>| {
            _ = begins.recv_async().await;
            inner.act();
        }),
    );
    drop(go);
    let seen = watched.end();
    wait();
    seen
}

/// What an actor has captured goes when it is killed.
pub(crate) fn captures(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let watched = Watched::new(
        cx,
        &actor::spawn(move |mut mail: Mailbox<()>| {
            let _value = value;
            mail.receive();
        }),
    );
    actor::kill(&watched.0);
    let seen = watched.end();
    wait();
    seen
}

/// The same of a future.
pub(crate) fn future_captures(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let watched = Watched::new(
        cx,
        &actor::spawn_async(async move |mut mail: Mailbox<()>| {
            let _value = value;
            mail.receive_async().await;
        }),
    );
    actor::kill(&watched.0);
    let seen = watched.end();
    wait();
    seen
}

/// The same, and what ends it is the end of a linked actor.
pub(crate) fn linked(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let partner = waits::<()>(Builder::new());
    let watched = Watched::new(
        cx,
        &Builder::new().link(&partner).spawn(move |mut mail: Mailbox<()>| {
            let _value = value;
            mail.receive();
        }),
    );
    actor::kill(&partner);
    let seen = watched.end();
    wait();
    seen
}

/// What an actor has left in its mailbox.
pub(crate) fn mailbox(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let actor = waits(Builder::new());
    let watched = Watched::new(cx, &actor);
    (0..3).for_each(|_| actor.cast(cx.value()));
    watched.kill();
    well_after(wait)
}

/// Messages that a selective receive has put off.
pub(crate) fn put_off(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let (looked, has_looked) = bounded(3);
    let actor = actor::spawn(move |mut mail: Mailbox<Value>| {
        mail.select(None, None, |_| {
            _ = looked.send(());
            None::<()>
        });
    });
    let watched = Watched::new(cx, &actor);
    (0..3).for_each(|_| actor.cast(cx.value()));
    (0..3).for_each(|_| _ = has_looked.recv());
    watched.kill();
    well_after(wait)
}

/// The messages that a full mailbox drops.
fn overflows(cx: &Cx, on_full: OnFull) -> Seen {
    let wait = cx.last_sender();
    let actor = waits(Builder::new().mailbox(1, on_full));
    let watched = Watched::new(cx, &actor);
    let seen = Seen::of(|| (0..3).for_each(|_| actor.cast(cx.value())));
    watched.kill();
    wait();
    seen
}

pub(crate) fn drops_oldest(cx: &Cx) -> Seen {
    overflows(cx, OnFull::DropOldest)
}

pub(crate) fn drops_newest(cx: &Cx) -> Seen {
    overflows(cx, OnFull::DropNewest)
}

pub(crate) fn refuses(cx: &Cx) -> Seen {
    overflows(cx, OnFull::Refuse)
}

/// What a selective receive asks of each message.
pub(crate) fn select(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let actor = actor::spawn(move |mut mail: Mailbox<u8>| {
        mail.select(None, None, |n| {
            inner.act();
            (*n == 2).then_some(())
        });
    });
    let watched = Watched::new(cx, &actor);
    (0..3).for_each(|n| actor.cast(n));
    let seen = watched.end();
    wait();
    seen
}

/// What is asked of each message that may be discarded.
pub(crate) fn discard(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (go, begins) = bounded::<()>(1);
    let actor = actor::spawn(move |mut mail: Mailbox<u8>| {
        _ = begins.recv();
        mail.discard(|_| {
            inner.act();
            true
        });
    });
    let watched = Watched::new(cx, &actor);
    (0..3).for_each(|n| actor.cast(n));
    drop(go);
    let seen = watched.end();
    wait();
    seen
}

/// What makes a message of a monitored end.
pub(crate) fn monitored(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let partner = waits::<()>(Builder::new());
    let ended = partner.pid();
    let watched = Watched::new(
        cx,
        &actor::spawn(move |mut mail: Mailbox<()>| {
            mail.monitor(&partner, move |_| inner.act());
            actor::kill(&partner);
            mail.receive();
        }),
    );
    until("nobody is told of the end", || cx.foe.over() > 0 || !watched.is_alive());
    actor::kill(&ended);
    watched.kill();
    well_after(wait)
}

static TRAPS: Mutex<Option<Cx>> = Mutex::new(None);

/// What makes a message of an exit.
pub(crate) fn trapped(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    *TRAPS.lock().unwrap() = Some(cx.clone());
    let (ready, is_ready) = bounded::<()>(1);
    let watched = Watched::new(
        cx,
        &actor::spawn(move |mut mail: Mailbox<()>| {
            mail.trap_exits(|_| {
                let cx = TRAPS.lock().unwrap().take();
                cx.into_iter().for_each(|cx| cx.act());
            });
            drop(ready);
            mail.receive();
        }),
    );
    _ = is_ready.recv();
    let seen = Seen::of(|| actor::exit(&watched.0, Reason::Shutdown));
    watched.kill();
    *TRAPS.lock().unwrap() = None;
    wait();
    seen
}

/// The message of a timer that is cancelled.
pub(crate) fn timer_cancelled(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let actor = waits(Builder::new());
    let watched = Watched::new(cx, &actor);
    let timer = actor.send_after(NEVER, cx.value());
    let seen = Seen::of(|| timer.cancel());
    watched.kill();
    wait();
    seen
}

/// The message of a timer whose actor has ended.
pub(crate) fn timer_late(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let actor = waits(Builder::new());
    Watched::new(cx, &actor).kill();
    let timer = actor.send_after(SOON, cx.value());
    until("the timer's message is not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    drop(timer);
    well_after(wait)
}

/// An answer for which nobody waits any more.
pub(crate) fn answer(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let (replies, asked) = bounded(1);
    let actor = actor::spawn(move |mut mail: Mailbox<actor::Reply<Value>>| {
        _ = replies.send(mail.receive());
        drop(mail.receive());
    });
    let watched = Watched::new(cx, &actor);
    let called = actor.call_timeout(SOON, |reply| reply);
    assert!(called.is_err());
    let reply: Result<actor::Reply<Value>, _> = asked.recv();
    let seen = match reply {
        Ok(reply) => Seen::of(|| reply.send(cx.value())),
        Err(_) => Seen::Shutdown,
    };
    watched.kill();
    wait();
    seen
}

/// What copies a message for each member of a group.
pub(crate) fn group(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let name = format!("hostile {:p}", Arc::as_ptr(&cx.foe));
    let actors = [(); 3].map(|()| waits::<Value>(Builder::new()));
    let watched = actors.each_ref().map(|actor| Watched::new(cx, actor));
    actors.iter().for_each(|actor| _ = actor::join_group(&name, actor));
    let seen = Seen::of(|| actor::send_to_group(&name, cx.value_when(When::Clone, 0)));
    watched.into_iter().for_each(Watched::kill);
    wait();
    seen
}

/// A registry whose keys act at this moment.
fn keys(cx: &Cx, when: When) -> Seen {
    let wait = cx.last_sender();
    let registry: Registry<Value, ()> = Registry::unique();
    let actor = waits(Builder::new());
    let watched = Watched::new(cx, &actor);
    let seen = Seen::of(|| {
        _ = registry.register(cx.value_when(when, 1), &actor);
        _ = registry.register(cx.value_when(when, 1), &actor);
        _ = registry.whereis(&cx.value_when(when, 1));
        _ = registry.send_to_all(&cx.value_when(when, 1), ());
    });
    // (It takes its keys out.)
    watched.kill();
    let seen = match (seen, Seen::of(|| drop(registry))) {
        (Seen::Well, dropped) => dropped,
        (seen, _) => seen,
    };
    wait();
    seen
}

pub(crate) fn key_hashed(cx: &Cx) -> Seen {
    keys(cx, When::Hash)
}

pub(crate) fn key_compared(cx: &Cx) -> Seen {
    keys(cx, When::Compare)
}

pub(crate) fn key_cloned(cx: &Cx) -> Seen {
    keys(cx, When::Clone)
}

pub(crate) fn key_dropped(cx: &Cx) -> Seen {
    keys(cx, When::Drop)
}

/// What is told of each actor that has failed.
pub(crate) fn on_crash(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    actor::on_crash(move |_| inner.act());
    let (go, begins) = bounded::<()>(1);
    let watched = Watched::new(
        cx,
        &actor::spawn(move |_: Mailbox<()>| {
            _ = begins.recv();
            plan("hostile")
        }),
    );
    drop(go);
    let seen = watched.end();
    actor::on_crash(|_| ());
    wait();
    match seen {
        // (The actor's own.)
        Seen::Panic => Seen::Well,
        seen => seen,
    }
}
