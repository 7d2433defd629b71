//! The coefficients of a block as VP8 writes them (RFC 6386, section 13).

use crate::codecs::vp8::bits::BoolWriter;
use crate::codecs::vp8::tables::{BANDS, DEFAULTS, KEPT, Probabilities};

/// Coefficients of a block, in the order in which they are written.
pub(super) type Levels = [i16; 16];

/// A place in the tables: the kind of block, the band, and the size of the coefficient before.
type Place = (usize, usize, usize);

/// Receives the branches of the trees that encode coefficients.
pub(super) trait Sink {
    /// A branch whose probability stands in the tables.
    fn branch(&mut self, place: Place, node: usize, bit: bool);

    /// A bit with a fixed probability.
    fn fixed(&mut self, bit: bool, probability: u8);
}

/// Counts how often a branch was taken with zero and with one.
pub(super) struct Counts(Box<[[[[ZerosAndOnes; 11]; 3]; 8]; 4]>);

type ZerosAndOnes = [u32; 2];

impl Counts {
    pub(super) fn new() -> Self {
        Self(Box::new([[[[[0; 2]; 11]; 3]; 8]; 4]))
    }

    /// Changes the probabilities that make the frame shorter, and writes these changes. Returns all
    /// probabilities.
    pub(super) fn write_updates(&self, bits: &mut BoolWriter) -> Box<Probabilities> {
        let mut table = Box::new(DEFAULTS);
        let counts = self.0.as_flattened().as_flattened().as_flattened();
        let kept = KEPT.as_flattened().as_flattened().as_flattened();
        let used = table.as_flattened_mut().as_flattened_mut().as_flattened_mut();
        for ((used, kept), [zeros, ones]) in used.iter_mut().zip(kept).zip(counts) {
            let total = u64::from(*zeros) + u64::from(*ones);
            let best = (u64::from(*zeros) * 256).checked_div(total).unwrap_or(0).clamp(1, 255);
            let best = u8::try_from(best).unwrap_or(*used);
            let whole = |probability: u8| {
                cost(probability) * f64::from(*zeros) + cost_of_one(probability) * f64::from(*ones)
            };
            let saved = whole(*used) - whole(best) - 8.0 - cost_of_one(*kept) + cost(*kept);
            bits.put(saved > 0.0, *kept);
            if saved > 0.0 {
                bits.literal(u32::from(best), 8);
                *used = best;
            }
        }
        table
    }
}

/// Bits that a zero of this probability takes.
fn cost(probability: u8) -> f64 {
    8.0 - f64::from(probability.max(1)).log2()
}

fn cost_of_one(probability: u8) -> f64 {
    8.0 - (256.0 - f64::from(probability)).log2()
}

impl Sink for Counts {
    fn branch(&mut self, (kind, band, before): Place, node: usize, bit: bool) {
        let nodes = self.0.get_mut(kind).and_then(|bands| bands.get_mut(band));
        let node = nodes.and_then(|sizes| sizes.get_mut(before)?.get_mut(node));
        if let Some([zeros, ones]) = node {
            *if bit { ones } else { zeros } += 1;
        }
    }

    fn fixed(&mut self, _: bool, _: u8) {}
}

/// Writes the branches.
pub(super) struct Coder<'a> {
    pub(super) bits: &'a mut BoolWriter,
    pub(super) table: &'a Probabilities,
}

impl Sink for Coder<'_> {
    fn branch(&mut self, (kind, band, before): Place, node: usize, bit: bool) {
        let nodes = self.table.get(kind).and_then(|bands| bands.get(band)?.get(before));
        let probability = nodes.and_then(|nodes| nodes.get(node)).copied().unwrap_or(128);
        self.bits.put(bit, probability);
    }

    fn fixed(&mut self, bit: bool, probability: u8) {
        self.bits.put(bit, probability);
    }
}

/// Writes a block from its coefficient `first` on. Returns true if one of them is not zero.
/// `before` is the number of its two neighbours for which this holds.
pub(super) fn write_block(
    levels: &Levels,
    (kind, first): (usize, usize),
    before: usize,
    sink: &mut impl Sink,
) -> bool {
    let end = levels.iter().rposition(|level| *level != 0).map_or(0, |last| last + 1);
    let mut size = before;
    let mut may_end = true;
    for ((place, level), band) in levels.iter().enumerate().zip(BANDS).skip(first) {
        let here = (kind, band, size);
        if may_end {
            sink.branch(here, 0, place < end);
        }
        if place >= end {
            return end > first;
        }
        may_end = *level != 0;
        size = usize::from(level.unsigned_abs().min(2));
        write_level(u32::from(level.unsigned_abs()), here, sink);
        if may_end {
            sink.fixed(*level < 0, 128);
        }
    }
    true
}

fn write_level(value: u32, here: Place, sink: &mut impl Sink) {
    sink.branch(here, 1, value > 0);
    if value == 0 {
        return;
    }
    sink.branch(here, 2, value > 1);
    if value == 1 {
        return;
    }
    sink.branch(here, 3, value > 4);
    if value <= 4 {
        sink.branch(here, 4, value > 2);
        if value > 2 {
            sink.branch(here, 5, value == 4);
        }
        return;
    }
    sink.branch(here, 6, value > 10);
    let (least, extra): (u32, &[u8]) = match value {
        5..=6 => (5, &[159]),
        7..=10 => (7, &[165, 145]),
        11..=18 => (11, &[173, 148, 140]),
        19..=34 => (19, &[176, 155, 140, 135]),
        35..=66 => (35, &[180, 157, 141, 134, 130]),
        _ => (67, &[254, 254, 243, 230, 196, 177, 153, 140, 133, 130, 129]),
    };
    match value {
        5..=10 => sink.branch(here, 7, value > 6),
        11..=34 => {
            sink.branch(here, 8, false);
            sink.branch(here, 9, value > 18);
        }
        _ => {
            sink.branch(here, 8, true);
            sink.branch(here, 10, value > 66);
        }
    }
    for (place, probability) in extra.iter().rev().enumerate().rev() {
        sink.fixed((value - least) >> place & 1 != 0, *probability);
    }
}
