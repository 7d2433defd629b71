//! LZ4 blocks, as Parquet files contain them.
//!
//! The format: sequences of literals and of copies of earlier output.

use serde::Deserialize;

use crate::codecs::block::{BlockCost, NoDetails};
use crate::codecs::snappy::{STEPS, repeat};
use crate::codecs::{Allowance, CodecError, content, finished};

/// Fuel for each byte, packed or not.
const BYTE: u64 = 4;

const UNPACKING: BlockCost = BlockCost { fuel: BYTE, memory: 0 };

const PACKING: BlockCost = BlockCost { fuel: BYTE, memory: TABLE * size_of::<usize>() };

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
        let damaged = || CodecError::Damaged("Corrupt Lz4 compressed data.".to_owned());
        unpack(data, content(&mut out), allowance).ok_or_else(damaged)?;
        finished(out, &NoDetails {})
    }
}

impl Encode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let (most, too_long) = (most_packed(data.len()), "a page may have at most 64 MiB");
        let mut out = PACKING.pack(data.len(), most, too_long, allowance)?;
        pack(data, &mut out, allowance);
        finished(out, &NoDetails {})
    }
}

/// Longest output for this number of bytes.
const fn most_packed(length: usize) -> usize {
    16 + length + length / 255
}

/// A length whose first four bits are in the token: bytes of 255 and a last one add to it.
fn length(nibble: u8, rest: &mut &[u8]) -> Option<usize> {
    let mut sum = usize::from(nibble);
    if nibble == 15 {
        loop {
            let (byte, after) = rest.split_first()?;
            *rest = after;
            sum = sum.checked_add(usize::from(*byte))?;
            if *byte < 255 {
                break;
            }
        }
    }
    Some(sum)
}

/// Fills `out` exactly.
fn unpack(mut rest: &[u8], out: &mut [u8], allowance: &Allowance<'_>) -> Option<()> {
    let (mut at, mut steps) = (0_usize, 0_u32);
    while let Some((token, after)) = rest.split_first() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS) {
            allowance.beat();
        }
        rest = after;
        let count = length(token >> 4, &mut rest)?;
        let (literal, after) = rest.split_at_checked(count)?;
        out.get_mut(at..)?.get_mut(..count)?.copy_from_slice(literal);
        at += count;
        rest = after;
        if rest.is_empty() {
            break;
        }
        let (distance, after) = rest.split_first_chunk::<2>()?;
        rest = after;
        let count = length(token & 15, &mut rest)?.checked_add(4)?;
        repeat(out, at, usize::from(u16::from_le_bytes(*distance)), count)?;
        at += count;
    }
    (at == out.len()).then_some(())
}

/// Entries of the table with the last position of each hash of four bytes.
const TABLE: usize = 1 << 14;

/// The last bytes of a block are always literals: five, and no copy begins among the last twelve.
const LAST_LITERALS: usize = 5;
const LAST_COPY: usize = 12;

fn pack(data: &[u8], out: &mut Vec<u8>, allowance: &Allowance<'_>) {
    let mut seen = vec![usize::MAX; TABLE];
    let (mut at, mut written, mut steps) = (0, 0, 0_u32);
    let last_copy = data.len().saturating_sub(LAST_COPY);
    let copied = data.get(..data.len().saturating_sub(LAST_LITERALS)).unwrap_or_default();
    while let Some(four) = data.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        if at >= last_copy {
            break;
        }
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS) {
            allowance.beat();
        }
        let hash = u32::from_le_bytes(*four).wrapping_mul(0x9e37_79b1) >> 18;
        let slot = seen.get_mut(usize::try_from(hash).unwrap_or(0));
        let candidate = slot.map_or(usize::MAX, |slot| std::mem::replace(slot, at));
        let distance = at.wrapping_sub(candidate);
        let same = candidate < at
            && distance <= usize::from(u16::MAX)
            && data.get(candidate..).and_then(|rest| rest.first_chunk::<4>()) == Some(four);
        if !same {
            // The longer no match was found, the fewer positions are tried.
            at += 1 + (at - written) / 64;
            continue;
        }
        let before = data.get(candidate..).unwrap_or_default();
        let here = copied.get(at..).unwrap_or_default();
        let count = before.iter().zip(here).take_while(|(one, other)| one == other).count();
        let literal = data.get(written..at).unwrap_or_default();
        sequence(out, literal, Some((distance, count)));
        at += count;
        written = at;
    }
    sequence(out, data.get(written..).unwrap_or_default(), None);
}

fn sequence(out: &mut Vec<u8>, literal: &[u8], copy: Option<(usize, usize)>) {
    let more = copy.map_or(0, |(_, count)| count - 4);
    let nibble = |length: usize| u8::try_from(length.min(15)).unwrap_or(15);
    out.push(nibble(literal.len()) << 4 | nibble(more));
    rest_of_length(out, literal.len());
    out.extend_from_slice(literal);
    if let Some((distance, _)) = copy {
        out.extend(u16::try_from(distance).unwrap_or(0).to_le_bytes());
        rest_of_length(out, more);
    }
}

fn rest_of_length(out: &mut Vec<u8>, length: usize) {
    if let Some(rest) = length.checked_sub(15) {
        out.extend(std::iter::repeat_n(255, rest / 255));
        out.push(u8::try_from(rest % 255).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(data: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; size];
        unpack(data, &mut out, &Allowance::new(usize::MAX >> 1)).map(|()| out)
    }

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(data, &mut out, &Allowance::new(usize::MAX >> 1));
        out
    }

    #[test]
    fn blocks_of_other_programs_are_read() {
        assert_eq!(unpacked(b"\x00", 0), Some(vec![]));
        assert_eq!(unpacked(b"\x50hello", 5), Some(b"hello".to_vec()));
        // "ab", a copy of eight bytes from two before, and five literals.
        let block = b"\x24ab\x02\x00\x50abcde";
        assert_eq!(unpacked(block, 15), Some(b"abababababababcde"[2..].to_vec()));
    }

    #[test]
    fn damaged_blocks_are_refused() {
        for (block, size) in [
            (&b"\x50hell"[..], 5),
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
            prop_assert!(packed(&data).len() <= most_packed(data.len()));
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
