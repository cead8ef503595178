//! Waiting for actions: how far it reaches, failures, limits, itself.

use crate::*;

/// 3: where the agent has failed, and where it fails meanwhile.
#[test]
fn a_wait_for_a_failed_agent_is_an_error() {
    each_runtime(|| {
        let agent = failed(0, 1);
        assert_eq!(agent.wait(), Err(WaitError::Failed(planned("an action"))));
        assert_eq!(myriad::block_on(agent.wait_async()), Err(WaitError::Failed(planned("an action"))));

        let (agent, go) = held_up(0);
        agent.send(|_| panic!("planned: meanwhile")).unwrap();
        agent.send(|_| ()).unwrap();
        let waits: Vec<_> = (0..3)
            .map(|_| {
                let agent = agent.clone();
                myriad::spawn(move || agent.wait())
            })
            .collect();
        // (Two sends and three marks.)
        until(|| agent.queued() == 5);
        go.set();
        for wait in waits {
            assert_eq!(wait.join().unwrap(), Err(WaitError::Failed(planned("meanwhile"))));
        }
        assert_eq!(agent.queued(), 1, "the marks were told, and are gone");
        agent.restart(0, Queued::Run).unwrap();
        agent.wait().unwrap();
    });
}

/// 4: for its own agent an error, for another one not.
#[test]
fn an_action_may_wait_for_another_agent_but_not_for_its_own() {
    each_runtime(|| {
        let (agent, other) = (Agent::new(0), Agent::new(0));
        other.send(|n| *n = 7).unwrap();
        let (me, it) = (agent.clone(), other.clone());
        agent
            .send(move |n| {
                assert_eq!(me.wait(), Err(WaitError::Itself));
                assert_eq!(me.wait_timeout(Duration::from_secs(60)), Err(WaitError::Itself));
                assert_eq!(myriad::block_on(me.wait_async()), Err(WaitError::Itself));
                it.wait().unwrap();
                *n = it.get();
            })
            .unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 7);
    });
}

/// 6: what was sent so far, and not what that sends.
#[test]
fn a_wait_does_not_reach_what_actions_send() {
    each_runtime(|| {
        let agent = Agent::new(0);
        let me = agent.clone();
        let go = Arc::new(Event::new());
        let go_on = go.clone();
        agent
            .send(move |n| {
                *n = 1;
                me.send(move |n| {
                    go_on.wait();
                    *n = 2;
                })
                .unwrap();
                // The wait begins before this action ends.
                until(|| me.queued() == 1);
            })
            .unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 1);
        go.set();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 2);
    });
}

#[test]
fn a_wait_with_a_limit_ends() {
    each_runtime(|| {
        let (agent, go) = held_up(0);
        assert_eq!(agent.wait_timeout(Duration::from_millis(1)), Err(WaitError::Timeout));
        assert_eq!(agent.wait_timeout(Duration::ZERO), Err(WaitError::Timeout));
        go.set();
        assert_eq!(agent.wait_timeout(Duration::from_secs(60)), Ok(()));
        assert_eq!(agent.wait_timeout(Duration::MAX), Ok(()));
    });
}

#[test]
fn a_wait_that_is_cancelled_leaves_the_actions_alone() {
    each_runtime(|| {
        let (agent, go) = held_up(0);
        agent.send(|n| *n = 1).unwrap();
        let waits = agent.clone();
        let task = myriad::spawn(move || waits.wait());
        until(|| agent.queued() == 2);
        task.cancel();
        assert!(task.join().unwrap_err().is_cancelled());
        go.set();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 1);
    });
}

/// What a wait waited for was dropped by a restart.
#[test]
fn a_wait_over_a_restart_that_clears_the_queue_ends() {
    each_runtime(|| {
        let agent = failed(0, 3);
        let (again, told) = (agent.clone(), Arc::new(AtomicUsize::new(0)));
        let waits: Vec<_> = (0..4)
            .map(|_| {
                let (agent, told) = (agent.clone(), told.clone());
                myriad::spawn(move || {
                    while agent.wait().is_err() {
                        told.fetch_add(1, SeqCst);
                        myriad::yield_now();
                    }
                })
            })
            .collect();
        until(|| told.load(SeqCst) >= 4);
        again.restart(5, Queued::Drop).unwrap();
        for wait in waits {
            wait.join().unwrap();
        }
        assert_eq!(agent.get(), 5);
    });
}
