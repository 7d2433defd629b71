//! The subset of JSON Schema that the tool table uses, and its serialisation.
//!
//! A [`Parameter`] is both printed as a schema and enforced by the check of parameters, so the
//! published schema and the behaviour agree. The operator sets the bounds of a run's limits: the
//! service enforces [`LimitBounds`], and a [`Published`] schema prints them.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::protocol::methods::limit_bounds::{Bounds, Limit, LimitBounds};
use crate::protocol::pattern::Pattern;
use crate::protocol::wording::listed;

/// One tool: a method of the protocol as a model sees it.
#[derive(Debug)]
pub struct Tool {
    /// Name of the tool and of the method.
    pub name: &'static str,
    /// The purpose of the tool, for the model.
    pub description: &'static str,
    /// The parameters, in the order in which they are published.
    pub parameters: &'static [Parameter],
}

/// One parameter of a tool, or one member of a parameter that is an object.
#[derive(Debug)]
pub struct Parameter {
    /// The name of the parameter.
    pub name: &'static str,
    /// Whether the parameter is required.
    pub(crate) presence: Presence,
    /// The expected values.
    pub shape: Shape,
    /// The meaning of the parameter, for the model.
    pub description: Option<&'static str>,
}

/// Whether a parameter is required.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// A call without the parameter is refused.
    Required,
    /// A call may leave the parameter out; `null` means the same.
    Optional,
}

/// The expected values of a parameter.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A string.
    Text(Text),
    /// True or false.
    Flag,
    /// One of a few strings.
    Choice {
        /// The strings.
        values: &'static [&'static str],
        /// The default, filled in if the parameter is left out.
        default: Option<&'static str>,
    },
    /// An integer.
    Integer(Integer),
    /// A positive integer: a limit on a run, within the operator's bounds.
    Limit(Limit),
    /// An array of different strings.
    TextList {
        /// The expected form of each string.
        item: Text,
        /// Most strings.
        max_items: usize,
    },
    /// An array of strings, which may repeat.
    WordList {
        /// The expected form of each string.
        item: Text,
        /// Most strings.
        max_items: usize,
    },
    /// An array of different strings and objects with these members.
    TextOrObjectList {
        /// The expected form of each string.
        item: Text,
        /// The members of each object.
        members: &'static [Parameter],
        /// Most strings and objects.
        max_items: usize,
    },
    /// A boolean, or an array of different strings.
    FlagOrList {
        /// The expected form of each string.
        item: Text,
        /// Most strings.
        max_items: usize,
    },
    /// A boolean, or an object with these members and no others.
    FlagOrObject(&'static [Parameter]),
    /// A text, or an object with these members and no others.
    TextOrObject(Text, &'static [Parameter]),
    /// An object with any members.
    AnyObject,
    /// An object with these members and no others.
    Object(&'static [Parameter]),
    /// An array of objects with these members and no others.
    ObjectList {
        /// The members of each object.
        members: &'static [Parameter],
        /// Most objects.
        max_items: usize,
    },
    /// Any value.
    Any,
}

/// The rules for a string.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// Maximum number of characters. With `None` only the limit on the whole body applies.
    pub(crate) max_length: Option<usize>,
    /// The expected form.
    pub pattern: Option<Pattern>,
    /// The published default. It is filled in if the parameter is left out, unless `shows_default`.
    pub default: Option<&'static str>,
    /// True if the method applies the default itself, because a missing parameter has a further
    /// meaning.
    pub(crate) shows_default: bool,
}

/// The rules for an integer.
#[derive(Debug, Clone, Copy)]
pub struct Integer {
    /// Smallest value.
    pub minimum: u64,
    /// Largest value. With `None` only the operator's limits apply.
    pub maximum: Option<u64>,
    /// The default.
    pub fallback: Fallback,
}

/// The default of an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallback {
    /// No default is published.
    None,
    /// This default is published and filled in.
    Filled(u64),
    /// This default is published. The method applies it, because it depends on another parameter.
    Shown(u64),
}

impl Text {
    /// A string of any length.
    pub const ANY: Self =
        Self { max_length: None, pattern: None, default: None, shows_default: false };

    /// A string of at most `characters`.
    #[must_use]
    pub const fn up_to(characters: usize) -> Self {
        Self { max_length: Some(characters), ..Self::ANY }
    }
}

impl Parameter {
    /// A required parameter.
    #[must_use]
    pub const fn required(name: &'static str, shape: Shape, description: &'static str) -> Self {
        let description = Some(description);
        Self { name, presence: Presence::Required, shape, description }
    }

