//! The shape of an input's values: type, parts and bounds.
//!
//! Keys have the names and meanings of JSON Schema 2020-12, except that `required` is a key of the
//! required part itself.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Range;

use serde_json::{Number, Value as Json};

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::Fields;
use crate::skill::similar::did_you_mean;
use crate::skill::source::node::{SourceEntry, SourceNode, SourceValue};
use crate::skill::text::{is_one_line, quoted};
use wardian_vocabulary::ids::BlobId;

/// Longest name of an input or a part of one, in characters.
pub const MAX_NAME: usize = 64;

/// Most values in `enum`.
const MAX_ALLOWED: usize = 256;

/// The keys of a shape.
const SHAPE_KEYS: [&str; 11] = [
    "type",
    "description",
    "enum",
    "items",
    "properties",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
];

/// The types of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum InputType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// The id of a stored blob, which is mounted for the run.
    Blob,
    /// A value of any type.
    Any,
}

impl InputType {
    const ALL: [Self; 8] = [
        Self::String,
        Self::Integer,
        Self::Number,
        Self::Boolean,
        Self::Object,
        Self::Array,
        Self::Blob,
        Self::Any,
    ];

    /// The word in a manifest.
    #[must_use]
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Blob => "blob",
            Self::Any => "any",
        }
    }

    /// The type for a word that authors often write instead of its name.
    fn of_synonym(word: &str) -> Option<Self> {
        match word {
            "str" | "text" => Some(Self::String),
            "int" => Some(Self::Integer),
            "float" | "double" | "decimal" => Some(Self::Number),
            "bool" => Some(Self::Boolean),
            "dict" | "map" | "table" => Some(Self::Object),
            "list" => Some(Self::Array),
            "file" => Some(Self::Blob),
            _ => None,
        }
    }

    /// True if `value` is of this type.
    #[must_use]
    pub(crate) fn accepts(self, value: &Json) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
            Self::Blob => value.as_str().is_some_and(|text| BlobId::parse(text).is_ok()),
            Self::Any => true,
        }
    }
}

/// Prints the type with its article: `an integer`.
impl fmt::Display for InputType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "a string",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Object => "an object",
            Self::Array => "an array",
            Self::Blob => "the id of a blob",
            Self::Any => "anything",
        })
    }
}

/// The rules for a value.
#[derive(Debug, Clone, PartialEq)]
pub struct InputShape {
    /// Its type.
    pub(crate) input_type: InputType,
    /// The purpose of the value, in the author's words.
    pub description: Option<String>,
    /// The allowed values; empty if all are allowed.
    pub allowed: Vec<Json>,
    /// The shape of each item of an array.
    pub items: Option<Box<InputShape>>,
    /// Members of an object that its author describes, by name. An object may have others as well.
    pub properties: Vec<Property>,
    /// The number of required members.
    pub required: usize,
    /// Least and greatest number.
    pub range: (Option<Number>, Option<Number>),
    /// Fewest and most characters of a string, or items of an array.
    pub size: (Option<u64>, Option<u64>),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// Its name.
    pub name: String,
    /// The shape of its values.
    pub shape: InputShape,
    /// True if the object must have it.
    pub is_required: bool,
}

impl InputShape {
    /// The shape of all values of a type.
    #[must_use]
    pub(crate) const fn of_type(input_type: InputType) -> Self {
        Self {
            input_type,
            description: None,
            allowed: Vec::new(),
            items: None,
            properties: Vec::new(),
            required: 0,
            range: (None, None),
            size: (None, None),
        }
    }

    /// The described member called `name`.
    pub fn property(&self, name: &str) -> Option<&Property> {
        let at = self.properties.binary_search_by(|property| property.name.as_str().cmp(name));
        at.ok().and_then(|at| self.properties.get(at))
    }

