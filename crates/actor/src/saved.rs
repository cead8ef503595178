//! Messages that a selective receive has put off.
//!
//! They stand in order, each at a number that counts from the first one ever. One that is taken
//! out leaves a hole, so the others keep their numbers, which marks name. Holes in front go at
//! once; those at the back stay: a mark stands behind them, and what comes later must not get a
//! number before that. When most is holes the rest moves up, and marks of before are good no
//! longer: then a receive looks at all, which is never wrong, for a mark only spares looks.

use std::collections::VecDeque;

/// A place in a mailbox: see [`Mailbox::mark`](crate::Mailbox::mark).
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: u64,
    moves: u32,
}

/// See the module's header.
pub(crate) struct Saved<M> {
    messages: VecDeque<Option<M>>,
    /// The number of the first.
    first: u64,
    holes: usize,
    /// How often the rest has moved up.
    moves: u32,
}

/// So many holes are worth a move.
const MANY: usize = 64;

impl<M> Default for Saved<M> {
    fn default() -> Self {
        Saved { messages: VecDeque::new(), first: 0, holes: 0, moves: 0 }
    }
}

impl<M> Saved<M> {
    pub(crate) fn put_off(&mut self, message: M) {
        self.messages.push_back(Some(message));
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { at: self.first + self.messages.len() as u64, moves: self.moves }
    }

    /// Takes the oldest.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<M> {
        let message = self.messages.pop_front()?;
        self.first += 1;
        self.trim();
        message
    }

    /// Takes the newest. (All marks are before it, or nobody has one any more.)
    pub(crate) fn last(&mut self) -> Option<M> {
        loop {
            match self.messages.pop_back()? {
                None => self.holes -= 1,
                message => return message,
            }
        }
    }

    /// All was taken, and comes back later: marks of before are good no longer.
    pub(crate) fn forget_marks(&mut self) {
        self.moves += 1;
    }

    /// Takes the oldest from the mark on for which `test` has an answer.
    pub(crate) fn take<R>(&mut self, mark: Option<Mark>, test: &mut impl FnMut(&M) -> Option<R>) -> Option<(M, R)> {
        let from = match mark {
            Some(mark) if mark.moves == self.moves => mark.at.saturating_sub(self.first) as usize,
            _ => 0,
        };
        let from = from.min(self.messages.len());
        let found =
            self.messages.range(from..).enumerate().find_map(|(i, message)| Some((i, test(message.as_ref()?)?)));
        let (i, answer) = found?;
        let message = self.messages[from + i].take()?;
        self.holes += 1;
        self.trim();
        Some((message, answer))
    }

    /// Drops those for which `test` says so, after `took` has heard of each; how many they were.
    pub(crate) fn discard(&mut self, mut test: impl FnMut(&M) -> bool, mut took: impl FnMut()) -> usize {
        /// No hole is in front afterwards, also if the program's code panics.
        struct Trims<'a, M>(&'a mut Saved<M>);
        impl<M> Drop for Trims<'_, M> {
            fn drop(&mut self) {
                self.0.trim();
            }
        }
        let mut dropped = 0;
        let saved = Trims(self);
        for place in &mut saved.0.messages {
            if place.as_ref().is_some_and(&mut test) {
                let message = place.take();
                saved.0.holes += 1;
                dropped += 1;
                took();
                drop(message);
            }
        }
        dropped
    }

    /// A message that has just come: back with the answer of `test`, or put off behind all others.
    pub(crate) fn test<R>(&mut self, message: M, test: &mut impl FnMut(&M) -> Option<R>) -> Option<(M, R)> {
        // In its place first: `test` is the program's, and may panic.
        self.put_off(message);
        let answer = test(self.messages.back()?.as_ref()?)?;
        Some((self.last()?, answer))
    }

    /// No hole is in front, and not most is holes.
    #[inline]
    fn trim(&mut self) {
        if self.holes == 0 {
            return;
        }
        while let Some(None) = self.messages.front() {
            self.messages.pop_front();
            self.first += 1;
            self.holes -= 1;
        }
        if self.holes > MANY && self.holes > self.messages.len() / 2 {
            self.messages.retain(Option::is_some);
            (self.holes, self.moves) = (0, self.moves + 1);
        }
    }
}

#[cfg(test)]
mod test {
    use super::Saved;

    fn all(saved: &mut Saved<u32>) -> Vec<u32> {
        std::iter::from_fn(|| saved.first()).collect()
    }

    #[test]
    fn what_is_put_off_keeps_its_order_whatever_is_taken() {
        let mut saved = Saved::default();
        (0..1000).for_each(|n| saved.put_off(n));
        for n in (0..1000).filter(|n| n % 3 != 0) {
            assert_eq!(saved.take(None, &mut |m| (*m == n).then_some(n)), Some((n, n)));
        }
        assert_eq!(all(&mut saved), (0..1000).filter(|n| n % 3 == 0).collect::<Vec<_>>());
    }

    #[test]
    fn a_mark_spares_looks_and_never_hides_what_came_after_it() {
        let mut saved = Saved::default();
        for turn in 0..10_000_u32 {
            saved.put_off(turn);
            if turn % 7 == 0 {
                let mark = saved.mark();
                saved.put_off(1_000_000 + turn);
                // Old ones go meanwhile: so the rest moves up now and then.
                for old in turn.saturating_sub(20)..turn.saturating_sub(14) {
                    saved.take(None, &mut |m| (*m == old).then_some(()));
                }
                let mut looks = 0;
                let found = saved.take(Some(mark), &mut |m| {
                    looks += 1;
                    (*m >= 1_000_000).then_some(())
                });
                assert_eq!(found.map(|(m, ())| m), Some(1_000_000 + turn));
            }
        }
    }

    #[test]
    fn a_mark_holds_when_the_newest_before_it_is_taken() {
        let mut saved = Saved::default();
        (0..3).for_each(|n| saved.put_off(n));
        let mark = saved.mark();
        assert_eq!(saved.take(None, &mut |m| (*m > 0).then_some(())), Some((1, ())));
        assert_eq!(saved.take(None, &mut |m| (*m > 0).then_some(())), Some((2, ())));
        saved.put_off(3);
        let mut looks = 0;
        let mut any = |_: &u32| {
            looks += 1;
            Some(())
        };
        assert_eq!(saved.take(Some(mark), &mut any), Some((3, ())));
        assert_eq!(saved.take(Some(mark), &mut any), None);
        assert_eq!((looks, all(&mut saved)), (1, vec![0]));
        assert_eq!((saved.messages.len(), saved.holes), (0, 0));
    }

    #[test]
    fn a_discard_looks_at_each_once_also_if_a_test_panics() {
        let mut saved = Saved::default();
        (0..1000).for_each(|n| saved.put_off(n));
        let (mut looks, mut taken) = (0, 0);
        let is_even = |n: &u32| {
            looks += 1;
            n.is_multiple_of(2)
        };
        assert_eq!(saved.discard(is_even, || taken += 1), 500);
        assert_eq!((looks, taken), (1000, 500));
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            saved.discard(|n| if *n < 5 { true } else { panic!("no") }, || ())
        }));
        assert!(panics.is_err());
        assert_eq!(all(&mut saved), (5..1000).filter(|n| n % 2 == 1).collect::<Vec<_>>());
    }

    #[test]
    fn a_test_that_panics_loses_nothing() {
        let mut saved = Saved::default();
        let panics = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            saved.test(7, &mut |_| -> Option<()> { panic!("no") })
        }));
        assert!(panics.is_err());
        assert_eq!(all(&mut saved), [7]);
    }
}