    /// An optional parameter.
    #[must_use]
    pub const fn optional(name: &'static str, shape: Shape, description: &'static str) -> Self {
        let description = Some(description);
        Self { name, presence: Presence::Optional, shape, description }
    }

    /// The expectation, as the end of a sentence that begins with "must be".
    #[must_use]
    pub fn expectation(&self) -> String {
        match self.shape {
            Shape::Text(text) => text.expectation(),
            Shape::Flag => "true or false".to_owned(),
            Shape::Choice { values: [only], .. } => format!("\"{only}\""),
            Shape::Choice { values, .. } => {
                format!("one of {}", listed(values.iter().copied(), "or"))
            }
            Shape::Integer(Integer { minimum, maximum: Some(maximum), .. }) => {
                format!("an integer between {minimum} and {maximum}")
            }
            Shape::Integer(Integer { minimum, maximum: None, .. }) => {
                format!("an integer of at least {minimum}")
            }
            Shape::Limit(_) => Bounds::ANY.expectation(),
            Shape::TextList { max_items, .. } => {
                format!("an array of at most {max_items} different strings")
            }
            Shape::WordList { max_items, .. } => {
                format!("an array of at most {max_items} strings")
            }
            Shape::TextOrObjectList { max_items, .. } => {
                format!("an array of at most {max_items} different strings or objects")
            }
            Shape::FlagOrList { max_items, .. } => {
                format!("true, false or an array of at most {max_items} different strings")
            }
            Shape::FlagOrObject(_) => "true, false or an object".to_owned(),
            Shape::TextOrObject(text, _) => format!("{} or an object", text.expectation()),
            Shape::AnyObject | Shape::Object(_) => "an object".to_owned(),
            Shape::ObjectList { max_items, .. } => {
                format!("an array of at most {max_items} objects")
            }
            Shape::Any => "any value".to_owned(),
        }
    }
}

impl Text {
    /// The expectation, as the end of a sentence that begins with "must be".
    #[must_use]
    pub fn expectation(&self) -> String {
        match (self.pattern, self.max_length) {
            (Some(pattern), Some(most)) => {
                format!("{}, at most {most} characters long", pattern.words())
            }
            (Some(pattern), None) => pattern.words().to_owned(),
            (None, Some(most)) => format!("a string of at most {most} characters"),
            (None, None) => "a string".to_owned(),
        }
    }

    fn serialize_limits<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("type", "string")?;
        if let Some(default) = self.default {
            map.serialize_entry("default", default)?;
        }
        if let Some(most) = self.max_length {
            map.serialize_entry("maxLength", &most)?;
        }
        if let Some(pattern) = self.pattern {
            map.serialize_entry("pattern", pattern.regex())?;
        }
        Ok(())
    }
}

/// Prints the schema of a string in an array.
impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_limits(&mut map)?;
        map.end()
    }
}

/// A part of the tool table as a server with these bounds publishes it.
#[derive(Debug, Clone, Copy)]
pub struct Published<'a, T> {
    /// The part.
    pub part: T,
    /// The limits that the server accepts.
    pub bounds: &'a LimitBounds,
}

