//! A queue whose entries have any size: each is written where it stays until it is taken out.
//!
//! ```text
//!  block:  kind a | payload of a | kind b | payload of b | null, trailer |     ..     | Trailer
//!  block:  kind c | payload of c | ......                                             | Trailer
//!          ^ read                  ^ write                                            ^ end
//! ```
//! An entry is a word that names its [`Kind`], and its payload behind that. So a send allocates
//! nothing but a block for some ten to forty entries, and a payload is moved once. A block that is
//! full ends in a null word, and in its trailer stands the next one.
//!
//! **Invariants.** `read`, `write` and `end` are null, or in blocks of this queue, from which the
//! trailers lead to the block of `write`. Behind `write` there is room for the two words of an end.
//! What was taken out last stays in its memory until the next one is taken out, whatever is put in
//! meanwhile: its payload may be used there.
//!
//! Payloads are moved word by word: a load of two words that have just been written one by one
//! would wait for both stores, for 5 ns.
//!
//! **Rejected.** A box for each entry, and a ring of boxes: 1,000 that wait cost 25 ns each, in the
//! allocator. One piece of memory that grows: an entry would have to be moved out to be called.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// Keeps what it holds as it is, a pointer or a part of a number.
pub(crate) type Word = MaybeUninit<*mut ()>;

/// So large a payload has room in every block.
pub(crate) const MOST_WORDS: usize = 20;

/// Words of the first block, and of each further one (sizes that glibc keeps for each thread).
const FIRST: usize = 32;
const NEXT: usize = 126;

/// What entries are that have this payload.
pub(crate) struct Kind<C> {
    /// How they are called.
    pub(crate) call: C,
    /// Words of the payload.
    words: usize,
    /// Drops the payload.
    drop: unsafe fn(*mut Word),
}

impl<C> Kind<C> {
    /// The kind of those with such a payload.
    pub(crate) const fn of<P>(call: C) -> Kind<C> {
        /// Drops a payload.
        ///
        /// # Safety
        /// There is one, which is not used afterwards.
        unsafe fn drop_payload<P>(at: *mut Word) {
            // SAFETY: a payload of this type stands there (this function's contract).
            drop(unsafe { at.cast::<P>().read() });
        }
        Kind { call, words: words_of::<P>(), drop: drop_payload::<P> }
    }
}

const fn words_of<P>() -> usize {
    size_of::<P>().div_ceil(size_of::<Word>())
}

/// May a payload of this type stand in a queue?
pub(crate) const fn fits<P>() -> bool {
    align_of::<P>() <= align_of::<Word>() && words_of::<P>() <= MOST_WORDS
}

/// What was taken out. Not dropped by itself.
pub(crate) struct Taken<C: 'static> {
    pub(crate) kind: &'static Kind<C>,
    pub(crate) payload: *mut Word,
}

// SAFETY: payloads are `Send` (`Queue::push`).
unsafe impl<C: Sync> Send for Taken<C> {}

impl<C> Clone for Taken<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Taken<C> {}

impl<C> Taken<C> {
    /// Drops the payload.
    ///
    /// # Safety
    /// Nothing was taken out of the queue since, and the payload is not used afterwards.
    pub(crate) unsafe fn drop(self) {
        // SAFETY: the payload is of that kind, and still there (this function's contract).
        unsafe { (self.kind.drop)(self.payload) }
    }
}

/// See the module's header.
pub(crate) struct Queue<C: 'static> {
    read: *mut Word,
    write: *mut Word,
    /// The trailer of the block in which `write` is.
    end: *mut Trailer,
    len: usize,
    entries: PhantomData<&'static Kind<C>>,
}

struct Trailer {
    block: *mut Word,
    layout: Layout,
    next: *mut Word,
}

const TRAILER: usize = size_of::<Trailer>() / size_of::<Word>();

/// The words at the end of a full block.
const END: usize = 2;

const _: () = assert!(1 + MOST_WORDS + END + TRAILER <= FIRST);

/// Moves so many words, one by one.
///
/// # Safety
/// As `ptr::copy_nonoverlapping`.
#[inline(always)]
unsafe fn move_words(from: *const Word, to: *mut Word, words: usize) {
    for at in 0..words {
        // SAFETY: both are there (this function's contract). (Volatile: not two at a time.)
        unsafe { to.add(at).write(from.add(at).read_volatile()) };
    }
}

