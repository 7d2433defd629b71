//! One block of 16 x 16 pixels: its prediction and its coefficients.

use crate::codecs::vp8::plane::{Picture, Plane, clamped};
use crate::codecs::vp8::tables::{AC_STEPS, DC_STEPS, ZIGZAG};
use crate::codecs::vp8::tokens::Levels;
use crate::codecs::vp8::transform::{Block, cosine, hadamard, inverse_cosine, inverse_hadamard};

/// The prediction of a block from the pixels above and to its left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// All pixels have the mean of the pixels above and to the left.
    Mean,
    /// Each column repeats the pixel above.
    Above,
    /// Each row repeats the pixel to the left.
    Left,
    /// The gradients of the row above and of the left column are added.
    Slope,
}

/// Steps of quantisation, for the first coefficient of a block and for the others.
pub(super) struct Steps {
    luma: [i32; 2],
    means: [i32; 2],
    chroma: [i32; 2],
}

impl Steps {
    pub(super) fn new(index: usize) -> Self {
        let mean = DC_STEPS.get(index).copied().unwrap_or(157);
        let other = AC_STEPS.get(index).copied().unwrap_or(284);
        Self {
            luma: [mean, other],
            means: [mean * 2, (other * 155 / 100).max(8)],
            chroma: [mean.min(132), other],
        }
    }
}

/// The strength with which a decoder smooths the borders of blocks.
pub(super) fn filter_level(step: usize) -> u32 {
    let step = AC_STEPS.get(step).copied().unwrap_or(284) / 4;
    let level = u32::try_from(step * 300 / 256).unwrap_or(0).min(63);
    if level < 2 { 0 } else { level }
}

/// The encoded form of a macroblock.
pub(super) struct Macroblock {
    pub(super) luma: Mode,
    pub(super) chroma: Mode,
    pub(super) means: Levels,
    pub(super) y: [Levels; 16],
    pub(super) u: [Levels; 4],
    pub(super) v: [Levels; 4],
}

impl Macroblock {
    /// Chooses the predictions and quantises. Writes the decoded pixels to `seen`.
    pub(super) fn new(
        source: &Picture,
        seen: &mut Picture,
        (x, y): (usize, usize),
        steps: &Steps,
    ) -> Self {
        let place = (x * 16, y * 16);
        let (luma, [predicted]) = best::<16, 256, 1>([(&source.y, &seen.y)], place);
        let (means, y_levels) = luma_of((&source.y, &mut seen.y), place, &predicted, steps);
        let place = (x * 8, y * 8);
        let planes = [(&source.u, &seen.u), (&source.v, &seen.v)];
        let (chroma, [u, v]) = best::<8, 64, 2>(planes, place);
        let u = chroma_of((&source.u, &mut seen.u), place, &u, steps);
        let v = chroma_of((&source.v, &mut seen.v), place, &v, steps);
        Self { luma, chroma, means, y: y_levels, u, v }
    }

    pub(super) fn is_empty(&self) -> bool {
        let others = self.y.as_flattened().iter().chain(self.u.as_flattened());
        let mut all = self.means.iter().chain(others).chain(self.v.as_flattened());
        all.all(|level| *level == 0)
    }
}

/// The pixels above and to the left of a block of `SIDE` x `SIDE`, within the picture.
struct Edges<const SIDE: usize> {
    above: Option<[u8; SIDE]>,
    left: Option<[u8; SIDE]>,
    corner: u8,
}

impl<const SIDE: usize> Edges<SIDE> {
    fn new(plane: &Plane, (x, y): (usize, usize)) -> Self {
        let above = y.checked_sub(1).and_then(|y| plane.row(x, y, SIDE).try_into().ok());
        let left = x.checked_sub(1).map(|x| std::array::from_fn(|row| plane.at(x, y + row)));
        let corner = x.checked_sub(1).zip(y.checked_sub(1)).map_or(0, |(x, y)| plane.at(x, y));
        Self { above, left, corner }
    }

    /// The prediction, if the pixels that it needs are within the picture.
    fn predict<const COUNT: usize>(&self, mode: Mode) -> Option<[u8; COUNT]> {
        let mut out = [0; COUNT];
        let rows = out.chunks_exact_mut(SIDE);
        match mode {
            Mode::Mean => out.fill(self.mean()),
            Mode::Above => {
                let above = self.above.as_ref()?;
                rows.for_each(|row| row.copy_from_slice(above));
            }
            Mode::Left => {
                rows.zip(self.left?).for_each(|(row, left)| row.fill(left));
            }
            Mode::Slope => {
                let (above, corner) = (self.above?, i32::from(self.corner));
                for (row, left) in rows.zip(self.left?) {
                    for (value, above) in row.iter_mut().zip(above) {
                        *value = clamped(i32::from(above) + i32::from(left) - corner);
                    }
                }
            }
        }
        Some(out)
    }

    fn mean(&self) -> u8 {
        let edges = [self.above, self.left];
        let known = edges.iter().flatten().flatten();
        let (sum, count) =
            known.fold((0, 0), |(sum, count), value| (sum + u32::from(*value), count + 1));
        let mean = (sum + count / 2).checked_div(count).unwrap_or(128);
        u8::try_from(mean).unwrap_or(128)
    }
}

