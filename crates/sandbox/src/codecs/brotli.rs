//! Reads Brotli streams, as Parquet files contain them.

use std::io::Read;

use brotli_decompressor::Decompressor;
use serde::Deserialize;

use crate::codecs::block::{BlockCost, NoDetails};
use crate::codecs::paced::Paced;
use crate::codecs::{Allowance, CodecError, content, finished};

/// The decoder holds a window of at most 16 MiB, and tables.
const UNPACKING: BlockCost = BlockCost { fuel: 12, memory: 24 << 20 };

/// Bytes that are read at once.
const BUFFER: usize = 4 << 10;

/// Bytes that are written between two checks of the deadline.
const PIECE: usize = 256 << 10;

/// Unpacks a stream.
#[derive(Debug, Deserialize)]
pub(super) struct Decode {
    /// Length of the unpacked bytes.
    size: usize,
}

impl Decode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let mut out = UNPACKING.unpack(self.size, data.len(), allowance)?;
        let damaged = || CodecError::Damaged("Corrupt brotli compressed data.".to_owned());
        let mut decoder = Decompressor::new(Paced::new(data, allowance), BUFFER);
        for piece in content(&mut out).chunks_mut(PIECE) {
            allowance.beat();
            decoder.read_exact(piece).map_err(|_error| damaged())?;
        }
        if !matches!(decoder.read(&mut [0]), Ok(0)) {
            return Err(damaged());
        }
        finished(out, &NoDetails {})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codecs::testing::ask;

    fn unpacked(data: &[u8], size: usize) -> Result<Vec<u8>, CodecError> {
        ask(&json!({"op": "brotli.decode", "size": size}), data).map(|(_, bytes)| bytes)
    }

    const TEXT: &[u8] = include_bytes!("../../../../tests/fixtures/tables/text.br");

    #[test]
    fn streams_of_other_programs_are_read() {
        let text: Vec<u8> = (0..3000)
            .flat_map(|line| format!("line {line} of {}\n", line * line).into_bytes())
            .collect();
        assert_eq!(unpacked(TEXT, text.len()).unwrap(), text);
        assert!(unpacked(TEXT, text.len() - 1).is_err() && unpacked(TEXT, text.len() + 1).is_err());
        for end in [0, 1, 10, TEXT.len() / 2, TEXT.len() - 1] {
            assert!(unpacked(&TEXT[..end], text.len()).is_err(), "{end}");
        }
    }
}
