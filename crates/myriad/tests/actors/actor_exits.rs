//! Ends: reasons, links, exits that are trapped, kills.

use crate::*;
use myriad::actor::{Builder, Exit, exit, link, unlink};
use myriad::sync::Event;

/// What one that traps exits hands on.
fn trapping() -> (Address<Exit>, myriad::channel::Receiver<Exit>) {
    let (tx, rx) = myriad::channel::unbounded();
    let ready = Arc::new(Event::new());
    let is_ready = ready.clone();
    let actor = actor::spawn(move |mut mail: Mailbox<Exit>| {
        mail.trap_exits(|exit| exit);
        is_ready.set();
        loop {
            drop(tx.send(mail.receive()));
        }
    });
    ready.wait();
    (actor, rx)
}

#[test]
fn an_actor_ends_with_what_its_function_returns() {
    each_runtime(|| {
        let ends =
            |body: fn(Mailbox<()>) -> Result<(), Reason>| actor::Builder::new().spawn_monitor(body).1.wait().reason;
        assert_eq!(ends(|_| Ok(())), Reason::Normal);
        assert_eq!(ends(|_| Err(Reason::of("no paper"))), Reason::of("no paper"));
        assert_eq!(
            ends(|mail| {
                exit(&mail, Reason::Shutdown);
                unreachable!()
            }),
            Reason::Shutdown
        );
        // 16. A panic, with its text.
        let reason = ends(|_| panic!("planned: no paper"));
        assert!(matches!(&reason, Reason::Panic(text) if ***text == *"planned: no paper"), "{reason}");
    });
}

/// (5) Told to end with `Normal` by another, one that does not trap goes on.
#[test]
fn normal_is_no_reason_to_end_but_for_oneself() {
    each_runtime(|| {
        let actor = actor::spawn(|mut mail: Mailbox<u32>| assert_eq!(mail.receive(), 1));
        exit(&actor, Reason::Normal);
        actor.send(1).unwrap();
        assert_eq!(end_of(&actor), Reason::Normal);
        let (boss, exits) = trapping();
        let own = Builder::new().link(&boss).spawn(|mail: Mailbox<()>| {
            exit(&mail, Reason::Normal);
            unreachable!();
        });
        assert_eq!(exits.recv(), Ok(Exit { from: own.pid(), reason: Reason::Normal }));
        kill(&boss);
    });
}

/// (6) A kill is not trapped, and its reason is; a reason that is called so is one like any other.
#[test]
fn a_kill_is_not_trapped_and_does_not_kill_further() {
    each_runtime(|| {
        let ((boss, exits), (worker, trapped)) = (trapping(), trapping());
        link(&boss, &worker).unwrap();
        exit(&worker, Reason::Killed);
        assert_eq!(trapped.recv().unwrap().reason, Reason::Killed);
        assert!(worker.is_alive());
        actor::kill(&worker);
        assert_eq!(exits.recv(), Ok(Exit { from: worker.pid(), reason: Reason::Killed }));
        assert!(boss.is_alive());
        // One that does not trap ends with its partner, for the same reason.
        let (plain, monitor) = Builder::new().link(&boss).spawn_monitor(forever::<()>);
        kill(&boss);
        assert_eq!(monitor.wait().reason, Reason::Killed);
        assert!(!plain.is_alive());
    });
}

/// (7) Links do not pass a normal end on; another one they do.
#[test]
fn a_link_passes_on_what_is_not_normal() {
    each_runtime(|| {
        let lives = actor::spawn(forever::<()>);
        let watch = actor::monitor(&lives);
        let (boss, exits) = trapping();
        link(&lives, &boss).unwrap();
        let ends = Builder::new().link(&lives).spawn(|mut mail: Mailbox<Reason>| mail.receive());
        ends.cast(Reason::Normal);
        end_of(&ends);
        assert!(lives.is_alive());
        let fails = Builder::new().link(&lives).spawn(|mut mail: Mailbox<Reason>| mail.receive());
        fails.cast(Reason::of("no paper"));
        assert_eq!(watch.wait().reason, Reason::of("no paper"));
        assert_eq!(exits.recv(), Ok(Exit { from: lives.pid(), reason: Reason::of("no paper") }));
        kill(&boss);
    });
}

