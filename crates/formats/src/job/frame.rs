//! Bytes of a message on a worker's socket.
//!
//! A frame is a header of 12 bytes, the message as JSON, and an inline payload:
//!
//! ```text
//! u32 LE  length of the message
//! u32 LE  length of the inline payload
//! u32 LE  1 if one file descriptor travels with the frame, else 0
//! ```
//!
//! With a descriptor, the inline payload is the payload's true size instead (u64 LE). The
//! descriptor is sent together with the first byte of its frame.
//!
//! INVARIANT(frame-bounds): a header that announces more than the limits is refused before
//! anything is allocated for it, so that a compromised worker cannot exhaust the gateway.

use std::os::fd::OwnedFd;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::job::message::{INLINE_MAX, Order, PAYLOAD_MAX, Payload};
use crate::job::session::asking::MAX_ROUND_BYTES;
use crate::job::session::cell::MAX_INLINE_TOTAL;
use wardian_vocabulary::units::ByteCount;

/// Length of a header.
pub const HEADER: usize = 12;

/// Longest message of any kind, in bytes: the outcome of a run with the largest log that can be
/// configured, 16 MiB. See [`outcome_max`].
pub const MESSAGE_MAX: usize = 100 << 20;

/// Longest order, in bytes. A request body is at most 32 MiB.
pub(crate) const ORDER_MAX: usize = 48 << 20;

/// Longest message of a worker, in bytes, for a run with this limit on logs.
///
/// A control character takes six bytes in JSON. That exceeds the three bytes of a replaced byte and
/// the JSON syntax around each piece of the log. The constant part is for what a cell displays, and
/// for the bounded texts about the failure and about files, which may be escaped too.
#[must_use]
pub fn outcome_max(logs: ByteCount) -> usize {
    let rest = (2 << 20) + MAX_INLINE_TOTAL + MAX_ROUND_BYTES;
    logs.as_usize().saturating_mul(6).saturating_add(rest).min(MESSAGE_MAX)
}

/// A frame that breaks the rules: the peer is broken or hostile and must be dropped.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A length beyond the limits.
    #[error("a frame announces {what} of {length} bytes, more than {limit}")]
    TooLong {
        /// The part.
        what: &'static str,
        /// The announced length.
        length: usize,
        /// The most that is allowed.
        limit: usize,
    },
    /// A flag other than 0 or 1.
    #[error("a frame has unknown flags")]
    UnknownFlags,
    /// The message is no JSON of the expected type.
    #[error("a frame's message cannot be read")]
    Malformed(#[source] serde_json::Error),
    /// More than one descriptor with a frame, or a second one before the first was claimed.
    #[error("more descriptors arrived than a frame may carry")]
    TooManyDescriptors,
    /// A descriptor that no frame announces.
    #[error("a descriptor arrived that no frame announces")]
    UnexpectedDescriptor,
    /// A frame announces a descriptor that did not arrive.
    #[error("a frame announces a descriptor that did not arrive")]
    MissingDescriptor,
    /// A descriptor without the size of what it holds.
    #[error("a frame does not state the size of its descriptor")]
    MissingSize,
}

/// The first [`HEADER`] bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the message.
    pub message: usize,
    /// Length of the inline payload.
    pub inline: usize,
    /// True if a descriptor travels with it.
    pub(crate) has_descriptor: bool,
}

impl Header {
    /// Reads and checks a header.
    ///
    /// # Errors
    ///
    /// A length beyond the limits, or unknown flags.
    pub fn parse(bytes: [u8; HEADER]) -> Result<Self, FrameError> {
        let [a, b, c, d, e, f, g, h, flags @ ..] = bytes;
        let header = Self {
            message: length(u32::from_le_bytes([a, b, c, d])),
            inline: length(u32::from_le_bytes([e, f, g, h])),
            has_descriptor: match u32::from_le_bytes(flags) {
                0 => false,
                1 => true,
                _ => return Err(FrameError::UnknownFlags),
            },
        };
        ensure_at_most("a message", header.message, MESSAGE_MAX)?;
        ensure_at_most("an inline payload", header.inline, INLINE_MAX)?;
        if header.has_descriptor && header.inline != size_of::<u64>() {
            return Err(FrameError::MissingSize);
        }
        Ok(header)
    }

