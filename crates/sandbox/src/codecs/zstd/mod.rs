//! Reads Zstandard frames (RFC 8878), as Parquet files contain them.
//!
//! Known crates decode through a ring buffer of `unsafe` code. Here the whole output is one slice
//! whose length the request names, so that a copy is a copy within it.

mod bits;
mod fse;
mod huffman;
mod out;
mod sequences;

use serde::Deserialize;

use crate::codecs::block::{BlockCost, NoDetails};
use crate::codecs::zstd::huffman::Huffman;
use crate::codecs::zstd::out::Out;
use crate::codecs::zstd::sequences::{Sequence, Sequences, Tables};
use crate::codecs::{Allowance, CodecError, content, finished};

/// Maximum number of bytes of a block, packed or not.
const MOST: usize = 128 << 10;

/// The memory is for the literals of a block, and tables.
const UNPACKING: BlockCost = BlockCost { fuel: 8, memory: 2 * MOST };

/// Unpacks one or more frames.
#[derive(Debug, Deserialize)]
pub(super) struct Decode {
    /// Length of the unpacked bytes.
    size: usize,
}

impl Decode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let mut answer = UNPACKING.unpack(self.size, data.len(), allowance)?;
        let mut out = Out { bytes: content(&mut answer), at: 0 };
        let mut rest = data;
        while !rest.is_empty() {
            rest = frame(rest, &mut out, allowance).ok_or_else(damaged)?;
        }
        if out.at != self.size {
            return Err(damaged());
        }
        finished(answer, &NoDetails {})
    }
}

fn damaged() -> CodecError {
    CodecError::Damaged("Corrupt zstd compressed data.".to_owned())
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

/// Reads a frame. Returns the bytes that follow.
fn frame<'a>(data: &'a [u8], out: &mut Out<'_>, allowance: &Allowance<'_>) -> Option<&'a [u8]> {
    let (magic, rest) = data.split_first_chunk::<4>()?;
    let magic = u32::from_le_bytes(*magic);
    if magic >> 4 == 0x0184_d2a5 {
        // A frame to be skipped.
        let (length, rest) = rest.split_first_chunk::<4>()?;
        return rest.get(number(length)..);
    }
    let (flags, rest) = rest.split_first()?;
    if magic != 0xfd2f_b528 || flags & 8 != 0 {
        return None;
    }
    let is_single = flags >> 5 & 1 == 1;
    let window = usize::from(!is_single);
    let dictionary = *[0, 1, 2, 4].get(usize::from(flags & 3))?;
    let sizes = [usize::from(is_single), 2, 4, 8];
    let length = window + dictionary + sizes.get(usize::from(flags >> 6))?;
    let (head, mut rest) = rest.split_at_checked(length)?;
    if number(head.get(window..window + dictionary)?) != 0 {
        return None;
    }
    let mut state = State { begin: out.at, huffman: None, tables: Tables::new() };
    loop {
        allowance.beat();
        let (head, after) = rest.split_first_chunk::<3>()?;
        let head = number(head);
        let (kind, size) = (head >> 1 & 3, head >> 3);
        if size > MOST {
            return None;
        }
        let taken = if kind == 1 { 1 } else { size };
        let (block, after) = after.split_at_checked(taken)?;
        match kind {
            0 => out.push(block)?,
            1 => out.fill(*block.first()?, size)?,
            2 => state.block(block, out)?,
            _ => return None,
        }
        rest = after;
        if head & 1 == 1 {
            break;
        }
    }
    // The checksum is not verified: Parquet has its own.
    rest.get(if flags & 4 == 0 { 0 } else { 4 }..)
}

/// The state that a block inherits from the previous one.
struct State {
    begin: usize,
    huffman: Option<Huffman>,
    tables: Tables,
}

impl State {
    fn block(&mut self, data: &[u8], out: &mut Out<'_>) -> Option<()> {
        let (literals, rest) = self.literals(data)?;
        let mut literals = literals.as_slice();
        let start = out.at;
        let mut sequences = Sequences::new(rest, &mut self.tables)?;
        while !sequences.is_done() {
            let Sequence { literals: count, distance, count: copied } =
                sequences.read(&mut self.tables)?;
            let (now, later) = literals.split_at_checked(count)?;
            out.push(now)?;
            literals = later;
            if distance > out.at - self.begin || copied > MOST || out.at - start > MOST {
                return None;
            }
            out.repeat(distance, copied)?;
        }
        out.push(literals)
    }

