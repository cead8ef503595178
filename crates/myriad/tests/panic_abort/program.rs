//! A program that is compiled with `panic = "abort"`, all of it: see scripts/panic-abort.sh.
//! Arguments: threads or fibers, and what to do.
//!
//! There is no unwinding, so a cancellation is a request: tasks that have not begun never do,
//! futures are dropped, and a closure that has begun looks at `is_cancelled`. Its waits go on.

use myriad::cancel::{self, Token};
use myriad::sync::Mutex;
use myriad::{channel, par, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn main() {
    let [mode, what] = [1, 2].map(|i| std::env::args().nth(i).expect("two arguments"));
    let builder = match &*mode {
        // SAFETY: nothing here waits in a thread-local scope, in an initialiser, or while a panic
        // unwinds.
        "fibers" => unsafe { myriad::Builder::fibers() },
        _ => myriad::Builder::new(),
    };
    for workers in [1, 2] {
        let rt = builder.clone().workers(workers).build().unwrap();
        match &*what {
            "well" => rt.run(well),
            "cancel" => rt.run(cancels),
            "panic" => rt.run(|| {
                let task = myriad::spawn(|| panic!("of a task, on purpose"));
                println!("the joiner is told: {}", task.join().is_err());
            }),
            "panic in a loop" => rt.run(|| par::for_each_index(0..10, |i| assert!(i != 5, "of a body, on purpose"))),
            _ => panic!("there is no {what}"),
        }
        let report = rt.shutdown(HOUR);
        assert!(report.is_clean(), "{report:?}");
    }
    println!("all is well");
}

/// What does not unwind is as always.
fn well() {
    let handles: Vec<_> = (0..100_u64)
        .map(|i| {
            myriad::spawn(move || {
                myriad::yield_now();
                i
            })
        })
        .collect();
    assert_eq!(handles.into_iter().map(|h| h.join().unwrap()).sum::<u64>(), 4950);
    assert_eq!(myriad::join(|| 1, || 2), (1, 2));
    let mut parts = [0_u8; 64];
    myriad::scope(|s| parts.iter_mut().for_each(|part| _ = s.spawn(|| *part = 1)));
    assert_eq!(parts, [1; 64]);
    for (tx, rx) in [channel::bounded(1), channel::rendezvous(), channel::unbounded()] {
        let sender = myriad::spawn(move || (0..1000_u64).for_each(|i| tx.send(i).unwrap()));
        assert_eq!(rx.into_iter().sum::<u64>(), 499_500);
        sender.join().unwrap();
    }
    let (tx, rx) = channel::bounded::<u32>(1);
    assert!(rx.recv_timeout(Duration::from_millis(1)).is_err());
    drop(tx);
    let count = Arc::new(Mutex::new(0));
    myriad::scope(|s| {
        for _ in 0..20 {
            s.spawn(|| {
                let mut count = count.lock().unwrap();
                myriad::yield_now();
                *count += 1
            });
        }
    });
    assert_eq!(*count.lock().unwrap(), 20);
    assert_eq!(par::map_index(0..10_000_usize, |i| i).len(), 10_000);
    let mut v: Vec<u32> = (0..100_000_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    par::sort(&mut v);
    assert!(v.is_sorted());
    let future = myriad::spawn_async(async {
        time::sleep_async(Duration::from_millis(1)).await;
        7
    });
    assert_eq!(future.join().unwrap(), 7);
    assert_eq!(myriad::blocking(|| 3), 3);
    assert_eq!(time::timeout(HOUR, || 5).unwrap(), 5);
}

/// Cancelled tasks: what is documented, and nothing is aborted.
fn cancels() {
    // A wait is not ended; the task is asked, and its result is there.
    let (tx, rx) = channel::bounded::<u32>(0);
    let (begun, has_begun) = channel::bounded(1);
    let waits = myriad::spawn(move || {
        begun.send(()).unwrap();
        let got = rx.recv();
        (got, cancel::is_cancelled())
    });
    has_begun.recv().unwrap();
    waits.cancel();
    tx.send(5).unwrap();
    assert_eq!(waits.join().unwrap(), (Ok(5), true));

    // A task that looks.
    let looks = myriad::spawn(|| {
        let mut looks = 0_u64;
        while !cancel::is_cancelled() {
            looks += 1;
            myriad::yield_now();
            cancel::check();
        }
        looks
    });
    myriad::yield_now();
    looks.cancel();
    // (If it had not begun, it never did.)
    assert!(looks.join().map_or_else(|error| error.is_cancelled(), |_| true));

    // A future is dropped.
    let dropped = Arc::new(AtomicUsize::new(0));
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let counts = Counts(dropped.clone());
    let future = myriad::spawn_async(async move {
        let _counts = counts;
        time::sleep_async(HOUR).await
    });
    future.cancel();
    assert!(future.join().unwrap_err().is_cancelled());
    assert_eq!(dropped.load(Relaxed), 1);

    // A region's closure is asked, and if it is done its result is there; a token that is cancelled
    // already has it not called.
    let token = Token::new();
    let asked = token.run(|| {
        let before = cancel::is_cancelled();
        token.cancel();
        myriad::yield_now();
        (before, cancel::is_cancelled())
    });
    assert_eq!(asked.unwrap(), (false, true));
    assert!(token.run(|| ()).is_err());
    let asked = time::timeout(Duration::from_millis(1), || {
        while !cancel::is_cancelled() {
            myriad::yield_now();
        }
    });
    assert!(asked.is_ok() && !cancel::is_cancelled());
    let bodies = AtomicUsize::new(0);
    let token = Token::new();
    let body = |i| {
        if i == 0 {
            token.cancel();
        }
        bodies.fetch_add(1, Relaxed);
    };
    assert!(token.run(|| par::for_each_index(0..100_usize, body)).is_ok());
    assert_eq!(bodies.into_inner(), 100);
}
