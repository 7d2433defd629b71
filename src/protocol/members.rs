//! The members of an object and the elements of an array, each value still as text: one level of
//! JSON, nothing copied, so that a large body never becomes a much larger tree.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Names and values in the order of the text. Only for texts that passed
/// [`strict`](crate::protocol::strict), so a name appears once.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(pub(crate) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Splits an object; `None` if the text is something else.
    pub(crate) fn split(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The value of a member.
    pub(crate) fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|member| member.0 == name).map(|member| member.1)
    }
}

/// A string that is borrowed where it has no escapes.
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

/// The elements of one JSON array, each still as text.
#[derive(Debug)]
pub(crate) struct Elements<'a> {
    /// The first of them, as many as were asked for.
    pub(crate) first: Vec<&'a RawValue>,
    /// How many there are.
    pub(crate) count: usize,
}

impl<'a> Elements<'a> {
    /// Splits an array, keeping at most `most` elements; `None` if the text is something else.
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

/// The string that a value is.
pub(crate) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Name<'_>>(value.get()).ok().map(|text| text.0)
}

/// The sorts of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Null,
    Boolean,
    Number,
    Text,
    Array,
    Object,
}

impl Sort {
    /// The sort of a complete JSON value: its first character tells.
    pub(crate) fn of(value: &RawValue) -> Self {
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
