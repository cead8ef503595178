//! How much memory the process has, as the kernel counts it. Nothing is known outside Linux.

/// Memory at a moment: resident pages and the page tables that map them.
///
/// What is there at two moments is compared by *anonymous* pages: a page of the program's own file,
/// which is mapped when its code first runs, is no memory of a task. (The kernel maps 16 at a time,
/// and the code of a first connection is most of a megabyte.) Of a peak the kernel says only all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    anonymous: u64,
    resident: u64,
    peak: u64,
    tables: u64,
}

impl Memory {
    /// What the process has now.
    pub(crate) fn now() -> Option<Memory> {
        Memory::of(None)
    }

    /// What another process has, or this one.
    pub(crate) fn of(process: Option<u32>) -> Option<Memory> {
        let process = process.map_or("self".into(), |process| process.to_string());
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        Some(Memory {
            anonymous: field(&status, "RssAnon:")?,
            resident: field(&status, "VmRSS:")?,
            peak: field(&status, "VmHWM:")?,
            tables: field(&status, "VmPTE:")?,
        })
    }

    /// Bytes that have been added since `before` and are still there, for each of `n`.
    pub(crate) fn growth(before: Option<Memory>, n: u64) -> Option<f64> {
        Some(Memory::now()?.growth_since(before?, n))
    }

    /// The same, when this is what there is now.
    pub(crate) fn growth_since(self, before: Memory, n: u64) -> f64 {
        (self.anonymous + self.tables).saturating_sub(before.anonymous + before.tables) as f64 / n as f64
    }

    /// Bytes by which the peak since `before` is above what there was then, for each of `n`.
    pub(crate) fn peak_growth(before: Option<Memory>, n: u64) -> Option<f64> {
        let (before, now) = (before?, Memory::now()?);
        Some((now.peak + now.tables).saturating_sub(before.resident + before.tables) as f64 / n as f64)
    }
}

/// The most memory the process ever had resident, in bytes.
pub(crate) fn peak() -> Option<u64> {
    Memory::now().map(|m| m.peak)
}

/// A field of `/proc/self/status`, in bytes.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Asks the system for large pages, where it has them on request: for all programs alike.
pub(crate) fn huge_pages<T>(xs: &mut [T]) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 1 << 12;
        let begin = xs.as_mut_ptr().addr().next_multiple_of(PAGE);
        let end = (xs.as_ptr().addr() + size_of_val(xs)) / PAGE * PAGE;
        if begin < end {
            // SAFETY: whole pages of our own memory; the advice changes nothing that is in them.
            unsafe { libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_HUGEPAGE) };
        }
    }
    let _ = xs;
}

#[cfg(test)]
mod test {
    use super::field;

    #[test]
    fn reads_a_field_in_kib() {
        assert_eq!(field("Name:\tx\nVmPTE:\t      44 kB\n", "VmPTE:"), Some(44 * 1024));
        assert_eq!(field("Name:\tx\n", "VmPTE:"), None);
    }
}
