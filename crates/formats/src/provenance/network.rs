//! The network record: what a reproducible run exchanged with the world, in its order.
//!
//! A repetition is answered from it. It has answers as the program got them and requests by their
//! parts that matter; values of headers that prove who asks are left out.

use serde::{Deserialize, Serialize};

use crate::provenance::canonical::{canonical, read_canonical};
use crate::provenance::check::ensure;
use crate::provenance::document::{MAX_DOCUMENT, few};
use crate::provenance::fault::ProvenanceError;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The name of the format, in each network record.
const FORMAT: &str = "wardian network record";

/// The version of the format that is written and read.
const VERSION: u64 = 1;

/// What a run exchanged with the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkDocument {
    /// Always `wardian network record`.
    pub format: String,
    /// Always 1.
    pub format_version: u64,
    /// True if the run was granted any host.
    pub granted: bool,
    /// The events, in their order.
    #[serde(deserialize_with = "few")]
    pub events: Vec<NetworkEvent>,
}

/// A request of a program to the world, with its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum NetworkEvent {
    /// A name was looked up.
    LookUp {
        /// The name.
        name: String,
        /// Whether there is such a host; none if that failed.
        found: Option<bool>,
        /// Why it failed.
        failure: Option<NetworkFailure>,
    },
    /// A connection was refused before it began.
    Refuse {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Why.
        failure: NetworkFailure,
    },
    /// A connection was begun. Connections are numbered from 1 in the order of these events.
    Connect {
        /// The host.
        host: String,
        /// The port.
        port: u16,
        /// Why it was not made, if so.
        failure: Option<NetworkFailure>,
    },
    /// TLS was asked for on a connection.
    Encrypt {
        /// The connection.
        connection: u32,
        /// SHA-256 of what the program asked for.
        request_sha256: Digest,
        /// The JSON text that it got; none if the connection failed.
        answer: Option<String>,
        /// Whether TLS is spoken from here on.
        agreed: bool,
        /// Why the connection failed, if so.
        failure: Option<NetworkFailure>,
    },
    /// A request was sent on a connection.
    Exchange(Box<NetworkExchange>),
}

/// A request with its response. Without a response and a failure the server closed the connection
/// and said nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkExchange {
    /// The connection.
    pub connection: u32,
    /// The request.
    pub request: NetworkRequestKey,
    /// The response.
    pub response: Option<NetworkResponse>,
    /// Why there is none, if there is a reason.
    pub failure: Option<NetworkFailure>,
}

/// The parts of a request that have to be the same in a repetition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkRequestKey {
    /// The method.
    pub method: String,
    /// The URL, with its query.
    pub url: String,
    /// Names, and values as Latin-1; none for a value that proves who asks.
    pub headers: Vec<(String, Option<String>)>,
    /// SHA-256 of the body.
    pub body_sha256: Digest,
    /// Length of the body.
    pub body_size_bytes: u64,
}

/// A response, as the program got it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkResponse {
    /// The status.
    pub status: u16,
    /// Names, and values as Latin-1.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: NetworkBody,
}

/// The body of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum NetworkBody {
    /// UTF-8 without control characters but tabs and ends of lines.
    Text(String),
    /// Any other bytes.
    Base64(String),
}

/// A failure, as the program got it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkFailure {
    /// A number of Linux.
    pub errno: u16,
    /// Its text.
    pub text: String,
}

impl NetworkBody {
    /// The one form that these bytes have.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let is_plain = |letter: char| !letter.is_control() || matches!(letter, '\t' | '\n' | '\r');
        match std::str::from_utf8(bytes) {
            Ok(text) if text.chars().all(is_plain) => Self::Text(text.to_owned()),
            _ => Self::Base64(data_encoding::BASE64.encode(bytes)),
        }
    }

    /// The bytes; none if the text is no Base64.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.as_bytes().to_vec()),
            Self::Base64(text) => data_encoding::BASE64.decode(text.as_bytes()).ok(),
        }
    }
}

