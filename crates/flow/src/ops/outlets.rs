//! Several channels that get the same items.

use super::give::give;
use myriad_sync::channel::Sender;

/// Each of these gets a clone of each item.
pub(super) struct Outlets<T> {
    /// Not behind a pointer: of a thousand topics with a subscriber each, each look at one would
    /// be a wait for memory. (None: there are no others either.)
    first: Option<Sender<T>>,
    others: Vec<Sender<T>>,
}

impl<T> Default for Outlets<T> {
    fn default() -> Self {
        Outlets { first: None, others: Vec::new() }
    }
}

impl<T: Clone> Outlets<T> {
    /// One more, unless the channel is there already.
    pub(super) fn add(&mut self, outlet: Sender<T>) {
        self.drop_closed();
        if self.first.is_none() {
            self.first = Some(outlet);
        } else if !(0..self.len()).any(|at| self.at(at).same_channel(&outlet)) {
            self.others.push(outlet);
        }
    }

    /// Lets go of those that are closed, for which no item need ever come.
    pub(super) fn drop_closed(&mut self) {
        self.others.retain(|outlet| !outlet.is_closed());
        if self.first.as_ref().is_some_and(Sender::is_closed) {
            self.remove(0);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    fn at(&self, at: usize) -> &Sender<T> {
        match &self.first {
            Some(first) if at == 0 => first,
            _ => &self.others[at - 1],
        }
    }

    fn remove(&mut self, at: usize) {
        if at > 0 {
            self.others.remove(at - 1);
        } else {
            self.first = (!self.others.is_empty()).then(|| self.others.remove(0));
        }
    }

    /// Gives the item to each, one after the other, and lets go of those that are closed. True: at
    /// least one has it, and it is taken out of `slot`. In `copy` stands a clone while it is given:
    /// like `slot`, it is out of what unwinds, so that nothing drops it meanwhile.
    ///
    /// # Blocking
    /// While one of them is full.
    pub(super) fn give(&mut self, slot: &mut Option<T>, copy: &mut Option<T>) -> bool {
        let (mut at, mut given) = (0, 0);
        for left in (0..self.len()).rev() {
            // The last one gets the item itself. (Out of `slot`, where it stays if this unwinds.)
            let is_given = if left == 0 {
                give(self.at(at), slot)
            } else {
                *copy = slot.clone();
                give(self.at(at), copy)
            };
            if is_given {
                (at, given) = (at + 1, given + 1);
            } else {
                *copy = None;
                self.remove(at);
            }
        }
        if given > 0 {
            *slot = None;
        }
        given > 0
    }
}
