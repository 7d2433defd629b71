//! Arguments of a call as a request: path, query, headers and body.
//!
//! INVARIANT(one-segment): an argument fills a part of one segment of the path. It adds no segment, and never makes
//! one that means a parent folder.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::fault::told;
use crate::openapi::operation::{BODY, Operation, OperationParameter, ParameterPlace};
use wardian_egress::policy::spelling::has_one_reading;

/// Longest value of a parameter, in bytes.
const MAX_VALUE: usize = 8 << 10;

/// The parts of a request that arguments decide.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestParts {
    /// The path below the base, with its query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    /// JSON.
    pub(crate) body: Option<String>,
}

/// Lays arguments into the request of an operation.
///
/// # Errors
///
/// The problem, as the end of a sentence about the arguments.
pub(crate) fn lay_out(operation: &Operation, arguments: &RawValue) -> Result<RequestParts, String> {
    let arguments: BTreeMap<String, &RawValue> =
        serde_json::from_str(arguments.get()).map_err(|_error| "must be an object".to_owned())?;
    let is_known = |name: &String| {
        operation.parameters.iter().any(|parameter| parameter.name == *name)
            || (operation.body.is_some() && name == BODY)
    };
    if let Some(unknown) = arguments.keys().find(|name| !is_known(name)) {
        return Err(format!("have `{}`, which the tool does not know", told(unknown)));
    }
    let (mut path, mut query, mut headers) = (operation.path.clone(), Vec::new(), Vec::new());
    for parameter in &operation.parameters {
        let name = &parameter.name;
        let given = arguments.get(name).filter(|value| value.get() != "null");
        let Some(given) = given else {
            if parameter.is_required {
                return Err(format!("lack `{}`", told(name)));
            }
            continue;
        };
        let values = values_of(parameter, given)?;
        match parameter.place {
            ParameterPlace::Path => {
                let value: &str = values.first().map_or("", AsRef::as_ref);
                path = path.replace(&format!("{{{name}}}"), &segment(name, value)?);
            }
            ParameterPlace::Query => {
                let pair = |value: &Cow<'_, str>| format!("{}={}", encoded(name), encoded(value));
                query.extend(values.iter().map(pair));
            }
            ParameterPlace::Header => {
                let value: &str = values.first().map_or("", AsRef::as_ref);
                if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
                    return Err(format!("have signs in `{}` that no header has", told(name)));
                }
                headers.push((name.clone(), value.to_owned()));
            }
        }
    }
    if !query.is_empty() {
        path = format!("{path}?{}", query.join("&"));
    }
    let body = arguments.get(BODY).filter(|_| operation.body.is_some());
    if body.is_none() && operation.body == Some(true) {
        return Err(format!("lack `{BODY}`"));
    }
    Ok(RequestParts { path, headers, body: body.map(|body| body.get().to_owned()) })
}

/// The values of an argument as text: one, or for a query the items of a list.
fn values_of<'a>(
    parameter: &OperationParameter,
    given: &'a RawValue,
) -> Result<Vec<Cow<'a, str>>, String> {
    let problem = || {
        let name = told(&parameter.name);
        match parameter.place {
            ParameterPlace::Query => format!("need text, numbers or a list of these in `{name}`"),
            _ => format!("need a text or a number in `{name}`"),
        }
    };
    let text = given.get();
    if text.len() > MAX_VALUE {
        return Err(format!("have too long a value in `{}`", told(&parameter.name)));
    }
    let values = match text.bytes().next() {
        Some(b'[') if parameter.place == ParameterPlace::Query => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(|_error| problem())?;
            items.into_iter().map(scalar).collect::<Option<Vec<_>>>()
        }
        _ => scalar(given).map(|value| vec![value]),
    };
    values.ok_or_else(problem)
}

/// A string, a number or a boolean as text.
fn scalar(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    match text.bytes().next()? {
        b'"' => serde_json::from_str::<String>(text).ok().map(Cow::Owned),
        b'{' | b'[' | b'n' => None,
        _ => Some(Cow::Borrowed(text)),
    }
}

/// A value as a segment of a path. The rules of egress refuse a path that servers read in two ways, so the argument
/// that makes it one is named here.
fn segment(name: &str, value: &str) -> Result<String, String> {
    if matches!(value, "" | "." | "..") {
        return Err(format!("have a value in `{}` that no path has", told(name)));
    }
    let segment = encoded(value);
    if !has_one_reading(&format!("/{segment}")) {
        return Err(format!(
            "have a value in `{}` that is not one segment of a path: servers disagree about `/`, `\\`, `%`, `;`, \
             control characters and blanks at its ends",
            told(name),
        ));
    }
    Ok(segment)
}

/// Percent-encodes everything that is not unreserved.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::openapi::operation::read_operation;

    fn operation() -> Operation {
        let parameters = json!([
            {"name": "id", "in": "path"},
            {"name": "tag", "in": "query"},
            {"name": "X-Trace", "in": "header"},
        ]);
        let body = json!({"content": {"application/json": {}}});
        let operation = json!({"parameters": parameters, "requestBody": body});
        read_operation(&json!({}), ("PUT", "/items/{id}/x"), &operation, None).unwrap()
    }

    fn laid_out(arguments: &Value) -> Result<RequestParts, String> {
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        lay_out(&operation(), &arguments)
    }

    #[test]
    fn each_argument_has_its_place() {
        let arguments =
            json!({"id": "a b?c", "tag": ["x&/y", 2, true], "X-Trace": "t 1", "body": {"n": 1.5}});
        let parts = laid_out(&arguments).unwrap();
        assert_eq!(parts.path, "/items/a%20b%3Fc/x?tag=x%26%2Fy&tag=2&tag=true");
        assert_eq!(parts.headers, [("X-Trace".to_owned(), "t 1".to_owned())]);
        assert_eq!(parts.body.as_deref(), Some(r#"{"n":1.5}"#));
        let few = laid_out(&json!({"id": 7, "tag": null})).unwrap();
        assert_eq!((few.path.as_str(), few.body), ("/items/7/x", None));
    }

    #[test]
    fn arguments_that_cannot_be_sent_are_refused() {
        for (arguments, expected) in [
            (json!([]), "must be an object"),
            (json!({}), "lack `id`"),
            (json!({"id": null}), "lack `id`"),
            (json!({"id": ".."}), "that no path has"),
            (json!({"id": ""}), "that no path has"),
            (json!({"id": "a/b"}), "not one segment"),
            (json!({"id": "..\\b"}), "not one segment"),
            (json!({"id": "%2e"}), "not one segment"),
            (json!({"id": "a\n"}), "not one segment"),
            (json!({"id": [1]}), "need a text or a number in `id`"),
            (json!({"id": 1, "tag": {"a": 1}}), "a list of these in `tag`"),
            (json!({"id": 1, "tag": [[1]]}), "a list of these in `tag`"),
            (json!({"id": 1, "X-Trace": "a\r\nHost: x"}), "that no header has"),
            (json!({"id": 1, "x": 2}), "have `x`"),
            (json!({"id": "a".repeat(MAX_VALUE)}), "too long"),
        ] {
            let problem = laid_out(&arguments).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn an_argument_is_one_segment_of_the_path(value in "\\PC{1,20}") {
            if let Ok(parts) = laid_out(&json!({"id": value})) {
                let segments: Vec<&str> = parts.path.split('/').collect();
                prop_assert_eq!(segments.len(), 4);
                prop_assert!(!["", ".", ".."].contains(&segments[2]));
                let is_odd = parts.path.contains(['?', '#', '\\', '{']);
                prop_assert!(!is_odd);
            }
        }
    }
}
