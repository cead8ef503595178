//! The longer texts of the repository, so that their links are checked and their programs are run
//! as tests.
//!
//! A link that a text defines for readers of the repository is defined here first, and the first
//! definition counts.

macro_rules! texts {
    ($($name:ident $file:literal;)*) => {$(
        /// [README.md]: crate::_documentation::readme
        /// [ARCHITECTURE.md]: crate::_documentation::architecture
        /// [DECISIONS.md]: crate::_documentation::decisions
        /// [GLOSSARY.md]: crate::_documentation::glossary
        /// [CONTRIBUTING.md]: crate::_documentation::contributing
        /// [FEATURES.md]: crate::_documentation::features
        /// [COMPARE.md]: crate::_documentation::compare
        /// [SCHEDULERS.md]: crate::_documentation::schedulers
        /// [SOUNDNESS.md]: crate::_documentation::soundness
        /// [PLATFORM.md]: crate::_documentation::platform
        /// [RAYON.md]: crate::_documentation::rayon
        /// [PARALLEL.md]: crate::_documentation::parallel
        /// [FOREIGN-LIBRARIES.md]: crate::_documentation::foreign_libraries
        /// [C.md]: crate::_documentation::c
        /// [CHANGELOG.md]: crate::_documentation::changelog
        /// [BENCHMARKS.md]: crate::_documentation::benchmarks
        /// [`Builder::fibers`]: crate::Builder::fibers
        ///
        #[doc = include_str!(concat!("../../../", $file))]
        pub mod $name {}
    )*};
}

texts! {
    readme "README.md";
    contributing "CONTRIBUTING.md";
    architecture "docs/dev/ARCHITECTURE.md";
    decisions "docs/dev/DECISIONS.md";
    glossary "docs/dev/GLOSSARY.md";
    features "docs/FEATURES.md";
    compare "docs/COMPARE.md";
    schedulers "docs/SCHEDULERS.md";
    soundness "docs/SOUNDNESS.md";
    platform "docs/PLATFORM.md";
    parallel "docs/PARALLEL.md";
    c "docs/C.md";
    foreign_libraries "docs/FOREIGN-LIBRARIES.md";
    rayon "docs/RAYON.md";
    changelog "CHANGELOG.md";
    benchmarks "docs/BENCHMARKS.md";
}
