//! The `[inputs]` section: which arguments a skill takes.
//!
//! The protocol calls this section informal. So types that we do not know and keys that we do
//! not read are kept and shown, but not checked; what we do understand is checked before a run.
//!
//! An input is optional unless its author writes `required = true`, an extension of this runtime.

use std::fmt;

use serde_json::Value as Json;

use crate::ids::BlobId;
use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::Fields;
use crate::skill::similar::did_you_mean;
use crate::skill::source::node::{SourceEntry, SourceNode, SourceValue};
use crate::skill::text::{is_one_line, quoted};

/// Most inputs.
const MAX_INPUTS: usize = 64;

/// Longest name of an input, in characters.
const MAX_NAME: usize = 64;

/// Most values that an input may be limited to.
const MAX_ALLOWED: usize = 256;

const KEYS: [&str; 5] = ["type", "description", "enum", "default", "required"];

/// The types of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputType {
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
    /// Anything.
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

    /// The word that stands in a manifest.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
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

    /// The type that an author means by a name of another language.
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
    pub fn accepts(self, value: &Json) -> bool {
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

/// One argument that a skill takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its key in `args`.
    pub name: String,
    /// The type of its values.
    pub input_type: InputType,
    /// Its purpose, in the author's words.
    pub description: Option<String>,
    /// The only values it may have; empty if there is no such list.
    pub allowed: Vec<Json>,
    /// The value if the caller gives none.
    pub default: Option<Json>,
    /// True if the caller must give it.
    pub is_required: bool,
}

/// The arguments that a skill takes, in its author's order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs(Vec<Input>);

impl Inputs {
    /// All inputs.
    pub fn iter(&self) -> std::slice::Iter<'_, Input> {
        self.0.iter()
    }

    /// The input called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Input> {
        self.0.iter().find(|input| input.name == name)
    }

    pub(crate) fn read(fields: &Fields<'_>, findings: &mut Findings<'_>) -> Self {
        let Some(section) = fields.table("inputs", findings) else { return Self::default() };
        let entries = section.entries();
        if let Some(beyond) = entries.get(MAX_INPUTS) {
            let message =
                format!("`[inputs]` has {} entries, more than {MAX_INPUTS}", entries.len());
            findings.error(&beyond.key_span, Problem::new("too-many", message));
            return Self::default();
        }
        Self(entries.iter().filter_map(|entry| read_input(entry, findings)).collect())
    }
}

impl FromIterator<Input> for Inputs {
    fn from_iter<I: IntoIterator<Item = Input>>(inputs: I) -> Self {
        Self(inputs.into_iter().collect())
    }
}

