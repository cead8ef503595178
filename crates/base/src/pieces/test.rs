use super::piece::{ALL, PIECES, REST, runs_of};
use super::*;
use crate::sys::clock::Instant;
use crate::sys::mutex::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// One test at a time: what is free is the process's. Each test's time begins a day after that of
/// the one before it.
fn alone(f: impl FnOnce(Instant)) {
    static DAYS: Mutex<u64> = Mutex::new(0);
    const DAY: u64 = 86_400_000_000_000;
    let mut days = DAYS.lock();
    *days += 1;
    f(Instant::from_nanos(*days * DAY));
    assert!(PIECES.lock().regions.iter().all(|region| region.free == ALL), "all pieces are back");
}

/// Gives all back that is free.
fn look_twice(now: Instant) {
    look(now, || true);
    assert_eq!(look(now + REST, || true), None);
}

fn write(piece: &Piece, stamp: u64) {
    let words = piece.0.cast::<u64>();
    for at in [0, SIZE / 8 - 1] {
        // SAFETY: within the piece, which is this thread's.
        unsafe { words.add(at).write(stamp) };
    }
}

fn read(piece: &Piece) -> [u64; 2] {
    let words = piece.0.cast::<u64>();
    // SAFETY: within the piece, which is this thread's, and was written or is the system's zeros.
    [0, SIZE / 8 - 1].map(|at| unsafe { words.add(at).read() })
}

#[test]
fn what_was_free_for_a_second_goes_back_and_nothing_else() {
    alone(|begin| {
        look_twice(begin);
        let mut all: Vec<Piece> = (0..200).map(|_| Piece::new()).collect();
        all.iter().for_each(|piece| write(piece, 7));
        assert_eq!(PIECES.lock().regions.len(), 4);
        let kept = all.drain(..3).collect::<Vec<_>>();
        drop(all);
        let begin = begin + REST * 10;
        assert_eq!(look(begin, || true), Some(REST), "free since this second");
        assert_eq!(look(begin + REST / 4, || true), Some(REST * 3 / 4), "not due");
        // 50 of them are needed again, and dropped.
        let busy: Vec<Piece> = (0..50).map(|_| Piece::new()).collect();
        assert!(busy.iter().all(|piece| read(piece) == [7; 2]), "used ones come first");
        drop(busy);
        assert_eq!(look(begin + REST, || true), Some(REST), "so many were needed");
        assert_eq!(PIECES.lock().used, 50);
        assert!(PIECES.lock().regions.len() < 4, "an empty region is unmapped");
        assert_eq!(look(begin + REST * 2, || true), None);
        assert!(kept.iter().all(|piece| read(piece) == [7; 2]));
        let again: Vec<Piece> = (0..61).map(|_| Piece::new()).collect();
        assert!(again.iter().all(|piece| read(piece) == [0; 2]), "their memory went back");
        assert_eq!(PIECES.lock().regions.len(), 1);
        drop((kept, again));
        look_twice(begin + REST * 3);
        assert_eq!(PIECES.lock().regions.len(), 0);
    });
}

#[test]
fn a_look_that_is_to_stop_stops() {
    alone(|begin| {
        drop((0..200).map(|_| Piece::new()).collect::<Vec<_>>());
        look(begin, || true);
        assert_eq!(look(begin + REST, || false), Some(REST));
        assert_eq!(PIECES.lock().used, 200);
        look_twice(begin + REST * 2);
    });
}

#[test]
fn each_piece_has_one_owner_beside_looks_of_another_thread() {
    alone(|begin| {
        let ended = AtomicU64::new(0);
        thread::scope(|s| {
            for thread in 1..=3_u64 {
                let ended = &ended;
                s.spawn(move || {
                    let mut random = thread;
                    let mut mine: Vec<(Piece, u64)> = Vec::new();
                    for step in 0..20_000 {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        // For a while more come than go, and then the other way round.
                        let grows = if step % 4_000 < 2_000 { 6 } else { 2 };
                        if random >> 61 < grows {
                            let stamp = thread << 32 | step;
                            mine.push((Piece::new(), stamp));
                            write(&mine.last().unwrap().0, stamp);
                        } else if !mine.is_empty() {
                            let (piece, stamp) = mine.swap_remove(random as usize % mine.len());
                            assert_eq!(read(&piece), [stamp; 2]);
                        }
                    }
                    ended.fetch_add(1, Relaxed);
                });
            }
            let mut now = begin;
            while ended.load(Relaxed) < 3 {
                now += REST;
                look(now, || true);
                thread::yield_now();
            }
            look_twice(now + REST);
        });
        assert_eq!(PIECES.lock().regions.len(), 0);
    });
}

#[test]
fn runs_are_those_of_the_ones() {
    for bits in [0, 1, ALL, 1 << 63, 0b1011_0110, ALL << 3, ALL >> 1, 0x8000_0000_0000_0001] {
        let again = runs_of(bits).fold(0, |all: u64, (first, len)| {
            assert!((first..first + len).all(|bit| bits >> bit & 1 == 1));
            assert!(first + len == 64 || bits >> (first + len) & 1 == 0, "it is the whole run");
            all | (first..first + len).fold(0, |run, bit| run | 1 << bit)
        });
        assert_eq!(again, bits);
    }
}

#[test]
fn an_array_drops_its_values_once() {
    alone(|begin| {
        let value = std::sync::Arc::new(());
        let mut array = Array::new(100, || Some(value.clone()));
        assert_eq!((array.len(), std::sync::Arc::strong_count(&value)), (100, 101));
        array[7] = None;
        assert!(array[6].is_some() && std::sync::Arc::strong_count(&value) == 100);
        drop(array);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
        look_twice(begin);
    });
}

#[test]
fn rows_are_those_of_a_vector() {
    alone(|begin| {
        let (mut rows, mut all) = (Rows::<u64>::new(), Vec::new());
        for round in 0..4_u64 {
            for value in 0..round * 3_000 {
                rows.push(value);
                all.push(value);
            }
            assert!(rows.iter().eq(&all) && rows.len() == all.len());
            let mut first = Vec::new();
            rows.move_first_piece(&mut first);
            assert_eq!(first, all.drain(..all.len().min(Rows::<u64>::OF_A_PIECE)).collect::<Vec<_>>());
            if !rows.is_empty() {
                rows[0] = 7;
                all[0] = 7;
            }
        }
        let again: Rows<u64> = rows.iter().copied().filter(|value| value % 2 == 0).collect();
        assert!(again.iter().eq(all.iter().filter(|value| **value % 2 == 0)));
        drop((rows, again));
        look_twice(begin);
    });
}

/// The last block of a slab gives the piece back, also where its value's destructor panics.
#[test]
fn boxes_drop_their_values_once_and_give_their_blocks_back() {
    struct Ends(std::sync::Arc<AtomicU64>, u64);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
            assert!(self.1 != 500, "planned");
        }
    }
    alone(|begin| {
        let ended = std::sync::Arc::new(AtomicU64::new(0));
        // In a thread of its own, whose slab ends with it.
        thread::scope(|s| {
            let boxes = s.spawn(|| (0..3_000).map(|n| Boxed::new(Ends(ended.clone(), n))).collect::<Vec<_>>());
            let boxes = boxes.join().unwrap();
            assert!(boxes.iter().zip(0..).all(|(boxed, n)| boxed.1 == n));
            for boxed in boxes {
                let is_bad = boxed.1 == 500;
                let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(boxed)));
                assert_eq!(dropped.is_err(), is_bad);
            }
        });
        assert_eq!(ended.load(Relaxed), 3_000);
        look_twice(begin);
    });
}
