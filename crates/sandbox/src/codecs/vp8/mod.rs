//! Writes VP8 key frames, the lossy pictures of WebP (RFC 6386).
//!
//! No maintained crate does this without `unsafe` code. The frames are simple: one partition, one
//! step of quantisation, and blocks of 16 x 16 pixels that are predicted as a whole.

mod bits;
mod macroblock;
mod plane;
mod tables;
mod tokens;
mod transform;

use crate::codecs::vp8::bits::BoolWriter;
use crate::codecs::vp8::macroblock::{Macroblock, Mode, Steps};
use crate::codecs::vp8::plane::{Picture, pictures_of};
use crate::codecs::vp8::tokens::{Coder, Counts, Sink, write_block};
use crate::codecs::{Allowance, CodecError};

/// True for each neighbour to the left or above that has coefficients: four blocks of luma, two of
/// each chroma, and the block of means.
type Neighbours = [bool; 9];

/// Writes the frame of a picture with three or four channels, of which the fourth is not used.
pub(super) fn encode(
    pixels: &[u8],
    channels: usize,
    (width, height): (u16, u16),
    quality: u8,
    allowance: &Allowance<'_>,
) -> Result<Vec<u8>, CodecError> {
    let step = step_of(quality);
    let (source, mut seen) =
        pictures_of(pixels, channels, (width.into(), height.into()), allowance);
    let blocks = choose(&source, &mut seen, &Steps::new(step), allowance);
    drop((source, seen));
    let across = usize::from(width).div_ceil(16);

    let mut counts = Counts::new();
    write_coefficients(&blocks, across, &mut counts, allowance);
    let mut head = BoolWriter::new();
    write_header(&mut head, step);
    let table = counts.write_updates(&mut head);
    write_modes(&mut head, &blocks);
    let mut body = BoolWriter::new();
    write_coefficients(&blocks, across, &mut Coder { bits: &mut body, table: &table }, allowance);
    let (head, body) = (head.finish(), body.finish());

    // The frame's tag: a key frame that is shown, and the length of its first partition.
    let length = u32::try_from(head.len()).ok().filter(|length| *length < 1 << 19);
    let tag = length.ok_or(CodecError::Malformed)? << 5 | 1 << 4;
    let [low, middle, high, _] = tag.to_le_bytes();
    let start = [low, middle, high, 0x9d, 0x01, 0x2a];
    Ok([&start, &width.to_le_bytes()[..], &height.to_le_bytes(), &head, &body].concat())
}

/// The index of the step of quantisation for a quality of 0 to 100, as libwebp finds it.
fn step_of(quality: u8) -> usize {
    let part = f64::from(quality.min(100)) / 100.0;
    let linear = if part < 0.75 { part * (2.0 / 3.0) } else { 2.0 * part - 1.0 };
    let step = 127.0 * (1.0 - linear.cbrt());
    (0..127_u8).find(|index| f64::from(*index) + 0.5 >= step).unwrap_or(127).into()
}

/// Predicts, transforms and quantises every macroblock.
fn choose(
    source: &Picture,
    seen: &mut Picture,
    steps: &Steps,
    allowance: &Allowance<'_>,
) -> Vec<Macroblock> {
    let (across, down) = source.macroblocks();
    let mut blocks = Vec::with_capacity(across * down);
    for y in 0..down {
        for x in 0..across {
            if x % 64 == 0 {
                allowance.beat();
            }
            blocks.push(Macroblock::new(source, seen, (x, y), steps));
        }
    }
    blocks
}

/// Everything before the probabilities (sections 9.2 to 9.6).
fn write_header(bits: &mut BoolWriter, step: usize) {
    bits.literal(0, 2); // colour space, clamping
    bits.literal(0, 1); // no segments
    bits.literal(0, 1); // the normal loop filter
    bits.literal(macroblock::filter_level(step), 6);
    bits.literal(0, 3); // sharpness
    bits.literal(0, 1); // no adjustments of the filter
    bits.literal(0, 2); // one partition
    bits.literal(u32::try_from(step).unwrap_or(127), 7);
    bits.literal(0, 5); // no other steps for means and chroma
    bits.literal(0, 1); // probabilities are not kept
}

/// The prediction of each macroblock, and the ones without coefficients (section 11).
fn write_modes(bits: &mut BoolWriter, blocks: &[Macroblock]) {
    let full = blocks.iter().filter(|block| !block.is_empty()).count();
    let probability = (full * 256).checked_div(blocks.len()).unwrap_or(0).clamp(1, 255);
    let probability = u8::try_from(probability).unwrap_or(255);
    bits.literal(1, 1);
    bits.literal(u32::from(probability), 8);
    for block in blocks {
        bits.put(block.is_empty(), probability);
        bits.put(true, 145);
        let is_late = matches!(block.luma, Mode::Left | Mode::Slope);
        bits.put(is_late, 156);
        if is_late {
            bits.put(block.luma == Mode::Slope, 128);
        } else {
            bits.put(block.luma == Mode::Above, 163);
        }
        bits.put(block.chroma != Mode::Mean, 142);
        if block.chroma != Mode::Mean {
            bits.put(block.chroma != Mode::Above, 114);
            if block.chroma != Mode::Above {
                bits.put(block.chroma == Mode::Slope, 183);
            }
        }
    }
}

