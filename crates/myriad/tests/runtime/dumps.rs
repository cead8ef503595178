//! What a dump says about tasks, workers and threads, while nothing happens and while all happens.

use crate::common::{
    MODES, Mode, PLANNED, each_owned, fibers_supported, full_length, in_both_modes, quiet, wait_until,
};
use myriad::channel::{bounded, unbounded};
use myriad::dump::{Activity, Doing, Dump, TaskState};
use myriad::sync::{Mutex, Semaphore};
use myriad::{Runtime, WaitReason, join, scope, spawn, spawn_async, task, time, yield_now};
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::Duration;

/// For ever, as far as a test sees.
const LONG: Duration = Duration::from_secs(3600);

/// The first dump that is as expected. Other tests run beside this one: each knows its own tasks by
/// their names.
fn dump_when(is_expected: impl Fn(&Dump) -> bool) -> Dump {
    let found = std::cell::OnceCell::new();
    wait_until(|| {
        let dump = myriad::dump();
        is_expected(&dump) && found.set(dump).is_ok()
    });
    found.into_inner().unwrap()
}

fn named<'a>(dump: &'a Dump, name: &str) -> Option<&'a TaskState> {
    dump.tasks().iter().find(|task| task.name() == Some(name))
}

fn waits(dump: &Dump, name: &str, reason: WaitReason) -> bool {
    named(dump, name).is_some_and(|task| task.waits_for() == Some(reason))
}

#[track_caller]
fn start(rt: &Runtime, name: &str, f: impl FnOnce() + Send + 'static) -> myriad::JoinHandle<()> {
    task::Builder::new().name(name).on(rt.handle()).spawn(f)
}

/// A channel is told by the place where it was made, and by the ends that could end the wait.
#[cfg(debug_assertions)]
#[test]
fn a_channel_says_where_it_was_made() {
    each_owned(|mode, rt| {
        let (tx, rx) = unbounded::<()>();
        let made = (file!(), line!() - 1);
        let (full, keeps_full) = bounded(1);
        full.send(()).unwrap();
        let (set, mut promise) = myriad::channel::promise::<()>();
        let others = [tx.clone(), tx.clone()];
        let name = |what: &str| format!("made-{mode}-{}-{what}", rt.workers());
        let tasks = [
            start(&rt, &name("recv"), {
                let rx = rx.clone();
                move || _ = rx.recv()
            }),
            start(&rt, &name("send"), move || _ = full.send(())),
            start(&rt, &name("news"), move || _ = promise.recv()),
            task::Builder::new().name(name("future")).on(rt.handle()).spawn_async({
                let rx = rx.clone();
                async move { _ = rx.recv_async().await }
            }),
        ];
        let expected = [WaitReason::Recv, WaitReason::Send, WaitReason::News, WaitReason::Recv];
        let of = ["recv", "send", "news", "future"].map(name);
        let dump = dump_when(|dump| of.iter().zip(expected).all(|(name, reason)| waits(dump, name, reason)));
        let [recv, send, news, future] = of.each_ref().map(|name| named(&dump, name).unwrap());
        for task in [recv, future] {
            let at = task.made_at().unwrap();
            assert_eq!((at.file(), at.line(), task.other_ends()), (made.0, made.1, Some(3)));
        }
        assert_eq!((send.other_ends(), news.other_ends()), (Some(1), None));
        assert_eq!(send.made_at().unwrap().line(), made.1 + 2);
        assert_eq!(news.made_at().unwrap().line(), made.1 + 4);
        let at = |line: u32| format!("/dumps.rs:{line}:");
        for (task, says) in [
            (recv, ["waits for a message of the channel made at ", &at(made.1), " (3 senders)"]),
            (send, ["waits for room in the channel made at ", &at(made.1 + 2), " (1 receiver)"]),
            (news, ["waits for news of a promise, watch or broadcast, made at ", &at(made.1 + 4), ""]),
        ] {
            let why = dump.why(task).to_string();
            says.iter().for_each(|part| assert!(why.contains(part), "{why}"));
        }
        let mut json = String::new();
        dump.write_json(&mut json).unwrap();
        assert!(json.contains(&format!("{}\"", recv.made_at().unwrap())) && json.contains("\"other_ends\": 3"));
        // Whose channel has gone is not there any more: another one has its address.
        drop((tx, others, keeps_full, set));
        tasks.into_iter().for_each(|task| _ = task.join());
    });
}

