//! `--update`: puts the output of a case in the place of the one that its file expects.
//!
//! Only values that differ are replaced, so the rest of the file keeps its order and its layout.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::cli::commands::skill_cases::test_case::is_expected;
use wardian_formats::protocol::members::Members;

/// Longest value that is written on one line, in bytes.
const ONE_LINE: usize = 60;

/// The text of a case that expects the output `got`; `None` if it expects no output.
pub(crate) fn updated(case: &str, got: &Value) -> Option<String> {
    let expect = Members::split(case)?.find("expect")?.get();
    let output = Members::split(expect)?.find("output")?.get();
    let at = offset(case, output);
    let before = case.get(..at)?;
    let line = before.rsplit('\n').next().unwrap_or_default();
    let indent = line.len().saturating_sub(line.trim_start().len());
    let new = renewed(output, got, indent);
    Some(format!("{before}{new}{}", case.get(at.saturating_add(output.len())..)?))
}

/// Where `part` begins, which is a part of `whole`.
fn offset(whole: &str, part: &str) -> usize {
    part.as_ptr().addr().saturating_sub(whole.as_ptr().addr())
}

/// The text of an expected value, changed to fit `got`.
fn renewed(expected: &str, got: &Value, indent: usize) -> String {
    let Ok(value) = serde_json::from_str::<Value>(expected) else { return fresh(got, indent) };
    if is_expected(&value, got) {
        return expected.to_owned();
    }
    match (&value, got) {
        (Value::Object(members), Value::Object(found)) => {
            if members.keys().all(|name| found.contains_key(name)) {
                let parts = Members::split(expected).unwrap_or_default().0;
                let pairs = parts
                    .iter()
                    .filter_map(|(name, part)| Some((part.get(), found.get(name.as_ref())?)));
                return replaced(expected, pairs, indent);
            }
            // A member that is gone takes the layout with it.
            let kept = found.iter().filter(|(name, _)| members.contains_key(*name));
            fresh(&kept.map(|(name, value)| (name.clone(), value.clone())).collect(), indent)
        }
        (Value::Array(items), Value::Array(found)) if items.len() == found.len() => {
            let parts: Vec<&RawValue> = serde_json::from_str(expected).unwrap_or_default();
            replaced(expected, parts.iter().map(|part| part.get()).zip(found), indent)
        }
        _ => fresh(got, indent),
    }
}

/// A text with new values in the places of some of its parts, which come in their order.
fn replaced<'t>(
    whole: &'t str,
    parts: impl Iterator<Item = (&'t str, &'t Value)>,
    indent: usize,
) -> String {
    let mut text = String::new();
    let mut end = 0;
    for (part, got) in parts {
        let at = offset(whole, part);
        text.push_str(whole.get(end..at).unwrap_or_default());
        let line = whole.get(..at).unwrap_or_default().rsplit_once('\n');
        let own = line.map_or(indent, |(_, line)| line.len() - line.trim_start().len());
        text.push_str(&renewed(part, got, own));
        end = at.saturating_add(part.len());
    }
    text.push_str(whole.get(end..).unwrap_or_default());
    text
}

/// A value as text, on one line if it is short.
fn fresh(value: &Value, indent: usize) -> String {
    let short = value.to_string();
    if short.len() <= ONE_LINE {
        return short;
    }
    let long = serde_json::to_string_pretty(value).unwrap_or(short);
    long.replace('\n', &format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_written_anew() {
        let case = r#"{
  "args": {"z": 1, "a": 2.50},
  "expect": {
    "output": {"z": 1.0, "rows": [
      {"n": 1, "t": "x"},
      {"t": "é",   "n": 2}
    ], "gone": {"a": 1, "b": 2}},
    "status": "completed"
  }
}
"#;
        let got = json!({
            "z": 1.000_000_000_001, "more": 5, "gone": {"b": 3},
            "rows": [{"n": 1, "t": "x"}, {"n": 7, "t": "é", "u": 0}]
        });
        let expected = case
            .replace(r#"{"t": "é",   "n": 2}"#, r#"{"t": "é",   "n": 7}"#)
            .replace(r#"{"a": 1, "b": 2}"#, r#"{"b":3}"#);
        let new = updated(case, &got).unwrap();
        assert_eq!(new, expected);
        assert_eq!(updated(&new, &got).unwrap(), new, "a second update changes nothing");
    }

    #[test]
    fn long_values_stand_on_lines_of_their_own() {
        let case =
            "{\n  \"expect\": {\n    \"status\": \"completed\",\n    \"output\": [1]\n  }\n}";
        let got = json!(["a".repeat(40), "b".repeat(40)]);
        let new = updated(case, &got).unwrap();
        assert!(new.contains("\"output\": [\n      \"aaaa"), "{new}");
        assert!(new.ends_with("bbb\"\n    ]\n  }\n}"), "{new}");
        assert_eq!(updated("{\"expect\": {\"status\": \"failed\"}}", &got), None);
    }
}