impl<C: 'static> Queue<C> {
    pub(crate) const fn new() -> Queue<C> {
        Queue { read: null_mut(), write: null_mut(), end: null_mut(), len: 0, entries: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where an entry of so many words behind its kind is to be written; it counts already.
    #[inline(always)]
    fn make_room(&mut self, words: usize) -> *mut Word {
        if self.end.addr() - self.write.addr() < (1 + words + END) * size_of::<Word>() {
            self.add_block();
        }
        let at = self.write;
        // (In bounds: there was room.)
        self.write = at.wrapping_add(1 + words);
        self.len += 1;
        at
    }

    /// Puts an entry in, behind all others.
    ///
    /// # Safety
    /// The kind is that of such payloads.
    #[inline(always)]
    pub(crate) unsafe fn push<P: Send>(&mut self, kind: &'static Kind<C>, payload: P) {
        assert!(fits::<P>());
        let at = self.make_room(words_of::<P>());
        // SAFETY: there is room for a kind and for the payload, which needs no more alignment than
        // a word.
        unsafe {
            at.cast::<&'static Kind<C>>().write(kind);
            at.add(1).cast::<P>().write(payload);
        }
    }

    /// The same with a first part of one word, and a rest of the payload from elsewhere.
    ///
    /// # Safety
    /// The kind is that of such payloads: a word, and `rest` behind it. The rest is there, and not
    /// used there afterwards.
    #[inline(always)]
    pub(crate) unsafe fn push_parts(
        &mut self,
        kind: &'static Kind<C>,
        first: Option<Word>,
        rest: *const Word,
        words: usize,
    ) {
        let before = usize::from(first.is_some());
        let at = self.make_room(before + words);
        // SAFETY: there is room for a kind and so many words; the rest is there (this function's
        // contract).
        unsafe {
            at.cast::<&'static Kind<C>>().write(kind);
            if let Some(first) = first {
                at.add(1).write(first);
            }
            move_words(rest, at.add(1 + before), words);
        }
    }

    /// Puts in what was taken out of another queue.
    ///
    /// # Safety
    /// It was taken out last there, and is not used there afterwards.
    pub(crate) unsafe fn put(&mut self, taken: Taken<C>) {
        // SAFETY: the kind is that of the payload, which is still there (this function's contract).
        unsafe { self.push_parts(taken.kind, None, taken.payload, taken.kind.words) }
    }

    /// Goes on in a new block.
    #[cold]
    #[inline(never)]
    fn add_block(&mut self) {
        let words = if self.end.is_null() { FIRST } else { NEXT };
        let layout = Layout::array::<Word>(words).expect("a few words");
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(layout) }.cast::<Word>();
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the new block has room for its trailer; behind `write` there is room for an end,
        // and the trailer at `end` is that of this block (the module's invariants).
        unsafe {
            let end = block.add(words - TRAILER).cast::<Trailer>();
            end.write(Trailer { block, layout, next: null_mut() });
            if self.end.is_null() {
                self.read = block;
            } else {
                (*self.end).next = block;
                self.write.cast::<*const Kind<C>>().write(null());
                self.write.add(1).cast::<*mut Trailer>().write(self.end);
            }
            (self.write, self.end) = (block, end);
        }
    }

    /// The oldest entry, which stays.
    #[inline(always)]
    pub(crate) fn first(&mut self) -> Option<Taken<C>> {
        if self.len == 0 {
            return None;
        }
        // SAFETY: there is an entry, so a kind stands at `read`, or an end, and then a kind at the
        // beginning of the next block (the module's invariants).
        unsafe {
            let mut kind = self.read.cast::<*const Kind<C>>().read();
            if kind.is_null() {
                self.next_block();
                kind = self.read.cast::<*const Kind<C>>().read();
            }
            Some(Taken { kind: &*kind, payload: self.read.add(1) })
        }
    }

    /// Takes out the oldest entry. The one before has been used.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Taken<C>> {
        let first = self.first()?;
        // (In bounds: it stands there.)
        self.read = first.payload.wrapping_add(first.kind.words);
        self.len -= 1;
        Some(first)
    }

    /// Leaves a block, at whose end `read` is.
    #[cold]
    #[inline(never)]
    fn next_block(&mut self) {
        // SAFETY: at `read` is the end of a block that is full, and names its trailer. Nothing in
        // that block is used any more.
        unsafe {
            let trailer = self.read.add(1).cast::<*mut Trailer>().read().read();
            self.read = trailer.next;
            dealloc(trailer.block.cast(), trailer.layout);
        }
    }
}

impl<C: 'static> Drop for Queue<C> {
    /// Of memory alone: what is still in it is forgotten.
    #[inline]
    fn drop(&mut self) {
        if !self.end.is_null() {
            self.drop_blocks();
        }
    }
}

impl<C: 'static> Queue<C> {
    #[inline(never)]
    fn drop_blocks(&mut self) {
        while self.pop().is_some() {}
        if self.read != self.write {
            self.next_block();
        }
        // SAFETY: the trailer of the only block that is left, which nobody uses.
        unsafe {
            let Trailer { block, layout, .. } = self.end.read();
            dealloc(block.cast(), layout);
        }
    }
}

impl<C: 'static> Default for Queue<C> {
    fn default() -> Self {
        Queue::new()
    }
}

#[cfg(test)]
mod test;
