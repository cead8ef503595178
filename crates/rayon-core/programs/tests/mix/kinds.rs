//! The ways to compute the children of a node.

use crate::tree::{Node, Site, Tree, weight};
use myriad::channel::{bounded, oneshot, rendezvous};
use myriad::sync::{Condvar, Mutex};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `myriad::spawn`, joined from the last to the first.
    Spawn,
    /// `myriad::scope`.
    Scope,
    /// `myriad::join`.
    Join,
    /// A task for each, which sends what it has through a full channel, or a rendezvous.
    Channel,
    /// A task for each, which adds under a lock, waits while it holds that, and tells a condition.
    Lock,
    /// `time::sleep`, then one after the other.
    Sleep,
    /// `myriad::blocking`.
    Blocking,
    /// A parallel loop.
    Loop,
    /// Tasks of which each waits for the next one, whose handle it is sent: so the first one waits
    /// for what has not begun.
    Chain,
    /// A wait for tasks that holds its worker: in a channel of std's, or in `keep_thread`.
    SystemWait,
    /// A poll for tasks, with `yield_now` in between.
    Poll,
    /// Futures of Myriad that wait for tasks.
    Async,
    /// `rayon::join`.
    RayonJoin,
    /// `rayon::scope`.
    RayonScope,
    /// `into_par_iter`.
    RayonIter,
    /// `rayon::spawn`, and a channel of Myriad's.
    RayonSpawn,
    /// A pool with threads of its own, and rayon's `join` in it.
    Install,
    /// tokio's `block_on` with tasks of tokio's, which wait for tasks of Myriad's and send through
    /// a channel of tokio's.
    Tokio,
    /// A future of Myriad's that waits for tasks of tokio's, which wait for a thread that may
    /// block.
    InTokio,
    /// Threads of std's.
    Threads,
    /// A number.
    Leaf,
    /// A transform of FFTW's: planned, executed.
    Fftw,
    /// A product of OpenBLAS's.
    Dgemm,
}

pub(crate) const ALL: [Kind; 23] = [
    Kind::Spawn,
    Kind::Scope,
    Kind::Join,
    Kind::Channel,
    Kind::Lock,
    Kind::Sleep,
    Kind::Blocking,
    Kind::Loop,
    Kind::Chain,
    Kind::SystemWait,
    Kind::Poll,
    Kind::Async,
    Kind::RayonJoin,
    Kind::RayonScope,
    Kind::RayonIter,
    Kind::RayonSpawn,
    Kind::Install,
    Kind::Tokio,
    Kind::InTokio,
    Kind::Threads,
    Kind::Leaf,
    Kind::Fftw,
    Kind::Dgemm,
];

impl Kind {
    pub(crate) fn is_leaf(self) -> bool {
        matches!(self, Kind::Leaf | Kind::Fftw | Kind::Dgemm)
    }

    /// Does it call rayon's global pool?
    pub(crate) fn is_global_rayon(self, site: Site) -> bool {
        matches!(self, Kind::RayonJoin | Kind::RayonScope | Kind::RayonIter | Kind::RayonSpawn) && site != Site::Own
    }

    pub(crate) fn site_of_children(self, site: Site) -> Site {
        match self {
            Kind::Sleep => site,
            // The caller takes part, as the job that it is.
            Kind::Join | Kind::Loop if site == Site::Job => Site::Job,
            Kind::Blocking if site == Site::Own => Site::Own,
            Kind::Blocking | Kind::InTokio | Kind::Threads => Site::Thread,
            Kind::RayonJoin | Kind::RayonScope | Kind::RayonIter if site == Site::Own => Site::Own,
            Kind::RayonJoin | Kind::RayonScope | Kind::RayonIter | Kind::RayonSpawn => Site::Job,
            Kind::Install => Site::Own,
            _ => Site::Task,
        }
    }
}

/// tokio's threads that run tasks.
pub(crate) const TOKIO_WORKERS: usize = 2;

static TOKIO: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(TOKIO_WORKERS).enable_time().build().expect("a runtime of tokio's")
});

/// A node of a tree.
#[derive(Clone)]
struct At {
    tree: Arc<Tree>,
    index: usize,
}

/// Computes the trees: one on a plain thread, one in a task, one in a job of rayon's.
pub(crate) fn round(trees: &[Arc<Tree>]) {
    let root = |number: usize| At { tree: trees[number].clone(), index: 0 };
    let (plain, task, job) = (root(0), root(1), root(2));
    let threads = [
        std::thread::spawn(move || plain.compute()),
        std::thread::spawn(move || myriad::spawn(move || task.compute()).join().unwrap()),
        std::thread::spawn(move || rayon::join(|| job.compute(), || 0).0),
    ];
    for (tree, thread) in trees.iter().zip(threads) {
        assert_eq!(thread.join().unwrap(), tree.nodes[0].value);
    }
}

