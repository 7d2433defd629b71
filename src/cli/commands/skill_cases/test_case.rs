//! A test of a skill: one call, and the result that it must have. `docs/skills.md` has the format.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use crate::cli::commands::skill_cases::case_network::CaseExchange;
use crate::cli::terminal::output::shown;

/// Largest difference of two numbers that count as equal: relative to the larger one, or to 1 if
/// both are smaller. Integers must be equal.
const TOLERANCE: f64 = 1e-9;

/// Longest value that a difference repeats, in characters.
const MAX_SHOWN: usize = 300;

/// A case, as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestCase {
    /// One line that says what the case shows.
    #[serde(default)]
    pub(crate) description: String,
    /// Arguments of the call. A string `{{blob:NAME}}` stands for the id of that blob.
    #[serde(default = "no_arguments")]
    pub(crate) args: Box<RawValue>,
    /// Blobs to store before the call, by name.
    #[serde(default)]
    pub(crate) blobs: BTreeMap<String, CaseBlob>,
    /// All that the skill finds in the network, in the order of the requests.
    #[serde(default)]
    pub(crate) network: Vec<CaseExchange>,
    /// The result.
    pub(crate) expect: Expectation,
}

fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}

/// A blob of a case.
#[derive(Debug, Deserialize)]
#[serde(try_from = "WrittenBlob")]
pub(crate) struct CaseBlob {
    pub(crate) mime_type: String,
    pub(crate) content: BlobContent,
}

/// The content of a blob of a case.
#[derive(Debug)]
pub(crate) enum BlobContent {
    /// Path of a file below `resources`.
    File(String),
    Text(String),
}

/// A blob, as the file of a case has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBlob {
    mime_type: String,
    file: Option<String>,
    text: Option<String>,
}

impl TryFrom<WrittenBlob> for CaseBlob {
    type Error = &'static str;

    fn try_from(written: WrittenBlob) -> Result<Self, Self::Error> {
        let content = match (written.file, written.text) {
            (Some(file), None) => BlobContent::File(file),
            (None, Some(text)) => BlobContent::Text(text),
            _ => return Err("a blob must have either `file` or `text`"),
        };
        Ok(Self { mime_type: written.mime_type, content })
    }
}

/// The expected result. Missing members are not checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    pub(crate) status: ExpectedStatus,
    #[serde(default, deserialize_with = "given")]
    pub(crate) output: Option<Value>,
    #[serde(default)]
    pub(crate) summary_contains: ExpectedTexts,
    #[serde(default, deserialize_with = "given")]
    pub(crate) error_type: Option<String>,
    #[serde(default)]
    pub(crate) error_contains: ExpectedTexts,
    #[serde(default, deserialize_with = "given")]
    pub(crate) blobs: Option<Vec<ExpectedBlob>>,
}

/// Reads a member that exists. `null` is a value like any other: it does not leave the member out,
/// which would turn an expectation into none.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(reader: D) -> Result<Option<T>, D::Error> {
    T::deserialize(reader).map(Some)
}

/// The end of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExpectedStatus {
    Completed,
    Failed,
    /// Nothing ran: the arguments do not fit the manifest.
    Refused,
}

impl fmt::Display for ExpectedStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Refused => "refused",
        })
    }
}

/// One text or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum ExpectedTexts {
    One(String),
    Several(Vec<String>),
}

impl Default for ExpectedTexts {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

impl ExpectedTexts {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let texts: &[String] = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Several(texts) => texts,
        };
        texts.iter().map(String::as_str)
    }
}

/// An expected blob.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectedBlob {
    #[serde(default, deserialize_with = "given")]
    mime_type: Option<String>,
    #[serde(default)]
    contains: ExpectedTexts,
    #[serde(default, deserialize_with = "given")]
    sha256: Option<String>,
    #[serde(default, deserialize_with = "given")]
    size_min: Option<u64>,
}

