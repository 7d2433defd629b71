//! A list of requests with their answers, and what was asked of it.

use std::borrow::Cow;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;

use crate::error::{NetworkError, errno};
use crate::policy::target::{HostName, RequestTarget};

/// Unexpected requests that are remembered.
const MAX_UNEXPECTED: usize = 16;

/// A request, and what the server answered.
#[derive(Debug)]
pub struct RecordedExchange {
    /// Which requests are meant.
    pub request: RecordedRequest,
    /// The answer.
    pub answer: RecordedAnswer,
}

/// Describes requests.
#[derive(Debug)]
pub struct RecordedRequest {
    /// The method.
    pub method: Method,
    /// The URL, with its query.
    pub target: RequestTarget,
    /// Headers that the request must have. It may have others.
    pub headers: HeaderMap,
    /// The body that the request must have; any without it.
    pub body: Option<ExpectedBody>,
}

/// The body of a request.
#[derive(Debug)]
pub enum ExpectedBody {
    /// Exactly these bytes.
    Bytes(Bytes),
    /// JSON of this value, in any spelling.
    Json(Value),
}

/// What a server answers.
#[derive(Debug)]
pub enum RecordedAnswer {
    /// A response.
    Response {
        /// The status.
        status: StatusCode,
        /// The headers, without those of framing.
        headers: HeaderMap,
        /// The whole body.
        body: Bytes,
    },
    /// There is no such host.
    UnknownHost,
    /// The connection is closed without a response.
    Reset,
    /// The server does not answer in time. The guest learns it at once.
    Timeout,
}

/// Exchanges that stand for the world. Each is used once and in their order, if several fit a
/// request; after the last of those, the last is used again.
#[derive(Debug)]
pub struct Recording {
    exchanges: Vec<RecordedExchange>,
    asked: Mutex<RecordingUse>,
}

#[derive(Debug)]
struct RecordingUse {
    /// How often each exchange was used.
    uses: Vec<usize>,
    /// Requests that no exchange describes.
    unexpected: Vec<String>,
}

/// A request, as it would have been sent.
pub(super) struct SentRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) target: &'a RequestTarget,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
}

impl Recording {
    /// A recording of these exchanges; none makes every request fail.
    #[must_use]
    pub fn new(exchanges: Vec<RecordedExchange>) -> Self {
        let asked = RecordingUse { uses: vec![0; exchanges.len()], unexpected: Vec::new() };
        Self { exchanges, asked: Mutex::new(asked) }
    }

