//! Snappy blocks, as Parquet files contain them.
//!
//! The format: the length as a varint, then literals and copies of earlier output.

use serde::Deserialize;

use crate::codecs::block::{BlockCost, MAX_BLOCK, NoDetails};
use crate::codecs::{Allowance, CodecError, content, finished};

/// Fuel for each byte, packed or not.
const BYTE: u64 = 4;

const UNPACKING: BlockCost = BlockCost { fuel: BYTE, memory: 0 };

const PACKING: BlockCost = BlockCost { fuel: BYTE, memory: TABLE * size_of::<usize>() };

/// Unpacks a block.
#[derive(Debug, Deserialize)]
pub(super) struct Decode {}

/// Packs a block.
#[derive(Debug, Deserialize)]
pub(super) struct Encode {}

impl Decode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let (length, rest) = length(data).ok_or_else(damaged)?;
        let mut out = UNPACKING.unpack(length, data.len(), allowance)?;
        unpack(rest, content(&mut out), allowance).ok_or_else(damaged)?;
        finished(out, &NoDetails {})
    }
}

impl Encode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let (most, too_long) = (most_packed(data.len()), "a Snappy block may have at most 64 MiB");
        let mut out = PACKING.pack(data.len(), most, too_long, allowance)?;
        pack(data, &mut out, allowance);
        finished(out, &NoDetails {})
    }
}

fn damaged() -> CodecError {
    CodecError::Damaged("Corrupt snappy compressed data.".to_owned())
}

/// The stated length of a block, and the bytes that follow.
fn length(data: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_usize;
    for (at, byte) in data.iter().take(5).enumerate() {
        value |= usize::from(byte & 0x7f).checked_shl(u32::try_from(at * 7).ok()?)?;
        if byte & 0x80 == 0 {
            return Some((value, data.get(at + 1..)?)).filter(|_| value <= MAX_BLOCK);
        }
    }
    None
}

/// Fills `out` exactly.
fn unpack(mut rest: &[u8], out: &mut [u8], allowance: &Allowance<'_>) -> Option<()> {
    let (mut at, mut steps) = (0_usize, 0_u32);
    while let Some((tag, after)) = rest.split_first() {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS) {
            allowance.beat();
        }
        let high = usize::from(tag >> 2);
        let (count, distance, after) = match tag & 3 {
            0 => {
                let extra = high.saturating_sub(59);
                let (bytes, after) = after.split_at_checked(extra)?;
                let count = if extra == 0 { high } else { little(bytes) };
                let (literal, after) = after.split_at_checked(count.checked_add(1)?)?;
                out.get_mut(at..)?.get_mut(..literal.len())?.copy_from_slice(literal);
                at += literal.len();
                rest = after;
                continue;
            }
            1 => {
                let (low, after) = after.split_first()?;
                (4 + (high & 7), (high >> 3) << 8 | usize::from(*low), after)
            }
            kind => {
                let (bytes, after) = after.split_at_checked(if kind == 2 { 2 } else { 4 })?;
                (high + 1, little(bytes), after)
            }
        };
        repeat(out, at, distance, count)?;
        at += count;
        rest = after;
    }
    (at == out.len()).then_some(())
}

/// Steps between two checks of the deadline. A copy has at most 64 bytes. A literal may be long,
/// but copying it is as fast as receiving it was.
const STEPS: u32 = 1 << 14;

/// Copies `count` bytes to `at` from `distance` before. Source and target may overlap: the copy
/// then repeats bytes that it has just written.
pub(super) fn repeat(out: &mut [u8], at: usize, distance: usize, count: usize) -> Option<()> {
    let start = at.checked_sub(distance).filter(|_| distance > 0)?;
    let end = at.checked_add(count).filter(|end| *end <= out.len())?;
    if distance >= count {
        out.copy_within(start..start + count, at);
        return Some(());
    }
    let area = out.get_mut(start..end)?;
    for here in distance..area.len() {
        let byte = *area.get(here - distance)?;
        *area.get_mut(here)? = byte;
    }
    Some(())
}