    /// Reads the keys of `fields`. Its own name is at `key_span`. `others` are keys that the caller
    /// reads.
    pub fn read(
        key_span: &Range<usize>,
        fields: &Fields<'_>,
        others: &[&str],
        findings: &mut Findings<'_>,
    ) -> Self {
        fields.warn_misspelt(&[&SHAPE_KEYS, others].concat(), findings);
        let description = fields.text("description", "description = \"What it is for\"", findings);
        let mut shape = Self::of_type(read_type(key_span, fields, findings));
        shape.description = description.map(|text| text.text.to_owned());
        shape.allowed = read_allowed(&shape, fields, findings);
        for key in SHAPE_KEYS {
            let Some(entry) = fields.entry(key) else { continue };
            let path = fields.path(key);
            let fitting: &[InputType] = match key {
                "items" | "minItems" | "maxItems" => &[InputType::Array],
                "properties" => &[InputType::Object],
                "minimum" | "maximum" => &[InputType::Integer, InputType::Number],
                "minLength" | "maxLength" => &[InputType::String],
                _ => continue,
            };
            if !fitting.contains(&shape.input_type) {
                let message = format!("`{path}` has no effect on {}", shape.input_type);
                findings.warning(&entry.key_span, Problem::new("no-effect", message));
                continue;
            }
            let must_be = shape.read_part(key, &path, entry, findings);
            if let Err(must_be) = must_be {
                let message = format!("`{path}` is not checked: it must be {must_be}");
                findings.warning(&entry.node.span, Problem::new("invalid-shape", message));
            }
        }
        shape.check_bounds(fields, findings);
        shape
    }

    /// Refuses a least size or value that is greater than the most one: no value would fit.
    fn check_bounds(&self, fields: &Fields<'_>, findings: &mut Findings<'_>) {
        let (least, most) = (&self.range.0, &self.range.1);
        let range = least.as_ref().zip(most.as_ref());
        let is_empty_range = range.is_some_and(|(least, most)| is_greater(least, most));
        let is_empty_size = self.size.0.zip(self.size.1).is_some_and(|(least, most)| least > most);
        let (least, most) = match (is_empty_range, is_empty_size, self.input_type) {
            (true, _, _) => ("minimum", "maximum"),
            (_, true, InputType::Array) => ("minItems", "maxItems"),
            (_, true, _) => ("minLength", "maxLength"),
            (false, false, _) => return,
        };
        if let Some(entry) = fields.entry(least) {
            let (least, most) = (fields.path(least), fields.path(most));
            let message = format!("`{least}` is greater than `{most}`, so no value fits");
            findings.error(&entry.node.span, Problem::new("no-value-fits", message));
        }
    }

    /// Reads one key that fits the type. An error describes the expected value.
    fn read_part(
        &mut self,
        key: &str,
        path: &str,
        entry: &SourceEntry,
        findings: &mut Findings<'_>,
    ) -> Result<(), &'static str> {
        let node = &entry.node;
        match key {
            "items" => self.items = Some(Box::new(read_nested(path, entry, findings)?)),
            "properties" => {
                self.properties = read_properties(path, node, findings)?;
                self.properties.sort_by(|one, other| one.name.cmp(&other.name));
                let required = self.properties.iter().filter(|property| property.is_required);
                self.required = required.count();
            }
            "minimum" => self.range.0 = Some(number(node)?),
            "maximum" => self.range.1 = Some(number(node)?),
            "minLength" | "minItems" => self.size.0 = Some(count(node)?),
            _ => self.size.1 = Some(count(node)?),
        }
        Ok(())
    }

    /// Returns the value under `path` if it is of the type. Otherwise adds an error.
    pub(crate) fn checked_value(
        &self,
        path: &str,
        node: &SourceNode,
        findings: &mut Findings<'_>,
    ) -> Option<Json> {
        let value = node.to_json();
        if self.input_type.accepts(&value) {
            return Some(value);
        }
        let message = format!("`{path}` must be {}, not {}", self.input_type, node.kind());
        findings.error(&node.span, Problem::new("wrong-type", message));
        None
    }
}

fn number(node: &SourceNode) -> Result<Number, &'static str> {
    match node.to_json() {
        Json::Number(number) => Ok(number),
        _ => Err("a number"),
    }
}

/// Compares two numbers exactly: beyond 2^53 a float is not every integer.
fn is_greater(one: &Number, other: &Number) -> bool {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one > other,
        (Some(one), None) => other.as_f64().is_some_and(|other| compare(one, other).is_gt()),
        (None, Some(other)) => one.as_f64().is_some_and(|one| compare(other, one).is_lt()),
        (None, None) => one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| one > other),
    }
}

/// Compares an integer of at most 64 bits with a float. Numbers of JSON are finite.
fn compare(integer: i128, float: f64) -> Ordering {
    // A float beyond 128 bits becomes the integer that is nearest to it, which is beyond 64 bits.
    #[expect(clippy::cast_possible_truncation, reason = "the fraction is looked at below")]
    let whole = float.trunc() as i128;
    integer.cmp(&whole).then_with(|| {
        let fraction = float.fract();
        0.0_f64.total_cmp(&(fraction + 0.0))
    })
}

