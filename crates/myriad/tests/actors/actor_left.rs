//! Supervisors, and children whose runtime has ended.

use crate::common::each_owned;
use crate::*;
use myriad::actor::{Child, Context, Next, Restart, Server, ShutdownLimit, Strategy, Supervisor};
use myriad::channel::{Sender, unbounded};

/// A runtime that ends drops its supervisors, whose children nobody runs any more.
#[test]
fn a_runtime_ends_with_its_supervisors() {
    each_owned(|_, rt| {
        let tree = rt.run(|| {
            let future = || Ok(actor::spawn_async(async |mut mail: Mailbox<()>| mail.receive_async().await));
            let inner = move || Supervisor::dynamic().child(Child::new("future", future));
            let closure = Child::new("closure", || Ok(actor::spawn(forever::<()>)));
            Supervisor::dynamic().child(Child::supervisor("inner", inner)).child(closure).start().unwrap()
        });
        assert!(!rt.shutdown(Duration::from_millis(10)).is_clean());
        assert_eq!(end_of(&tree), Reason::Cancelled);
    });
}

/// A child that runs in another runtime, and is blocked when that ends: it has ended for its
/// supervisor, which starts it anew, stops it, or ends itself.
#[test]
fn a_child_that_its_runtime_leaves_has_ended() {
    each_owned(|mode, rt| {
        let other = mode.runtime(1);
        // Blocked where nobody can unwind it: a closure, which the end of its runtime leaves.
        let handle = other.handle();
        let (begun, is_begun) = unbounded();
        let child = move |id: &str| {
            let (handle, begun) = (handle, begun.clone());
            Child::new(id, move || {
                let begun = begun.clone();
                let spawned = handle.spawn(move || {
                    actor::spawn(move |_: Mailbox<()>| {
                        begun.send(()).unwrap();
                        myriad::cancel::shield(|| myriad::sync::Event::new().wait());
                    })
                });
                spawned.join().map_err(|_| Reason::of("no runtime"))
            })
        };
        let tree = rt.run(|| {
            let of = Supervisor::new(Strategy::OneForOne).intensity(0, LONG);
            let of = of.child(child("temporary").restart(Restart::Temporary));
            of.child(child("never").restart(Restart::Temporary).shutdown(ShutdownLimit::Never)).start().unwrap()
        });
        let never: Address<()> = tree.get("never").unwrap();
        (0..2).for_each(|_| is_begun.recv().unwrap());
        let stops = {
            let tree = tree.clone();
            std::thread::spawn(move || tree.stop_child("never"))
        };
        assert!(!other.shutdown(Duration::from_millis(10)).is_clean());
        assert!(stops.join().unwrap());
        assert!(!never.is_alive() && tree.children().is_empty());
        assert_eq!((tree.stop().stopped, end_of(&tree)), (0, Reason::Shutdown));
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    });
}

/// The same, and the supervisor begins to wait when the runtime of its child has ended.
#[test]
fn a_supervisor_stops_a_child_whose_runtime_has_ended() {
    each_owned(|mode, rt| {
        let other = mode.runtime(1);
        let handle = other.handle();
        let (begun, is_begun) = unbounded();
        let start = move || {
            let begun = begun.clone();
            let spawned = handle.spawn(move || {
                actor::spawn(move |mut mail: Mailbox<()>| {
                    begun.send(()).unwrap();
                    mail.receive();
                })
            });
            spawned.join().map_err(|_| Reason::of("no runtime"))
        };
        let tree = rt.run(|| Supervisor::dynamic().child(Child::new("child", start)).start().unwrap());
        let child: Address<()> = tree.get("child").unwrap();
        let linked = rt.run(|| {
            let linked = actor::spawn(forever::<()>);
            actor::link(&linked, &child).unwrap();
            linked
        });
        is_begun.recv().unwrap();
        _ = other.shutdown(Duration::ZERO);
        // It was blocked in its mailbox: its partners are told, too.
        assert_eq!(end_of(&child), Reason::Cancelled);
        assert_eq!(end_of(&linked), Reason::Cancelled);
        tree.stop();
        assert!(matches!(end_of(&tree), Reason::Shutdown));
        _ = rt.shutdown(crate::common::PATIENCE);
    });
}

/// The same of a server whose handler is blocked, and of a closure that is blocked on the way to
/// its end, in the destructor of a message.
#[test]
fn a_child_that_is_left_in_a_handler_or_at_its_end_has_ended() {
    struct Blocks(Sender<()>);
    impl Blocks {
        fn wait(&self) {
            self.0.send(()).unwrap();
            myriad::cancel::shield(|| myriad::sync::Event::new().wait());
        }
    }
    impl Drop for Blocks {
        fn drop(&mut self) {
            self.wait();
        }
    }
    struct Waits;
    impl Server for Waits {
        type Message = std::mem::ManuallyDrop<Blocks>;
        const CALL_IN_PLACE: bool = false;
        fn handle(&mut self, message: Self::Message, _: &mut Context<'_, Self>) -> Next<Self::Message> {
            message.wait();
            Next::Go
        }
    }
    each_owned(|mode, rt| {
        let other = mode.runtime(2);
        let (handle, (begun, is_begun)) = (other.handle(), unbounded());
        let serves = Child::new("server", move || {
            handle.spawn(|| actor::serve(Waits)).join().map_err(|_| Reason::of("no runtime"))
        });
        let handle = other.handle();
        let ends = Child::new("ends", move || {
            let spawned = handle.spawn(|| actor::spawn(|mut mail: Mailbox<Option<Blocks>>| drop(mail.receive())));
            spawned.join().map_err(|_| Reason::of("no runtime"))
        });
        let of = Supervisor::dynamic();
        let tree = rt.run(|| {
            of.child(serves.restart(Restart::Temporary)).child(ends.restart(Restart::Temporary)).start().unwrap()
        });
        let server: Address<std::mem::ManuallyDrop<Blocks>> = tree.get("server").unwrap();
        let ends: Address<Option<Blocks>> = tree.get("ends").unwrap();
        server.cast(std::mem::ManuallyDrop::new(Blocks(begun.clone())));
        actor::suspend(&ends).unwrap();
        ends.cast(None);
        ends.cast(Some(Blocks(begun)));
        actor::resume(&ends).unwrap();
        (0..2).for_each(|_| is_begun.recv().unwrap());
        assert!(!other.shutdown(Duration::ZERO).is_clean());
        assert_eq!((end_of(&server), end_of(&ends)), (Reason::Cancelled, Reason::Normal));
        while !tree.children().is_empty() {
            std::thread::yield_now();
        }
        tree.stop();
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    });
}
