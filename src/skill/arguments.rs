//! Checks the arguments of a call against a skill's `[inputs]`, and fills in defaults.
//!
//! Arguments that no input names are passed on, because inputs are informal; unless one is a
//! slip of an input that was not given, which is a mistake worth stopping for.

use std::fmt;

use serde_json::{Map, Value as Json};

use crate::ids::BlobId;
use crate::skill::inputs::{Input, InputType, Inputs, is_same};
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

/// What is wrong with one argument, in words for the caller.
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

/// Returns `args` with defaults filled in.
///
/// `null` for an input that is not required counts as not given.
///
/// # Errors
///
/// Everything that is wrong, at most 16 problems.
pub fn check_arguments(
    inputs: &Inputs,
    mut args: Map<String, Json>,
) -> Result<Map<String, Json>, Vec<ArgumentProblem>> {
    let mut problems = misspelt(inputs, &args);
    for input in inputs {
        let given = args.get(&input.name).filter(|value| input.is_required || !value.is_null());
        match (given, &input.default) {
            (Some(value), _) => problems.extend(check(input, value)),
            (None, _) if input.is_required => problems.push(missing(input)),
            (None, Some(default)) => drop(args.insert(input.name.clone(), default.clone())),
            (None, None) => {}
        }
    }
    problems.truncate(MAX_PROBLEMS);
    if problems.is_empty() { Ok(args) } else { Err(problems) }
}

/// Returns the blobs that `args` name in inputs of type `blob`, each once, in the order of the
/// inputs: they are mounted for the run.
#[must_use]
pub fn blobs_among(inputs: &Inputs, args: &Map<String, Json>) -> Vec<BlobId> {
    let mut blobs = Vec::new();
    for input in inputs.iter().filter(|input| input.input_type == InputType::Blob) {
        let text = args.get(&input.name).and_then(Json::as_str);
        if let Some(Ok(blob)) = text.map(BlobId::parse)
            && !blobs.contains(&blob)
        {
            blobs.push(blob);
        }
    }
    blobs
}

fn problem(argument: &str, message: String) -> ArgumentProblem {
    ArgumentProblem { argument: argument.to_owned(), message }
}

fn misspelt(inputs: &Inputs, args: &Map<String, Json>) -> Vec<ArgumentProblem> {
    let mut problems = Vec::new();
    let unknown = args.keys().filter(|name| inputs.find(name).is_none());
    for name in unknown.take(MAX_COMPARED) {
        let mut absent = inputs.iter().map(|input| input.name.as_str());
        let meant = absent.find(|input| is_slip(name, input) && !args.contains_key(*input));
        if let Some(meant) = meant {
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

fn check(input: &Input, value: &Json) -> Option<ArgumentProblem> {
    let name = &input.name;
    let is_allowed =
        input.allowed.is_empty() || input.allowed.iter().any(|one| is_same(one, value));
    let message = match (input.input_type.accepts(value), is_allowed) {
        (true, true) => return None,
        (_, false) => {
            format!("`{name}` must be {}, not {}", alternatives(&input.allowed), shown(value))
        }
        (false, true) if input.input_type == InputType::Blob && value.is_string() => format!(
            "`{name}` must be the id of a blob, `blob:` and 52 letters as `create_blob` returned it, not {}",
            shown(value)
        ),
        (false, true) => format!("`{name}` must be {}, not {}", input.input_type, shown(value)),
    };
    Some(problem(name, message))
}

fn alternatives(allowed: &[Json]) -> String {
    let mut texts: Vec<String> = allowed.iter().take(MAX_LISTED).map(shown).collect();
    if allowed.len() > MAX_LISTED {
        texts.push(format!("one of {} others", allowed.len() - MAX_LISTED));
    }
    match texts.pop() {
        Some(last) if texts.is_empty() => last,
        Some(last) => format!("{} or {last}", texts.join(", ")),
        None => "nothing".to_owned(),
    }
}

/// The value as a short text; arrays and objects by their type alone.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ids::Digest;
    use crate::skill::diagnostic::Findings;
    use crate::skill::fields::Fields;
    use crate::skill::from_toml;

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

    /// Checks `args` with a good blob added unless they bring their own.
    fn checked(args: &Json) -> Result<Json, String> {
        let mut args = args.as_object().cloned().unwrap_or_default();
        args.entry("sheet_blob").or_insert(json!(blob()));
        let checked = check_arguments(&inputs(), args);
        checked.map(Json::Object).map_err(|problems| {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        })
    }

    #[test]
    fn defaults_are_filled_in_and_nothing_else_changes() {
        let given =
            json!({"env": "prod", "ratio": 1.0, "options": {"a": [null]}, "unrelated": [1]});
        let mut expected = given.clone();
        expected["batch_size"] = json!(100);
        expected["sheet_blob"] = json!(blob());
        assert_eq!(checked(&given).unwrap(), expected);
        assert_eq!(checked(&json!({"batch_size": 7})).unwrap()["batch_size"], 7);
    }

    #[test]
    fn null_means_not_given_unless_required() {
        let filled = checked(&json!({"batch_size": null, "env": null})).unwrap();
        assert_eq!((&filled["batch_size"], &filled["env"]), (&json!(100), &Json::Null));
        let refused = checked(&json!({"sheet_blob": null})).unwrap_err();
        assert_eq!(refused, "`sheet_blob` must be the id of a blob, not null");
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
        let none = check_arguments(&inputs(), Map::new()).unwrap_err();
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
        let many = (1..100).map(|n| (format!("batch_size{}", "_".repeat(n)), json!(1))).collect();
        assert_eq!(check_arguments(&inputs(), many).unwrap_err().len(), MAX_PROBLEMS);
    }

    #[test]
    fn blobs_in_blob_inputs_are_found_once() {
        let other = BlobId::of_digest(&Digest::of(b"y")).to_string();
        let twin =
            Input { name: "twin".to_owned(), ..inputs().find("sheet_blob").unwrap().clone() };
        let both: Inputs = inputs().iter().cloned().chain([twin]).collect();
        let args = json!({"sheet_blob": blob(), "twin": blob(), "other": other});
        let found = blobs_among(&both, args.as_object().unwrap());
        assert_eq!(found.iter().map(BlobId::as_str).collect::<Vec<_>>(), [blob()]);
    }
}
