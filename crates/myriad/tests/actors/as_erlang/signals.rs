//! Messages, exits, links, monitors, names, timers.

use super::*;
use crate::actor_names::fresh;
use myriad::actor::{Builder, Down, exit, link, monitor_name, receive, register, send_to, unlink, whereis_pid};

pub(super) const ALL: &[Situation] = &[
    ("order", order),
    ("send-to-dead", send_to_dead),
    ("send-to-nobody", || words![send_to(&fresh("nobody"), ())]),
    ("exit-normal", exit_normal),
    ("kill", killed),
    ("link-normal", link_normal),
    ("link-to-dead", link_to_dead),
    ("unlink", unlinks),
    ("twice", twice),
    ("monitor-dead", monitor_dead),
    ("demonitor", demonitors),
    ("name-freed", name_freed),
    ("name-taken", name_taken),
    ("monitor-by-name", monitor_by_name),
    ("error", an_error),
    ("selective", selective),
    ("timer", timers),
];

fn dead() -> Address<()> {
    let dead = actor::spawn(|_: Mailbox<()>| ());
    end_of(&dead);
    dead
}

fn order() -> Vec<String> {
    let once = || {
        in_actor(|mail: &mut Mailbox<&'static str>| {
            let me = mail.address();
            let sender = actor::spawn(move |mut mail: Mailbox<()>| {
                mail.receive();
                ["1", "2"].into_iter().for_each(|message| me.cast(message));
            });
            mail.monitor(&sender, |_| "down");
            sender.cast(());
            words![mail.receive(), mail.receive(), mail.receive()]
        })
    };
    let mut all: Vec<_> = (0..200).map(|_| once()).collect();
    all.dedup();
    all.concat()
}

fn send_to_dead() -> Vec<String> {
    dead().cast(());
    words!["sent"]
}

fn exit_normal() -> Vec<String> {
    let other = actor::spawn(waits);
    exit(&other, Reason::Normal);
    other.cast(Reason::of(true));
    let own = trapping(|mail| {
        Builder::new().link(mail).spawn(|mail: Mailbox<()>| {
            exit(&mail, Reason::Normal);
            forever(mail)
        });
        words![mail.receive()]
    });
    [words![end_of(&other)], own].concat()
}

fn killed() -> Vec<String> {
    let ends = |_: Mailbox<()>| Reason::Killed;
    let told = trapping(move |mail| {
        let traps = Builder::new().link(mail).spawn(|mail: Mailbox<Exit>| {
            mail.trap_exits(|exit| exit);
            forever(mail)
        });
        actor::kill(&traps);
        let killed = mail.receive();
        Builder::new().link(mail).spawn(ends);
        words![killed, mail.receive()]
    });
    let (_, partner) = Builder::new().spawn_monitor(move |mail: Mailbox<()>| {
        Builder::new().link(&mail).spawn(ends);
        forever(mail)
    });
    [told, words![partner.wait().reason]].concat()
}

fn link_normal() -> Vec<String> {
    let (plain, monitor) = Builder::new().spawn_monitor(|mail: Mailbox<Reason>| {
        end_of(&Builder::new().link(&mail).spawn(|_: Mailbox<()>| ()));
        waits(mail)
    });
    plain.cast(Reason::of("alive"));
    let told = trapping(|mail| {
        Builder::new().link(mail).spawn(|_: Mailbox<()>| ());
        words![mail.receive()]
    });
    [words![monitor.wait().reason], told].concat()
}

fn link_to_dead() -> Vec<String> {
    let plain = in_actor(|mail: &mut Mailbox<()>| words![link(mail, &dead())]);
    let traps = trapping(|mail| {
        let linked = link(mail, &dead());
        assert!(mail.try_receive().is_none());
        words![linked]
    });
    [traps, plain].concat()
}

fn unlinks() -> Vec<String> {
    trapping(|mail| {
        let before = Builder::new().link(mail).spawn(waits);
        unlink(mail, &before);
        before.cast(crash());
        end_of(&before);
        let told = mail.try_receive();
        let behind = Builder::new().link(mail).spawn(waits);
        behind.cast(crash());
        while mail.pid().queued() == 0 {
            myriad::yield_now();
        }
        unlink(mail, &behind);
        words![told, mail.try_receive()]
    })
}

fn twice() -> Vec<String> {
    trapping(|mail| {
        let actor = Builder::new().link(mail).spawn(waits);
        link(mail, &actor).unwrap();
        unlink(mail, &actor);
        let two = [actor::monitor(&actor), actor::monitor(&actor)];
        actor.cast(crash());
        let [first, second] = two.map(|monitor| monitor.wait().reason);
        words![mail.try_receive(), first, second]
    })
}

