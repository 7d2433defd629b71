//! Picture and table codecs that a guest reaches with a host call.
//!
//! The engine has no C codecs for JPEG, WebP, and the compressions of Parquet. Their work is done
//! here, in the locked-down worker, by code without `unsafe` blocks. A request is a JSON header and
//! bytes of the guest; an answer is a JSON header and bytes. Nothing is kept between two requests.
//!
//! INVARIANT(codecs-allocate-within-the-run): a codec allocates only after [`Allowance::take`] has
//! granted the bytes, and never holds more than the rest of the run's memory limit.
//! INVARIANT(codecs-stop): a codec ends within half a second of its run's deadline.

mod allowance;
mod block;
mod brotli;
mod error;
mod jpeg;
mod lz4;
mod paced;
mod snappy;
#[cfg(test)]
mod testing;
mod vp8;
mod webp;
mod zstd;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

pub use crate::codecs::allowance::Allowance;
use crate::codecs::allowance::Interrupted;
pub use crate::codecs::error::CodecError;

/// Largest JSON header of a request. Quantisation tables fit easily.
const MAX_HEADER: usize = 1 << 14;

/// The request of a guest.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", deny_unknown_fields)]
enum Job {
    #[serde(rename = "jpeg.decode")]
    JpegDecode(jpeg::Decode),
    #[serde(rename = "jpeg.encode")]
    JpegEncode(jpeg::Encode),
    #[serde(rename = "webp.decode")]
    WebpDecode(webp::Decode),
    #[serde(rename = "webp.encode")]
    WebpEncode(webp::Encode),
    #[serde(rename = "snappy.decode")]
    SnappyDecode(snappy::Decode),
    #[serde(rename = "snappy.encode")]
    SnappyEncode(snappy::Encode),
    #[serde(rename = "lz4.decode")]
    Lz4Decode(lz4::Decode),
    #[serde(rename = "lz4.encode")]
    Lz4Encode(lz4::Encode),
    #[serde(rename = "zstd.decode")]
    ZstdDecode(zstd::Decode),
    #[serde(rename = "brotli.decode")]
    BrotliDecode(brotli::Decode),
}

/// Bytes of an answer before its content: a zero byte for success, the header's length, and the
/// header, padded with blanks.
const HEAD: usize = 96;

/// A zeroed answer whose content has `size` bytes.
fn answer_of(size: usize) -> Vec<u8> {
    vec![0; HEAD.saturating_add(size)]
}

/// The content of an answer.
fn content(answer: &mut [u8]) -> &mut [u8] {
    answer.get_mut(HEAD..).unwrap_or_default()
}

/// Writes the header of an answer.
fn finished(mut answer: Vec<u8>, header: &impl Serialize) -> Result<Vec<u8>, CodecError> {
    const START: usize = 5;
    let mut text = serde_json::to_vec(header).map_err(|_unwritable| CodecError::Malformed)?;
    text.resize(HEAD - START, b' ');
    let length = u32::try_from(text.len()).map_err(|_long| CodecError::Malformed)?;
    let head = [&[0][..], &length.to_le_bytes(), &text].concat();
    answer.get_mut(..HEAD).ok_or(CodecError::Malformed)?.copy_from_slice(&head);
    Ok(answer)
}

/// Carries out a request of a possibly hostile guest. The answer is a zero byte for success, the
/// length of the header (four bytes, little endian), the header and the bytes.
///
/// # Errors
///
/// The request is malformed, the data is damaged or of a kind that is not supported, or the work
/// needs more than `allowance`.
pub fn answer(request: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
    allowance.check()?;
    let (job, data) = parse(request)?;
    // A crate that panics on damaged data must not end the worker.
    let done = catch_unwind(AssertUnwindSafe(|| run(job, data, allowance)));
    // After a stop, the crate's result is ignored: it may be an error or half a picture.
    allowance.check()?;
    done.unwrap_or_else(|payload| {
        Err(payload.downcast::<Interrupted>().map_or_else(
            |_panic| CodecError::Damaged("the codec gave up".to_owned()),
            |interrupted| interrupted.0,
        ))
    })
}

