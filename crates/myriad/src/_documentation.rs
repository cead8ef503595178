//! The longer texts of the repository, so that their links are checked and their programs are run
//! as tests.
//!
//! A link that a text defines for readers of the repository is defined here first, and the first
//! definition counts.

macro_rules! texts {
    ($($name:ident $file:literal;)*) => {$(
        /// [README.md]: crate::_documentation::readme
        /// [DESIGN.md]: crate::_documentation::design
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
        /// [`Builder::fibers`]: crate::Builder::fibers
        ///
        #[doc = include_str!(concat!("../../../", $file))]
        pub mod $name {}
    )*};
}

texts! {
    readme "README.md";
    design "docs/DESIGN.md";
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
}
