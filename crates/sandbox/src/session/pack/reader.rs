//! Reads the numbers and texts of a pack, which anybody may have written.
//!
//! INVARIANT(bounded-packs): reading takes at most as much memory as the pack has bytes, or as a
//! limit of the guest allows. A number that says how many things follow is compared with the bytes
//! that are left before anything is made for them.

use crate::session::error::PackError;
use wardian_vocabulary::ids::Digest;

/// What is left of a pack or of a part of it.
#[derive(Debug, Clone)]
pub(crate) struct PackReader<'a> {
    rest: &'a [u8],
    /// The part, for errors.
    part: &'static str,
}

impl<'a> PackReader<'a> {
    /// The bytes of a part. `part` is a noun with its verb, such as `its head is malformed`.
    pub(crate) const fn new(rest: &'a [u8], part: &'static str) -> Self {
        Self { rest, part }
    }

    /// The error for anything that is wrong in this part.
    pub(crate) const fn fault(&self) -> PackError {
        PackError::damaged(self.part)
    }

    /// The number of bytes that are left.
    pub(crate) const fn left(&self) -> usize {
        self.rest.len()
    }

    /// True at the end.
    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Refuses a part that has more than was read.
    pub(crate) fn end(self) -> Result<(), PackError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.fault()) }
    }

    /// The next bytes.
    pub(crate) fn raw(&mut self, length: usize) -> Result<&'a [u8], PackError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.fault())?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PackError> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.fault())?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Result<u8, PackError> {
        self.array().map(|[byte]| byte)
    }

    /// A yes or a no.
    pub(crate) fn flag(&mut self) -> Result<bool, PackError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.fault()),
        }
    }

    /// Four bytes.
    pub(crate) fn u32(&mut self) -> Result<u32, PackError> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub(crate) fn u64(&mut self) -> Result<u64, PackError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A number in the shortest form that [`PackWriter::number`] gives it.
    ///
    /// [`PackWriter::number`]: crate::session::pack::writer::PackWriter::number
    pub(crate) fn number(&mut self) -> Result<u64, PackError> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let shifted = bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits);
            value |= shifted.ok_or_else(|| self.fault())?;
            if byte < 0x80 {
                let is_shortest = bits != 0 || shift == 0;
                return if is_shortest { Ok(value) } else { Err(self.fault()) };
            }
        }
        Err(self.fault())
    }

    /// A number that fits 32 bits.
    pub(crate) fn small(&mut self) -> Result<u32, PackError> {
        let value = self.number()?;
        u32::try_from(value).ok().ok_or_else(|| self.fault())
    }

    /// A number that says how long something is. Nothing of that length need follow.
    pub(crate) fn length(&mut self) -> Result<usize, PackError> {
        let value = self.number()?;
        usize::try_from(value).ok().ok_or_else(|| self.fault())
    }

    /// The number of things that follow, each of at least `size` bytes, at least one.
    pub(crate) fn count(&mut self, size: usize) -> Result<usize, PackError> {
        let count = self.length()?;
        let needed = count.checked_mul(size.max(1)).filter(|needed| *needed <= self.rest.len());
        needed.map(|_| count).ok_or_else(|| self.fault())
    }

    /// A text of at most `max` bytes.
    pub(crate) fn text(&mut self, max: usize) -> Result<&'a str, PackError> {
        let length = self.count(1)?;
        if length > max {
            return Err(self.fault());
        }
        let bytes = self.raw(length)?;
        std::str::from_utf8(bytes).ok().ok_or_else(|| self.fault())
    }

    /// The 32 bytes of a digest.
    pub(crate) fn digest(&mut self) -> Result<Digest, PackError> {
        self.array().map(Digest::from_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::session::pack::writer::PackWriter;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers in prop::collection::vec(any::<u64>().prop_map(|n| n >> (n % 64)), 0..20),
            text in ".{0,20}",
            bytes in any::<[u8; 32]>(),
        ) {
            let mut output = PackWriter::default();
            output.count(numbers.len());
            for number in &numbers {
                output.number(*number);
            }
            output.text(&text);
            output.digest(&Digest::from_bytes(bytes));
            output.flag(true);
            let written = output.into_bytes();
            let mut input = PackReader::new(&written, "x");
            prop_assert_eq!(input.count(1).unwrap(), numbers.len());
            for number in &numbers {
                prop_assert_eq!(input.number().unwrap(), *number);
            }
            prop_assert_eq!(input.text(80).unwrap(), text);
            prop_assert_eq!(input.digest().unwrap(), Digest::from_bytes(bytes));
            prop_assert!(input.flag().unwrap());
            prop_assert_eq!(input.end(), Ok(()));
        }

        #[test]
        fn a_number_has_one_form(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut input = PackReader::new(&bytes, "x");
            if let Ok(number) = input.number() {
                let mut again = PackWriter::default();
                again.number(number);
                let read = bytes.len() - input.left();
                prop_assert_eq!(again.as_slice(), &bytes[..read]);
            }
        }
    }

    #[test]
    fn bounded_packs_announce_no_more_than_they_have() {
        let input = || PackReader::new(&[4, 1, 2, 3, 4], "x");
        assert_eq!(input().count(1).unwrap(), 4);
        assert!(input().count(2).is_err());
        assert!(input().count(usize::MAX).is_err());
        assert!(input().text(3).is_err(), "a text that is too long");
        assert!(input().text(4).is_ok());
        assert!(PackReader::new(&[2, 0xff, 0xff], "x").text(9).is_err(), "no UTF-8");
        assert!(PackReader::new(&[3, 1, 2], "x").count(1).is_err());
        assert!(PackReader::new(&[0xff; 9], "x").count(0).is_err());
    }
}
