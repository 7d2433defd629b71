//! Names and identifiers. They are checked once, when they are parsed.

use std::fmt;
use std::str::FromStr;

use data_encoding::{BASE32_NOPAD, HEXLOWER};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Longest skill name, in bytes: long enough for any hierarchy, short enough for a folder name on
/// every file system.
pub const MAX_SKILL_NAME: usize = 128;

/// Longest version text, in bytes.
pub const MAX_VERSION: usize = 64;

/// The reason why a text is not a valid identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {problem}")]
pub struct InvalidId {
    what: &'static str,
    problem: String,
}

impl InvalidId {
    fn new(what: &'static str, problem: impl Into<String>) -> Self {
        Self { what, problem: problem.into() }
    }
}

/// Implements the conversions that all checked texts share.
macro_rules! checked_text {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }
        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::parse(&text)
            }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }
    };
}

/// Name of a skill, such as `salesforce.leads.sync`.
///
/// INVARIANT(safe-name): dot-separated, non-empty segments of `a-z0-9`, where a segment may
/// have dashes between its letters. So it never contains a path separator or `..`, and is safe
/// as a folder name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillName(String);

impl SkillName {
    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The problem and the expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let problem = if text.is_empty() {
            Some("must not be empty".to_owned())
        } else if text.len() > MAX_SKILL_NAME {
            Some(format!("must not be longer than {MAX_SKILL_NAME} bytes"))
        } else if !text.split('.').all(is_name_segment) {
            Some(
                "must be segments of a-z and 0-9 joined by dots, such as `acme.sales.report`"
                    .into(),
            )
        } else {
            None
        };
        problem.map_or_else(|| Ok(Self(text.to_owned())), |p| Err(InvalidId::new("skill name", p)))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if a segment has a dash: accepted, but the protocol's documents advise against it.
    #[must_use]
    pub fn has_dash(&self) -> bool {
        self.0.contains('-')
    }

    /// True for a name without a dot, which cannot be told apart by its namespace: accepted, but the
    /// protocol's documents name skills `namespace.domain.action`.
    #[must_use]
    pub fn has_one_segment(&self) -> bool {
        !self.0.contains('.')
    }

    /// The name as a Python module path below `skills`: dashes become underscores.
    #[must_use]
    pub fn module_path(&self) -> String {
        self.0.replace('-', "_")
    }
}

fn is_name_segment(segment: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    segment.bytes().all(|byte| plain(byte) || byte == b'-')
        && segment.bytes().next().is_some_and(plain)
        && segment.bytes().next_back().is_some_and(plain)
}

checked_text!(SkillName);

/// Names are ordered as their texts are.
impl std::borrow::Borrow<str> for SkillName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

/// Version of a skill: `major.minor.patch`, ordered as Semantic Versioning 2.0.0 says.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SkillVersion {
    parsed: semver::Version,
    text: String,
}

impl SkillVersion {
    /// Checks `text`. Build metadata (`+x`) is refused: two versions that differ only in it
    /// would have no order.
    ///
    /// # Errors
    ///
    /// The problem and the expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let problem = "must be `major.minor.patch`, such as `0.1.0`";
        if text.len() > MAX_VERSION {
            return Err(InvalidId::new("version", problem));
        }
        match semver::Version::parse(text) {
            Ok(parsed) if parsed.build.is_empty() => Ok(Self { parsed, text: text.to_owned() }),
            Ok(_) => Err(InvalidId::new("version", "must not contain build metadata (`+...`)")),
            Err(_) => Err(InvalidId::new("version", problem)),
        }
    }

    /// The version as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True for versions such as `1.0.0-beta.1`.
    #[must_use]
    pub fn is_prerelease(&self) -> bool {
        !self.parsed.pre.is_empty()
    }
}

checked_text!(SkillVersion);

/// SHA-256 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A given digest.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Parses 64 lowercase hexadecimal digits, as [`Display`](fmt::Display) prints them.
    ///
    /// # Errors
    ///
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId::new("digest", "must be 64 lowercase hexadecimal digits");
        let bytes = HEXLOWER.decode(text.as_bytes()).ok().ok_or_else(invalid)?;
        <[u8; 32]>::try_from(bytes).map(Self).ok().ok_or_else(invalid)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

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

/// Identifier of one run: `run_` and the 32 hexadecimal digits of a version 7 UUID, so that ids
/// sort by time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

impl RunId {
    const PREFIX: &str = "run_";

    /// A new id that no other run has.
    #[must_use]
    pub fn generate() -> Self {
        Self(format!("{}{}", Self::PREFIX, uuid::Uuid::now_v7().simple()))
    }

