//! Prints: task 'reader' is Blocked; 1 future was dropped, and its joiner knows: true
//!
//! Ending a runtime. `shutdown` waits for the tasks as long as you say, drops futures that still
//! wait, and names what it cannot end: nobody can take its stack away from a closure that is
//! blocked.

use myriad::channel::bounded;
use std::time::Duration;

fn main() {
    let rt = myriad::Builder::new().workers(1).build().unwrap();
    // We keep the sender, so that nobody can be told that nothing will come.
    let (never, forever) = bounded::<()>(1);

    let inbox = forever.clone();
    let future = rt.run(move || {
        drop(myriad::task::Builder::new().name("reader").spawn(move || inbox.recv()));
        myriad::spawn_async(async move { forever.recv_async().await })
    });

    let report = rt.shutdown(Duration::from_millis(20));
    assert!(!report.is_clean());
    eprintln!("{report}");

    let [task] = report.unfinished() else { panic!("one task is blocked") };
    let dropped = report.dropped().len();
    let told = future.join().unwrap_err().is_shutdown();
    println!(
        "task '{}' is {:?}; {dropped} future was dropped, and its joiner knows: {told}",
        task.name().unwrap_or("?"),
        task.state()
    );
    drop(never);
}
