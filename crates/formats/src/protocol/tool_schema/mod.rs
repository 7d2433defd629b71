//! Checks the arguments and the outputs of tools against the JSON Schemas that their caller has declared.
//!
//! Both are strangers' texts, and stay texts: a value is read member by member, and a schema keyword by
//! keyword where the value leads. Time is bounded by [`Work`], depth by [`MAX_LEVELS`](check::MAX_LEVELS).
//!
//! Checked are `type`, `enum` and `const` with scalars, `required`, `properties`, `additionalProperties`,
//! `items`, the bounds of numbers, texts, arrays and objects, `anyOf`, `oneOf` (as `anyOf`), `allOf`, and
//! `$ref` within the schema. Other keywords are left to the tool.
//!
//! # Why
//!
//! The crates `jsonschema` and `boon` check trees of `serde_json::Value`, which take a hundred times the
//! memory of a text that was made for the purpose; they also bring regular expressions of strangers.

mod check;
mod keywords;

use serde_json::value::RawValue;

use crate::protocol::tool_schema::check::{Check, Misfit, Work};

/// Checks a value against a schema. `what` names the value in the error: `arguments` or `output`. Both texts
/// have passed [`strict`](crate::protocol::strict).
///
/// # Errors
///
/// A sentence that says which part of the value does not fit, and what is expected there.
pub fn ensure_fits(schema: &RawValue, value: &RawValue, what: &str) -> Result<(), String> {
    let mut check = Check::new(schema, Work::for_value(value));
    match check.value(schema, value, 0) {
        Ok(()) => Ok(()),
        Err(Misfit::TooMuch) => {
            Err(format!("`{what}` cannot be checked against the schema within its bounds"))
        }
        Err(Misfit::Wrong { place, expected }) => {
            let place: String = place.iter().rev().map(String::as_str).collect();
            Err(format!("`{what}{place}` must be {expected}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    use super::*;

    fn fits(schema: &Value, value: &Value) -> Result<(), String> {
        ensure_fits(&to_raw_value(schema).unwrap(), &to_raw_value(value).unwrap(), "arguments")
    }

    #[test]
    fn values_fit_or_the_place_is_named() {
        let schema = json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1, "maxLength": 5},
                "limit": {"type": "integer", "minimum": 1, "exclusiveMaximum": 100},
                "sort": {"enum": ["date", 1, null]},
                "lines": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/Line"}},
                "owner": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["query"],
            "additionalProperties": false,
            "$defs": {"Line": {"properties": {"sum": {"type": "number"}}, "required": ["sum"]}},
        });
        for value in [
            json!({"query": "x"}),
            json!({"query": "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", "limit": 99.0, "sort": 1.0}),
            json!({"query": "x", "lines": [{"sum": 1}, {"sum": 1.5}], "owner": null}),
        ] {
            assert_eq!(fits(&schema, &value), Ok(()), "{value}");
        }
        for (value, expected) in [
            (json!({}), "`arguments` must be an object with `query`"),
            (json!({"query": 1}), "`arguments.query` must be a string"),
            (json!({"query": ""}), "`arguments.query` must be at least 1 character"),
            (json!({"query": "123456"}), "`arguments.query` must be at most 5 character"),
            (json!({"query": "x", "limit": 1.5}), "`arguments.limit` must be an integer"),
            (json!({"query": "x", "limit": 0}), "`arguments.limit` must be at least 1"),
            (json!({"query": "x", "limit": 100}), "`arguments.limit` must be less than 100"),
            (json!({"query": "x", "sort": "x"}), "one of \"date\", 1, null"),
            (json!({"query": "x", "lines": [{"sum": 1}, {}]}), "`arguments.lines[1]` must be"),
            (
                json!({"query": "x", "lines": [{"sum": "1"}]}),
                "`arguments.lines[0].sum` must be a number",
            ),
            (json!({"query": "x", "lines": [1, 2, 3]}), "`arguments.lines"),
            (json!({"query": "x", "owner": 1}), "`arguments.owner` must be"),
            (json!({"query": "x", "more": 1}), "`arguments.more` must be left out"),
        ] {
            let fault = fits(&schema, &value).unwrap_err();
            assert!(fault.contains(expected), "{value}: {fault}");
        }
    }

    #[test]
    fn what_is_not_understood_is_left_to_the_tool() {
        for schema in [
            json!({}),
            json!({"type": 5, "pattern": "(", "required": "a", "items": 1, "minimum": "x"}),
            json!({"type": "file"}),
            json!({"$ref": "https://example.org/schema"}),
            json!({"$ref": "#/nowhere"}),
            json!({"enum": [[1], {"a": 1}]}),
            json!({"patternProperties": {"^x": {}}, "additionalProperties": false}),
        ] {
            for value in [json!({"a": [1, "b"]}), json!([{}])] {
                assert_eq!(fits(&schema, &value), Ok(()), "{schema}");
            }
        }
        assert!(fits(&json!({"properties": {"a": false}}), &json!({"a": 1})).is_err());
    }

    #[test]
    fn schemas_and_values_of_strangers_are_bounded() {
        let own = json!({"$ref": "#"});
        assert!(fits(&own, &json!(1)).unwrap_err().contains("within its bounds"));
        let many = json!({"anyOf": vec![json!({"$ref": "#/$defs/a"}); 64],
            "$defs": {"a": {"anyOf": vec![json!({"$ref": "#/$defs/b"}); 64]},
                      "b": {"anyOf": vec![json!({"$ref": "#/$defs/c"}); 64]},
                      "c": {"anyOf": vec![json!({"type": "string"}); 64]}}});
        let long = json!(vec![0; 10_000]);
        assert!(fits(&many, &long).unwrap_err().contains("within its bounds"));
        let recursive = json!({"items": {"$ref": "#"}});
        assert_eq!(fits(&recursive, &json!([[[[[[1]]]], 2]])), Ok(()));
        let message = fits(&json!({"type": "string"}), &json!({"x".repeat(9_000): 1}));
        assert!(message.unwrap_err().len() < 500);
        let deep = json!({"properties": {"x".repeat(9_000): {"type": "string"}}});
        assert!(fits(&deep, &json!({"x".repeat(9_000): 1})).unwrap_err().len() < 500);
    }
}