impl NetworkEvent {
    /// The length of its canonical form, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        canonical(self).map_or(usize::MAX, |text| text.len())
    }

    fn check(&self) -> Result<(), ProvenanceError> {
        let Self::Exchange(exchange) = self else { return Ok(()) };
        let NetworkExchange { response, failure, .. } = &**exchange;
        ensure(response.is_none() || failure.is_none(), "a response is also a failure")?;
        let Some(NetworkResponse { status, body, headers }) = response else { return Ok(()) };
        ensure((200..1000).contains(status), "a status is out of its bounds")?;
        let is_one_form = body.bytes().is_some_and(|bytes| NetworkBody::of(&bytes) == *body);
        ensure(is_one_form, "a body has another form")?;
        let is_latin = |text: &str| text.chars().all(|letter| u32::from(letter) <= 0xff);
        ensure(headers.iter().all(|(_, value)| is_latin(value)), "a header is not Latin-1")
    }
}

impl NetworkDocument {
    /// The record of these events.
    #[must_use]
    pub fn new(granted: bool, events: Vec<NetworkEvent>) -> Self {
        Self { format: FORMAT.to_owned(), format_version: VERSION, granted, events }
    }

    /// Reads a network record from its canonical form.
    ///
    /// # Errors
    ///
    /// It is too large, malformed, or in another form.
    pub fn read(text: &[u8]) -> Result<Self, ProvenanceError> {
        if ByteCount::from(text.len()) > MAX_DOCUMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_DOCUMENT });
        }
        let document: Self = read_canonical("the network record", text)?;
        let Self { format, format_version, events, .. } = &document;
        ensure(
            format == FORMAT && *format_version == VERSION,
            "its network record has another format: a newer Wardian may read it",
        )?;
        events.iter().try_for_each(NetworkEvent::check)?;
        Ok(document)
    }

    /// The canonical form.
    ///
    /// # Errors
    ///
    /// It would be larger than [`MAX_DOCUMENT`].
    pub fn text(&self) -> Result<String, ProvenanceError> {
        let text = canonical(self)?;
        if ByteCount::from(text.len()) > MAX_DOCUMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_DOCUMENT });
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, body: NetworkBody) -> NetworkDocument {
        let request = NetworkRequestKey {
            method: "GET".into(),
            url: "https://a.example/".into(),
            headers: vec![("accept".into(), Some("*/*".into())), ("cookie".into(), None)],
            body_sha256: Digest::of(b""),
            body_size_bytes: 0,
        };
        let headers = vec![("x".to_owned(), "\u{e9}".to_owned())];
        let response = Some(NetworkResponse { status, headers, body });
        let exchange = NetworkExchange { connection: 1, request, response, failure: None };
        NetworkDocument::new(true, vec![NetworkEvent::Exchange(Box::new(exchange))])
    }

    #[test]
    fn bodies_have_one_form() {
        for (bytes, is_text) in [(&b"a\r\n\tb"[..], true), (b"\xff", false), (b"a\0", false)] {
            let body = NetworkBody::of(bytes);
            assert_eq!(matches!(body, NetworkBody::Text(_)), is_text, "{bytes:?}");
            assert_eq!(body.bytes().unwrap(), bytes);
            let document = response(200, body);
            let text = document.text().unwrap();
            assert_eq!(NetworkDocument::read(text.as_bytes()).unwrap(), document);
        }
    }

    #[test]
    fn malformed_network_records_are_refused() {
        let text = |document: &NetworkDocument| document.text().unwrap();
        let whole = text(&response(200, NetworkBody::of(b"hello")));
        for (wrong, problem) in [
            (text(&response(101, NetworkBody::of(b""))), "status"),
            (text(&response(200, NetworkBody::Base64("aGVsbG8=".into()))), "another form"),
            (text(&response(200, NetworkBody::Base64("%".into()))), "another form"),
            (whole.replace("\"x\",\"\u{e9}\"", "\"x\",\"\u{20ac}\""), "Latin-1"),
            (whole.replace("\"failure\":null", "\"failure\":{\"errno\":1,\"text\":\"\"}"), "also"),
            (whole.replace("\"format_version\":1", "\"format_version\":2"), "newer"),
            (whole.replace("\"granted\":true", "\"granted\": true"), "canonical"),
            (whole.replace("\"granted\":true", "\"granted\":true,\"more\":1"), "unknown"),
            (whole.strip_suffix('}').unwrap().to_owned(), "network record"),
        ] {
            let error = NetworkDocument::read(wrong.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}: {wrong}");
        }
        let long = vec![b' '; MAX_DOCUMENT.as_usize() + 1];
        assert!(matches!(NetworkDocument::read(&long), Err(ProvenanceError::TooLarge { .. })));
    }
}
