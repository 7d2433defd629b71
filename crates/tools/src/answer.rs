//! The answer of a tool, as JSON text.

use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::fault::{Fault, told};
use wardian_formats::protocol::strict::{self, RootKind};

/// Longest text of an error that a tool reports, in bytes.
const MAX_ERROR: usize = 4 << 10;

/// What a tool answered.
#[derive(Debug, Clone)]
pub struct ToolAnswer {
    /// The value, or the text of an error. All parsers of JSON read it alike.
    pub value: Box<RawValue>,
    /// True if the tool reports an error.
    pub is_error: bool,
}

#[derive(Deserialize)]
struct CallResult<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
}

impl ToolAnswer {
    /// The text of an error that the tool reports.
    #[must_use]
    pub fn error_text(&self) -> Option<String> {
        if !self.is_error {
            return None;
        }
        let text = serde_json::from_str(self.value.get());
        Some(text.unwrap_or_else(|_| "the tool reports an error".to_owned()))
    }

    /// An answer in JSON. The text is checked.
    pub(crate) fn of_json(text: String) -> Result<Self, Fault> {
        if strict::read_output(&text).is_err() {
            return Err(ambiguous());
        }
        let value = RawValue::from_string(text).map_err(|_error| ambiguous())?;
        Ok(Self { value, is_error: false })
    }

    /// An answer that is text.
    pub(crate) fn of_text(text: &str) -> Result<Self, Fault> {
        let value = to_raw_value(text).map_err(|_error| ambiguous())?;
        Ok(Self { value, is_error: false })
    }

    /// An error that the tool reports.
    pub(crate) fn of_error(text: &str) -> Result<Self, Fault> {
        let short = text.char_indices().take_while(|(at, _)| *at < MAX_ERROR);
        let short: String = short.map(|(_, letter)| letter).collect();
        let answer = Self::of_text(&short)?;
        Ok(Self { is_error: true, ..answer })
    }

    /// The answer in a result of `tools/call`: its structured content; else its text, if there is one; else the
    /// list of its parts.
    pub(crate) fn of_call(result: &RawValue) -> Result<Self, Fault> {
        let malformed = || Fault::broken("its server sent no result of a tool");
        match strict::read_output(result.get()) {
            Ok(RootKind::Object) => {}
            Ok(_) => return Err(malformed()),
            Err(_) => return Err(ambiguous()),
        }
        let result: CallResult<'_> =
            serde_json::from_str(result.get()).map_err(|_error| malformed())?;
        let parts = result.content.unwrap_or_default();
        let texts = parts.iter().map(text_of).collect::<Option<Vec<_>>>();
        if result.is_error == Some(true) {
            let texts = texts.unwrap_or_default();
            let texts =
                texts.iter().filter_map(|text| serde_json::from_str::<String>(text.get()).ok());
            let text = texts.collect::<Vec<_>>().join("\n");
            let text = if text.is_empty() { "the tool reports an error" } else { text.as_str() };
            return Self::of_error(text);
        }
        let value = match (result.structured, texts.as_deref()) {
            (Some(structured), _) => structured.to_owned(),
            (None, Some([text])) => (*text).to_owned(),
            _ => to_raw_value(&parts).map_err(|_error| ambiguous())?,
        };
        Ok(Self { value, is_error: false })
    }

    /// The answer to a request of an API.
    pub(crate) fn of_response(status: u16, kind: &str, body: &[u8]) -> Result<Self, Fault> {
        let text = String::from_utf8_lossy(body);
        match status {
            200..=299 if text.trim().is_empty() => Self::of_json("null".to_owned()),
            200..=299 if kind == "application/json" || kind.ends_with("+json") => {
                Self::of_json(text.into_owned())
            }
            200..=299 => Self::of_text(&text),
            300..=399 => {
                let text = format!("its server answers with a redirect (status {status})");
                Err(Fault::broken(text))
            }
            401 | 403 => {
                let text = format!("its server refuses the credentials (status {status})");
                Err(Fault::broken(text))
            }
            _ => Self::of_error(&format!("status {status}: {}", told(&text))),
        }
    }
}

/// The text of a part, as JSON; `None` for a picture or something else.
fn text_of<'a>(part: &&'a RawValue) -> Option<&'a RawValue> {
    let part: Part<'a> = serde_json::from_str(part.get()).ok()?;
    part.text.filter(|text| part.kind == "text" && text.get().starts_with('"'))
}

fn ambiguous() -> Fault {
    Fault::broken("the answer of its server has no single meaning")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(result: &str) -> Result<ToolAnswer, Fault> {
        ToolAnswer::of_call(&RawValue::from_string(result.to_owned()).unwrap())
    }

    #[test]
    fn a_result_is_its_structured_content_its_text_or_its_parts() {
        let text = r#"{"type":"text","text":"a\u0062"}"#;
        let picture = r#"{"type":"image","data":"","mimeType":"image/png"}"#;
        for (result, expected) in [
            (format!(r#"{{"content":[{text}]}}"#), r#""a\u0062""#.to_owned()),
            (
                format!(r#"{{"content":[{text}],"structuredContent":{{"n":1.0}}}}"#),
                r#"{"n":1.0}"#.into(),
            ),
            (format!(r#"{{"content":[{text},{picture}]}}"#), format!("[{text},{picture}]")),
            (r#"{"content":[]}"#.to_owned(), "[]".to_owned()),
            ("{}".to_owned(), "[]".to_owned()),
        ] {
            let answer = answer(&result).unwrap();
            assert_eq!((answer.value.get(), answer.is_error), (expected.as_str(), false));
            assert_eq!(answer.error_text(), None);
        }
        let failed = format!(r#"{{"isError":true,"content":[{text},{text}]}}"#);
        assert_eq!(answer(&failed).unwrap().error_text().unwrap(), "ab\nab");
        let silent = answer(r#"{"isError":true}"#).unwrap();
        assert_eq!(silent.error_text().unwrap(), "the tool reports an error");
        for wrong in ["[]", r#"{"content":1}"#, r#"{"structuredContent":{"a":1,"a":2}}"#] {
            assert!(answer(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_response_is_json_text_or_an_error() {
        let of = |status, kind: &str, body: &str| {
            let answer = ToolAnswer::of_response(status, kind, body.as_bytes());
            answer.map(|answer| (answer.value.get().to_owned(), answer.is_error))
        };
        let ok = |text: &str| (text.to_owned(), false);
        assert_eq!(of(200, "application/json", "{\"a\":1}").unwrap(), ok("{\"a\":1}"));
        assert_eq!(of(200, "text/plain", "a\"b").unwrap(), ok(r#""a\"b""#));
        assert_eq!(of(204, "", "").unwrap(), ok("null"));
        assert_eq!(of(404, "", "gone").unwrap(), ("\"status 404: gone\"".to_owned(), true));
        assert!(of(200, "application/json", "{\"a\":1,\"a\":2}").is_err());
        assert!(of(302, "", "").is_err() && of(401, "", "").is_err());
    }

    #[test]
    fn an_error_is_short() {
        let long = ToolAnswer::of_error(&"é".repeat(MAX_ERROR)).unwrap();
        assert!(long.error_text().unwrap().len() <= MAX_ERROR + 1);
    }
}
