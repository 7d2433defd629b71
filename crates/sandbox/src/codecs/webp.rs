//! WebP: the pixels of one still picture, and a lossless file of pixels.
//!
//! The guest's own code handles the frames of animations, and metadata.

use image_webp::{ColorType, DecodingError, WebPDecoder, WebPEncoder};
use serde::{Deserialize, Serialize};

use crate::codecs::paced::{Bounded, Paced};
use crate::codecs::{Allowance, CodecError, answer_of, bytes_of, content, finished, pixels, vp8};

/// Most pixels of a picture.
const MAX_PIXELS: usize = 12 << 20;

/// Nanoseconds for each pixel and byte of a lossy picture, which is decoded without a check of the
/// deadline, and for each pixel of a lossless picture before it is written.
const LOSSY_PIXEL: usize = 16;
const LOSSY_BYTE: usize = 70;
const LOSSLESS_PIXEL: u64 = 17;

/// Maximum number of bytes of a lossy picture besides a quarter of its pixels. An ordinary picture
/// has a fifth of a byte for each pixel; one of 12 Mi pixels may have five megabytes.
const MAX_LOSSY: usize = 8 << 20;

/// Longest file, in bytes.
const MAX_FILE: usize = 64 << 20;

/// Bytes for each pixel that the decoder holds besides its output: four channels, planes of luma
/// and chroma, or indices.
const DECODER_BYTES: usize = 8;

/// Bytes for each pixel that the encoder holds: a copy of four channels and its output, which
/// doubles when it grows, or planes and coefficients.
const ENCODER_BYTES: usize = 16;

/// Fuel for each pixel that is read or written, and for each byte of a file that is read.
const READ_PIXEL: u64 = 48;
const WRITTEN_PIXEL: u64 = 48;
const READ_BYTE: u64 = 64;

/// Most chunks of a file: a still picture has fewer than ten.
const MAX_CHUNKS: usize = 64;

/// Reads the pixels of a file that holds one still picture.
#[derive(Debug, Deserialize)]
pub(super) struct Decode {}

#[derive(Serialize)]
struct Picture {
    width: u32,
    height: u32,
    mode: &'static str,
}

impl Decode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        if data.len() > MAX_FILE {
            return Err(CodecError::Unsupported("a WebP may have at most 64 MiB".to_owned()));
        }
        allowance.spend(data.len(), READ_BYTE)?;
        // The decoder allocates by the sizes of the frames, which may exceed the canvas.
        let Frames { pixels: inner, lossy_bytes } = frames(data)?;
        let paced = Paced::new(data, allowance);
        let mut decoder = WebPDecoder::new(paced).map_err(|error| damaged(&error))?;
        let (width, height) = decoder.dimensions();
        let canvas = pixels(to_usize(width)?, to_usize(height)?, MAX_PIXELS)?;
        if decoder.is_animated() {
            return Err(CodecError::Unsupported("an animation is read frame by frame".to_owned()));
        }
        allowance.spend(canvas.max(inner), READ_PIXEL)?;
        let (channels, mode) = if decoder.has_alpha() { (4, "RGBA") } else { (3, "RGB") };
        allowance.take(bytes_of(canvas.max(inner), DECODER_BYTES + channels)?)?;
        if lossy_bytes > 0 {
            let most = MAX_LOSSY.saturating_sub(inner / 4);
            if lossy_bytes > most {
                let message = format!(
                    "a lossy WebP of {width} x {height} pixels may have at most {most} bytes, not \
                    {lossy_bytes}; save it with a lower quality, as JPEG or lossless"
                );
                return Err(CodecError::Unsupported(message));
            }
            let time = inner.saturating_mul(LOSSY_PIXEL) + lossy_bytes.saturating_mul(LOSSY_BYTE);
            allowance.reserve(time, 1)?;
        }
        // Partitions of a lossy picture are copied twice.
        allowance.take(bytes_of(data.len(), 3)?)?;
        let size = decoder.output_buffer_size().ok_or(CodecError::Memory)?;
        decoder.set_memory_limit(allowance.left());
        let mut out = answer_of(size);
        decoder.read_image(content(&mut out)).map_err(|error| damaged(&error))?;
        finished(out, &Picture { width, height, mode })
    }
}

