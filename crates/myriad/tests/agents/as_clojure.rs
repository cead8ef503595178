//! The situations in which a model of Clojure's agents goes wrong most easily: what comes out of
//! each stands in `as_clojure/outcomes.txt`, beside what comes out there.
//! (`scripts/clojure-agents.sh` asks Clojure itself.)

use crate::common::table::{self, Situation};
use crate::*;
use myriad::agent::release_pending_sends;
use myriad::task::ScopedValue;

const ALL: &[Situation] = &[
    ("failed", has_failed),
    ("restart", restart),
    ("await-failed", await_failed),
    ("await-inside", await_inside),
    ("held", held),
    ("dropped", dropped),
    ("released", released),
    ("await-reach", await_reach),
    ("validator", validator),
    ("continue", continues),
    ("default-mode", default_mode),
    ("watch-fails", watch_fails),
    ("watch-order", watch_order),
    ("send-order", send_order),
    ("bindings", bindings),
];

#[test]
fn situations_come_out_as_the_table_says() {
    each_runtime(|| table::check(include_str!("as_clojure/outcomes.txt"), ALL));
}

/// What each of these is in the table.
macro_rules! words {
    ($($word:expr),* $(,)?) => { vec![$($word.to_string()),*] };
}

fn outcome<T, E>(result: Result<T, E>) -> &'static str {
    if result.is_ok() { "ok" } else { "error" }
}

/// What an agent has when all that was sent is done, or it has failed.
fn settled<T: Clone + Send + Sync + 'static>(agent: &Agent<T>) -> T {
    _ = agent.wait();
    agent.get()
}

fn fails() -> ! {
    panic!("planned: an action")
}

fn has_failed() -> Vec<String> {
    let agent = failed(1, 2);
    words![outcome(agent.send(|n| *n += 1)), agent.get(), agent.queued()]
}

fn restart() -> Vec<String> {
    let (runs, drops, told) = (failed(0, 1), failed(0, 1), Arc::new(AtomicUsize::new(0)));
    let count = told.clone();
    runs.watch("told", move |_, _| _ = count.fetch_add(1, SeqCst));
    runs.restart(10, Queued::Run).unwrap();
    drops.restart(10, Queued::Drop).unwrap();
    words![settled(&runs), told.load(SeqCst), settled(&drops), outcome(runs.restart(0, Queued::Run))]
}

fn await_failed() -> Vec<String> {
    let (agent, go) = held_up(0);
    agent.send(|_| fails()).unwrap();
    let waits = {
        let agent = agent.clone();
        myriad::spawn(move || outcome(agent.wait()))
    };
    until(|| agent.queued() == 2);
    go.set();
    words![outcome(failed(0, 0).wait()), waits.join().unwrap()]
}

fn await_inside() -> Vec<String> {
    let (agent, other) = (Agent::new(Vec::new()), Agent::new(0));
    let me = agent.clone();
    agent.send(move |seen| *seen = words![outcome(me.wait()), outcome(other.wait())]).unwrap();
    settled(&agent)
}

fn held() -> Vec<String> {
    let (agent, other) = (Agent::new(0), Agent::new(0));
    let to = other.clone();
    agent
        .send(move |seen| {
            to.send(|n| *n += 1).unwrap();
            to.send(|n| *n *= 10).unwrap();
            *seen = settled(&to);
        })
        .unwrap();
    words![settled(&agent), settled(&other)]
}

fn dropped() -> Vec<String> {
    let (agent, other) = (Agent::new(0), Agent::new(0));
    let to = other.clone();
    agent
        .send(move |_| {
            to.send(|n| *n += 1).unwrap();
            fails()
        })
        .unwrap();
    settled(&agent);
    words![settled(&other)]
}

fn released() -> Vec<String> {
    let (agent, other) = (Agent::new(0), Agent::new(0));
    let (to, (tx, released)) = (other.clone(), unbounded());
    agent
        .send(move |_| {
            (0..2).for_each(|_| to.send(|n| *n += 1).unwrap());
            tx.send(release_pending_sends()).unwrap();
            fails()
        })
        .unwrap();
    settled(&agent);
    words![released.recv().unwrap(), settled(&other)]
}

fn await_reach() -> Vec<String> {
    let (agent, go) = (Agent::new(0), Arc::new(Event::new()));
    let (me, may_go) = (agent.clone(), go.clone());
    agent
        .send(move |n| {
            let sent = move |n: &mut i32| {
                may_go.wait();
                *n = 2;
            };
            me.send(sent).unwrap();
            // The wait begins before this action ends.
            until(|| me.queued() == 1);
            *n = 1;
        })
        .unwrap();
    agent.wait().unwrap();
    let seen = agent.get();
    go.set();
    words![seen, settled(&agent)]
}

fn validator() -> Vec<String> {
    let (agent, first) = (Agent::new(1), Agent::new(-1));
    agent.set_validator(|n| *n > 0).unwrap();
    agent.send(|n| *n = -1).unwrap();
    words![settled(&agent), agent.error().is_some(), outcome(first.set_validator(|n| *n > 0))]
}

fn continues() -> Vec<String> {
    let (good, bad, (tx, seen)) = (Agent::new(1), Agent::new(1), unbounded());
    good.set_error_handler(move |agent, _| tx.send(agent.get()).unwrap());
    bad.set_error_handler(|_, _| fails());
    for agent in [&good, &bad] {
        agent.set_error_mode(ErrorMode::Continue);
        agent.send(|_| fails()).unwrap();
        agent.send(|n| *n += 1).unwrap();
    }
    words![seen.recv().unwrap(), settled(&good), settled(&bad), bad.error().is_some()]
}

fn default_mode() -> Vec<String> {
    let agent = Agent::new(1);
    agent.set_error_handler(|_, _| ());
    agent.send(|_| fails()).unwrap();
    settled(&agent);
    words![agent.error().is_some()]
}

fn watch_fails() -> Vec<String> {
    let agent = Agent::new(1);
    agent.watch("fails", |_, _| fails());
    agent.send(|n| *n += 1).unwrap();
    words![settled(&agent), agent.error().is_some()]
}

fn watch_order() -> Vec<String> {
    let (agent, other, (tx, seen)) = (Agent::new(1), Agent::new(0), unbounded());
    let (to, sees) = (other.clone(), other);
    agent.watch("seen", move |old, new| tx.send(words![old, new, settled(&sees)]).unwrap());
    let action = move |n: &mut i32| {
        to.send(|n| *n += 1).unwrap();
        *n += 1;
    };
    agent.send(action).unwrap();
    settled(&agent);
    seen.recv().unwrap()
}

fn send_order() -> Vec<String> {
    let agent = Agent::new(Vec::new());
    for n in 0..6 {
        let action = move |all: &mut Vec<_>| all.push(n.to_string());
        if n % 2 == 0 { agent.send(action) } else { agent.send_off(action) }.unwrap();
    }
    settled(&agent)
}

fn bindings() -> Vec<String> {
    static WHO: ScopedValue<&str> = ScopedValue::new("nobody");
    let agent = Agent::new("nobody");
    WHO.with_value("sender", || agent.send(|seen| *seen = WHO.get()).unwrap());
    words![settled(&agent)]
}
