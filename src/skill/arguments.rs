//! Checks the arguments of a call against a skill's `[inputs]`, and fills in defaults.
//!
//! Arguments that no input names are passed on, because inputs are informal; unless one is a
//! slip of an input that was not given, which is a mistake worth stopping for.
//!
//! Arguments stay text. Only what an input is limited to is read, and no value becomes a tree: a
//! caller could send one that takes a hundred times the memory of its text.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::ids::BlobId;
use crate::skill::manifest::inputs::{Input, InputType, Inputs};
use crate::skill::same::is_same_text;
use crate::skill::similar::is_slip;
use crate::skill::text::{printable, quoted};

/// Unknown arguments that are compared with the names of inputs: comparing costs time.
const MAX_COMPARED: usize = 64;

/// Problems that are reported for one call.
const MAX_PROBLEMS: usize = 16;

/// Longest part of a description that is repeated in a message, in characters.
const MAX_REMINDER: usize = 120;

/// Allowed values that are listed in a message.
const MAX_LISTED: usize = 20;

/// The problem with one argument, in words for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgumentProblem {
    /// The argument's name.
    pub argument: String,
    message: String,
}

impl fmt::Display for ArgumentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Longest text of a string or number that a message repeats, in bytes of JSON.
const MAX_SHOWN: usize = 1 << 10;

/// Longest text of a string that can be the id of a blob, in bytes of JSON.
const MAX_BLOB_ID: usize = 1 << 10;

/// Arguments by name, in the order of the call, each value as its text.
pub type Argument<'a> = (Cow<'a, str>, &'a RawValue);

/// Arguments that fit the inputs.
#[derive(Debug, Default)]
pub struct CheckedArguments<'i> {
    /// Inputs that were not given, or given as `null`, and have a default.
    pub defaults: Vec<(&'i str, &'i Json)>,
    /// The blobs that are named in inputs of type `blob`, each once, in the order of the inputs:
    /// they are mounted for the run.
    pub blobs: Vec<BlobId>,
}

/// Checks arguments, whose names differ, and says which defaults belong to them.
///
/// `null` for an input that is not required counts as not given.
///
/// # Errors
///
/// Everything that is wrong, at most 16 problems.
pub fn check_arguments<'i>(
    inputs: &'i Inputs,
    args: &[Argument<'_>],
) -> Result<CheckedArguments<'i>, Vec<ArgumentProblem>> {
    let mut problems = misspelt(inputs, args);
    let mut checked = CheckedArguments::default();
    for input in inputs {
        let given = args.iter().find(|(name, _)| *name == input.name).map(|(_, value)| *value);
        let given = given.filter(|value| input.is_required || value.get() != "null");
        match (given, &input.default) {
            (Some(value), _) => problems.extend(check(input, value)),
            (None, _) if input.is_required => problems.push(missing(input)),
            (None, Some(default)) => checked.defaults.push((&input.name, default)),
            (None, None) => {}
        }
        let default = input.default.as_ref().and_then(Json::as_str).map(BlobId::parse);
        let blob = given.map_or_else(|| default.and_then(Result::ok), blob_of);
        if let Some(blob) = blob.filter(|_| input.input_type == InputType::Blob)
            && !checked.blobs.contains(&blob)
        {
            checked.blobs.push(blob);
        }
    }
    problems.truncate(MAX_PROBLEMS);
    if problems.is_empty() { Ok(checked) } else { Err(problems) }
}

/// The blob that a value names, if it names one.
fn blob_of(value: &RawValue) -> Option<BlobId> {
    let short = Some(value.get()).filter(|text| text.len() <= MAX_BLOB_ID);
    let text: Cow<'_, str> = short.and_then(|text| serde_json::from_str(text).ok())?;
    BlobId::parse(&text).ok()
}

/// True if the value is of this type: its first character tells which sort of JSON it is.
fn is_of_type(input_type: InputType, value: &RawValue) -> bool {
    let text = value.get();
    let first = text.bytes().next();
    let is_number = matches!(first, Some(b'-' | b'0'..=b'9'));
    match input_type {
        InputType::String => first == Some(b'"'),
        InputType::Integer => is_number && !text.contains(['.', 'e', 'E']),
        InputType::Number => is_number,
        InputType::Boolean => matches!(text, "true" | "false"),
        InputType::Object => first == Some(b'{'),
        InputType::Array => first == Some(b'['),
        InputType::Blob => blob_of(value).is_some(),
        InputType::Any => true,
    }
}

fn problem(argument: &str, message: String) -> ArgumentProblem {
    ArgumentProblem { argument: argument.to_owned(), message }
}

