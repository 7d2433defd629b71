//! Requests to the host's codecs: a byte that picks the request's header, and the data behind it.
//!
//! Beyond "no panic": the heap never grows beyond the room that a request was given, whatever the
//! data promises; an answer says that it is done and has a header that is JSON. What a codec
//! writes can be read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wardian_vocabulary::heap;
use wardian_sandbox::codecs::{Allowance, CodecError, answer};

/// Small, so that a picture which needs much is refused rather than decoded slowly.
const ROOM: usize = 32 << 20;

/// What a codec may hold beyond its room: buffers of a fixed size, and what it read between two
/// looks at the heap.
const SLACK: usize = 3 << 20;

const JPEG: usize = 0;
const WEBP: usize = 4;
const SNAPPY: usize = 5;

/// The size of what a block without one of its own becomes.
const SIZE: &str = "60427";

const HEADERS: [&str; 17] = [
    r#"{"op":"jpeg.decode","mode":"RGB"}"#,
    r#"{"op":"jpeg.decode","mode":"L"}"#,
    r#"{"op":"jpeg.decode","mode":"CMYK"}"#,
    r#"{"op":"jpeg.decode","mode":"YCbCr"}"#,
    r#"{"op":"webp.decode"}"#,
    r#"{"op":"snappy.decode"}"#,
    r#"{"op":"snappy.encode"}"#,
    "webp RGB",
    "webp RGBA",
    "webp lossy",
    "jpeg",
    r#"{"op":"zstd.decode","size":SIZE}"#,
    r#"{"op":"lz4.decode","size":SIZE}"#,
    r#"{"op":"lz4.encode"}"#,
    r#"{"op":"brotli.decode","size":SIZE}"#,
    "any size",
    "",
];

fuzz_target!(|input: &[u8]| {
    let Some((pick, data)) = input.split_first() else {
        return;
    };
    match HEADERS[usize::from(*pick) % HEADERS.len()] {
        "" => drop(bounded(data)),
        "webp RGB" => webp(data, "RGB", 3, ""),
        "webp RGBA" => webp(data, "RGBA", 4, ""),
        "webp lossy" => webp(data, "RGBA", 4, r#","quality":60"#),
        "jpeg" => jpeg(data),
        "any size" => {
            if let Some(([low, high, pick], data)) = data.split_first_chunk::<3>() {
                let size = u16::from_le_bytes([*low, *high]);
                let name = ["zstd", "lz4", "brotli"][usize::from(*pick) % 3];
                drop(ask(&format!(r#"{{"op":"{name}.decode","size":{size}}}"#), data));
            }
        }
        header => {
            let made = ask(&header.replace("SIZE", SIZE), data);
            if header.contains("lz4.encode") {
                let decode = format!(r#"{{"op":"lz4.decode","size":{}}}"#, data.len());
                assert_eq!(ask(&decode, &made.unwrap()).unwrap(), data);
                return;
            }
            if header.contains("snappy.encode") {
                assert_eq!(ask(HEADERS[SNAPPY], &made.unwrap()).unwrap(), data);
            }
        }
    }
});

/// Writes pixels as WebP and reads them again.
fn webp(data: &[u8], mode: &str, channels: usize, more: &str) {
    let Some((width, height, pixels)) = sides(data, channels) else {
        return;
    };
    let header = format!(
        r#"{{"op":"webp.encode","mode":"{mode}","width":{width},"height":{height}{more}}}"#
    );
    let chunks = ask(&header, pixels).unwrap();
    let extended = [b"VP8X\x0a\0\0\0\x10\0\0\0", &side(width)[..], &side(height)].concat();
    let head = if more.is_empty() { Vec::new() } else { extended };
    let length = u32::try_from(chunks.len() + head.len() + 4).unwrap().to_le_bytes();
    let file = [b"RIFF", &length[..], b"WEBP", &head, &chunks].concat();
    let again = ask(HEADERS[WEBP], &file).unwrap();
    if more.is_empty() {
        assert_eq!(again, pixels);
    } else {
        let alpha = |pixels: &[u8]| pixels.iter().skip(3).step_by(4).copied().collect::<Vec<_>>();
        assert_eq!(alpha(&again), alpha(pixels));
    }
}

/// Writes pixels as JPEG and reads them again.
fn jpeg(data: &[u8]) {
    let Some((how, data)) = data.split_first() else {
        return;
    };
    let Some((width, height, pixels)) = sides(data, 3) else {
        return;
    };
    let sampling = ["4:4:4", "4:2:2", "4:2:0"][usize::from(how & 3) % 3];
    let table = vec![1 + u16::from(how >> 4); 64];
    let header = format!(
        r#"{{"op":"jpeg.encode","mode":"RGB","width":{width},"height":{height},
        "sampling":"{sampling}","tables":[{table:?},{table:?}],"progressive":{},"optimize":{}}}"#,
        how & 4 != 0,
        how & 8 != 0,
    );
    let file = ask(&header, pixels).unwrap();
    assert_eq!(ask(HEADERS[JPEG], &file).unwrap().len(), pixels.len());
}

/// The sides of a picture, of one byte each, and its pixels.
fn sides(data: &[u8], channels: usize) -> Option<(u8, u8, &[u8])> {
    let ([width, height], pixels) = data.split_first_chunk::<2>()?;
    let (width, height) = (*width.max(&1), *height.max(&1));
    let pixels = pixels.get(..usize::from(width) * usize::from(height) * channels)?;
    Some((width, height, pixels))
}

fn side(length: u8) -> [u8; 3] {
    [length - 1, 0, 0]
}

fn ask(header: &str, data: &[u8]) -> Result<Vec<u8>, CodecError> {
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    let answer = bounded(&[&length, header.as_bytes(), data].concat())?;
    assert!(answer[0] == 0);
    let length = usize::try_from(u32::from_le_bytes(answer[1..5].try_into().unwrap())).unwrap();
    let _: serde_json::Value = serde_json::from_slice(&answer[5..5 + length]).unwrap();
    Ok(answer[5 + length..].to_vec())
}

/// The answer, and a look at what the heap held meanwhile.
fn bounded(request: &[u8]) -> Result<Vec<u8>, CodecError> {
    let before = heap::start_peak();
    let answer = answer(request, &Allowance::new(ROOM));
    let held = usize::try_from(heap::peak() - before).unwrap();
    assert!(held <= ROOM + SLACK, "a request held {held} bytes");
    answer
}
