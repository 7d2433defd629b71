//! Identifiers and names of blobs.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE32_NOPAD;
use serde::{Deserialize, Serialize};

use crate::ids::{Digest, InvalidId};

/// Identifier of a blob: `blob:` and the lowercase base32 of a SHA-256 (52 letters).
///
/// INVARIANT(safe-blob-id): only `a-z2-7` after the prefix, so it is safe in a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId(String);

impl BlobId {
    const PREFIX: &str = "blob:";

    /// The id of the content with this digest.
    #[must_use]
    pub fn of_digest(digest: &Digest) -> Self {
        let letters = BASE32_NOPAD.encode(digest.as_bytes()).to_ascii_lowercase();
        Self(format!("{}{letters}", Self::PREFIX))
    }

    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// Anything but `blob:` and 52 letters that decode to 32 bytes.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let invalid = || {
            let problem = "must be `blob:` and the 52 letters that `create_blob` returned";
            InvalidId::new("blob id", problem)
        };
        let letters = text.strip_prefix(Self::PREFIX).ok_or_else(invalid)?;
        if letters.len() != 52 || letters.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Err(invalid());
        }
        let upper = letters.to_ascii_uppercase();
        BASE32_NOPAD.decode(upper.as_bytes()).ok().ok_or_else(invalid)?;
        Ok(Self(text.to_owned()))
    }

    /// The id as it appears on the wire, `blob:` included.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 52 letters after `blob:`: a safe file name.
    #[must_use]
    pub fn letters(&self) -> &str {
        self.0.strip_prefix(Self::PREFIX).unwrap_or_default()
    }
}

checked_text!(BlobId);

/// Longest name of a blob, in bytes: the longest that file systems allow.
pub const MAX_BLOB_NAME: usize = 255;

/// Most names that one blob keeps: those that its owner gave it last.
pub const MAX_NAMES_OF_BLOB: usize = 16;

/// Name of a blob for people, such as `report.xlsx`. It identifies nothing: two blobs may have one
/// name, and a blob may have several, because files of equal content are one blob.
///
/// INVARIANT(safe-blob-name): one component of a path in UTF-8, without separators (`/`, `\`) and
/// without letters that break a line, a header or the order of a text; never `.` or `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobName(String);

impl BlobName {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The problem and the expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let problem = if text.is_empty() || text.len() > MAX_BLOB_NAME {
            "must have 1 to 255 bytes"
        } else if text == "." || text == ".." {
            "must be the name of a file, such as `report.xlsx`"
        } else if text.chars().any(|letter| matches!(letter, '/' | '\\')) {
            "must be a file name without folders (`/`, `\\`), such as `report.xlsx`"
        } else if text.chars().any(|letter| letter.is_control() || reorders(letter)) {
            "must not contain control characters"
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(InvalidId::new("blob name", problem))
    }

    /// The name for a file of this path, if its last component can be one.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        path.rsplit('/').next().and_then(|name| Self::parse(name).ok())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// True for letters that end a line, or that show a text in another order than it is stored in,
/// such that `txt.exe` looks like `exe.txt`.
const fn reorders(letter: char) -> bool {
    matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

checked_text!(BlobName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_blob_id_is_exactly_what_was_issued() {
        let id = BlobId::of_digest(&Digest::of(b"x"));
        assert_eq!(BlobId::parse(id.as_str()), Ok(id.clone()));
        let shouted = id.as_str().to_uppercase();
        let twice = format!("blob:{id}");
        for text in
            ["", "blob:", "blob:../x", &shouted, &twice, &format!("{id}/"), &format!("{id}\0")]
        {
            assert!(BlobId::parse(text).is_err(), "accepted {text:?}");
        }
        assert!(BlobId::parse(&id.as_str().replace(|c: char| c.is_ascii_digit(), "1")).is_err());
    }

    #[test]
    fn safe_blob_name_refuses_anything_but_one_plain_component() {
        let (longest, long) = ("é".repeat(127), "é".repeat(128));
        for name in ["a", "report 2.xlsx", "täglich.csv", ".env", "...", "日本.txt", &longest] {
            assert_eq!(BlobName::parse(name).unwrap().as_str(), name);
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "/a",
            "a/",
            "a\\b",
            "a\0",
            "a\nb",
            "a\u{85}",
            "a\u{202e}b",
            "a\u{2028}b",
            "a\u{2066}b",
            &long,
        ] {
            assert!(BlobName::parse(name).is_err(), "accepted {name:?}");
        }
        assert_eq!(BlobName::of_path("out/a.csv").unwrap().as_str(), "a.csv");
        assert_eq!(BlobName::of_path("out/a\nb"), None);
    }
}
