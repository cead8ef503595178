//! Is there little to sort? A look at each pair of neighbours, in parallel, that ends when there are too many that say no.

use super::fork;
use std::cmp::Ordering::{self, Less};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What a slice looks like.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// In order.
    Sorted,
    /// Strictly in the opposite order: so turning it around is stable.
    Reversed,
    /// Runs that are in order, which begin at these places. There are at least two.
    Runs(Vec<usize>),
    /// Anything else.
    Other,
}

/// The most runs: merging them passes over the elements `log2` as many times.
const RUNS: usize = 16;
/// Pairs that are looked at before others are asked what they have found.
const STRIDE: usize = 1 << 12;

/// Looks. The slice is untouched.
pub(super) fn look<T, F>(v: &[T], cmp: &F, workers: usize) -> Shape
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let [first, second, ..] = v else { return Shape::Sorted };
    if cmp(second, first) != Less {
        return match exceptions(v, &|a, b| cmp(b, a) == Less, RUNS - 1, workers) {
            Some(starts) if starts.is_empty() => Shape::Sorted,
            Some(mut starts) => {
                starts.push(0);
                starts.sort_unstable();
                Shape::Runs(starts)
            }
            None => Shape::Other,
        };
    }
    match exceptions(v, &|a, b| cmp(b, a) != Less, 0, workers) {
        Some(_) => Shape::Reversed,
        None => Shape::Other,
    }
}

/// The numbers of the elements that are no `exception` after their neighbours, in no order; `None` if there are more than so many.
fn exceptions<T, E>(v: &[T], exception: &E, most: usize, workers: usize) -> Option<Vec<usize>>
where
    T: Sync,
    E: Fn(&T, &T) -> bool + Sync,
{
    // Relaxed, both: the answer goes through the joins. `count` may be late, which costs only time.
    let count = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let look = |part: std::ops::Range<usize>| {
        // (A pair may have its second element in the next part: elements are shared, hence `T: Sync`.)
        for start in part.clone().step_by(STRIDE) {
            let end = part.end.min(start + STRIDE);
            if count.load(Relaxed) > most {
                return;
            }
            for (i, pair) in v[start..=end].windows(2).enumerate() {
                if exception(&pair[0], &pair[1]) {
                    // (No code of the caller's runs under the lock.)
                    found.lock().expect("nothing panics under it").push(start + i + 1);
                    if count.fetch_add(1, Relaxed) >= most {
                        return;
                    }
                }
            }
        }
    };
    // Of most slices the first few pairs tell.
    let head = (v.len() - 1).min(STRIDE);
    look(0..head);
    if count.load(Relaxed) <= most {
        fork::ranges(head..v.len() - 1, fork::grain(v.len(), workers, 4 * STRIDE), &look);
    }
    (count.into_inner() <= most).then(|| found.into_inner().expect("nothing panics under it"))
}

#[cfg(test)]
mod test {
    use super::*;

    fn shape(v: &[u32]) -> Shape {
        look(v, &u32::cmp, 2)
    }

    #[test]
    fn shapes() {
        let up: Vec<u32> = (0..100_000).collect();
        let down: Vec<u32> = (0..100_000).rev().collect();
        assert_eq!(shape(&up), Shape::Sorted);
        assert_eq!(shape(&down), Shape::Reversed);
        assert_eq!(shape(&[7; 100_000]), Shape::Sorted);
        // Turned around these would change places.
        assert_eq!(shape(&[&down[..], &[0]].concat()), Shape::Other);
        assert_eq!(shape(&[]), Shape::Sorted);
        assert_eq!(shape(&[1]), Shape::Sorted);
        assert_eq!(shape(&[2, 1]), Shape::Reversed);
    }

    #[test]
    fn runs_wherever_they_begin() {
        for starts in [vec![50_000], vec![2], vec![99_999], vec![3, 4096, 4097, 12_288, 70_000]] {
            // Each run begins below the end of the one before.
            let run = |i: u32| starts.iter().filter(|&&start| start <= i as usize).count() as u32;
            let v: Vec<u32> = (0..100_000).map(|i| 1_000_000 * (10 - run(i)) + i).collect();
            let all: Vec<usize> = std::iter::once(0).chain(starts.iter().copied()).collect();
            assert_eq!(shape(&v), Shape::Runs(all));
        }
        // The first pair says "down".
        let v: Vec<u32> = [1].into_iter().chain(0..100_000).collect();
        assert_eq!(shape(&v), Shape::Other);
    }

    #[test]
    fn too_many_runs() {
        let v: Vec<u32> = (0..100_000).map(|i| i % 5000).collect();
        assert_eq!(shape(&v), Shape::Other);
    }
}
