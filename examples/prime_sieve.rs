//! Prints: 2 3 5 7 11 13 17 19 23 29 31 37 41 43 47 53 59 61 67 71
//!
//! Hoare's sieve (Communicating Sequential Processes, 1978): a task for each prime, which lets pass
//! what its prime does not divide. When the last receiver is dropped the tasks end one after the
//! other, from the tail to the source: each send that finds nobody says so.

use myriad::channel::{Receiver, bounded};

/// All odd numbers from 3.
fn odd_numbers() -> Receiver<u32> {
    let (tx, rx) = bounded(5);
    myriad::spawn(move || {
        for n in (3..).step_by(2) {
            if tx.send(n).is_err() {
                return;
            }
        }
    });
    rx
}

/// What comes in and is not divisible by `prime`.
fn filter(prime: u32, from: Receiver<u32>) -> Receiver<u32> {
    let (tx, rx) = bounded(5);
    myriad::spawn(move || {
        for n in from.iter().filter(|n| !n.is_multiple_of(prime)) {
            if tx.send(n).is_err() {
                return;
            }
        }
    });
    rx
}

fn main() {
    let primes = myriad::run(|| {
        let mut primes = vec![2];
        let mut numbers = odd_numbers();
        while primes.len() < 20 {
            let prime = numbers.recv().expect("there is always another one");
            primes.push(prime);
            numbers = filter(prime, numbers);
        }
        primes
    });
    let primes: Vec<_> = primes.iter().map(u32::to_string).collect();
    println!("{}", primes.join(" "));
}