    /// The differences between the recording and what was asked of it, one line each: requests
    /// that it does not have, and exchanges that were never used.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let asked = self.asked.lock();
        let unexpected = asked.unexpected.iter();
        let mut found: Vec<String> = unexpected
            .map(|request| format!("network: there is no recorded answer for {request}"))
            .collect();
        let numbered = self.exchanges.iter().zip(&asked.uses).enumerate();
        let unused = numbered.filter(|(_, (exchange, uses))| {
            // A host that does not exist gets no request.
            **uses == 0 && !matches!(exchange.answer, RecordedAnswer::UnknownHost)
        });
        found.extend(unused.map(|(at, (exchange, _))| {
            let RecordedRequest { method, target, .. } = &exchange.request;
            format!("network[{at}]: {method} {target} was never requested")
        }));
        found
    }

    /// The differences between a request that no exchange describes and the nearest exchange of its
    /// method and URL, as the end of a line.
    fn difference_to_nearest(&self, sent: &SentRequest<'_>) -> String {
        let numbered = self.exchanges.iter().enumerate();
        let others = numbered
            .filter_map(|(at, exchange)| Some((at, exchange.request.differences_of(sent)?)));
        let nearest = others.min_by_key(|(_, differences)| differences.len());
        nearest.map_or_else(String::new, |(at, differences)| {
            format!("; unlike network[{at}], {}", differences.join(", and "))
        })
    }

    /// False if the recording says that there is no such host.
    pub(crate) fn has_host(&self, host: &HostName) -> bool {
        !self.exchanges.iter().any(|exchange| {
            matches!(exchange.answer, RecordedAnswer::UnknownHost)
                && exchange.request.target.destination.host == *host
        })
    }

    /// The answer to a request. Answers that are failures are errors.
    pub(super) fn answer(
        &self,
        sent: &SentRequest<'_>,
    ) -> Result<(StatusCode, &HeaderMap, &Bytes), NetworkError> {
        let mut asked = self.asked.lock();
        let numbered = self.exchanges.iter().enumerate();
        let mut last = None;
        for (at, exchange) in numbered.filter(|(_, exchange)| exchange.request.describes(sent)) {
            last = Some((at, exchange));
            if asked.uses.get(at) == Some(&0) {
                break;
            }
        }
        let Some((at, exchange)) = last else {
            let request = format!("{} {}", sent.method, sent.target);
            let text = format!("the test has no recorded answer for {request}");
            if asked.unexpected.len() < MAX_UNEXPECTED {
                asked.unexpected.push(format!("{request}{}", self.difference_to_nearest(sent)));
            }
            return Err(NetworkError::new(errno::ECONNREFUSED, text));
        };
        if let Some(uses) = asked.uses.get_mut(at) {
            *uses = uses.saturating_add(1);
        }
        let failed = |errno, text: Cow<'static, str>| Err(NetworkError::new(errno, text));
        match &exchange.answer {
            RecordedAnswer::Response { status, headers, body } => Ok((*status, headers, body)),
            RecordedAnswer::UnknownHost => failed(errno::EHOSTUNREACH, "No route to host".into()),
            RecordedAnswer::Reset => failed(errno::ECONNRESET, "Connection reset by peer".into()),
            RecordedAnswer::Timeout => {
                Err(NetworkError::timeout("the server did not answer in time"))
            }
        }
    }
}

impl RecordedRequest {
    fn describes(&self, sent: &SentRequest<'_>) -> bool {
        self.differences_of(sent).is_some_and(|differences| differences.is_empty())
    }

    /// The differences of a request of this method and URL; `None` for another one. A header that
    /// was sent can have the value of a secret, so no value is repeated.
    fn differences_of(&self, sent: &SentRequest<'_>) -> Option<Vec<String>> {
        if self.method != *sent.method || self.target != *sent.target {
            return None;
        }
        let has = |name: &HeaderName, value: &HeaderValue| {
            sent.headers.get_all(name).iter().any(|sent| sent == value)
        };
        let other = self.headers.iter().filter(|(name, value)| !has(name, value));
        let mut differences: Vec<String> = other
            .map(|(name, _)| match sent.headers.contains_key(name) {
                true => format!("its header `{name}` has a different value"),
                false => format!("it has no header `{name}`"),
            })
            .collect();
        differences.dedup();
        if self.body.as_ref().is_some_and(|expected| !expected.is_equal_to(sent.body)) {
            differences.push("its body is different".to_owned());
        }
        Some(differences)
    }
}

