//! A tree of parsed values that keeps the order of keys and the place of each value.
//!
//! Both formats of a skill, TOML and YAML, become this tree, so that checks and messages are
//! written once.

use std::ops::Range;

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::value::RawValue;

/// Deepest nesting of tables and arrays. A manifest needs four.
pub(crate) const MAX_DEPTH: usize = 16;

/// One value and its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceNode {
    pub span: Range<usize>,
    pub value: SourceValue,
}

/// The values of manifests.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceValue {
    Null,
    Bool(bool),
    Integer(i64),
    /// Beyond `i64::MAX`; only YAML has these.
    Unsigned(u64),
    /// Always finite, because JSON has no other floats.
    Float(f64),
    Text(String),
    /// A date, a time or both, as written.
    Time(String),
    Array(Vec<SourceNode>),
    Table(Vec<SourceEntry>),
}

/// One key of a table and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceEntry {
    pub key: String,
    pub(crate) key_span: Range<usize>,
    pub node: SourceNode,
}

impl SourceNode {
    /// The type of the value, for messages: `a string`.
    pub const fn kind(&self) -> &'static str {
        match self.value {
            SourceValue::Null => "nothing",
            SourceValue::Bool(_) => "a boolean",
            SourceValue::Integer(_) | SourceValue::Unsigned(_) => "an integer",
            SourceValue::Float(_) => "a float",
            SourceValue::Text(_) => "a string",
            SourceValue::Time(_) => "a date or time",
            SourceValue::Array(_) => "a list",
            SourceValue::Table(_) => "a table",
        }
    }

    /// The JSON text, keys in the order of this tree; `None` if the tree cannot be written as JSON.
    pub(crate) fn to_raw_json(&self) -> Option<Box<RawValue>> {
        serde_json::value::to_raw_value(self).ok()
    }

    /// The tree as an ordinary JSON value.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl Serialize for SourceNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            SourceValue::Null => serializer.serialize_unit(),
            SourceValue::Bool(value) => serializer.serialize_bool(*value),
            SourceValue::Integer(value) => serializer.serialize_i64(*value),
            SourceValue::Unsigned(value) => serializer.serialize_u64(*value),
            SourceValue::Float(value) => serializer.serialize_f64(*value),
            SourceValue::Text(text) | SourceValue::Time(text) => serializer.serialize_str(text),
            SourceValue::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            SourceValue::Table(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for entry in entries {
                    map.serialize_entry(&entry.key, &entry.node)?;
                }
                map.end()
            }
        }
    }
}

/// Puts the entries named in `order` first, in that order, and leaves the others as they are.
pub(crate) fn put_first(entries: &mut [SourceEntry], order: &[&str]) {
    entries
        .sort_by_key(|entry| order.iter().position(|key| *key == entry.key).unwrap_or(order.len()));
}