fn damaged(error: &DecodingError) -> CodecError {
    CodecError::Damaged(format!("broken WebP: {error}"))
}

fn to_usize(side: u32) -> Result<usize, CodecError> {
    usize::try_from(side).map_err(|_wide| CodecError::Memory)
}

/// Largest picture in a file, by the headers of its chunks.
struct Frames {
    pixels: usize,
    /// Bytes of the longest lossy picture.
    lossy_bytes: usize,
}

fn frames(data: &[u8]) -> Result<Frames, CodecError> {
    let broken = || CodecError::Damaged("broken WebP: no chunks".to_owned());
    let mut rest = data.get(12..).ok_or_else(broken)?;
    let mut found = Frames { pixels: 0, lossy_bytes: 0 };
    for _ in 0..MAX_CHUNKS {
        let Some((head, body)) = rest.split_first_chunk::<8>() else {
            return Ok(found);
        };
        let [a, b, c, d, size @ ..] = *head;
        let size = to_usize(u32::from_le_bytes(size))?;
        let sides = match &[a, b, c, d] {
            b"VP8 " => body.get(6..10).map(|sides| {
                let side = |at: usize| {
                    let low = sides.get(at).copied().unwrap_or_default();
                    let high = sides.get(at + 1).copied().unwrap_or_default();
                    usize::from(u16::from_le_bytes([low, high]) & 0x3fff)
                };
                (side(0), side(2))
            }),
            b"VP8L" => body.get(1..5).and_then(|bits| {
                let bits = u32::from_le_bytes(bits.try_into().ok()?);
                let side = |bits: u32| usize::try_from(bits & 0x3fff).map(|side| side + 1).ok();
                Some((side(bits)?, side(bits >> 14)?))
            }),
            _ => None,
        };
        if let Some((width, height)) = sides {
            found.pixels = found.pixels.max(pixels(width, height, MAX_PIXELS)?);
            if (a, d) == (b'V', b' ') {
                found.lossy_bytes = found.lossy_bytes.max(size.min(body.len()));
            }
        }
        let padded = size.checked_add(size % 2).ok_or_else(broken)?;
        rest = body.get(padded..).unwrap_or_default();
    }
    Err(CodecError::Damaged("broken WebP: too many chunks".to_owned()))
}

/// Writes the chunks of a still picture: `VP8L`, or `VP8 ` behind `ALPH` if there is alpha.
#[derive(Debug, Deserialize)]
pub(super) struct Encode {
    width: u16,
    height: u16,
    mode: Mode,
    /// From 0 to 100; `None` writes a lossless picture.
    #[serde(default)]
    quality: Option<u8>,
}

/// Layout of pixels, named as Pillow names it.
#[derive(Debug, Clone, Copy, Deserialize)]
enum Mode {
    #[serde(rename = "RGB")]
    Rgb,
    #[serde(rename = "RGBA")]
    Rgba,
}

impl Encode {
    pub(super) fn run(self, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
        let count = pixels(usize::from(self.width), usize::from(self.height), MAX_PIXELS)?;
        let (channels, color, mode) = match self.mode {
            Mode::Rgb => (3, ColorType::Rgb8, "RGB"),
            Mode::Rgba => (4, ColorType::Rgba8, "RGBA"),
        };
        if data.len() != bytes_of(count, channels)? {
            return Err(CodecError::Malformed);
        }
        allowance.spend(count, WRITTEN_PIXEL)?;
        allowance.take(bytes_of(count, ENCODER_BYTES)?.saturating_add(1 << 16))?;
        let size = (self.width, self.height);
        let mut out = answer_of(0);
        match self.quality {
            None => {
                let made = lossless(data, size, color, allowance)?;
                push_chunk(&mut out, *b"VP8L", &[&made])?;
            }
            Some(quality) => {
                if channels == 4 {
                    let alpha: Vec<u8> = data.iter().skip(3).step_by(4).copied().collect();
                    let made = lossless(&alpha, size, ColorType::L8, allowance)?;
                    // The first byte marks lossless compression; the stream has no header here.
                    let stream = made.get(LOSSLESS_HEAD..).unwrap_or_default();
                    push_chunk(&mut out, *b"ALPH", &[&[1], stream])?;
                }
                let made = vp8::encode(data, channels, size, quality, allowance)?;
                push_chunk(&mut out, *b"VP8 ", &[&made])?;
            }
        }
        finished(out, &Picture { width: self.width.into(), height: self.height.into(), mode })
    }
}

