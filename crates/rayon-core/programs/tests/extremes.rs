//! Ranges and lengths up to the end of `usize`. In both modes.

mod common;

use common::each;
use rayon::prelude::*;

#[test]
fn ranges_to_the_end_of_usize() {
    each("ranges", |rt| {
        rt.run(|| {
            const END: usize = usize::MAX;
            assert_eq!((0..END).into_par_iter().len(), END);
            assert_eq!((0..END).into_par_iter().find_any(|&i| i == 0), Some(0));
            assert!((0..=u128::MAX).into_par_iter().any(|i| i % 2 == 1));
            assert_eq!((END - 1000..=END).into_par_iter().map(|i| END - i).sum::<usize>(), 500_500);
            assert_eq!((0..END).into_par_iter().step_by(END / 4).map(|i| i / (END / 4)).sum::<usize>(), 10);
            assert_eq!((0..END).into_par_iter().with_min_len(END).position_first(|i| i == 3), Some(3));
            assert_eq!((0..1000).into_par_iter().with_min_len(END).with_max_len(END).count(), 1000);
        });
    });
}

#[test]
fn slices_and_repetitions_to_the_end_of_usize() {
    each("slices", |rt| {
        rt.run(|| {
            const END: usize = usize::MAX;
            // They take no memory.
            let nothings = vec![(); END];
            assert_eq!(nothings.par_iter().len(), END);
            assert!(nothings.par_iter().any(|()| true));
            assert_eq!(nothings.par_chunks(END).count(), 1);
            assert_eq!(nothings.par_chunks(END / 2).map(<[()]>::len).collect::<Vec<_>>(), [END / 2, END / 2, 1]);
            assert_eq!(nothings.par_windows(END).count(), 1);
            assert_eq!(rayon::iter::repeat_n(7, END).len(), END);
            assert_eq!(rayon::iter::repeat_n(7, END).find_any(|&x| x == 7), Some(7));
            let v: Vec<usize> = (0..1000).collect();
            assert_eq!(v.par_chunks(END).map(<[usize]>::len).collect::<Vec<_>>(), [1000]);
            assert_eq!(v.par_iter().skip(END).count(), 0);
            assert_eq!(v.par_iter().take(END).count(), 1000);
            assert_eq!(v.par_iter().zip(0..END).count(), 1000);
            assert_eq!(v.par_iter().interleave((0..2).into_par_iter().map(|_| &v[0])).count(), 1002);
            assert!(v.par_iter().step_by(END).eq(&[0usize]));
        });
    });
}