/// A result, in the form in which it is compared.
#[derive(Debug)]
pub(crate) struct CaseResult {
    pub(crate) status: ExpectedStatus,
    pub(crate) summary: String,
    pub(crate) output: Value,
    /// Type and message of the error.
    pub(crate) error: Option<(String, String)>,
    pub(crate) blobs: Vec<MadeBlob>,
}

/// A blob that a run made.
#[derive(Debug)]
pub(crate) struct MadeBlob {
    pub(crate) mime_type: String,
    pub(crate) content: Vec<u8>,
    /// Digest of the content, in hexadecimal digits.
    pub(crate) sha256: String,
}

/// Puts ids of blobs in the place of strings `{{blob:NAME}}` in a JSON text, at any depth. The text
/// keeps the order of its members, on which a skill may depend.
///
/// # Errors
///
/// The name of a blob that the case does not have.
pub(crate) fn with_ids(json: &str, ids: &BTreeMap<String, String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = json;
    while let Some((before, after)) = rest.split_once('"') {
        let end = end_of_string(after);
        let (content, behind) = after.split_at_checked(end).unwrap_or((after, ""));
        let name = content.strip_prefix("{{blob:").and_then(|text| text.strip_suffix("}}"));
        let content = match name {
            Some(name) => ids.get(name).ok_or_else(|| name.to_owned())?,
            None => content,
        };
        filled.extend([before, "\"", content, "\""]);
        rest = behind.strip_prefix('"').unwrap_or_default();
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Where the string ends that begins with `text`: its closing quotation mark.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.find(|letter| {
        let is_end = letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        is_end
    });
    end.unwrap_or(text.len())
}

impl Expectation {
    /// The differences between this and a result, each in one line.
    pub(crate) fn differences(&self, ended: &CaseResult) -> Vec<String> {
        let mut found = Vec::new();
        if self.status != ended.status {
            let reason =
                ended.error.as_ref().map(|(kind, message)| format!(" ({kind}: {message})"));
            let reason = reason.unwrap_or_default();
            found.push(format!("status: expected {}, got {}{reason}", self.status, ended.status));
        }
        if let Some(expected) = &self.output {
            compare("output", expected, &ended.output, &mut found);
        }
        for text in self.summary_contains.iter().filter(|text| !ended.summary.contains(*text)) {
            found.push(format!("summary: {:?} is not in {:?}", text, ended.summary));
        }
        let (error_type, message) = ended.error.clone().unwrap_or_default();
        if let Some(expected) = self.error_type.as_ref().filter(|one| **one != error_type) {
            found.push(format!("error.type: expected {expected:?}, got {error_type:?}"));
        }
        for text in self.error_contains.iter().filter(|text| !message.contains(*text)) {
            found.push(format!("error.message: {text:?} is not in {message:?}"));
        }
        if let Some(expected) = &self.blobs {
            if expected.len() != ended.blobs.len() {
                let (expected, made) = (expected.len(), ended.blobs.len());
                found.push(format!("blobs: expected {expected}, got {made}"));
            }
            for (at, (expected, made)) in expected.iter().zip(&ended.blobs).enumerate() {
                expected.compare(at, made, &mut found);
            }
        }
        found.iter().map(|line| shown(line)).collect()
    }
}

impl ExpectedBlob {
    fn compare(&self, at: usize, made: &MadeBlob, found: &mut Vec<String>) {
        if let Some(expected) = self.mime_type.as_ref().filter(|one| **one != made.mime_type) {
            let got = &made.mime_type;
            found.push(format!("blobs[{at}].mime_type: expected {expected:?}, got {got:?}"));
        }
        for text in self.contains.iter().filter(|text| !has(&made.content, text.as_bytes())) {
            let start = made.content.get(..MAX_SHOWN).unwrap_or(&made.content);
            let start = String::from_utf8_lossy(start);
            found.push(format!("blobs[{at}]: {text:?} is not in it; it begins {start:?}"));
        }
        if let Some(expected) = self.sha256.as_ref().filter(|one| **one != made.sha256) {
            let got = &made.sha256;
            found.push(format!("blobs[{at}].sha256: expected {expected}, got {got}"));
        }
        let size = u64::try_from(made.content.len()).unwrap_or(u64::MAX);
        if let Some(least) = self.size_min.filter(|least| size < *least) {
            found.push(format!("blobs[{at}]: expected at least {least} bytes, got {size}"));
        }
    }
}

fn has(content: &[u8], part: &[u8]) -> bool {
    part.is_empty() || content.windows(part.len()).any(|window| window == part)
}

/// True if an output is what a case expects.
pub(crate) fn is_expected(expected: &Value, got: &Value) -> bool {
    let mut found = Vec::new();
    compare("", expected, got, &mut found);
    found.is_empty()
}

/// Compares two values. An object may have more members than expected.
fn compare(path: &str, expected: &Value, got: &Value, found: &mut Vec<String>) {
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            for (name, expected) in expected {
                match got.get(name) {
                    Some(got) => compare(&format!("{path}.{name}"), expected, got, found),
                    None => found.push(format!("{path}.{name}: is missing")),
                }
            }
        }
        (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => {
            for (at, (expected, got)) in expected.iter().zip(got).enumerate() {
                compare(&format!("{path}[{at}]"), expected, got, found);
            }
        }
        (Value::Array(expected), Value::Array(got)) => {
            let (expected, got) = (expected.len(), got.len());
            found.push(format!("{path}: expected {expected} items, got {got}"));
        }
        (Value::Number(one), Value::Number(other)) if are_equal(one, other) => {}
        _ if expected == got => {}
        _ => found.push(format!("{path}: expected {}, got {}", short(expected), short(got))),
    }
}