impl<'i> IntoIterator for &'i Inputs {
    type Item = &'i Input;
    type IntoIter = std::slice::Iter<'i, Input>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

fn read_input(entry: &SourceEntry, findings: &mut Findings<'_>) -> Option<Input> {
    let name = entry.key.as_str();
    if name.trim().is_empty() || name.chars().count() > MAX_NAME || !is_one_line(name) {
        let message = format!(
            "the name of an input must have 1 to {MAX_NAME} characters, none of them a control character"
        );
        findings.error(&entry.key_span, Problem::new("invalid-input", message));
        return None;
    }
    let SourceValue::Table(_) = entry.node.value else {
        let message = format!("the input `{name}` must be a table, not {}", entry.node.kind());
        let help = "such as `{ type = \"string\", description = \"What it is for\" }`";
        findings.error(&entry.node.span, Problem::new("wrong-type", message).help(help));
        return None;
    };
    let fields = Fields::of_node(&format!("inputs.{name}"), &entry.node, findings)?;
    fields.warn_misspelt(&KEYS, findings);
    let description = fields.text("description", "description = \"What it is for\"", findings);
    let mut input = Input {
        name: name.to_owned(),
        input_type: read_type(entry, &fields, findings),
        description: description.map(|text| text.text.to_owned()),
        allowed: Vec::new(),
        default: None,
        is_required: fields.boolean("required", findings).unwrap_or(false),
    };
    input.allowed = read_allowed(&input, &fields, findings);
    input.default = read_default(&input, &fields, findings);
    Some(input)
}

fn read_type(entry: &SourceEntry, fields: &Fields<'_>, findings: &mut Findings<'_>) -> InputType {
    let name = entry.key.as_str();
    if fields.entry("type").is_none() {
        let message = format!("the input `{name}` has no `type`, so anything is accepted");
        findings.warning(&entry.key_span, Problem::new("input-without-type", message));
        return InputType::Any;
    }
    let Some(text) = fields.text("type", "type = \"string\"", findings) else {
        return InputType::Any;
    };
    let known = InputType::ALL.into_iter().find(|kind| kind.as_str() == text.text);
    known.unwrap_or_else(|| {
        let help = match InputType::of_synonym(text.text) {
            Some(meant) => Some(format!("did you mean `{}`?", meant.as_str())),
            None => did_you_mean(text.text, InputType::ALL.map(InputType::as_str)),
        };
        let known = InputType::ALL.map(InputType::as_str).join(", ");
        let message =
            format!("the type {} of the input `{name}` is not checked", quoted(text.text));
        let help = help.unwrap_or(format!("known types are {known}"));
        findings.warning(text.span, Problem::new("unknown-type", message).help(help));
        InputType::Any
    })
}

fn read_allowed(input: &Input, fields: &Fields<'_>, findings: &mut Findings<'_>) -> Vec<Json> {
    let name = &input.name;
    let Some(node) = fields.node("enum") else { return Vec::new() };
    let items = match &node.value {
        SourceValue::Array(items) if (1..=MAX_ALLOWED).contains(&items.len()) => items,
        _ => {
            let message =
                format!("`inputs.{name}.enum` must be a list of 1 to {MAX_ALLOWED} values");
            findings.error(&node.span, Problem::new("invalid-enum", message));
            return Vec::new();
        }
    };
    items.iter().filter_map(|item| checked_value(input, "enum", item, findings)).collect()
}

fn read_default(input: &Input, fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<Json> {
    let node = fields.node("default")?;
    let value = checked_value(input, "default", node, findings)?;
    let name = &input.name;
    if !input.allowed.is_empty() && !input.allowed.iter().any(|one| is_same(one, &value)) {
        let message = format!("`inputs.{name}.default` is none of the values in `enum`");
        findings.error(&node.span, Problem::new("invalid-default", message));
        return None;
    }
    if input.is_required {
        let message =
            format!("`inputs.{name}.default` is never used, because the input is required");
        findings.warning(&node.span, Problem::new("no-effect", message));
    }
    Some(value)
}

fn checked_value(
    input: &Input,
    key: &'static str,
    node: &SourceNode,
    findings: &mut Findings<'_>,
) -> Option<Json> {
    let value = node.to_json();
    if input.input_type.accepts(&value) {
        return Some(value);
    }
    let message =
        format!("`inputs.{}.{key}` must be {}, not {}", input.name, input.input_type, node.kind());
    findings.error(&node.span, Problem::new("wrong-type", message));
    None
}

/// True if the two are equal, numbers by value: `1` is `1.0`.
pub(crate) fn is_same(one: &Json, other: &Json) -> bool {
    let numbers = one.as_f64().zip(other.as_f64());
    #[expect(clippy::float_cmp, reason = "the same number written twice is the same float")]
    numbers.map_or_else(|| one == other, |(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::source::from_toml;

    fn read(section: &str) -> (Inputs, String) {
        let text = format!("[inputs]\n{section}");
        let mut findings = Findings::new("skill.toml", &text);
        let root = from_toml::parse(&mut findings).unwrap();
        let inputs = Inputs::read(&Fields::of_file(&root).unwrap(), &mut findings);
        let lines: Vec<_> = findings.into_diagnostics().iter().map(ToString::to_string).collect();
        (inputs, lines.join("\n"))
    }

    #[test]
    fn documented_inputs_are_understood_in_order() {
        let (inputs, found) = read(
            "sheet_blob = { type = \"blob\", description = \"Blob id of the source sheet\" }\n\
             row_limit = { type = \"integer\", description = \"Maximum rows to sync (optional)\" }\n\
             currency = { type = \"string\", default = \"USD\", description = \"Currency code\" }\n\
             who = { type = \"string\", required = true, format = \"email\" }",
        );
        assert_eq!(found, "");
        let names: Vec<_> =
            inputs.iter().map(|input| (input.name.as_str(), input.is_required)).collect();
        assert_eq!(
            names,
            [("sheet_blob", false), ("row_limit", false), ("currency", false), ("who", true)]
        );
    }

    #[rustfmt::skip]
    const UNKNOWN: &[(&str, &str)] = &[
        ("a = { description = \"x\" }", "2:1: warning: the input `a` has no `type`, so anything is accepted"),
        ("a = { type = \"str\" }", "2:14: warning: the type \"str\" of the input `a` is not checked; did you mean `string`?"),
        ("a = { type = \"interger\" }", "2:14: warning: the type \"interger\" of the input `a` is not checked; did you mean `integer`?"),
        ("a = { type = \"date\" }", "2:14: warning: the type \"date\" of the input `a` is not checked; known types are string, integer, number, boolean, object, array, blob, any"),
        ("a = { type = \"any\", defualt = 1 }", "2:21: warning: unknown key \"inputs.a.defualt\"; did you mean `default`?"),
        ("a = { type = \"any\", required = true, default = 1 }", "2:48: warning: `inputs.a.default` is never used, because the input is required"),
    ];

    #[test]
    fn what_is_unknown_is_kept_unchecked() {
        for &(line, expected) in UNKNOWN {
            let (inputs, found) = read(line);
            assert_eq!(found, format!("skill.toml:{expected}"));
            assert_eq!(inputs.find("a").unwrap().input_type, InputType::Any);
        }
    }

    #[rustfmt::skip]
    const WRONG: &[(&str, &str)] = &[
        ("a = \"string\"", "2:5: error: the input `a` must be a table, not a string; such as `{ type = \"string\", description = \"What it is for\" }`"),
        ("a = { type = 1 }", "2:14: error: `inputs.a.type` must be a string, not an integer; write `type = \"string\"`"),
        ("a = { type = \"any\", description = [] }", "2:35: error: `inputs.a.description` must be a string, not a list; write `description = \"What it is for\"`"),
        ("a = { type = \"any\", required = \"yes\" }", "2:32: error: `inputs.a.required` must be true or false, not a string"),
        ("a = { type = \"any\", enum = [] }", "2:28: error: `inputs.a.enum` must be a list of 1 to 256 values"),
        ("a = { type = \"string\", enum = [\"x\", 2] }", "2:37: error: `inputs.a.enum` must be a string, not an integer"),
        ("a = { type = \"integer\", default = \"1\" }", "2:35: error: `inputs.a.default` must be an integer, not a string"),
        ("a = { type = \"string\", enum = [\"x\"], default = \"y\" }", "2:48: error: `inputs.a.default` is none of the values in `enum`"),
        ("a = { type = \"blob\", default = \"blob:x\" }", "2:32: error: `inputs.a.default` must be the id of a blob, not a string"),
        ("\" \" = { type = \"any\" }", "2:1: error: the name of an input must have 1 to 64 characters, none of them a control character"),
    ];

    #[test]
    fn contradictions_and_wrong_types_are_errors() {
        for &(line, expected) in WRONG {
            assert_eq!(read(line).1, format!("skill.toml:{expected}"));
        }
        let many: String = (0..65).map(|n| format!("i{n} = {{ type = \"any\" }}\n")).collect();
        assert_eq!(
            read(&many).1,
            "skill.toml:66:1: error: `[inputs]` has 65 entries, more than 64"
        );
    }

    #[test]
    fn numbers_are_the_same_by_value() {
        assert!(is_same(&1.into(), &1.0.into()) && !is_same(&1.into(), &"1".into()));
        assert!(InputType::Number.accepts(&1.into()) && !InputType::Integer.accepts(&1.0.into()));
        assert!(InputType::Integer.accepts(&u64::MAX.into()));
    }
}
