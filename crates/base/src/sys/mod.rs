//! The only door to atomics, cells, threads, clock, memory maps and futexes.
//!
//! Everything that the engine and the floors above it share between threads comes through here, so
//! that one switch replaces it all: under `--cfg loom` the atomics, cells and parking are the model
//! checker's, and [`mutant`] can plant a fault; time comes from [`clock`], which a runtime can make
//! virtual, and chance from [`choice`].
//!
//! Not for users: the module is public for the crates of this workspace only and may change at any
//! time.

pub mod atomic;
pub mod cell;
pub mod choice;
pub mod clock;
pub mod fact;
pub mod fence;
pub mod fork;
pub mod futex;
pub mod hooks;
pub mod map;
pub mod mutant;
pub mod mutex;
pub mod passing;
pub mod prefetch;
pub mod say;
pub mod thread;

/// A function that is `const`, but for loom's models, whose atomics and cells cannot be made in
/// constants.
#[macro_export]
#[doc(hidden)]
macro_rules! __const_fn {
    ($(#[$meta:meta])* $vis:vis const fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty $body:block) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $name($($arg: $type),*) -> $result $body
        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $name($($arg: $type),*) -> $result $body
    };
}
pub use __const_fn as const_fn;
