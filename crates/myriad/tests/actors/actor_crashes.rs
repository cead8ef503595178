//! Words about actors that have failed: what is in them, and that each failure is told of once.

use crate::common::{MODES, Mode, fibers_supported};
use crate::*;
use myriad::Unhandled;
use myriad::actor::{
    Builder, Child, Context, Crash, Next, Restart, Server, Status, Strategy, Supervisor, exit, on_crash, serve,
};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The function for crashes is the process's: these tests take turns.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `body` in a runtime of each kind, whose reports are collected, and with them what the
/// function for crashes was told of actors that this test has spawned.
fn heard(body: impl Fn() + Send + Sync) -> Vec<(Vec<String>, Vec<Crash>)> {
    let _turn = turn();
    let mut all = Vec::new();
    for mode in MODES.into_iter().filter(|&mode| mode == Mode::Threads || fibers_supported()) {
        for workers in [1, 2] {
            let (lines, crashes) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
            let (says, told) = (lines.clone(), crashes.clone());
            on_crash(move |crash| {
                // (Other tests of this process have actors that fail, too.)
                if crash.info.spawned_at.file().ends_with("actor_crashes.rs") {
                    told.lock().unwrap().push(crash.clone());
                }
            });
            let hook = Unhandled::Hook(Arc::new(move |line: &str| says.lock().unwrap().push(line.to_owned())));
            common::case(mode, workers, |b| b.on_unhandled_panic(hook), |rt| rt.run(&body));
            let crashes = std::mem::take(&mut *crashes.lock().unwrap());
            all.push((std::mem::take(&mut *lines.lock().unwrap()), crashes));
        }
    }
    on_crash(|_| ());
    all
}

struct Fails;

#[derive(Debug)]
enum Message {
    Fail(u32),
    Then(u32),
    Stop(&'static str),
    Wait(Ignored),
    Told(Ignored),
}

/// Said as its number.
struct Ignored(Arc<myriad::sync::Event>, Arc<myriad::sync::Event>);

impl std::fmt::Debug for Ignored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

impl Server for Fails {
    type Message = Message;
    const DESCRIBE: Option<fn(&Message) -> String> = Some(|message| format!("{message:?}"));
    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) -> Next<Message> {
        match message {
            Message::Fail(n) => panic!("planned: {n}"),
            Message::Then(n) => Next::Continue(Message::Fail(n)),
            Message::Stop(why) => Next::Stop(Reason::of(why)),
            Message::Wait(Ignored(begun, until)) => {
                begun.set();
                until.wait();
                Next::Go
            }
            Message::Told(Ignored(begun, _)) => {
                begun.set();
                until_told();
                panic!("planned: 3")
            }
        }
    }
}

/// A panic that nobody hears of is reported, with what the server had in hand and what it has lost.
#[test]
fn a_report_says_what_was_lost() {
    for (lines, crashes) in heard(|| {
        let parent = actor::spawn(|_: Mailbox<()>| {
            let (begun, until) = (Arc::default(), Arc::<myriad::sync::Event>::default());
            let server = serve(Fails);
            let event: Arc<myriad::sync::Event> = begun;
            server.cast(Message::Wait(Ignored(event.clone(), until.clone())));
            event.wait();
            (0..3).for_each(|n| server.cast(Message::Then(n)));
            until.set();
            common::wait_until(|| matches!(server.pid().info().status, Status::Ended(_)));
        });
        assert_eq!(end_of(&parent), Reason::Normal);
    }) {
        assert_eq!((lines.len(), crashes.len()), (1, 1), "{lines:?}");
        let (crash, line) = (&crashes[0], &lines[0]);
        assert_eq!(crash.last_message.as_deref(), Some("Fail(0)"));
        assert_eq!((crash.info.queued, crash.info.ancestors.len(), crash.child.as_ref()), (2, 1, None));
        assert_eq!(*line, crash.to_string());
        assert!(line.starts_with(&format!("actor #{} (spawned at ", crash.info.id)), "{line}");
        let end = format!(
            "panicked: planned: 0; it handled Fail(0); 2 messages waited; spawned by #{}",
            crash.info.ancestors[0].id
        );
        assert!(line.ends_with(&end), "{line}");
    }
}