    /// The literals of a block, and the bytes that follow.
    fn literals<'a>(&mut self, data: &'a [u8]) -> Option<(Vec<u8>, &'a [u8])> {
        let first = usize::from(*data.first()?);
        let (kind, format) = (first & 3, first >> 2 & 3);
        if kind < 2 {
            let (length, shift) = *[(1, 3), (2, 4), (1, 3), (3, 4)].get(format)?;
            let (head, rest) = data.split_at_checked(length)?;
            let size = number(head) >> shift;
            if size > MOST {
                return None;
            }
            if kind == 1 {
                let (byte, rest) = rest.split_first()?;
                return Some((vec![*byte; size], rest));
            }
            let (literals, rest) = rest.split_at_checked(size)?;
            return Some((literals.to_vec(), rest));
        }
        let (length, width) = *[(3, 10), (3, 10), (4, 14), (5, 18)].get(format)?;
        let (head, rest) = data.split_at_checked(length)?;
        let head = number(head) >> 4;
        let (size, packed) = (head & ((1 << width) - 1), head >> width);
        if size > MOST {
            return None;
        }
        let (mut packed, rest) = rest.split_at_checked(packed)?;
        if kind == 2 {
            let (huffman, after) = Huffman::read(packed)?;
            self.huffman = Some(huffman);
            packed = after;
        }
        let huffman = self.huffman.as_ref()?;
        let mut out = vec![0; size];
        if format == 0 {
            huffman.decode(packed, &mut out)?;
            return Some((out, rest));
        }
        let (jumps, mut packed) = packed.split_first_chunk::<6>()?;
        let part = size.div_ceil(4);
        let mut left = out.as_mut_slice();
        for jump in jumps.as_chunks::<2>().0 {
            let (stream, after) = packed.split_at_checked(number(jump))?;
            let (target, others) = left.split_at_mut_checked(part)?;
            huffman.decode(stream, target)?;
            (packed, left) = (after, others);
        }
        huffman.decode(packed, left)?;
        Some((out, rest))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::codecs::block::MAX_BLOCK;
    use crate::codecs::testing::ask;

    fn unpacked(data: &[u8], size: usize) -> Result<Vec<u8>, CodecError> {
        ask(&json!({"op": "zstd.decode", "size": size}), data).map(|(_, bytes)| bytes)
    }

    const TEXT: &[u8] = include_bytes!("../../../../../tests/fixtures/tables/text.zst");

    fn text() -> Vec<u8> {
        (0..3000)
            .flat_map(|line| format!("line {line} of {}\n", line * line).into_bytes())
            .collect()
    }

    #[test]
    fn frames_of_other_programs_are_read() {
        assert_eq!(unpacked(TEXT, text().len()).unwrap(), text());
        let hello = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello";
        assert_eq!(unpacked(hello, 5).unwrap(), b"hello");
        let twice = [&b"\x50\x2a\x4d\x18\x02\0\0\0xx"[..], hello, hello].concat();
        assert_eq!(unpacked(&twice, 10).unwrap(), b"hellohello");
        let run = b"\x28\xb5\x2f\xfd\x20\x09\x4b\x00\x00a";
        assert_eq!(unpacked(run, 9).unwrap(), b"aaaaaaaaa");
    }

    #[test]
    fn damaged_frames_are_refused() {
        for (data, size) in [
            (&b""[..], 1),
            (b"\x28\xb5\x2f\xfd", 0),
            (b"\x28\xb5\x2f\xfe\x20\x05\x29\x00\x00hello", 5),
            (b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hell", 5),
            (b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello", 4),
            (b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello", 6),
            (b"\x28\xb5\x2f\xfd\x20\x09\x4b\x00\x00", 9),
        ] {
            assert!(unpacked(data, size).is_err(), "{data:?}");
        }
        assert!(matches!(unpacked(b"", MAX_BLOCK + 1), Err(CodecError::Unsupported(_))));
        for end in (0..TEXT.len()).step_by(97) {
            assert!(unpacked(&TEXT[..end], text().len()).is_err());
        }
    }

    proptest! {
        #[test]
        fn hostile_frames_end_in_bytes_or_a_refusal(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut data = TEXT.to_vec();
            for (at, byte) in damage {
                let at = at.index(data.len());
                data[at] = byte;
            }
            drop(unpacked(&data, text().len()));
        }
    }
}
