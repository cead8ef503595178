//! Supervisors: who is started anew, in which order, how often, and how all end.

use crate::*;
use myriad::actor::{Child, Restart, ShutdownLimit, StartError, Strategy, Supervisor, Tree};
use myriad::channel::{Receiver, Sender, unbounded};
use std::sync::Mutex;

pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// What a child is told: with what to end.
pub(crate) type Worker = Address<Reason>;

/// Logs its start and its end.
pub(crate) fn worker(id: &'static str, log: &Log) -> Child {
    let log = log.clone();
    Child::new(id, move || {
        struct Ends(&'static str, Log);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.1.lock().unwrap().push(format!("-{}", self.0));
            }
        }
        log.lock().unwrap().push(format!("+{id}"));
        let ends = Ends(id, log.clone());
        Ok(actor::spawn_async(async move |mut mail: Mailbox<Reason>| {
            let _ends = ends;
            mail.receive_async().await
        }))
    })
}

pub(crate) fn take(log: &Log) -> String {
    std::mem::take(&mut *log.lock().unwrap()).join(" ")
}

/// Ends a child, and waits until it is back as another one.
#[track_caller]
pub(crate) fn crash(tree: &Tree, id: &str) -> Worker {
    let old: Worker = tree.get(id).unwrap();
    old.cast(Reason::of("crash"));
    end_of(&old);
    loop {
        match tree.get::<Reason>(id) {
            Some(new) if new != old => return new,
            _ => myriad::yield_now(),
        }
    }
}

/// (28) The order of ends and starts, strategy by strategy.
#[test]
fn a_strategy_says_who_is_started_anew_and_in_which_order() {
    each_runtime(|| {
        for (strategy, then) in [
            (Strategy::OneForOne, "-b +b"),
            (Strategy::RestForOne, "-b -c +b +c"),
            (Strategy::OneForAll, "-b -c -a +a +b +c"),
        ] {
            let log = Log::default();
            let children = ["a", "b", "c"].map(|id| worker(id, &log));
            let tree = children.into_iter().fold(Supervisor::new(strategy), Supervisor::child).start().unwrap();
            assert_eq!(take(&log), "+a +b +c");
            crash(&tree, "b");
            assert_eq!(take(&log), then, "{strategy:?}");
            assert!(tree.stop().is_clean());
            assert_eq!(take(&log), "-c -b -a");
            assert!(tree.children().is_empty() && tree.stop().stopped == 0);
        }
    });
}

/// (29) Which ends count.
#[test]
fn a_restart_type_says_which_ends_count() {
    each_runtime(|| {
        let log = Log::default();
        let all = [("p", Restart::Permanent), ("t", Restart::Transient), ("x", Restart::Temporary)];
        let children = all.map(|(id, restart)| worker(id, &log).restart(restart));
        let of = children.into_iter().fold(Supervisor::new(Strategy::OneForOne).intensity(9, LONG), Supervisor::child);
        let tree = of.start().unwrap();
        for (id, _) in all {
            let worker: Worker = tree.get(id).unwrap();
            worker.cast(Reason::Normal);
            end_of(&worker);
        }
        crash(&tree, "p");
        let left: Vec<_> = tree
            .children()
            .into_iter()
            .map(|child| (child.id.to_string(), child.pid.is_some(), child.restarts))
            .collect();
        assert_eq!(left, [("p".into(), true, 2), ("t".into(), false, 0)]);
        tree.restart_child("t").unwrap();
        crash(&tree, "t");
        tree.stop();
    });
}

/// (30, 31) Too many: all are stopped in order, and the supervisor has ended with `Shutdown`.
#[test]
fn a_supervisor_gives_up_after_too_many_restarts() {
    each_runtime(|| {
        let log = Log::default();
        let of = Supervisor::new(Strategy::OneForOne).intensity(2, LONG);
        let tree = of.child(worker("a", &log)).child(worker("b", &log)).child(worker("c", &log)).start().unwrap();
        crash(&tree, "b");
        crash(&tree, "a");
        take(&log);
        let last: Worker = tree.get("b").unwrap();
        last.cast(Reason::of("crash"));
        assert_eq!(end_of(&tree), Reason::Shutdown);
        assert_eq!(take(&log), "-b -c -a");
        assert!(matches!(tree.start_child(worker("d", &log)), Err(StartError::NoSupervisor(_))));
    });
}

