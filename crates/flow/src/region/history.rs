//! Who used what last: from the accesses of tasks in program order to the order of the tasks.
//!
//! Each datum has a *history*: its range of indexes in *pieces*, each with the last task that wrote
//! it and the tasks that have read it since. A reader comes after that writer. A writer comes after
//! these readers, or where there is none after the writer; then its range is one piece, and it is
//! the last writer. (Where there are readers they come after the old writer, and need no more.) So
//! of two tasks that share an index that one of them writes, the later one comes after the earlier
//! one, directly or by others between them.
//!
//! A piece is cut where an access begins or ends within it. Both parts keep the list of readers,
//! which are linked lists that share their ends. An access costs O(log n) for each piece that it
//! covers; pieces are made by accesses, two at most by each, and a write makes one of all that it
//! covers. A datum that is always used as a whole has one piece, and no tree.

use std::collections::BTreeMap;
use std::ops::Range;

/// No task, and the end of a list.
const NONE: u32 = u32::MAX;

/// Which indexes of which datum an access uses.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The number of the region.
    pub(super) region: u64,
    /// The number of the datum's history.
    pub(super) history: u32,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Copy)]
struct Piece {
    /// The last task that wrote it, or none.
    writer: u32,
    /// The last one in the list of tasks that have read it since, or none.
    readers: u32,
}

struct Reader {
    task: u32,
    /// The one before.
    next: u32,
}

struct History {
    len: usize,
    /// What begins at 0; others by their beginnings. Each goes up to the next, or to `len`.
    first: Piece,
    rest: BTreeMap<usize, Piece>,
}

/// All histories of a region.
pub(super) struct Histories {
    list: Vec<History>,
    /// The lists of readers, all in one.
    readers: Vec<Reader>,
}

/// A task uses what it also writes, or writes what it also uses, by another access.
pub(super) struct UsedTwice;

fn short(at: usize) -> u32 {
    match u32::try_from(at) {
        Ok(at) if at != NONE => at,
        _ => panic!("a region has less than 4,294,967,295 data, tasks and reads"),
    }
}

impl Histories {
    pub(super) fn new() -> Histories {
        Histories { list: Vec::new(), readers: Vec::new() }
    }

    /// So many data of `len` indexes each, which no task has used. Returns the first one's number.
    pub(super) fn add(&mut self, count: usize, len: usize) -> u32 {
        let first = self.list.len();
        _ = short(first + count);
        let new = || History { len, first: Piece { writer: NONE, readers: NONE }, rest: BTreeMap::new() };
        self.list.extend(std::iter::repeat_with(new).take(count));
        short(first)
    }

    /// The newest task reads this. `edges` gets what it comes after.
    pub(super) fn read(&mut self, place: &Place, task: usize, edges: &mut Vec<(u32, u32)>) -> Result<(), UsedTwice> {
        let task = short(task);
        for piece in self.list[place.history as usize].pieces(&place.range) {
            if piece.writer == task {
                return Err(UsedTwice);
            }
            // (The newest task is the last one of the lists in which it is.)
            if piece.readers != NONE && self.readers[piece.readers as usize].task == task {
                continue;
            }
            comes_after(task, piece.writer, edges);
            let reader = short(self.readers.len());
            self.readers.push(Reader { task, next: std::mem::replace(&mut piece.readers, reader) });
        }
        Ok(())
    }

    /// The newest task writes this. `edges` gets what it comes after.
    pub(super) fn write(&mut self, place: &Place, task: usize, edges: &mut Vec<(u32, u32)>) -> Result<(), UsedTwice> {
        let task = short(task);
        let history = &mut self.list[place.history as usize];
        for piece in history.pieces(&place.range) {
            let mut next = piece.readers;
            if next == NONE {
                if piece.writer == task {
                    return Err(UsedTwice);
                }
                comes_after(task, piece.writer, edges);
            }
            while next != NONE {
                let reader = &self.readers[next as usize];
                if reader.task == task {
                    return Err(UsedTwice);
                }
                comes_after(task, reader.task, edges);
                next = reader.next;
            }
        }
        history.set(&place.range, Piece { writer: task, readers: NONE });
        Ok(())
    }
}

/// (Doubles that do not follow each other go when the graph is built.)
fn comes_after(task: u32, before: u32, edges: &mut Vec<(u32, u32)>) {
    if before != NONE && edges.last() != Some(&(before, task)) {
        edges.push((before, task));
    }
}

impl History {
    /// The pieces of which this range consists, cut out at its ends.
    fn pieces(&mut self, range: &Range<usize>) -> impl Iterator<Item = &mut Piece> {
        let is_empty = range.is_empty();
        if !is_empty {
            self.cut(range.start);
            self.cut(range.end);
        }
        let first = (range.start == 0 && !is_empty).then_some(&mut self.first);
        let rest = self.rest.range_mut(range.start..range.end).map(|(_, piece)| piece);
        first.into_iter().chain(rest)
    }

    /// A piece begins at this index, unless it is the end.
    fn cut(&mut self, at: usize) {
        if at == 0 || at == self.len {
            return;
        }
        let (&begin, &piece) = self.rest.range(..=at).next_back().unwrap_or((&0, &self.first));
        if begin != at {
            self.rest.insert(at, piece);
        }
    }

    /// Makes this range, which was cut out, one piece.
    fn set(&mut self, range: &Range<usize>, new: Piece) {
        if range.is_empty() {
            return;
        }
        match range.start {
            0 => self.first = new,
            start => _ = self.rest.insert(start, new),
        }
        while let Some((&begin, _)) = self.rest.range(range.start + 1..range.end).next() {
            self.rest.remove(&begin);
        }
    }
}
