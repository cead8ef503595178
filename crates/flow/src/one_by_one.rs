//! A list of what has destructors of the user's.

use myriad_core::engine::unwind;
use std::ops::{Deref, DerefMut};

/// A list that drops what is in it one by one: of two destructors that panic, the second would end
/// the process. The first panic goes on when all is dropped, unless the thread unwinds already.
#[derive(Debug)]
pub(crate) struct OneByOne<T>(Vec<T>);

impl<T> OneByOne<T> {
    pub(crate) fn into_inner(mut self) -> Vec<T> {
        std::mem::take(&mut self.0)
    }
}

impl<T> Default for OneByOne<T> {
    fn default() -> Self {
        OneByOne(Vec::new())
    }
}

impl<T> From<Vec<T>> for OneByOne<T> {
    fn from(list: Vec<T>) -> Self {
        OneByOne(list)
    }
}

impl<T> Deref for OneByOne<T> {
    type Target = Vec<T>;

    #[inline(always)]
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for OneByOne<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T> Drop for OneByOne<T> {
    fn drop(&mut self) {
        let mut rest = Rest(std::mem::take(&mut self.0).into_iter());
        // (A loop, for graphs hold graphs, a hundred deep, and frames add up.)
        while !std::thread::panicking()
            && let Some(value) = rest.0.next()
        {
            drop(value);
        }
    }
}

/// What is left when the thread unwinds: out of another destructor, or from elsewhere.
struct Rest<T>(std::vec::IntoIter<T>);

impl<T> Drop for Rest<T> {
    fn drop(&mut self) {
        self.0.by_ref().for_each(unwind::drop_quietly);
    }
}