/// Kinds of blocks, each with the index of its first coefficient.
const LUMA_WITHOUT_MEAN: (usize, usize) = (0, 1);
const MEANS: (usize, usize) = (1, 0);
const CHROMA: (usize, usize) = (2, 0);

fn write_coefficients(
    blocks: &[Macroblock],
    across: usize,
    sink: &mut impl Sink,
    allowance: &Allowance<'_>,
) {
    let mut above = vec![Neighbours::default(); across];
    for row in blocks.chunks(across) {
        let mut left = Neighbours::default();
        for (at, (block, above)) in row.iter().zip(&mut above).enumerate() {
            if at % 64 == 0 {
                allowance.beat();
            }
            if block.is_empty() {
                (left, *above) = (Neighbours::default(), Neighbours::default());
            } else {
                write_macroblock(block, &mut left, above, sink);
            }
        }
    }
}

fn write_macroblock(
    block: &Macroblock,
    left: &mut Neighbours,
    above: &mut Neighbours,
    sink: &mut impl Sink,
) {
    let [l0, l1, l2, l3, l4, l5, l6, l7, l8] = left;
    let [a0, a1, a2, a3, a4, a5, a6, a7, a8] = above;
    let mut write = |levels, kind, left: &mut bool, above: &mut bool| {
        let before = usize::from(*left) + usize::from(*above);
        *left = write_block(levels, kind, before, sink);
        *above = *left;
    };
    write(&block.means, MEANS, l8, a8);
    for (row, left) in block.y.as_chunks::<4>().0.iter().zip([l0, l1, l2, l3]) {
        for (levels, above) in row.iter().zip([&mut *a0, &mut *a1, &mut *a2, &mut *a3]) {
            write(levels, LUMA_WITHOUT_MEAN, left, above);
        }
    }
    let chroma = [(&block.u, [l4, l5], [a4, a5]), (&block.v, [l6, l7], [a6, a7])];
    for (plane, lefts, [one, two]) in chroma {
        for (row, left) in plane.as_chunks::<2>().0.iter().zip(lefts) {
            for (levels, above) in row.iter().zip([&mut *one, &mut *two]) {
                write(levels, CHROMA, left, above);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use image_webp::WebPDecoder;

    use super::*;

    fn file(frame: &[u8]) -> Vec<u8> {
        let padding = vec![0; frame.len() % 2];
        let length = u32::try_from(frame.len()).unwrap();
        let body = [b"WEBPVP8 ", &length.to_le_bytes()[..], frame, &padding].concat();
        [b"RIFF", &u32::try_from(body.len()).unwrap().to_le_bytes()[..], &body].concat()
    }

    fn photo(width: u16, height: u16) -> Vec<u8> {
        let mut noise = 1_u32;
        let mut pixels = Vec::new();
        for y in 0..u32::from(height) {
            for x in 0..u32::from(width) {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let grain = noise >> 28;
                for value in [x * 3 + grain, y * 2 + grain, 255 - x.min(255)] {
                    pixels.push(u8::try_from(value % 256).unwrap());
                }
            }
        }
        pixels
    }

    /// The length of a picture in bytes, and the mean square error of its pixels.
    fn written(pixels: &[u8], size: (u16, u16), quality: u8) -> (usize, f64) {
        let allowance = Allowance::new(64 << 20);
        let frame = encode(pixels, 3, size, quality, &allowance).unwrap();
        let mut decoder = WebPDecoder::new(std::io::Cursor::new(file(&frame))).unwrap();
        let mut again = vec![0; decoder.output_buffer_size().unwrap()];
        decoder.read_image(&mut again).unwrap();
        assert_eq!(again.len(), pixels.len());
        let pairs = pixels.iter().zip(&again);
        let sum: u32 = pairs.map(|(one, other)| u32::from(one.abs_diff(*other)).pow(2)).sum();
        (frame.len(), f64::from(sum) / f64::from(u32::try_from(pixels.len()).unwrap()))
    }

    #[test]
    fn frames_show_the_picture_again_and_quality_decides_how_well() {
        for size in [(1, 1), (16, 16), (17, 31), (83, 61), (200, 150)] {
            let pixels = photo(size.0, size.1);
            let steps = [10, 50, 80, 100].map(|quality| written(&pixels, size, quality));
            if size.0 > 60 {
                for pair in steps.windows(2) {
                    assert!(pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1, "{size:?} {steps:?}");
                }
            }
        }
        let flat = [90, 140, 200].repeat(64 * 64);
        for (quality, most) in [(0, 200.0), (80, 4.0), (100, 4.0)] {
            let (length, error) = written(&flat, (64, 64), quality);
            assert!(length < 120 && error < most, "{quality}: {length} bytes, {error}");
        }
    }

    #[test]
    fn steps_follow_quality() {
        assert_eq!([0, 50, 75, 80, 100].map(step_of), [127, 39, 26, 20, 0]);
    }
}
