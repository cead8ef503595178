//! Ends: of handles, of runtimes; destructors.

use crate::common::each_owned;
use crate::*;

/// 16: actions that were sent run, though nobody has the agent; then the value is dropped.
#[test]
fn an_agent_that_nobody_has_does_what_was_sent() {
    each_runtime(|| {
        let (value, drops) = Counted::new();
        let agent = Agent::new(Arc::new(value));
        let (tx, done) = unbounded();
        let go = Arc::new(Event::new());
        let until_set = go.clone();
        agent.send(move |_| until_set.wait()).unwrap();
        for i in 0..3 {
            let tx = tx.clone();
            agent.send(move |_| tx.send(i).unwrap()).unwrap();
        }
        drop((agent, tx));
        assert_eq!(drops.load(SeqCst), 0);
        go.set();
        assert_eq!(done.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        until(|| drops.load(SeqCst) == 1);
    });
}

/// 16: a long chain is dropped without a deep stack.
#[test]
fn a_long_chain_of_agents_is_dropped() {
    struct Link {
        _next: Option<Agent<Link>>,
        _counted: Arc<Counted>,
    }
    let (counted, drops) = Counted::new();
    let counted = Arc::new(counted);
    let mut first = None;
    for _ in 0..100_000 {
        first = Some(Agent::new(Link { _next: first, _counted: counted.clone() }));
    }
    assert_eq!(Arc::strong_count(&counted), 100_001);
    drop(first);
    assert_eq!(Arc::strong_count(&counted), 1);
    drop(counted);
    assert_eq!(drops.load(SeqCst), 1);
}

/// 16: what has not begun when the runtime ends is not done, and who waits is told.
#[test]
fn an_agent_fails_when_its_runtime_ends() {
    each_owned(|_, rt| {
        let (agent, begun) = rt.run(|| {
            let agent = Agent::new(0);
            let begun = Arc::new(Event::new());
            let (tell, never) = (begun.clone(), Event::new());
            agent
                .send(move |n| {
                    tell.set();
                    _ = never.wait_timeout(Duration::from_millis(1));
                    *n = 1;
                })
                .unwrap();
            (agent, begun)
        });
        begun.wait();
        agent.wait().unwrap();
        _ = rt.shutdown(common::PATIENCE);
        agent.send(|n| *n = 2).unwrap();
        assert_eq!(agent.wait(), Err(WaitError::Failed(AgentError::Shutdown)));
        assert_eq!(agent.send(|n| *n = 3), Err(AgentError::Shutdown));
        assert_eq!((agent.get(), agent.queued()), (1, 1));
        agent.restart(5, Queued::Run).unwrap();
        assert_eq!(agent.error(), Some(AgentError::Shutdown), "there is still nobody who could run it");
        assert_eq!(agent.get(), 5);
    });
}

/// The pool is another runtime's, which has ended.
#[test]
fn an_action_for_a_pool_that_has_ended_fails_the_agent() {
    each_runtime(|| {
        let other = myriad::Builder::new().workers(1).build().unwrap();
        let pool = other.handle();
        drop(other);
        let agent = Agent::new(0);
        agent.send_on(pool, |n| *n = 1).unwrap();
        assert_eq!(agent.wait(), Err(WaitError::Failed(AgentError::Shutdown)));
        agent.restart(7, Queued::Drop).unwrap();
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 8);
    });
}

#[derive(Clone)]
struct PanicsOnce(Option<Arc<AtomicUsize>>);

impl Drop for PanicsOnce {
    fn drop(&mut self) {
        if let Some(count) = self.0.take()
            && count.fetch_add(1, SeqCst) == 0
        {
            panic!("planned: a destructor");
        }
    }
}

/// A destructor of an old value panics: the change stands, and the agent goes on.
#[test]
fn a_destructor_that_panics_loses_nothing() {
    let hook = myriad::Unhandled::Hook(Arc::new(|line: &str| {
        assert_eq!(line, "the destructor of an agent's value panicked: planned: a destructor");
    }));
    common::quiet();
    let rt = myriad::Builder::new().workers(1).on_unhandled_panic(hook).build().unwrap();
    rt.run(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let agent = Agent::new((0, PanicsOnce(Some(count.clone()))));
        agent.swap(|old| (old.0 + 1, PanicsOnce(None))).unwrap();
        agent.swap(|old| (old.0 + 1, PanicsOnce(None))).unwrap();
        agent.wait().unwrap();
        assert_eq!((agent.snapshot().0, count.load(SeqCst), agent.error()), (2, 1, None));

        // The last handle of one whose value panics.
        let count = Arc::new(AtomicUsize::new(0));
        drop(Agent::new(PanicsOnce(Some(count.clone()))));
        assert_eq!(count.load(SeqCst), 1);
    });
}

/// Destructors that use agents: of a value that was replaced, and of an action that was refused.
#[test]
fn destructors_may_use_the_agent() {
    struct Uses(Agent<i64>);
    impl Drop for Uses {
        fn drop(&mut self) {
            _ = self.0.send(|n| *n += 1);
            _ = self.0.get();
        }
    }
    each_runtime(|| {
        let counter = Agent::new(0);
        let agent = Agent::new(Arc::new(Uses(counter.clone())));
        let next = Uses(counter.clone());
        agent.swap(move |_| Arc::new(next)).unwrap();
        agent.wait().unwrap();
        agent.swap(|_| panic!("planned: fails")).unwrap();
        assert!(agent.wait().is_err());
        let caught = Uses(counter.clone());
        assert!(agent.swap(move |_| Arc::new(caught)).is_err());
        drop(agent);
        counter.wait().unwrap();
        assert_eq!(counter.get(), 3);
    });
}

/// A runtime that ends under an agent with much to do.
#[test]
fn an_agent_with_a_long_queue_fails() {
    each_owned(|_, rt| {
        let agent = rt.run(|| {
            let agent = Agent::new(0_u64);
            let me = agent.clone();
            agent
                .send(move |_| {
                    for _ in 0..5000 {
                        me.send(|n| {
                            *n += 1;
                            std::thread::sleep(Duration::from_micros(20));
                        })
                        .unwrap();
                    }
                })
                .unwrap();
            until(|| agent.get() > 0);
            agent
        });
        _ = rt.shutdown(Duration::from_millis(20));
        // (Or all was done.)
        assert_ne!(agent.wait_timeout(Duration::from_secs(60)), Err(WaitError::Timeout));
    });
}
