//! Supervisors.

use super::*;
use crate::actor_supervisors::{Log, Worker, crash, stubborn, take, worker};
use myriad::actor::{Child, Restart, ShutdownLimit, StartError, Strategy, Supervisor};

pub(super) const ALL: &[Situation] = &[
    ("rest-for-one", || strategy(Strategy::RestForOne)),
    ("one-for-all", || strategy(Strategy::OneForAll)),
    ("restart-types", restart_types),
    ("intensity", intensity),
    ("window", window),
    ("shutdown", shutdown),
    ("children", children),
    ("addresses", addresses),
];

/// What was logged since the last look.
fn logged(log: &Log) -> Vec<String> {
    take(log).split_whitespace().map(String::from).collect()
}

/// One with the children a, b, c.
fn of_three(strategy: Strategy, log: &Log) -> Supervisor {
    ["a", "b", "c"].map(|id| worker(id, log)).into_iter().fold(Supervisor::new(strategy), Supervisor::child)
}

fn strategy(strategy: Strategy) -> Vec<String> {
    let log = Log::default();
    let tree = of_three(strategy, &log).start().unwrap();
    take(&log);
    crash(&tree, "b");
    tree.stop();
    logged(&log)
}

fn restart_types() -> Vec<String> {
    let log = Log::default();
    let all = [("p", Restart::Permanent), ("t", Restart::Transient), ("x", Restart::Temporary)];
    let children = all.map(|(id, restart)| worker(id, &log).restart(restart));
    let of = children.into_iter().fold(Supervisor::new(Strategy::OneForOne).intensity(9, LONG), Supervisor::child);
    let tree = of.start().unwrap();
    for (id, _) in all {
        let worker: Worker = tree.get(id).unwrap();
        worker.cast(Reason::Normal);
        end_of(&worker);
    }
    let state = |runs| if runs { "runs" } else { "ended" };
    let left = tree.children().iter().map(|child| format!("{}:{}", child.id, state(child.pid.is_some()))).collect();
    tree.stop();
    left
}

fn intensity() -> Vec<String> {
    let log = Log::default();
    let tree = of_three(Strategy::OneForOne, &log).intensity(2, LONG).start().unwrap();
    crash(&tree, "b");
    crash(&tree, "a");
    take(&log);
    tree.get::<Reason>("b").unwrap().cast(Reason::of("crash"));
    let reason = end_of(&tree);
    [logged(&log), words![reason]].concat()
}

fn window() -> Vec<String> {
    let period = Duration::from_millis(5);
    let of = Supervisor::new(Strategy::OneForOne).intensity(2, period);
    let tree = of.child(worker("a", &Log::default())).start().unwrap();
    for _ in 0..8 {
        myriad::time::sleep(period * 6 / 10);
        crash(&tree, "a");
    }
    let lives = if tree.pid().is_alive() { "lives".into() } else { end_of(&tree).word() };
    tree.stop();
    vec![lives]
}

fn shutdown() -> Vec<String> {
    let log = Log::default();
    let told = Arc::default();
    let ignores =
        Child::new("ignores", move || Ok(stubborn(&told))).shutdown(ShutdownLimit::After(Duration::from_millis(20)));
    let of = Supervisor::new(Strategy::OneForOne).child(worker("a", &log)).child(ignores).child(worker("c", &log));
    let tree = of.start().unwrap();
    take(&log);
    let monitor = actor::monitor(&tree.get::<Exit>("ignores").unwrap());
    tree.stop();
    [logged(&log), words![monitor.wait().reason, end_of(&tree)]].concat()
}

fn children() -> Vec<String> {
    let log = Log::default();
    let tree = Supervisor::new(Strategy::OneForOne).child(worker("a", &log)).start().unwrap();
    let pid = tree.get::<Reason>("a").unwrap().pid();
    let done = |done| if done { "ok" } else { "error" };
    let duplicate = tree.start_child(worker("a", &log)) == Err(StartError::Duplicate("a".into(), Some(pid)));
    let running = words![done(tree.delete_child("a")), done(tree.stop_child("a")), tree.restart_child("a")];
    tree.stop_child("a");
    let stopped = words![done(tree.delete_child("a")), tree.restart_child("a")];
    tree.stop();
    [words![duplicate], running, stopped].concat()
}

fn addresses() -> Vec<String> {
    let tree = Supervisor::new(Strategy::OneForOne).child(worker("a", &Log::default())).start().unwrap();
    let old: Worker = tree.get("a").unwrap();
    let new = crash(&tree, "a");
    let alive = words![old.is_alive(), new.is_alive()];
    tree.stop();
    alive
}
