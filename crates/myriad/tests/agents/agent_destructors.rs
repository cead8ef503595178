//! Destructors of what an agent has or had (values, rules, actions) that panic, send, wait, or run
//! in the middle of a turn: nothing is lost, nobody hangs.

use super::*;

const LIMIT: Duration = Duration::from_secs(60);

struct Bad;

impl Drop for Bad {
    fn drop(&mut self) {
        panic!("planned: a destructor");
    }
}

/// Sends when it is dropped.
struct Sends(Agent<i32>);

impl Drop for Sends {
    fn drop(&mut self) {
        self.0.send(|n| *n += 1).unwrap();
    }
}

#[test]
fn the_last_rules_go_in_their_own_turn() {
    common::quiet();
    each_runtime(|| {
        let agent = Agent::new(0);
        let (me, bad) = (agent.clone(), Bad);
        agent.watch("once", move |_, _| {
            _ = &bad;
            me.unwatch("once");
        });
        agent.send(|n| *n += 1).unwrap();
        assert_eq!(agent.wait_timeout(LIMIT), Ok(()));
        let bad = Bad;
        agent.set_error_mode(ErrorMode::Continue);
        agent.set_error_handler(move |agent, _| {
            _ = &bad;
            agent.set_error_handler(|_, _| ());
        });
        agent.send(|_| panic!("planned: an action")).unwrap();
        assert_eq!(agent.wait_timeout(LIMIT), Ok(()));
    });
}

#[test]
fn what_is_sent_while_held_sends_go_out_goes_out() {
    let over = myriad::Builder::new().workers(1).build().unwrap();
    let pool = over.handle();
    drop(over);
    each_runtime(|| {
        // The held send is refused, and drops the last handle of an agent, whose value sends.
        let (counter, agent) = (Agent::new(0), Agent::new(0));
        let value = Agent::new(Arc::new(Sends(counter.clone())));
        agent.send(move |_| value.send_on(pool, |_| ()).unwrap()).unwrap();
        agent.wait().unwrap();
        until(|| counter.get() == 1);
        // A watch that goes in its own turn.
        let (me, sends) = (agent.clone(), Sends(counter.clone()));
        agent.watch("once", move |_, _| {
            _ = &sends;
            me.unwatch("once");
        });
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        until(|| counter.get() == 2);
    });
}

/// Waits for an agent when it is dropped, and says what came of that.
struct Waits(myriad::channel::Sender<Result<(), WaitError>>, Arc<std::sync::Mutex<Option<Agent<Arc<Waits>>>>>);

impl Drop for Waits {
    fn drop(&mut self) {
        let agent = self.1.lock().unwrap().take();
        if let Some(agent) = agent {
            self.0.send(agent.wait_timeout(LIMIT)).unwrap();
        }
    }
}

#[test]
fn the_old_value_may_wait_for_the_restarted_agent() {
    common::quiet();
    each_runtime(|| {
        let (place, (tx, rx)) = (Arc::default(), myriad::channel::unbounded());
        let (agent, go) = held_up(Arc::new(Waits(tx.clone(), Arc::clone(&place))));
        agent.send(|_| panic!("planned: an action")).unwrap();
        agent.send(|_| ()).unwrap();
        go.set();
        assert!(agent.wait().is_err());
        *place.lock().unwrap() = Some(agent.clone());
        agent.restart(Arc::new(Waits(tx, Arc::default())), Queued::Run).unwrap();
        assert_eq!(rx.recv(), Ok(Ok(())));
    });
}

#[test]
fn two_held_sends_whose_captures_panic() {
    common::quiet();
    each_runtime(|| {
        let (agent, to) = (Agent::new(0), Agent::new(0));
        agent
            .send(move |_| {
                for _ in 0..2 {
                    let bad = Bad;
                    to.send(move |_| _ = &bad).unwrap();
                }
                panic!("planned: an action");
            })
            .unwrap();
        assert_eq!(agent.wait(), Err(WaitError::Failed(planned("an action"))));
    });
}

#[test]
fn all_that_a_failed_agent_has_panics() {
    common::quiet();
    each_runtime(|| {
        let (agent, go) = held_up(Arc::new(Bad));
        for key in ["a", "b"] {
            let bad = Bad;
            agent.watch(key, move |_, _| _ = &bad);
        }
        agent.send(|_| panic!("planned: an action")).unwrap();
        for _ in 0..2 {
            let bad = Bad;
            agent.send(move |_| _ = &bad).unwrap();
        }
        go.set();
        assert!(agent.wait().is_err());
        drop(agent);
    });
}

/// Waits for an event when it is dropped.
struct WaitsFor(Arc<Event>, Arc<AtomicUsize>);

impl Drop for WaitsFor {
    fn drop(&mut self) {
        self.1.fetch_add(1, SeqCst);
        self.0.wait();
    }
}

struct Sets(Arc<AtomicUsize>);

impl Drop for Sets {
    fn drop(&mut self) {
        self.0.store(1, SeqCst);
    }
}

/// Destructors of other tasks that wait put nothing off.
#[test]
fn a_drop_is_put_off_by_its_own_task_alone() {
    common::each_with(
        &[1],
        |b| b,
        |_, rt| {
            rt.run(|| {
                let go = Arc::new(Event::new());
                let (in_drop, set) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                let tasks: Vec<_> = (0..8)
                    .map(|_| {
                        let agent = Agent::new(WaitsFor(go.clone(), in_drop.clone()));
                        myriad::spawn(move || drop(agent))
                    })
                    .collect();
                until(|| in_drop.load(SeqCst) == 8);
                drop(Agent::new(Sets(set.clone())));
                assert_eq!(set.load(SeqCst), 1);
                go.set();
                tasks.into_iter().for_each(|task| task.join().unwrap());
            });
        },
    );
}
