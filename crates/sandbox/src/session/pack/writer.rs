//! Writes the numbers and texts of a pack.

use wardian_vocabulary::ids::Digest;

/// The bytes of a pack or of a part of it, while they are written. Numbers are little-endian.
#[derive(Debug, Default)]
pub(crate) struct PackWriter {
    bytes: Vec<u8>,
}

impl PackWriter {
    /// Appends one byte.
    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends a yes or a no.
    pub(crate) fn flag(&mut self, value: bool) {
        self.byte(value.into());
    }

    /// Appends four bytes.
    pub(crate) fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Appends eight bytes.
    pub(crate) fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// Appends a number that is mostly small, in one to ten bytes: seven bits in each, the lowest
    /// first, and the high bit in all but the last.
    pub(crate) fn number(&mut self, value: u64) {
        let mut rest = value;
        while rest > 0x7f {
            self.byte((rest & 0x7f) as u8 | 0x80);
            rest >>= 7;
        }
        self.byte((rest & 0x7f) as u8);
    }

    /// Appends the length of something in memory.
    pub(crate) fn count(&mut self, value: usize) {
        self.number(u64::try_from(value).unwrap_or(u64::MAX));
    }

    /// Appends a text and its length.
    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len());
        self.raw(text.as_bytes());
    }

    /// Appends the 32 bytes of a digest.
    pub(crate) fn digest(&mut self, digest: &Digest) {
        self.raw(digest.as_bytes());
    }

    /// Appends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// The bytes so far.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// All bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
