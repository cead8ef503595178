//! A heap of eight children a node, out of which any entry can be taken: each tells its slot where
//! it stands.
//!
//! Eight, as in partr: a node's children are 192 bytes side by side, and a heap of a thousand tasks
//! is four levels deep.

use super::claim_list::ClaimList;

const ARITY: usize = 8;

/// The lower goes first: by rank, then by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HeapEntry {
    pub(super) rank: u64,
    /// Two of the same rank: an order among them.
    pub(super) number: u64,
    /// Where the task stands on the claim list, whose note there is the entry's place in the heap.
    pub(super) at: u32,
}

#[derive(Debug, Default)]
pub(super) struct Heap {
    entries: Vec<HeapEntry>,
}

impl Heap {
    pub(super) fn first(&self) -> Option<&HeapEntry> {
        self.entries.first()
    }

    pub(super) fn entry(&self, place: usize) -> &HeapEntry {
        &self.entries[place]
    }

    pub(super) fn push(&mut self, claim_list: &mut ClaimList, entry: HeapEntry) {
        self.entries.push(entry);
        self.up(claim_list, self.entries.len() - 1, entry);
    }

    /// Takes out the entry at this place of the heap.
    pub(super) fn remove(&mut self, claim_list: &mut ClaimList, place: usize) -> HeapEntry {
        let removed = self.entries[place];
        let last = self.entries.pop().expect("not empty: it has this place");
        if place < self.entries.len() {
            if place > 0 && last < self.entries[(place - 1) / ARITY] {
                self.up(claim_list, place, last);
            } else {
                self.down(claim_list, place, last);
            }
        }
        removed
    }

    fn set(&mut self, claim_list: &mut ClaimList, place: usize, entry: HeapEntry) {
        self.entries[place] = entry;
        claim_list.set_note(entry.at, place as u32);
    }

    fn up(&mut self, claim_list: &mut ClaimList, mut place: usize, entry: HeapEntry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.entries[parent] <= entry {
                break;
            }
            self.set(claim_list, place, self.entries[parent]);
            place = parent;
        }
        self.set(claim_list, place, entry);
    }

    fn down(&mut self, claim_list: &mut ClaimList, mut place: usize, entry: HeapEntry) {
        loop {
            let children = place * ARITY + 1..(place * ARITY + 1 + ARITY).min(self.entries.len());
            let Some(least) = children.min_by_key(|&child| self.entries[child]) else { break };
            if entry <= self.entries[least] {
                break;
            }
            self.set(claim_list, place, self.entries[least]);
            place = least;
        }
        self.set(claim_list, place, entry);
    }
}
