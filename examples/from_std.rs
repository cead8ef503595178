//! Prints: 3000 lines, 1000 of each level, 1000 alarms, 1000 dropped; source-3: it broke
//!
//! A log aggregator, as one writes it with threads: sources that begin together (`Barrier`), a
//! bounded queue (`sync_channel`), parsers in a scope, totals behind a `Mutex` with a `Condvar`, a
//! thread that is parked, time limits, and a source that panics.

use myriad::channel::{RecvTimeoutError, Sender, bounded, unbounded};
use myriad::sync::{Arc, Barrier, Condvar, Event, LazyLock, Mutex, RwLock};
use std::collections::HashMap;
use std::time::Duration;

static LEVELS: LazyLock<HashMap<&str, usize>> =
    LazyLock::new(|| HashMap::from([("INFO", 0), ("WARN", 1), ("ERROR", 2)]));

#[derive(Default)]
struct Totals {
    lines: u64,
    levels: [u64; 3],
    dropped: u64,
}

fn source(name: &str, out: &Sender<String>) {
    for n in 0..1000 {
        let level = ["INFO", "WARN", "ERROR", "?"][n % 4];
        out.send(format!("{level} {name} line {n}")).unwrap(); // waits while the queue is full
    }
}

fn parsed(line: &str) -> Option<(usize, &str)> {
    let (level, rest) = line.split_once(' ')?;
    Some((*LEVELS.get(level)?, rest))
}

fn main() {
    let (totals, changed) = (Mutex::new(Totals::default()), Condvar::new());
    let names = Arc::new(RwLock::new(Vec::new()));
    let start = Arc::new(Barrier::new(4));
    let (lines, inbox) = bounded::<String>(64); // mpsc::sync_channel; both ends can be cloned
    let (errors, alarms) = unbounded::<String>(); // mpsc::channel

    let sources: Vec<_> = (0..4)
        .map(|i| {
            let (lines, start, names) = (lines.clone(), start.clone(), names.clone());
            // thread::Builder
            myriad::task::Builder::new().name(format!("source-{i}")).spawn(move || {
                let name = format!("source-{i}");
                names.write().unwrap().push(name.clone());
                start.wait();
                source(&name, &lines);
                if i == 3 {
                    std::panic::resume_unwind(Box::new("it broke")); // a panic without a message
                }
            })
        })
        .collect();
    drop(lines);

    let wake = Arc::new(Event::auto_reset()); // thread::park, unpark
    let parked = {
        let wake = wake.clone();
        myriad::spawn(move || wake.wait())
    };

    // thread::scope
    let half = myriad::scope(|s| {
        for _ in 0..3 {
            let (inbox, errors) = (inbox.clone(), errors.clone());
            let (totals, changed) = (&totals, &changed);
            s.spawn(move || {
                for line in &inbox {
                    let mut totals = totals.lock().unwrap();
                    match parsed(&line) {
                        Some((level, rest)) => {
                            totals.lines += 1;
                            totals.levels[level] += 1;
                            if level == 2 {
                                errors.send(rest.to_string()).unwrap();
                            }
                        }
                        None => totals.dropped += 1,
                    }
                    changed.notify_one();
                }
            });
        }
        drop(errors);
        let totals = totals.lock().unwrap();
        let limit = Duration::from_secs(60);
        let (totals, result) = changed.wait_timeout_while(totals, limit, |t| t.lines < 1500).unwrap();
        assert!(!result.timed_out());
        totals.lines
    });
    assert!(half >= 1500);
    wake.set();
    parked.join().unwrap();

    let mut count = 0;
    loop {
        match alarms.recv_timeout(Duration::from_secs(60)) {
            Ok(_) => count += 1,
            Err(RecvTimeoutError::Timeout) => panic!("too slow"),
            Err(RecvTimeoutError::Closed) => break, // Disconnected
        }
    }
    let failed = sources.into_iter().filter_map(|source| source.join().err()).next().expect("one panics");
    let name = failed.name().expect("it has a name").to_string();
    let payload = *failed.into_panic().downcast::<&str>().unwrap();

    let totals = totals.into_inner().unwrap();
    assert_eq!((totals.levels, names.read().unwrap().len()), ([1000; 3], 4));
    println!(
        "{} lines, {} of each level, {count} alarms, {} dropped; {name}: {payload}",
        totals.lines, totals.levels[0], totals.dropped
    );
}
