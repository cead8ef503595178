//! Programs for rayon, as in its own collection of demos but short: `rayon-programs [NAME..]`.
//!
//! They know nothing of Myriad: `scripts/rayon-bench.sh` builds them twice, with rayon on itself
//! and on Myriad, and compares. Each run prints the program, the median time of its rounds in
//! microseconds, and a number that must be the same for both.

use rayon::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A round of a program: what it computes is checked.
type Program = (&'static str, fn() -> Box<dyn FnMut() -> u64>);

const PROGRAMS: &[Program] = &[
    ("sum", sum),
    ("dot", dot),
    ("sort", sort),
    ("sort_unstable", sort_unstable),
    ("quicksort", quicksort),
    ("mergesort", mergesort),
    ("matmul", matmul),
    ("nbody", nbody),
    ("tsp", tsp),
    ("sieve", sieve),
    ("life", life),
    ("fib", fib),
    ("scope_tree", scope_tree),
    ("nested", nested),
    ("bridge", bridge),
    ("small", small),
];

/// So long a program runs, in whole rounds, after one that does not count.
const TIME: Duration = Duration::from_millis(600);

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    for name in &asked {
        assert!(PROGRAMS.iter().any(|program| program.0 == name), "there is no program '{name}'");
    }
    for (name, program) in PROGRAMS.iter().filter(|program| asked.is_empty() || asked.iter().any(|n| n == program.0)) {
        let mut round = program();
        let check = round();
        let (began, mut times) = (Instant::now(), Vec::new());
        while began.elapsed() < TIME || times.len() < 5 {
            let start = Instant::now();
            let result = round();
            times.push(start.elapsed());
            assert_eq!(result, check, "{name}: another result");
        }
        times.sort();
        println!("{name} {:.1} {check}", times[times.len() / 2].as_nanos() as f64 / 1000.0);
    }
}

/// Steele's splitmix: the same numbers everywhere.
fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn numbers(n: usize) -> Vec<u64> {
    let mut next = random(1);
    (0..n).map(|_| next()).collect()
}

/// A number for the order of a sequence.
fn digest(v: &[u64]) -> u64 {
    v.iter().step_by(97).fold(0, |sum: u64, &x| sum.wrapping_mul(31).wrapping_add(x))
}

fn sum() -> Box<dyn FnMut() -> u64> {
    let v = numbers(4_000_000);
    Box::new(move || v.par_iter().map(|x| x ^ (x >> 7)).reduce(|| 0, u64::wrapping_add))
}

fn dot() -> Box<dyn FnMut() -> u64> {
    let v = numbers(1_000_000);
    Box::new(move || {
        v.par_iter().zip(v.par_chunks(1)).map(|(x, y)| (x >> 40) * (y[0] >> 40)).reduce(|| 0, u64::wrapping_add)
    })
}

fn sort() -> Box<dyn FnMut() -> u64> {
    let v = numbers(1_000_000);
    Box::new(move || {
        let mut v = v.clone();
        v.par_sort();
        digest(&v)
    })
}

fn sort_unstable() -> Box<dyn FnMut() -> u64> {
    let v = numbers(1_000_000);
    Box::new(move || {
        let mut v = v.clone();
        v.par_sort_unstable();
        digest(&v)
    })
}

fn quicksort() -> Box<dyn FnMut() -> u64> {
    fn go(v: &mut [u64]) {
        if v.len() <= 64 {
            return v.sort_unstable();
        }
        let (last, mut low) = (v.len() - 1, 0);
        v.swap(last / 2, last);
        for i in 0..last {
            if v[i] < v[last] {
                v.swap(i, low);
                low += 1;
            }
        }
        v.swap(low, last);
        let (less, more) = v.split_at_mut(low);
        rayon::join(|| go(less), || go(&mut more[1..]));
    }
    let v = numbers(500_000);
    Box::new(move || {
        let mut v = v.clone();
        go(&mut v);
        digest(&v)
    })
}

fn mergesort() -> Box<dyn FnMut() -> u64> {
    fn go(v: &mut [u64], room: &mut [u64]) {
        if v.len() <= 256 {
            return v.sort();
        }
        let mid = v.len() / 2;
        {
            let ((a, b), (ra, rb)) = (v.split_at_mut(mid), room.split_at_mut(mid));
            rayon::join(|| go(a, ra), || go(b, rb));
        }
        let (mut i, mut j) = (0, mid);
        for slot in room.iter_mut() {
            let left = j == v.len() || i < mid && v[i] <= v[j];
            *slot = if left { v[i] } else { v[j] };
            *(if left { &mut i } else { &mut j }) += 1;
        }
        v.copy_from_slice(room);
    }
    let v = numbers(500_000);
    Box::new(move || {
        let (mut v, mut room) = (v.clone(), vec![0; v.len()]);
        go(&mut v, &mut room);
        digest(&v)
    })
}

fn matmul() -> Box<dyn FnMut() -> u64> {
    const N: usize = 256;
    /// `c[rows] = a[rows] * b`, halving the rows.
    fn go(c: &mut [f64], a: &[f64], b: &[f64]) {
        if c.len() <= 4 * N {
            for (c, a) in c.chunks_mut(N).zip(a.chunks(N)) {
                c.fill(0.0);
                for (x, b) in a.iter().zip(b.chunks(N)) {
                    c.iter_mut().zip(b).for_each(|(c, y)| *c += x * y);
                }
            }
            return;
        }
        let half = c.len() / N / 2 * N;
        let ((c1, c2), (a1, a2)) = (c.split_at_mut(half), a.split_at(half));
        rayon::join(|| go(c1, a1, b), || go(c2, a2, b));
    }
    let v: Vec<f64> = numbers(N * N).iter().map(|x| (x >> 56) as f64).collect();
    Box::new(move || {
        let mut c = vec![0.0; N * N];
        go(&mut c, &v, &v);
        c.iter().sum::<f64>() as u64
    })
}

