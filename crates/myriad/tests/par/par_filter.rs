//! Results that are wanted, in order; everything is dropped once.

use crate::common::{Drops, catch_planned, in_both_modes, plan, wait_until};
use myriad::par;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// As the iterator's own, of every length, whether many are wanted, few, all or none.
#[test]
fn as_iterators_do() {
    in_both_modes(|rt| {
        for n in [0_usize, 1, 2, 511, 513, 5000, 50_000] {
            let numbers: Vec<usize> = (0..n).collect();
            for wanted in
                [|i: &usize| i.is_multiple_of(3), |i: &usize| i % 4999 == 7, |_: &usize| true, |_: &usize| false]
            {
                let expected: Vec<usize> = numbers.iter().copied().filter(wanted).collect();
                let (filtered, texts, units) = rt.run(|| {
                    let filtered = par::filter(&numbers, wanted);
                    let texts = par::filter_map(&numbers, |i| wanted(i).then(|| i.to_string()));
                    (filtered, texts, par::filter_map_index(0..n, |i| wanted(&i).then_some(())))
                });
                assert_eq!(filtered, expected, "{n}");
                assert!(texts.iter().zip(&expected).all(|(text, i)| *text == i.to_string()), "{n}");
                assert_eq!((texts.len(), units.len()), (expected.len(), expected.len()));
            }
        }
    });
}

#[test]
fn panics_drop_everything_once() {
    in_both_modes(|rt| {
        for bad in [0, 1, 700, 1999] {
            let drops = Drops::new();
            let one =
                |i: usize| if i == bad { plan("filter") } else { (!i.is_multiple_of(3)).then(|| (i, drops.one())) };
            catch_planned("filter", || rt.run(|| par::filter_map_index(0..2000, one)));
            drops.assert_all(drops.made());
            let kept = rt.run(|| par::filter_map_index(0..2000, |i| (i != bad).then(|| (i, drops.one()))));
            assert!(kept.iter().map(|one| one.0).eq((0..2000).filter(|i| *i != bad)));
            drop(kept);
            drops.assert_all(drops.made());
        }
    });
}

#[test]
fn cancelled_in_the_middle() {
    in_both_modes(|rt| {
        let (began, drops) = (Arc::new(AtomicUsize::new(0)), Drops::new());
        let (b, d) = (began.clone(), drops.clone());
        let h = rt.spawn(move || {
            par::filter_map_index(0..1000_usize, |i| {
                let own = i.is_multiple_of(2).then(|| d.one());
                if b.fetch_add(1, SeqCst) > 20 {
                    myriad::time::sleep(Duration::from_secs(3600));
                }
                own
            })
        });
        wait_until(|| began.load(SeqCst) > 20);
        h.cancel();
        assert!(h.join().unwrap_err().is_cancelled());
        drops.assert_all(drops.made());
    });
}