/// (8) A link to a dead one is an error; an actor that begins with one ends before it begins.
#[test]
fn a_link_to_a_dead_actor_is_refused() {
    each_runtime(|| {
        let (dead, lives) = (actor::spawn(|_: Mailbox<()>| ()), actor::spawn(forever::<()>));
        end_of(&dead);
        assert_eq!(link(&lives, &dead), Err(actor::NoProcess));
        assert_eq!(link(&dead, &lives), Err(actor::NoProcess));
        assert_eq!(link(&lives, &lives), Ok(()));
        let (never, monitor) = Builder::new().link(&dead).spawn_monitor(|_: Mailbox<()>| unreachable!());
        let reason = monitor.wait().reason;
        assert_eq!((reason, never.is_alive()), (Reason::NoProcess, false));
        kill(&lives);
    });
}

/// (9) After an unlink no exit comes, also of an end that has begun.
#[test]
fn after_an_unlink_nothing_comes() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (boss, exits) = trapping();
            for turn in 0..100 {
                let worker = Builder::new().link(&boss).spawn_async(async |_: Mailbox<()>| Err::<(), _>("at once"));
                if turn % 2 == 0 {
                    myriad::yield_now();
                }
                let came_first = !unlink(&boss, &worker);
                end_of(&worker);
                // (It was told, or not, before the unlink said which.)
                while came_first && exits.try_recv().is_err() {
                    myriad::yield_now();
                }
                assert!(exits.try_recv().is_err());
                assert!(!unlink(&boss, &worker));
            }
            kill(&boss);
        });
    });
}

/// (10) Two links are one.
#[test]
fn a_second_link_is_the_same() {
    each_runtime(|| {
        let ((boss, exits), worker) = (trapping(), actor::spawn(forever::<()>));
        (0..2).for_each(|_| link(&boss, &worker).unwrap());
        link(&worker, &boss).unwrap();
        assert!(unlink(&worker, &boss));
        kill(&worker);
        assert!(exits.try_recv().is_err());
        let more: Vec<_> = (0..20).map(|_| Builder::new().link(&boss).spawn(forever::<()>)).collect();
        more.iter().for_each(kill);
        let mut told: Vec<_> = (0..20).map(|_| exits.recv().unwrap().from.id()).collect();
        told.sort_unstable();
        let mut all: Vec<_> = more.iter().map(|actor| actor.pid().id()).collect();
        all.sort_unstable();
        assert_eq!(told, all);
        kill(&boss);
    });
}

/// (16) Destructors that panic at the end do not eat the end.
#[test]
fn a_destructor_that_panics_does_not_eat_the_end() {
    each_runtime(|| {
        struct Bad;
        impl Drop for Bad {
            fn drop(&mut self) {
                if !std::thread::panicking() {
                    panic!("planned: a destructor");
                }
            }
        }
        let (boss, exits) = trapping();
        let of_state = Builder::new().link(&boss).spawn(|mut mail: Mailbox<()>| {
            let _bad = Bad;
            mail.receive();
        });
        of_state.cast(());
        assert!(matches!(exits.recv().unwrap().reason, Reason::Panic(_)));
        let go = Arc::new(Event::new());
        let wait = go.clone();
        let of_message = Builder::new().link(&boss).spawn(move |_: Mailbox<Option<Bad>>| wait.wait());
        of_message.cast(Some(Bad));
        of_message.cast(Some(Bad));
        go.set();
        assert_eq!(exits.recv(), Ok(Exit { from: of_message.pid(), reason: Reason::Normal }));
        kill(&boss);
    });
}

