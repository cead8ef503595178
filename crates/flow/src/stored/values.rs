//! Plain values, as they are in files: little-endian, with lengths of 64 bits.

use super::Stored;
use std::io::{self, Read, Write};

/// Bytes of a list that are read or written in one go.
const BLOCK: usize = 8192;

macro_rules! numbers {
    ($($number:ty as $written:ty;)*) => { $(
        impl Stored for $number {
            fn write(&self, to: &mut dyn Write) -> io::Result<()> {
                to.write_all(&(*self as $written).to_le_bytes())
            }

            fn read(from: &mut dyn Read) -> io::Result<Self> {
                let mut bytes = [0; size_of::<$written>()];
                from.read_exact(&mut bytes)?;
                Ok(<$written>::from_le_bytes(bytes) as $number)
            }

            fn bytes(&self) -> usize {
                size_of::<Self>()
            }

            fn write_list(list: &[Self], to: &mut dyn Write) -> io::Result<()> {
                let mut block = [0; BLOCK];
                list.chunks(BLOCK / size_of::<$written>()).try_for_each(|some| {
                    let bytes = block.as_chunks_mut().0;
                    bytes.iter_mut().zip(some).for_each(|(to, n)| *to = (*n as $written).to_le_bytes());
                    to.write_all(&block[..some.len() * size_of::<$written>()])
                })
            }

            fn read_list(n: usize, from: &mut dyn Read) -> io::Result<Vec<Self>> {
                let mut block = [0; BLOCK];
                // Not all at once: the number may be wrong.
                let mut list = Vec::with_capacity(n.min(1 << 16));
                while list.len() < n {
                    let some = (n - list.len()).min(BLOCK / size_of::<$written>());
                    let bytes = &mut block[..some * size_of::<$written>()];
                    from.read_exact(bytes)?;
                    list.extend(bytes.as_chunks().0.iter().map(|n| <$written>::from_le_bytes(*n) as $number));
                }
                Ok(list)
            }
        }
    )* };
}
numbers! {
    u8 as u8; u16 as u16; u32 as u32; u64 as u64; u128 as u128; usize as u64;
    i8 as i8; i16 as i16; i32 as i32; i64 as i64; i128 as i128; isize as i64;
    f32 as f32; f64 as f64;
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("this is no {what}"))
}

impl Stored for () {
    fn write(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
    fn read(_: &mut dyn Read) -> io::Result<Self> {
        Ok(())
    }
    fn bytes(&self) -> usize {
        0
    }
}

impl Stored for bool {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        u8::from(*self).write(to)
    }
    fn read(from: &mut dyn Read) -> io::Result<Self> {
        match u8::read(from)? {
            byte @ 0..2 => Ok(byte == 1),
            _ => Err(invalid("bool")),
        }
    }
    fn bytes(&self) -> usize {
        1
    }
}

impl Stored for char {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        u32::from(*self).write(to)
    }
    fn read(from: &mut dyn Read) -> io::Result<Self> {
        char::from_u32(u32::read(from)?).ok_or_else(|| invalid("char"))
    }
    fn bytes(&self) -> usize {
        size_of::<char>()
    }
}

impl Stored for String {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        self.len().write(to)?;
        to.write_all(self.as_bytes())
    }
    fn read(from: &mut dyn Read) -> io::Result<Self> {
        String::from_utf8(Stored::read(from)?).map_err(|_| invalid("text"))
    }
    fn bytes(&self) -> usize {
        size_of::<String>() + self.capacity()
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        self.len().write(to)?;
        T::write_list(self, to)
    }
    fn read(from: &mut dyn Read) -> io::Result<Self> {
        let n = usize::read(from)?;
        T::read_list(n, from)
    }
    fn bytes(&self) -> usize {
        let spare = (self.capacity() - self.len()) * size_of::<T>();
        size_of::<Self>() + spare + self.iter().map(T::bytes).sum::<usize>()
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        self.is_some().write(to)?;
        self.iter().try_for_each(|value| value.write(to))
    }
    fn read(from: &mut dyn Read) -> io::Result<Self> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
    fn bytes(&self) -> usize {
        self.as_ref().map_or(size_of::<Self>(), T::bytes)
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        self.0.write(to)?;
        self.1.write(to)
    }
    fn read(from: &mut dyn Read) -> io::Result<Self> {
        Ok((A::read(from)?, B::read(from)?))
    }
    fn bytes(&self) -> usize {
        self.0.bytes() + self.1.bytes()
    }
}
