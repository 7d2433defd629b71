//! The output of a frame.

use crate::codecs::snappy::repeat;

/// The output, and how much of it is written.
pub(super) struct Out<'a> {
    pub(super) bytes: &'a mut [u8],
    pub(super) at: usize,
}

impl Out<'_> {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.at..)?.get_mut(..bytes.len())?.copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }

    pub(super) fn fill(&mut self, byte: u8, count: usize) -> Option<()> {
        self.bytes.get_mut(self.at..)?.get_mut(..count)?.fill(byte);
        self.at += count;
        Some(())
    }

    pub(super) fn repeat(&mut self, distance: usize, count: usize) -> Option<()> {
        repeat(self.bytes, self.at, distance, count)?;
        self.at += count;
        Some(())
    }
}
