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

    pub(super) fn entry(&self, index: usize) -> &HeapEntry {
        &self.entries[index]
    }

    pub(super) fn push(&mut self, claim_list: &mut ClaimList, entry: HeapEntry) {
        self.entries.push(entry);
        self.up(claim_list, self.entries.len() - 1, entry);
    }

    /// Takes out the entry at this place of the heap.
    pub(super) fn remove(&mut self, claim_list: &mut ClaimList, index: usize) -> HeapEntry {
        let removed = self.entries[index];
        let last = self.entries.pop().expect("not empty: it has this place");
        if index < self.entries.len() {
            if index > 0 && last < self.entries[(index - 1) / ARITY] {
                self.up(claim_list, index, last);
            } else {
                self.down(claim_list, index, last);
            }
        }
        removed
    }

    fn set(&mut self, claim_list: &mut ClaimList, index: usize, entry: HeapEntry) {
        self.entries[index] = entry;
        claim_list.set_note(entry.at, index as u32);
    }

    fn up(&mut self, claim_list: &mut ClaimList, mut index: usize, entry: HeapEntry) {
        while index > 0 {
            let parent = (index - 1) / ARITY;
            if self.entries[parent] <= entry {
                break;
            }
            self.set(claim_list, index, self.entries[parent]);
            index = parent;
        }
        self.set(claim_list, index, entry);
    }

    fn down(&mut self, claim_list: &mut ClaimList, mut index: usize, entry: HeapEntry) {
        loop {
            let children = index * ARITY + 1..(index * ARITY + 1 + ARITY).min(self.entries.len());
            let Some(least) = children.min_by_key(|&child| self.entries[child]) else { break };
            if entry <= self.entries[least] {
                break;
            }
            self.set(claim_list, index, self.entries[least]);
            index = least;
        }
        self.set(claim_list, index, entry);
    }
}
