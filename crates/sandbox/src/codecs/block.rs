//! The steps that all codecs of blocks share: limits, charges and the answer.

use serde::Serialize;

use crate::codecs::{Allowance, CodecError, answer_of};

/// Longest block of a table, packed or not. Usual pages have some megabytes.
pub(super) const MAX_BLOCK: usize = 64 << 20;

/// The description of a block besides its bytes: there is none.
#[derive(Serialize)]
pub(super) struct NoDetails {}

/// The work and memory of a codec of blocks.
#[derive(Clone, Copy)]
pub(super) struct BlockCost {
    /// Fuel for each byte, packed or not.
    pub(super) fuel: u64,
    /// Bytes of memory besides the answer.
    pub(super) memory: usize,
}

impl BlockCost {
    /// Charges for unpacking `packed` bytes to `size`, and returns an answer with that much room.
    pub(super) fn unpack(
        self,
        size: usize,
        packed: usize,
        allowance: &Allowance<'_>,
    ) -> Result<Vec<u8>, CodecError> {
        if size > MAX_BLOCK {
            return Err(CodecError::Unsupported("a page may have at most 64 MiB".to_owned()));
        }
        allowance.spend(size.saturating_add(packed), self.fuel)?;
        allowance.take(size.saturating_add(self.memory))?;
        Ok(answer_of(size))
    }

    /// Charges for packing `size` bytes to at most `most`, and returns an empty answer with that
    /// much room. Refuses a block longer than [`MAX_BLOCK`] with the message `too_long`.
    pub(super) fn pack(
        self,
        size: usize,
        most: usize,
        too_long: &str,
        allowance: &Allowance<'_>,
    ) -> Result<Vec<u8>, CodecError> {
        if size > MAX_BLOCK {
            return Err(CodecError::Unsupported(too_long.to_owned()));
        }
        allowance.spend(size, self.fuel)?;
        allowance.take(most.saturating_add(self.memory))?;
        let mut answer = answer_of(0);
        answer.reserve_exact(most);
        Ok(answer)
    }
}
