//! Wire types of `create_blob` and `read_blob`.

use std::fmt;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::protocol::params_error::ParamsError;
use crate::protocol::tools::{DEFAULT_READ, MAX_READ};
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::ByteCount;

/// The encodings of bytes in a JSON string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// As UTF-8 text.
    #[serde(rename = "utf-8")]
    Utf8,
    /// As base64 with padding (RFC 4648, section 4).
    #[serde(rename = "base64")]
    Base64,
}

/// The parameters of `create_blob`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateBlobParams {
    /// The content, or its base64.
    pub content: String,
    /// MIME type, as sent.
    pub kind: String,
    /// The encoding of the content. Without it the kind decides.
    pub encoding: Option<Encoding>,
    /// Name of the file, as sent.
    #[serde(default)]
    pub name: Option<String>,
    /// The client's own name for the call.
    #[serde(default)]
    pub idempotency_key: Option<String>,
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
    /// Decodes the content. `usual` is the default encoding for content of this kind. Without it
    /// and without `encoding`, the content must be unambiguous.
    ///
    /// # Errors
    ///
    /// Content that is not valid base64, or that could be both text and base64.
    pub fn into_bytes(self, usual: Option<Encoding>) -> Result<Vec<u8>, ParamsError> {
        let encoding = self.encoding.or(usual).or_else(|| evident_encoding(&self.content));
        match encoding {
            Some(Encoding::Utf8) => Ok(self.content.into_bytes()),
            Some(Encoding::Base64) => decode(&self.content, self.encoding),
            None => Err(ParamsError::wrong(
                "encoding",
                "\"utf-8\" or \"base64\" for this `kind`, since `content` may be either",
                "nothing",
            )),
        }
    }
}

/// Least length of content that is taken for base64 without an `encoding`, in characters: no text
/// has as many without a space or a line break.
const EVIDENT_BASE64: usize = 256;

/// Returns the encoding of unambiguous content. Text has a character that base64 does not have.
/// Long base64 mixes upper case, lower case and digits without a space.
fn evident_encoding(content: &str) -> Option<Encoding> {
    let is_of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
    if content.is_empty()
        || content.bytes().any(|byte| !is_of_base64(byte) && !byte.is_ascii_whitespace())
    {
        return Some(Encoding::Utf8);
    }
    let has = |is_such: fn(&u8) -> bool| content.as_bytes().iter().any(is_such);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let is_evident = content.len() >= EVIDENT_BASE64
        && is_mixed
        && has(u8::is_ascii_digit)
        && BASE64.decode_len(content.len()).is_ok()
        && !has(u8::is_ascii_whitespace);
    is_evident.then_some(Encoding::Base64)
}

/// Decodes base64.
fn decode(content: &str, said: Option<Encoding>) -> Result<Vec<u8>, ParamsError> {
    BASE64.decode(content.as_bytes()).map_err(|error| {
        let expected = match said {
            Some(_) => "base64 with padding",
            None => "base64 with padding for this kind, or be sent with `encoding` \"utf-8\"",
        };
        let found = format!("something else at byte {}", error.position);
        ParamsError::wrong("content", expected, found)
    })
}

/// The result of `create_blob`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateBlobResult {
    /// The id of the stored content.
    pub blob_id: BlobId,
    /// Length of the content.
    pub size_bytes: u64,
    /// The name of the file, if the blob has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BlobName>,
}

/// The parameters of `read_blob`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadBlobParams {
    /// Id of the blob, as sent.
    pub blob_id: String,
    /// The part to return.
    pub mode: SampleMode,
    /// Maximum number of bytes to return, from 1 to [`MAX_READ`].
    pub max_bytes: Option<u64>,
}

impl ReadBlobParams {
    /// Maximum number of bytes to return. Default: [`DEFAULT_READ`] for a sample and [`MAX_READ`]
    /// for a full read, which the default of a sample would cut short.
    #[must_use]
    pub fn limit(&self) -> ByteCount {
        let usual = match self.mode {
            SampleMode::SampleHead | SampleMode::SampleTail => DEFAULT_READ,
            SampleMode::Full => MAX_READ,
        };
        ByteCount::bytes(self.max_bytes.unwrap_or(usual).min(MAX_READ))
    }
}

/// The parts of a blob that `read_blob` can return.
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

/// The result of `read_blob`.
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
    /// The encoding of `content`.
    pub encoding: Encoding,
    /// The name of the file, if the blob has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<BlobName>,
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
        CreateBlobParams {
            content: content.into(),
            kind: "x/y".into(),
            encoding,
            name: None,
            idempotency_key: None,
        }
    }

    #[test]
    fn the_kind_decides_the_encoding_unless_the_call_does() {
        let (utf8, base64) = (Encoding::Utf8, Encoding::Base64);
        assert_eq!(content("aGk=", None).into_bytes(Some(utf8)).unwrap(), b"aGk=");
        assert_eq!(content("aGk=", None).into_bytes(Some(base64)).unwrap(), b"hi");
        for usual in [Some(utf8), Some(base64), None] {
            assert_eq!(content("aGk=", Some(base64)).into_bytes(usual).unwrap(), b"hi");
            assert_eq!(content("aGk=", Some(utf8)).into_bytes(usual).unwrap(), b"aGk=");
        }
    }

    #[test]
    fn content_that_is_not_base64_is_refused_with_the_position() {
        for text in ["aGk", "a", "aG k=", "aGk=\n", "aGk_", "hé=="] {
            assert!(content(text, Some(Encoding::Base64)).into_bytes(None).is_err(), "{text}");
        }
        let error = content("aGk_", None).into_bytes(Some(Encoding::Base64)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter `content` must be base64 with padding for this kind, or be sent with \
             `encoding` \"utf-8\", got something else at byte 3"
        );
    }

    #[test]
    fn ambiguous_content_is_refused_without_an_encoding() {
        for text in ["SELECT 1;", "a, b", "hé", "", "print('x')\n", "key: value"] {
            assert_eq!(content(text, None).into_bytes(None).unwrap(), text.as_bytes(), "{text}");
        }
        let bytes: Vec<u8> = (0..=255).collect();
        let base64 = BASE64.encode(&bytes);
        assert_eq!(content(&base64, None).into_bytes(None).unwrap(), bytes);
        let wrapped = base64.replace('Q', "Q\n");
        let words = "word ".repeat(80);
        let hexadecimal = "0a".repeat(200);
        for either in
            ["aGk=", "main", "hello world", "VALUES", "dGV4dA==", &wrapped, &words, &hexadecimal]
        {
            let error = content(either, None).into_bytes(None).unwrap_err();
            assert_eq!(error.parameter(), "encoding", "{either}");
            assert_eq!(
                error.to_string(),
                "parameter `encoding` must be \"utf-8\" or \"base64\" for this `kind`, since \
                 `content` may be either, got nothing"
            );
        }
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
            name: None,
            content: "secret".into(),
            truncated: false,
            kind: "text/plain".into(),
            size_bytes: 6,
            encoding: Encoding::Utf8,
        };
        assert!(!format!("{result:?}").contains("secret"));
    }
}
