//! Builds responses: statuses, headers and JSON-RPC bodies. No other code turns a failed call into
//! an answer.

use std::fmt::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use tracing::{debug, error};

use crate::net::body::BodyFault;
use wardian_formats::protocol::error_codes::WireError;
use wardian_formats::protocol::request_id::RequestId;
use wardian_formats::protocol::response::{self, ErrorBody};
use wardian_service::ServiceError;
use wardian_vocabulary::budget::BudgetExhausted;
use wardian_vocabulary::error::{CauseChain, ErrorKind};
use wardian_vocabulary::units::ByteCount;

/// The message for callers when the server is at fault.
const INTERNAL: &str = "internal error; quote the request id when reporting it";

/// Names the request in the server's log.
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The challenge to a client whose credential is not valid.
const REFUSED_KEY: HeaderValue =
    HeaderValue::from_static("Bearer realm=\"wardian\", error=\"invalid_token\"");

/// A JSON-RPC error, with the HTTP status for an answer that consists of this error alone.
#[derive(Debug)]
pub struct Failure {
    pub(crate) body: Box<ErrorBody>,
    pub(crate) status: u16,
    retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that `body` describes.
    pub fn new(body: ErrorBody, status: u16) -> Self {
        Self { body: Box::new(body), status, retry_after: None }
    }

    /// The failure for `error`. The causes of an internal error are logged.
    pub fn of(error: &ServiceError, request_id: &str) -> Self {
        let kind = error.kind();
        let wire = WireError::of(kind);
        let mut body = if kind == ErrorKind::Internal {
            let causes = one_line(&CauseChain(error).to_string());
            error!(request.id = request_id, "request `{request_id}` failed: {causes}");
            ErrorBody::new(wire, INTERNAL).with_request_id(request_id)
        } else {
            let message = one_line(&error.to_string());
            debug!(request.id = request_id, kind = wire.label, "request refused: {message}");
            ErrorBody::new(wire, error.to_string())
        };
        if let Some(parameter) = error.parameter() {
            body = body.with_parameter(parameter);
        }
        Self::new(body, wire.http_status).retried_after(error.retry_after())
    }

    /// A failure of this kind that does not come from the service.
    pub fn of_kind(kind: ErrorKind, message: impl Into<String>) -> Self {
        let wire = WireError::of(kind);
        Self::new(ErrorBody::new(wire, message), wire.http_status)
    }

    /// A failure after which a retry may soon succeed.
    pub fn overloaded(message: &str) -> Self {
        let soon = Duration::from_secs(1);
        Self::of_kind(ErrorKind::Overloaded, message).retried_after(Some(soon))
    }

    /// Adds the delay after which a retry can succeed.
    pub(crate) fn retried_after(mut self, delay: Option<Duration>) -> Self {
        if let Some(delay) = delay {
            // Rounded up: a client that comes back too early is refused again.
            let milliseconds = delay.as_nanos().div_ceil(1_000_000).max(1);
            let milliseconds = u64::try_from(milliseconds).unwrap_or(u64::MAX);
            self.body.data.retry_after_ms = Some(milliseconds);
            self.retry_after = Some(delay);
        }
        self
    }

    /// Builds the answer to a call with this failure.
    pub(crate) fn into_response(self, id: RequestId, request_id: &str) -> Response {
        let retry_after = self.retry_after;
        let status = self.status;
        let body = response::Response::<()> { id, outcome: Err(*self.body) };
        let mut answer = json(status, &body, request_id);
        if status == 401 {
            answer.headers_mut().insert(header::WWW_AUTHENTICATE, REFUSED_KEY);
        }
        if let Some(delay) = retry_after {
            let seconds = delay.as_millis().div_ceil(1_000).max(1).to_string();
            if let Ok(seconds) = HeaderValue::from_str(&seconds) {
                answer.headers_mut().insert(header::RETRY_AFTER, seconds);
            }
        }
        answer
    }
}

