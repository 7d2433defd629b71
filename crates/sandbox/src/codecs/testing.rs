//! Sends requests to codecs in tests, in the form in which a guest sends them.

use serde_json::Value;

use crate::codecs::{Allowance, CodecError, answer};

pub(in crate::codecs) const ROOM: usize = 64 << 20;

pub(in crate::codecs) fn ask(header: &Value, data: &[u8]) -> Result<(Value, Vec<u8>), CodecError> {
    ask_within(header, data, ROOM)
}

pub(in crate::codecs) fn ask_within(
    header: &Value,
    data: &[u8],
    room: usize,
) -> Result<(Value, Vec<u8>), CodecError> {
    ask_with(header, data, &Allowance::new(room))
}

pub(in crate::codecs) fn ask_with(
    header: &Value,
    data: &[u8],
    allowance: &Allowance<'_>,
) -> Result<(Value, Vec<u8>), CodecError> {
    let header = header.to_string();
    let mut request = u32::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    request.extend_from_slice(header.as_bytes());
    request.extend_from_slice(data);
    let answer = answer(&request, allowance)?;
    let length = usize::try_from(u32::from_le_bytes(answer[1..5].try_into().unwrap())).unwrap();
    let header = serde_json::from_slice(&answer[5..5 + length]).unwrap();
    Ok((header, answer[5 + length..].to_vec()))
}