fn parse(request: &[u8]) -> Result<(Job, &[u8]), CodecError> {
    let (length, rest) = request.split_first_chunk::<4>().ok_or(CodecError::Malformed)?;
    let length =
        usize::try_from(u32::from_le_bytes(*length)).map_err(|_wide| CodecError::Malformed)?;
    let (header, data) = rest.split_at_checked(length).ok_or(CodecError::Malformed)?;
    if header.len() > MAX_HEADER {
        return Err(CodecError::Malformed);
    }
    let job = serde_json::from_slice(header).map_err(|_unread| CodecError::Malformed)?;
    Ok((job, data))
}

fn run(job: Job, data: &[u8], allowance: &Allowance<'_>) -> Result<Vec<u8>, CodecError> {
    match job {
        Job::JpegDecode(job) => job.run(data, allowance),
        Job::JpegEncode(job) => job.run(data, allowance),
        Job::WebpDecode(job) => job.run(data, allowance),
        Job::WebpEncode(job) => job.run(data, allowance),
        Job::SnappyDecode(job) => job.run(data, allowance),
        Job::SnappyEncode(job) => job.run(data, allowance),
        Job::Lz4Decode(job) => job.run(data, allowance),
        Job::Lz4Encode(job) => job.run(data, allowance),
        Job::ZstdDecode(job) => job.run(data, allowance),
        Job::BrotliDecode(job) => job.run(data, allowance),
    }
}

/// Pixels of a picture with these sides, if it has any and no more than `most`.
fn pixels(width: usize, height: usize, most: usize) -> Result<usize, CodecError> {
    match width.checked_mul(height) {
        Some(count) if (1..=most).contains(&count) => Ok(count),
        _ => Err(CodecError::Pixels { width, height, most }),
    }
}