/// The second closure of a `join` that another worker has taken is known by the place of the call.
#[test]
fn a_join_says_which_it_is() {
    in_both_modes(|rt| {
        let name = format!("joins-{}-{}", rt.is_fiber_mode(), rt.workers());
        let (tx, rx) = unbounded::<()>();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let place = (file!(), line!() + 4);
        let task = start(rt, &name, move || {
            // The first one keeps its worker until another one has the second.
            let first = move || has_begun.recv().unwrap();
            join(first, || {
                begun.send(()).unwrap();
                _ = rx.recv();
            });
        });
        let dump = dump_when(|dump| named(dump, &name).is_some_and(|task| task.made_at().is_some()));
        let waits = named(&dump, &name).unwrap();
        let at = waits.made_at().unwrap();
        assert_eq!((waits.waits_for(), at.file(), at.line()), (Some(WaitReason::Join), place.0, place.1));
        assert!(waits.to_string().contains(" waits for the second closure of the join at …"), "{waits}");
        drop(tx);
        task.join().unwrap();
    });
}

/// Of a task that waits for a scope it is known which tasks those are, and what they wait for.
#[test]
fn a_scope_says_which_tasks_it_has() {
    in_both_modes(|rt| {
        let name = format!("scope-{}-{}", rt.is_fiber_mode(), rt.workers());
        let (tx, rx) = unbounded::<()>();
        let large = [7_u8; 2000];
        let task = start(rt, &name, move || {
            scope(|s| {
                for _ in 0..2 {
                    let rx = &rx;
                    s.spawn(move || _ = rx.recv());
                }
                // (One that stands in a box, of which nothing is known.)
                s.spawn(move || std::hint::black_box(large.len()));
            });
        });
        let receives = |task: &&TaskState| task.waits_for() == Some(WaitReason::Recv);
        let of = |dump: &Dump, scope| {
            dump.tasks().iter().filter(|task| task.scope() == Some(scope)).filter(receives).count()
        };
        let dump = dump_when(|dump| {
            let owner = named(dump, &name).filter(|task| task.waits_for() == Some(WaitReason::Scope));
            owner.is_some_and(|owner| dump.why(owner).chain().len() == 2 && of(dump, owner.object().unwrap()) == 2)
        });
        let owner = named(&dump, &name).unwrap();
        assert_eq!(owner.scope(), None);
        let why = dump.why(owner).to_string();
        assert!(why.contains(" waits for task spawned at ") && why.contains(", which waits for a message"), "{why}");
        // (Where there is room beside the tasks of other tests.)
        dump_when(|dump| dump.to_string().contains("waits for the tasks of a scope: 2 tasks"));
        assert!(dump.to_json().contains(&format!("\"scope\": {}", owner.object().unwrap())));
        assert_eq!(task.why_waiting().unwrap().chain().len(), 2);
        drop(tx);
        task.join().unwrap();
    });
}

