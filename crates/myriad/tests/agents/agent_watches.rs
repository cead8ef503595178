//! Watches: when they are told, of what, and what becomes of their panics.

use crate::*;

/// 9: the value has changed already, and the error says which watch it was.
#[test]
fn a_watch_that_panics_fails_the_agent_behind_the_change() {
    each_runtime(|| {
        let agent = Agent::new(1);
        let (tx, seen) = unbounded();
        agent.watch("bad", |_, _| panic!("planned: a watch"));
        agent.watch("good", move |old, new| tx.send((*old, *new)).unwrap());
        agent.send(|n| *n = 2).unwrap();
        let error = AgentError::Watch("bad".into(), "planned: a watch".into());
        assert_eq!(agent.wait(), Err(WaitError::Failed(error)));
        assert_eq!(agent.get(), 2);
        assert_eq!(seen.try_recv().ok(), Some((1, 2)), "the other watch is told");
    });
}

/// 10: after the change, before what the action has sent; of this change.
#[test]
fn a_watch_is_told_after_the_change_and_before_held_sends() {
    each_runtime(|| {
        let (agent, log) = (Agent::new(1), Agent::new(Vec::new()));
        let (seen, me) = (log.clone(), agent.clone());
        agent.watch("order", move |old, new| {
            let (old, new, now) = (*old, *new, me.get());
            // (Held, as what the action sends.)
            seen.send(move |log| log.push((old, new, now))).unwrap();
            assert_eq!(seen.get(), []);
        });
        let first = log.clone();
        agent
            .send(move |n| {
                *n = 2;
                first.send(|log| log.push((0, 0, 0))).unwrap();
            })
            .unwrap();
        agent.wait().unwrap();
        log.wait().unwrap();
        assert_eq!(log.get(), [(0, 0, 0), (1, 2, 2)]);
        // (It holds the agent that holds it.)
        assert!(agent.unwatch("order"));
    });
}

#[test]
fn watches_come_and_go_by_their_keys() {
    each_runtime(|| {
        let agent = Agent::new(0);
        let (tx, seen) = unbounded();
        for name in ["a", "b", "a"] {
            let tx = tx.clone();
            agent.watch(name, move |_, new| tx.send((name, *new)).unwrap());
        }
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        assert!(agent.unwatch("a"));
        assert!(!agent.unwatch("a"));
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        drop(tx);
        assert!(agent.unwatch("b"));
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [("a", 1), ("b", 1), ("b", 2)]);
    });
}

/// A watch changes its own agent: no lock is in its way.
#[test]
fn a_watch_may_do_anything_with_its_agent() {
    each_runtime(|| {
        let agent = Agent::new(0);
        let me = agent.clone();
        agent.watch("once", move |_, new| {
            assert_eq!(me.get(), *new);
            assert!(me.unwatch("once"));
            me.set_validator(|n| *n < 10).unwrap();
            me.watch("other", |_, _| ());
            me.send(|n| *n += 1).unwrap();
            assert_eq!(me.wait(), Err(WaitError::Itself));
        });
        agent.send(|n| *n += 1).unwrap();
        until(|| agent.get() == 2);
        agent.unwatch("other");
    });
}

/// Rules are changed by many at once: no change is lost.
#[test]
fn watches_that_many_add_at_once_are_all_there() {
    each_runtime(|| {
        let agent = Agent::new(0);
        let told = Arc::new(AtomicUsize::new(0));
        myriad::scope(|s| {
            for i in 0..8 {
                let (agent, told) = (&agent, &told);
                s.spawn(move || {
                    for j in 0..8 {
                        let told = told.clone();
                        agent.watch(&format!("{i}-{j}"), move |_, _| _ = told.fetch_add(1, SeqCst));
                        myriad::yield_now();
                    }
                });
            }
        });
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        assert_eq!(told.load(SeqCst), 64);
    });
}
