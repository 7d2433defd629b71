//! The id that a client gives its request.

use serde::{Serialize, Serializer};

/// Longest id that is a string, in bytes. Answers and logs repeat the id.
pub const MAX_ID: usize = 256;

/// The id that a client gives its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestId {
    /// `null`, or unreadable.
    Null,
    /// A string of at most [`MAX_ID`] bytes.
    Text(String),
    /// An integer that fits into 64 bits, signed or unsigned.
    Integer(i128),
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Integer(number) => serializer.serialize_i128(*number),
        }
    }
}