fn misspelt(inputs: &Inputs, args: &[Argument<'_>]) -> Vec<ArgumentProblem> {
    let mut problems = Vec::new();
    let is_given = |input: &str| args.iter().any(|(name, _)| name == input);
    let absent: Vec<&str> =
        inputs.iter().map(|input| input.name.as_str()).filter(|name| !is_given(name)).collect();
    let unknown = args.iter().map(|(name, _)| name).filter(|name| inputs.find(name).is_none());
    for name in unknown.take(MAX_COMPARED) {
        if let Some(meant) = absent.iter().find(|input| is_slip(name, input)) {
            let message =
                format!("the skill takes no argument {}; did you mean `{meant}`?", quoted(name));
            problems.push(problem(name, message));
        }
    }
    problems
}

fn missing(input: &Input) -> ArgumentProblem {
    let reminder = input.description.as_deref().map(|text| {
        let start: String = text.chars().take(MAX_REMINDER).collect();
        format!(" ({})", printable(&start).replace('\n', " "))
    });
    let message = format!(
        "`{}` is required: {}{}",
        input.name,
        input.input_type,
        reminder.unwrap_or_default()
    );
    problem(&input.name, message)
}

fn check(input: &Input, value: &RawValue) -> Option<ArgumentProblem> {
    let name = &input.name;
    let is_allowed =
        input.allowed.is_empty() || input.allowed.iter().any(|one| is_same_text(one, value));
    let message = match (is_of_type(input.input_type, value), is_allowed) {
        (true, true) => return None,
        (_, false) => {
            format!("`{name}` must be {}, not {}", alternatives(&input.allowed), shown(value))
        }
        (false, true) if input.input_type == InputType::Blob && value.get().starts_with('"') => {
            format!(
                "`{name}` must be the id of a blob, `blob:` and 52 letters as `create_blob` returned it, not {}",
                shown(value)
            )
        }
        (false, true) => format!("`{name}` must be {}, not {}", input.input_type, shown(value)),
    };
    Some(problem(name, message))
}

fn alternatives(allowed: &[Json]) -> String {
    let mut texts: Vec<String> = allowed.iter().take(MAX_LISTED).map(shown_allowed).collect();
    if allowed.len() > MAX_LISTED {
        texts.push(format!("one of {} others", allowed.len() - MAX_LISTED));
    }
    match texts.pop() {
        Some(last) if texts.is_empty() => last,
        Some(last) => format!("{} or {last}", texts.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// An allowed value as a short text; arrays and objects by their type alone.
fn shown_allowed(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

/// A given value as a short text; arrays, objects and what is long by their type alone.
fn shown(value: &RawValue) -> String {
    let text = value.get();
    match text.bytes().next() {
        Some(b'[') => "an array".to_owned(),
        Some(b'{') => "an object".to_owned(),
        Some(b'"') if text.len() > MAX_SHOWN => format!("a string of {} bytes", text.len()),
        Some(b'"') => quoted(&serde_json::from_str::<Cow<'_, str>>(text).unwrap_or_default()),
        _ if text.len() > MAX_SHOWN => format!("a number of {} digits", text.len()),
        _ => quoted(text).trim_matches('"').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::ids::Digest;
    use crate::skill::diagnostic::Findings;
    use crate::skill::manifest::fields::Fields;
    use crate::skill::source::from_toml;

    const TOML: &str = r#"
        [inputs]
        sheet_blob = { type = "blob", description = "Blob id of the source sheet", required = true }
        env = { type = "string", enum = ["dev", "staging", "prod"], description = "Target environment" }
        batch_size = { type = "integer", default = 100 }
        ratio = { type = "number", enum = [0.5, 1] }
        dry_run = { type = "boolean" }
        options = { type = "object" }
        rows = { type = "array" }
        other = { type = "any" }
    "#;

    fn inputs() -> Inputs {
        let mut findings = Findings::new("skill.toml", TOML);
        let root = from_toml::parse(&mut findings).unwrap();
        let inputs = Inputs::read(&Fields::of_file(&root).unwrap(), &mut findings);
        assert_eq!(findings.into_diagnostics(), []);
        inputs
    }

    fn blob() -> String {
        BlobId::of_digest(&Digest::of(b"x")).to_string()
    }

    fn checked_text<T>(
        args: &Json,
        look: impl FnOnce(Result<CheckedArguments<'_>, Vec<ArgumentProblem>>) -> T,
    ) -> T {
        let texts: Vec<(String, Box<RawValue>)> = args
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), to_raw_value(value).unwrap()))
            .collect();
        let args: Vec<Argument<'_>> =
            texts.iter().map(|(name, value)| (name.into(), value.as_ref())).collect();
        look(check_arguments(&inputs(), &args))
    }

    /// Checks `args` with a good blob added unless they bring their own; returns the defaults.
    fn checked(args: &Json) -> Result<Json, String> {
        let mut args = args.as_object().cloned().unwrap_or_default();
        args.entry("sheet_blob").or_insert(json!(blob()));
        checked_text(&Json::Object(args), |checked| match checked {
            Ok(checked) => Ok(checked
                .defaults
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
                .collect()),
            Err(problems) => {
                Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
        })
    }

    #[test]
    fn defaults_are_those_of_inputs_that_were_not_given() {
        let given =
            json!({"env": "prod", "ratio": 1.0, "options": {"a": [null]}, "unrelated": [1]});
        assert_eq!(checked(&given).unwrap(), json!({"batch_size": 100}));
        assert_eq!(checked(&json!({"batch_size": 7})).unwrap(), json!({}));
    }

    #[test]
    fn null_means_not_given_unless_required() {
        let filled = checked(&json!({"batch_size": null, "env": null})).unwrap();
        assert_eq!(filled, json!({"batch_size": 100}));
        let refused = checked(&json!({"sheet_blob": null})).unwrap_err();
        assert_eq!(refused, "`sheet_blob` must be the id of a blob, not null");
    }

    #[test]
    fn what_is_long_is_named_and_not_repeated() {
        let long = "x".repeat(MAX_SHOWN);
        let refused = checked(&json!({"env": long, "dry_run": long})).unwrap_err();
        assert_eq!(refused.matches("a string of 1026 bytes").count(), 2, "{refused}");
        assert!(refused.len() < 300, "{refused}");
    }

    #[test]
    fn a_wrong_argument_is_told_what_would_be_right() {
        for (args, expected) in [
            (
                json!({"env": "production"}),
                r#"`env` must be "dev", "staging" or "prod", not "production""#,
            ),
            (json!({"env": 1}), r#"`env` must be "dev", "staging" or "prod", not 1"#),
            (json!({"batch_size": "100"}), r#"`batch_size` must be an integer, not "100""#),
            (json!({"batch_size": 1.5}), "`batch_size` must be an integer, not 1.5"),
            (json!({"ratio": 0.7}), "`ratio` must be 0.5 or 1, not 0.7"),
            (json!({"dry_run": 1}), "`dry_run` must be true or false, not 1"),
            (json!({"options": []}), "`options` must be an object, not an array"),
            (json!({"rows": {}}), "`rows` must be an array, not an object"),
            (
                json!({"sheet_blob": "blob:sheet-123"}),
                "`sheet_blob` must be the id of a blob, `blob:` and 52 letters as `create_blob` returned it, not \"blob:sheet-123\"",
            ),
            (
                json!({"batchsize": 1}),
                "the skill takes no argument \"batchsize\"; did you mean `batch_size`?",
            ),
        ] {
            assert_eq!(checked(&args).unwrap_err(), expected);
        }
        let none = checked_text(&json!({}), |checked| checked.unwrap_err());
        assert_eq!(
            none[0].to_string(),
            "`sheet_blob` is required: the id of a blob (Blob id of the source sheet)"
        );
        assert_eq!(none[0].argument, "sheet_blob");
    }

    #[test]
    fn all_problems_are_told_at_once_but_not_without_end() {
        let both = checked(&json!({"env": "x", "dry_run": "y"})).unwrap_err();
        assert_eq!(both.matches("must be").count(), 2);
        let many: Json =
            (1..100).map(|n| (format!("batch_size{}", "_".repeat(n)), json!(1))).collect();
        assert_eq!(checked_text(&many, |checked| checked.unwrap_err().len()), MAX_PROBLEMS);
    }

    #[test]
    fn blobs_in_blob_inputs_are_found_once() {
        let other = BlobId::of_digest(&Digest::of(b"y")).to_string();
        let twin =
            Input { name: "twin".to_owned(), ..inputs().find("sheet_blob").unwrap().clone() };
        let both: Inputs = inputs().iter().cloned().chain([twin]).collect();
        let texts = [blob(), blob(), other].map(|text| to_raw_value(&text).unwrap());
        let names = ["sheet_blob", "twin", "other"];
        let args: Vec<Argument<'_>> =
            names.iter().zip(&texts).map(|(name, text)| ((*name).into(), text.as_ref())).collect();
        let found = check_arguments(&both, &args).unwrap().blobs;
        assert_eq!(found.iter().map(BlobId::as_str).collect::<Vec<_>>(), [blob()]);
    }
}