#[test]
fn a_task_says_what_it_waits_for_and_which() {
    each_owned(|mode, rt| {
        let (tx, rx) = unbounded::<()>();
        let (full, keeps_full) = bounded(1);
        full.send(()).unwrap();
        let mutex = Arc::new(Mutex::new(()));
        let semaphore = Arc::new(Semaphore::new(1));
        let permit = semaphore.acquire();
        let locked = mutex.lock().unwrap();
        let name = |what: &str| format!("says-{mode}-{}-{what}", rt.workers());
        let other = rx.clone();
        let mut tasks = vec![
            start(&rt, &name("recv"), move || _ = rx.recv()),
            start(&rt, &name("recv too"), move || _ = other.recv()),
            start(&rt, &name("timed recv"), {
                let rx = keeps_full.clone();
                move || {
                    while rx.recv_timeout(LONG).is_ok() {}
                }
            }),
            start(&rt, &name("lock"), {
                let mutex = mutex.clone();
                move || drop(mutex.lock())
            }),
            start(&rt, &name("lock too"), {
                let mutex = mutex.clone();
                move || drop(mutex.lock())
            }),
            start(&rt, &name("permit"), {
                let semaphore = semaphore.clone();
                move || drop(semaphore.acquire())
            }),
        ];
        let sleeper = start(&rt, &name("sleep"), || time::sleep(LONG));
        let stop = sleeper.canceller();
        tasks.push(start(&rt, &name("join"), move || _ = sleeper.join()));
        let expected = [
            ("recv", WaitReason::Recv),
            ("recv too", WaitReason::Recv),
            ("timed recv", WaitReason::Recv),
            ("lock", WaitReason::Lock),
            ("lock too", WaitReason::Lock),
            ("permit", WaitReason::Permits),
            ("sleep", WaitReason::Sleep),
            ("join", WaitReason::Join),
        ];
        let dump = dump_when(|dump| expected.iter().all(|(what, reason)| waits(dump, &name(what), *reason)));
        let of = |what: &str| named(&dump, &name(what)).unwrap();
        for (what, _) in expected {
            assert_eq!(of(what).activity(), Activity::Waits, "{what}");
            assert!(of(what).spawned_at().file().ends_with("dumps.rs"));
            assert_eq!(dump.pools()[of(what).pool()].is_fiber_mode(), rt.is_fiber_mode());
        }
        assert_eq!(of("recv").object(), of("recv too").object());
        assert_eq!(of("lock").object(), of("lock too").object());
        let objects = ["recv", "timed recv", "lock", "permit"].map(|what| of(what).object().expect("it is known"));
        assert_eq!(objects.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert_eq!(dump.joined_by(of("join")).unwrap().name(), Some(&*name("sleep")));
        // The same waits in the next dump, which knows for how long; one that is new begins anew.
        let before = of("recv").waits_since();
        std::thread::sleep(Duration::from_millis(50));
        let later = myriad::dump();
        let now = named(&later, &name("recv")).unwrap().waits_since();
        assert!(now >= before + Duration::from_millis(40), "{before:?}, {now:?}");
        let sent = std::time::Instant::now();
        full.send(()).unwrap();
        // (Another test's dump may have been the first to see the new wait: so it is compared with
        // the time since the old one ended, which was 40 ms old by then.)
        let is_new = |task: &TaskState| task.waits_since() <= sent.elapsed() + Duration::from_millis(20);
        let again = dump_when(|dump| named(dump, &name("timed recv")).is_some_and(is_new));
        assert!(waits(&again, &name("timed recv"), WaitReason::Recv) || keeps_full.is_empty());
        stop.cancel();
        drop((tx, locked, full));
        drop(permit);
        tasks.into_iter().for_each(|task| _ = task.join());
    });
}

/// Of a future the last thing that it began to wait for, where that is one of Myriad's.
#[test]
fn a_future_says_what_it_waits_for_and_which() {
    each_owned(|mode, rt| {
        let (tx, rx) = unbounded::<()>();
        let (full, keeps_full) = bounded(1);
        full.send(()).unwrap();
        let mutex = Arc::new(Mutex::new(()));
        let semaphore = Arc::new(Semaphore::new(1));
        let (permit, locked) = (semaphore.acquire(), mutex.lock().unwrap());
        let (end_call, call) = std::sync::mpsc::channel::<()>();
        let name = |what: &str| format!("future-{mode}-{}-{what}", rt.workers());
        let mut tasks = Vec::new();
        let mut future = |what: &str, future: Pin<Box<dyn Future<Output = ()> + Send>>| {
            tasks.push(task::Builder::new().name(name(what)).on(rt.handle()).spawn_async(future));
        };
        let (one, two, three, four) = (rx.clone(), rx.clone(), rx.clone(), rx.clone());
        future("recv", Box::pin(async move { _ = one.recv_async().await }));
        future("recv with a limit", Box::pin(async move { _ = time::timeout_async(LONG, two.recv_async()).await }));
        future("send", Box::pin(async move { while full.send_async(()).await.is_ok() {} }));
        let m = mutex.clone();
        future("lock", Box::pin(async move { drop(m.lock_async().await) }));
        let s = semaphore.clone();
        future("permit", Box::pin(async move { drop(s.acquire_async().await) }));
        future("sleep", Box::pin(time::sleep_async(LONG)));
        future("call", Box::pin(myriad::blocking_async(move || _ = call.recv())));
        let pending =
            task::Builder::new().name(name("pending")).on(rt.handle()).spawn_async(std::future::pending::<()>());
        let stop = pending.canceller();
        future("join", Box::pin(async move { _ = pending.await }));
        let select = async move {
            myriad::select_async! {
                _ = three.recv() => {}
                _ = four.recv() => {}
            }
        };
        future("select", Box::pin(select));
        // What it gave up in the poll that it is pending in is not what it waits for.
        let (five, never) = (rx.clone(), rx.clone());
        let gives_up = async move {
            {
                let mut given_up = pin!(five.recv_async());
                assert!(poll_fn(|cx| Poll::Ready(given_up.as_mut().poll(cx).is_pending())).await);
            }
            std::future::pending::<()>().await;
            drop(never);
        };
        future("gives up", Box::pin(gives_up));
        let blocked = start(&rt, &name("closure"), move || _ = rx.recv());
        let expected = [
            ("recv", Some(WaitReason::Recv)),
            ("recv with a limit", Some(WaitReason::Recv)),
            ("send", Some(WaitReason::Send)),
            ("lock", Some(WaitReason::Lock)),
            ("permit", Some(WaitReason::Permits)),
            ("sleep", Some(WaitReason::Sleep)),
            ("call", Some(WaitReason::Blocking)),
            ("join", Some(WaitReason::Join)),
            ("select", Some(WaitReason::Select)),
            ("pending", None),
            ("gives up", None),
            ("closure", Some(WaitReason::Recv)),
        ];
        let is_there = |dump: &Dump, what, reason| {
            let task = named(dump, &name(what));
            task.is_some_and(|task| task.activity() == Activity::Waits && task.waits_for() == reason)
        };
        let dump = dump_when(|dump| expected.iter().all(|(what, reason)| is_there(dump, what, *reason)));
        let of = |what: &str| named(&dump, &name(what)).unwrap();
        let channel = of("closure").object();
        assert!(channel.is_some() && of("recv").object() == channel && of("recv with a limit").object() == channel);
        assert!(of("send").object() != channel && of("lock").object().is_some() && of("sleep").object().is_none());
        assert_eq!(dump.joined_by(of("join")).unwrap().name(), Some(&*name("pending")));
        assert!(of("recv").to_string().contains(" waits for a message"), "{}", of("recv"));
        // A wait that goes on is the same one in the next dump; one that is new begins anew.
        let before = of("send").waits_since();
        std::thread::sleep(Duration::from_millis(50));
        let later = dump_when(|dump| waits(dump, &name("send"), WaitReason::Send));
        let now = named(&later, &name("send")).unwrap().waits_since();
        assert!(now >= before + Duration::from_millis(40), "{before:?}, {now:?}");
        let taken = std::time::Instant::now();
        keeps_full.recv().unwrap();
        let is_new = |task: &TaskState| task.waits_since() <= taken.elapsed() + Duration::from_millis(20);
        dump_when(|dump| named(dump, &name("send")).is_some_and(is_new));
        stop.cancel();
        drop((tx, locked, permit, keeps_full, end_call));
        tasks.iter().for_each(|task| task.cancel());
        tasks.into_iter().for_each(|task| _ = task.join());
        blocked.join().unwrap();
    });
}

#[test]
fn a_stuck_worker_is_seen_with_its_task() {
    in_both_modes(|rt| {
        let end = Arc::new(AtomicBool::new(false));
        let name = format!("stuck-{}-{}", rt.is_fiber_mode(), rt.workers());
        let busy = end.clone();
        let task = start(rt, &name, move || {
            while !busy.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        dump_when(|dump| {
            let workers = || dump.pools().iter().flat_map(|pool| pool.workers());
            named(dump, &name).is_some_and(|task| task.activity() == Activity::Runs)
                && workers().any(|w| w.task_name() == Some(&name) && w.doing() == Doing::Stuck)
                // (As text, when the pools of other tests leave room.)
                && dump.to_string().contains(&format!("task '{name}'"))
        });
        end.store(true, SeqCst);
        task.join().unwrap();
    });
}

/// On top of a task runs another one, or a closure, which has never blocked: so the one below is in
/// no queue.
#[test]
fn what_is_below_another_task_is_not_queued() {
    each_owned(|mode, rt| {
        let (began, end) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let busy = {
            let (began, end) = (began.clone(), end.clone());
            move || {
                let mine = began.fetch_add(1, SeqCst) + 1;
                while end.load(SeqCst) < mine {
                    std::hint::spin_loop();
                }
            }
        };
        let is_below = |what: &str, body: Box<dyn FnOnce() + Send>| {
            let name = format!("below-{mode}-{}-{what}", rt.workers());
            let number = end.load(SeqCst) + 1;
            let below = start(&rt, &name, body);
            wait_until(|| began.load(SeqCst) == number);
            let dump = myriad::dump();
            let activity = named(&dump, &name).unwrap().activity();
            end.store(number, SeqCst);
            below.join().unwrap();
            assert_ne!(activity, Activity::Queued, "{what}: {dump}");
        };
        let (of_scope, of_join) = (busy.clone(), busy);
        is_below("scope", Box::new(move || scope(|s| drop(s.spawn(of_scope)))));
        let panics = || panic!("{PLANNED}");
        is_below("join", Box::new(move || _ = catch_unwind(AssertUnwindSafe(|| join(panics, of_join)))));
    });
}

#[test]
fn threads_that_wait_are_seen() {
    in_both_modes(|rt| {
        let (tx, rx) = bounded::<()>(0);
        let name = format!("outside-{}-{}", rt.is_fiber_mode(), rt.workers());
        let thread = std::thread::Builder::new().name(name.clone()).spawn(move || rx.recv()).unwrap();
        let waits = |dump: &Dump| {
            let mut threads = dump.threads().iter();
            threads.any(|thread| thread.name() == Some(&name) && thread.waits_for() == WaitReason::Recv)
        };
        dump_when(waits);
        let sent = start(rt, "to a thread", move || tx.send(()).unwrap());
        sent.join().unwrap();
        thread.join().unwrap().unwrap();
        assert!(!waits(&myriad::dump()), "it has ended");
    });
}

/// Ten thousand of a kind are one entry, and the whole is short.
#[test]
fn alike_tasks_are_one_entry() {
    // SAFETY: none of these tasks blocks in a thread-local scope or a destructor.
    let rt = unsafe { myriad::Builder::fibers() }.name("alike").workers(2).build().unwrap();
    let (tx, rx) = unbounded::<()>();
    let line = rt.run(|| {
        let mut line = 0;
        for _ in 0..10_000 {
            let rx = rx.clone();
            line = line!() + 1;
            drop(spawn(move || _ = rx.recv()));
        }
        line
    });
    let here = |task: &&TaskState| {
        task.spawned_at().line() == line && task.spawned_at().file() == file!() && task.activity() == Activity::Waits
    };
    let dump = dump_when(|dump| dump.tasks().iter().filter(here).count() == 10_000);
    let text = dump.to_string();
    assert!(text.lines().count() <= 40, "{text}");
    let at = text.find("10,000 tasks spawned at").unwrap_or_else(|| panic!("{text}"));
    let says =
        if cfg!(debug_assertions) { "all of the channel made at " } else { "wait for a message, all of one channel" };
    assert!(text[at..].lines().take(3).any(|line| line.contains(says)), "{text}");
    drop(tx);
}

/// Runtimes begin and end, and with them the stacks of their tasks, while dumps are taken: records
/// become those of another one's tasks meanwhile.
#[test]
fn dumps_beside_runtimes_that_end() {
    quiet();
    let left = AtomicUsize::new(2);
    std::thread::scope(|s| {
        for mode in [MODES, [MODES[1], MODES[0]]] {
            let left = &left;
            s.spawn(move || {
                for round in 0..if full_length() { 200 } else { 40 } {
                    let mode = mode[round % 2];
                    if mode == Mode::Fibers && !fibers_supported() {
                        continue;
                    }
                    let rt = mode.runtime(2);
                    let (tx, rx) = unbounded::<()>();
                    let wait = |_| {
                        let rx = rx.clone();
                        rt.spawn(move || _ = rx.recv())
                    };
                    let tasks: Vec<_> = (0..20).map(wait).collect();
                    drop(tx);
                    tasks.into_iter().for_each(|task| task.join().unwrap());
                }
                left.fetch_sub(1, SeqCst);
            });
        }
        while left.load(SeqCst) > 0 {
            for task in myriad::dump().tasks().iter().filter(|task| task.name().is_none()) {
                assert!(task.waits_for().is_none() || task.activity() == Activity::Waits, "{task}");
            }
        }
    });
}

/// Tasks begin, wait, go on and end by the ten thousand while dumps are taken: each entry is one
/// that may be.
#[test]
fn dumps_beside_a_storm() {
    in_both_modes(|rt| {
        let over = AtomicBool::new(false);
        let dumps = AtomicUsize::new(0);
        std::thread::scope(|s| {
            s.spawn(|| {
                while !over.load(SeqCst) {
                    let dump = myriad::dump();
                    for task in dump.tasks().iter().filter(|task| task.spawned_at().file() == file!()) {
                        let reason = task.waits_for();
                        if let Some(name) = task.name().filter(|name| name.starts_with("storm-")) {
                            let may_be = match name {
                                "storm-recv" => [Some(WaitReason::Recv), None],
                                "storm-lock" => [Some(WaitReason::Lock), None],
                                "storm-yield" => [None, None],
                                _ => [Some(WaitReason::Join), Some(WaitReason::Scope)],
                            };
                            assert!(may_be.contains(&reason) || reason.is_none(), "{name}: {reason:?}");
                        }
                    }
                    if dumps.fetch_add(1, SeqCst).is_multiple_of(16) {
                        assert!(dump.to_string().lines().count() <= 40);
                        assert!(dump.to_json().ends_with("]}\n"));
                    }
                }
            });
            let rounds = if rt.is_fiber_mode() { 200 } else { 20 };
            let lock = Arc::new(Mutex::new(()));
            rt.run(|| {
                for round in 0..rounds {
                    let mutex = Mutex::new(0);
                    scope(|s| {
                        for _ in 0..20 {
                            let (tx, rx) = bounded::<u32>(0);
                            // (At one place: nothing but their names and waits tells them apart.)
                            let storm = |name: &str, f: Box<dyn FnOnce() + Send>| {
                                drop(task::Builder::new().name(name).spawn(f));
                            };
                            storm("storm-recv", Box::new(move || _ = rx.recv()));
                            drop(spawn(move || _ = tx.send(round)));
                            storm("storm-yield", Box::new(yield_now));
                            let lock = lock.clone();
                            storm(
                                "storm-lock",
                                Box::new(move || {
                                    let held = lock.lock();
                                    yield_now();
                                    drop(held);
                                }),
                            );
                            drop(spawn_async(async {
                                time::sleep_async(Duration::from_micros(10)).await;
                            }));
                            s.spawn(|| {
                                let mut count = mutex.lock().unwrap();
                                yield_now();
                                *count += 1;
                            });
                        }
                    });
                    assert_eq!(*mutex.lock().unwrap(), 20);
                }
            });
            wait_until(|| dumps.load(SeqCst) > 20);
            over.store(true, SeqCst);
        });
    });
}