    /// The id that a reproducible run with this seed sees. It names no record.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let digest = Digest::of(format!("wardian run {seed}").as_bytes()).to_string();
        Self(format!("{}{}", Self::PREFIX, digest.chars().take(32).collect::<String>()))
    }

    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// Anything but `run_` and 32 lowercase hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        match text.strip_prefix(Self::PREFIX) {
            Some(rest) if rest.len() == 32 && rest.bytes().all(digit) => Ok(Self(text.to_owned())),
            _ => Err(InvalidId::new("run id", "must be `run_` and 32 hexadecimal digits")),
        }
    }

    /// The time at which the run was asked for, in milliseconds since the Unix epoch: an id begins
    /// with it. Lists are ordered by ids, so no other time of a run agrees with its place in a list.
    #[must_use]
    pub fn began_ms(&self) -> u64 {
        let digits = self.0.chars().skip(Self::PREFIX.len()).take(12);
        digits.fold(0, |time, digit| (time << 4) | u64::from(digit.to_digit(16).unwrap_or(0)))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

checked_text!(RunId);

/// A tenant of the server. Tenants share no blobs.
///
/// INVARIANT(safe-tenant): `a-z0-9` and inner dashes, at most 64, so it is safe in a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TenantId(String);

impl TenantId {
    /// The only tenant of a server without tenants.
    #[must_use]
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// The server itself, where it has a share alongside those of tenants. No tenant can have this
    /// name.
    #[must_use]
    pub fn server() -> Self {
        Self("(server)".to_owned())
    }

    /// Checks `text`.
    ///
    /// # Errors
    ///
    /// The expected form.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if !text.is_empty() && text.len() <= 64 && is_name_segment(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId::new("tenant", "must be 1 to 64 characters of a-z, 0-9 and inner dashes"))
        }
    }

    /// The tenant as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

checked_text!(TenantId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skill_names_accept_dotted_lowercase() {
        for name in ["guide", "salesforce.leads.sync", "a1.b2", "best-practices.salesforce"] {
            assert_eq!(SkillName::parse(name).unwrap().as_str(), name);
        }
        assert_eq!(SkillName::parse("best-practices.x").unwrap().module_path(), "best_practices.x");
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

    #[test]
    fn safe_name_refuses_anything_that_could_be_a_path() {
        let long = "a".repeat(300);
        for name in [
            "",
            ".",
            "..",
            "a..b",
            "a/b",
            "a\\b",
            "A.b",
            "a.b\0",
            "c:",
            "été",
            " a",
            "-a",
            "a-",
            "a.-b",
            "gdrive_sheets",
            "ＡＢＣ",
            "раypal",
            "a\u{202e}b",
            "a.",
            ".a",
            "../x",
            &long,
        ] {
            assert!(SkillName::parse(name).is_err(), "accepted {name:?}");
        }
    }

    #[test]
    fn versions_are_exact_semver() {
        let long = format!("99999999999999999999.0.0-{}", "a".repeat(100));
        for text in [
            "latest",
            "",
            "1",
            "1.0",
            "v1.0.0",
            "1.0.0+x",
            ">=1",
            "*",
            "../1.0.0",
            "1.0.0/../../other",
            "99999999999999999999.0.0",
            "１.０.０",
            "1.0.0\n",
            "01.0.0",
            " 1.0.0",
            "1.0.0-../../",
            &long,
        ] {
            assert!(SkillVersion::parse(text).is_err(), "accepted {text:?}");
        }
        let beta = SkillVersion::parse("1.0.0-beta.1").unwrap();
        assert!(beta.is_prerelease() && beta < SkillVersion::parse("1.0.0").unwrap());
        assert!(SkillVersion::parse("0.9.0").unwrap() < SkillVersion::parse("0.10.0").unwrap());
    }

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
    fn run_ids_are_unique_and_checked() {
        let (first, second) = (RunId::generate(), RunId::generate());
        assert_ne!(first, second);
        assert_eq!(RunId::parse(first.as_str()), Ok(first));
        assert!(RunId::parse("run_9f2a").is_err());
    }

    #[test]
    fn run_ids_begin_with_their_time() {
        let id = RunId::parse("run_01a20ab7bad175a398be742de262b929").unwrap();
        assert_eq!(id.began_ms(), 0x01a2_0ab7_bad1);
        let latest = RunId::parse(&format!("run_{}", "f".repeat(32))).unwrap();
        assert_eq!(latest.began_ms(), (1 << 48) - 1);
        let (first, second) = (RunId::generate(), RunId::generate());
        assert!(first < second && 0 < first.began_ms() && first.began_ms() <= second.began_ms());
    }

    #[test]
    fn safe_tenant_is_one_segment() {
        assert!(TenantId::parse("acme-1").is_ok());
        assert!(TenantId::parse(TenantId::server().as_str()).is_err());
        for text in ["", "a.b", "../x", "A", &"a".repeat(65)] {
            assert!(TenantId::parse(text).is_err(), "accepted {text:?}");
        }
    }

    #[test]
    fn digests_read_back_what_they_print() {
        let digest = Digest::of(b"wardian");
        assert_eq!(Digest::parse(&digest.to_string()), Ok(digest));
        assert!(Digest::parse("abc").is_err());
    }
}
