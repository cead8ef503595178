//! A table of values that are named by their place.
//!
//! A place says where a value stands, and the how-manieth it is there: so the place of a value that
//! was taken out never names another one. (After 2^32 values in one place it would.)
//!
//! **Rejected.** A hash table with counted numbers: each look is a multiplication and a search, and
//! who goes through all goes through memory at random. For 20,000 cancelled futures of a
//! [`JoinSet`](crate::JoinSet) that was a cache miss for each.

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    index: u32,
    round: u32,
}

/// See the file's header.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    slots: Vec<NumberedSlot<T>>,
    /// The slot that was emptied last; each empty one names the next.
    free: u32,
    len: usize,
}

#[derive(Debug)]
struct NumberedSlot<T> {
    round: u32,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Full(T),
    Empty(u32),
}

/// No slot is empty.
const NONE: u32 = u32::MAX;

impl<T> Slots<T> {
    pub(crate) const fn new() -> Slots<T> {
        Slots { slots: Vec::new(), free: NONE, len: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Where the next value will stand.
    ///
    /// # Panics
    /// If there are 2^32 - 1 values.
    pub(crate) fn next_place(&self) -> Place {
        match self.slots.get(self.free as usize) {
            Some(slot) => Place { index: self.free, round: slot.round },
            None => Place { index: u32::try_from(self.slots.len()).expect("too many tasks in one set"), round: 0 },
        }
    }

    /// Puts a value into its [`next_place`](Self::next_place).
    pub(crate) fn insert(&mut self, value: T) {
        match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                if let Content::Empty(next) = std::mem::replace(&mut slot.content, Content::Full(value)) {
                    self.free = next;
                }
            }
            None => self.slots.push(NumberedSlot { round: 0, content: Content::Full(value) }),
        }
        self.len += 1;
    }

    pub(crate) fn get_mut(&mut self, place: Place) -> Option<&mut T> {
        let slot = self.slots.get_mut(place.index as usize).filter(|slot| slot.round == place.round)?;
        match &mut slot.content {
            Content::Full(value) => Some(value),
            Content::Empty(_) => None,
        }
    }

    /// Takes out the value that stands there. (Who drops it may run user code, so it is handed
    /// out.)
    pub(crate) fn remove(&mut self, place: Place) -> Option<T> {
        self.get_mut(place)?;
        let slot = &mut self.slots[place.index as usize];
        slot.round = slot.round.wrapping_add(1);
        self.len -= 1;
        match std::mem::replace(&mut slot.content, Content::Empty(std::mem::replace(&mut self.free, place.index))) {
            Content::Full(value) => Some(value),
            Content::Empty(_) => None,
        }
    }

    /// All values with their places, in the order of these.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Place, &T)> {
        (0..).zip(&self.slots).filter_map(|(index, slot)| match &slot.content {
            Content::Full(value) => Some((Place { index, round: slot.round }, value)),
            Content::Empty(_) => None,
        })
    }
}

#[cfg(test)]
mod test {
    use super::Slots;

    #[test]
    fn a_place_names_one_value() {
        let mut slots = Slots::new();
        let places: Vec<_> = (0..3)
            .map(|i| {
                let place = slots.next_place();
                slots.insert(i);
                place
            })
            .collect();
        assert_eq!(slots.remove(places[1]), Some(1));
        assert_eq!((slots.remove(places[1]), slots.len()), (None, 2));
        assert_eq!(slots.get_mut(places[1]), None);
        // Its slot is used again, under another name.
        let place = slots.next_place();
        slots.insert(7);
        assert_eq!(slots.get_mut(places[1]), None);
        assert_eq!((slots.get_mut(place).copied(), slots.len()), (Some(7), 3));
        assert_eq!(slots.iter().map(|(_, &value)| value).collect::<Vec<_>>(), [0, 7, 2]);
        assert!(slots.iter().map(|(place, _)| place).eq([places[0], place, places[2]]));
    }

    #[test]
    fn all_empty_slots_are_used_again() {
        let mut slots = Slots::new();
        for round in 0..4 {
            let places: Vec<_> = (0..10)
                .map(|i| {
                    let place = slots.next_place();
                    slots.insert(10 * round + i);
                    place
                })
                .collect();
            assert_eq!((slots.len(), slots.slots.len()), (10, 10));
            let mut all: Vec<_> = places.into_iter().filter_map(|place| slots.remove(place)).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(10 * round..10 * round + 10));
        }
    }
}
