//! Planes of luma and chroma, as wide and high as whole macroblocks.

use crate::codecs::Allowance;

/// One plane.
pub(super) struct Plane {
    stride: usize,
    data: Vec<u8>,
}

impl Plane {
    fn new(stride: usize, rows: usize) -> Self {
        Self { stride, data: vec![0; stride * rows] }
    }

    /// `length` bytes of a row, from `x` on.
    pub(super) fn row(&self, x: usize, y: usize, length: usize) -> &[u8] {
        let start = y * self.stride + x;
        self.data.get(start..start + length).unwrap_or_default()
    }

    pub(super) fn row_mut(&mut self, x: usize, y: usize, length: usize) -> &mut [u8] {
        let start = y * self.stride + x;
        self.data.get_mut(start..start + length).unwrap_or_default()
    }

    pub(super) fn at(&self, x: usize, y: usize) -> u8 {
        self.row(x, y, 1).first().copied().unwrap_or_default()
    }
}

/// Luma and both chroma.
pub(super) struct Picture {
    pub(super) y: Plane,
    pub(super) u: Plane,
    pub(super) v: Plane,
    size: (usize, usize),
}

impl Picture {
    fn new((across, down): (usize, usize)) -> Self {
        Self {
            y: Plane::new(across * 16, down * 16),
            u: Plane::new(across * 8, down * 8),
            v: Plane::new(across * 8, down * 8),
            size: (across, down),
        }
    }

    /// Macroblocks across and down.
    pub(super) const fn macroblocks(&self) -> (usize, usize) {
        self.size
    }
}

/// The planes of a picture, and empty ones of the same size. The last pixels of rows and the last
/// row are repeated until the macroblocks are full.
pub(super) fn pictures_of(
    pixels: &[u8],
    channels: usize,
    (width, height): (usize, usize),
    allowance: &Allowance<'_>,
) -> (Picture, Picture) {
    let size = (width.div_ceil(16), height.div_ceil(16));
    let mut made = Picture::new(size);
    let row_of = |y: usize| {
        let start = y.min(height - 1) * width * channels;
        pixels.get(start..start + width * channels).unwrap_or_default()
    };
    for y in 0..size.1 * 8 {
        allowance.beat();
        let rows = [row_of(y * 2), row_of(y * 2 + 1)];
        for (row, place) in rows.iter().zip([y * 2, y * 2 + 1]) {
            let luma = made.y.row_mut(0, place, size.0 * 16);
            for (value, pixel) in luma.iter_mut().zip(repeated(row, channels)) {
                *value = luma_of(pixel);
            }
        }
        let [upper, lower] = rows.map(|row| repeated(row, channels));
        let (us, vs) = (made.u.row_mut(0, y, size.0 * 8), made.v.row_mut(0, y, size.0 * 8));
        let mut pairs = upper.zip(lower);
        for (u, v) in us.iter_mut().zip(vs) {
            let mut sum = [0; 3];
            for (upper, lower) in pairs.by_ref().take(2) {
                for (sum, (upper, lower)) in sum.iter_mut().zip(upper.into_iter().zip(lower)) {
                    *sum += upper + lower;
                }
            }
            (*u, *v) = chroma_of(sum);
        }
    }
    (made, Picture::new(size))
}

/// The pixels of a row, followed by endless copies of the last one.
fn repeated(row: &[u8], channels: usize) -> impl Iterator<Item = [i32; 3]> {
    let color = |pixel: &[u8]| match pixel {
        [r, g, b, ..] => [i32::from(*r), i32::from(*g), i32::from(*b)],
        _ => [0; 3],
    };
    let last = color(row.rchunks(channels).next().unwrap_or_default());
    row.chunks(channels).map(color).chain(std::iter::repeat(last))
}

/// Luma of BT.601 between 16 and 235, in units of 2^-16.
fn luma_of([r, g, b]: [i32; 3]) -> u8 {
    clamped((16_839 * r + 33_059 * g + 6_420 * b + (16 << 16) + (1 << 15)) >> 16)
}

/// Chroma of four pixels from the sums of their channels, in units of 2^-18.
fn chroma_of([r, g, b]: [i32; 3]) -> (u8, u8) {
    let half = (128 << 18) + (1 << 17);
    let u = (-9_719 * r - 19_081 * g + 28_800 * b + half) >> 18;
    let v = (28_800 * r - 24_116 * g - 4_684 * b + half) >> 18;
    (clamped(u), clamped(v))
}

pub(super) fn clamped(value: i32) -> u8 {
    u8::try_from(value.clamp(0, 255)).unwrap_or(255)
}
