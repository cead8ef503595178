//! Atomic words: std's, or in a loom model loom's with a touch before each access.
//!
//! **Why the touch.** Loom 0.7 remembers one last access per object. When B loads a word that A has
//! loaded and then stores to it, loom compares the store with B's own load only, and never tries it
//! before A's: whole behaviours are missed (here the reuse of a ring slot was never reached). So a
//! word has a companion for each thread: a load touches its own thread's, a store those of all
//! others, each with a relaxed read-modify-write. That orders nothing in the program, but a store
//! now depends on every load, and every order of the two is explored; loads still do not depend on
//! each other.
//!
//! `peek` is a load for spin loops: the same as `load`, but without the touch in a model (two
//! spinning threads would depend on each other without end).
//!
//! `overwrite` is a store to a word that others change by read-modify-writes: a swap in a model.
//! Loom leaves the order of a store and another thread's exchange open until somebody has seen
//! both, so it would let the storer read back what the exchange had put there *before* the store.
//! (A swap continues a release sequence that a store ends: not for words where that makes a
//! difference.)
//!
//! `load_in_order` is a sequentially consistent load of a word that others change by
//! read-modify-writes which are sequentially consistent too: an exchange in a model, because loom
//! takes such operations for acquire and release.

pub use std::sync::atomic::Ordering;

#[cfg(not(loom))]
pub use plain::*;
#[cfg(loom)]
pub use touched::*;

#[cfg(not(loom))]
mod plain {
    use std::sync::atomic::Ordering;
    pub use std::sync::atomic::{
        AtomicBool, AtomicIsize, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, compiler_fence,
        fence,
    };

    /// A load for spin loops; see the module's header.
    pub trait Peek {
        /// What is in the word.
        type Value;
        /// The same as `load`, but no event of its own in a loom model.
        fn peek(&self, order: Ordering) -> Self::Value;
    }
    macro_rules! peek {
        ($($atomic:ty = $value:ty),*) => { $(impl Peek for $atomic {
            type Value = $value;
            #[inline(always)]
            fn peek(&self, order: Ordering) -> $value {
                self.load(order)
            }
        })* };
    }
    peek!(
        AtomicBool = bool,
        AtomicU8 = u8,
        AtomicU16 = u16,
        AtomicU32 = u32,
        AtomicU64 = u64,
        AtomicUsize = usize,
        AtomicIsize = isize
    );
    /// A store to a word that others exchange; see the module's header.
    pub trait Overwrite {
        /// What is in the word.
        type Value;
        /// The same as `store`.
        fn overwrite(&self, value: Self::Value, order: Ordering);
    }
    impl Overwrite for AtomicU32 {
        type Value = u32;
        #[inline(always)]
        fn overwrite(&self, value: u32, order: Ordering) {
            self.store(value, order);
        }
    }
    impl Overwrite for AtomicU8 {
        type Value = u8;
        #[inline(always)]
        fn overwrite(&self, value: u8, order: Ordering) {
            self.store(value, order);
        }
    }
    impl Overwrite for AtomicUsize {
        type Value = usize;
        #[inline(always)]
        fn overwrite(&self, value: usize, order: Ordering) {
            self.store(value, order);
        }
    }

    /// A load that has a place in the order of all sequentially consistent operations; see the
    /// module's header.
    pub trait LoadInOrder {
        /// What is in the word.
        type Value;
        /// The same as `load(SeqCst)`.
        fn load_in_order(&self) -> Self::Value;
    }
    impl<T> LoadInOrder for AtomicPtr<T> {
        type Value = *mut T;
        #[inline(always)]
        fn load_in_order(&self) -> *mut T {
            self.load(Ordering::SeqCst)
        }
    }
    impl LoadInOrder for AtomicU8 {
        type Value = u8;
        #[inline(always)]
        fn load_in_order(&self) -> u8 {
            self.load(Ordering::SeqCst)
        }
    }

    impl<T> Peek for AtomicPtr<T> {
        type Value = *mut T;
        #[inline(always)]
        fn peek(&self, order: Ordering) -> *mut T {
            self.load(order)
        }
    }
}

#[cfg(loom)]
mod touched {
    #![allow(missing_docs)]
    use loom::sync::atomic as la;
    pub use loom::sync::atomic::fence;
    use std::cell::{Cell, RefCell};
    use std::sync::atomic::Ordering;

    /// Nothing to tell a compiler in a model.
    pub fn compiler_fence(_: Ordering) {}

    pub trait Peek {
        type Value;
        fn peek(&self, order: Ordering) -> Self::Value;
    }

    // Of the thread that explores, on which all threads of a model run.
    thread_local! {
        static THREADS: Cell<usize> = const { Cell::new(1) };
        static NUMBERED: Cell<usize> = const { Cell::new(0) };
        static TRACED: Cell<bool> = const { Cell::new(false) };
        static TRACE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }
    loom::thread_local! {
        static NUMBER: usize = NUMBERED.replace(NUMBERED.get() + 1);
    }

    /// An execution of a model with so many threads begins.
    pub fn begin(threads: usize) {
        THREADS.set(threads);
        NUMBERED.set(0);
        TRACE.with_borrow_mut(Vec::clear);
        assert_eq!(me(), 0);
    }

    /// From now on (or no more) each access is noted.
    pub fn trace(yes: bool) {
        TRACED.set(yes);
    }

