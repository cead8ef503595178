//! Closures, comparators and elements of parallel algorithms.

use crate::behaviours::{Value, When};
use crate::cell::{Cx, Seen};
use myriad::par;

const N: u64 = 300;

fn again(cx: &Cx) {
    cx.foe.on_again(|| {
        let mut numbers: Vec<u64> = (0..N).rev().collect();
        par::sort(&mut numbers);
        assert!(numbers.is_sorted());
        assert_eq!(par::sum(&numbers), N * (N - 1) / 2);
    });
}

/// Elements in disorder.
fn elements(cx: &Cx, when: When) -> Vec<Value> {
    (0..N).map(|i| cx.value_when(when, i * 7919 % N)).collect()
}

/// Acts for one of the numbers.
fn at(cx: &Cx, i: u64) {
    if i == N / 2 {
        cx.act();
    }
}

/// All elements are there, whatever a comparator did.
fn complete(v: &[Value]) {
    let mut keys: Vec<u64> = v.iter().map(|x| x.key).collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..N), "elements are lost or doubled");
}

fn sorts(cx: &Cx, sort: impl FnOnce(&mut [Value])) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut v = elements(cx, When::Compare);
    let seen = Seen::of(|| sort(&mut v));
    complete(&v);
    assert!(seen != Seen::Well || v.is_sorted_by_key(|x| x.key));
    wait();
    seen
}

pub(crate) fn sort(cx: &Cx) -> Seen {
    sorts(cx, par::sort)
}

pub(crate) fn sort_unstable(cx: &Cx) -> Seen {
    sorts(cx, par::sort_unstable)
}

pub(crate) fn merge_sort(cx: &Cx) -> Seen {
    sorts(cx, par::merge_sort)
}

/// Keys that are made once: their destructors act.
pub(crate) fn sort_by_cached_key(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut v = elements(cx, When::Clone);
    let seen = Seen::of(|| par::sort_by_cached_key(&mut v, |x| cx.value_when(When::Drop, x.key)));
    complete(&v);
    wait();
    seen
}

/// The function that makes a key.
pub(crate) fn sort_by_key(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut v = elements(cx, When::Clone);
    let seen = Seen::of(|| {
        par::sort_by_key(&mut v, |x| {
            at(cx, x.key);
            x.key
        })
    });
    complete(&v);
    wait();
    seen
}

/// A loop's body.
pub(crate) fn for_each_index(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let seen = Seen::of(|| par::for_each_index(0..N, |i| at(cx, i)));
    wait();
    seen
}

/// A loop over the elements of a slice.
pub(crate) fn for_each(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let v = elements(cx, When::Clone);
    let seen = Seen::of(|| par::for_each(&v, |x| at(cx, x.key)));
    complete(&v);
    wait();
    seen
}

/// A loop over what an iterator gives.
pub(crate) fn for_each_bridge(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let v = elements(cx, When::Drop);
    let seen = Seen::of(|| par::for_each_bridge(v, drop));
    wait();
    seen
}

/// Results of a map, which are dropped because the function panics for another one.
pub(crate) fn map_results(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let numbers: Vec<u64> = (0..N).collect();
    let seen = Seen::of(|| {
        par::map(&numbers, |i| {
            if *i == N - 1 {
                crate::common::plan("hostile");
            }
            cx.value()
        })
    });
    wait();
    seen
}

/// The function of a map.
pub(crate) fn map(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let numbers: Vec<u64> = (0..N).collect();
    let seen = Seen::of(|| {
        par::map(&numbers, |i| {
            at(cx, *i);
            cx.value_when(When::Clone, *i)
        })
    });
    wait();
    seen
}

/// The question of a filter, and the clones of what is wanted.
pub(crate) fn filter(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let v = elements(cx, When::Clone);
    let seen = Seen::of(|| par::filter(&v, |x| x.key % 2 == 0));
    complete(&v);
    wait();
    seen
}

