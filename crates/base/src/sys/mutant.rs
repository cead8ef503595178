//! Faults that a loom model can plant in the product's own code.
//!
//! An ordering that matters is written `ord(Release, "push-top-release")`: in every normal build
//! that is the constant `Release`. In a model, when the mutant of that name is active, it is
//! `Relaxed`; the runner in `tests/loom/mutants.rs` plants each in turn and expects a model to
//! fail. `on("name")` is for mutants that drop or change a step: constant `false` in a normal
//! build, so the branch disappears.

use super::atomic::Ordering;

/// The ordering itself, or `Relaxed` while this mutant is planted.
#[cfg(not(loom))]
#[inline(always)]
pub const fn ord(strong: Ordering, _mutant: &str) -> Ordering {
    strong
}

/// The ordering itself, or `weak` while this mutant is planted.
#[cfg(not(loom))]
#[inline(always)]
pub const fn ord_to(strong: Ordering, _weak: Ordering, _mutant: &str) -> Ordering {
    strong
}

/// Is this mutant planted?
#[cfg(not(loom))]
#[inline(always)]
pub const fn on(_mutant: &str) -> bool {
    false
}

/// Is this fault planted? For steps that no model reaches, because a model has no workers:
/// behaviour tests catch these faults (`scripts/faults.sh`). Constant `false` but in a build with
/// `--cfg myriad_faults`, where `MYRIAD_FAULT` names one.
#[inline(always)]
pub fn fault(name: &str) -> bool {
    #[cfg(myriad_faults)]
    {
        static PLANTED: std::sync::LazyLock<String> =
            std::sync::LazyLock::new(|| std::env::var("MYRIAD_FAULT").unwrap_or_default());
        *PLANTED == name
    }
    #[cfg(not(myriad_faults))]
    {
        _ = name;
        false
    }
}

#[cfg(loom)]
pub use planted::*;

#[cfg(loom)]
mod planted {
    #![allow(missing_docs)]
    use super::Ordering;
    use std::cell::Cell;

    // Of the thread that explores, on which all threads of a model run.
    thread_local! {
        static ACTIVE: Cell<&'static str> = const { Cell::new("") };
    }

    /// Plants one mutant for all models that follow on this thread; "" for none.
    pub fn plant(mutant: &'static str) {
        ACTIVE.set(mutant);
    }
    pub fn on(mutant: &str) -> bool {
        ACTIVE.get() == mutant
    }
    pub fn ord(strong: Ordering, mutant: &str) -> Ordering {
        ord_to(strong, Ordering::Relaxed, mutant)
    }
    pub fn ord_to(strong: Ordering, weak: Ordering, mutant: &str) -> Ordering {
        if on(mutant) { weak } else { strong }
    }
}
