//! Monitors: one word for each, of the reason or that there is nobody.

use crate::*;
use myriad::actor::{Builder, Down};

/// (11) Of a dead one: at once. The same in the mailbox.
#[test]
fn a_monitor_of_a_dead_actor_is_told_at_once() {
    each_runtime(|| {
        let dead = actor::spawn(|_: Mailbox<()>| ());
        assert_eq!(end_of(&dead), Reason::Normal);
        assert_eq!(actor::monitor(&dead).wait().reason, Reason::NoProcess);
        let watcher = actor::spawn(move |mut mail: Mailbox<Down>| {
            let monitor = mail.monitor(&dead, |down| down);
            assert_eq!(
                (mail.try_receive().map(|down| (down.monitor, down.reason))),
                Some((monitor.id(), Reason::NoProcess))
            );
        });
        assert_eq!(end_of(&watcher), Reason::Normal);
    });
}

/// (10) Two monitors are two.
#[test]
fn monitors_add_up() {
    each_runtime(|| {
        let actor = actor::spawn(forever::<()>);
        let two = [actor::monitor(&actor), actor::monitor(&actor)];
        let ids = [two[0].id(), two[1].id()];
        actor::kill(&actor);
        let told = two.map(|monitor| monitor.wait());
        assert_eq!([told[0].monitor, told[1].monitor], ids);
        assert!(told.iter().all(|down| down.reason == Reason::Killed && down.pid == actor.pid()));
    });
}

/// (11) One word each, whoever is first.
#[test]
fn a_monitor_that_meets_the_end_is_told_once() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = myriad::channel::unbounded();
            let watcher = actor::spawn_async(async move |mut mail: Mailbox<Down>| {
                loop {
                    tx.send(mail.receive_async().await).unwrap();
                }
            });
            let mut ids = std::collections::HashSet::new();
            const MANY: usize = 5_000;
            for n in 0..MANY {
                let actor = actor::spawn_async(async |_: Mailbox<()>| ());
                if n % 3 == 0 {
                    myriad::yield_now();
                }
                let to = watcher.clone();
                let monitor = actor::monitor(&actor);
                assert!(matches!(monitor.wait().reason, Reason::Normal | Reason::NoProcess));
                to.cast(Down { monitor: n as u64, pid: actor.pid(), name: None, reason: Reason::Normal });
            }
            for _ in 0..MANY {
                assert!(ids.insert(rx.recv().unwrap().monitor));
            }
            kill(&watcher);
        });
    });
}

/// (12) After a demonitor nothing comes; of one that has told, it says so.
#[test]
fn a_demonitor_says_whether_it_was_in_time() {
    each_runtime(|| {
        let actor = actor::spawn(forever::<()>);
        let other = actor.clone();
        let watcher = actor::spawn(move |mut mail: Mailbox<Down>| {
            let (first, second) = (mail.monitor(&other, |down| down), mail.monitor(&other, |down| down));
            assert!(first.demonitor() && !first.demonitor());
            actor::kill(&other);
            let down = mail.receive();
            assert_eq!((down.monitor, second.demonitor()), (second.id(), false));
            // The message stays in the mailbox; with `discard` it is taken out.
            let third = mail.monitor(&other, |down| down);
            assert_eq!((third.demonitor(), mail.discard(|down| down.monitor == third.id())), (false, 1));
            assert_eq!(mail.try_receive(), None);
        });
        assert_eq!(end_of(&watcher), Reason::Normal);
        end_of(&actor);
    });
}

/// One that is dropped watches no longer; one whose time is over watches on.
#[test]
fn a_monitor_with_a_limit_comes_back() {
    each_runtime(|| {
        let actor = actor::spawn(forever::<()>);
        drop(actor::monitor(&actor));
        let monitor = actor::monitor(&actor).wait_timeout(Duration::from_millis(1)).unwrap_err();
        actor::kill(&actor);
        assert_eq!(monitor.wait_timeout(LONG).unwrap().reason, Reason::Killed);
        assert_eq!(myriad::block_on(actor::monitor(&actor).wait_async()).reason, Reason::NoProcess);
    });
}

