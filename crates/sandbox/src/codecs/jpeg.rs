//! JPEG: pixels from a file and a file from pixels.
//!
//! Metadata stays with the guest, which reads and writes the segments of a file itself.

use jpeg_encoder::{ChromaSubsamplingMethod, Encoder, ImageBuffer, JpegColorType};
use jpeg_encoder::{PixelDensity, PixelDensityUnit, QuantizationTableType, SamplingFactor};
use serde::{Deserialize, Serialize};
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;

use crate::codecs::paced::{Bounded, Paced};
use crate::codecs::{Allowance, CodecError, answer_of, bytes_of, content, finished, pixels};

/// Most pixels of a picture.
const MAX_PIXELS: usize = 32 << 20;

/// Nanoseconds for each pixel after the last byte was read: coefficients become pixels.
const AFTER_SCANS: u64 = 11;

/// Most pixels for which Huffman codes are computed, at 40 ns each without a check of the deadline.
/// A larger picture gets the standard codes and a slightly longer file.
const MAX_OPTIMIZED: usize = 8 << 20;
const OPTIMIZED_PIXEL: u64 = 40;

/// Most pixels times scans. A progressive file may have any number of scans of a few bytes each,
/// and each of them goes through the whole picture.
const MAX_SCANNED: usize = 64 * MAX_PIXELS;

/// Longest file, in bytes: two for each pixel of the largest picture.
const MAX_FILE: usize = 64 << 20;

/// Bytes for each pixel that the decoder holds besides its output: three or four components, of
/// two bytes each, and of a progressive picture all of them at once.
const DECODER_BYTES: usize = 8;

/// Bytes for each pixel that the encoder holds: all coefficients of a progressive picture.
const ENCODER_BYTES: usize = 8;

/// Fuel for each pixel that is read, each pixel of every further scan, each pixel that is written,
/// and each byte of a file that is read.
const READ_PIXEL: u64 = 24;
const SCANNED_PIXEL: u64 = 8;
const WRITTEN_PIXEL: u64 = 48;
const READ_BYTE: u64 = 16;

/// Layout of pixels, named as Pillow names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Mode {
    L,
    #[serde(rename = "RGB")]
    Rgb,
    #[serde(rename = "YCbCr")]
    YCbCr,
    #[serde(rename = "CMYK")]
    Cmyk,
}

impl Mode {
    const fn channels(self) -> usize {
        match self {
            Self::L => 1,
            Self::Rgb | Self::YCbCr => 3,
            Self::Cmyk => 4,
        }
    }
}

/// Reads the pixels of a file.
#[derive(Debug, Deserialize)]
pub(super) struct Decode {
    mode: Mode,
}

#[derive(Serialize)]
struct Size {
    width: usize,
    height: usize,
}

impl Decode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        if data.len() > MAX_FILE {
            return Err(CodecError::Unsupported("a JPEG may have at most 64 MiB".to_owned()));
        }
        allowance.spend(data.len(), READ_BYTE)?;
        let scans = count_scans(data);
        let options = DecoderOptions::new_safe()
            .set_max_width(usize::from(u16::MAX))
            .set_max_height(usize::from(u16::MAX))
            .set_strict_mode(false)
            .jpeg_set_max_scans(scans);
        // Segments of metadata are copied once.
        allowance.take(data.len())?;
        let mut decoder = JpegDecoder::new_with_options(Paced::new(data, allowance), options);
        decoder.decode_headers().map_err(|error| damaged(&error))?;
        let (width, height) = decoder.dimensions().ok_or(CodecError::Malformed)?;
        let count = pixels(width, height, MAX_PIXELS)?;
        let scanned = count.saturating_mul(scans);
        if scanned > MAX_SCANNED {
            let message = format!("a picture of this size cannot have {scans} scans");
            return Err(CodecError::Damaged(message));
        }
        allowance.spend(count, READ_PIXEL)?;
        allowance.spend(scanned.saturating_sub(count), SCANNED_PIXEL)?;
        allowance.reserve(count, AFTER_SCANS)?;
        let stored = decoder.input_colorspace().ok_or(CodecError::Malformed)?;
        let target = target(stored, self.mode)?;
        decoder.set_options(options.jpeg_set_out_colorspace(target));
        allowance.take(bytes_of(count, DECODER_BYTES + self.mode.channels())?)?;
        let size = decoder.output_buffer_size().ok_or(CodecError::Memory)?;
        if size != bytes_of(count, self.mode.channels())? {
            return Err(CodecError::Unsupported(format!("{stored:?} as {:?}", self.mode)));
        }
        let mut out = answer_of(size);
        decoder.decode_into(content(&mut out)).map_err(|error| damaged(&error))?;
        if stored == ColorSpace::YCCK {
            ycck_to_cmyk(content(&mut out));
        }
        finished(out, &Size { width, height })
    }
}

