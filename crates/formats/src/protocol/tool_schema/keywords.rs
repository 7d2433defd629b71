//! The keywords of one level of a schema. What is below stays text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use crate::protocol::members::{Elements, Members, Sort, string};

/// Most alternatives, names or values in one list of a schema that are looked at.
const MAX_LISTED: usize = 1_024;

/// What a schema says of members that it does not name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum OtherMembers<'a> {
    /// They may be anything.
    #[default]
    Any,
    /// There are none.
    Refused,
    /// They fit this schema.
    Fit(&'a RawValue),
}

/// The least and the most of something.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SizeBounds {
    pub(crate) least: Option<f64>,
    pub(crate) most: Option<f64>,
}

/// A schema, or one level of it.
#[derive(Debug, Default)]
pub(crate) struct Keywords<'a> {
    /// True for the schema `false`, which nothing fits.
    pub(crate) is_never: bool,
    /// The names of types; empty if any is allowed.
    pub(crate) types: Vec<Cow<'a, str>>,
    /// The values that are allowed, if they are listed.
    pub(crate) choices: Option<Vec<&'a RawValue>>,
    /// The path of another part of the schema that the value also fits.
    pub(crate) reference: Option<Cow<'a, str>>,
    pub(crate) any_of: Vec<Vec<&'a RawValue>>,
    pub(crate) all_of: Vec<&'a RawValue>,
    pub(crate) properties: BTreeMap<Cow<'a, str>, &'a RawValue>,
    pub(crate) required: BTreeSet<Cow<'a, str>>,
    pub(crate) others: OtherMembers<'a>,
    pub(crate) items: Option<&'a RawValue>,
    pub(crate) value: SizeBounds,
    /// The bounds that a value must not reach.
    pub(crate) beyond: SizeBounds,
    pub(crate) length: SizeBounds,
    pub(crate) count: SizeBounds,
    pub(crate) members: SizeBounds,
}

impl<'a> Keywords<'a> {
    /// Reads a schema. One of another form says nothing.
    pub(crate) fn of(schema: &'a RawValue) -> Self {
        let mut read = Self { is_never: schema.get().trim() == "false", ..Self::default() };
        let Some(members) = Members::split(schema.get()) else { return read };
        let mut has_patterns = false;
        let mut has_places = false;
        for (name, value) in members.0 {
            match name.as_ref() {
                "type" => read.types = texts(value),
                "enum" => read.choices = list(value),
                "const" => read.choices = Some(vec![value]),
                "$ref" => read.reference = string(value),
                "anyOf" | "oneOf" => read.any_of.extend(list(value)),
                "allOf" => read.all_of = list(value).unwrap_or_default(),
                "properties" => {
                    let all = Members::split(value.get()).unwrap_or_default();
                    read.properties = all.0.into_iter().collect();
                }
                "required" if Sort::of(value) == Sort::Array => {
                    read.required = texts(value).into_iter().collect();
                }
                "additionalProperties" => read.others = others(value),
                "patternProperties" => has_patterns = true,
                "prefixItems" => has_places = true,
                "items" => read.items = Some(value).filter(|items| is_schema(items)),
                other => read.note_bound(other, value),
            }
        }
        if has_patterns {
            read.others = OtherMembers::Any;
        }
        if has_places {
            read.items = None;
        }
        read
    }

    fn note_bound(&mut self, name: &str, value: &RawValue) {
        let place = match name {
            "minimum" => &mut self.value.least,
            "maximum" => &mut self.value.most,
            "exclusiveMinimum" => &mut self.beyond.least,
            "exclusiveMaximum" => &mut self.beyond.most,
            "minLength" => &mut self.length.least,
            "maxLength" => &mut self.length.most,
            "minItems" => &mut self.count.least,
            "maxItems" => &mut self.count.most,
            "minProperties" => &mut self.members.least,
            "maxProperties" => &mut self.members.most,
            _ => return,
        };
        *place = number(value);
    }
}

/// A number as a double.
pub(crate) fn number(value: &RawValue) -> Option<f64> {
    if Sort::of(value) == Sort::Number { value.get().trim().parse().ok() } else { None }
}

fn others(value: &RawValue) -> OtherMembers<'_> {
    match value.get().trim() {
        "false" => OtherMembers::Refused,
        _ if is_schema(value) => OtherMembers::Fit(value),
        _ => OtherMembers::Any,
    }
}

fn is_schema(value: &RawValue) -> bool {
    matches!(Sort::of(value), Sort::Object | Sort::Boolean)
}

/// The elements of an array. `None` for something else, and for a longer one.
fn list(value: &RawValue) -> Option<Vec<&RawValue>> {
    let elements = Elements::split(value, MAX_LISTED)?;
    (elements.count <= MAX_LISTED).then_some(elements.first)
}

/// A string, or the strings of an array.
fn texts(value: &RawValue) -> Vec<Cow<'_, str>> {
    match string(value) {
        Some(text) => vec![text],
        None => list(value).unwrap_or_default().into_iter().filter_map(string).collect(),
    }
}
