//! Sending: order, held sends, where actions run, what they see.

use crate::*;
use myriad::agent::release_pending_sends;
use myriad::task::ScopedValue;

#[test]
fn actions_of_one_sender_run_in_order_one_at_a_time() {
    each_runtime(|| {
        let agent = Agent::new(Vec::new());
        let running = Arc::new(AtomicUsize::new(0));
        myriad::scope(|s| {
            for sender in 0..4 {
                let (agent, running) = (&agent, &running);
                s.spawn(move || {
                    for i in 0..100 {
                        let running = running.clone();
                        let action = move |seen: &mut Vec<(usize, usize)>| {
                            assert_eq!(running.fetch_add(1, SeqCst), 0);
                            myriad::yield_now();
                            seen.push((sender, i));
                            running.fetch_sub(1, SeqCst);
                        };
                        agent.send(action).unwrap();
                    }
                });
            }
        });
        agent.wait().unwrap();
        let seen = agent.snapshot();
        assert_eq!(seen.len(), 400);
        for sender in 0..4 {
            let of_one: Vec<usize> = seen.iter().filter(|(from, _)| *from == sender).map(|(_, i)| *i).collect();
            assert_eq!(of_one, (0..100).collect::<Vec<_>>());
        }
    });
}

/// 5: held until the action has ended well.
#[test]
fn what_an_action_sends_is_held_until_its_end() {
    each_runtime(|| {
        let (first, other) = (Agent::new(0), Agent::new(0));
        let (sees, sent) = unbounded();
        let to = other.clone();
        first
            .send(move |_| {
                to.send(|n| *n += 1).unwrap();
                to.send(|n| *n *= 10).unwrap();
                // (Nothing of this action is in the other's queue: a mark passes.)
                to.wait().unwrap();
                sees.send(to.get()).unwrap();
            })
            .unwrap();
        first.wait().unwrap();
        other.wait().unwrap();
        assert_eq!((sent.recv(), other.get()), (Ok(0), 10));
    });
}

/// 5: dropped if the action fails; what was released before stays sent.
#[test]
fn what_a_failed_action_has_sent_is_dropped_but_for_what_was_released() {
    each_runtime(|| {
        let (first, other) = (Agent::new(0), Agent::new(0));
        let (tx, counts) = unbounded();
        let (dropped, drops) = Counted::new();
        let to = other.clone();
        first
            .send(move |_| {
                to.send(|n| *n += 1).unwrap();
                to.send(|n| *n += 1).unwrap();
                tx.send(release_pending_sends()).unwrap();
                tx.send(release_pending_sends()).unwrap();
                to.send(move |n| {
                    let _dropped = dropped;
                    *n += 10;
                })
                .unwrap();
                panic!("planned: after sends");
            })
            .unwrap();
        assert!(first.wait().is_err());
        other.wait().unwrap();
        assert_eq!((counts.recv(), counts.recv()), (Ok(2), Ok(0)));
        assert_eq!(other.get(), 2);
        assert_eq!(drops.load(SeqCst), 1);
        assert_eq!(release_pending_sends(), 0, "outside of an action");
    });
}

/// What a task does that an action has spawned is not the action's.
#[test]
fn a_task_that_an_action_spawns_sends_at_once() {
    each_runtime(|| {
        let (first, other) = (Agent::new(0), Agent::new(0));
        let to = other.clone();
        first
            .send(move |n| {
                let (task, seen) = (to.clone(), to.clone());
                myriad::spawn(move || task.send(|n| *n = 1).unwrap()).join().unwrap();
                seen.wait().unwrap();
                *n = seen.get();
            })
            .unwrap();
        first.wait().unwrap();
        assert_eq!(first.get(), 1);
    });
}

