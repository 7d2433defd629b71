//! Wire types of `create_blob` and `read_blob`.

use std::fmt;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::ids::BlobId;
use crate::protocol::check::ParamsError;
use crate::protocol::tools::{DEFAULT_READ, MAX_READ};
use crate::units::ByteCount;

/// How bytes stand in a JSON string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// As the text that they are.
    #[serde(rename = "utf-8")]
    Utf8,
    /// As base64 with padding (RFC 4648, section 4).
    #[serde(rename = "base64")]
    Base64,
}

/// What a caller sends to `create_blob`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateBlobParams {
    /// The content, or its base64.
    pub content: String,
    /// MIME type, as sent.
    pub kind: String,
    /// How the content is encoded; the kind decides without it.
    pub encoding: Option<Encoding>,
}

/// Prints no content: it may be anything and must not reach a log.
impl fmt::Debug for CreateBlobParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreateBlobParams")
            .field("content", &ByteCount::from(self.content.len()))
            .field("kind", &self.kind)
            .field("encoding", &self.encoding)
            .finish()
    }
}

impl CreateBlobParams {
    /// The bytes to store. `usual` is how content of this kind is encoded if the call does not say.
    ///
    /// # Errors
    ///
    /// Content that is not the base64 it should be.
    pub fn into_bytes(self, usual: Encoding) -> Result<Vec<u8>, ParamsError> {
        if self.encoding.unwrap_or(usual) == Encoding::Utf8 {
            return Ok(self.content.into_bytes());
        }
        BASE64.decode(self.content.as_bytes()).map_err(|error| {
            let expected = match self.encoding {
                Some(_) => "base64 with padding",
                None => "base64 with padding for this kind, or be sent with `encoding` \"utf-8\"",
            };
            let found = format!("something else at byte {}", error.position);
            ParamsError::wrong("content", expected, found)
        })
    }
}

/// What `create_blob` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreateBlobResult {
    /// Names the content from now on.
    pub blob_id: BlobId,
    /// Its length.
    pub size_bytes: u64,
}

/// What a caller sends to `read_blob`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBlobParams {
    /// The blob, as sent.
    pub blob_id: String,
    /// Which part to return.
    pub mode: SampleMode,
    /// Most bytes to return, from 1 to [`MAX_READ`].
    pub max_bytes: Option<u64>,
}

impl ReadBlobParams {
    /// Most bytes to return: [`DEFAULT_READ`] of a sample and [`MAX_READ`] of a full read unless
    /// the call says otherwise. A full read that stopped at the default of a sample would be none.
    #[must_use]
    pub fn limit(&self) -> ByteCount {
        let usual = match self.mode {
            SampleMode::SampleHead | SampleMode::SampleTail => DEFAULT_READ,
            SampleMode::Full => MAX_READ,
        };
        ByteCount::bytes(self.max_bytes.unwrap_or(usual).min(MAX_READ))
    }
}

/// Which part of a blob `read_blob` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleMode {
    /// The beginning.
    SampleHead,
    /// The end.
    SampleTail,
    /// All of it, up to the limit.
    Full,
}

/// What `read_blob` answers.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ReadBlobResult {
    /// The sampled content, or its base64.
    pub content: String,
    /// True if the blob has more bytes than were returned.
    pub truncated: bool,
    /// MIME type.
    pub kind: String,
    /// Length of the whole blob.
    pub size_bytes: u64,
    /// How `content` is encoded.
    pub encoding: Encoding,
}

/// Prints no content: it may be anything and must not reach a log.
impl fmt::Debug for ReadBlobResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadBlobResult")
            .field("content", &ByteCount::from(self.content.len()))
            .field("truncated", &self.truncated)
            .field("kind", &self.kind)
            .field("size_bytes", &self.size_bytes)
            .field("encoding", &self.encoding)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(content: &str, encoding: Option<Encoding>) -> CreateBlobParams {
        CreateBlobParams { content: content.into(), kind: "x/y".into(), encoding }
    }

    #[test]
    fn the_kind_decides_the_encoding_unless_the_call_does() {
        let (utf8, base64) = (Encoding::Utf8, Encoding::Base64);
        assert_eq!(content("aGk=", None).into_bytes(utf8).unwrap(), b"aGk=");
        assert_eq!(content("aGk=", None).into_bytes(base64).unwrap(), b"hi");
        assert_eq!(content("aGk=", Some(base64)).into_bytes(utf8).unwrap(), b"hi");
        assert_eq!(content("aGk=", Some(utf8)).into_bytes(base64).unwrap(), b"aGk=");
    }

    #[test]
    fn content_that_is_no_base64_is_refused_with_its_place() {
        for text in ["aGk", "a", "aG k=", "aGk=\n", "aGk_", "hé=="] {
            assert!(
                content(text, Some(Encoding::Base64)).into_bytes(Encoding::Utf8).is_err(),
                "{text}"
            );
        }
        let error = content("aGk_", None).into_bytes(Encoding::Base64).unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter `content` must be base64 with padding for this kind, or be sent with \
             `encoding` \"utf-8\", got something else at byte 3"
        );
    }

    #[test]
    fn a_full_read_has_a_larger_limit_than_a_sample() {
        let read = |mode, max_bytes| ReadBlobParams { blob_id: String::new(), mode, max_bytes };
        assert_eq!(read(SampleMode::SampleTail, None).limit(), ByteCount::bytes(2_000));
        assert_eq!(read(SampleMode::Full, None).limit(), ByteCount::mebibytes(1));
        assert_eq!(read(SampleMode::Full, Some(7)).limit(), ByteCount::bytes(7));
    }

    #[test]
    fn content_is_not_printed_for_logs() {
        let params = format!("{:?}", content("secret", None));
        assert!(!params.contains("secret"), "{params}");
        let result = ReadBlobResult {
            content: "secret".into(),
            truncated: false,
            kind: "text/plain".into(),
            size_bytes: 6,
            encoding: Encoding::Utf8,
        };
        assert!(!format!("{result:?}").contains("secret"));
    }
}
