//! Prints: 10000 tasks waited at the same time
//!
//! Fiber mode: a closure that blocks is set aside with its stack, for some nanoseconds and 4 KiB,
//! instead of keeping an OS thread. It is switched on once, at the top of a program, by one
//! `unsafe` call with a written contract (docs/SOUNDNESS.md). All else is the same program as in
//! threads mode.

use myriad::channel::bounded;

fn main() {
    // SAFETY: no code that runs in this program's tasks blocks inside a thread-local scope, inside
    // the initialiser of a thread-local, or in a destructor that runs because of a panic.
    unsafe { myriad::Builder::fibers() }.install().expect("this platform has fibers");

    const TASKS: usize = 10_000;
    let waited = myriad::run(|| {
        let (started, has_started) = bounded(TASKS);
        let (gate, at_the_gate) = bounded::<()>(0);
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (started, at_the_gate) = (started.clone(), at_the_gate.clone());
                myriad::spawn(move || {
                    started.send(()).unwrap();
                    // Waits until the gate is closed: then there is nothing to receive any more.
                    at_the_gate.recv().unwrap_err();
                })
            })
            .collect();
        has_started.iter().take(TASKS).for_each(drop);
        gate.close();
        tasks.into_iter().map(|task| task.join().unwrap()).count()
    });
    println!("{waited} tasks waited at the same time");
}
