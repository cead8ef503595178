//! Idle threads that end, in threads mode: one after the other, each told by the one before.
//!
//! Each exit changes the process's map of memory. Several at once wait for each other there, and
//! interrupt all processors that the process runs on: a chain of 10,000 tasks took twice as long.
//! And the worker, which may have something to do soon, tells only the first. If it needs threads
//! again meanwhile, it takes those back whose turn has not come.

use crate::queue::parked::Parked;
use myriad_base::sys::mutex::Mutex;

/// A worker's.
#[derive(Debug, Default)]
pub(crate) struct EndingThreads(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// Lists of idle threads, by `Parked::next`.
    lists: Vec<*mut Parked>,
    /// One was told to end, and tells the next.
    under_way: bool,
    /// Each is told where the one before runs.
    here: bool,
}

// SAFETY: the nodes are those of threads that wait, for any thread that has taken the node out of
// the lists.
unsafe impl Send for Queue {}

impl Queue {
    fn take(&mut self) -> Option<*mut Parked> {
        let list = self.lists.last_mut()?;
        let node = *list;
        // SAFETY: a node of an idle thread, which stands until the thread is given a turn.
        *list = unsafe { (*node).next.with(|next| *next) };
        if list.is_null() {
            self.lists.pop();
        }
        Some(node)
    }
}

/// The node of a thread that is to be told now, by who has taken it out.
pub(super) struct ToldNext {
    pub node: *mut Parked,
    /// Where the caller runs.
    pub here: bool,
}

impl EndingThreads {
    /// These are to end. Which one the caller tells, unless others are ending already.
    ///
    /// # Safety
    /// A list that is not empty, by `Parked::next`, of threads that are idle or have not begun, and
    /// that nobody else will give a turn.
    pub(super) unsafe fn begin(&self, list: *mut Parked, here: bool) -> Option<ToldNext> {
        let mut queue = self.0.lock();
        queue.lists.push(list);
        queue.here = here;
        if std::mem::replace(&mut queue.under_way, true) {
            return None;
        }
        queue.take().map(|node| ToldNext { node, here })
    }

    /// One of them has left. Which one it tells.
    pub(super) fn next(&self) -> Option<ToldNext> {
        let mut queue = self.0.lock();
        let (node, here) = (queue.take(), queue.here);
        queue.under_way = node.is_some();
        node.map(|node| ToldNext { node, here })
    }

    /// One of them is needed after all.
    pub(super) fn take_back(&self) -> Option<*mut Parked> {
        self.0.lock().take()
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use crate::sched::stacks::end_next;
    use crate::sched::worker;
    use crate::{Builder, Policy, spawn, yield_now};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::time::{Duration, Instant};

    /// Hooks of threads that end wait for each other.
    #[test]
    fn no_thread_waits_for_the_hook_of_another_one() {
        static IN_HOOKS: AtomicUsize = AtomicUsize::new(0);
        static IN_VAIN: AtomicUsize = AtomicUsize::new(0);
        let hook = |_| {
            IN_HOOKS.fetch_add(1, Relaxed);
            let began = Instant::now();
            while IN_HOOKS.load(Relaxed) < 4 {
                if began.elapsed() > Duration::from_secs(30) {
                    IN_VAIN.fetch_add(1, Relaxed);
                    return;
                }
                std::thread::yield_now();
            }
        };
        let rt = Builder::new().workers(1).policy(Policy::WorkStealing).on_thread_end(hook).build().unwrap();
        rt.run(|| {
            let begun = Arc::new(AtomicUsize::new(0));
            let tasks = [(); 10].map(|()| {
                let begun = begun.clone();
                spawn(move || {
                    begun.fetch_add(1, Relaxed);
                    while begun.load(Relaxed) < 10 {
                        yield_now();
                    }
                })
            });
            tasks.into_iter().for_each(|task| task.join().unwrap());
        });
        drop(rt);
        // (The end of a runtime does not wait for ever for hooks.)
        let began = Instant::now();
        while IN_HOOKS.load(Relaxed) < 4 {
            assert!(began.elapsed() < Duration::from_secs(20), "a hook waits, and no other thread ends");
            std::thread::yield_now();
        }
        assert_eq!(IN_VAIN.load(Relaxed), 0);
    }

    /// Threads that are to end, and of which the first has been told only: the worker takes the
    /// others back when it needs them.
    #[test]
    fn the_worker_takes_threads_back() {
        static TURNS: AtomicUsize = AtomicUsize::new(0);
        let rt = Builder::new().workers(1).policy(Policy::WorkStealing).build().unwrap();
        rt.run(|| {
            let many = || {
                TURNS.store(0, Relaxed);
                let tasks: Vec<_> = (0..100)
                    .map(|_| {
                        spawn(|| {
                            TURNS.fetch_add(1, Relaxed);
                            while TURNS.load(Relaxed) < 100 {
                                yield_now();
                            }
                        })
                    })
                    .collect();
                tasks.into_iter().for_each(|task| task.join().unwrap());
            };
            many();
            let w = worker::current().unwrap();
            let w = w.as_static();
            // As if one had been told, and did not come to its end.
            w.ending.0.lock().under_way = true;
            worker::current().unwrap().stacks.trim_threads(w, 0);
            let made = w.pool.count_threads();
            assert!(made > 90 && w.ending.0.lock().lists.len() == 1, "{made}");
            many();
            assert_eq!(w.pool.count_threads(), made, "no other threads were made");
            end_next(&w.ending);
        });
    }
}