/// A supervised actor is told of once, by its name as a child, before it is started anew.
#[test]
fn a_child_is_told_of_once() {
    for (lines, crashes) in heard(|| {
        let child = Child::new("fails", || Ok(serve(Fails)));
        let once = Child::new("once", || {
            Ok(actor::spawn_async(async |mut mail: Mailbox<u32>| {
                let n = mail.receive_async().await;
                panic!("planned: {n}")
            }))
        });
        let tree = Supervisor::dynamic().child(child).child(once.restart(Restart::Temporary)).start().unwrap();
        let (first, once) = (tree.get::<Message>("fails").unwrap(), tree.get::<u32>("once").unwrap());
        let watch = actor::monitor(&first);
        first.cast(Message::Fail(1));
        assert!(matches!(watch.wait().reason, Reason::Panic(_)));
        let again = tree.get::<Message>("fails").unwrap();
        again.cast(Message::Stop("no paper"));
        end_of(&again);
        once.cast(2);
        end_of(&once);
        tree.stop();
    }) {
        let said = |crash: &Crash| (crash.child.as_deref().unwrap().to_owned(), crash.reason.to_string());
        let [a, b, c] = &crashes[..] else { panic!("{crashes:?}") };
        assert_eq!(said(a), ("fails".into(), "panicked: planned: 1".into()));
        assert_eq!(said(b), ("fails".into(), "no paper".into()));
        assert_eq!(b.last_message.as_deref(), Some("Stop(\"no paper\")"));
        assert_eq!(said(c), ("once".into(), "panicked: planned: 2".into()));
        assert!(b.to_string().contains("child 'fails' of a supervisor, failed: no paper; it handled Stop"), "{b}");
        // (Of a reason that the program gives nothing is printed.)
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("child 'fails' of a supervisor, panicked: planned: 1"), "{lines:?}");
    }
}

/// One that gives up says so, and why; its tree says that it has ended.
#[test]
fn a_supervisor_that_gives_up_says_so() {
    for (lines, _) in heard(|| {
        let fails = || Child::new("fails", || Ok(serve(Fails)));
        let tree = Supervisor::new(Strategy::OneForOne).intensity(1, LONG).child(fails()).start().unwrap();
        for n in 1..=2 {
            let server = tree.get::<Message>("fails").unwrap();
            server.cast(Message::Fail(n));
            end_of(&server);
        }
        assert_eq!(end_of(&tree), Reason::Shutdown);
        assert_eq!(tree.to_text(), format!("supervisor #{}: has ended\n", tree.pid().id()));
    }) {
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines[1].contains(", a ") && lines[1].contains(", child 'fails' of a supervisor, panicked"),
            "{lines:?}"
        );
        assert!(!lines[1].contains(",,"), "{lines:?}");
        let end = " gives up: its child 'fails' has ended (panicked: planned: 2), and the limit is 1 restart within 1000s \
                   (`Supervisor::intensity`); it stops its children, and ends";
        assert!(lines[2].starts_with("supervisor #") && lines[2].ends_with(end), "{lines:?}");
    }
}

/// Goes on until it is told to end, and does not come to a wait where it would unwind.
fn until_told() {
    while !myriad::cancel::is_cancelled() {
        myriad::cancel::shield(myriad::yield_now);
    }
}

