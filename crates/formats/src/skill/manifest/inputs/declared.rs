//! The `[inputs]` section: the arguments of a skill.
//!
//! The protocol calls this section informal. So unknown types and keys are kept and shown but not
//! checked. Known ones are checked before a run.
//!
//! An input is optional unless its author writes `required = true`, an extension of this runtime.

use serde_json::Value as Json;

use crate::skill::diagnostic::{Findings, Problem};
use crate::skill::manifest::fields::Fields;
use crate::skill::manifest::inputs::fit::{ArgumentPlace, Fit};
use crate::skill::manifest::inputs::shape::{InputShape, MAX_NAME, is_name};
use crate::skill::source::node::{SourceEntry, SourceValue};

/// Most inputs.
const MAX_INPUTS: usize = 64;

/// Keys of an input in addition to those of its shape.
const OWN_KEYS: [&str; 2] = ["default", "required"];

/// One argument of a skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its key in `args`.
    pub name: String,
    /// The shape of its values.
    pub shape: InputShape,
    /// The value if the argument is missing.
    pub default: Option<Json>,
    /// True if the argument is required.
    pub is_required: bool,
}

/// The arguments of a skill, in its author's order.
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
    if !is_name(name) {
        let message = format!(
            "the name of an input must have 1 to {MAX_NAME} characters and no control characters"
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
    let mut input = Input {
        name: name.to_owned(),
        shape: InputShape::read(&entry.key_span, &fields, &OWN_KEYS, findings),
        default: None,
        is_required: fields.boolean("required", findings).unwrap_or(false),
    };
    input.default = read_default(&input, &fields, findings);
    Some(input)
}

fn read_default(input: &Input, fields: &Fields<'_>, findings: &mut Findings<'_>) -> Option<Json> {
    let node = fields.node("default")?;
    let value = input.shape.checked_value(&fields.path("default"), node, findings)?;
    let name = &input.name;
    let allowed = &input.shape.allowed;
    if !allowed.is_empty() && !allowed.iter().any(|one| is_same(one, &value)) {
        let message = format!("`inputs.{name}.default` is not one of the values in `enum`");
        findings.error(&node.span, Problem::new("invalid-default", message));
        return None;
    }
    // The schema is enforced, so a default that breaks it would be refused if a caller sent it.
    let text = node.to_raw_json()?;
    let mut fit = Fit::default();
    fit.examine(&ArgumentPlace::Argument(name), &input.shape, &text);
    if let Some(problem) = fit.problems.first() {
        let message = format!("the default does not fit: {problem}");
        let problem = Problem::new("invalid-default", message);
        findings.error(&node.span, problem);
        return None;
    }
    if input.is_required {
        let message =
            format!("`inputs.{name}.default` is never used, because the input is required");
        findings.warning(&node.span, Problem::new("no-effect", message));
    }
    Some(value)
}

/// True if the two are equal, numbers by value: `1` is `1.0`.
pub fn is_same(one: &Json, other: &Json) -> bool {
    let numbers = one.as_f64().zip(other.as_f64());
    #[expect(clippy::float_cmp, reason = "the same number written twice is the same float")]
    numbers.map_or_else(|| one == other, |(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::manifest::inputs::shape::InputType;
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
        ("a = { type = \"any\", items = { type = \"string\" } }", "2:21: warning: `inputs.a.items` has no effect on anything"),
        ("a = { type = \"any\", required = true, default = 1 }", "2:48: warning: `inputs.a.default` is never used, because the input is required"),
    ];

    #[test]
    fn unknown_types_and_keys_are_kept_unchecked() {
        for &(line, expected) in UNKNOWN {
            let (inputs, found) = read(line);
            assert_eq!(found, format!("skill.toml:{expected}"));
            assert_eq!(inputs.find("a").unwrap().shape.input_type, InputType::Any);
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
        ("a = { type = \"string\", enum = [\"x\"], default = \"y\" }", "2:48: error: \
            `inputs.a.default` is not one of the values in `enum`"),
        ("a = { type = \"blob\", default = \"blob:x\" }", "2:32: error: `inputs.a.default` must be the id of a blob, not a string"),
        ("a = { type = \"integer\", default = 5, maximum = 4 }", "2:35: error: the default does not fit: `a` must be at most 4, not 5"),
        ("a = { type = \"array\", items = { type = \"string\", enum = [1] } }", "2:58: error: `inputs.a.items.enum` must be a string, not an integer"),
        ("a = { type = \"array\", minItems = 3, maxItems = 1 }", "2:34: error: `inputs.a.minItems` \
            is greater than `inputs.a.maxItems`, so no value fits"),
        ("a = { type = \"string\", maxLength = 1, minLength = 2 }", "2:51: error: \
            `inputs.a.minLength` is greater than `inputs.a.maxLength`, so no value fits"),
        ("a = { type = \"number\", minimum = 1.5, maximum = 1 }", "2:34: error: `inputs.a.minimum` \
            is greater than `inputs.a.maximum`, so no value fits"),
        // One more than a float can tell from 2^53, 2^63 and 2^64 - 1, and as integers and floats.
        ("a = { type = \"integer\", minimum = 9007199254740993, maximum = 9007199254740992 }", "2:35: \
            error: `inputs.a.minimum` is greater than `inputs.a.maximum`, so no value fits"),
        ("a = { type = \"number\", minimum = 9007199254740993, maximum = 9007199254740992.0 }", "2:34: \
            error: `inputs.a.minimum` is greater than `inputs.a.maximum`, so no value fits"),
        ("a = { type = \"number\", minimum = -1e300, maximum = -1e301 }", "2:34: error: \
            `inputs.a.minimum` is greater than `inputs.a.maximum`, so no value fits"),
        ("a = { type = \"number\", minimum = 1e300, maximum = 9223372036854775807 }", "2:34: \
            error: `inputs.a.minimum` is greater than `inputs.a.maximum`, so no value fits"),
        ("a = { type = \"number\", minimum = -0.5, maximum = -1 }", "2:34: error: \
            `inputs.a.minimum` is greater than `inputs.a.maximum`, so no value fits"),
        ("a = { type = \"array\", items = { type = \"string\", minLength = 2, maxLength = 1 } }", "2:62: \
            error: `inputs.a.items.minLength` is greater than `inputs.a.items.maxLength`, so no \
            value fits"),
        ("\" \" = { type = \"any\" }", "2:1: error: the name of an input must have 1 to 64 \
            characters and no control characters"),
    ];

    #[test]
    fn parts_that_are_not_understood_are_kept_unchecked() {
        for (line, expected) in [
            (
                "a = { type = \"array\", items = 1 }",
                "`inputs.a.items` is not checked: it must be a table, such as `{ type = \"string\" }`",
            ),
            (
                "a = { type = \"array\", items = \"str\" }",
                "the type \"str\" of `inputs.a.items` is not checked; did you mean `string`?",
            ),
            (
                "a = { type = \"array\", minItems = -1 }",
                "`inputs.a.minItems` is not checked: it must be a whole number, zero or more",
            ),
            (
                "a = { type = \"number\", maximum = \"9\" }",
                "`inputs.a.maximum` is not checked: it must be a number",
            ),
            (
                "a = { type = \"object\", properties = [\"b\"] }",
                "`inputs.a.properties` is not checked: it must be a table with a table for each member",
            ),
            (
                "a = { type = \"object\", properties = { b = { description = \"x\" } } }",
                "`inputs.a.properties.b` has no `type`, so anything is accepted",
            ),
            (
                "a = { type = \"object\", properties = { b = { type = \"integer\", default = 1 } } }",
                "`inputs.a.properties.b.default` is only shown to callers, not filled in",
            ),
            (
                "a = { type = \"string\", maximum = 3 }",
                "`inputs.a.maximum` has no effect on a string",
            ),
        ] {
            let found = read(line).1;
            assert!(found.contains(expected) && found.contains("warning"), "{line}: {found}");
        }
    }

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
