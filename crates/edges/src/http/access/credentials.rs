//! The credentials of requests: `Authorization: Bearer`, and the answer to a request without one
//! that is valid.
//!
//! INVARIANT(authenticated-first): a request whose caller is not known is answered from its head
//! alone. Nothing of its body is read, and nothing is executed.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

use crate::net::respond::Failure;
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::ServiceError;
use wardian_vocabulary::error::ErrorKind;

/// The paths that need no credential: load balancers and clients ask them before they have one, and
/// they tell nothing about tenants.
const PUBLIC: [&str; 5] = ["/healthz", "/readyz", "/version", "/tools", "/openrpc.json"];

/// The scheme, written as clients write it.
const SCHEME: &[u8] = b"Bearer ";

/// The challenge to a client that has sent no credential.
const WANTED: HeaderValue = HeaderValue::from_static("Bearer realm=\"wardian\"");

/// The pages of the console, which ask for a credential themselves. They tell nothing of the server.
const PAGES: &str = "/console";

/// True if everybody may ask for this path.
pub(crate) fn is_public(path: &str) -> bool {
    let is_page = |rest: &str| rest.is_empty() || rest.starts_with('/');
    PUBLIC.contains(&path) || path.strip_prefix(PAGES).is_some_and(is_page)
}

/// The credential of a request. A request with two has none: it is unclear who calls.
pub(crate) fn credential(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.as_bytes().strip_prefix(SCHEME),
        _ => None,
    }
}

/// The answer to a request whose caller is not known.
pub(crate) fn refuse_caller(
    error: &ServiceError,
    headers: &HeaderMap,
    request_id: &str,
) -> Response {
    let failure = Failure::of(error, request_id);
    let mut answer = failure.into_response(RequestId::Null, request_id);
    let is_missing = !headers.contains_key(header::AUTHORIZATION);
    if error.kind() == ErrorKind::Unauthorized && is_missing {
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, WANTED);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<Vec<u8>> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        credential(&headers).map(<[u8]>::to_vec)
    }

    #[test]
    fn one_bearer_credential_is_read_as_it_is() {
        assert_eq!(of(&["Bearer abc"]), Some(b"abc".to_vec()));
        // The rest is compared as it is, and no key has a space.
        assert_eq!(of(&["Bearer  abc"]), Some(b" abc".to_vec()));
        for wrong in [
            &[][..],
            &[""],
            &["Bearer"],
            &["bearer abc"],
            &["BEARER abc"],
            &["Basic abc"],
            &["abc"],
            &["Bearer\tabc"],
            &["Bearer abc", "Bearer abc"],
            &["Basic abc", "Bearer abc"],
        ] {
            assert_eq!(of(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_five_paths_and_the_console_are_public() {
        for path in [
            "/healthz",
            "/readyz",
            "/version",
            "/tools",
            "/openrpc.json",
            "/console",
            "/console/",
            "/console/app.js",
        ] {
            assert!(is_public(path), "{path}");
        }
        for path in [
            "/rpc",
            "/",
            "",
            "/healthz/",
            "//healthz",
            "/HEALTHZ",
            "/v1/blobs",
            "/tools/x",
            "/consoles",
            "/v1/console",
            "//console",
        ] {
            assert!(!is_public(path), "{path}");
        }
    }
}
