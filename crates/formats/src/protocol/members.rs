//! Splits a JSON object into members and a JSON array into elements. Each value stays text and
//! nothing is copied, so a large body never becomes a much larger tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object, in the order of the text. Only for texts that passed
/// [`strict`](crate::protocol::strict), so each name is unique.
#[derive(Debug, Default)]
pub struct Members<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Splits an object. Returns `None` if the text is not an object.
    pub fn split(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value of a member.
    pub fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|member| member.0 == name).map(|member| member.1)
    }
}

/// A string, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

/// The elements of a JSON array, each as text.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    /// The first elements, up to the requested number.
    pub first: Vec<&'a RawValue>,
    /// The number of all elements.
    pub count: usize,
}

impl<'a> Elements<'a> {
    /// Splits an array and keeps at most `most` elements. Returns `None` if the text is not an
    /// array.
    pub(crate) fn split(text: &'a RawValue, most: usize) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text.get());
        deserializer.deserialize_seq(ElementsVisitor { most }).ok()
    }
}

struct ElementsVisitor {
    most: usize,
}

impl<'de> Visitor<'de> for ElementsVisitor {
    type Value = Elements<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut split = Elements { first: Vec::new(), count: 0 };
        while split.count < self.most {
            let Some(element) = elements.next_element()? else { return Ok(split) };
            split.first.push(element);
            split.count = split.count.saturating_add(1);
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {
            split.count = split.count.saturating_add(1);
        }
        Ok(split)
    }
}

/// Returns the value as a string, if it is one.
pub fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Name<'_>>(value.get()).ok().map(|text| text.0)
}

/// The types of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    Text,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Sort {
    /// The type of a valid JSON value, by its first character.
    pub fn of(value: &RawValue) -> Self {
        match value.get().trim_start().bytes().next() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::Text,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') | None => Self::Null,
            Some(_) => Self::Number,
        }
    }
}
