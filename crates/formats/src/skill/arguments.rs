//! Checks the arguments of a call against a skill's `[inputs]`, and fills in defaults.
//!
//! Unknown arguments are passed on, because inputs are informal. An unknown argument that looks
//! like a misspelt name of a missing input is refused.
//!
//! Arguments stay text: the check reads the text and builds no values.

use std::borrow::Cow;

use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

use crate::skill::manifest::inputs::declared::{Input, Inputs};
use crate::skill::manifest::inputs::fit::{ArgumentPlace, Fit, MAX_PROBLEMS, missing};
use crate::skill::similar::is_slip;
use crate::skill::text::quoted;
use wardian_vocabulary::ids::BlobId;

/// Most unknown arguments that are compared with the names of inputs, since comparing costs time.
const MAX_COMPARED: usize = 64;

/// Arguments by name, in the order of the call, each value as its text.
pub(crate) type Argument<'a> = (Cow<'a, str>, &'a RawValue);

/// Arguments that fit the inputs.
#[derive(Debug, Default)]
pub struct CheckedArguments<'i> {
    /// Inputs that were not given, or given as `null`, and have a default.
    pub defaults: Vec<(&'i str, &'i Json)>,
    /// The blobs that inputs of type `blob` name, each once, in the order of the inputs. The run
    /// mounts them.
    pub blobs: Vec<BlobId>,
}

/// Checks arguments, whose names must differ, and finds the defaults of the missing ones.
///
/// `null` for an optional input counts as missing.
///
/// # Errors
///
/// All problems, at most 16.
pub fn check_arguments<'i>(
    inputs: &'i Inputs,
    args: &[Argument<'_>],
) -> Result<CheckedArguments<'i>, Vec<String>> {
    let mut fit = Fit::with_problems(misspelt(inputs, args));
    let mut defaults = Vec::new();
    for input in inputs {
        let given = args.iter().find(|(name, _)| *name == input.name).map(|(_, value)| *value);
        let given = given.filter(|value| input.is_required || value.get() != "null");
        let place = ArgumentPlace::Argument(&input.name);
        match (given, &input.default) {
            (Some(value), _) => fit.examine(&place, &input.shape, value),
            (None, _) if input.is_required => fit.problems.push(missing(&place, &input.shape)),
            (None, Some(default)) => {
                blobs_of_default(&mut fit, &place, input, default);
                defaults.push((input.name.as_str(), default));
            }
            (None, None) => {}
        }
    }
    fit.problems.truncate(MAX_PROBLEMS);
    if fit.problems.is_empty() {
        Ok(CheckedArguments { defaults, blobs: fit.blobs })
    } else {
        Err(fit.problems)
    }
}

/// Finds the blobs that a default names. The default is known to fit.
fn blobs_of_default(fit: &mut Fit, place: &ArgumentPlace<'_>, input: &Input, default: &Json) {
    if let Ok(text) = to_raw_value(default) {
        fit.examine(place, &input.shape, &text);
    }
}

