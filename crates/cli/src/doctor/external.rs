//! Systems outside this process that the workloads can be compared with.

use std::path::Path;

/// Such a system.
#[derive(Clone, Debug)]
pub(crate) struct External {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether it is installed.
    pub(crate) found: bool,
}

/// Looks for the programs in `PATH`, and for the headers of Boost.
pub(crate) fn find() -> Vec<External> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = |name: &'static str| {
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        External { name, found: std::env::split_paths(&path).any(|dir| dir.join(&file).is_file()) }
    };
    let mut list: Vec<_> = ["go", "erl", "elixir", "ghc", "julia"].map(program).into();
    let headers = ["/usr/include", "/usr/local/include", "/opt/homebrew/include"];
    let boost = headers.iter().any(|dir| Path::new(dir).join("boost/fiber/all.hpp").is_file());
    list.push(External { name: "boost", found: boost });
    list
}
