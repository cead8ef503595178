//! Values of nodes in files: read the next time, whole or not there, never another one's.

use crate::common::{PLANNED, Rng, assert_aborted, in_child};
use crate::each_runtime;
use myriad::channel::rendezvous;
use myriad::flow::graph::Cause;
use myriad::flow::{self, Checkpoints, Handle, NodeError, StoreError, Stored};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;
use std::{fs, process};

/// A folder that goes with its value.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("myriad-test-flow-{}-{}", process::id(), MADE.fetch_add(1, Relaxed));
        let folder = Folder(std::env::temp_dir().join(name));
        fs::create_dir(&folder.0).unwrap();
        folder
    }

    pub(crate) fn files(&self) -> usize {
        fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// A number that is written and read as it says.
#[derive(Debug, Clone, PartialEq)]
struct Odd {
    number: u64,
    writes: How,
    reads: How,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Well,
    /// After a part.
    Fails,
    Panics,
    Less,
}

impl Odd {
    fn new(writes: How, reads: How) -> Odd {
        Odd { number: 7, writes, reads }
    }
}

impl Stored for Odd {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        (self.number, self.reads as u8).write(to)?;
        match self.writes {
            How::Fails => Err(io::ErrorKind::StorageFull.into()),
            How::Panics => panic!("{PLANNED}write"),
            _ => vec![0_u8; 100_000].write(to),
        }
    }

    fn read(from: &mut dyn Read) -> io::Result<Self> {
        let (number, reads) = <(u64, u8)>::read(from)?;
        match reads {
            1 => Err(io::ErrorKind::Unsupported.into()),
            2 => panic!("{PLANNED}read"),
            3 => Ok(Odd { number, ..Odd::new(How::Well, How::Less) }),
            _ => Vec::<u8>::read(from).map(|_| Odd { number, ..Odd::new(How::Well, How::Well) }),
        }
    }

    fn bytes(&self) -> usize {
        8
    }
}

/// A node with a checkpoint, and how often its body has run.
fn node<T: Stored + Send + 'static>(saved: &Checkpoints, key: &str, value: T, ran: &Arc<AtomicUsize>) -> Handle<T> {
    let ran = ran.clone();
    let body = move || {
        ran.fetch_add(1, Relaxed);
        value
    };
    flow::named(key).checkpoint(saved, key).spawn(body, ())
}

fn kind(error: &NodeError) -> io::ErrorKind {
    let Cause::Error(error) = error.cause() else { panic!("{error}") };
    error.downcast_ref::<StoreError>().unwrap().kind()
}

#[test]
fn values_of_every_kind_are_as_they_were() {
    each_runtime(|| {
        let folder = Folder::new();
        let (saved, ran) = (Checkpoints::new(&folder.0), Arc::default());
        let long: Vec<u16> = (0..300_000_u32).map(|n| (n * 7919) as u16).collect();
        for times in 1..4 {
            let text = "a text, with ö and 🦀".to_owned();
            assert_eq!(node(&saved, "text", text.clone(), &ran).join().unwrap(), text);
            assert_eq!(node(&saved, "long", long.clone(), &ran).join().unwrap(), long);
            let numbers = ((u128::MAX, i8::MIN), (isize::MIN, (f64::NEG_INFINITY, f32::MAX)));
            assert_eq!(node(&saved, "numbers", numbers, &ran).join().unwrap(), numbers);
            let lists = vec![Some(vec!["a".to_owned()]), None, Some(vec![])];
            assert_eq!(node(&saved, "lists", lists.clone(), &ran).join().unwrap(), lists);
            let plain = vec![(true, 'ß'), (false, '\0')];
            assert_eq!(node(&saved, "plain", (plain.clone(), ()), &ran).join().unwrap(), (plain, ()));
            assert_eq!((ran.load(Relaxed), folder.files()), (5, 5), "{times}");
        }
    });
}

const STEPS: usize = 8;

