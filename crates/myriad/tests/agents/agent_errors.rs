//! Failures: modes, handlers, validators, restarts.

use crate::*;

/// 1: sends are refused at the sender, the value and the queue stay.
#[test]
fn a_failed_agent_refuses_sends_and_keeps_its_queue() {
    each_runtime(|| {
        let agent = failed(1, 2);
        assert_eq!(agent.error(), Some(planned("an action")));
        assert_eq!(agent.send(|n| *n = 100), Err(planned("an action")));
        assert_eq!(agent.swap(|_| 100), Err(planned("an action")));
        assert_eq!(agent.send_off(|n| *n = 100), Err(planned("an action")));
        assert_eq!((agent.get(), agent.queued()), (1, 2));
        // Also out of an action of another agent, at once.
        let (other, it) = (Agent::new(Ok(())), agent.clone());
        other.send(move |seen| *seen = it.send(|_| ())).unwrap();
        other.wait().unwrap();
        assert_eq!(other.get(), Err(planned("an action")));
    });
}

/// 2: what is queued runs on the new value, or is dropped; watches are not told.
#[test]
fn a_restart_runs_the_queue_or_drops_it() {
    each_runtime(|| {
        let agent = failed(0, 1);
        let (tx, seen) = unbounded();
        agent.watch("seen", move |old, new| tx.send((*old, *new)).unwrap());
        agent.restart(10, Queued::Run).unwrap();
        agent.wait().unwrap();
        assert_eq!((agent.get(), agent.error()), (11, None));
        assert_eq!(seen.try_recv().ok(), Some((10, 11)));
        assert_eq!(seen.try_recv().ok(), None, "the restart itself is told to nobody");

        let agent = failed(0, 1);
        agent.restart(10, Queued::Drop).unwrap();
        assert_eq!(agent.queued(), 0);
        agent.wait().unwrap();
        assert_eq!(agent.get(), 10);
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 11);
        assert_eq!(agent.restart(0, Queued::Run), Err(RestartError::NotFailed));
        assert_eq!(agent.get(), 11);
    });
}

#[test]
fn a_restart_with_a_value_that_is_not_allowed_changes_nothing() {
    each_runtime(|| {
        let agent = failed(1, 1);
        agent.set_validator(|n| *n > 0).unwrap();
        assert_eq!(agent.restart(-1, Queued::Drop), Err(RestartError::Invalid(AgentError::Refused)));
        assert_eq!((agent.get(), agent.queued()), (1, 1));
        assert!(agent.error().is_some());
        agent.restart(1, Queued::Run).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 2);
    });
}

/// Many restart one agent: one of them does.
#[test]
fn of_many_restarts_one_is_done() {
    each_runtime(|| {
        for _ in 0..50 {
            let agent = failed(0, 3);
            let done = AtomicUsize::new(0);
            myriad::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|| match agent.restart(10, Queued::Run) {
                        Ok(()) => _ = done.fetch_add(1, SeqCst),
                        Err(error) => assert_eq!(error, RestartError::NotFailed),
                    });
                }
            });
            agent.wait().unwrap();
            assert_eq!((done.load(SeqCst), agent.get()), (1, 13));
        }
    });
}

/// 7: refused, the value stays; asked about the first value, too.
#[test]
fn a_validator_refuses_values() {
    each_runtime(|| {
        let agent = Agent::new(1);
        assert_eq!(agent.set_validator(|n| *n > 1), Err(AgentError::Refused));
        assert_eq!(
            agent.set_validator(|_| panic!("planned: at once")),
            Err(AgentError::Validator("planned: at once".into()))
        );
        agent.send(|n| *n = 2).unwrap();
        agent.wait().unwrap();
        agent.set_validator(|n| *n > 1).unwrap();
        agent.send(|n| *n = -1).unwrap();
        assert_eq!(agent.wait(), Err(WaitError::Failed(AgentError::Refused)));
        assert_eq!(agent.get(), 2);
        agent.restart(2, Queued::Run).unwrap();
        agent.clear_validator();
        agent.send(|n| *n = -1).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), -1);
    });
}