/// Two actions that wait on one thread: each has its own held sends.
#[test]
fn held_sends_of_actions_that_wait_are_not_mixed_up() {
    each_runtime(|| {
        let logs: Vec<Agent<Vec<usize>>> = (0..3).map(|_| Agent::new(Vec::new())).collect();
        let senders: Vec<Agent<usize>> = (0..3).map(Agent::new).collect();
        let gates: Vec<Arc<Event>> = (0..3).map(|_| Arc::new(Event::new())).collect();
        for (i, sender) in senders.iter().enumerate() {
            let (log, gate) = (logs[i].clone(), gates[i].clone());
            sender
                .send(move |me| {
                    let me = *me;
                    log.send(move |log| log.push(me)).unwrap();
                    gate.wait();
                    log.send(move |log| log.push(me + 10)).unwrap();
                    if me == 1 {
                        panic!("planned: one of three");
                    }
                })
                .unwrap();
        }
        // (The oldest goes first, then the newest, then the one between, which fails.)
        for i in [0, 2, 1] {
            gates[i].set();
            assert_eq!(senders[i].wait().is_ok(), i != 1);
            logs[i].wait().unwrap();
        }
        assert_eq!(logs.iter().map(Agent::get).collect::<Vec<_>>(), [vec![0, 10], vec![], vec![2, 12]]);
    });
}

/// The same of many, and of who stands in no action.
#[test]
fn many_actions_that_wait_have_their_own_held_sends() {
    common::quiet();
    each_runtime(|| {
        for waiting in [1, 17, 200] {
            let (log, go, begun) = (Agent::new(0), Arc::new(Event::new()), Arc::new(AtomicUsize::new(0)));
            let senders: Vec<_> = (0..waiting)
                .map(|i| {
                    let (sender, log, go, begun) = (Agent::new(0), log.clone(), go.clone(), begun.clone());
                    let me = sender.clone();
                    sender
                        .send(move |_| {
                            log.send(|n| *n += 1).unwrap();
                            begun.fetch_add(1, SeqCst);
                            go.wait();
                            assert_eq!(me.wait(), Err(WaitError::Itself));
                            log.send(|n| *n += 1).unwrap();
                            assert!(i % 2 == 0, "planned: every other one");
                        })
                        .unwrap();
                    sender
                })
                .collect();
            until(|| begun.load(SeqCst) == waiting);
            assert_eq!(log.get(), 0);
            (0..10).for_each(|_| log.send(|n| *n += 1_000).unwrap());
            log.wait().unwrap();
            assert_eq!(log.get(), 10_000);
            go.set();
            for (i, sender) in senders.iter().enumerate() {
                assert_eq!(sender.wait().is_ok(), i % 2 == 0);
            }
            log.wait().unwrap();
            assert_eq!(log.get(), 10_000 + 2 * waiting.div_ceil(2));
        }
    });
}

/// 11: one queue, whatever runs the actions.
#[test]
fn sends_to_several_pools_keep_their_order() {
    each(&[1, 2], |rt| {
        let other = myriad::Builder::new().workers(1).build().unwrap();
        let pool = other.handle();
        rt.run(|| {
            let (agent, go) = held_up(Vec::new());
            for i in 0..30 {
                let push = move |seen: &mut Vec<usize>| seen.push(i);
                match i % 3 {
                    0 => agent.send(push),
                    1 => agent.send_off(push),
                    _ => agent.send_on(pool, push),
                }
                .unwrap();
            }
            go.set();
            agent.wait().unwrap();
            assert_eq!(agent.get(), (0..30).collect::<Vec<_>>());
        });
    });
}

#[test]
fn an_action_runs_in_the_pool_that_was_said() {
    let pools = myriad::Builder::new().workers(1).pool("other", 1).build().unwrap();
    let other = pools.handle().pool("other").unwrap();
    pools.run(move || {
        let name = || myriad::Handle::current().unwrap().pool_name().to_string();
        let agent = Agent::new(String::new());
        let home = name();
        agent.send_on(other, move |seen| *seen = name()).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), "other");
        agent.send(move |seen| *seen = name()).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), home);
    });
}

/// Held sends and the refusal to wait for itself go with the action to its thread.
#[test]
fn an_action_that_blocks_is_an_action() {
    each_runtime(|| {
        let (first, other) = (Agent::new(0), Agent::new(0));
        let (to, me) = (other.clone(), first.clone());
        first
            .send_off(move |n| {
                to.send(|n| *n = 1).unwrap();
                assert_eq!(me.wait(), Err(WaitError::Itself));
                *n = release_pending_sends();
                to.send(|_| ()).unwrap();
            })
            .unwrap();
        first.wait().unwrap();
        other.wait().unwrap();
        assert_eq!((first.get(), other.get()), (1, 1));
    });
}