impl ExpectedBody {
    fn is_equal_to(&self, body: &[u8]) -> bool {
        match self {
            Self::Bytes(expected) => **expected == *body,
            Self::Json(expected) => {
                serde_json::from_slice::<Value>(body).is_ok_and(|value| value == *expected)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exchange(method: &str, url: &str, answer: RecordedAnswer) -> RecordedExchange {
        let request = RecordedRequest {
            method: method.parse().unwrap(),
            target: RequestTarget::parse(url).unwrap(),
            headers: HeaderMap::new(),
            body: None,
        };
        RecordedExchange { request, answer }
    }

    fn ok(body: &'static str) -> RecordedAnswer {
        let (headers, body) = (HeaderMap::new(), Bytes::from_static(body.as_bytes()));
        RecordedAnswer::Response { status: StatusCode::OK, headers, body }
    }

    fn ask(recording: &Recording, method: &Method, url: &str, body: &[u8]) -> Result<Bytes, i32> {
        let (target, headers) = (RequestTarget::parse(url).unwrap(), HeaderMap::new());
        let sent = SentRequest { method, target: &target, headers: &headers, body };
        let answered = recording.answer(&sent);
        answered.map(|(_, _, body)| body.clone()).map_err(|error| error.errno())
    }

    #[test]
    fn answers_come_in_their_order_and_the_last_one_again() {
        let url = "https://a.example/x?y=1";
        let recording = Recording::new(vec![
            exchange("GET", url, ok("one")),
            exchange("POST", url, ok("other")),
            exchange("GET", url, ok("two")),
        ]);
        let asked: Vec<_> = (0..3).map(|_| ask(&recording, &Method::GET, url, b"")).collect();
        assert_eq!(asked, [Ok("one".into()), Ok("two".into()), Ok("two".into())]);
        for (method, url) in [
            (Method::PUT, url),
            (Method::GET, "https://a.example/x?y=2"),
            (Method::GET, "http://a.example/x?y=1"),
            (Method::GET, "https://a.example:444/x?y=1"),
        ] {
            assert_eq!(ask(&recording, &method, url, b""), Err(errno::ECONNREFUSED));
        }
        let found = recording.differences();
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!(found[0], format!("network: there is no recorded answer for PUT {url}"));
        assert_eq!(found[4], format!("network[1]: POST {url} was never requested"));
    }

    #[test]
    fn headers_and_bodies_are_part_of_a_request_if_they_are_recorded() {
        let url = "https://a.example/";
        let mut json = exchange("POST", url, ok("json"));
        json.request.body = Some(ExpectedBody::Json(json!({"a": [1, 2]})));
        let mut text = exchange("POST", url, ok("text"));
        text.request.body = Some(ExpectedBody::Bytes(Bytes::from_static(b"a=1")));
        let mut named = exchange("POST", url, ok("named"));
        named.request.headers.insert("x-key", HeaderValue::from_static("1"));
        let recording = Recording::new(vec![json, text, named]);
        let post = |body| ask(&recording, &Method::POST, url, body);
        assert_eq!(post(b"{\"a\" : [1,2]}"), Ok("json".into()));
        assert_eq!(post(b"a=1"), Ok("text".into()));
        assert_eq!(post(b"a=2"), Err(errno::ECONNREFUSED));
        let found = recording.differences();
        assert!(found[0].ends_with("; unlike network[0], its body is different"), "{found:?}");
    }

    #[test]
    fn another_header_is_named_and_its_value_is_not() {
        let url = "https://a.example/";
        let mut one = exchange("GET", url, ok("one"));
        one.request.headers.insert("authorization", HeaderValue::from_static("Bearer hunter2"));
        one.request.headers.insert("x-key", HeaderValue::from_static("1"));
        let recording = Recording::new(vec![one]);
        let target = RequestTarget::parse(url).unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer opensesame"));
        let sent =
            SentRequest { method: &Method::GET, target: &target, headers: &headers, body: b"" };
        assert!(recording.answer(&sent).is_err());
        let found = recording.differences().join("\n");
        let expected = "GET https://a.example/; unlike network[0], its header `authorization` has \
            a different value, and it has no header `x-key`\n";
        assert!(found.contains(expected), "{found}");
        assert!(!found.contains("opensesame") && !found.contains("hunter2"), "{found}");
    }

    #[test]
    fn failures_are_answers() {
        let recording = Recording::new(vec![
            exchange("GET", "https://gone.example/", RecordedAnswer::UnknownHost),
            exchange("GET", "https://a.example/reset", RecordedAnswer::Reset),
            exchange("GET", "https://a.example/slow", RecordedAnswer::Timeout),
        ]);
        assert!(!recording.has_host(&HostName::parse("gone.example").unwrap()));
        assert!(recording.has_host(&HostName::parse("other.example").unwrap()));
        let get = |url| ask(&recording, &Method::GET, url, b"");
        assert_eq!(get("https://a.example/reset"), Err(errno::ECONNRESET));
        assert_eq!(get("https://a.example/slow"), Err(errno::ETIMEDOUT));
        assert_eq!(recording.differences(), Vec::<String>::new());
    }
}