/// Each step adds its number to what the one before has made.
fn steps(folder: &Path, ran: &Arc<AtomicUsize>, dies_in: Option<usize>, writes: fn(u64) -> Odd) -> u64 {
    let saved = Checkpoints::new(folder);
    let mut last = flow::spawn(|| Odd::new(How::Well, How::Well), ());
    for step in 0..STEPS {
        let ran = ran.clone();
        let body = move |before: &Odd| {
            if dies_in == Some(step) {
                process::abort();
            }
            ran.fetch_add(1, Relaxed);
            writes(before.number + step as u64)
        };
        last = flow::Options::new().checkpoint(&saved, format!("step {step}")).spawn(body, (&last,));
    }
    last.join().unwrap().number
}

/// A process that is killed in a body leaves what was done before; the next one does the rest.
#[test]
fn a_killed_program_goes_on_where_it_was() {
    const FOLDER: &str = "MYRIAD_TEST_FOLDER";
    let well = |number| Odd { number, ..Odd::new(How::Well, How::Well) };
    let folder = Folder::new();
    let path = folder.0.to_str().unwrap();
    for dies_in in [3, 5] {
        let dies = dies_in.to_string();
        assert_aborted(&in_child(&[(FOLDER, path), ("MYRIAD_TEST_DIES", &dies)], || {
            let dies_in = std::env::var("MYRIAD_TEST_DIES").unwrap().parse().unwrap();
            steps(std::env::var(FOLDER).unwrap().as_ref(), &Arc::default(), Some(dies_in), well);
        }));
        assert_eq!(folder.files(), dies_in);
    }
    let ran = Arc::default();
    assert_eq!((steps(&folder.0, &ran, None, well), ran.load(Relaxed)), (7 + 28, STEPS - 5));
}

/// Killed in the middle of a file: the file has no name yet.
#[test]
fn a_program_killed_while_it_writes_leaves_no_part() {
    const FOLDER: &str = "MYRIAD_TEST_FOLDER";
    struct Dies;
    impl Stored for Dies {
        fn write(&self, to: &mut dyn Write) -> io::Result<()> {
            vec![1_u8; 1_000_000].write(to)?;
            process::abort();
        }
        fn read(_: &mut dyn Read) -> io::Result<Self> {
            Ok(Dies)
        }
        fn bytes(&self) -> usize {
            0
        }
    }
    let folder = Folder::new();
    assert_aborted(&in_child(&[(FOLDER, folder.0.to_str().unwrap())], || {
        let saved = Checkpoints::new(std::env::var(FOLDER).unwrap());
        _ = node(&saved, "dies", Dies, &Arc::default()).join();
    }));
    let saved = Checkpoints::new(&folder.0);
    assert!(!saved.path_of("dies").exists());
    let unfinished = fs::read_dir(&folder.0).unwrap().next().unwrap().unwrap().path();
    assert_eq!(unfinished.extension().unwrap(), "tmp");
}

/// Cut anywhere, or with any byte changed, a file is as none.
#[test]
fn damaged_files_are_as_none() {
    each_runtime(|| {
        let folder = Folder::new();
        let (saved, ran) = (Checkpoints::new(&folder.0), Arc::default());
        let value = vec!["some".to_owned(), "words".to_owned()];
        let make = || node(&saved, "words", value.clone(), &ran).join().unwrap();
        assert_eq!(make(), value);
        let path = saved.path_of("words");
        let whole = fs::read(&path).unwrap();
        let mut expected = 1;
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).step_by(3).map(|n| whole[..n].to_vec()).collect();
        damaged.extend((8..whole.len()).step_by(5).map(|n| {
            let mut file = whole.clone();
            file[n] ^= 1 << (n % 8);
            file
        }));
        damaged.push([&whole[..], b"x"].concat());
        for file in damaged {
            fs::write(&path, &file).unwrap();
            assert_eq!(make(), value);
            expected += 1;
            assert_eq!(ran.load(Relaxed), expected, "{file:?}");
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
    });
}

/// A long file is damaged in a later block, or its blocks have changed places.
#[test]
fn damage_in_a_long_file() {
    each_runtime(|| {
        let folder = Folder::new();
        let (saved, ran) = (Checkpoints::new(&folder.0), Arc::default());
        let mut rng = Rng(5);
        let value: Vec<u64> = (0..100_000).map(|_| rng.next()).collect();
        let make = || node(&saved, "long", value.clone(), &ran).join().unwrap() == value;
        assert!(make() && make());
        assert_eq!(ran.load(Relaxed), 1);
        let path = saved.path_of("long");
        let whole = fs::read(&path).unwrap();
        let mut changed = whole.clone();
        changed[700_000] ^= 16;
        let mut moved = whole.clone();
        moved[8..].rotate_left(1 << 16);
        let mut swapped = whole;
        let (one, other) = swapped.split_at_mut(200_000);
        one[100_000..100_008].swap_with_slice(&mut other[..8]);
        for (n, file) in [changed, moved, swapped].iter().enumerate() {
            fs::write(&path, file).unwrap();
            assert!(make());
            assert_eq!(ran.load(Relaxed), n + 2);
        }
    });
}