/// (31) Crashes that are far enough apart go on for ever: the window is a true one.
#[test]
fn restarts_that_are_old_do_not_count() {
    each_runtime(|| {
        let log = Log::default();
        let tree = Supervisor::new(Strategy::OneForOne)
            .intensity(1, Duration::from_millis(5))
            .child(worker("a", &log))
            .start()
            .unwrap();
        for _ in 0..5 {
            crash(&tree, "a");
            myriad::time::sleep(Duration::from_millis(6));
        }
        tree.stop();
    });
}

/// (32) The late one is killed, the others have their full time.
#[test]
fn a_child_that_does_not_end_in_its_time_is_killed() {
    each_runtime(|| {
        let (tx, rx): (Sender<Reason>, Receiver<Reason>) = unbounded();
        let stubborn = Child::new("stubborn", || {
            let ready = Arc::new(myriad::sync::Event::new());
            let is_ready = ready.clone();
            let actor = actor::spawn(move |mut mail: Mailbox<actor::Exit>| {
                mail.trap_exits(|exit| exit);
                is_ready.set();
                loop {
                    mail.receive();
                }
            });
            ready.wait();
            Ok(actor)
        });
        let log = Log::default();
        let of = Supervisor::new(Strategy::OneForOne).child(worker("a", &log));
        let of = of.child(stubborn.shutdown(ShutdownLimit::After(Duration::from_millis(5)))).child(worker("b", &log));
        let tree = of.start().unwrap();
        let child: Address<actor::Exit> = tree.get("stubborn").unwrap();
        let watch = actor::monitor(&child);
        myriad::spawn(move || tx.send(watch.wait().reason));
        let report = tree.stop();
        assert_eq!((report.stopped, report.killed), (3, vec!["stubborn".into()]));
        assert_eq!(rx.recv(), Ok(Reason::Killed));
        assert_eq!(take(&log), "+a +b -b -a");
    });
}

/// (33) A start that fails: at first it is the supervisor's, later one more restart.
#[test]
fn a_start_that_fails_is_a_restart_or_the_end() {
    each_runtime(|| {
        let log = Log::default();
        let fails = || Child::new::<u8>("fails", || Err(Reason::of("no paper")));
        let of = Supervisor::new(Strategy::OneForOne).child(worker("a", &log)).child(fails()).child(worker("b", &log));
        let error = of.start().unwrap_err();
        assert_eq!(error, StartError::Failed { child: "fails".into(), reason: Reason::of("no paper") });
        assert_eq!(take(&log), "+a -a");
        let panics = Child::new::<u8>("panics", || panic!("planned: a start"));
        assert!(matches!(
            Supervisor::dynamic().child(panics).start(),
            Err(StartError::Failed { reason: Reason::Panic(_), .. })
        ));
        // The second and third start fail, the fourth is well: three restarts.
        let starts = Arc::new(AtomicUsize::new(0));
        let count = starts.clone();
        let flaky = Child::new("flaky", move || match count.fetch_add(1, SeqCst) {
            1 | 2 => Err(Reason::of("not now")),
            _ => Ok(actor::spawn_async(async |mut mail: Mailbox<Reason>| mail.receive_async().await)),
        });
        let tree = Supervisor::new(Strategy::OneForOne).intensity(3, LONG).child(flaky).start().unwrap();
        crash(&tree, "flaky");
        assert_eq!(starts.load(SeqCst), 4);
        tree.stop();
    });
}