fn damaged(error: &DecodeErrors) -> CodecError {
    CodecError::Damaged(format!("broken JPEG: {error}"))
}

/// The colour space to request from the decoder.
fn target(stored: ColorSpace, mode: Mode) -> Result<ColorSpace, CodecError> {
    Ok(match (stored, mode) {
        (ColorSpace::Luma | ColorSpace::YCbCr, Mode::L) => ColorSpace::Luma,
        (ColorSpace::YCbCr | ColorSpace::RGB, Mode::Rgb) => ColorSpace::RGB,
        (ColorSpace::YCbCr, Mode::YCbCr) => ColorSpace::YCbCr,
        (ColorSpace::CMYK, Mode::Cmyk) => ColorSpace::CMYK,
        (ColorSpace::YCCK, Mode::Cmyk) => ColorSpace::YCCK,
        _ => {
            let message = format!("a JPEG that holds {stored:?} cannot be read as {mode:?}");
            return Err(CodecError::Unsupported(message));
        }
    })
}

/// Counts the markers of a start of scan. These two bytes are never adjacent within a scan; a
/// thumbnail may add a few.
fn count_scans(data: &[u8]) -> usize {
    data.windows(2).filter(|pair| *pair == [0xff, 0xda]).count()
}

/// Turns luma and chroma into cyan, magenta and yellow; black stays.
fn ycck_to_cmyk(pixels: &mut [u8]) {
    for pixel in pixels.as_chunks_mut::<4>().0 {
        let [y, cb, cr, _] = pixel.map(i32::from);
        let (cb, cr) = (cb - 128, cr - 128);
        // The factors of JFIF, in units of 2^-16.
        let rgb = [
            y + ((91_881 * cr + 32_768) >> 16),
            y + ((-22_554 * cb - 46_802 * cr + 32_768) >> 16),
            y + ((116_130 * cb + 32_768) >> 16),
        ];
        for (channel, value) in pixel.iter_mut().zip(rgb) {
            *channel = 255 - u8::try_from(value.clamp(0, 255)).unwrap_or(255);
        }
    }
}

/// Writes pixels to a file.
#[derive(Debug, Deserialize)]
pub(super) struct Encode {
    width: u16,
    height: u16,
    mode: Mode,
    /// Quantisation tables in natural order, for luma and chroma.
    tables: [Vec<u16>; 2],
    sampling: Sampling,
    #[serde(default)]
    progressive: bool,
    #[serde(default)]
    optimize: bool,
    #[serde(default)]
    restart_interval: u16,
    /// Dots per inch, or zero.
    #[serde(default)]
    density: (u16, u16),
}

#[derive(Debug, Clone, Copy, Deserialize)]
enum Sampling {
    #[serde(rename = "4:4:4")]
    None,
    #[serde(rename = "4:2:2")]
    Half,
    #[serde(rename = "4:2:0")]
    Quarter,
}