/// `count` units of `size` bytes.
fn bytes_of(count: usize, size: usize) -> Result<usize, CodecError> {
    count.checked_mul(size).ok_or(CodecError::Memory)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::codecs::testing::{ROOM, ask, ask_with, ask_within};
    use crate::run::deadline::Deadline;
    use wardian_vocabulary::heap;

    #[test]
    fn malformed_requests_are_refused() {
        for request in [&b""[..], b"\0\0\0", b"\xff\xff\xff\xff{}", b"\x02\0\0\0{}", b"\0\0\0\0"] {
            let refused = answer(request, &Allowance::new(ROOM));
            assert!(matches!(refused, Err(CodecError::Malformed)), "{request:?}");
        }
        for header in [json!({"op": "png.decode"}), json!({"op": "jpeg.decode", "x": 1})] {
            assert!(matches!(ask(&header, b""), Err(CodecError::Malformed)), "{header}");
        }
    }

    #[test]
    fn codecs_allocate_within_the_run() {
        let pixels = vec![7; 3 * 1000 * 1000];
        let encode = json!({"op": "webp.encode", "width": 1000, "height": 1000, "mode": "RGB"});
        assert!(matches!(ask_within(&encode, &pixels, 1 << 20), Err(CodecError::Memory)));
        let (_, chunks) = ask(&encode, &pixels).unwrap();
        let length = u32::try_from(chunks.len() + 4).unwrap().to_le_bytes();
        let webp = [b"RIFF", &length[..], b"WEBP", &chunks].concat();
        let decode = json!({"op": "webp.decode"});
        assert!(matches!(ask_within(&decode, &webp, 2_900_000), Err(CodecError::Memory)));
        assert_eq!(ask(&decode, &webp).unwrap().1, pixels);
        let encode = json!({"op": "jpeg.encode", "width": 1000, "height": 1000, "mode": "RGB",
            "sampling": "4:2:0", "tables": [vec![1; 64], vec![1; 64]]});
        assert!(matches!(ask_within(&encode, &pixels, 1 << 20), Err(CodecError::Memory)));
        let (_, jpeg) = ask(&encode, &pixels).unwrap();
        let decode = json!({"op": "jpeg.decode", "mode": "RGB"});
        assert!(matches!(ask_within(&decode, &jpeg, 2_900_000), Err(CodecError::Memory)));
        assert_eq!(ask(&decode, &jpeg).unwrap().1.len(), pixels.len());
    }

    /// Requests that take some time: a header, data, and bytes that have to be free.
    fn long_requests() -> Vec<(Value, Vec<u8>)> {
        let mut noise = 1_u32;
        let mut pixels = Vec::new();
        for _ in 0..3 << 20 {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            pixels.push(noise.to_be_bytes()[0]);
        }
        let jpeg = |progressive: bool| {
            json!({"op": "jpeg.encode", "width": 1024, "height": 1024, "mode": "RGB",
                "progressive": progressive, "sampling": "4:4:4",
                "tables": [vec![1; 64], vec![1; 64]]})
        };
        let webp = json!({"op": "webp.encode", "width": 1024, "height": 1024, "mode": "RGB"});
        let lossy = json!({"op": "webp.encode", "width": 1024, "height": 1024, "mode": "RGB",
            "quality": 100});
        let made = |header: &Value| ask(header, &pixels).unwrap().1;
        let chunk = made(&webp);
        let length = u32::try_from(chunk.len() + 4).unwrap().to_le_bytes();
        let file = [b"RIFF", &length[..], b"WEBP", &chunk].concat();
        vec![
            (json!({"op": "jpeg.decode", "mode": "RGB"}), made(&jpeg(false))),
            (json!({"op": "jpeg.decode", "mode": "RGB"}), made(&jpeg(true))),
            (json!({"op": "webp.decode"}), file),
            (jpeg(false), pixels.clone()),
            (lossy, pixels.clone()),
        ]
    }

    #[test]
    fn codecs_stop_in_the_middle_of_their_work() {
        for (header, data) in long_requests() {
            let took = |deadline: &Deadline| {
                let started = Instant::now();
                let end = ask_with(&header, &data, &Allowance::new(ROOM).until(deadline));
                (end, started.elapsed())
            };
            // The shortest of several tries, since the machine may be busy with other work.
            let whole = (0..20).map(|_| {
                let (end, whole) = took(&Deadline::after(Duration::from_secs(3600)));
                assert!(end.is_ok(), "{header}");
                whole
            });
            let whole = whole.min().unwrap();
            let tries = (0..20).map(|_| {
                let (end, part) = took(&Deadline::after(Duration::from_millis(1)));
                assert!(matches!(end, Err(CodecError::Stopped(_))), "{header}");
                part
            });
            let least = tries.min().unwrap();
            assert!(least < whole / 2, "{header}: {least:?} of {whole:?}");
        }
    }

    #[test]
    fn a_request_costs_the_same_fuel_each_time_and_ends_when_there_is_none() {
        for (header, data) in long_requests() {
            let left = |fuel: u64| {
                let allowance = Allowance::new(ROOM).fuelled(Some(fuel));
                let end = ask_with(&header, &data, &allowance);
                (end.map(drop), allowance.fuel_left().unwrap())
            };
            let (end, rest) = left(u64::MAX);
            let cost = u64::MAX - rest;
            assert!(end.is_ok() && cost > 8 << 20, "{header}: {cost}");
            assert!(matches!(left(cost), (Ok(()), 0)), "{header}");
            assert!(matches!(left(cost - 1), (Err(CodecError::Fuel), 0)), "{header}");
        }
    }

    const FILES: [(&str, &[u8]); 5] = [
        ("jpeg", include_bytes!("../../../../tests/fixtures/pictures/photo.jpg")),
        ("jpeg", include_bytes!("../../../../tests/fixtures/pictures/progressive.jpg")),
        ("jpeg", include_bytes!("../../../../tests/fixtures/pictures/cmyk.jpg")),
        ("webp", include_bytes!("../../../../tests/fixtures/pictures/photo.webp")),
        ("webp", include_bytes!("../../../../tests/fixtures/pictures/alpha.webp")),
    ];

    proptest! {
        #[test]
        fn damaged_pictures_end_in_pixels_or_a_refusal(
            which in 0..FILES.len(),
            mode in prop::sample::select(vec!["L", "RGB", "YCbCr", "CMYK"]),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let (kind, file) = FILES[which];
            let mut file = file.to_vec();
            for (at, byte) in damage {
                let at = at.index(file.len());
                file[at] = byte;
            }
            let header = match kind {
                "jpeg" => json!({"op": "jpeg.decode", "mode": mode}),
                _ => json!({"op": "webp.decode"}),
            };
            let before = heap::start_peak();
            let answer = ask(&header, &file);
            prop_assert!(heap::peak() - before < 2 * isize::try_from(ROOM).unwrap());
            if let Ok((said, pixels)) = answer {
                let side = |name: &str| usize::try_from(said[name].as_u64().unwrap()).unwrap();
                prop_assert_eq!(pixels.len() % (side("width") * side("height")), 0);
            }
        }

        #[test]
        fn hostile_requests_never_panic(request in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(answer(&request, &Allowance::new(ROOM)));
        }
    }
}