fn little(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

/// Entries of the table with the last position of each hash of four bytes.
const TABLE: usize = 1 << 14;

/// Longest output for this number of bytes.
const fn most_packed(length: usize) -> usize {
    32 + length + length / 6
}

fn pack(data: &[u8], out: &mut Vec<u8>, allowance: &Allowance<'_>) {
    let mut length = data.len();
    while length >= 0x80 {
        out.push(low_byte(length) | 0x80);
        length >>= 7;
    }
    out.push(low_byte(length));
    let mut seen = vec![usize::MAX; TABLE];
    let (mut at, mut written, mut steps) = (0, 0, 0_u32);
    while let Some(four) = data.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS) {
            allowance.beat();
        }
        let hash = u32::from_le_bytes(*four).wrapping_mul(0x1e35_a7bd) >> 18;
        let slot = seen.get_mut(usize::try_from(hash).unwrap_or(0));
        let candidate = slot.map_or(usize::MAX, |slot| std::mem::replace(slot, at));
        let distance = at.wrapping_sub(candidate);
        let same = candidate < at
            && distance <= usize::from(u16::MAX)
            && data.get(candidate..).and_then(|rest| rest.first_chunk::<4>()) == Some(four);
        if !same {
            // The longer no match was found, the fewer positions are tried.
            at += 1 + (at - written) / 32;
            continue;
        }
        literal(out, data.get(written..at).unwrap_or_default());
        let before = data.get(candidate..).unwrap_or_default();
        let here = data.get(at..).unwrap_or_default();
        let count = before.iter().zip(here).take_while(|(one, other)| one == other).count();
        copy(out, distance, count);
        at += count;
        written = at;
    }
    literal(out, data.get(written..).unwrap_or_default());
}

fn low_byte(value: usize) -> u8 {
    u8::try_from(value & 0xff).unwrap_or(0)
}

fn literal(out: &mut Vec<u8>, bytes: &[u8]) {
    let Some(last) = bytes.len().checked_sub(1) else {
        return;
    };
    match last {
        0..60 => out.push(low_byte(last) << 2),
        60..0x100 => out.extend([60 << 2, low_byte(last)]),
        0x100..0x1_0000 => out.extend([61 << 2, low_byte(last), low_byte(last >> 8)]),
        _ => {
            out.push(63 << 2);
            out.extend([0, 8, 16, 24].map(|shift| low_byte(last >> shift)));
        }
    }
    out.extend_from_slice(bytes);
}

fn copy(out: &mut Vec<u8>, distance: usize, mut count: usize) {
    while count > 0 {
        let part = count.min(64);
        out.extend([low_byte((part - 1) << 2 | 2), low_byte(distance), low_byte(distance >> 8)]);
        count -= part;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(data: &[u8]) -> Option<Vec<u8>> {
        let (length, rest) = length(data)?;
        let mut out = vec![0; length];
        unpack(rest, &mut out, &Allowance::new(0)).map(|()| out)
    }

    fn packed(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(data, &mut out, &Allowance::new(usize::MAX >> 1));
        out
    }

    #[test]
    fn blocks_of_other_programs_are_read() {
        assert_eq!(unpacked(b"\x00"), Some(vec![]));
        assert_eq!(unpacked(b"\x05\x10hello"), Some(b"hello".to_vec()));
        // "ab" and a copy of eight bytes from two before.
        assert_eq!(unpacked(b"\x0a\x04ab\x1e\x02\x00"), Some(b"ababababab".to_vec()));
    }

    #[test]
    fn damaged_blocks_are_refused() {
        for block in [
            &b""[..],
            b"\x05\x10hell",
            b"\x04\x10hello",
            b"\x06\x10hello",
            b"\x0a\x04ab\x1e\x03\x00",
            b"\x0a\x04ab\x1e\x00\x00",
            b"\xff\xff\xff\xff\xff\xff",
            b"\x05\xfc\xff\xff\xff\xff",
        ] {
            assert_eq!(unpacked(block), None, "{block:?}");
        }
    }

    #[test]
    fn repetition_becomes_short() {
        let data = b"a line of text; ".repeat(4096);
        let short = packed(&data);
        assert!(short.len() < data.len() / 10, "{}", short.len());
        assert_eq!(unpacked(&short), Some(data));
    }

    proptest! {
        #[test]
        fn packed_bytes_are_unpacked(data in prop::collection::vec(0_u8..4, 0..3000)) {
            prop_assert!(packed(&data).len() <= most_packed(data.len()));
            prop_assert_eq!(unpacked(&packed(&data)), Some(data));
        }

        #[test]
        fn hostile_blocks_never_panic(data in prop::collection::vec(any::<u8>(), 0..100)) {
            drop(unpacked(&data));
        }
    }
}