fn misspelt(inputs: &Inputs, args: &[Argument<'_>]) -> Vec<String> {
    let mut problems = Vec::new();
    let is_given = |input: &str| args.iter().any(|(name, _)| name == input);
    let absent: Vec<&str> =
        inputs.iter().map(|input| input.name.as_str()).filter(|name| !is_given(name)).collect();
    let unknown = args.iter().map(|(name, _)| name).filter(|name| inputs.find(name).is_none());
    for name in unknown.take(MAX_COMPARED) {
        if let Some(meant) = absent.iter().find(|input| is_slip(name, input)) {
            let message =
                format!("the skill takes no argument {}; did you mean `{meant}`?", quoted(name));
            problems.push(message);
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::skill::diagnostic::Findings;
    use crate::skill::manifest::fields::Fields;
    use crate::skill::source::from_toml;
    use wardian_vocabulary::ids::Digest;

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
        year = { type = "integer", minimum = 1900, maximum = 2100 }
        code = { type = "string", minLength = 2, maxLength = 3 }
        tags = { type = "array", items = "string", minItems = 1, maxItems = 3 }
        sheets = { type = "array", items = "blob" }

        [inputs.order]
        type = "object"
        [inputs.order.properties]
        id = { type = "integer", required = true, description = "Number of the order" }
        note = { type = "string" }
        lines = { type = "array", items = { type = "object", properties = { sku = { type = "string", required = true, enum = ["A", "B"] }, count = { type = "number", minimum = 0 } } } }
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
        look: impl FnOnce(Result<CheckedArguments<'_>, Vec<String>>) -> T,
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

    /// Checks `args`, with a valid blob added unless they have one. Returns the defaults.
    fn checked(args: &Json) -> Result<Json, String> {
        let mut args = args.as_object().cloned().unwrap_or_default();
        args.entry("sheet_blob").or_insert(json!(blob()));
        checked_text(&Json::Object(args), |checked| match checked {
            Ok(checked) => Ok(checked
                .defaults
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).clone()))
                .collect()),
            Err(problems) => Err(problems.join("; ")),
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
    fn long_values_are_described_and_not_repeated() {
        let long = "x".repeat(1 << 10);
        let refused = checked(&json!({"env": long, "dry_run": long})).unwrap_err();
        assert_eq!(refused.matches("a string of 1026 bytes").count(), 2, "{refused}");
        assert!(refused.len() < 300, "{refused}");
    }

    #[test]
    fn the_message_about_a_wrong_argument_names_the_expected_value() {
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
            none,
            ["`sheet_blob` is required: the id of a blob (Blob id of the source sheet)"]
        );
    }

    #[test]
    fn parts_of_an_argument_are_checked_and_named_by_their_place() {
        for (args, expected) in [
            (json!({"year": 1899}), "`year` must be at least 1900, not 1899"),
            (json!({"year": 2101}), "`year` must be at most 2100, not 2101"),
            (json!({"code": "x"}), "`code` must have at least 2 characters, not 1"),
            (json!({"code": "éèêë"}), "`code` must have at most 3 characters, not 4"),
            (json!({"tags": []}), "`tags` must have at least 1 item, not 0"),
            (json!({"tags": ["a", 2]}), "`tags[1]` must be a string, not 2"),
            (json!({"tags": ["a", "b", "c", "d"]}), "`tags` must have at most 3 items, not 4"),
            (json!({"order": {}}), "`order.id` is required: an integer (Number of the order)"),
            (json!({"order": {"id": null}}), "`order.id` must be an integer, not null"),
            (json!({"order": {"id": 1, "note": 2}}), "`order.note` must be a string, not 2"),
            (
                json!({"order": {"id": 1, "lines": [{"sku": "A"}, {"sku": "C", "count": -1}]}}),
                "`order.lines[1].count` must be at least 0, not -1; \
                 `order.lines[1].sku` must be \"A\" or \"B\", not \"C\"",
            ),
            (
                json!({"order": {"id": 1, "lines": [[]]}}),
                "`order.lines[0]` must be an object, not an array",
            ),
        ] {
            assert_eq!(checked(&args).unwrap_err(), expected);
        }
        for args in [
            json!({"year": 1900, "code": "ab", "tags": ["x"]}),
            json!({"year": null, "order": {"id": 1, "note": null, "other": [1]}}),
            json!({"order": {"id": -7, "lines": [{"sku": "B", "count": 0}]}}),
            json!({"sheets": []}),
        ] {
            assert_eq!(checked(&args), Ok(json!({"batch_size": 100})), "{args}");
        }
        let many = json!({"tags": ["x"], "order": {"id": 1, "lines": vec![1; 1000]}});
        assert_eq!(checked(&many).unwrap_err().matches("must be").count(), MAX_PROBLEMS);
    }

    #[test]
    fn blobs_within_an_argument_are_found() {
        let other = BlobId::of_digest(&Digest::of(b"y")).to_string();
        let args = json!({"sheet_blob": blob(), "sheets": [other, blob(), other]});
        let found = checked_text(&args, |checked| checked.unwrap().blobs);
        assert_eq!(found.iter().map(BlobId::as_str).collect::<Vec<_>>(), [blob(), other]);
    }

    #[test]
    fn all_problems_are_reported_at_once_up_to_a_limit() {
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