/// Prints the parameter's schema, without its name.
impl Serialize for Published<'_, &Parameter> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { part, bounds } = *self;
        let mut map = serializer.serialize_map(None)?;
        match &part.shape {
            Shape::Text(text) => text.serialize_limits(&mut map)?,
            Shape::Flag => map.serialize_entry("type", "boolean")?,
            Shape::Choice { values, default } => {
                map.serialize_entry("type", "string")?;
                map.serialize_entry("enum", values)?;
                if let Some(default) = default {
                    map.serialize_entry("default", default)?;
                }
            }
            Shape::Integer(Integer { fallback, minimum, maximum }) => {
                map.serialize_entry("type", "integer")?;
                if let Fallback::Filled(default) | Fallback::Shown(default) = fallback {
                    map.serialize_entry("default", default)?;
                }
                serialize_bounds(&mut map, *minimum, *maximum)?;
            }
            Shape::Limit(limit) => {
                let Bounds { least, most } = bounds.of(*limit);
                map.serialize_entry("type", "integer")?;
                serialize_bounds(&mut map, least, most)?;
            }
            Shape::TextList { item, max_items } | Shape::WordList { item, max_items } => {
                let is_unique = matches!(part.shape, Shape::TextList { .. });
                serialize_list(&mut map, item, *max_items, is_unique)?;
            }
            Shape::TextOrObjectList { item, members, max_items } => {
                let any_of = (item, OneObject { members, bounds });
                serialize_list(&mut map, &EitherForm { any_of }, *max_items, true)?;
            }
            Shape::FlagOrList { item, max_items } => {
                let list = serde_json::json!({
                    "type": "array", "items": item, "maxItems": max_items, "uniqueItems": true,
                });
                map.serialize_entry("anyOf", &[flag(), list])?;
            }
            Shape::FlagOrObject(members) => {
                map.serialize_entry("anyOf", &(flag(), OneObject { members, bounds }))?;
            }
            Shape::TextOrObject(text, members) => {
                map.serialize_entry("anyOf", &(text, OneObject { members, bounds }))?;
            }
            Shape::AnyObject => map.serialize_entry("type", "object")?,
            Shape::Object(members) => {
                map.serialize_entry("type", "object")?;
                map.serialize_entry("properties", &Properties { members, bounds })?;
            }
            Shape::ObjectList { members, max_items } => {
                let item = Published { part: ParametersSchema(members), bounds };
                serialize_list(&mut map, &item, *max_items, false)?;
            }
            Shape::Any => {}
        }
        if let Some(description) = part.description {
            map.serialize_entry("description", description)?;
        }
        map.end()
    }
}

/// The schema of a boolean.
fn flag() -> serde_json::Value {
    serde_json::json!({ "type": "boolean" })
}

/// Prints the bounds of an integer.
fn serialize_bounds<M: SerializeMap>(
    map: &mut M,
    least: u64,
    most: Option<u64>,
) -> Result<(), M::Error> {
    map.serialize_entry("minimum", &least)?;
    most.map_or(Ok(()), |most| map.serialize_entry("maximum", &most))
}

/// Prints the members of the schema of an array.
fn serialize_list<M: SerializeMap>(
    map: &mut M,
    item: &impl Serialize,
    max_items: usize,
    is_unique: bool,
) -> Result<(), M::Error> {
    map.serialize_entry("type", "array")?;
    map.serialize_entry("items", item)?;
    map.serialize_entry("maxItems", &max_items)?;
    if is_unique { map.serialize_entry("uniqueItems", &true) } else { Ok(()) }
}

/// Prints the schema of a value that has one of several forms.
#[derive(Serialize)]
struct EitherForm<T> {
    #[serde(rename = "anyOf")]
    any_of: T,
}

/// Prints the schema of an object as one of two.
struct OneObject<'a> {
    members: &'static [Parameter],
    bounds: &'a LimitBounds,
}

impl Serialize for OneObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { members, bounds } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties { members, bounds })?;
        serialize_required(members, &mut map)?;
        map.end()
    }
}

/// Prints the names of required parameters, if there are any.
fn serialize_required<M: SerializeMap>(members: &[Parameter], map: &mut M) -> Result<(), M::Error> {
    let is_required = |parameter: &&Parameter| parameter.presence == Presence::Required;
    let required: Vec<&str> =
        members.iter().filter(is_required).map(|parameter| parameter.name).collect();
    if required.is_empty() { Ok(()) } else { map.serialize_entry("required", &required) }
}

/// Prints parameters as the `properties` of an object, in their order.
struct Properties<'a> {
    members: &'static [Parameter],
    bounds: &'a LimitBounds,
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bounds = self.bounds;
        let published = |part| Published { part, bounds };
        serializer.collect_map(self.members.iter().map(|member| (member.name, published(member))))
    }
}

/// The parameters of a tool, printed as the JSON Schema of an object.
#[derive(Debug, Clone, Copy)]
pub struct ParametersSchema(&'static [Parameter]);

impl Tool {
    /// The schema of the tool's parameters.
    #[must_use]
    pub const fn schema(&self) -> ParametersSchema {
        ParametersSchema(self.parameters)
    }
}

impl Serialize for Published<'_, ParametersSchema> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (members, bounds) = (self.part.0, self.bounds);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties { members, bounds })?;
        serialize_required(members, &mut map)?;
        map.end()
    }
}

/// Prints a tool in the protocol's own format.
impl Serialize for Published<'_, &Tool> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { part: tool, bounds } = *self;
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("name", tool.name)?;
        map.serialize_entry("description", tool.description)?;
        map.serialize_entry("parameters", &Published { part: tool.schema(), bounds })?;
        map.end()
    }
}
