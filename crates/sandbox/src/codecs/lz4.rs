//! LZ4 blocks, as Parquet files contain them.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use serde::Deserialize;

use crate::codecs::block::{BlockCost, NoDetails};
use crate::codecs::{Allowance, CodecError, content, finished};

/// Fuel for each byte, packed or not.
const BYTE: u64 = 4;

/// Time for each byte, packed or not, in nanoseconds: several times what an old processor needs. The
/// crate cannot be interrupted within a block.
const TIME: u64 = 5;

const UNPACKING: BlockCost = BlockCost { fuel: BYTE, memory: 0 };

/// The crate's table has 4,096 entries of up to four bytes.
const PACKING: BlockCost = BlockCost { fuel: BYTE, memory: 4_096 * size_of::<u32>() };

/// Unpacks a block.
#[derive(Debug, Deserialize)]
pub(super) struct Decode {
    /// Length of the unpacked bytes.
    size: usize,
}

/// Packs a block.
#[derive(Debug, Deserialize)]
pub(super) struct Encode {}

impl Decode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let mut out = UNPACKING.unpack(self.size, data.len(), allowance)?;
        allowance.reserve(self.size.saturating_add(data.len()), TIME)?;
        let damaged = || CodecError::Damaged("Corrupt Lz4 compressed data.".to_owned());
        unpack(data, content(&mut out)).ok_or_else(damaged)?;
        finished(out, &NoDetails {})
    }
}

impl Encode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let most = get_maximum_output_size(data.len());
        let mut out =
            PACKING.pack(data.len(), most, "a page may have at most 64 MiB", allowance)?;
        allowance.reserve(data.len(), TIME)?;
        pack(data, &mut out).ok_or(CodecError::Malformed)?;
        finished(out, &NoDetails {})
    }
}

/// Fills `out` exactly.
fn unpack(data: &[u8], out: &mut [u8]) -> Option<()> {
    // Writers of empty pages leave out even the token of an empty block.
    let written = if data.is_empty() { 0 } else { decompress_into(data, out).ok()? };
    (written == out.len()).then_some(())
}

/// Appends the packed bytes.
fn pack(data: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    out.resize(start.saturating_add(get_maximum_output_size(data.len())), 0);
    let written = compress_into(data, out.get_mut(start..)?).ok()?;
    out.truncate(start.saturating_add(written));
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(data: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; size];
        unpack(data, &mut out).map(|()| out)
    }

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(data, &mut out).unwrap();
        out
    }

    #[test]
    fn blocks_of_other_programs_are_read() {
        assert_eq!(unpacked(b"\x00", 0), Some(vec![]));
        assert_eq!(unpacked(b"", 0), Some(vec![]));
        assert_eq!(unpacked(b"\x50hello", 5), Some(b"hello".to_vec()));
        // "ab", a copy of eight bytes from two before, and five literals.
        let block = b"\x24ab\x02\x00\x50abcde";
        assert_eq!(unpacked(block, 15), Some(b"abababababababcde"[2..].to_vec()));
    }

    #[test]
    fn damaged_blocks_are_refused() {
        for (block, size) in [
            (&b""[..], 1),
            (b"\x50hell", 5),
            (b"\x50hello", 4),
            (b"\x50hello", 6),
            (b"\x24ab\x03\x00\x50abcde", 15),
            (b"\x24ab\x00\x00\x50abcde", 15),
            (b"\xf0", 20),
            (b"\xf0\xff\xff", 20),
        ] {
            assert_eq!(unpacked(block, size), None, "{block:?}");
        }
    }

    #[test]
    fn repetition_becomes_short() {
        let data = b"a line of text; ".repeat(4096);
        let short = packed(&data);
        assert!(short.len() < data.len() / 50, "{}", short.len());
        assert_eq!(unpacked(&short, data.len()), Some(data));
    }

    proptest! {
        #[test]
        fn packed_bytes_are_unpacked(data in prop::collection::vec(0_u8..4, 0..3000)) {
            prop_assert!(packed(&data).len() <= get_maximum_output_size(data.len()));
            prop_assert_eq!(unpacked(&packed(&data), data.len()), Some(data));
        }

        #[test]
        fn hostile_blocks_never_panic(
            data in prop::collection::vec(any::<u8>(), 0..100),
            size in 0_usize..300,
        ) {
            drop(unpacked(&data, size));
        }
    }
}
