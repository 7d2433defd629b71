//! Huffman codes of literals (RFC 8878, section 4.2).

use crate::codecs::zstd::bits::Backward;
use crate::codecs::zstd::fse;

/// Longest code, in bits.
const MOST_BITS: usize = 11;

/// A Huffman code: for each value of the next `width` bits, the decoded byte and the length of its
/// code.
pub(super) struct Huffman {
    cells: Vec<(u8, u8)>,
    width: usize,
}

impl Huffman {
    /// Reads a code. Returns it with the bytes that follow.
    pub(super) fn read(data: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = data.split_first()?;
        let head = usize::from(*head);
        if head < 128 {
            let (packed, rest) = rest.split_at_checked(head)?;
            return Some((Self::new(&packed_weights(packed)?)?, rest));
        }
        let count = head - 127;
        let (packed, rest) = rest.split_at_checked(count.div_ceil(2))?;
        let weights: Vec<u8> =
            packed.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(count).collect();
        Some((Self::new(&weights)?, rest))
    }

    /// The code whose bytes have these weights; that of the last one follows from the others.
    fn new(weights: &[u8]) -> Option<Self> {
        if weights.iter().any(|weight| usize::from(*weight) > MOST_BITS) || weights.len() > 255 {
            return None;
        }
        let cells_of = |weight: u8| (1_usize << weight) >> 1;
        let sum: usize = weights.iter().map(|weight| cells_of(*weight)).sum();
        let width = usize::try_from(sum.checked_ilog2()?).ok()? + 1;
        let left = (1_usize << width) - sum;
        if width > MOST_BITS || !left.is_power_of_two() {
            return None;
        }
        let last = u8::try_from(left.ilog2()).ok()? + 1;
        let mut cells = Vec::with_capacity(1 << width);
        for weight in 1..=u8::try_from(width).ok()? {
            let length = u8::try_from(width + 1).ok()? - weight;
            for (byte, own) in weights.iter().chain([&last]).enumerate() {
                if *own == weight {
                    let cell = (u8::try_from(byte).ok()?, length);
                    cells.extend(std::iter::repeat_n(cell, cells_of(weight)));
                }
            }
        }
        (cells.len() == 1 << width).then_some(Self { cells, width })
    }

    /// Decodes a stream into `out`.
    pub(super) fn decode(&self, stream: &[u8], out: &mut [u8]) -> Option<()> {
        let mut bits = Backward::new(stream)?;
        for byte in out {
            let (value, length) = *self.cells.get(bits.peek(self.width))?;
            *byte = value;
            bits.skip(length.into());
        }
        bits.is_exact().then_some(())
    }
}

/// Weights that are packed themselves: two states take turns until the bits are used up.
fn packed_weights(data: &[u8]) -> Option<Vec<u8>> {
    let (table, stream) = fse::read(data, 6, 13)?;
    let mut bits = Backward::new(stream)?;
    let mut states = (table.start(&mut bits)?, table.start(&mut bits)?);
    let mut weights = Vec::new();
    loop {
        weights.push(states.0.symbol);
        let next = table.after(states.0, &mut bits);
        if bits.is_over() {
            weights.push(states.1.symbol);
            return Some(weights);
        }
        states = (states.1, next?);
        if weights.len() > 255 {
            return None;
        }
    }
}