fn nbody() -> Box<dyn FnMut() -> u64> {
    const N: usize = 800;
    let v = numbers(3 * N);
    let body = |c: &[u64]| [c[0], c[1], c[2]].map(|x| (x >> 40) as f64 / 1e5);
    let at: Vec<[f64; 3]> = v.chunks(3).map(body).collect();
    Box::new(move || {
        let force = |p: &[f64; 3]| {
            at.iter().fold([0.0; 3], |f: [f64; 3], q| {
                let d: [f64; 3] = std::array::from_fn(|i| q[i] - p[i]);
                let r2 = d.iter().map(|x| x * x).sum::<f64>() + 1.0;
                std::array::from_fn(|i| f[i] + d[i] / (r2 * r2.sqrt()))
            })
        };
        let forces: Vec<[f64; 3]> = at.par_iter().map(force).collect();
        forces.iter().flatten().fold(0, |sum: u64, x| sum.wrapping_add(x.to_bits() >> 20))
    })
}

fn tsp() -> Box<dyn FnMut() -> u64> {
    const N: usize = 10;
    fn go(d: &[[u64; N]; N], at: usize, left: u32, so_far: u64, depth: usize) -> u64 {
        if left == 0 {
            return so_far + d[at][0];
        }
        let next = (0..N).filter(|i| left & (1 << i) != 0);
        let step = |i: usize| go(d, i, left & !(1 << i), so_far + d[at][i], depth + 1);
        if depth < 4 {
            let next: Vec<usize> = next.collect();
            next.into_par_iter().map(step).min().expect("not empty")
        } else {
            next.map(step).min().expect("not empty")
        }
    }
    let v = numbers(N * N);
    Box::new(move || {
        let d: [[u64; N]; N] = std::array::from_fn(|i| std::array::from_fn(|j| v[i * N + j] >> 50));
        go(&d, 0, (1 << N) - 2, 0, 0)
    })
}

fn sieve() -> Box<dyn FnMut() -> u64> {
    const N: usize = 2_000_000;
    const CHUNK: usize = 50_000;
    Box::new(move || {
        let root = (N as f64).sqrt() as usize + 1;
        let mut small = vec![true; root + 1];
        let mut primes = Vec::new();
        for i in 2..=root {
            if small[i] {
                primes.push(i);
                (i * i..=root).step_by(i).for_each(|j| small[j] = false);
            }
        }
        let mut is_prime = vec![true; N];
        is_prime.par_chunks_mut(CHUNK).enumerate().for_each(|(n, chunk)| {
            let start = n * CHUNK;
            for &p in &primes {
                let first = (p * p).max(start.next_multiple_of(p));
                (first - start..chunk.len()).step_by(p).for_each(|i| chunk[i] = false);
            }
        });
        is_prime.par_iter().filter(|&&x| x).count() as u64 - 2
    })
}

fn life() -> Box<dyn FnMut() -> u64> {
    const N: usize = 256;
    let first: Vec<u8> = numbers(N * N).iter().map(|x| (x >> 63) as u8).collect();
    Box::new(move || {
        let mut board = first.clone();
        for _ in 0..10 {
            let next = |i: usize| {
                let (r, c) = (i / N, i % N);
                let at = |dr: usize, dc: usize| board[(r + dr) % N * N + (c + dc) % N];
                let around: u8 =
                    [(0, 1), (1, 0), (1, 1), (0, N - 1), (N - 1, 0), (N - 1, N - 1), (1, N - 1), (N - 1, 1)]
                        .iter()
                        .map(|&(dr, dc)| at(dr, dc))
                        .sum();
                u8::from(around == 3 || around == 2 && board[i] == 1)
            };
            board = (0..N * N).into_par_iter().map(next).collect();
        }
        board.iter().map(|&x| u64::from(x)).sum()
    })
}

fn fib() -> Box<dyn FnMut() -> u64> {
    fn go(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = rayon::join(|| go(n - 1), || go(n - 2));
        a + b
    }
    Box::new(|| go(black_box(24)))
}

fn scope_tree() -> Box<dyn FnMut() -> u64> {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    fn go<'s>(s: &rayon::Scope<'s>, leaves: &'s AtomicU64, depth: u32) {
        if depth == 0 {
            leaves.fetch_add(1, Relaxed);
            return;
        }
        s.spawn(move |s| go(s, leaves, depth - 1));
        go(s, leaves, depth - 1);
    }
    Box::new(|| {
        let leaves = AtomicU64::new(0);
        rayon::scope(|s| go(s, &leaves, 14));
        leaves.into_inner()
    })
}

fn nested() -> Box<dyn FnMut() -> u64> {
    let v = numbers(200_000);
    let sum = |row: &[u64]| row.par_iter().map(|x| x >> 9).reduce(|| 0, u64::wrapping_add);
    Box::new(move || v.par_chunks(1000).map(sum).reduce(|| 0, u64::wrapping_add))
}

fn bridge() -> Box<dyn FnMut() -> u64> {
    Box::new(|| {
        (0..20_000u64)
            .par_bridge()
            .map(|x| (0..50).fold(x, |a, b| a.wrapping_mul(31) ^ b))
            .reduce(|| 0, u64::wrapping_add)
    })
}

fn small() -> Box<dyn FnMut() -> u64> {
    let v = numbers(1000);
    // Called from outside: a program's main thread, once for each small array.
    Box::new(move || {
        (0..100).map(|_| v.par_iter().map(|x| x >> 8).reduce(|| 0, u64::wrapping_add)).fold(0, u64::wrapping_add)
    })
}
