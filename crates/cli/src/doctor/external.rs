//! Systems outside this process that the workloads are compared with.

/// Such a system.
#[derive(Clone, Debug)]
pub(crate) struct External {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether it is installed.
    pub(crate) found: bool,
}

/// Looks for what the bench can run.
pub(crate) fn find() -> Vec<External> {
    let all = myriad_bench::outside().into_iter();
    all.map(|(name, found)| External { name, found: found.is_ok() }).collect()
}
