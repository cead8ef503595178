//! Prints: 60 files, 1770 bytes; f7: InvalidData; 60 numbers; called once: 1; the user left
//!
//! Programs of Go: the digests of all files below a folder, with a fixed number of goroutines and
//! an errgroup ("Pipelines and cancellation", the Go blog); a select with a ticker and nil
//! channels; WaitGroup and Once; a context with a cause.

use myriad::cancel::Token;
use myriad::channel::{Receiver, Sender, bounded, rendezvous, tick};
use myriad::sync::{Arc, Mutex, Once, WaitGroup};
use myriad::{blocking, select, spawn, time, try_scope};
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// filepath.Walk
fn walk(folder: &Path, paths: &Sender<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), paths)?;
        } else if paths.send(entry.path()).is_err() {
            return Ok(()); // nobody wants more
        }
    }
    Ok(())
}

/// The sizes of all files below, or the first error, as of one with the name `bad`.
fn digests(root: &Path, bad: Option<&str>) -> Result<BTreeMap<PathBuf, usize>> {
    let (paths, to_read) = bounded(16); // make(chan string, 16)
    let (results, sizes) = rendezvous(); // make(chan result)
    let mut all = BTreeMap::new();
    try_scope(|group| {
        // errgroup.WithContext
        group.spawn(move || blocking(|| walk(root, &paths))); // system calls
        for _ in 0..8 {
            let (to_read, results) = (to_read.clone(), results.clone());
            group.spawn(move || {
                // g.Go
                for path in &to_read {
                    if bad.is_some_and(|bad| path.ends_with(bad)) {
                        return Err(Error::new(ErrorKind::InvalidData, "not a text"));
                    }
                    let text = blocking(|| std::fs::read(&path))?;
                    if results.send((path, text.len())).is_err() {
                        return Ok(());
                    }
                }
                Ok(())
            });
        }
        drop(results); // the tasks have the others
        all.extend(&sizes); // until the last of them has ended
        Ok(())
    })?; // g.Wait: all errors, as the first one
    Ok(all)
}

/// A merge whose channels become nil when they are closed, with a ticker that shows progress.
fn merge(a: Receiver<u32>, b: Receiver<u32>) -> Vec<u32> {
    let ticker = tick(Duration::from_millis(100));
    let (mut all, mut more_a, mut more_b) = (Vec::new(), true, true);
    while more_a || more_b {
        select! {
            n = a.recv(), if more_a => match n { Ok(n) => all.push(n), Err(_) => more_a = false },
            n = b.recv(), if more_b => match n { Ok(n) => all.push(n), Err(_) => more_b = false },
            _ = ticker.recv() => eprintln!("{} so far", all.len()),
        }
    }
    all
}

fn main() -> Result<()> {
    let root = std::env::temp_dir().join(format!("myriad-from-go-{}", std::process::id()));
    for i in 0..60 {
        let folder = root.join(format!("d{}", i % 3));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("f{i}")), vec![b'x'; i])?;
    }
    // context.WithTimeout: what blocks inside ends when the time is over.
    let all = time::timeout(Duration::from_secs(60), || digests(&root, None))??;
    let error = digests(&root, Some("f7")).unwrap_err();
    std::fs::remove_dir_all(&root)?;

    let (evens, a) = bounded(4);
    let (odds, b) = rendezvous();
    spawn(move || (0..30).for_each(|n| evens.send(2 * n).unwrap()));
    spawn(move || (0..30).for_each(|n| odds.send(2 * n + 1).unwrap()));
    let mut numbers = merge(a, b);
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..60));

    let (group, once, called) = (Arc::new(WaitGroup::new()), Arc::new(Once::new()), Arc::new(Mutex::new(0)));
    for _ in 0..100 {
        group.add(1);
        let (group, once, called) = (group.clone(), once.clone(), called.clone());
        spawn(move || {
            let _done = group.done_on_drop(); // defer wg.Done()
            once.call_once(|| *called.lock().unwrap() += 1);
        });
    }
    group.wait();

    let context = Token::new(); // context.WithCancelCause
    let child = context.child();
    let request = spawn(move || child.run(|| time::sleep(Duration::from_secs(3600))).map_err(|_| child.cause()));
    context.cancel_with("the user left");
    let cause = request.join()?.unwrap_err().expect("it has a cause"); // context.Cause(ctx)

    let (files, bytes) = (all.len(), all.values().sum::<usize>());
    let (kind, count, times) = (error.kind(), numbers.len(), *called.lock().unwrap());
    println!("{files} files, {bytes} bytes; f7: {kind:?}; {count} numbers; called once: {times}; {cause}");
    Ok(())
}