/// A panic of one that was told to end before is said, though the end has the other reason: of a
/// child that is being stopped, and of a server.
#[test]
fn a_panic_of_one_that_is_being_stopped_is_said() {
    for (lines, crashes) in heard(|| {
        let begun = Arc::new(myriad::sync::Event::new());
        let in_child = begun.clone();
        let start = move || {
            let begun = in_child.clone();
            Ok(actor::spawn(move |_: Mailbox<()>| {
                begun.set();
                until_told();
                panic!("planned: a child")
            }))
        };
        let tree = Supervisor::dynamic().child(Child::new("child", start)).start().unwrap();
        let watch = actor::monitor(&tree.get::<()>("child").unwrap());
        begun.wait();
        assert!(tree.stop().is_clean());
        assert_eq!(watch.wait().reason, Reason::Shutdown);
        let (server, begun) = (serve(Fails), Arc::new(myriad::sync::Event::new()));
        server.cast(Message::Told(Ignored(begun.clone(), begun.clone())));
        begun.wait();
        exit(&server, Reason::of("enough"));
        assert_eq!(end_of(&server), Reason::of("enough"));
    }) {
        let said: Vec<_> = crashes.iter().map(Crash::to_string).collect();
        let [a, b] = &said[..] else { panic!("{said:?}") };
        assert!(
            a.contains(", child 'child' of a supervisor, was told to end (shutdown), and panicked: planned: a child"),
            "{a}"
        );
        assert!(b.contains(" was told to end (enough), and panicked: planned: 3; it handled Told(..)"), "{b}");
        assert_eq!(lines, said);
    }
}

/// Who ends because another one has told it has not failed; expected ends and kills are none.
#[test]
fn who_was_told_to_end_has_not_failed() {
    for (lines, crashes) in heard(|| {
        let fails = actor::spawn(|mut mail: Mailbox<()>| {
            mail.receive();
            Err::<(), _>("no paper")
        });
        let partner = Builder::new().link(&fails).spawn(forever::<()>);
        let (killed, told) = (actor::spawn(forever::<()>), actor::spawn(forever::<()>));
        fails.cast(());
        assert_eq!(end_of(&partner), Reason::of("no paper"));
        kill(&killed);
        exit(&told, Reason::of("enough"));
        end_of(&told);
        let ends_itself = actor::spawn(|mail: Mailbox<()>| {
            exit(&mail, Reason::of("by myself"));
        });
        end_of(&ends_itself);
        end_of(&actor::spawn(|_: Mailbox<()>| Reason::Shutdown));
    }) {
        let reasons: Vec<_> = crashes.iter().map(|crash| crash.reason.to_string()).collect();
        assert_eq!((reasons, lines), (vec!["no paper".to_owned(), "by myself".to_owned()], vec![]));
    }
}

/// A description that panics is a failure of the server; a function for crashes that panics, waits
/// or looks into actors harms nobody.
#[test]
fn words_that_fail() {
    struct Dumb;
    impl Server for Dumb {
        type Message = ();
        const DESCRIBE: Option<fn(&()) -> String> = Some(|()| panic!("planned: no words"));
        fn handle(&mut self, (): (), _: &mut Context<'_, Self>) -> Next<()> {
            Next::Go
        }
    }
    let _turn = turn();
    let (calls, drops) = Counted::new();
    on_crash(move |crash| {
        let _calls = &calls;
        myriad::time::sleep(Duration::from_micros(10));
        drop(crash.pid.info());
        _ = actor::suspend(&crash.pid);
        if crash.info.spawned_at.file().ends_with("actor_crashes.rs") {
            panic!("planned: a function for crashes");
        }
    });
    each_runtime(|| {
        for _ in 0..10 {
            let server = serve(Dumb);
            let watch = actor::monitor(&server);
            server.cast(());
            assert!(matches!(watch.wait().reason, Reason::Panic(text) if &**text == "planned: no words"));
        }
    });
    on_crash(|_| ());
    // (An actor of another test may be in the function still.)
    common::wait_until(|| drops.load(SeqCst) > 0);
    assert_eq!(drops.load(SeqCst), 1);
}