    /// Checks that the message is at most `most` bytes long.
    ///
    /// # Errors
    ///
    /// The message is longer.
    pub(crate) fn ensure_message(&self, most: usize) -> Result<(), FrameError> {
        ensure_at_most("a message", self.message, most)
    }

    /// Bytes after the header.
    #[must_use]
    pub const fn body(&self) -> usize {
        self.message.saturating_add(self.inline)
    }
}

fn length(announced: u32) -> usize {
    usize::try_from(announced).unwrap_or(usize::MAX)
}

fn ensure_at_most(what: &'static str, length: usize, limit: usize) -> Result<(), FrameError> {
    if length > limit { Err(FrameError::TooLong { what, length, limit }) } else { Ok(()) }
}

/// Appends the bytes of a whole frame to `bytes`, so that frames can leave together.
///
/// # Errors
///
/// A message or payload beyond the limits; `bytes` is as before then.
pub fn encode_into<M: Serialize>(
    bytes: &mut Vec<u8>,
    message: &M,
    inline: &[u8],
    has_descriptor: bool,
) -> Result<(), FrameError> {
    let start = bytes.len();
    let written = append_frame(bytes, message, inline, has_descriptor);
    if written.is_err() {
        bytes.truncate(start);
    }
    written
}

fn append_frame<M: Serialize>(
    bytes: &mut Vec<u8>,
    message: &M,
    inline: &[u8],
    has_descriptor: bool,
) -> Result<(), FrameError> {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; HEADER]);
    let body = bytes.len();
    serde_json::to_writer(&mut *bytes, message).map_err(FrameError::Malformed)?;
    let message = bytes.len().saturating_sub(body);

    let announced = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let flags = u32::from(has_descriptor).to_le_bytes();
    let mut header = [0; HEADER];
    header.copy_from_slice(&[announced(message), announced(inline.len()), flags].concat());
    Header::parse(header)?;
    if let Some(place) = bytes.get_mut(start..body) {
        place.copy_from_slice(&header);
    }
    bytes.extend_from_slice(inline);
    Ok(())
}

/// The bytes of a whole frame with an order.
///
/// # Errors
///
/// An order beyond [`ORDER_MAX`].
pub fn encode_order(order: &Order<'_>) -> Result<Vec<u8>, FrameError> {
    let bytes = encode(order, &[], false)?;
    ensure_at_most("an order", bytes.len().saturating_sub(HEADER), ORDER_MAX)?;
    Ok(bytes)
}

/// The bytes of a whole frame.
///
/// # Errors
///
/// A message or payload beyond the limits.
pub fn encode<M: Serialize>(
    message: &M,
    inline: &[u8],
    has_descriptor: bool,
) -> Result<Vec<u8>, FrameError> {
    let mut bytes = Vec::new();
    encode_into(&mut bytes, message, inline, has_descriptor)?;
    Ok(bytes)
}

/// The bytes of a frame whose payload of `size` travels as a descriptor.
///
/// # Errors
///
/// A message beyond the limits, or a payload beyond [`PAYLOAD_MAX`].
pub fn encode_shared<M: Serialize>(message: &M, size: ByteCount) -> Result<Vec<u8>, FrameError> {
    ensure_at_most("a payload", size.as_usize(), PAYLOAD_MAX.as_usize())?;
    encode(message, &size.as_u64().to_le_bytes(), true)
}

/// Reads the message part of a frame.
///
/// # Errors
///
/// No JSON, or JSON of another shape.
pub fn decode<M: DeserializeOwned>(message: &[u8]) -> Result<M, FrameError> {
    serde_json::from_slice(message).map_err(FrameError::Malformed)
}

