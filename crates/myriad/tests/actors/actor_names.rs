//! Names, groups, timers.

use crate::*;
use myriad::actor::{
    NameError, group_members, join_group, leave_group, monitor_name, register, send_to, unregister, whereis,
    whereis_pid,
};

/// A name that no other case has.
pub(crate) fn fresh(name: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}", COUNT.fetch_add(1, SeqCst))
}

/// (4, 14) One actor for a name, one name for an actor; free at the end, and not before.
#[test]
fn a_name_has_one_actor_and_an_actor_one_name() {
    each_runtime(|| {
        let (name, other) = (fresh("one"), fresh("other"));
        let (a, b) = (actor::spawn(forever::<u8>), actor::spawn(forever::<u8>));
        register(&name, &a).unwrap();
        assert_eq!(register(&name, &b), Err(NameError::Taken(a.pid())));
        assert_eq!(register(&other, &a), Err(NameError::HasName(name.as_str().into())));
        assert_eq!((whereis::<u8>(&name), whereis::<u16>(&name)), (Some(a.clone()), None));
        assert!(send_to(&other, 1_u8).is_err() && send_to(&name, 1_u16).is_err() && send_to(&name, 1_u8).is_ok());
        assert!(a.pid().to_string().contains(&name));
        assert!(unregister(&name) && !unregister(&name));
        register(&other, &a).unwrap();
        kill(&a);
        assert_eq!(register(&name, &a), Err(NameError::NoProcess));
        register(&other, &b).unwrap();
        kill(&b);
    });
}

/// (13, 15) Whoever sees the end finds the name free; a monitor by name says the name.
#[test]
fn a_name_is_free_when_the_end_is_seen() {
    in_both_modes(|rt| {
        rt.run(|| {
            let name = fresh("free");
            for _ in 0..200 {
                let actor = actor::spawn_async(async |mut mail: Mailbox<()>| mail.receive_async().await);
                register(&name, &actor).unwrap();
                join_group(&name, &actor).unwrap();
                let (monitor, by_name) = (actor::monitor(&actor), monitor_name(&name).unwrap());
                send_to(&name, ()).unwrap();
                monitor.wait();
                assert_eq!((whereis_pid(&name), group_members::<()>(&name)), (None, vec![]));
                let down = by_name.wait();
                assert_eq!((down.name.as_deref(), down.pid), (Some(name.as_str()), actor.pid()));
            }
            assert!(monitor_name(&name).is_none());
        });
    });
}

#[test]
fn a_group_has_members_as_often_as_they_join() {
    each_runtime(|| {
        let group = fresh("group");
        let (actor, got) = probe::<u8>();
        let (other, _) = probe::<String>();
        (0..2).for_each(|_| join_group(&group, &actor).unwrap());
        join_group(&group, &other).unwrap();
        assert_eq!((actor::send_to_group(&group, 7_u8), group_members::<String>(&group).len()), (2, 1));
        assert_eq!((got.recv(), got.recv()), (Ok(7), Ok(7)));
        assert!(leave_group(&group, &actor));
        assert_eq!(actor::send_to_group(&group, 8_u8), 1);
        kill(&actor);
        assert!(!leave_group(&group, &actor));
        assert_eq!(join_group(&group, &actor), Err(actor::NoProcess));
        kill(&other);
    });
}

/// (19) A timer that is cancelled does not come; one that has come says so, and stays.
#[test]
fn a_timer_is_cancelled_or_has_come() {
    each_runtime(|| {
        let (actor, got) = probe::<u8>();
        let (late, soon) = (actor.send_after(LONG, 1), actor.send_after(Duration::from_millis(1), 2));
        assert_eq!(got.recv(), Ok(2));
        assert_eq!(soon.cancel(), None);
        assert!(late.cancel().unwrap() <= LONG);
        let of_dead = actor.send_after(Duration::from_millis(1), 3);
        kill(&actor);
        myriad::time::sleep(Duration::from_millis(5));
        drop(of_dead);
        // (On a busy machine it may have come before the kill.)
        assert!(matches!(got.recv(), Err(_) | Ok(3)));
    });
}