/// The prediction that is closest to all planes. Each source plane comes with its decoded pixels.
fn best<const SIDE: usize, const COUNT: usize, const PLANES: usize>(
    planes: [(&Plane, &Plane); PLANES],
    place: (usize, usize),
) -> (Mode, [[u8; COUNT]; PLANES]) {
    let edges = planes.map(|(_, seen)| Edges::<SIDE>::new(seen, place));
    let mut found = (Mode::Mean, [[128; COUNT]; PLANES], u32::MAX);
    for mode in [Mode::Mean, Mode::Above, Mode::Left, Mode::Slope] {
        let predictions = edges.each_ref().map(|edges| edges.predict::<COUNT>(mode));
        let mut error = 0;
        let mut made = [[128; COUNT]; PLANES];
        let mut is_possible = true;
        for ((made, predicted), (source, _)) in made.iter_mut().zip(predictions).zip(planes) {
            let Some(predicted) = predicted else {
                is_possible = false;
                continue;
            };
            error += distance::<SIDE>(source, place, &predicted);
            *made = predicted;
        }
        if is_possible && error < found.2 {
            found = (mode, made, error);
        }
    }
    (found.0, found.1)
}

/// The sum of the squares of the differences.
fn distance<const SIDE: usize>(source: &Plane, (x, y): (usize, usize), predicted: &[u8]) -> u32 {
    let rows = predicted.chunks_exact(SIDE).enumerate();
    let pairs =
        rows.flat_map(|(row, predicted)| source.row(x, y + row, SIDE).iter().zip(predicted));
    pairs.map(|(one, other)| u32::from(one.abs_diff(*other)).pow(2)).sum()
}

/// The differences of a block of 4 x 4, which lies at `inner` within the prediction.
fn differences(
    source: &Plane,
    (x, y): (usize, usize),
    (predicted, side): (&[u8], usize),
    inner: (usize, usize),
) -> Block {
    std::array::from_fn(|row| {
        let wanted = source.row(x + inner.0, y + inner.1 + row, 4);
        let start = (inner.1 + row) * side + inner.0;
        let predicted = predicted.get(start..start + 4).unwrap_or_default();
        let mut out = [0; 4];
        for (out, (one, other)) in out.iter_mut().zip(wanted.iter().zip(predicted)) {
            *out = i32::from(*one) - i32::from(*other);
        }
        out
    })
}

/// Writes the decoded pixels: the prediction plus the decoded differences.
fn show(
    seen: &mut Plane,
    (x, y): (usize, usize),
    (predicted, side): (&[u8], usize),
    inner: (usize, usize),
    added: &Block,
) {
    for (row, added) in added.iter().enumerate() {
        let start = (inner.1 + row) * side + inner.0;
        let predicted = predicted.get(start..start + 4).unwrap_or_default();
        let out = seen.row_mut(x + inner.0, y + inner.1 + row, 4);
        for (out, (predicted, added)) in out.iter_mut().zip(predicted.iter().zip(added)) {
            *out = clamped(i32::from(*predicted) + added);
        }
    }
}

/// Quantises `block`, and replaces it by the values that a decoder gets.
fn quantised(block: &mut Block, [first, others]: [i32; 2]) -> Levels {
    let mut levels = [0; 16];
    let flat = block.as_flattened_mut();
    for (level, (place, at)) in levels.iter_mut().zip(ZIGZAG.into_iter().enumerate()) {
        let (step, bias) = if place == 0 { (first, first * 3 / 8) } else { (others, others / 3) };
        if let Some(value) = flat.get_mut(at) {
            let size = ((value.abs() + bias) / step).min(2047);
            let signed = size * value.signum();
            *value = signed * step;
            *level = i16::try_from(signed).unwrap_or(0);
        }
    }
    levels
}

/// The positions of blocks of 4 x 4 pixels within a square of `across` x `across` blocks.
fn inner_places<const COUNT: usize>(across: usize) -> [(usize, usize); COUNT] {
    std::array::from_fn(|at| (at % across * 4, at / across * 4))
}

fn luma_of(
    (source, seen): (&Plane, &mut Plane),
    place: (usize, usize),
    predicted: &[u8; 256],
    steps: &Steps,
) -> (Levels, [Levels; 16]) {
    let places = inner_places::<16>(4);
    let mut blocks = places.map(|inner| cosine(differences(source, place, (predicted, 16), inner)));
    // The means of the blocks are transformed once more and written by themselves.
    let mut means = Block::default();
    for (mean, [[first, ..], ..]) in means.as_flattened_mut().iter_mut().zip(&blocks) {
        *mean = *first;
    }
    let mut means = hadamard(means);
    let mean_levels = quantised(&mut means, steps.means);
    let means = inverse_hadamard(means);
    let mut levels = [[0; 16]; 16];
    let each = blocks.iter_mut().zip(&mut levels).zip(means.as_flattened()).zip(places);
    for (((block, levels), mean), inner) in each {
        let [[first, ..], ..] = block;
        *first = 0;
        *levels = quantised(block, steps.luma);
        let [[first, ..], ..] = block;
        *first = *mean;
        show(seen, place, (predicted, 16), inner, &inverse_cosine(*block));
    }
    (mean_levels, levels)
}

fn chroma_of(
    (source, seen): (&Plane, &mut Plane),
    place: (usize, usize),
    predicted: &[u8; 64],
    steps: &Steps,
) -> [Levels; 4] {
    inner_places::<4>(2).map(|inner| {
        let mut block = cosine(differences(source, place, (predicted, 8), inner));
        let levels = quantised(&mut block, steps.chroma);
        show(seen, place, (predicted, 8), inner, &inverse_cosine(block));
        levels
    })
}