/// From a thread that is no worker.
#[test]
fn a_plain_thread_sends_calls_and_waits() {
    each(&[1, 2], |rt| {
        let actor = rt.run(|| actor::spawn(|mut mail: Mailbox<actor::Reply<u32>>| mail.receive().send(7)));
        let watch = actor::monitor(&actor);
        assert_eq!(actor.call(|reply| reply), Ok(7));
        assert_eq!(watch.wait().reason, Reason::Normal);
    });
}

/// Atomic with the start.
#[test]
fn a_monitor_from_before_the_first_turn_sees_the_reason() {
    each_runtime(|| {
        for _ in 0..100 {
            let (_, monitor) = Builder::new().spawn_monitor(|_: Mailbox<()>| Err::<(), _>("at once"));
            assert_eq!(monitor.wait().reason, Reason::of("at once"));
        }
    });
}

/// The function of a monitor panics: those behind it are told, with the same reason, and so is one
/// that watches a dead actor.
#[test]
fn a_monitor_that_panics_does_not_eat_the_end() {
    each_runtime(|| {
        let actor = actor::spawn(forever::<()>);
        let watched = actor.clone();
        let watcher = actor::spawn(move |mut mail: Mailbox<Down>| {
            mail.monitor(&watched, |_| panic!("planned: the function of a monitor"));
            mail.monitor(&watched, |down| down);
            actor::kill(&watched);
            assert_eq!(mail.receive().reason, Reason::Killed);
            mail.monitor(&watched, |_| panic!("planned: the function of a monitor"));
            mail.monitor(&watched, |down| down);
            assert_eq!(mail.receive().reason, Reason::NoProcess);
        });
        assert_eq!(end_of(&watcher), Reason::Normal);
    });
}

/// A monitor that is waited for, and given up, is gone as one that is dropped.
#[test]
fn a_wait_that_is_given_up_watches_no_longer() {
    each_runtime(|| {
        let actor = actor::spawn(forever::<()>);
        for _ in 0..10 {
            let wait = || actor::monitor(&actor).wait();
            assert!(myriad::time::timeout(Duration::from_millis(1), wait).is_err());
            myriad::block_on(async {
                let wait = actor::monitor(&actor).wait_async();
                assert!(myriad::time::timeout_async(Duration::from_millis(1), wait).await.is_err());
            });
        }
        assert_eq!(actor.pid().info().monitors, 0);
        kill(&actor);
    });
}

/// Those who watch a server and end before it do not stay in its list.
#[test]
fn a_monitor_goes_with_its_watcher() {
    each_runtime(|| {
        let (server, token) = (actor::spawn(forever::<()>), Arc::new(()));
        for _ in 0..1000 {
            let (to, token) = (server.clone(), token.clone());
            let watcher = actor::spawn(move |mail: Mailbox<Down>| {
                mail.monitor(&to, move |down| {
                    drop(token);
                    down
                });
            });
            end_of(&watcher);
        }
        let kept = (Arc::strong_count(&token), server.pid().info().monitors);
        assert!(kept.0 < 100 && kept.1 < 100, "{kept:?}");
        // One that lives is told, whoever has gone beside it.
        let (tells, told) = myriad::channel::unbounded();
        let (to, seen) = (server.clone(), Arc::new(myriad::sync::Event::new()));
        let sees = seen.clone();
        let lives = actor::spawn(move |mut mail: Mailbox<Down>| {
            mail.monitor(&to, |down| down);
            sees.set();
            tells.send(mail.receive()).unwrap();
        });
        seen.wait();
        kill(&server);
        assert_eq!(told.recv().unwrap().reason, Reason::Killed);
        assert_eq!(end_of(&lives), Reason::Normal);
    });
}
