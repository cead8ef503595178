//! Several channels that get the same items.

use super::give::give;
use myriad_sync::channel::Sender;

/// Each of these gets a clone of each item.
pub(super) struct Outlets<T> {
    all: Vec<Sender<T>>,
    /// A clone that is being given. (Here, so that nothing drops it while a cancellation unwinds.)
    copy: Option<T>,
}

impl<T> Default for Outlets<T> {
    fn default() -> Self {
        Outlets { all: Vec::new(), copy: None }
    }
}

impl<T: Clone> Outlets<T> {
    /// One more, unless the channel is there already.
    pub(super) fn add(&mut self, outlet: Sender<T>) {
        self.drop_closed();
        if !self.all.iter().any(|known| known.same_channel(&outlet)) {
            self.all.push(outlet);
        }
    }

    /// Lets go of those that are closed, for which no item need ever come.
    pub(super) fn drop_closed(&mut self) {
        self.all.retain(|outlet| !outlet.is_closed());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Gives the item to each, one after the other, and lets go of those that are closed. True: at
    /// least one has it, and it is taken out of `slot`.
    ///
    /// # Blocking
    /// While one of them is full.
    pub(super) fn give(&mut self, slot: &mut Option<T>) -> bool {
        let Some(last) = self.all.len().checked_sub(1) else { return false };
        let (mut at, mut given) = (0, 0);
        for number in 0..=last {
            // The last one gets the item itself. (Out of `slot`, where it stays if this unwinds.)
            let is_given = if number == last {
                give(&self.all[at], slot)
            } else {
                self.copy = slot.clone();
                give(&self.all[at], &mut self.copy)
            };
            if is_given {
                (at, given) = (at + 1, given + 1);
            } else {
                self.copy = None;
                drop(self.all.remove(at));
            }
        }
        if given > 0 {
            *slot = None;
        }
        given > 0
    }
}