impl Encode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let count = pixels(usize::from(self.width), usize::from(self.height), MAX_PIXELS)?;
        if data.len() != bytes_of(count, self.mode.channels())? {
            return Err(CodecError::Malformed);
        }
        allowance.spend(count, WRITTEN_PIXEL)?;
        // The file is rarely longer than the pixels, but a growing vector doubles its capacity.
        let file = bytes_of(data.len(), 3)?.saturating_add(1 << 16);
        allowance.take(bytes_of(count, ENCODER_BYTES)?.saturating_add(file))?;
        let mut out = Bounded::new(answer_of(0), file, allowance);
        let mut encoder = Encoder::new(&mut out, 100);
        let [luma, chroma] = self.tables.map(|table| quantization(&table));
        encoder.set_quantization_tables(luma?, chroma?);
        encoder.set_sampling_factor(match (self.mode, self.sampling) {
            (Mode::L | Mode::Cmyk, _) | (_, Sampling::None) => SamplingFactor::F_1_1,
            (_, Sampling::Half) => SamplingFactor::F_2_1,
            (_, Sampling::Quarter) => SamplingFactor::F_2_2,
        });
        encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
        encoder.set_progressive(self.progressive);
        if (self.optimize || self.progressive) && count <= MAX_OPTIMIZED {
            allowance.reserve(count, OPTIMIZED_PIXEL)?;
            encoder.set_optimized_huffman_tables(true);
        }
        encoder.set_restart_interval(self.restart_interval);
        encoder.set_density(density(self.density));
        let (width, height, mode) = (self.width, self.height, self.mode);
        encoder
            .encode_image(Rows { data, width, height, mode, allowance })
            .map_err(|error| CodecError::Damaged(format!("cannot write JPEG: {error}")))?;
        finished(out.into_bytes(), &Size { width: width.into(), height: height.into() })
    }
}

/// The pixels for the encoder: row by row, with a check of the deadline before each.
struct Rows<'a> {
    data: &'a [u8],
    width: u16,
    height: u16,
    mode: Mode,
    allowance: &'a Allowance<'a>,
}

impl ImageBuffer for Rows<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        match self.mode {
            Mode::L => JpegColorType::Luma,
            Mode::Rgb | Mode::YCbCr => JpegColorType::Ycbcr,
            Mode::Cmyk => JpegColorType::Cmyk,
        }
    }

    fn width(&self) -> u16 {
        self.width
    }

    fn height(&self) -> u16 {
        self.height
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        self.allowance.beat();
        let length = usize::from(self.width) * self.mode.channels();
        let start = usize::from(y) * length;
        let row = self.data.get(start..start + length).unwrap_or_default();
        let [one, two, three, four] = buffers;
        match self.mode {
            Mode::L => one.extend_from_slice(row),
            Mode::Rgb => {
                // Three passes of one channel each are faster than one with three.
                let row = row.as_chunks::<3>().0;
                let converted = |[r, g, b]: &[u8; 3]| jpeg_encoder::rgb_to_ycbcr(*r, *g, *b);
                one.extend(row.iter().map(|pixel| converted(pixel).0));
                two.extend(row.iter().map(|pixel| converted(pixel).1));
                three.extend(row.iter().map(|pixel| converted(pixel).2));
            }
            Mode::YCbCr => {
                let row = row.as_chunks::<3>().0;
                one.extend(row.iter().map(|[y, ..]| y));
                two.extend(row.iter().map(|[_, cb, _]| cb));
                three.extend(row.iter().map(|[.., cr]| cr));
            }
            Mode::Cmyk => {
                // Adobe's programs expect inverted values.
                let row = row.as_chunks::<4>().0;
                one.extend(row.iter().map(|[c, ..]| 255 - c));
                two.extend(row.iter().map(|[_, m, ..]| 255 - m));
                three.extend(row.iter().map(|[_, _, y, _]| 255 - y));
                four.extend(row.iter().map(|[.., k]| 255 - k));
            }
        }
    }
}

fn density((x, y): (u16, u16)) -> PixelDensity {
    if x == 0 || y == 0 {
        return PixelDensity { density: (1, 1), unit: PixelDensityUnit::PixelAspectRatio };
    }
    PixelDensity { density: (x, y), unit: PixelDensityUnit::Inches }
}

