//! Systems outside this process that the workloads are compared with, or could be.

use std::path::Path;

/// Such a system.
#[derive(Clone, Debug)]
pub(crate) struct External {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether it is installed.
    pub(crate) found: bool,
}

/// Looks for the programs in `PATH`, for the headers of Boost, and for what the bench can run.
pub(crate) fn find() -> Vec<External> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = |name: &'static str| {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        External { name, found: std::env::split_paths(&path).any(|dir| dir.join(&file).is_file()) }
    };
    let mut list: Vec<_> = ["ghc", "julia"].map(program).into();
    let headers = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"];
    let boost = headers.iter().any(|dir| Path::new(dir).join("boost/fiber/all.hpp").is_file());
    list.push(External { name: "boost", found: boost });
    list.extend(myriad_bench::outside().into_iter().map(|(name, found)| External { name, found: found.is_ok() }));
    list
}