/// What a reduction combines is dropped by it.
pub(crate) fn map_reduce_index(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let larger = |a: Value, b: Value| if a.key < b.key { b } else { a };
        par::map_reduce_index(
            0..N,
            |i| cx.value_when(When::Clone, i),
            cx.value_when(When::Clone, 0),
            |a, b| {
                if b.key > N / 2 {
                    cx.act();
                }
                larger(a, b)
            },
        )
    });
    wait();
    seen
}

/// A prefix scan.
pub(crate) fn scan(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut v = elements(cx, When::Clone);
    let seen = Seen::of(|| {
        par::scan_inclusive(&mut v, |a, b| {
            at(cx, b.key);
            cx.value_when(When::Clone, a.key.max(b.key))
        })
    });
    wait();
    seen
}

/// What a scan replaces is dropped by it.
pub(crate) fn scan_elements(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut v = elements(cx, When::Drop);
    let seen = Seen::of(|| par::scan_inclusive(&mut v, |a, b| cx.value_when(When::Clone, a.key.max(b.key))));
    drop(v);
    wait();
    seen
}

/// The body of a loop that may fail.
pub(crate) fn try_for_each_index(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let result = par::try_for_each_index(0..N, |i| {
            at(cx, i);
            if i < N - 1 { Ok(()) } else { Err(i) }
        });
        assert_eq!(result, Err(N - 1));
    });
    wait();
    seen
}

/// The errors: one is returned, and dropped here; the loop drops the others.
pub(crate) fn try_for_each_errors(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let fails = |i| if i < N / 2 { Ok(()) } else { Err(cx.value_when(When::Drop, i)) };
    let seen = Seen::of(|| {
        let error = par::try_for_each_index(0..N, fails).unwrap_err();
        assert_eq!(error.key, N / 2);
    });
    wait();
    seen
}

/// What the body has captured, which is dropped when the result is there.
pub(crate) fn try_for_each_captures(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let captured = cx.value();
    let seen = Seen::of(move || {
        let result = par::try_for_each_index(0..N, move |i| {
            _ = &captured;
            if i < N / 2 { Ok(()) } else { Err(cx.value_when(When::Clone, i)) }
        });
        assert_eq!(result.unwrap_err().key, N / 2);
    });
    wait();
    seen
}

/// The error beside a panic of a lower number, which goes on.
pub(crate) fn try_for_each_panic_error(cx: &Cx) -> Seen {
    cx.foe.strict();
    again(cx);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let result = par::try_for_each_index(0..N, |i| match i {
            0 => crate::common::plan("hostile"),
            _ if i < N - 1 => Ok(()),
            _ => Err(cx.value()),
        });
        drop(result);
    });
    wait();
    seen
}

/// The body of a loop over elements, beside errors of later ones.
pub(crate) fn try_for_each(cx: &Cx) -> Seen {
    cx.foe.strict();
    again(cx);
    let wait = cx.last_sender();
    let v = elements(cx, When::Clone);
    let seen = Seen::of(|| {
        let result = par::try_for_each(&v, |x| {
            at(cx, x.key);
            if x.key == N / 2 || x.key < N - 30 { Ok(()) } else { Err(cx.value()) }
        });
        drop(result.unwrap_err());
    });
    complete(&v);
    wait();
    seen
}

/// The function of a map that may fail, beside errors of later numbers.
pub(crate) fn try_map_index(cx: &Cx) -> Seen {
    cx.foe.strict();
    again(cx);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let result = par::try_map_index(0..N, |i| {
            at(cx, i);
            if i <= N / 2 { Ok(cx.value_when(When::Clone, i)) } else { Err(cx.value_when(When::Drop, i)) }
        });
        assert_eq!(result.unwrap_err().key, N / 2 + 1);
    });
    wait();
    seen
}

/// Results of a map, which are dropped because it fails for another one.
pub(crate) fn try_map_results(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let numbers: Vec<u64> = (0..N).collect();
    let seen = Seen::of(|| {
        let result = par::try_map(&numbers, |i| if *i < N - 1 { Ok(cx.value()) } else { Err(*i) });
        assert_eq!(result.unwrap_err(), N - 1);
    });
    wait();
    seen
}