fn quantization(table: &[u16]) -> Result<QuantizationTableType, CodecError> {
    let table: [u16; 64] = table.try_into().map_err(|_length| CodecError::Malformed)?;
    if table.iter().any(|value| !(1..=255).contains(value)) {
        return Err(CodecError::Malformed);
    }
    Ok(QuantizationTableType::Custom(Box::new(table)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codecs::testing::ask;

    fn encoded(mode: &str, channels: usize, progressive: bool) -> Vec<u8> {
        let header = json!({"op": "jpeg.encode", "width": 40, "height": 24, "mode": mode,
            "tables": [vec![2; 64], vec![2; 64]], "sampling": "4:2:0", "progressive": progressive});
        let pixels: Vec<u8> = (0..=255).cycle().take(40 * 24 * channels).collect();
        ask(&header, &pixels).unwrap().1
    }

    fn decode(file: &[u8], mode: &str) -> Result<Vec<u8>, CodecError> {
        ask(&json!({"op": "jpeg.decode", "mode": mode}), file).map(|(_, pixels)| pixels)
    }

    /// The same file with other sides in its frame header.
    fn with_sides(file: &[u8], width: u16, height: u16) -> Vec<u8> {
        let mut file = file.to_vec();
        let frame = |pair: &[u8]| pair == [0xff, 0xc0] || pair == [0xff, 0xc2];
        let at = file.windows(2).position(frame).unwrap();
        file[at + 5..at + 7].copy_from_slice(&height.to_be_bytes());
        file[at + 7..at + 9].copy_from_slice(&width.to_be_bytes());
        file
    }

    #[test]
    fn what_is_written_is_read() {
        for (mode, channels) in [("L", 1), ("RGB", 3), ("YCbCr", 3), ("CMYK", 4)] {
            for progressive in [false, true] {
                let file = encoded(mode, channels, progressive);
                let pixels = decode(&file, mode).unwrap_or_else(|error| panic!("{mode}: {error}"));
                assert_eq!(pixels.len(), 40 * 24 * channels, "{mode}");
            }
        }
    }

    #[test]
    fn a_picture_with_too_many_pixels_is_refused_by_its_header() {
        for progressive in [false, true] {
            let bomb = with_sides(&encoded("RGB", 3, progressive), u16::MAX, u16::MAX);
            assert!(matches!(decode(&bomb, "RGB"), Err(CodecError::Pixels { .. })));
        }
        let header = json!({"op": "jpeg.encode", "width": 65535, "height": 65535, "mode": "L",
            "tables": [vec![1; 64], vec![1; 64]], "sampling": "4:4:4"});
        assert!(matches!(ask(&header, b""), Err(CodecError::Pixels { .. })));
    }

    #[test]
    fn many_scans_of_a_large_picture_are_refused() {
        let mut bomb = with_sides(&encoded("RGB", 3, true), 5000, 6000);
        bomb.extend([0xff, 0xda].repeat(100));
        let refused = decode(&bomb, "RGB").unwrap_err().to_string();
        assert!(refused.contains("scans"), "{refused}");
    }

    #[test]
    fn every_beginning_of_a_file_ends_in_pixels_or_a_refusal() {
        for file in [encoded("RGB", 3, false), encoded("RGB", 3, true), encoded("CMYK", 4, false)] {
            for end in 0..file.len() {
                drop(decode(&file[..end], "RGB"));
            }
        }
    }

    #[test]
    fn bad_quantisation_tables_are_refused() {
        for table in [vec![0; 64], vec![1; 63], vec![256; 64]] {
            let header = json!({"op": "jpeg.encode", "width": 1, "height": 1, "mode": "L",
                "tables": [table.clone(), table], "sampling": "4:4:4"});
            assert!(matches!(ask(&header, b"x"), Err(CodecError::Malformed)));
        }
    }
}