fn are_equal(one: &Number, other: &Number) -> bool {
    if !one.is_f64() && !other.is_f64() {
        return one == other;
    }
    one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| {
        (one - other).abs() <= TOLERANCE * one.abs().max(other.abs()).max(1.0)
    })
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(value: &Value) -> TestCase {
        serde_json::from_str(&value.to_string()).unwrap()
    }

    fn ended(output: Value) -> CaseResult {
        CaseResult {
            status: ExpectedStatus::Completed,
            summary: "Read 3 rows.".to_owned(),
            output,
            error: None,
            blobs: vec![MadeBlob {
                mime_type: "text/csv".to_owned(),
                content: b"a,b\n1,2\n".to_vec(),
                sha256: "00ff".to_owned(),
            }],
        }
    }

    #[test]
    fn a_misspelt_key_is_no_expectation() {
        for wrong in [
            json!({"expect": {"status": "completed", "outptu": 1}}),
            json!({"expect": {}}),
            json!({"expect": {"status": "done"}}),
            json!({"arg": {}, "expect": {"status": "failed"}}),
            json!({"blobs": {"a": {"mime_type": "x/y"}}, "expect": {"status": "failed"}}),
            json!({"blobs": {"a": {"mime_type": "x/y", "text": "", "kind": ""}}, "expect": {"status": "failed"}}),
            json!({"expect": {"status": "failed", "error_type": null}}),
            json!({"expect": {"status": "failed", "error_contains": null}}),
            json!({"expect": {"status": "failed", "blobs": null}}),
            json!({"expect": {"status": "failed", "blobs": [{"sha256": null}]}}),
        ] {
            assert!(serde_json::from_str::<TestCase>(&wrong.to_string()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn differences_are_named_by_their_place() {
        let expect = |value: Value| case(&json!({"expect": value})).expect;
        let output = json!({"rows": [{"n": 1.0, "t": "x"}], "more": true});
        let same = json!({
            "status": "completed", "output": {"rows": [{"n": 1.000_000_000_1}]},
            "summary_contains": "3 rows", "blobs": [{"mime_type": "text/csv", "contains": ["1,2", "a"],
            "sha256": "00ff", "size_min": 8}],
        });
        assert_eq!(expect(same).differences(&ended(output.clone())), Vec::<String>::new());
        let other = json!({
            "status": "failed", "output": {"rows": [{"n": 2, "t": "y", "u": 1}], "more": []},
            "summary_contains": ["3", "4"], "error_type": "ValueError", "error_contains": "bad",
            "blobs": [{"mime_type": "text/plain", "contains": "zz", "sha256": "11", "size_min": 9}, {}],
        });
        let found = expect(other).differences(&ended(output));
        let expected = [
            "status: expected failed, got completed",
            "output.more: expected [], got true",
            "output.rows[0].n: expected 2, got 1.0",
            "output.rows[0].t: expected \"y\", got \"x\"",
            "output.rows[0].u: is missing",
            "summary: \"4\" is not in \"Read 3 rows.\"",
            "error.type: expected \"ValueError\", got \"\"",
            "error.message: \"bad\" is not in \"\"",
            "blobs: expected 2, got 1",
            "blobs[0].mime_type: expected \"text/plain\", got \"text/csv\"",
            "blobs[0]: \"zz\" is not in it; it begins \"a,b\\n1,2\\n\"",
            "blobs[0].sha256: expected 11, got 00ff",
            "blobs[0]: expected at least 9 bytes, got 8",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn null_is_an_output_that_can_be_expected() {
        let expect = case(&json!({"expect": {"status": "completed", "output": null}})).expect;
        assert_eq!(expect.differences(&ended(Value::Null)), Vec::<String>::new());
        let found = expect.differences(&ended(json!({"rows": 3})));
        assert_eq!(found, ["output: expected null, got {\"rows\":3}"]);
    }

    #[test]
    fn integers_are_compared_exactly_and_other_numbers_closely() {
        let differences = |expected: Value, got: Value| {
            let expect = json!({"expect": {"status": "completed", "output": expected}});
            case(&expect).expect.differences(&ended(got))
        };
        for (expected, got) in [
            (json!(12_345_678_901_i64), json!(12_345_678_901_i64)),
            (json!(3), json!(3.0)),
            (json!(1e12), json!(1_000_000_000_001_i64)),
            (json!(0.1), json!(0.1 + 1e-12)),
            (json!(1e-12), json!(2e-12)),
        ] {
            assert_eq!(differences(expected.clone(), got), Vec::<String>::new(), "{expected}");
        }
        for (expected, got) in [
            (json!(12_345_678_901_i64), json!(12_345_678_902_i64)),
            (json!(u64::MAX), json!(u64::MAX - 1)),
            (json!(0.1), json!(0.100_001)),
            (json!(1), json!("1")),
        ] {
            let found = format!("output: expected {expected}, got {got}");
            assert_eq!(differences(expected, got), [found]);
        }
    }

    #[test]
    fn ids_take_the_place_of_names_at_any_depth() {
        let ids = BTreeMap::from([("a".to_owned(), "blob:1".to_owned())]);
        for (json, expected) in [
            (
                r#"{"z": ["{{blob:a}}", "{{blob:a}} "], "y": 1}"#,
                r#"{"z": ["blob:1", "{{blob:a}} "], "y": 1}"#,
            ),
            (r#"{"y\"": {"a\\": "{{blob:a}}"}}"#, r#"{"y\"": {"a\\": "blob:1"}}"#),
            (r#"["\"{{blob:a}}", "{{", "\\\\"]"#, r#"["\"{{blob:a}}", "{{", "\\\\"]"#),
            ("{}", "{}"),
        ] {
            assert_eq!(with_ids(json, &ids).as_deref(), Ok(expected));
        }
        assert_eq!(with_ids(r#"["{{blob:b}}"]"#, &ids), Err("b".to_owned()));
    }
}