fn monitor_dead() -> Vec<String> {
    in_actor(|mail: &mut Mailbox<Reason>| {
        mail.monitor(&dead(), |down| down.reason);
        let first = mail.try_receive();
        for _ in 0..1000 {
            let ends = actor::spawn_async(async |_: Mailbox<()>| ());
            mail.monitor(&ends, |down| down.reason);
        }
        let told = (0..1000).map(|_| mail.receive());
        let well = told.filter(|reason| matches!(reason, Reason::Normal | Reason::NoProcess)).count();
        words![first, well, mail.try_receive()]
    })
}

fn demonitors() -> Vec<String> {
    in_actor(|mail: &mut Mailbox<Down>| {
        let actor = actor::spawn(waits);
        let [first, second] = [(); 2].map(|()| mail.monitor(&actor, |down| down));
        actor.cast(crash());
        while mail.pid().queued() < 2 {
            myriad::yield_now();
        }
        let in_time = first.demonitor();
        let stays = mail.select(None, None, |down| (down.monitor == first.id()).then_some(()));
        let flushed = second.demonitor();
        mail.discard(|down| down.monitor == second.id());
        words![in_time, stays.map(|(down, ())| down.reason), flushed, mail.try_receive().map(|down| down.reason)]
    })
}

fn name_freed() -> Vec<String> {
    let name = fresh("freed");
    let freed = (0..200).all(|_| {
        let actor = actor::spawn_async(async |mut mail: Mailbox<()>| mail.receive_async().await);
        register(&name, &actor).unwrap();
        let monitor = actor::monitor(&actor);
        send_to(&name, ()).unwrap();
        monitor.wait();
        whereis_pid(&name).is_none()
    });
    words![if freed { "none" } else { "somebody" }]
}

fn name_taken() -> Vec<String> {
    let (name, other) = (fresh("taken"), fresh("other"));
    let (a, b) = (actor::spawn(waits), actor::spawn(waits));
    let first = words![register(&name, &a), register(&name, &b), register(&other, &a)];
    send_to(&name, crash()).unwrap();
    end_of(&a);
    let then = words![register(&name, &b), b.is_alive()];
    kill(&b);
    [first, then].concat()
}

fn monitor_by_name() -> Vec<String> {
    let name = fresh("watched");
    register(&name, &actor::spawn(waits)).unwrap();
    let monitor = monitor_name(&name).unwrap();
    send_to(&name, crash()).unwrap();
    let down = monitor.wait();
    words![down.name.as_deref() == Some(&*name), down.reason]
}

fn an_error() -> Vec<String> {
    let fails = |_: Mailbox<()>| -> () { panic!("planned: no_paper") };
    let reason = Builder::new().spawn_monitor(fails).1.wait().reason;
    // (It would be in the text.)
    let trace = reason.to_string().contains(".rs");
    words![reason, trace]
}

fn selective() -> Vec<String> {
    in_actor(|mail: &mut Mailbox<(char, usize)>| {
        let (me, zero) = (mail.address(), Duration::ZERO);
        [('a', 0), ('b', 1), ('a', 2), ('b', 3), ('a', 4)].into_iter().for_each(|message| me.cast(message));
        let nine = receive!(mail, { ('a', 9) => Some(9), after zero => None });
        let one = receive!(mail, { ('b', n) => Some(n), ('a', n) if *n == 4 => Some(n), after zero => None });
        let three = receive!(mail, { ('b', n) if *n > 1 => Some(n), ('a', 5) => Some(5), after zero => None });
        let four = receive!(mail, { ('a', n) if *n > 3 => Some(n), after zero => None });
        words![nine, one, three, four, mail.receive().1, mail.receive().1]
    })
}

fn timers() -> Vec<String> {
    in_actor(|mail: &mut Mailbox<&'static str>| {
        let me = mail.address();
        let left = |timer: Option<Duration>| timer.map(|_| "left");
        let soon = me.send_after(Duration::from_millis(1), "came");
        let came = mail.receive();
        let again = me.send_after(Duration::from_millis(1), "stays");
        while mail.pid().queued() == 0 {
            myriad::yield_now();
        }
        let fired = [left(soon.cancel()), left(again.cancel())];
        let ends = actor::spawn(waits);
        let late = ends.send_after(LONG, Reason::of("late"));
        ends.cast(crash());
        end_of(&ends);
        words![came, fired[0], fired[1], mail.receive(), left(late.cancel())]
    })
}