fn count(node: &SourceNode) -> Result<u64, &'static str> {
    node.to_json().as_u64().ok_or("a whole number, zero or more")
}

/// Reads a shape within another: a table, or only the name of a type.
fn read_nested(
    path: &str,
    entry: &SourceEntry,
    findings: &mut Findings<'_>,
) -> Result<InputShape, &'static str> {
    if let SourceValue::Text(word) = &entry.node.value {
        return Ok(InputShape::of_type(type_of_word(path, word, &entry.node.span, findings)));
    }
    let SourceValue::Table(_) = entry.node.value else {
        return Err("a table, such as `{ type = \"string\" }`");
    };
    let fields = Fields::of_node(path, &entry.node, findings).ok_or("a table")?;
    if let Some(default) = fields.entry("default") {
        let message = format!("`{path}.default` is only shown to callers, not filled in");
        findings.warning(&default.key_span, Problem::new("no-effect", message));
    }
    Ok(InputShape::read(&entry.key_span, &fields, &["default", "required"], findings))
}

fn read_properties(
    path: &str,
    node: &SourceNode,
    findings: &mut Findings<'_>,
) -> Result<Vec<Property>, &'static str> {
    const MUST_BE: &str = "a table with a table for each member";
    let SourceValue::Table(entries) = &node.value else { return Err(MUST_BE) };
    let mut properties = Vec::new();
    for entry in entries {
        let name = entry.key.as_str();
        if !is_name(name) {
            return Err("a table whose keys have 1 to 64 characters in one line");
        }
        let path = format!("{path}.{name}");
        let shape = read_nested(&path, entry, findings).map_err(|_detail| MUST_BE)?;
        let is_required = match &entry.node.value {
            SourceValue::Table(_) => Fields::of_node(&path, &entry.node, findings)
                .and_then(|fields| fields.boolean("required", findings))
                .unwrap_or(false),
            _ => false,
        };
        properties.push(Property { name: name.to_owned(), shape, is_required });
    }
    Ok(properties)
}

/// True for a valid name of an input or of a part of one.
pub fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= MAX_NAME && is_one_line(name)
}

fn read_type(
    key_span: &Range<usize>,
    fields: &Fields<'_>,
    findings: &mut Findings<'_>,
) -> InputType {
    if fields.entry("type").is_none() {
        let message = format!("{} has no `type`, so anything is accepted", subject(&fields.name()));
        findings.warning(key_span, Problem::new("input-without-type", message));
        return InputType::Any;
    }
    let Some(text) = fields.text("type", "type = \"string\"", findings) else {
        return InputType::Any;
    };
    type_of_word(&fields.name(), text.text, text.span, findings)
}

/// The name of the input or part at `path` in messages.
fn subject(path: &str) -> String {
    match path.strip_prefix("inputs.") {
        Some(name) if !name.contains('.') => format!("the input `{name}`"),
        _ => format!("`{path}`"),
    }
}

fn type_of_word(
    path: &str,
    word: &str,
    span: &Range<usize>,
    findings: &mut Findings<'_>,
) -> InputType {
    let known = InputType::ALL.into_iter().find(|kind| kind.as_str() == word);
    known.unwrap_or_else(|| {
        let help = match InputType::of_synonym(word) {
            Some(meant) => Some(format!("did you mean `{}`?", meant.as_str())),
            None => did_you_mean(word, InputType::ALL.map(InputType::as_str)),
        };
        let known = InputType::ALL.map(InputType::as_str).join(", ");
        let message = format!("the type {} of {} is not checked", quoted(word), subject(path));
        let help = help.unwrap_or(format!("known types are {known}"));
        findings.warning(span, Problem::new("unknown-type", message).help(help));
        InputType::Any
    })
}

fn read_allowed(shape: &InputShape, fields: &Fields<'_>, findings: &mut Findings<'_>) -> Vec<Json> {
    let Some(node) = fields.node("enum") else { return Vec::new() };
    let path = fields.path("enum");
    let items = match &node.value {
        SourceValue::Array(items) if (1..=MAX_ALLOWED).contains(&items.len()) => items,
        _ => {
            let message = format!("`{path}` must be a list of 1 to {MAX_ALLOWED} values");
            findings.error(&node.span, Problem::new("invalid-enum", message));
            return Vec::new();
        }
    };
    items.iter().filter_map(|item| shape.checked_value(&path, item, findings)).collect()
}