/// Reads the payload of a frame from its inline part and the descriptor that came with it.
///
/// # Errors
///
/// The two do not fit together, or the payload is beyond [`PAYLOAD_MAX`].
pub(crate) fn decode_payload(
    inline: &[u8],
    descriptor: Option<OwnedFd>,
) -> Result<Payload, FrameError> {
    let Some(descriptor) = descriptor else {
        let none = inline.is_empty();
        return Ok(if none { Payload::None } else { Payload::Inline(inline.to_vec()) });
    };
    let Ok(size) = <[u8; 8]>::try_from(inline) else {
        return Err(FrameError::MissingSize);
    };
    let size = ByteCount::bytes(u64::from_le_bytes(size));
    ensure_at_most("a payload", size.as_usize(), PAYLOAD_MAX.as_usize())?;
    Ok(Payload::Shared(descriptor, size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::job::message::{FromWorker, ToWorker};

    #[test]
    fn a_frame_reads_back() {
        let bytes = encode(&ToWorker::Cancel, b"xyz", false).unwrap();
        let header = Header::parse(bytes[..HEADER].try_into().unwrap()).unwrap();
        assert_eq!(bytes.len(), HEADER + header.body());
        assert_eq!((header.inline, header.has_descriptor), (3, false));
        let message = decode::<ToWorker>(&bytes[HEADER..HEADER + header.message]).unwrap();
        assert!(matches!(message, ToWorker::Cancel));
        let payload = decode_payload(&bytes[HEADER + header.message..], None).unwrap();
        assert!(matches!(payload, Payload::Inline(bytes) if bytes == b"xyz"));
    }

    #[test]
    fn frame_bounds_are_checked_before_anything_is_allocated() {
        let header = |message: u32, inline: u32, flags: u32| {
            let fields =
                [message.to_le_bytes(), inline.to_le_bytes(), flags.to_le_bytes()].concat();
            Header::parse(fields.try_into().unwrap())
        };
        assert!(header(u32::MAX, 0, 0).is_err());
        assert!(header(0, u32::MAX, 0).is_err());
        assert!(header(0, 0, 2).is_err());
        assert!(header(98 << 20, 64 << 10, 0).is_ok());
        assert!(encode(&ToWorker::Cancel, &vec![0; INLINE_MAX + 1], false).is_err());
        let too_much = ByteCount::bytes(PAYLOAD_MAX.as_u64() + 1);
        assert!(encode_shared(&ToWorker::Cancel, too_much).is_err());
        assert!(encode_shared(&ToWorker::Cancel, PAYLOAD_MAX).is_ok());
    }

    #[test]
    fn the_longest_log_fits_into_a_message_however_it_is_escaped() {
        assert_eq!(outcome_max(ByteCount::mebibytes(1)), 10 << 20);
        assert_eq!(outcome_max(ByteCount::mebibytes(16)), MESSAGE_MAX);
        assert_eq!(outcome_max(ByteCount::bytes(u64::MAX)), MESSAGE_MAX);
        for letter in ["\u{1}", "\u{fffd}", "\"", "\\", "\u{7f}", "x", "\u{1f600}"] {
            let escaped = serde_json::to_string(letter).unwrap().len() - 2;
            // Three bytes stand for one that was invalid.
            let printed = if letter == "\u{fffd}" { 1 } else { letter.len() };
            assert!(escaped <= 6 * printed, "{letter:?} takes {escaped}");
        }
    }

    #[test]
    fn a_descriptor_comes_with_its_size_and_nothing_else() {
        for (inline, is_sound) in [(0_u32, false), (7, false), (8, true), (9, false)] {
            let fields = [2_u32.to_le_bytes(), inline.to_le_bytes(), 1_u32.to_le_bytes()].concat();
            let header = Header::parse(fields.try_into().unwrap());
            assert_eq!(header.is_ok(), is_sound, "inline payload of {inline} bytes");
        }
    }

    #[test]
    fn a_frame_that_is_refused_leaves_no_bytes_behind() {
        let mut bytes = encode(&ToWorker::Cancel, b"", false).unwrap();
        let before = bytes.clone();
        let huge = vec![0; INLINE_MAX + 1];
        assert!(encode_into(&mut bytes, &ToWorker::Cancel, &huge, false).is_err());
        assert_eq!(bytes, before);
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_an_error_at_most(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(decode::<FromWorker>(&bytes));
            drop(decode_payload(&bytes, None));
            if let Ok(header) = <[u8; HEADER]>::try_from(bytes.as_slice()) {
                drop(Header::parse(header));
            }
        }
    }
}
