//! Types for quantities, so that they cannot be confused.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteCount(u64);

impl ByteCount {
    /// `count` bytes.
    #[must_use]
    pub const fn bytes(count: u64) -> Self {
        Self(count)
    }

    /// `count` kibibytes (1,024 bytes each).
    #[must_use]
    pub const fn kibibytes(count: u64) -> Self {
        Self(count.saturating_mul(1 << 10))
    }

    /// `count` mebibytes (1,048,576 bytes each).
    #[must_use]
    pub const fn mebibytes(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// The plain number, for calling libraries.
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The plain number for indexing; `usize::MAX` on a platform where it does not fit.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl From<usize> for ByteCount {
    fn from(count: usize) -> Self {
        Self(u64::try_from(count).unwrap_or(u64::MAX))
    }
}

/// Prints exact binary units where they fit (`512 MiB`), plain bytes otherwise.
impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        for (size, name) in UNITS {
            if self.0 >= size && self.0.is_multiple_of(size) {
                return write!(f, "{} {name}", self.0 / size);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

/// Wasm fuel: roughly one unit per wasm instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fuel(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_print_in_the_largest_exact_unit() {
        assert_eq!(ByteCount::mebibytes(512).to_string(), "512 MiB");
        assert_eq!(ByteCount::bytes(4096).to_string(), "4 KiB");
        assert_eq!(ByteCount::bytes(4097).to_string(), "4097 bytes");
        assert_eq!(ByteCount::bytes(0).to_string(), "0 bytes");
    }
}