/// (35) What is stopped is kept, until it is deleted; a name stands once.
#[test]
fn children_are_stopped_restarted_and_deleted() {
    each_runtime(|| {
        let log = Log::default();
        let tree = Supervisor::new(Strategy::OneForOne).child(worker("a", &log)).start().unwrap();
        let a = tree.get::<Reason>("a").unwrap().pid();
        assert_eq!(tree.start_child(worker("a", &log)), Err(StartError::Duplicate("a".into(), Some(a.clone()))));
        assert_eq!(tree.restart_child("a"), Err(StartError::Duplicate("a".into(), Some(a))));
        assert!(!tree.delete_child("a") && tree.stop_child("a") && !tree.stop_child("b"));
        assert_eq!(tree.get::<Reason>("a"), None);
        tree.restart_child("a").unwrap();
        assert!(tree.stop_child("a") && tree.delete_child("a") && !tree.delete_child("a"));
        assert!(tree.restart_child("a").is_err());
        tree.start_child(worker("a", &log)).unwrap();
        tree.stop();
        let dynamic = Supervisor::dynamic().max_children(2).start().unwrap();
        for id in ["x", "y"] {
            dynamic.start_child(worker(id, &log)).unwrap();
        }
        assert_eq!(dynamic.start_child(worker("z", &log)), Err(StartError::TooMany(2)));
        assert!(dynamic.stop_child("x"));
        dynamic.start_child(worker("z", &log)).unwrap();
        assert_eq!(dynamic.stop().stopped, 2);
    });
}

/// (36) An address is of one incarnation; a name follows.
#[test]
fn a_name_follows_restarts() {
    each_runtime(|| {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let (log, name) = (Log::default(), format!("supervised-{}", COUNT.fetch_add(1, SeqCst)));
        let child = worker("a", &log).named::<Reason>(&name);
        let tree = Supervisor::new(Strategy::OneForOne).child(child).start().unwrap();
        let old: Worker = actor::whereis(&name).unwrap();
        let new = crash(&tree, "a");
        assert_eq!(actor::whereis::<Reason>(&name), Some(new));
        assert!(!old.is_alive());
        tree.stop();
        assert_eq!(actor::whereis_pid(&name), None);
    });
}

/// (37) A supervisor that is killed takes its children along, before anybody is told.
#[test]
fn a_killed_supervisor_takes_its_children_along() {
    each_runtime(|| {
        let log = Log::default();
        let inner = {
            let log = log.clone();
            move || Supervisor::new(Strategy::OneForOne).child(worker("leaf", &log))
        };
        let of = Supervisor::new(Strategy::OneForOne).child(worker("a", &log)).child(Child::supervisor("inner", inner));
        let tree = of.start().unwrap();
        let leaf: Worker = tree.tree("inner").unwrap().get("leaf").unwrap();
        let text = tree.to_text();
        assert!(text.contains("inner (supervisor)") && text.lines().count() == 4, "{text}");
        assert!(tree.to_dot().contains("leaf") && tree.to_dot().contains("->"));
        take(&log);
        kill(&tree);
        assert!(!leaf.is_alive());
        let mut ends: Vec<_> = take(&log).split(' ').map(String::from).collect();
        ends.sort();
        assert_eq!(ends, ["-a", "-leaf"]);
    });
}

/// An inner supervisor that gives up is started anew by the outer one.
#[test]
fn a_supervisor_is_a_child_like_others() {
    each_runtime(|| {
        let log = Log::default();
        let inner = {
            let log = log.clone();
            move || Supervisor::new(Strategy::OneForOne).intensity(0, LONG).child(worker("leaf", &log))
        };
        let outer = Supervisor::new(Strategy::OneForOne).child(Child::supervisor("inner", inner)).start().unwrap();
        let first = outer.tree("inner").unwrap();
        let leaf: Worker = first.get("leaf").unwrap();
        leaf.cast(Reason::of("crash"));
        assert_eq!(end_of(&first), Reason::Shutdown);
        while outer.tree("inner").is_none_or(|inner| inner.pid() == first.pid()) {
            myriad::yield_now();
        }
        assert_eq!(take(&log), "+leaf -leaf +leaf");
        assert!(outer.stop().is_clean());
        assert_eq!(take(&log), "-leaf");
    });
}

