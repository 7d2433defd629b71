//! What the fuzzers of frames have in common: bytes through a real socket.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wardian_formats::job::frame::{self, HEADER, MESSAGE_MAX};
use wardian_formats::job::message::{INLINE_MAX, Payload};
use wardian_formats::job::socket::Incoming;

/// What fits into a socket's buffer at once, so that one thread can be both ends.
const MAX_STREAM: usize = 32 << 10;

/// The messages that arrive when these bytes are sent, up to the first breach of a rule.
pub fn received<M: DeserializeOwned>(bytes: &[u8]) -> Vec<(M, Payload)> {
    let Some((form, rest)) = bytes.split_first() else { return Vec::new() };
    let stream = if form % 2 == 0 { rest.to_vec() } else { framed(rest) };
    if stream.len() > MAX_STREAM {
        return Vec::new();
    }
    let (mut sender, receiver) = UnixStream::pair().unwrap();
    sender.write_all(&stream).unwrap();
    sender.shutdown(Shutdown::Both).unwrap();

    let mut incoming = Incoming::default();
    let mut found = Vec::new();
    loop {
        match incoming.take() {
            Ok(Some(message)) => found.push(message),
            Ok(None) => match incoming.receive(receiver.as_fd(), rustix::net::RecvFlags::empty()) {
                Ok(arrival) if arrival.bytes > 0 => {}
                _ => return found,
            },
            Err(_) => return found,
        }
    }
}

/// A sound frame: a message, and after the first zero byte an inline payload.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (message, payload) = bytes.split_at(end);
    let payload = payload.get(1..).unwrap_or_default();
    if message.len() > MESSAGE_MAX || payload.len() > INLINE_MAX {
        return Vec::new();
    }
    let mut frame = Vec::with_capacity(HEADER + bytes.len());
    frame.extend_from_slice(&(message.len() as u32).to_le_bytes());
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(&0_u32.to_le_bytes());
    frame.extend_from_slice(message);
    frame.extend_from_slice(payload);
    frame
}

/// A message that was sent, read and sent again is the same message.
pub fn assert_reads_back<M: Serialize + DeserializeOwned>(message: &M) {
    let first = frame::encode(message, &[], false).expect("what was read can be sent");
    let again: M = frame::decode(&first[HEADER..]).expect("what was sent can be read");
    let second = frame::encode(&again, &[], false).unwrap();
    assert!(first == second, "a message has two meanings");
}
