//! Are there few different values? Then a sort that divides by pivots soon has slices of equal
//! elements, and nothing else pays.

use super::Random;
use std::cmp::Ordering::{self, Less};

/// Elements that are sampled.
const SAMPLE: usize = 64;

/// Are no more than half of a sample different? (Of 100 values 47 are, of 1000 already 62.) There
/// is an element.
pub(super) fn are_few_values<T>(v: &[T], cmp: &impl Fn(&T, &T) -> Ordering) -> bool {
    let mut random = Random::new(v.len());
    let mut sample: [&T; SAMPLE] = std::array::from_fn(|_| &v[random.below(v.len())]);
    sample.sort_unstable_by(|a, b| cmp(a, b));
    let different = 1 + sample.windows(2).filter(|pair| cmp(pair[0], pair[1]) == Less).count();
    different <= SAMPLE / 2
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn few_and_many() {
        let of = |values: u64| {
            (0..50_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).map(|x| x % values).collect()
        };
        for values in [1, 2, 16, 30] {
            let v: Vec<u64> = of(values);
            assert!(are_few_values(&v, &u64::cmp), "{values}");
        }
        for values in [300, 10_000, u64::MAX] {
            let v: Vec<u64> = of(values);
            assert!(!are_few_values(&v, &u64::cmp), "{values}");
        }
        assert!(are_few_values(&[1], &u64::cmp));
        // It lies, and is asked again.
        assert!(!are_few_values(&[0_u64; 100], &|_, _| Less));
    }
}