/// (38) Many that fail at once: each is back once, and questions are answered.
#[test]
fn many_children_fail_at_once() {
    each_runtime(|| {
        const MANY: usize = 1_000;
        let (state, drops) = Counted::new();
        let tree = Supervisor::dynamic().intensity(2 * MANY, LONG).start().unwrap();
        for n in 0..MANY {
            let state = state.clone();
            let start = move || {
                let state = state.clone();
                Ok(actor::spawn_async(async move |mut mail: Mailbox<Reason>| {
                    let _state = state;
                    mail.receive_async().await
                }))
            };
            tree.start_child(Child::new(&n.to_string(), start)).unwrap();
        }
        let all: Vec<Worker> = (0..MANY).map(|n| tree.get(&n.to_string()).unwrap()).collect();
        all.iter().for_each(|worker| worker.cast(Reason::of("crash")));
        all.iter().for_each(|worker| drop(end_of(worker)));
        loop {
            let children = tree.children();
            assert_eq!(children.len(), MANY);
            if children.iter().all(|child| child.restarts == 1 && child.pid.is_some()) {
                break;
            }
        }
        assert_eq!(tree.stop().stopped, MANY);
        drop(tree);
        // Each incarnation's, and each child's own, which is gone with the table.
        while drops.load(SeqCst) < 3 * MANY {
            myriad::yield_now();
        }
        assert_eq!(drops.load(SeqCst), 3 * MANY);
    });
}

/// An actor that traps exits, counts them, and goes on.
pub(crate) fn stubborn(told: &Arc<AtomicUsize>) -> Address<actor::Exit> {
    let (told, ready) = (told.clone(), Arc::new(myriad::sync::Event::new()));
    let is_ready = ready.clone();
    let actor = actor::spawn_async(async move |mut mail: Mailbox<actor::Exit>| {
        mail.trap_exits(|exit| exit);
        is_ready.set();
        loop {
            mail.receive_async().await;
            told.fetch_add(1, SeqCst);
        }
    });
    ready.wait();
    actor
}

/// A supervisor that is killed while it waits for a child's end takes that child along, too.
#[test]
fn a_supervisor_that_is_killed_while_it_stops_a_child_takes_that_along() {
    each_runtime(|| {
        let told = Arc::new(AtomicUsize::new(0));
        let of_child = told.clone();
        let child = Child::new("stubborn", move || Ok(stubborn(&of_child))).shutdown(ShutdownLimit::Never);
        let tree = Supervisor::new(Strategy::OneForOne).child(child).start().unwrap();
        let child: Address<actor::Exit> = tree.get("stubborn").unwrap();
        let stops = {
            let tree = tree.clone();
            myriad::spawn(move || tree.stop_child("stubborn"))
        };
        while told.load(SeqCst) == 0 {
            myriad::yield_now();
        }
        kill(&tree);
        let is_left = child.is_alive();
        kill(&child);
        assert!(!stops.join().unwrap() && !is_left);
    });
}

/// The same while a child starts: a supervisor below, or a closure, which is cancelled.
#[test]
fn a_supervisor_that_is_killed_while_it_starts_a_child_takes_all_along() {
    each_runtime(|| {
        for is_below in [false, true] {
            let (tells, told) = unbounded();
            let log = Log::default();
            let blocks = move || {
                tells.send(actor::current().unwrap()).unwrap();
                myriad::sync::Event::new().wait();
                Err::<Address<()>, _>(Reason::of("never"))
            };
            let (top_tells, top_told) = unbounded();
            let first = Child::new("first", move || {
                top_tells.send(actor::current().unwrap()).unwrap();
                Ok(actor::spawn(forever::<()>))
            });
            let of = Supervisor::new(Strategy::OneForOne).child(first).child(worker("a", &log));
            let of = match is_below {
                false => of.child(Child::new("blocks", blocks)),
                true => of.child(Child::supervisor("below", move || {
                    Supervisor::new(Strategy::OneForOne)
                        .child(worker("b", &log))
                        .child(Child::new("blocks", blocks.clone()))
                })),
            };
            let starts = myriad::spawn(move || of.start().map(drop));
            let (top, starting) = (top_told.recv().unwrap(), told.recv().unwrap());
            assert_eq!(top == starting, !is_below);
            kill(&top);
            let is_left = starting.is_alive();
            kill(&starting);
            assert!(!is_left);
            assert_eq!(starts.join().unwrap(), Err(StartError::NoSupervisor(Reason::Killed)));
        }
    });
}

