//! The longer texts of the repository, so that their programs are run as tests and their links are
//! checked: `cargo test -p myriad-docs --doc getting_started`.
//!
//! A link that a text defines for readers of the repository is defined here first, and the first
//! definition counts.

macro_rules! texts {
    ($($name:ident $file:literal $link:literal;)*) => {
        texts!(@each [$(concat!("[", $link, "]: crate::", stringify!($name)))*] $($name $file;)*);
    };
    (@each $links:tt $($name:ident $file:literal;)*) => {$(
        texts!(@one $links $name $file);
    )*};
    (@one [$($link:expr)*] $name:ident $file:literal) => {
        $(#[doc = $link])*
        /// [`Builder::fibers`]: myriad::Builder::fibers
        /// [`Builder::spare_workers`]: myriad::Builder::spare_workers
        ///
        #[doc = include_str!(concat!("../../../", $file))]
        pub mod $name {}
    };
}

texts! {
    readme "README.md" "README.md";
    getting_started "docs/GETTING-STARTED.md" "GETTING-STARTED.md";
    cookbook "docs/COOKBOOK.md" "COOKBOOK.md";
    modes "docs/MODES.md" "MODES.md";
    errors "docs/ERRORS.md" "ERRORS.md";
    debugging "docs/DEBUGGING.md" "DEBUGGING.md";
    tuning "docs/TUNING.md" "TUNING.md";
    futures_and_closures "docs/ASYNC.md" "ASYNC.md";
    from_tokio "docs/FROM-TOKIO.md" "FROM-TOKIO.md";
    from_go "docs/FROM-GO.md" "FROM-GO.md";
    from_rayon "docs/FROM-RAYON.md" "FROM-RAYON.md";
    from_std "docs/FROM-STD.md" "FROM-STD.md";
    from_erlang "docs/FROM-ERLANG.md" "FROM-ERLANG.md";
    from_clojure "docs/FROM-CLOJURE.md" "FROM-CLOJURE.md";
    from_core_async "docs/FROM-CORE-ASYNC.md" "FROM-CORE-ASYNC.md";
    from_taskflow "docs/FROM-TASKFLOW.md" "FROM-TASKFLOW.md";
    from_dagger "docs/FROM-DAGGER.md" "FROM-DAGGER.md";
    net "docs/NET.md" "NET.md";
    compare "docs/COMPARE.md" "COMPARE.md";
    schedulers "docs/SCHEDULERS.md" "SCHEDULERS.md";
    soundness "docs/SOUNDNESS.md" "SOUNDNESS.md";
    platform "docs/PLATFORM.md" "PLATFORM.md";
    parallel "docs/PARALLEL.md" "PARALLEL.md";
    jobs "docs/JOBS.md" "JOBS.md";
    c "docs/C.md" "C.md";
    foreign_libraries "docs/FOREIGN-LIBRARIES.md" "FOREIGN-LIBRARIES.md";
    rayon "docs/RAYON.md" "RAYON.md";
    contributing "CONTRIBUTING.md" "CONTRIBUTING.md";
    security "SECURITY.md" "SECURITY.md";
    architecture "docs/dev/ARCHITECTURE.md" "ARCHITECTURE.md";
    decisions "docs/dev/DECISIONS.md" "DECISIONS.md";
    glossary "docs/dev/GLOSSARY.md" "GLOSSARY.md";
    features "docs/dev/FEATURES.md" "FEATURES.md";
    benchmarks "docs/BENCHMARKS.md" "BENCHMARKS.md";
    changelog "CHANGELOG.md" "CHANGELOG.md";
}
