//! Published vectors, and simple statistics. (For the real ones see the authors: xoshiro256++
//! passes BigCrush and PractRand.)

use super::*;

/// From the reference implementation, begun at 1, 2, 3, 4.
#[test]
fn xoshiro256_plus_plus() {
    let mut g = Generator { state: [1, 2, 3, 4], forks: 0 };
    let expected = [
        41943041,
        58720359,
        3588806011781223,
        3591011842654386,
        9228616714210784205,
        9973669472204895162,
        14011001112246962877,
        12406186145184390807,
        15849039046786891736,
        10450023813501588000,
    ];
    assert_eq!(expected.map(|_| g.next_u64()), expected);
}

/// From the reference implementation, begun at 1234567.
#[test]
fn split_mix_64() {
    let mut x = 1234567;
    let expected =
        [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821];
    assert_eq!(expected.map(|_| split_mix(&mut x)), expected);
}

#[test]
fn murmur_finalizer() {
    assert_eq!(murmur_mix(0), 0);
    assert_eq!(murmur_mix(1), 0xb456_bcfc_34c2_cb2c);
}

#[test]
fn zeros_are_avoided() {
    assert_ne!(Generator { state: [0; 4], forks: 7 }.not_zero().next_u64(), 0);
}

/// Each bit is set half of the time. (With n draws, the standard deviation of the count is √n / 2;
/// five of them.)
fn assert_balanced(what: &str, mut next: impl FnMut() -> u64) {
    const N: u64 = 1 << 14;
    let mut ones = [0_i64; 64];
    for _ in 0..N {
        let x = next();
        ones.iter_mut().enumerate().for_each(|(bit, n)| *n += (x >> bit & 1) as i64);
    }
    let most = 5 * (N as f64).sqrt() as i64 / 2;
    for (bit, n) in ones.iter().enumerate() {
        assert!((n - N as i64 / 2).abs() < most, "{what}: bit {bit} was set {n} times of {N}");
    }
}

#[test]
fn bits_are_balanced() {
    for seed in [0, 1, 2, u64::MAX, 0x9e37_79b9_7f4a_7c15] {
        let mut g = Generator::from_seed(seed);
        assert_balanced("numbers", || g.next_u64());
    }
}

/// Where two streams agree in half of the bits at the same place, they are not correlated bit by
/// bit.
#[test]
fn relatives_are_not_correlated() {
    let mut parent = Generator::from_seed(5);
    let mut child = parent.fork();
    let mut sibling = parent.fork();
    let mut grandchild = child.fork();
    let (mut p, mut c) = (parent.clone(), child.clone());
    assert_balanced("parent and child", || p.next_u64() ^ c.next_u64());
    let (mut c, mut s) = (child.clone(), sibling.clone());
    assert_balanced("siblings", || c.next_u64() ^ s.next_u64());
    // Sums of four relatives, in which what they have in common would cancel (so it was in Julia
    // 1.10).
    assert_balanced("a square of relatives", || {
        let (a, b) = (parent.next_u64().wrapping_add(grandchild.next_u64()), child.next_u64());
        a.wrapping_sub(b).wrapping_sub(sibling.next_u64())
    });
}

/// The first numbers of many children, of one parent and in a line, are random numbers, too.
#[test]
fn first_numbers_of_relatives_are_random() {
    let mut parent = Generator::from_seed(0);
    assert_balanced("children of one", || parent.fork().next_u64());
    let mut last = Generator::from_seed(0);
    assert_balanced("a line of children", || {
        last = last.fork();
        last.clone().next_u64()
    });
    let mut seed = 0;
    assert_balanced("seeds in a row", || {
        seed += 1;
        Generator::from_seed(seed).next_u64()
    });
}

#[test]
fn a_hundred_thousand_relatives_differ() {
    let mut seen = std::collections::HashSet::new();
    let mut all = vec![Generator::from_seed(1)];
    for i in 0..100_000 {
        let child = all[i / 2].fork();
        all.push(child);
    }
    assert!(all.iter_mut().all(|g| seen.insert(g.next_u64())));
}

#[test]
fn a_fork_does_not_disturb() {
    let (mut a, mut b) = (Generator::from_seed(3), Generator::from_seed(3));
    let forks: Vec<_> = (0..10).map(|_| b.fork()).collect();
    assert!((0..100).all(|_| a.next_u64() == b.next_u64()));
    assert!(forks.windows(2).all(|two| two[0] != two[1]));
}

#[test]
fn ranges() {
    let mut g = Generator::from_seed(9);
    let mut counts = [0; 6];
    (0..60_000).for_each(|_| counts[g.range(0..6_usize)] += 1);
    assert!(counts.iter().all(|n| (9_500..10_500).contains(n)), "{counts:?}");
    let all = (0..2_000).map(|_| g.range(-3..=3_i8)).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(all, (-3..=3).collect());
    assert!((0..1000).all(|_| (i64::MIN..i64::MAX).contains(&g.range(i64::MIN..i64::MAX))));
    assert_eq!((g.range(7..8_u16), g.range(7..=7_i32)), (7, 7));
    // The full range, whose width does not fit.
    let bytes = (0..10_000).map(|_| g.range(0..=u8::MAX)).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(bytes.len(), 256);
    assert_balanced("the full range", || g.range(0..=u64::MAX));
    let mean = (0..10_000).map(|_| g.f64()).inspect(|x| assert!((0.0..1.0).contains(x))).sum::<f64>() / 10_000.0;
    assert!((0.48..0.52).contains(&mean), "{mean}");
}

#[test]
#[should_panic(expected = "an empty range has no random number: 5..5")]
fn an_empty_range() {
    Generator::from_seed(0).range(5..5_u32);
}

#[test]
fn filling_and_shuffling() {
    let mut g = Generator::from_seed(4);
    for n in 0..20 {
        let (mut a, mut b) = (vec![0; n], vec![0; n]);
        let mut h = g.clone();
        g.fill(&mut a);
        h.fill(&mut b);
        assert_eq!(a, b);
        assert!(n < 8 || a.iter().any(|&byte| byte != 0));
    }
    // All orders of three, each about as often.
    let mut orders = std::collections::BTreeMap::new();
    for _ in 0..6_000 {
        let mut a = [0, 1, 2];
        g.shuffle(&mut a);
        *orders.entry(a).or_insert(0) += 1;
    }
    assert!(orders.len() == 6 && orders.values().all(|n| (800..1200).contains(n)), "{orders:?}");
}

#[cfg(feature = "rand_core")]
#[test]
fn as_a_generator_of_rand_core() {
    fn draw(rng: &mut impl rand_core::Rng) -> (u32, u64, [u8; 3]) {
        let mut bytes = [0; 3];
        rng.fill_bytes(&mut bytes);
        (rng.next_u32(), rng.next_u64(), bytes)
    }
    let (mut a, mut b) = (Generator::from_seed(1), Generator::from_seed(1));
    let mut bytes = [0; 3];
    b.fill(&mut bytes);
    assert_eq!(draw(&mut a), ((b.next_u64() >> 32) as u32, b.next_u64(), bytes));
    crate::sched::context::rng::seed(1);
    assert_eq!(draw(&mut crate::sched::context::rng::rng()), draw(&mut Generator::from_seed(1)));
}
