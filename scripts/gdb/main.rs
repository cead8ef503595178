//! Tasks that wait, for `gdb.sh`: it stops at `ready_for_gdb`, or leaves a core dump there.
use myriad::channel::{Receiver, bounded};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

static WAITING: AtomicUsize = AtomicUsize::new(0);

#[inline(never)]
fn outer_function(rx: &Receiver<u64>, n: u64) -> u64 {
    black_box(inner_function(rx, n)) + 1
}

#[inline(never)]
fn inner_function(rx: &Receiver<u64>, n: u64) -> u64 {
    WAITING.fetch_add(1, SeqCst);
    black_box(rx.recv().unwrap_or(n)) + 1
}

#[inline(never)]
#[unsafe(no_mangle)]
extern "C" fn ready_for_gdb() {
    black_box(());
}

fn main() {
    let builder = match std::env::args().nth(1).as_deref() {
        // SAFETY: the tasks keep no thread-local over a wait.
        Some("fibers") => unsafe { myriad::Builder::fibers() },
        _ => myriad::Builder::new(),
    };
    let rt = builder.workers(2).build().unwrap();
    let (tx, rx) = bounded::<u64>(1);
    let mut tasks: Vec<_> = (0..3)
        .map(|n| {
            let rx = rx.clone();
            rt.spawn(move || outer_function(&rx, n))
        })
        .collect();
    tasks.push(rt.spawn_async(async move { rx.recv_async().await.unwrap_or(0) }));
    tasks.push(rt.spawn_async(async move { std::future::pending::<u64>().await }));
    let is_waiting = |task: &&myriad::dump::TaskState| task.waits_for() == Some(myriad::WaitReason::Recv);
    while WAITING.load(SeqCst) < 3 || myriad::dump().tasks().iter().filter(is_waiting).count() < 4 {
        std::thread::yield_now();
    }
    ready_for_gdb();
    if std::env::args().nth(2).is_some() {
        std::process::abort();
    }
    drop(tx);
    tasks.pop().unwrap().cancel();
    tasks.into_iter().for_each(|task| _ = task.join().unwrap());
}
