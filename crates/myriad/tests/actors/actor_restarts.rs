//! Supervisors whose children do not start anew, or end before they are watched.

use crate::actor_supervisors::{Log, Worker, crash, take, worker};
use crate::*;
use myriad::actor::{Child, Restart, Strategy, Supervisor, Tree};

/// A supervisor of this child, which starts once, and then as often as `starts` says so.
fn database(starts: Arc<AtomicUsize>, is_well: impl Fn(usize) -> bool + Send + 'static) -> Child {
    Child::new("database", move || {
        if is_well(starts.fetch_add(1, SeqCst)) {
            Ok(actor::spawn_async(async |mut mail: Mailbox<Reason>| mail.receive_async().await))
        } else {
            Err(Reason::of("no database"))
        }
    })
}

/// Any number of restarts.
fn patient(strategy: Strategy) -> Supervisor {
    Supervisor::new(strategy).intensity(usize::MAX, Duration::from_secs(1))
}

/// Ends the child, which the supervisor hears before all that it is asked afterwards.
fn end_database(tree: &Tree) {
    let child: Worker = tree.get("database").unwrap();
    child.cast(Reason::of("crash"));
    end_of(&child);
}

/// A start that fails again and again holds up nothing else that a supervisor does.
#[test]
fn a_supervisor_hears_while_a_child_does_not_start() {
    each_runtime(|| {
        let starts = Arc::new(AtomicUsize::new(0));
        let tree = patient(Strategy::OneForOne).child(database(starts.clone(), |n| n == 0)).start().unwrap();
        end_database(&tree);
        while starts.load(SeqCst) < 3 {
            assert!(tree.children()[0].pid.is_none());
        }
        let log = Log::default();
        tree.start_child(worker("other", &log)).unwrap();
        assert_eq!(tree.stop().stopped, 1);
        assert_eq!(take(&log), "+other -other");
    });
}

/// Stopped, it is not tried any more; asked for, it is.
#[test]
fn a_child_that_does_not_start_is_stopped_or_started_by_hand() {
    each_runtime(|| {
        let (starts, well) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(1)));
        let until = well.clone();
        let is_well = move |n| n < until.load(SeqCst);
        let tree = patient(Strategy::OneForOne).child(database(starts.clone(), is_well)).start().unwrap();
        end_database(&tree);
        assert!(tree.stop_child("database"));
        assert!(tree.get::<Reason>("database").is_none());
        let tried = starts.load(SeqCst);
        (0..100).for_each(|_| drop(tree.children()));
        assert_eq!(starts.load(SeqCst), tried);
        assert!(tree.restart_child("database").is_err());
        well.store(usize::MAX, SeqCst);
        let pid = tree.restart_child("database").unwrap();
        assert_eq!(tree.get::<Reason>("database").unwrap().pid(), pid);
        assert_eq!(tree.stop().stopped, 1);
    });
}

/// Children that depend on one that does not start wait for it, and are started after it.
#[test]
fn those_after_a_child_that_does_not_start_wait_for_it() {
    each_runtime(|| {
        for (strategy, order) in [
            (Strategy::RestForOne, "-a -c +a +c"),
            (Strategy::OneForAll, "-a -c -z +z +a +c"),
            (Strategy::OneForOne, "-a +a"),
        ] {
            let (log, starts) = (Log::default(), Arc::new(AtomicUsize::new(0)));
            let of = patient(strategy).child(worker("z", &log)).child(worker("a", &log));
            let of = of.child(database(starts.clone(), |n| n == 0 || n > 3)).child(worker("c", &log));
            let tree = of.start().unwrap();
            take(&log);
            if strategy == Strategy::OneForOne {
                end_database(&tree);
            }
            let a: Worker = tree.get("a").unwrap();
            a.cast(Reason::of("crash"));
            end_of(&a);
            // Each has been started when this is answered.
            assert!(tree.get::<Reason>("database").is_some());
            assert_eq!(tree.children().iter().filter(|child| child.pid.is_some()).count(), 4);
            assert_eq!(take(&log), order, "{strategy:?}");
            assert_eq!(starts.load(SeqCst), 5);
            tree.stop();
        }
    });
}

/// Too many starts that fail are the end, also where others are heard between them.
#[test]
fn starts_that_fail_are_counted() {
    each_runtime(|| {
        let log = Log::default();
        let starts = Arc::new(AtomicUsize::new(0));
        let of = Supervisor::new(Strategy::OneForOne).intensity(3, LONG);
        let tree = of.child(worker("a", &log)).child(database(starts.clone(), |n| n == 0)).start().unwrap();
        crash(&tree, "a");
        end_database(&tree);
        assert_eq!(tree.get::<Reason>("database"), None);
        assert_eq!((end_of(&tree), starts.load(SeqCst)), (Reason::Shutdown, 3));
    });
}

/// A child that has ended before its supervisor could watch it has ended for its own reason.
#[test]
fn a_child_that_ends_at_once_has_ended_for_its_own_reason() {
    each_runtime(|| {
        let starts = Arc::new(AtomicUsize::new(0));
        let count = starts.clone();
        let once = Child::new("once", move || {
            count.fetch_add(1, SeqCst);
            let job = actor::spawn(|_: Mailbox<()>| ());
            end_of(&job); // as after any handshake with it
            Ok(job)
        });
        let tree = Supervisor::new(Strategy::OneForOne).child(once.restart(Restart::Transient)).start().unwrap();
        let children = tree.children();
        assert_eq!(starts.load(SeqCst), 1);
        assert_eq!(children[0].last, Some(Reason::Normal));
        tree.stop();
    });
}