/// Length of the header of a lossless stream: its signature and the size of the picture.
const LOSSLESS_HEAD: usize = 5;

/// Bytes of a file before the content of its only chunk.
const FILE_HEAD: usize = 20;

/// The content of the chunk of a lossless picture.
fn lossless(
    data: &[u8],
    (width, height): (u16, u16),
    color: ColorType,
    allowance: &Allowance<'_>,
) -> Result<Vec<u8>, CodecError> {
    allowance.reserve(usize::from(width) * usize::from(height), LOSSLESS_PIXEL)?;
    let limit = bytes_of(data.len(), 4)?.saturating_add(1 << 16);
    let mut out = Bounded::new(Vec::new(), limit, allowance);
    WebPEncoder::new(&mut out)
        .encode(data, width.into(), height.into(), color)
        .map_err(|error| CodecError::Damaged(format!("cannot write WebP: {error}")))?;
    let mut file = out.into_bytes();
    let length = file.first_chunk::<FILE_HEAD>().map(|[.., a, b, c, d]| [*a, *b, *c, *d]);
    let length = to_usize(u32::from_le_bytes(length.ok_or(CodecError::Malformed)?))?;
    file.truncate(FILE_HEAD.saturating_add(length));
    file.drain(..FILE_HEAD);
    Ok(file)
}

