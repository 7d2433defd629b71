//! Requests and responses as the record has them.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

use crate::error::{NetworkError, errno};
use crate::policy::target::{Destination, Transport};
use crate::scripted::cookies::CookieJar;
use wardian_formats::provenance::network::{NetworkBody, NetworkRequestKey, NetworkResponse};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Headers of requests whose values prove who asks.
const CREDENTIALS: [HeaderName; 3] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE];

/// Headers of responses that the gateway writes itself.
const FRAMING: [HeaderName; 5] = [
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TRAILER,
    header::TE,
    header::UPGRADE,
];

/// The parts of a request that have to be the same in a repetition.
pub(super) fn key_of(
    head: &hyper::http::request::Parts,
    to: &Destination,
    transport: Transport,
    body: &[u8],
) -> NetworkRequestKey {
    let headers = head.headers.iter().map(|(name, value)| {
        let value = (!CREDENTIALS.contains(name)).then(|| latin(value.as_bytes()));
        (name.as_str().to_owned(), value)
    });
    NetworkRequestKey {
        method: head.method.as_str().to_owned(),
        url: format!("{}://{}{}", transport.as_str(), to.authority(transport), head.uri),
        headers: headers.collect(),
        body_sha256: Digest::of(body),
        body_size_bytes: ByteCount::from(body.len()).as_u64(),
    }
}

/// A response as it is recorded. Cookies get stand-ins.
pub(super) fn recorded(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    is_head: bool,
    cookies: &CookieJar,
) -> NetworkResponse {
    let mut kept = Vec::with_capacity(headers.len());
    for (name, value) in headers {
        if is_framing(name, is_head) {
            continue;
        }
        let value = match *name == header::SET_COOKIE {
            false => Some(value.as_bytes().to_vec()),
            true => cookies.stand_in(value.as_bytes()),
        };
        kept.extend(value.map(|value| (name.as_str().to_owned(), latin(&value))));
    }
    NetworkResponse { status: status.as_u16(), headers: kept, body: NetworkBody::of(body) }
}

/// The response that the program gets, both when it is recorded and when it is replayed.
pub(super) fn returned(
    recorded: &NetworkResponse,
    is_head: bool,
) -> Result<Response<Full<Bytes>>, NetworkError> {
    let malformed = || NetworkError::new(errno::ECONNRESET, "the record has a malformed response");
    let body = if is_head { Some(Vec::new()) } else { recorded.body.bytes() };
    let mut response = Response::new(Full::new(Bytes::from(body.ok_or_else(malformed)?)));
    let status = StatusCode::from_u16(recorded.status).ok();
    *response.status_mut() =
        status.filter(|status| !status.is_informational()).ok_or_else(malformed)?;
    for (name, value) in &recorded.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok().ok_or_else(malformed)?;
        if is_framing(&name, is_head) {
            continue;
        }
        let value = bytes_of_latin(value).and_then(|value| HeaderValue::from_bytes(&value).ok());
        response.headers_mut().append(name, value.ok_or_else(malformed)?);
    }
    Ok(response)
}

/// A response without a body says how long the body would be.
fn is_framing(name: &HeaderName, is_head: bool) -> bool {
    FRAMING.contains(name) && !(is_head && *name == header::CONTENT_LENGTH)
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn bytes_of_latin(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|letter| u8::try_from(letter).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_the_same_from_its_record() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", &b"text/plain"[..]),
            ("content-length", b"5"),
            ("x-odd", b"caf\xe9"),
            ("set-cookie", b"sid=s3cret; Path=/"),
            ("set-cookie", b"b=c"),
        ] {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        let jar = CookieJar::default();
        let kept = recorded(StatusCode::CREATED, &headers, b"hello", false, &jar);
        assert!(!format!("{kept:?}").contains("s3cret"), "{kept:?}");
        let response = returned(&kept, false).unwrap();
        assert_eq!(response.status(), StatusCode::CREATED);
        assert_eq!(response.headers()["x-odd"].as_bytes(), b"caf\xe9");
        assert_eq!(response.headers().get_all("set-cookie").iter().count(), 2);
        assert!(!response.headers().contains_key("content-length"));
        let kept = recorded(StatusCode::OK, &headers, b"", true, &jar);
        assert_eq!(returned(&kept, true).unwrap().headers()["content-length"], "5");
    }

    #[test]
    fn a_record_that_was_made_up_gives_a_failure() {
        let response = |status, name: &str, value: &str| NetworkResponse {
            status,
            headers: vec![(name.to_owned(), value.to_owned())],
            body: NetworkBody::of(b"x"),
        };
        for wrong in [
            response(101, "a", "b"),
            response(200, "a b", "c"),
            response(200, "a", "b\r\nc: d"),
            response(200, "a", "\u{20ac}"),
        ] {
            assert!(returned(&wrong, false).is_err(), "{wrong:?}");
        }
        let framed = returned(&response(200, "content-length", "70"), false).unwrap();
        assert!(framed.headers().is_empty());
    }
}
