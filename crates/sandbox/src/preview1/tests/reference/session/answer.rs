//! The answer of a call, with its results by name.

use std::collections::BTreeMap;
use std::fmt;

/// Part of an answer.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Number(u64),
    Bytes(Vec<u8>),
    /// Names of a folder with their types.
    Names(BTreeMap<String, u8>),
    /// The present time, which differs between the two sides.
    Now,
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Bytes(bytes) if bytes.len() < 40 => write!(f, "b\"{}\"", bytes.escape_ascii()),
            Self::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Names(names) => names.fmt(f),
            Self::Now => f.write_str("now"),
        }
    }
}

/// The answer of a call: its error number, and if that is 0, its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub errno: u32,
    pub fields: Vec<(&'static str, Value)>,
}

impl Answer {
    pub(crate) fn number(&self, field: &str) -> Option<u64> {
        self.fields.iter().find_map(|(name, value)| match value {
            Value::Number(number) if *name == field => Some(*number),
            _ => None,
        })
    }
}
