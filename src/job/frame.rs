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
//! The payload's size in a descriptor is the last eight bytes of the inline payload then.
//!
//! INVARIANT(frame-bounds): a header that announces more than the limits is refused before
//! anything is allocated for it, so that a compromised worker cannot exhaust the gateway.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::job::message::INLINE_MAX;

/// Length of a header.
pub const HEADER: usize = 12;

/// Longest message, in bytes. A request body is at most 16 MiB, and so is a log.
pub const MESSAGE_MAX: usize = 48 << 20;

/// A frame that breaks the rules: the peer is broken or hostile and must be dropped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A length beyond the limits.
    #[error("a frame announces {what} of {length} bytes, more than {limit}")]
    TooLong {
        /// Which part.
        what: &'static str,
        /// What it announces.
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
}

/// What the first [`HEADER`] bytes of a frame say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Length of the message.
    pub message: usize,
    /// Length of the inline payload.
    pub inline: usize,
    /// True if a descriptor travels with it.
    pub has_descriptor: bool,
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
        let too_long = |what, length, limit| Err(FrameError::TooLong { what, length, limit });
        if header.message > MESSAGE_MAX {
            return too_long("a message", header.message, MESSAGE_MAX);
        }
        if header.inline > INLINE_MAX {
            return too_long("a payload", header.inline, INLINE_MAX);
        }
        Ok(header)
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
    let mut bytes = vec![0; HEADER];
    serde_json::to_writer(&mut bytes, message).map_err(FrameError::Malformed)?;
    let message = bytes.len().saturating_sub(HEADER);
    bytes.extend_from_slice(inline);

    let announced = |length: usize| u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes();
    let flags = u32::from(has_descriptor).to_le_bytes();
    let mut header = [0; HEADER];
    let fields = [announced(message), announced(inline.len()), flags].concat();
    header.copy_from_slice(&fields);
    Header::parse(header)?;
    if let Some(start) = bytes.get_mut(..HEADER) {
        start.copy_from_slice(&header);
    }
    Ok(bytes)
}

/// Reads the message part of a frame.
///
/// # Errors
///
/// No JSON, or JSON of another shape.
pub fn decode<M: DeserializeOwned>(message: &[u8]) -> Result<M, FrameError> {
    serde_json::from_slice(message).map_err(FrameError::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::job::message::{FromWorker, ToWorker};

    #[test]
    fn a_frame_reads_back() {
        let bytes = encode(&ToWorker::Cancel, b"xyz", true).unwrap();
        let header = Header::parse(bytes[..HEADER].try_into().unwrap()).unwrap();
        assert_eq!(bytes.len(), HEADER + header.body());
        assert_eq!((header.inline, header.has_descriptor), (3, true));
        let message = decode::<ToWorker>(&bytes[HEADER..HEADER + header.message]).unwrap();
        assert!(matches!(message, ToWorker::Cancel));
    }

    #[test]
    fn frame_bounds_are_checked_before_anything_is_allocated() {
        let header = |message: u32, inline: u32, flags: u32| {
            let fields = [message.to_le_bytes(), inline.to_le_bytes(), flags.to_le_bytes()].concat();
            Header::parse(fields.try_into().unwrap())
        };
        assert!(header(u32::MAX, 0, 0).is_err());
        assert!(header(0, u32::MAX, 0).is_err());
        assert!(header(0, 0, 2).is_err());
        assert!(header(48 << 20, 64 << 10, 1).is_ok());
        assert!(encode(&ToWorker::Cancel, &vec![0; INLINE_MAX + 1], false).is_err());
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_an_error_at_most(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(decode::<FromWorker>(&bytes));
            if let Ok(header) = <[u8; HEADER]>::try_from(bytes.as_slice()) {
                drop(Header::parse(header));
            }
        }
    }
}