/// 12: the scoped values of the sender at the send, and not of whoever runs the action.
#[test]
fn an_action_sees_the_scoped_values_of_its_sender() {
    static USER: ScopedValue<&str> = ScopedValue::new("nobody");
    each_runtime(|| {
        let agent = Agent::new(Vec::new());
        let other = agent.clone();
        USER.with_value("ann", || agent.send(|seen| seen.push(USER.get())).unwrap());
        agent.send(|seen| seen.push(USER.get())).unwrap();
        USER.with_value("bob", || {
            agent.send_off(|seen| seen.push(USER.get())).unwrap();
            // (Inside an action those are the action's, also of sends that are held.)
            agent.send(move |_| other.send(|seen| seen.push(USER.get())).unwrap()).unwrap();
            agent.wait().unwrap();
        });
        agent.send(|seen| seen.push(USER.get())).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), ["ann", "nobody", "bob", "bob", "nobody"]);
    });
}

/// 13: a value that is read is whole, and reading does not wait for an action.
#[test]
fn a_value_is_read_while_an_action_runs() {
    each_runtime(|| {
        let (agent, go) = held_up((0, 0));
        assert_eq!(agent.get(), (0, 0));
        let before = agent.snapshot();
        for _ in 0..1000 {
            agent
                .send(|(a, b)| {
                    *a += 1;
                    *b += 1;
                })
                .unwrap();
        }
        go.set();
        until(|| {
            let (a, b) = agent.get();
            assert_eq!(a, b, "half a change");
            a == 1000
        });
        assert_eq!(*before, (0, 0));
    });
}

/// 14: an action that blocks, or waits, does not hold up other agents.
#[test]
fn an_action_that_waits_holds_up_nobody_else() {
    each_runtime(|| {
        let (_waits, go) = held_up(0);
        let (leave, left) = std::sync::mpsc::channel::<()>();
        let blocked = Agent::new(0);
        let left = std::sync::Mutex::new(left);
        blocked.send_off(move |_| left.lock().unwrap().recv().unwrap()).unwrap();
        let agent = Agent::new(0);
        agent.send(|n| *n = 1).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 1);
        leave.send(()).unwrap();
        blocked.wait().unwrap();
        go.set();
    });
}

/// 17: a value may hold agents of its own type.
#[test]
fn a_value_may_hold_agents_of_its_own_type() {
    #[derive(Clone)]
    struct Node {
        next: Option<Agent<Node>>,
        seen: u32,
    }
    fn is_send<T: Send + Sync>() {}
    is_send::<Agent<Node>>();
    fn pass(node: &mut Node) {
        node.seen += 1;
        if let Some(next) = &node.next {
            next.send(pass).unwrap();
        }
    }
    each_runtime(|| {
        let mut all = vec![Agent::new(Node { next: None, seen: 0 })];
        for i in 0..100 {
            let next = Some(all[i].clone());
            all.push(Agent::new(Node { next, seen: 0 }));
        }
        all[100].send(pass).unwrap();
        until(|| all[0].snapshot().seen == 1);
        assert!(all.iter().all(|agent| agent.snapshot().seen == 1));
    });
}

/// 18: an agent with much to do gives its worker back now and then.
#[test]
fn an_agent_with_a_long_queue_lets_others_run() {
    // (Without spare ones, which may begin the actions while these are sent.)
    common::each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            rt.run(|| {
                let busy = Agent::new(0_u32);
                let (tx, seen) = unbounded();
                let see = busy.clone();
                // (In the queue of the worker that runs the actions behind this one.)
                busy.send(move |_| drop(myriad::spawn(move || tx.send(see.get()).unwrap()))).unwrap();
                // (A worker begins a task at every 61st look at the latest.)
                for _ in 0..50_000 {
                    busy.send(|n| *n += 1).unwrap();
                }
                busy.wait().unwrap();
                let seen = seen.recv().unwrap();
                assert!(seen < 50_000, "the task ran behind all actions");
            });
        },
    );
}

#[test]
fn a_foreign_thread_sends_and_waits() {
    let agent = std::thread::spawn(|| {
        let agent = Agent::new(1);
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        agent
    })
    .join()
    .unwrap();
    assert_eq!(agent.get(), 2);
    agent.swap(|n| n * 10).unwrap();
    agent.wait().unwrap();
    assert_eq!(agent.get(), 20);
}
