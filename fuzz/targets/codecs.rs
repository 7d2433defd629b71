//! Requests to the host's codecs: a byte that picks the request's header, and the data behind it.
//!
//! Beyond "no panic": an answer is never longer than the room that it was given, says that it is
//! done, and has a header that is JSON. What a codec writes can be read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wardian::sandbox::codecs::{CodecError, Room, answer};

/// Small, so that a picture which needs much is refused rather than decoded slowly.
const ROOM: usize = 16 << 20;

const HEADERS: [&str; 9] = [
    r#"{"op":"jpeg.decode","mode":"RGB"}"#,
    r#"{"op":"jpeg.decode","mode":"L"}"#,
    r#"{"op":"jpeg.decode","mode":"CMYK"}"#,
    r#"{"op":"jpeg.decode","mode":"YCbCr"}"#,
    r#"{"op":"webp.decode"}"#,
    r#"{"op":"snappy.decode"}"#,
    r#"{"op":"snappy.encode"}"#,
    r#"{"op":"webp.encode","mode":"RGB","width":3,"height":5}"#,
    "",
];

fuzz_target!(|input: &[u8]| {
    let Some((pick, data)) = input.split_first() else {
        return;
    };
    let header = HEADERS[usize::from(*pick) % HEADERS.len()];
    if header.is_empty() {
        drop(answer(data, Room::new(ROOM)));
        return;
    }
    let made = ask(header, data);
    if header == HEADERS[6] {
        let packed = made.unwrap();
        assert_eq!(ask(HEADERS[5], &packed).unwrap(), data);
    }
});

fn ask(header: &str, data: &[u8]) -> Result<Vec<u8>, CodecError> {
    let length = u32::try_from(header.len()).unwrap().to_le_bytes();
    let answer = answer(&[&length, header.as_bytes(), data].concat(), Room::new(ROOM))?;
    assert!(answer.len() <= ROOM && answer[0] == 0);
    let length = usize::try_from(u32::from_le_bytes(answer[1..5].try_into().unwrap())).unwrap();
    let _: serde_json::Value = serde_json::from_slice(&answer[5..5 + length]).unwrap();
    Ok(answer[5 + length..].to_vec())
}