#[test]
fn a_validator_that_panics_refuses() {
    each_runtime(|| {
        let agent = Agent::new(1);
        agent.set_validator(|n| if *n > 1 { panic!("planned: a validator") } else { true }).unwrap();
        agent.send(|n| *n = 2).unwrap();
        let error = AgentError::Validator("planned: a validator".into());
        assert_eq!(agent.wait(), Err(WaitError::Failed(error)));
        assert_eq!(agent.get(), 1);
    });
}

/// 8: the handler sees the agent, the error and the old value; the next action goes on from there.
#[test]
fn an_agent_that_continues_is_as_if_nothing_had_been() {
    each_runtime(|| {
        let agent = Agent::new(1);
        let (tx, seen) = unbounded();
        agent.set_error_mode(ErrorMode::Continue);
        assert_eq!(agent.error_mode(), ErrorMode::Continue);
        agent.set_error_handler(move |agent, error| tx.send((agent.clone(), error.clone(), agent.get())).unwrap());
        agent
            .send(|n| {
                *n = 100;
                panic!("planned: half way");
            })
            .unwrap();
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        let (told, error, value) = seen.recv().unwrap();
        assert!(told == agent);
        assert_eq!((error, value, agent.get(), agent.error()), (planned("half way"), 1, 2, None));
    });
}

/// A handler is told in either mode; what it sends is not held.
#[test]
fn a_handler_of_an_agent_that_fails_is_told_before() {
    each_runtime(|| {
        let log = Agent::new(Vec::new());
        let agent = Agent::new(1);
        let to = log.clone();
        agent.set_error_handler(move |agent, error| {
            let (text, has_failed) = (error.to_string(), agent.error().is_some());
            to.send(move |log| log.push((text, has_failed))).unwrap();
        });
        agent.send(|_| panic!("planned: told")).unwrap();
        assert!(agent.wait().is_err());
        log.wait().unwrap();
        assert_eq!(log.get(), [("an action of the agent panicked: planned: told".to_owned(), false)]);
    });
}

/// 8: a handler that panics is told as what nobody joins, and the agent goes on.
#[test]
fn a_handler_that_panics_changes_nothing() {
    let lines = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = lines.clone();
    let hook = myriad::Unhandled::Hook(Arc::new(move |line: &str| told.lock().unwrap().push(line.to_owned())));
    let rt = myriad::Builder::new().workers(1).on_unhandled_panic(hook).build().unwrap();
    common::quiet();
    rt.run(|| {
        let agent = Agent::new(1);
        agent.set_error_mode(ErrorMode::Continue);
        agent.set_error_handler(|_, _| panic!("planned: a handler"));
        agent.send(|_| panic!("planned: an action")).unwrap();
        agent.send(|n| *n += 1).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), 2);
    });
    let lines = lines.lock().unwrap();
    assert_eq!(*lines, ["the error handler of an agent panicked: planned: a handler"]);
}

/// 15: an action that fails half way has changed nothing, in either form.
#[test]
fn an_action_that_fails_half_way_has_changed_nothing() {
    each_runtime(|| {
        let agent = Agent::new(vec![1]);
        agent.set_error_mode(ErrorMode::Continue);
        agent
            .send(|items| {
                items.push(2);
                panic!("planned: after a push");
            })
            .unwrap();
        agent.swap(|_| panic!("planned: no new one")).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.get(), [1]);

        // No `Clone`, and all the same.
        struct Single(u32);
        let agent = Agent::new(Single(1));
        agent.set_error_mode(ErrorMode::Continue);
        agent.swap(|_| panic!("planned: no new one")).unwrap();
        agent.swap(|old| Single(old.0 + 1)).unwrap();
        agent.wait().unwrap();
        assert_eq!(agent.snapshot().0, 2);
    });
}
