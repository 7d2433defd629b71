//! Picture and table codecs that a guest reaches through the host door.
//!
//! The engine has no C codecs for JPEG, WebP and Snappy. Their work is done here, in the
//! locked-down worker, by code without `unsafe` blocks. A request is a JSON header and
//! bytes of the guest; an answer is a JSON header and bytes. Nothing is kept between two requests.
//!
//! INVARIANT(codecs-allocate-within-the-run): a codec allocates only after [`Room::take`] has
//! granted the bytes, and a run's codecs never hold more than its memory limit leaves.

mod error;
mod jpeg;
mod snappy;
#[cfg(test)]
mod testing;
mod webp;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Deserialize, Serialize};

pub use crate::sandbox::codecs::error::CodecError;

/// Largest JSON header of a request. Quantisation tables and column lists fit by far.
const MAX_HEADER: usize = 1 << 20;

/// Work that a guest asks for.
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
}

/// Bytes that one request may still allocate.
#[derive(Debug)]
pub struct Room(usize);

impl Room {
    /// Room for `bytes` in all.
    #[must_use]
    pub const fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    /// Grants `bytes`, before they are allocated.
    ///
    /// # Errors
    ///
    /// Fewer bytes are left.
    pub(super) fn take(&mut self, bytes: usize) -> Result<(), CodecError> {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err(CodecError::Memory),
        }
    }

    /// Bytes that are left.
    pub(super) const fn left(&self) -> usize {
        self.0
    }
}

/// A finished piece of work: a header, which becomes JSON, and bytes.
struct Done {
    header: serde_json::Value,
    bytes: Vec<u8>,
}

impl Done {
    fn new(header: &impl Serialize, bytes: Vec<u8>) -> Result<Self, CodecError> {
        let header = serde_json::to_value(header).map_err(|_unwritable| CodecError::Malformed)?;
        Ok(Self { header, bytes })
    }
}

/// Does the work of a request of a possibly hostile guest. The answer is the length of its header
/// (four bytes, little endian), the header and the bytes, behind a byte that says "done".
///
/// # Errors
///
/// The request is malformed, the data is damaged or of a kind that is not supported, or the work
/// needs more than `room`.
pub fn answer(request: &[u8], mut room: Room) -> Result<Vec<u8>, CodecError> {
    let (job, data) = parse(request)?;
    // A crate that panics on damaged data must not end the worker.
    let done = catch_unwind(AssertUnwindSafe(|| run(job, data, &mut room)));
    let done = done.map_err(|_panic| CodecError::Damaged("the codec gave up".to_owned()))??;
    frame(&done, &mut room)
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

fn run(job: Job, data: &[u8], room: &mut Room) -> Result<Done, CodecError> {
    match job {
        Job::JpegDecode(job) => job.run(data, room),
        Job::JpegEncode(job) => job.run(data, room),
        Job::WebpDecode(job) => job.run(data, room),
        Job::WebpEncode(job) => job.run(data, room),
        Job::SnappyDecode(job) => job.run(data, room),
        Job::SnappyEncode(job) => job.run(data, room),
    }
}

fn frame(done: &Done, room: &mut Room) -> Result<Vec<u8>, CodecError> {
    let header = done.header.to_string();
    let length = u32::try_from(header.len()).map_err(|_long| CodecError::Malformed)?;
    let total = header.len().saturating_add(done.bytes.len()).saturating_add(5);
    room.take(total)?;
    let mut answer = Vec::with_capacity(total);
    answer.push(0);
    answer.extend_from_slice(&length.to_le_bytes());
    answer.extend_from_slice(header.as_bytes());
    answer.extend_from_slice(&done.bytes);
    Ok(answer)
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
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::sandbox::codecs::testing::{ROOM, ask, ask_within};

    #[test]
    fn malformed_requests_are_refused() {
        for request in [&b""[..], b"\0\0\0", b"\xff\xff\xff\xff{}", b"\x02\0\0\0{}", b"\0\0\0\0"] {
            let refused = answer(request, Room::new(ROOM));
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
        let (_, webp) = ask(&encode, &pixels).unwrap();
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

    const FILES: [(&str, &[u8]); 5] = [
        ("jpeg", include_bytes!("../../../tests/fixtures/pictures/photo.jpg")),
        ("jpeg", include_bytes!("../../../tests/fixtures/pictures/progressive.jpg")),
        ("jpeg", include_bytes!("../../../tests/fixtures/pictures/cmyk.jpg")),
        ("webp", include_bytes!("../../../tests/fixtures/pictures/photo.webp")),
        ("webp", include_bytes!("../../../tests/fixtures/pictures/alpha.webp")),
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
            if let Ok((said, pixels)) = ask(&header, &file) {
                let side = |name: &str| usize::try_from(said[name].as_u64().unwrap()).unwrap();
                prop_assert_eq!(pixels.len() % (side("width") * side("height")), 0);
            }
        }

        #[test]
        fn hostile_requests_never_panic(request in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(answer(&request, Room::new(ROOM)));
        }
    }
}
