//! Readers and writers for codecs: bytes in memory that check the deadline periodically.

use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};

use crate::codecs::allowance::Allowance;

/// Calls between two checks of the deadline. One call can cause much work of a decoder: 16 bits may
/// state that 32,767 blocks of a JPEG are unchanged.
const CALLS: u32 = 128;

/// Bytes to read.
pub(super) struct Paced<'a> {
    data: &'a [u8],
    at: usize,
    calls: u32,
    allowance: &'a Allowance<'a>,
}

impl<'a> Paced<'a> {
    pub(super) const fn new(data: &'a [u8], allowance: &'a Allowance<'a>) -> Self {
        Self { data, at: 0, calls: 0, allowance }
    }

    fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn call(&mut self) {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(CALLS) {
            self.allowance.beat();
        }
    }
}

impl Read for Paced<'_> {
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.call();
        let rest = self.rest();
        let count = rest.len().min(out.len());
        if let (Some(from), Some(to)) = (rest.get(..count), out.get_mut(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}

impl BufRead for Paced<'_> {
    #[inline]
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.call();
        Ok(self.rest())
    }

    #[inline]
    fn consume(&mut self, count: usize) {
        self.at = self.at.saturating_add(count).min(self.data.len());
    }
}

impl Seek for Paced<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => wide(self.data.len()).checked_add_signed(by),
            SeekFrom::Current(by) => wide(self.at).checked_add_signed(by),
        };
        let at = at.ok_or(io::ErrorKind::InvalidInput)?;
        self.at = usize::try_from(at).map_err(|_wide| io::ErrorKind::InvalidInput)?;
        Ok(at)
    }
}

/// Bytes that were written. They never grow past their limit.
pub(super) struct Bounded<'a> {
    bytes: Vec<u8>,
    limit: usize,
    calls: u32,
    allowance: &'a Allowance<'a>,
}

impl<'a> Bounded<'a> {
    /// A writer that appends to `bytes`.
    pub(super) const fn new(bytes: Vec<u8>, limit: usize, allowance: &'a Allowance<'a>) -> Self {
        Self { bytes, limit, calls: 0, allowance }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl Write for Bounded<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(CALLS) {
            self.allowance.beat();
        }
        if self.bytes.len().saturating_add(bytes.len()) > self.limit {
            return Err(io::Error::other("the file is longer than expected"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_from_any_place() {
        let allowance = Allowance::new(0);
        let mut paced = Paced::new(b"abcdef", &allowance);
        let mut two = [0; 2];
        assert_eq!((paced.read(&mut two).unwrap(), &two), (2, b"ab"));
        assert_eq!(paced.fill_buf().unwrap(), b"cdef");
        paced.consume(3);
        assert_eq!(paced.seek(SeekFrom::Current(-1)).unwrap(), 4);
        assert_eq!(paced.fill_buf().unwrap(), b"ef");
        assert_eq!(paced.seek(SeekFrom::End(-6)).unwrap(), 0);
        assert!(paced.seek(SeekFrom::Current(-1)).is_err());
        assert_eq!(paced.seek(SeekFrom::Start(99)).unwrap(), 99);
        assert_eq!(paced.read(&mut two).unwrap(), 0);
    }

    #[test]
    fn a_file_ends_at_its_limit() {
        let allowance = Allowance::new(0);
        let mut bounded = Bounded::new(b"ab".to_vec(), 4, &allowance);
        assert!(bounded.write_all(b"cd").is_ok() && bounded.write_all(b"e").is_err());
        assert_eq!(bounded.into_bytes(), b"abcd");
    }
}