/// The times of a dynamic supervisor's children run together: one after the other these would take
/// three minutes.
#[test]
fn a_dynamic_supervisor_stops_all_at_once() {
    each_runtime(|| {
        const MANY: usize = 1_800;
        let told = Arc::new(AtomicUsize::new(0));
        let tree = Supervisor::dynamic().start().unwrap();
        for n in 0..MANY {
            let told = told.clone();
            let child = Child::new(&n.to_string(), move || Ok(stubborn(&told)));
            tree.start_child(child.shutdown(ShutdownLimit::After(Duration::from_millis(100)))).unwrap();
        }
        let report = tree.stop();
        assert_eq!((report.stopped, report.killed.len()), (MANY, MANY));
    });
}

/// Each child of a dynamic supervisor is told once, before any has ended.
#[test]
fn a_dynamic_supervisor_tells_each_child_once() {
    each_runtime(|| {
        const MANY: usize = 100;
        let (told, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(myriad::sync::Event::new()));
        let tree = Supervisor::dynamic().start().unwrap();
        for n in 0..MANY {
            let (told, go) = (told.clone(), go.clone());
            let start = move || {
                let (told, go, ready) = (told.clone(), go.clone(), Arc::new(myriad::sync::Event::new()));
                let is_ready = ready.clone();
                let actor = actor::spawn_async(async move |mut mail: Mailbox<actor::Exit>| {
                    mail.trap_exits(|exit| exit);
                    is_ready.set();
                    mail.receive_async().await;
                    told.fetch_add(1, SeqCst);
                    go.wait_async().await;
                    told.fetch_add(std::iter::from_fn(|| mail.try_receive()).count(), SeqCst);
                });
                ready.wait();
                Ok(actor)
            };
            tree.start_child(Child::new(&n.to_string(), start).shutdown(ShutdownLimit::Never)).unwrap();
        }
        let stops = {
            let tree = tree.clone();
            myriad::spawn(move || tree.stop())
        };
        while told.load(SeqCst) < MANY {
            myriad::yield_now();
        }
        go.set();
        let report = stops.join().unwrap();
        assert_eq!((report.stopped, report.is_clean(), told.load(SeqCst)), (MANY, true, MANY));
    });
}

/// A child that got no name is gone before the supervisor says so.
#[test]
fn a_child_without_its_name_is_gone() {
    each_runtime(|| {
        let taken = actor::spawn(forever::<()>);
        actor::register("supervised-taken", &taken).unwrap();
        let (tells, told) = unbounded();
        let child = Child::new("child", move || {
            let actor = actor::spawn(forever::<()>);
            tells.send(actor.clone()).unwrap();
            Ok(actor)
        });
        let tree = Supervisor::dynamic().start().unwrap();
        assert!(matches!(tree.start_child(child.named::<()>("supervised-taken")), Err(StartError::Failed { .. })));
        assert!(!told.recv().unwrap().is_alive());
        tree.stop();
        kill(&taken);
    });
}

/// A supervisor below whose child does not start has failed, and may be started again.
#[test]
fn a_supervisor_below_that_does_not_start_has_failed() {
    each_runtime(|| {
        let log = Log::default();
        let below = |fails: bool| {
            let log = log.clone();
            Child::supervisor("below", move || {
                let of = Supervisor::new(Strategy::OneForOne).child(worker("a", &log));
                if fails { of.child(Child::new::<u8>("fails", || Err(Reason::of("no paper")))) } else { of }
            })
        };
        let tree = Supervisor::dynamic().start().unwrap();
        let error = tree.start_child(below(true)).unwrap_err();
        let StartError::Failed { child, reason } = &error else { panic!("{error}") };
        assert!(**child == *"below" && reason.to_string().contains("no paper"), "{error}");
        assert_eq!(take(&log), "+a -a");
        tree.start_child(below(false)).unwrap();
        assert_eq!(tree.stop().stopped, 1);
        assert_eq!(take(&log), "+a -a");
    });
}
