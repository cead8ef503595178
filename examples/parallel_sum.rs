//! Prints: 500000500000 four times
//!
//! Sums of borrowed data: by the function that there is for it, and by hand, with `join` for two
//! things and `scope` for any number. None needs `Arc`, nor clones: all return only when all that
//! they started has ended.

/// `myriad::par` has loops, maps, reductions, scans and sorts: how to cut is its own affair.
fn by_function(numbers: &[u64]) -> u64 {
    myriad::par::sum(numbers)
}

/// By halves. What is not worth a task is done at once.
fn by_join(numbers: &[u64]) -> u64 {
    if numbers.len() <= 10_000 {
        return numbers.iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (a, b) = myriad::join(|| by_join(left), || by_join(right));
    a + b
}

/// A task for each part; results come through the handles.
fn by_handles(numbers: &[u64]) -> u64 {
    myriad::scope(|s| {
        let parts: Vec<_> = numbers.chunks(100_000).map(|part| s.spawn(move || part.iter().sum::<u64>())).collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum()
    })
}

/// A task for each part; each writes into a place of its own, and the scope's end waits for all.
fn by_places(numbers: &[u64]) -> u64 {
    let mut sums = [0; 10];
    myriad::scope(|s| {
        for (part, sum) in numbers.chunks(100_000).zip(&mut sums) {
            s.spawn(move || *sum = part.iter().sum());
        }
    });
    sums.iter().sum()
}

fn main() {
    let numbers: Vec<u64> = (1..=1_000_000).collect();
    let sums = [by_function(&numbers), by_join(&numbers), by_handles(&numbers), by_places(&numbers)];
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    println!("{} four times", sums[0]);
}
