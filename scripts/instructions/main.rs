//! One operation, N times: what `scripts/instructions.sh` counts the instructions of.
//!
//!     operations MODE NAME N        `operations MODE` lists the names
//!
//! One worker, so that nothing depends on who is first. What an operation costs is the difference
//! between 3 N and N of them. Each program checks what it has computed. Only names that have long
//! been there are used: older revisions are built with this file too.

use myriad::channel::{bounded, unbounded};
use myriad::sync::{Mutex, RwLock, Semaphore, SingleFlight};
use myriad::{Builder, Runtime, block_on, flow, join, scope, select, spawn, spawn_async, task, time};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

type Operation = (&'static str, fn(&Runtime, usize));

const OPERATIONS: &[Operation] = &[
    ("spawn and join", |rt, n| {
        rt.run(|| {
            for i in 0..n {
                assert_eq!(spawn(move || i).join().unwrap(), i);
            }
        });
    }),
    ("spawn 100, join all", |rt, n| {
        rt.run(|| {
            for _ in 0..n / 100 {
                let all: Vec<_> = (0..100).map(|i| spawn(move || i)).collect();
                assert_eq!(all.into_iter().map(|h| h.join().unwrap()).sum::<i32>(), 4950);
            }
        });
    }),
    ("spawn in a scope of 10", |rt, n| {
        rt.run(|| {
            let sum = AtomicUsize::new(0);
            for _ in 0..n / 10 {
                scope(|s| (0..10).for_each(|_| drop(s.spawn(|| sum.fetch_add(1, Relaxed)))));
            }
            assert_eq!(sum.into_inner(), n / 10 * 10);
        });
    }),
    ("fork of join", |rt, n| {
        fn tree(depth: u32) -> usize {
            if depth == 0 {
                return 1;
            }
            let (a, b) = join(|| tree(depth - 1), || tree(depth - 1));
            a + b
        }
        rt.run(|| (0..n / 1023).for_each(|_| assert_eq!(tree(black_box(10)), 1024)));
    }),
    ("future, spawn and join", |rt, n| {
        rt.run(|| {
            for i in 0..n {
                assert_eq!(spawn_async(async move { i }).join().unwrap(), i);
            }
        });
    }),
    ("future, spawn and await", |rt, n| {
        rt.run(|| {
            block_on(async {
                for i in 0..n {
                    assert_eq!(spawn_async(async move { i }).await.unwrap(), i);
                }
            });
        });
    }),
    ("ping-pong of closures", |rt, n| {
        rt.run(|| {
            let (to, from) = bounded(1);
            let (back, answers) = bounded(1);
            let echo = spawn(move || (&from).into_iter().for_each(|x: usize| back.send(x).unwrap()));
            for i in 0..n {
                to.send(i).unwrap();
                assert_eq!(answers.recv().unwrap(), i);
            }
            drop(to);
            echo.join().unwrap();
        });
    }),
    ("ping-pong of futures", |rt, n| {
        rt.run(|| {
            let (to, from) = bounded(1);
            let (back, answers) = bounded(1);
            let echo = spawn_async(async move {
                while let Ok(x) = from.recv_async().await {
                    back.send_async(x).await.unwrap();
                }
            });
            let asks = spawn_async(async move {
                for i in 0..n {
                    to.send_async(i).await.unwrap();
                    assert_eq!(answers.recv_async().await.unwrap(), i);
                }
            });
            asks.join().unwrap();
            echo.join().unwrap();
        });
    }),
    ("send and receive, room", |rt, n| {
        rt.run(|| {
            let (tx, rx) = bounded(4);
            for i in 0..n {
                tx.send(i).unwrap();
                assert_eq!(rx.recv().unwrap(), i);
            }
        });
    }),
    ("try_recv, empty", |rt, n| {
        rt.run(|| {
            let (_tx, rx) = unbounded::<usize>();
            assert_eq!((0..n).filter(|_| rx.try_recv().is_ok()).count(), 0);
        });
    }),
    ("select of two, one ready", |rt, n| {
        rt.run(|| {
            let (tx, rx) = bounded(4);
            let (_never, other) = bounded::<usize>(4);
            for i in 0..n {
                tx.send(i).unwrap();
                select! {
                    x = rx.recv() => assert_eq!(x.unwrap(), i),
                    _ = other.recv() => unreachable!(),
                }
            }
        });
    }),
    ("select of two, default", |rt, n| {
        rt.run(|| {
            let (_a, rx) = bounded::<usize>(4);
            let (_b, other) = bounded::<usize>(4);
            let mut defaults = 0;
            for _ in 0..n {
                select! {
                    _ = rx.recv() => unreachable!(),
                    _ = other.recv() => unreachable!(),
                    default => defaults += 1,
                }
            }
            assert_eq!(defaults, n);
        });
    }),
    ("mutex", |rt, n| {
        rt.run(|| {
            let lock = Mutex::new(0);
            (0..n).for_each(|_| *lock.lock().unwrap() += 1);
            assert_eq!(lock.into_inner().unwrap(), n);
        });
    }),
    ("mutex with a limit", |rt, n| {
        rt.run(|| {
            let lock = Mutex::new(0);
            (0..n).for_each(|_| *lock.lock_timeout(HOUR).unwrap() += 1);
            assert_eq!(lock.into_inner().unwrap(), n);
        });
    }),
    ("rwlock, write", |rt, n| {
        rt.run(|| {
            let lock = RwLock::new(0);
            (0..n).for_each(|_| *lock.write().unwrap() += 1);
            assert_eq!(lock.into_inner().unwrap(), n);
        });
    }),
    ("semaphore", |rt, n| {
        rt.run(|| {
            let semaphore = Semaphore::new(2);
            (0..n).for_each(|_| drop(semaphore.acquire()));
            assert_eq!(semaphore.available(), 2);
        });
    }),
    ("work done once", |rt, n| {
        rt.run(|| {
            let once = SingleFlight::new();
            (0..n).for_each(|i| assert_eq!(once.run(i % 7, || i).0, i));
        });
    }),
    ("element of a set", |rt, n| {
        rt.run(|| {
            for _ in 0..n / 100 {
                let mut set = task::JoinSet::new();
                (0..100).for_each(|i| set.spawn(move || i));
                let mut sum = 0;
                while let Some(x) = set.join_next() {
                    sum += x.unwrap();
                }
                assert_eq!(sum, 4950);
            }
        });
    }),
    ("node of a dataflow", |rt, n| {
        rt.run(|| {
            for _ in 0..n {
                assert_eq!(flow::spawn(|n: u64| n + 1, (1_u64,)).join().unwrap(), 2);
            }
        });
    }),
    ("node that is lent a value", |rt, n| {
        rt.run(|| {
            let mut last = flow::spawn(|| 1_u64, ());
            for _ in 0..n {
                last = flow::spawn(|n: &u64| n + 1, (&last,));
            }
            assert_eq!(last.join().unwrap(), n as u64 + 1);
        });
    }),
    ("node with a name", |rt, n| {
        rt.run(|| {
            for _ in 0..n {
                assert_eq!(flow::named("n").spawn(|n: u64| n + 1, (1_u64,)).join().unwrap(), 2);
            }
        });
    }),
    ("yield", |rt, n| {
        rt.run(|| {
            let other = spawn(move || (0..n).for_each(|_| task::yield_now()));
            (0..n).for_each(|_| task::yield_now());
            other.join().unwrap();
        });
    }),
    ("future with a limit, ready", |rt, n| {
        rt.run(|| {
            for i in 0..n {
                assert_eq!(block_on(time::timeout_async(HOUR, async { black_box(i) })).unwrap(), i);
            }
        });
    }),
    // Pending, then looked at once more, for the limit is over; no timer.
    ("future with a limit, over", |rt, n| {
        rt.run(|| {
            for _ in 0..n {
                let late = time::timeout_async(Duration::ZERO, black_box(std::future::pending::<()>()));
                assert!(block_on(late).is_err());
            }
        });
    }),
    ("limit that does not end", |rt, n| {
        rt.run(|| {
            for i in 0..n {
                assert_eq!(time::timeout(HOUR, || black_box(i)).unwrap(), i);
            }
        });
    }),
    ("cancel a task that waits", |rt, n| {
        rt.run(|| {
            for _ in 0..n {
                let h = spawn(|| time::sleep(HOUR));
                task::yield_now();
                h.cancel();
                assert!(h.join().unwrap_err().is_cancelled());
            }
        });
    }),
    ("keep_thread", |rt, n| {
        rt.run(|| (0..n).for_each(|i| assert_eq!(task::keep_thread(|| black_box(i)), i)));
    }),
    ("spawn by a foreign thread", |rt, n| {
        // The worker is held meanwhile.
        let (go, held) = std::sync::mpsc::channel::<()>();
        let (tell, told) = std::sync::mpsc::channel::<()>();
        let holds = rt.spawn(move || {
            tell.send(()).unwrap();
            held.recv().unwrap();
        });
        told.recv().unwrap();
        let sum = Arc::new(AtomicUsize::new(0));
        for _ in 0..n {
            let sum = sum.clone();
            drop(rt.spawn(move || sum.fetch_add(1, Relaxed)));
        }
        go.send(()).unwrap();
        holds.join().unwrap();
        while sum.load(Relaxed) < n {
            std::thread::yield_now();
        }
    }),
];

fn main() {
    let args: Vec<_> = std::env::args().skip(1).collect();
    // SAFETY: nothing here blocks in a thread-local scope or in a destructor.
    let builder = match args.first().map(String::as_str) {
        Some("fibers") => unsafe { Builder::fibers() },
        Some("threads") => Builder::new(),
        _ => panic!("operations fibers|threads [NAME N]"),
    };
    let [_, name, n] = &args[..] else {
        return OPERATIONS.iter().for_each(|(name, _)| println!("{name}"));
    };
    let rt = builder.workers(1).spare_workers(0).build().unwrap();
    let operation = OPERATIONS.iter().find(|o| o.0 == name).expect("a name of the list");
    (operation.1)(&rt, n.parse().expect("a number"));
}