    /// What was noted of this execution: thread, place and access.
    pub fn take_trace() -> Vec<String> {
        TRACE.take()
    }

    #[track_caller]
    fn note<V: std::fmt::Debug>(access: std::fmt::Arguments<'_>, value: V) -> V {
        if TRACED.get() {
            let location = std::panic::Location::caller();
            let line = format!("{} {}:{} {access} {value:?}", me(), location.file(), location.line());
            TRACE.with_borrow_mut(|trace| trace.push(line));
        }
        value
    }

    /// The calling thread's number in this execution.
    pub(crate) fn me() -> usize {
        let me = NUMBER.with(|n| *n);
        assert!(me < THREADS.get(), "the model has more threads than it said");
        me
    }

    #[derive(Debug)]
    struct Touch(Box<[la::AtomicUsize]>);

    impl Touch {
        fn new() -> Touch {
            Touch((0..THREADS.get()).map(|_| la::AtomicUsize::new(0)).collect())
        }
        fn load(&self) {
            self.0[me()].fetch_add(1, Ordering::Relaxed);
        }
        fn store(&self) {
            let me = me();
            for (i, touch) in self.0.iter().enumerate() {
                if i != me {
                    touch.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    macro_rules! touched {
        ($name:ident $(<$t:ident>)?, $inner:ty, $value:ty) => {
            #[derive(Debug)]
            pub struct $name $(<$t>)? {
                touch: Touch,
                word: $inner,
            }
            impl $(<$t>)? $name $(<$t>)? {
                pub fn new(value: $value) -> Self {
                    Self { touch: Touch::new(), word: <$inner>::new(value) }
                }
                /// For a read-modify-write: it does not touch its own companion, as loom keeps it
                /// apart from loads.
                fn touched(&self) -> &$inner {
                    self.touch.store();
                    &self.word
                }
                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    self.touch.load();
                    note(format_args!("load {order:?}"), self.word.load(order))
                }
                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    self.touch.store();
                    self.word.store(value, order);
                    note(format_args!("store {order:?}"), value);
                }
                #[track_caller]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    note(format_args!("swap {order:?} to {value:?}"), self.touched().swap(value, order))
                }
                #[track_caller]
                pub fn compare_exchange(
                    &self, old: $value, new: $value, ok: Ordering, err: Ordering,
                ) -> Result<$value, $value> {
                    let result = self.touched().compare_exchange(old, new, ok, err);
                    note(format_args!("exchange {ok:?} to {new:?}"), result)
                }
                #[track_caller]
                pub fn compare_exchange_weak(
                    &self, old: $value, new: $value, ok: Ordering, err: Ordering,
                ) -> Result<$value, $value> {
                    self.compare_exchange(old, new, ok, err)
                }
            }
            impl $(<$t>)? Peek for $name $(<$t>)? {
                type Value = $value;
                fn peek(&self, order: Ordering) -> $value {
                    self.word.load(order)
                }
            }
        };
    }
    macro_rules! numbers {
        ($($name:ident = $value:ty),*) => { $(
            touched!($name, la::$name, $value);
            impl $name {
                #[track_caller]
                pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    note(format_args!("add {order:?} {value:?}"), self.touched().fetch_add(value, order))
                }
                #[track_caller]
                pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                    note(format_args!("sub {order:?} {value:?}"), self.touched().fetch_sub(value, order))
                }
                #[track_caller]
                pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                    note(format_args!("or {order:?} {value:?}"), self.touched().fetch_or(value, order))
                }
                #[track_caller]
                pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                    note(format_args!("and {order:?} {value:?}"), self.touched().fetch_and(value, order))
                }
            }
        )* };
    }
    numbers!(
        AtomicU8 = u8,
        AtomicU16 = u16,
        AtomicU32 = u32,
        AtomicU64 = u64,
        AtomicUsize = usize,
        AtomicIsize = isize
    );
    touched!(AtomicBool, la::AtomicBool, bool);

    pub trait Overwrite {
        type Value;
        fn overwrite(&self, value: Self::Value, order: Ordering);
    }
    impl Overwrite for AtomicU32 {
        type Value = u32;
        #[track_caller]
        fn overwrite(&self, value: u32, order: Ordering) {
            self.swap(value, order);
        }
    }
    impl Overwrite for AtomicU8 {
        type Value = u8;
        #[track_caller]
        fn overwrite(&self, value: u8, order: Ordering) {
            self.swap(value, order);
        }
    }
    impl Overwrite for AtomicUsize {
        type Value = usize;
        #[track_caller]
        fn overwrite(&self, value: usize, order: Ordering) {
            self.swap(value, order);
        }
    }
    pub trait LoadInOrder {
        type Value;
        fn load_in_order(&self) -> Self::Value;
    }
    impl<T> LoadInOrder for AtomicPtr<T> {
        type Value = *mut T;
        #[track_caller]
        fn load_in_order(&self) -> *mut T {
            let mut now = std::ptr::null_mut();
            while let Err(other) = self.compare_exchange(now, now, Ordering::AcqRel, Ordering::Acquire) {
                now = other;
            }
            now
        }
    }
    impl LoadInOrder for AtomicU8 {
        type Value = u8;
        #[track_caller]
        fn load_in_order(&self) -> u8 {
            self.fetch_or(0, Ordering::AcqRel)
        }
    }
    touched!(AtomicPtr<T>, la::AtomicPtr<T>, *mut T);
}