/// (20) What is left in the mailbox is dropped, once each, and a message is not lost in between.
#[test]
fn what_is_left_in_a_mailbox_is_dropped_once() {
    each_runtime(|| {
        let (message, drops) = Counted::new();
        let actor = actor::spawn(|mut mail: Mailbox<(u8, Counted)>| {
            myriad::actor::receive!(mail, { (7, _) => () });
        });
        (0..10).for_each(|n| actor.cast((n, message.clone())));
        assert_eq!(end_of(&actor), Reason::Normal);
        assert_eq!(drops.load(SeqCst), 10);
    });
}

/// (41) Killed before the first turn, closure and future: all is dropped, all are told.
#[test]
fn an_actor_that_is_killed_before_its_first_turn_is_told_of() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (state, drops) = Counted::new();
            let mut monitors = Vec::new();
            for n in 0..1000 {
                let state = state.clone();
                let pid = if n % 2 == 0 {
                    actor::spawn(move |mail: Mailbox<()>| {
                        let _state = state;
                        forever(mail)
                    })
                    .pid()
                } else {
                    let body = async move |mut mail: Mailbox<()>| {
                        let _state = state;
                        mail.receive_async().await
                    };
                    actor::spawn_async(body).pid()
                };
                monitors.push(actor::monitor(&pid));
                actor::kill(&pid);
            }
            for monitor in monitors {
                assert_eq!(monitor.wait().reason, Reason::Killed);
            }
            assert_eq!(drops.load(SeqCst), 1000);
        });
    });
}

/// One that waits for something else than a message is ended there.
#[test]
fn an_actor_is_ended_wherever_it_waits() {
    each_runtime(|| {
        let (state, drops) = Counted::new();
        let waits: [fn(); 3] = [
            || myriad::time::sleep(LONG),
            || Event::new().wait(),
            || drop(myriad::spawn(|| myriad::time::sleep(LONG)).join()),
        ];
        for wait in waits {
            let (begun, state) = (Arc::new(Event::new()), state.clone());
            let begin = begun.clone();
            let actor = actor::spawn(move |_: Mailbox<()>| {
                let _state = state;
                begin.set();
                wait()
            });
            begun.wait();
            let monitor = actor::monitor(&actor);
            exit(&actor, Reason::of("enough"));
            assert_eq!(monitor.wait().reason, Reason::of("enough"));
        }
        assert_eq!(drops.load(SeqCst), 3);
    });
}

/// The runtime ends: those that have not begun are told of, too.
#[test]
fn the_end_of_a_runtime_is_an_end() {
    let rt = myriad::Builder::new().workers(1).build().unwrap();
    let watch = rt.run(|| {
        let actor = actor::spawn_async(async |mut mail: Mailbox<()>| mail.receive_async().await);
        let begun = actor.clone();
        while begun.pid().queued() > 0 {
            myriad::yield_now();
        }
        actor::monitor(&actor)
    });
    assert!(!rt.shutdown(Duration::from_millis(10)).is_clean());
    assert_eq!(watch.wait().reason, Reason::Cancelled);
}

/// The function that makes the future fails: so does the spawn, and who was told of the actor by
/// that function hears of its end.
#[test]
fn a_future_that_is_never_made_is_an_end() {
    each_runtime(|| {
        let (boss, exits) = trapping();
        let (tx, rx) = myriad::channel::unbounded();
        let fails = move |mail: Mailbox<()>| -> std::future::Ready<()> {
            tx.send(mail.address()).unwrap();
            panic!("planned: no future")
        };
        let linked = Builder::new().link(&boss);
        let spawn = || linked.spawn_async(fails);
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(spawn)).is_err());
        let never = rx.recv().unwrap();
        let reason = never.pid().reason();
        assert!(matches!(&reason, Some(Reason::Panic(text)) if ***text == *"planned: no future"), "{reason:?}");
        assert!(!unlink(&boss, &never) && exits.try_recv().is_err());
        kill(&boss);
    });
}
