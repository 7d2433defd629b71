//! Bits of Zstandard, read forwards and backwards.

/// Reads bits from the lowest of the first byte on.
pub(super) struct Forward<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Forward<'a> {
    pub(super) const fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// The next `count` bits, at most 16; zeros behind the end.
    pub(super) fn peek(&self, count: usize) -> usize {
        window(self.data, self.at) & ((1 << count) - 1)
    }

    pub(super) const fn skip(&mut self, count: usize) {
        self.at += count;
    }

    pub(super) fn read(&mut self, count: usize) -> usize {
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// The bytes after the last one of which a bit was read.
    pub(super) fn rest(&self) -> Option<&'a [u8]> {
        self.data.get(self.at.div_ceil(8)..)
    }
}

/// Reads bits from the highest of the last byte on, after the mark bit.
pub(super) struct Backward<'a> {
    data: &'a [u8],
    left: usize,
    /// Bits that were read beyond the beginning.
    missing: usize,
}

impl<'a> Backward<'a> {
    pub(super) fn new(data: &'a [u8]) -> Option<Self> {
        let mark = data.last()?.checked_ilog2()?;
        let left = (data.len() - 1) * 8 + usize::try_from(mark).ok()?;
        Some(Self { data, left, missing: 0 })
    }

    /// No bits at all.
    pub(super) const fn empty() -> Self {
        Self { data: &[], left: 0, missing: 0 }
    }

    /// The next `count` bits, at most 32; zeros before the beginning.
    pub(super) fn peek(&self, count: usize) -> usize {
        match self.left.checked_sub(count) {
            Some(at) => window(self.data, at) & ((1 << count) - 1),
            None => (window(self.data, 0) & ((1 << self.left) - 1)) << (count - self.left),
        }
    }

    pub(super) const fn skip(&mut self, count: usize) {
        self.missing += count.saturating_sub(self.left);
        self.left = self.left.saturating_sub(count);
    }

    pub(super) fn read(&mut self, count: usize) -> usize {
        let value = self.peek(count);
        self.skip(count);
        value
    }

    /// True if exactly all bits were read.
    pub(super) const fn is_exact(&self) -> bool {
        self.left == 0 && self.missing == 0
    }

    /// True if more bits were read than there are.
    pub(super) const fn is_over(&self) -> bool {
        self.missing > 0
    }
}

/// At least 57 bits from the position `at`; zeros behind the end.
fn window(data: &[u8], at: usize) -> usize {
    let rest = data.get(at / 8..).unwrap_or_default();
    let value = rest.first_chunk::<8>().map_or_else(
        || rest.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
        |bytes| u64::from_le_bytes(*bytes),
    );
    usize::try_from(value >> (at % 8)).unwrap_or(0)
}
