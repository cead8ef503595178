//! Parallel sorts where there is no memory for their buffers: in processes of their own, with
//! limits.
#![cfg(target_os = "linux")]

use crate::common::{Rng, assert_ok, in_child};
use crate::sort_common::keys;
use myriad::{Runtime, par};

/// What this process has of addresses, in bytes.
fn mapped() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').next().unwrap().parse::<u64>().unwrap() * 4096
}

/// Only so many bytes more.
fn limit(more: u64) {
    let limit = libc::rlimit { rlim_cur: mapped() + more, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: a limit of this process.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// A runtime all of whose threads and stacks are there, with their arenas.
fn runtime() -> Runtime {
    let rt = crate::common::Mode::Threads.builder().workers(2).spare_workers(0).build().unwrap();
    let mut v = keys(0, 100_000, &mut Rng(1));
    rt.run(|| par::sort(&mut v));
    rt
}

/// 128 bytes: of many of them, a buffer is more than the C library has in reserve for a thread (64
/// MiB of addresses).
type Large = [u64; 16];

/// 77 MB of them.
fn large() -> Vec<Large> {
    let mut rng = Rng(2);
    (0..600_000).map(|i| [rng.next() >> 32, i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, i]).collect()
}

fn by_key(a: &Large, b: &Large) -> std::cmp::Ordering {
    a[0].cmp(&b[0])
}

/// In order, and the old order where keys are the same.
fn assert_stable(v: &[Large]) {
    assert!(v.is_sorted_by_key(|x| (x[0], x[1])));
    assert_eq!(v.iter().map(|x| x[15]).sum::<u64>(), (0..600_000).sum());
}

/// Enough for std's buffer, which is half as large, but not for ours.
const SOME: u64 = 48 << 20;

#[test]
fn std_sorts_where_there_is_no_buffer() {
    let output = in_child(&[], || {
        let rt = runtime();
        let (mut v, shuffled) = (large(), large());
        limit(SOME);
        rt.run(|| par::sort_by(&mut v, by_key));
        assert_stable(&v);
        v.copy_from_slice(&shuffled);
        rt.run(|| par::sort_by_radix_key(&mut v, |x| x[0]));
        assert_stable(&v);
        v.copy_from_slice(&shuffled);
        rt.run(|| par::merge_sort_by(&mut v, by_key));
        assert_stable(&v);
    });
    assert_ok(&output);
}

/// The unstable sorts need next to nothing.
#[test]
fn the_unstable_sorts_need_no_memory() {
    let output = in_child(&[], || {
        let rt = runtime();
        let mut v = large();
        limit(4 << 20);
        rt.run(|| par::sort_unstable(&mut v));
        assert_stable(&v);
    });
    assert_ok(&output);
}

/// Put in place by cycles.
#[test]
fn cached_keys_without_a_buffer() {
    let output = in_child(&[], || {
        let rt = runtime();
        let mut v = large();
        // Enough for the keys, and for sorting them.
        limit(SOME);
        rt.run(|| par::sort_by_cached_key(&mut v, |x| x[0]));
        assert_stable(&v);
    });
    assert_ok(&output);
}
