//! Prints: nothing came; the message is back; three days have passed
//!
//! Waiting for so long and no longer. An operation whose time is over has had no effect: a message
//! that could not be sent comes back. And a clock for tests: in a runtime with a manual clock, days
//! pass at once.

use myriad::channel::{RecvTimeoutError, bounded};
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(5);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn main() {
    let (tx, rx) = bounded(1);
    let (nothing, back) = myriad::run(|| {
        let nothing = match rx.recv_timeout(MOMENT) {
            Err(RecvTimeoutError::Timeout) => "nothing came",
            other => panic!("{other:?}"),
        };
        tx.send("fits").unwrap();
        let error = tx.send_timeout("message", MOMENT).unwrap_err();
        assert!(error.is_timeout());
        (nothing, format!("the {} is back", error.into_inner()))
    });

    let rt = myriad::Builder::new().workers(1).manual_clock().build().unwrap();
    let (begin, until) = (rt.now(), rt.now() + 3 * DAY);
    // Until a point in time, not for so long: the task may begin to sleep after the first day.
    let sleeper = rt.spawn(move || {
        myriad::time::sleep_until(until);
        myriad::time::now() - begin
    });
    while !sleeper.is_finished() && rt.now() < until {
        rt.advance(DAY);
    }
    assert_eq!(sleeper.join().unwrap(), 3 * DAY);
    println!("{nothing}; {back}; three days have passed");
}