fn push_chunk(out: &mut Vec<u8>, name: [u8; 4], parts: &[&[u8]]) -> Result<(), CodecError> {
    let length = parts.iter().map(|part| part.len()).sum::<usize>();
    let written = u32::try_from(length).map_err(|_long| CodecError::Memory)?;
    out.extend(name);
    out.extend(written.to_le_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    out.resize(out.len() + length % 2, 0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::codecs::testing::ask;
    use wardian_vocabulary::heap;

    fn decode(file: &[u8]) -> Result<Vec<u8>, CodecError> {
        ask(&json!({"op": "webp.decode"}), file).map(|(_, pixels)| pixels)
    }

    fn encoded() -> Vec<u8> {
        let header = json!({"op": "webp.encode", "width": 9, "height": 7, "mode": "RGBA"});
        let pixels: Vec<u8> = (0..=251).collect();
        let (_, chunks) = ask(&header, &pixels).unwrap();
        let file = file_of(&chunks);
        assert_eq!(decode(&file).unwrap(), pixels);
        file
    }

    fn file_of(chunks: &[u8]) -> Vec<u8> {
        let length = u32::try_from(chunks.len() + 4).unwrap().to_le_bytes();
        [b"RIFF", &length[..], b"WEBP", chunks].concat()
    }

    #[test]
    fn a_lossy_picture_keeps_its_alpha() {
        let header = json!({"op": "webp.encode", "width": 9, "height": 7, "mode": "RGBA",
            "quality": 90});
        let pixels: Vec<u8> = (0..=251).collect();
        let (_, chunks) = ask(&header, &pixels).unwrap();
        let head = [b"VP8X\x0a\0\0\0", &[0x10, 0, 0, 0, 8, 0, 0, 6, 0, 0][..]].concat();
        let again = decode(&file_of(&[head, chunks].concat())).unwrap();
        for (one, other) in pixels.chunks(4).zip(again.chunks(4)) {
            assert_eq!(one[3], other[3]);
            assert!(one.iter().zip(other).all(|(one, other)| one.abs_diff(*other) < 40));
        }
    }

    fn file(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut body = b"WEBP".to_vec();
        for (name, content) in chunks {
            body.extend_from_slice(*name);
            body.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
            body.extend_from_slice(content);
        }
        let length = u32::try_from(body.len()).unwrap().to_le_bytes();
        [b"RIFF", &length[..], &body].concat()
    }

    #[test]
    fn a_frame_larger_than_its_canvas_is_refused_by_its_header() {
        let vp8x = [0_u8; 10]; // a canvas of one pixel
        let lossy = [&[0x30, 1, 0, 0x9d, 1, 0x2a, 0xff, 0x3f, 0xff, 0x3f][..], &[0; 64]].concat();
        let lossless = [&[0x2f, 0xff, 0xff, 0xff, 0x0f][..], &[0; 64]].concat();
        for (name, frame) in [(b"VP8 ", &lossy), (b"VP8L", &lossless)] {
            for bomb in [file(&[(name, frame)]), file(&[(b"VP8X", &vp8x), (name, frame)])] {
                assert!(matches!(decode(&bomb), Err(CodecError::Pixels { .. })), "{name:?}");
            }
        }
        let canvas = file(&[(b"VP8X", &[0, 0, 0, 0, 255, 255, 255, 255, 255, 255])]);
        assert!(decode(&canvas).is_err());
    }

    /// Bits, the lowest of the first byte first.
    #[derive(Default)]
    struct Bits(Vec<bool>);

    impl Bits {
        fn put(&mut self, value: u32, count: u32) {
            self.0.extend((0..count).map(|bit| value >> bit & 1 == 1));
        }

        fn bytes(&self) -> Vec<u8> {
            let byte =
                |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
            self.0.chunks(8).map(byte).collect()
        }
    }

    /// A lossless picture of 64 x 64 pixels with 65,536 groups of codes, each of which makes the
    /// decoder allocate five tables of four kilobytes.
    fn picture_of_codes() -> Vec<u8> {
        let mut bits = Bits::default();
        bits.put(0x2f, 8);
        bits.put(63 | 63 << 14, 32);
        bits.put(0, 2); // no transform, no cache
        bits.put(1, 1); // groups, chosen by a picture of a sixteenth of the size,
        bits.put(0, 4); // which has no cache
        for symbol in [255, 255] {
            bits.put(0b101, 3);
            bits.put(symbol, 8);
        }
        for _ in 0..3 {
            bits.put(0b0001, 4);
        }
        for _ in 0..65_536 * 5 {
            bits.put(0, 1);
            bits.put(10, 4);
            for length in [0, 0, 0, 3, 3, 3, 3, 3, 0, 3, 4, 4, 4, 4] {
                bits.put(length, 3);
            }
            bits.put(1, 1);
            bits.put(1, 3);
            bits.put(9, 4);
            for length in [1_u32, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10] {
                let (code, count) = if length < 7 { (length - 1, 3) } else { (length + 5, 4) };
                bits.put(code.reverse_bits() >> (32 - count), count);
            }
        }
        file(&[(b"VP8L", &bits.bytes())])
    }

    #[test]
    fn codes_that_would_fill_the_memory_are_refused() {
        let picture = picture_of_codes();
        let before = heap::start_peak();
        let refused = decode(&picture);
        let held = heap::peak() - before;
        assert!(matches!(refused, Err(CodecError::Memory)), "{refused:?}");
        assert!(held < 80 << 20, "held {held} bytes of a room of 64 MiB");
    }

    #[test]
    fn every_beginning_of_a_file_ends_in_pixels_or_a_refusal() {
        let file = encoded();
        for end in 0..file.len() {
            drop(decode(&file[..end]));
        }
    }

    #[test]
    fn pixels_that_do_not_fill_the_picture_are_refused() {
        let header = json!({"op": "webp.encode", "width": 9, "height": 7, "mode": "RGB"});
        assert!(matches!(ask(&header, &[0; 188]), Err(CodecError::Malformed)));
    }
}
