//! What agents call, and the values that they drop.

use crate::behaviours::When;
use crate::cell::{Cx, Seen};
use myriad::agent::{Agent, AgentError, Queued, WaitError};

/// An agent, which `Again` uses.
fn agent_of<T: Clone + Send + Sync + 'static>(cx: &Cx, value: T) -> Agent<T> {
    let agent = Agent::new(value);
    let again = agent.clone();
    cx.foe.on_again(move || {
        _ = (again.send(|_| ()), again.snapshot(), again.error(), again.queued(), again.unwatch("none"));
    });
    agent
}

/// What a wait for the agent brought: a panic of its action, watch or validator is a panic.
fn seen<T: Send + Sync + 'static>(agent: &Agent<T>) -> Seen {
    match agent.wait() {
        Ok(()) => Seen::Well,
        Err(WaitError::Failed(AgentError::Shutdown)) => Seen::Shutdown,
        Err(WaitError::Failed(AgentError::Panic(_) | AgentError::Watch(..) | AgentError::Validator(_))) => Seen::Panic,
        Err(error) => Seen::Other(error.to_string()),
    }
}

/// An action.
pub(crate) fn agent_action(cx: &Cx) -> Seen {
    let (agent, inner, wait) = (agent_of(cx, 0), cx.clone(), cx.last_sender());
    _ = agent.send(move |n| {
        inner.act();
        *n = 1;
    });
    let seen = seen(&agent);
    assert_eq!(agent.get(), u32::from(seen == Seen::Well));
    wait();
    seen
}

/// An action that blocks.
pub(crate) fn agent_action_off(cx: &Cx) -> Seen {
    let (agent, inner, wait) = (agent_of(cx, 0), cx.clone(), cx.last_sender());
    _ = agent.send_off(move |_| inner.act());
    let seen = seen(&agent);
    wait();
    seen
}

/// A watch: the value has changed, whatever it does.
pub(crate) fn agent_watch(cx: &Cx) -> Seen {
    let (agent, inner, wait) = (agent_of(cx, 0), cx.clone(), cx.last_sender());
    agent.watch("hostile", move |_, _| inner.act());
    _ = agent.send(|n| *n = 1);
    let seen = seen(&agent);
    assert!(agent.get() == 1 || seen == Seen::Shutdown);
    agent.unwatch("hostile");
    wait();
    seen
}

/// A validator, which is asked by the caller first.
pub(crate) fn agent_validator(cx: &Cx) -> Seen {
    let (agent, inner, wait) = (agent_of(cx, 0), cx.clone(), cx.last_sender());
    let is_valid = move |n: &i32| {
        if *n == 1 {
            inner.act();
        }
        true
    };
    assert_eq!(agent.set_validator(is_valid), Ok(()));
    _ = agent.send(|n| *n = 1);
    let seen = seen(&agent);
    agent.clear_validator();
    wait();
    seen
}

/// An error handler, whose panic is reported.
pub(crate) fn agent_handler(cx: &Cx) -> Seen {
    let (agent, inner, wait) = (agent_of(cx, 0), cx.clone(), cx.last_sender());
    agent.set_error_mode(myriad::agent::ErrorMode::Continue);
    agent.set_error_handler(move |_, _| inner.act());
    agent.set_validator(|n| *n == 0).unwrap();
    _ = agent.send(|n| *n = 1);
    let seen = seen(&agent);
    agent.set_error_handler(|_, _| ());
    wait();
    seen
}

/// A value that is replaced.
pub(crate) fn agent_replaced(cx: &Cx) -> Seen {
    let (agent, wait) = (Agent::new(Some(cx.value())), cx.last_sender());
    let again = agent.clone();
    cx.foe.on_again(move || _ = (again.swap(|_| None), again.snapshot().is_none()));
    _ = agent.swap(|_| None);
    let seen = seen(&agent);
    wait();
    seen
}

/// An agent goes with its value.
pub(crate) fn agent_dropped(cx: &Cx) -> Seen {
    let (agent, wait) = (Agent::new(cx.value()), cx.last_sender());
    let seen = Seen::of(|| drop(agent));
    wait();
    seen
}

/// What copies a value for an action, while somebody has a snapshot of it.
pub(crate) fn agent_cloned(cx: &Cx) -> Seen {
    let (agent, wait) = (agent_of(cx, cx.value_when(When::Clone, 0)), cx.last_sender());
    let snapshot = agent.snapshot();
    _ = agent.send(|value| value.key = 1);
    let seen = seen(&agent);
    drop(snapshot);
    wait();
    seen
}

/// What an action has captured that an agent which has failed forgets.
pub(crate) fn agent_forgotten(cx: &Cx) -> Seen {
    let (agent, wait) = (agent_of(cx, 0), cx.last_sender());
    let (go, begins) = myriad::channel::bounded::<()>(1);
    agent.set_validator(|n| *n == 0).unwrap();
    _ = agent.send_off(move |n| {
        _ = begins.recv();
        *n = 1;
    });
    for _ in 0..3 {
        let value = cx.value();
        _ = agent.send(move |_| _ = &value);
    }
    drop(go);
    _ = agent.wait();
    let seen = Seen::of(|| agent.restart(0, Queued::Drop));
    wait();
    seen
}

/// What a watch has captured, when it is taken out.
pub(crate) fn agent_unwatched(cx: &Cx) -> Seen {
    let (agent, value, wait) = (agent_of(cx, 0), cx.value(), cx.last_sender());
    agent.watch("captures", move |_, _| _ = &value);
    let seen = Seen::of(|| agent.unwatch("captures"));
    wait();
    seen
}