/// What is not ours, or is of another key or type, is neither read nor written over.
#[test]
fn files_of_others_are_refused() {
    each_runtime(|| {
        let folder = Folder::new();
        let (saved, ran) = (Checkpoints::new(&folder.0), Arc::default());
        let path = saved.path_of("n");
        for foreign in ["somebody's diary", "x"] {
            fs::write(&path, foreign).unwrap();
            let error = node(&saved, "n", 1_u32, &ran).join().unwrap_err();
            let expected = format!(
                "the node 'n' failed: cannot read the checkpoint 'n' ({}): the file was not written by Myriad; delete the file, or choose \
                 another key",
                path.display()
            );
            assert_eq!((error.to_string(), kind(&error)), (expected, io::ErrorKind::InvalidData));
            assert_eq!(fs::read(&path).unwrap(), foreign.as_bytes());
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(node(&saved, "n", 1_u32, &ran).join().unwrap(), 1);
        // Four bytes, too.
        let error = node(&saved, "n", 1_f32, &ran).join().unwrap_err();
        assert!(error.to_string().contains("of another key, or another type"), "{error}");
        fs::rename(&path, saved.path_of("m")).unwrap();
        let error = node(&saved, "m", 1_u32, &ran).join().unwrap_err();
        assert!(error.to_string().contains("of another key, or another type"), "{error}");
        // A folder in its place.
        fs::create_dir(saved.path_of("folder")).unwrap();
        node(&saved, "folder", 1_u32, &ran).join().unwrap_err();
        assert_eq!(ran.load(Relaxed), 1);
        // Keys that look alike in a file's name.
        for key in ["a/b", "a.b", "a\0b", "a b", &"a".repeat(100), &"a".repeat(101), "", "."] {
            assert_eq!(node(&saved, key, key.to_owned(), &ran).join().unwrap(), key);
            assert_eq!(saved.path_of(key).parent().unwrap(), folder.0);
        }
        assert_eq!(ran.load(Relaxed), 9);
    });
}

/// The node fails, says why, and leaves no file.
#[test]
fn what_cannot_be_written() {
    each_runtime(|| {
        let folder = Folder::new();
        let (saved, ran) = (Checkpoints::new(&folder.0), Arc::default());
        let error = node(&saved, "full", Odd::new(How::Fails, How::Well), &ran).join().unwrap_err();
        assert_eq!(kind(&error), io::ErrorKind::StorageFull);
        assert!(error.to_string().ends_with("make room there, or choose another folder"), "{error}");
        let error = node(&saved, "panics", Odd::new(How::Panics, How::Well), &ran).join().unwrap_err();
        assert_eq!(error.to_string(), format!("the node 'panics' panicked: {PLANNED}write"));
        assert_eq!(folder.files(), 0);
        fs::write(folder.0.join("file"), "").unwrap();
        let error = node(&Checkpoints::new(folder.0.join("file")), "n", 1, &ran).join().unwrap_err();
        assert!(error.to_string().contains("cannot read the checkpoint 'n'"), "{error}");
        let after = flow::named("after")
            .spawn(|n: &Odd| n.number, (&node(&saved, "full", Odd::new(How::Fails, How::Well), &ran),));
        assert_eq!(after.join().unwrap_err().path(), ["full", "after"]);
    });
}

/// The checksum is right, so the program has changed: the body does not run.
#[test]
fn what_cannot_be_read() {
    each_runtime(|| {
        let folder = Folder::new();
        let (saved, ran) = (Checkpoints::new(&folder.0), Arc::default());
        for (key, reads) in [("fails", How::Fails), ("panics", How::Panics), ("less", How::Less)] {
            node(&saved, key, Odd::new(How::Well, reads), &ran).join().unwrap();
            let error = node(&saved, key, Odd::new(How::Well, reads), &ran).join().unwrap_err();
            match reads {
                How::Fails => assert_eq!(kind(&error), io::ErrorKind::Unsupported),
                How::Panics => assert!(matches!(error.cause(), Cause::Panicked(_)), "{error}"),
                _ => assert!(error.to_string().contains("has left a part unread"), "{error}"),
            }
        }
        assert_eq!(ran.load(Relaxed), 3);
        // Whoever deletes the file has the body run.
        fs::remove_file(saved.path_of("fails")).unwrap();
        node(&saved, "fails", Odd::new(How::Well, How::Well), &ran).join().unwrap();
        assert_eq!(node(&saved, "fails", Odd::new(How::Well, How::Well), &ran).join().unwrap().number, 7);
    });
}

/// Retries are for the body; one that fails, is cancelled or too late leaves nothing.
#[test]
fn with_retries_limits_and_cancellation() {
    each_runtime(|| {
        let folder = Folder::new();
        let (saved, ran) = (Checkpoints::new(&folder.0), Arc::new(AtomicUsize::new(0)));
        let tries = |retries| {
            let ran = ran.clone();
            let body = move || {
                let n = ran.fetch_add(1, Relaxed);
                if n < 2 { Err(format!("attempt {n}")) } else { Ok(n) }
            };
            flow::Options::new().checkpoint(&saved, "tries").retries(retries).try_spawn(body, ()).join()
        };
        assert!(tries(0).is_err());
        assert_eq!((tries(5).unwrap(), tries(0).unwrap(), ran.load(Relaxed)), (2, 2, 3));
        // (A write that fails is no attempt of the body.)
        let counts = ran.clone();
        let body = move || {
            counts.fetch_add(1, Relaxed);
            Odd::new(How::Fails, How::Well)
        };
        flow::Options::new().checkpoint(&saved, "full").retries(5).spawn(body, ()).join().unwrap_err();
        assert_eq!(ran.load(Relaxed), 4);
        let waits = |options: flow::Options, key: &str| {
            let (began, has_began) = rendezvous();
            let (never, waits) = rendezvous::<u32>();
            let node = options.checkpoint(&saved, key).spawn(
                move || {
                    began.send(()).unwrap();
                    waits.recv().unwrap()
                },
                (),
            );
            // (It may be too late for that already.)
            _ = has_began.recv();
            (node, never)
        };
        let (node, _never) = waits(flow::Options::new(), "cancelled");
        node.cancel();
        assert!(matches!(node.join().unwrap_err().cause(), Cause::Cancelled));
        let (node, _never) = waits(flow::Options::new().time_limit(Duration::from_millis(2)), "late");
        assert!(matches!(node.join().unwrap_err().cause(), Cause::TimedOut(_)));
        let (node, _never) = waits(flow::Options::new().time_limit_in_all(Duration::from_millis(20)), "late in all");
        assert!(matches!(node.join().unwrap_err().cause(), Cause::TimedOut(_)));
        assert_eq!(folder.files(), 1);
    });
}

/// Nodes with the same key at the same time: one runs, and the others read; if that one fails,
/// another one runs.
#[test]
fn one_key_at_the_same_time() {
    each_runtime(|| {
        let folder = Folder::new();
        for fails in [0, 1, 3] {
            let (saved, ran) = (Checkpoints::new(&folder.0), Arc::new(AtomicUsize::new(0)));
            let nodes: Vec<_> = (0..10)
                .map(|_| {
                    let ran = ran.clone();
                    let body = move || {
                        let n = ran.fetch_add(1, SeqCst);
                        myriad::yield_now();
                        assert_eq!(ran.load(SeqCst), n + 1, "two at a time");
                        if n < fails { Err("planned") } else { Ok(n) }
                    };
                    flow::Options::new().checkpoint(&saved.clone(), format!("key {fails}")).try_spawn(body, ())
                })
                .collect();
            let (good, bad): (Vec<_>, Vec<_>) = nodes.into_iter().map(Handle::join).partition(Result::is_ok);
            assert_eq!((bad.len(), ran.load(SeqCst)), (fails, fails + 1));
            assert!(good.into_iter().all(|n| n.unwrap() == fails));
        }
    });
}
