//! Cross-Origin Resource Sharing: lets websites call from browsers. Answers preflight requests and
//! adds the headers that let a website read an answer.
//!
//! INVARIANT(allowed-origins-only): these headers are only sent to an origin that the operator
//! allowed. None of them allows credentials: cookies of a browser are not part of a call.

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;

use crate::net::respond::empty;

/// Headers that a website may set, in addition to those that need no permission.
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type");

/// Headers that a website may set in requests for blobs.
const ALLOWED_HEADERS_OF_BLOBS: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, content-digest, repr-digest, range, if-range, if-match, if-none-match",
);

/// Headers that a website may set in messages of the Model Context Protocol.
const ALLOWED_HEADERS_OF_MCP: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id",
);

/// Headers of an answer that a website may read, in addition to those that need no permission.
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "x-request-id, retry-after, etag, location, accept-ranges, content-range, content-disposition, \
     mcp-session-id",
);

/// The time for which a browser may cache the answer to a preflight request, in seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The headers that allow a website to read an answer.
#[derive(Debug, Clone)]
pub(crate) struct Permission {
    /// The origin, or `*`.
    origin: HeaderValue,
}

impl Permission {
    /// For the website at `origin`.
    pub(crate) const fn of(origin: HeaderValue) -> Self {
        Self { origin }
    }

    /// For all websites.
    pub(crate) const fn of_any() -> Self {
        Self { origin: HeaderValue::from_static("*") }
    }

    /// Lets the website read `answer`.
    pub(crate) fn grant(self, answer: &mut Response) {
        let headers = answer.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, self.origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    }
}

/// Tells caches that the answer depends on the requesting website.
pub(crate) fn vary(answer: &mut Response) {
    answer.headers_mut().append(header::VARY, HeaderValue::from_static("origin"));
}

/// Answers a preflight request for `path`. Returns `None` for any other request.
pub(crate) fn preflight(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    request_id: impl FnOnce() -> String,
) -> Option<Response> {
    let asks = |name: HeaderName| headers.contains_key(name);
    if method != Method::OPTIONS || !asks(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let (methods, allowed) = match path {
        "/rpc" => ("POST", ALLOWED_HEADERS),
        "/mcp" => ("POST", ALLOWED_HEADERS_OF_MCP),
        "/healthz" | "/readyz" | "/version" | "/tools" | "/openrpc.json" => {
            ("GET", ALLOWED_HEADERS)
        }
        "/v1/blobs" => ("GET, PUT", ALLOWED_HEADERS_OF_BLOBS),
        "/v1/runs" => ("GET", ALLOWED_HEADERS),
        path if path.starts_with("/v1/skills/") => ("PUT, DELETE", ALLOWED_HEADERS),
        path => match path.strip_prefix("/v1/blobs/") {
            Some(blob) => (methods_of_blob(blob)?, ALLOWED_HEADERS_OF_BLOBS),
            None => (methods_of_run(path.strip_prefix("/v1/runs/")?)?, ALLOWED_HEADERS),
        },
    };
    let mut answer = empty(StatusCode::NO_CONTENT, &request_id());
    let headers = answer.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(answer)
}

/// The methods of a path below `/v1/blobs/`.
fn methods_of_blob(path: &str) -> Option<&'static str> {
    match path.split_once('/') {
        None => Some("GET, HEAD, DELETE"),
        Some((_, "verify")) => Some("POST"),
        Some(_) => None,
    }
}

/// The methods of a path below `/v1/runs/`.
fn methods_of_run(path: &str) -> Option<&'static str> {
    match path.split_once('/') {
        None | Some((_, "content" | "log" | "record")) => Some("GET"),
        Some((_, "cancel")) => Some("POST"),
        Some(_) => None,
    }
}
