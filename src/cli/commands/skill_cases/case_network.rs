//! The recorded network of a skill's test. `docs/skills.md` has the format.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use wardian_egress::policy::target::RequestTarget;
use wardian_egress::recorded::{ExpectedBody, RecordedAnswer, RecordedExchange, RecordedRequest};

/// A request and its answer, as the file of a case has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseExchange {
    request: WrittenRequest,
    response: Option<WrittenResponse>,
    failure: Option<WrittenFailure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRequest {
    #[serde(default = "get")]
    method: String,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    text: Option<String>,
    #[serde(default, deserialize_with = "given")]
    json: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenResponse {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, WrittenHeader>,
    text: Option<String>,
    #[serde(default, deserialize_with = "given")]
    json: Option<Value>,
    /// Path of a file below `resources`.
    file: Option<String>,
}

/// The value of a header, or several values.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WrittenHeader {
    One(String),
    Several(Vec<String>),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenFailure {
    UnknownHost,
    Reset,
    Timeout,
}

fn get() -> String {
    "GET".to_owned()
}

/// A `null` that is there is a value, too.
fn given<'de, D: Deserializer<'de>>(written: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(written).map(Some)
}

const fn ok() -> u16 {
    200
}

impl CaseExchange {
    /// Path below `resources` of the file that the server answers with.
    pub(crate) fn file(&self) -> Option<&str> {
        self.response.as_ref()?.file.as_deref()
    }

    /// The exchange, with the content of its file, which `read` gives.
    ///
    /// # Errors
    ///
    /// Says what is wrong, for somebody who knows which exchange is meant.
    pub(crate) fn recorded(
        &self,
        read: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) -> Result<RecordedExchange, String> {
        let answer = match (&self.response, self.failure) {
            (Some(response), None) => response.answer(read)?,
            (None, Some(WrittenFailure::UnknownHost)) => RecordedAnswer::UnknownHost,
            (None, Some(WrittenFailure::Reset)) => RecordedAnswer::Reset,
            (None, Some(WrittenFailure::Timeout)) => RecordedAnswer::Timeout,
            _ => return Err("an exchange must have either `response` or `failure`".to_owned()),
        };
        Ok(RecordedExchange { request: self.request.recorded()?, answer })
    }
}

impl WrittenRequest {
    fn recorded(&self) -> Result<RecordedRequest, String> {
        let method = Method::from_bytes(self.method.as_bytes()).ok();
        let method = method.ok_or_else(|| format!("`{}` is not a method", self.method))?;
        let target = RequestTarget::parse(&self.url);
        let target = target.map_err(|invalid| format!("`{}` {invalid}", self.url))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            add(&mut headers, name, value)?;
        }
        let body = match (&self.text, &self.json) {
            (None, None) => None,
            (Some(text), None) => Some(ExpectedBody::Bytes(Bytes::from(text.clone()))),
            (None, Some(json)) => Some(ExpectedBody::Json(json.clone())),
            _ => return Err("a request must have either `text` or `json`".to_owned()),
        };
        Ok(RecordedRequest { method, target, headers, body })
    }
}

impl WrittenResponse {
    fn answer(
        &self,
        read: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) -> Result<RecordedAnswer, String> {
        let status = StatusCode::from_u16(self.status).ok().filter(|status| {
            // The others are not the end of a request.
            !status.is_informational()
        });
        let status = status.ok_or_else(|| format!("{} is not a status", self.status))?;
        let mut headers = HeaderMap::new();
        for (name, values) in &self.headers {
            match values {
                WrittenHeader::One(value) => add(&mut headers, name, value)?,
                WrittenHeader::Several(values) => {
                    for value in values {
                        add(&mut headers, name, value)?;
                    }
                }
            }
        }
        let (body, kind) = match (&self.text, &self.json, &self.file) {
            (None, None, None) => (Vec::new(), None),
            (Some(text), None, None) => {
                (text.clone().into_bytes(), Some("text/plain; charset=utf-8"))
            }
            (None, Some(json), None) => (json.to_string().into_bytes(), Some("application/json")),
            (None, None, Some(path)) => (read(path)?, None),
            _ => return Err("a response must have one of `text`, `json` and `file`".to_owned()),
        };
        if let Some(kind) = kind.filter(|_| !headers.contains_key(CONTENT_TYPE)) {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        Ok(RecordedAnswer::Response { status, headers, body: Bytes::from(body) })
    }
}

fn add(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    let parsed = HeaderName::from_bytes(name.as_bytes()).ok();
    let parsed = parsed.zip(HeaderValue::from_bytes(value.as_bytes()).ok());
    let (name, value) = parsed.ok_or_else(|| format!("`{name}: {value}` is not a header"))?;
    headers.append(name, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recorded(exchange: &Value) -> Result<RecordedExchange, String> {
        let exchange: CaseExchange =
            serde_json::from_str(&exchange.to_string()).map_err(|error| error.to_string())?;
        exchange.recorded(|path| Ok(format!("content of {path}").into_bytes()))
    }

    #[test]
    fn json_and_text_bring_their_type_along() {
        for (response, expected_type, expected_body) in [
            (json!({"json": {"a": 1}}), Some("application/json"), "{\"a\":1}"),
            (json!({"text": "ä"}), Some("text/plain; charset=utf-8"), "ä"),
            (json!({"text": "a", "headers": {"Content-Type": "text/csv"}}), Some("text/csv"), "a"),
            (json!({"file": "tests/a.bin"}), None, "content of tests/a.bin"),
            (json!({"status": 204}), None, ""),
            (json!({"json": null}), Some("application/json"), "null"),
        ] {
            let exchange =
                recorded(&json!({"request": {"url": "https://a.example"}, "response": response}));
            let RecordedAnswer::Response { headers, body, .. } = exchange.unwrap().answer else {
                panic!("{response}")
            };
            let kind = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap());
            assert_eq!((kind, &*body), (expected_type, expected_body.as_bytes()));
        }
    }

    #[test]
    fn wrong_exchanges_are_refused_with_a_reason() {
        let url = "https://a.example/";
        for (wrong, reason) in [
            (json!({"request": {"url": url}}), "either `response` or `failure`"),
            (json!({"request": {"url": url}, "failure": "gone"}), "unknown variant"),
            (json!({"request": {"url": "ftp://a"}, "response": {}}), "does not begin with"),
            (json!({"request": {"url": url, "method": "G T"}, "response": {}}), "not a method"),
            (
                json!({"request": {"url": url, "text": "a", "json": 1}, "response": {}}),
                "either `text` or `json`",
            ),
            (json!({"request": {"url": url}, "response": {"status": 101}}), "not a status"),
            (json!({"request": {"url": url}, "response": {"stat": 200}}), "unknown field"),
            (
                json!({"request": {"url": url}, "response": {"text": "", "file": ""}}),
                "one of `text`",
            ),
            (
                json!({"request": {"url": url}, "response": {"headers": {"a b": "c"}}}),
                "is not a header",
            ),
        ] {
            let refused = recorded(&wrong).unwrap_err();
            assert!(refused.contains(reason), "{wrong}: {refused}");
        }
    }
}