/// Refuses a request that breaks a rule of the HTTP edge.
pub fn refuse(status: StatusCode, message: &str, request_id: &str) -> Response {
    let wire = match status {
        StatusCode::FORBIDDEN => WireError::of(ErrorKind::Forbidden),
        StatusCode::PAYLOAD_TOO_LARGE => WireError::of(ErrorKind::TooLarge),
        _ => WireError::INVALID_REQUEST,
    };
    let failure = Failure::new(ErrorBody::new(wire, message), status.as_u16());
    failure.into_response(RequestId::Null, request_id)
}

/// Refuses a request whose body cannot be read. `largest` is the size that a body may have.
pub(crate) fn refuse_body(fault: BodyFault, largest: ByteCount, request_id: &str) -> Response {
    debug!(request.id = request_id, "body refused: {fault:?}");
    let answer = match fault {
        BodyFault::TooLarge => {
            let message = format!("a body may have at most {largest}");
            refuse(StatusCode::PAYLOAD_TOO_LARGE, &message, request_id)
        }
        BodyFault::TooSlow => {
            let message = "the body did not arrive in time";
            refuse(StatusCode::REQUEST_TIMEOUT, message, request_id)
        }
        BodyFault::Broken => {
            refuse(StatusCode::BAD_REQUEST, "the body could not be read completely", request_id)
        }
        BodyFault::NoRoom => {
            let failure = Failure::overloaded(&BudgetExhausted.to_string());
            failure.into_response(RequestId::Null, request_id)
        }
    };
    closing(answer)
}

/// Makes the answer close its connection, so the rest of the request need not be read.
pub(crate) fn closing(mut answer: Response) -> Response {
    answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// An answer of JSON.
pub fn json(status: u16, value: &impl Serialize, request_id: &str) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => json_bytes(status, bytes.into(), request_id),
        Err(fault) => {
            error!(request.id = request_id, "an answer cannot be written as JSON: {fault}");
            empty(StatusCode::INTERNAL_SERVER_ERROR, request_id)
        }
    }
}

/// An answer of bytes that are JSON.
pub(crate) fn json_bytes(status: u16, bytes: Bytes, request_id: &str) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = empty(status, request_id);
    *answer.body_mut() = Body::from(bytes);
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}

/// An answer without a body.
pub fn empty(status: StatusCode, request_id: &str) -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(name) = HeaderValue::from_str(request_id) {
        headers.insert(X_REQUEST_ID, name);
    }
    answer
}

/// `text` with its control and formatting characters escaped, so that it can forge no line of a
/// log.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '"' | '\'' | '\\') {
            line.push(letter);
        } else if write!(line, "{}", letter.escape_debug()).is_err() {
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_stays_one_line() {
        assert_eq!(one_line("a \"b\" é"), "a \"b\" é");
        assert_eq!(one_line("a\nb\r\u{1b}[2J\u{202e}\u{0}"), "a\\nb\\r\\u{1b}[2J\\u{202e}\\0");
    }

    #[test]
    fn a_client_is_told_in_whole_seconds_when_to_come_back() {
        for (milliseconds, seconds) in
            [(0, "1"), (200, "1"), (1_000, "1"), (1_001, "2"), (90_000, "90")]
        {
            let failure = Failure::of_kind(ErrorKind::Overloaded, "busy")
                .retried_after(Some(Duration::from_millis(milliseconds)));
            let answer = failure.into_response(RequestId::Null, "req_1");
            assert_eq!(answer.status(), 503);
            assert_eq!(answer.headers()[header::RETRY_AFTER], seconds);
        }
    }

    #[test]
    fn a_client_is_never_told_to_come_back_too_early() {
        for (delay, milliseconds) in [
            (Duration::ZERO, 1),
            (Duration::from_nanos(1), 1),
            (Duration::from_micros(999), 1),
            (Duration::from_millis(7), 7),
            (Duration::from_micros(7_001), 8),
            (Duration::MAX, u64::MAX),
        ] {
            let failure = Failure::of_kind(ErrorKind::RateLimited, "slow down");
            let failure = failure.retried_after(Some(delay));
            let body = serde_json::to_value(&failure.body).unwrap();
            assert_eq!(body["data"]["retry_after_ms"], milliseconds, "{delay:?}");
        }
    }
}