impl At {
    fn node(&self) -> &Node {
        &self.tree.nodes[self.index]
    }

    fn children(&self) -> impl DoubleEndedIterator<Item = At> + ExactSizeIterator + '_ {
        self.node().children.iter().map(|&index| At { tree: self.tree.clone(), index })
    }

    /// The value of the node, and that is checked.
    fn compute(&self) -> u64 {
        let node = self.node();
        assert_eq!(node.state.swap(1, SeqCst), 0, "{:?} is computed twice", node.kind);
        let value = node.number.wrapping_add(self.sum());
        assert_eq!(value, node.value, "{:?}", node.kind);
        node.state.store(2, SeqCst);
        value
    }

    /// What it adds to its parent's value.
    fn part(&self) -> u64 {
        weight(self.compute(), self.node().turn)
    }

    /// What the children add.
    fn sum(&self) -> u64 {
        let chance = self.node().number;
        match self.node().kind {
            Kind::Leaf => {
                for i in 0..chance % 20_000 {
                    std::hint::black_box(i);
                }
                0
            }
            Kind::Fftw => {
                self.tree.foreign.transform();
                0
            }
            Kind::Dgemm => {
                self.tree.foreign.multiply();
                0
            }
            Kind::Spawn => {
                let tasks: Vec<_> = self.children().map(|at| myriad::spawn(move || at.part())).collect();
                total(tasks.into_iter().rev().map(|task| task.join().unwrap()))
            }
            Kind::Scope => {
                let sum = AtomicU64::new(0);
                myriad::scope(|s| {
                    for at in self.children() {
                        let sum = &sum;
                        s.spawn(move || sum.fetch_add(at.part(), SeqCst));
                    }
                });
                sum.into_inner()
            }
            Kind::Join => join(&self.children().collect::<Vec<_>>(), true),
            Kind::Channel => {
                let (tx, rx) = if chance.is_multiple_of(2) { bounded(1) } else { rendezvous() };
                for at in self.children() {
                    let tx = tx.clone();
                    drop(myriad::spawn(move || tx.send(at.part()).unwrap()));
                }
                drop(tx);
                total(rx.iter())
            }
            Kind::Lock => {
                let shared = Arc::new((Mutex::new((0_u64, 0)), Condvar::new()));
                for at in self.children() {
                    let shared = shared.clone();
                    drop(myriad::spawn(move || {
                        let part = at.part();
                        let mut state = shared.0.lock().unwrap();
                        myriad::yield_now();
                        *state = (state.0.wrapping_add(part), state.1 + 1);
                        shared.1.notify_one();
                    }));
                }
                let mut state = shared.0.lock().unwrap();
                while state.1 < self.children().len() {
                    state = shared.1.wait(state).unwrap();
                }
                state.0
            }
            Kind::Sleep => {
                myriad::time::sleep(Duration::from_micros(chance % 1000));
                total(self.children().map(|at| at.part()))
            }
            Kind::Blocking => myriad::blocking(|| total(self.children().map(|at| at.part()))),
            Kind::Loop => {
                let children: Vec<_> = self.children().collect();
                let parts = myriad::par::Loop::new(0..children.len()).grain(1).map(|i| children[i].part());
                total(parts.into_iter())
            }
            Kind::Chain => self.chain(),
            Kind::SystemWait if chance.is_multiple_of(3) => {
                let tasks: Vec<_> = self.children().map(|at| myriad::spawn(move || at.part())).collect();
                myriad::task::keep_thread(|| total(tasks.into_iter().map(|task| task.join().unwrap())))
            }
            Kind::SystemWait => {
                let (tx, rx) = mpsc::channel();
                for at in self.children() {
                    let tx = tx.clone();
                    drop(myriad::spawn(move || tx.send(at.part()).unwrap()));
                }
                drop(tx);
                total(rx.iter())
            }
            Kind::Poll => {
                let tasks: Vec<_> = self.children().map(|at| myriad::spawn(move || at.part())).collect();
                while !tasks.iter().all(|task| task.is_finished()) {
                    myriad::yield_now();
                }
                total(tasks.into_iter().map(|task| task.join().unwrap()))
            }
            Kind::Async => {
                let (tx, rx) = bounded(1);
                let tasks: Vec<_> = self.children().map(|at| myriad::spawn(move || at.part())).collect();
                for task in tasks {
                    let tx = tx.clone();
                    drop(myriad::spawn_async(async move { tx.send_async(task.await.unwrap()).await.unwrap() }));
                }
                drop(tx);
                let all = myriad::spawn_async(async move {
                    let mut sum = 0_u64;
                    while let Ok(part) = rx.recv_async().await {
                        sum = sum.wrapping_add(part);
                    }
                    sum
                });
                all.join().unwrap()
            }
            Kind::RayonJoin => join(&self.children().collect::<Vec<_>>(), false),
            Kind::RayonScope => {
                let sum = AtomicU64::new(0);
                rayon::scope(|s| {
                    for at in self.children() {
                        let sum = &sum;
                        s.spawn(move |_| _ = sum.fetch_add(at.part(), SeqCst));
                    }
                });
                sum.into_inner()
            }
            Kind::RayonIter => {
                let children: Vec<_> = self.children().collect();
                children.into_par_iter().with_max_len(1).map(|at| at.part()).reduce(|| 0, u64::wrapping_add)
            }
            Kind::RayonSpawn => {
                let (tx, rx) = bounded(1);
                for at in self.children() {
                    let tx = tx.clone();
                    rayon::spawn(move || tx.send(at.part()).unwrap());
                }
                drop(tx);
                total(rx.iter())
            }
            Kind::Install => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(self.own_threads()).build().unwrap();
                let children: Vec<_> = self.children().collect();
                pool.install(|| join(&children, false))
            }
            Kind::Tokio => {
                let children: Vec<_> = self.children().collect();
                // Not on a worker: in fiber mode that would wait inside tokio's thread-local scope.
                myriad::blocking(|| {
                    TOKIO.block_on(async {
                        let (tx, mut rx) = tokio::sync::mpsc::channel(1);
                        for at in children {
                            let tx = tx.clone();
                            tokio::spawn(async move {
                                let part = myriad::spawn(move || at.part()).await.unwrap();
                                tx.send(part).await.unwrap();
                            });
                        }
                        drop(tx);
                        let mut sum = 0_u64;
                        while let Some(part) = rx.recv().await {
                            sum = sum.wrapping_add(part);
                        }
                        sum
                    })
                })
            }
            Kind::InTokio => {
                let tasks = self.children().map(|at| {
                    TOKIO.spawn(async move {
                        tokio::time::sleep(Duration::from_micros(chance % 1000)).await;
                        tokio::task::spawn_blocking(move || at.part()).await.unwrap()
                    })
                });
                let tasks: Vec<_> = tasks.collect();
                let all = myriad::spawn_async(async move {
                    let mut sum = 0_u64;
                    for task in tasks {
                        sum = sum.wrapping_add(task.await.unwrap());
                    }
                    sum
                });
                all.join().unwrap()
            }
            Kind::Threads => {
                let (tx, rx) = rendezvous();
                let start = |at: At| {
                    let tx = tx.clone();
                    std::thread::spawn(move || tx.send(at.part()).unwrap())
                };
                let threads: Vec<_> = self.children().map(start).collect();
                drop(tx);
                let sum = total(rx.iter());
                // They have nothing left to wait for.
                threads.into_iter().for_each(|thread| thread.join().unwrap());
                sum
            }
        }
    }

    /// Each waits for the one that is spawned behind it, before or after its own child, and gets
    /// its handle through a channel.
    fn chain(&self) -> u64 {
        let mut first = None;
        let mut before: Option<myriad::channel::OnceSender<myriad::JoinHandle<u64>>> = None;
        for (i, at) in self.children().enumerate() {
            let (tx, rx) = oneshot::<myriad::JoinHandle<u64>>();
            let waits_first = (self.node().number >> i) & 1 == 0;
            let task = myriad::spawn(move || {
                // (Nobody sends to the last one.)
                let next = || rx.recv().map_or(0, |next| next.join().unwrap());
                let (early, part) = if waits_first { (next(), at.part()) } else { (0, at.part()) };
                let late = if waits_first { 0 } else { next() };
                part.wrapping_add(early).wrapping_add(late)
            });
            match before.replace(tx) {
                Some(before) => _ = before.send(task),
                None => first = Some(task),
            }
        }
        drop(before);
        first.map_or(0, |first| first.join().unwrap())
    }

    /// Threads of the pool of an `Install`.
    fn own_threads(&self) -> usize {
        self.node().own_threads()
    }
}

impl Node {
    pub(crate) fn own_threads(&self) -> usize {
        1 + (self.number % 2) as usize
    }
}

fn join(children: &[At], by_myriad: bool) -> u64 {
    let Some((first, others)) = children.split_first() else { return 0 };
    let (a, b) = (|| first.part(), || join(others, by_myriad));
    let (a, b) = if by_myriad { myriad::join(a, b) } else { rayon::join(a, b) };
    a.wrapping_add(b)
}

fn total(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0, u64::wrapping_add)
}
