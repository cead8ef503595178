//! The messages of `relay`.

use std::sync::Arc;

/// How many integers a list has.
const LEN: u64 = 20;
/// How many different shared lists there are.
const LISTS: u64 = 64;

/// A kind of message.
pub(crate) trait Message: Send + 'static {
    /// What the feeder has before it begins.
    type Source: Send + 'static;

    /// Makes what the feeder has before it begins.
    fn source() -> Self::Source;

    /// Makes message number `i`.
    fn make(source: &Self::Source, i: u64) -> Self;

    /// The sum of the integers in the message.
    fn sum(&self) -> u64;
}

impl Message for u64 {
    type Source = ();

    fn source() {}

    fn make((): &(), i: u64) -> Self {
        i
    }

    fn sum(&self) -> u64 {
        *self
    }
}

/// [`Payload::Moved20`](crate::Payload::Moved20): each message is its own list.
impl Message for Vec<u64> {
    type Source = ();

    fn source() {}

    fn make((): &(), i: u64) -> Self {
        (i..i + LEN).collect()
    }

    fn sum(&self) -> u64 {
        self.iter().sum()
    }
}

/// [`Payload::Shared20`](crate::Payload::Shared20): messages are references to lists that the
/// feeder keeps.
impl Message for Arc<[u64; LEN as usize]> {
    type Source = Vec<Self>;

    fn source() -> Vec<Self> {
        (0..LISTS).map(|i| Arc::new(std::array::from_fn(|k| i + k as u64))).collect()
    }

    fn make(lists: &Vec<Self>, i: u64) -> Self {
        lists[(i % LISTS) as usize].clone()
    }

    fn sum(&self) -> u64 {
        self.iter().sum()
    }
}

/// The sum of all integers in `n` messages, computed without sending them.
pub(crate) fn total<P: Message>(n: u64) -> u64 {
    let source = P::source();
    (0..n).map(|i| P::make(&source, i).sum()).sum()
}

/// Calls a function that is generic over the kind of message with the kind that `p` asks for.
macro_rules! by_payload {
    ($p:expr, $f:ident) => {
        match $p.payload {
            crate::Payload::Int => $f::<u64>($p),
            crate::Payload::Moved20 => $f::<Vec<u64>>($p),
            crate::Payload::Shared20 => $f::<std::sync::Arc<[u64; 20]>>($p),
        }
    };
}

pub(crate) use by_payload;

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn sums_of_the_three_kinds() {
        assert_eq!(total::<u64>(10), 45);
        assert_eq!(total::<Vec<u64>>(10), 45 * 20 + 10 * 190);
        assert_eq!(total::<Arc<[u64; 20]>>(10), 45 * 20 + 10 * 190);
        assert_eq!(total::<Arc<[u64; 20]>>(65), (63 * 64 / 2) * 20 + 65 * 190);
    }
}
