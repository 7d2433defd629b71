//! Kinds of blobs: MIME types in one normal form.

use std::fmt;

use wardian_vocabulary::error::ErrorKind;

/// Longest kind, in bytes: the room in a blob's trailer. Registered types are shorter than 80
/// bytes.
pub(crate) const MAX_KIND: usize = 127;

/// A text is not a MIME type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "`kind` must be a MIME type of at most {MAX_KIND} bytes, such as `text/csv` or \
     `text/plain; charset=utf-8`"
)]
pub struct InvalidKind;

impl InvalidKind {
    /// The kind of the error, as callers branch on it.
    #[must_use]
    pub const fn kind(self) -> ErrorKind {
        ErrorKind::InvalidParams
    }
}

/// MIME type of a blob, such as `text/csv` or `text/plain; charset=utf-8`.
///
/// INVARIANT(one-kind): type, subtype and parameter names are lowercase, and parameters are
/// written `; name=value`. So one type has one text, and content is stored once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BlobKind(String);

impl BlobKind {
    /// Parses `text` and normalises it. Parameters are tokens, never quoted.
    ///
    /// # Errors
    ///
    /// The text is not `type/subtype` with parameters, or is too long.
    pub fn parse(text: &str) -> Result<Self, InvalidKind> {
        // The length is checked again after normalising, which adds a byte for each parameter at
        // most.
        if text.len() > MAX_KIND {
            return Err(InvalidKind);
        }
        let mut parts = text.split(';');
        let essence = parts.next().unwrap_or_default().trim_matches(' ');
        let (top, sub) = essence.split_once('/').ok_or(InvalidKind)?;
        if !is_token(top) || !is_token(sub) {
            return Err(InvalidKind);
        }
        let mut normal = essence.to_ascii_lowercase();
        for part in parts {
            let (name, value) = part.trim_matches(' ').split_once('=').ok_or(InvalidKind)?;
            if !is_token(name) || !is_token(value) {
                return Err(InvalidKind);
            }
            let name = name.to_ascii_lowercase();
            let value =
                if name == "charset" { value.to_ascii_lowercase() } else { value.to_owned() };
            normal.push_str("; ");
            normal.push_str(&name);
            normal.push('=');
            normal.push_str(&value);
        }
        if normal.len() > MAX_KIND {
            return Err(InvalidKind);
        }
        Ok(Self(normal))
    }

    /// The kind as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for kinds of text: `text/*`, known text formats of source code and data, kinds built
    /// on JSON, XML or YAML, and kinds with a charset.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.nature() == Nature::Text
    }

    /// The nature of content of this kind.
    #[must_use]
    pub fn nature(&self) -> Nature {
        let (essence, parameters) = self.0.split_once(';').unwrap_or((&self.0, ""));
        let (top, sub) = essence.split_once('/').unwrap_or_default();
        let bare = sub.strip_prefix("x-").unwrap_or(sub);
        let has_suffix = |suffixes: &[&str]| {
            let suffix = sub.rsplit_once('+').map_or("", |(_, suffix)| suffix);
            suffixes.contains(&suffix)
        };
        let is_text = top == "text"
            || TEXT_FORMATS.contains(&bare)
            || has_suffix(TEXT_SUFFIXES)
            || parameters.contains("charset=");
        if is_text {
            return Nature::Text;
        }
        let is_binary = matches!(top, "image" | "audio" | "video" | "font" | "model")
            || BINARY_FORMATS.contains(&bare)
            || has_suffix(BINARY_SUFFIXES)
            || OFFICE.iter().any(|family| sub.starts_with(family));
        if is_binary { Nature::Binary } else { Nature::Unknown }
    }
}

/// The nature of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Characters.
    Text,
    /// Any bytes.
    Binary,
    /// The kind does not determine it.
    Unknown,
}

/// Subtypes that are text with any type before the `/`, written without `x-`.
const TEXT_FORMATS: &[&str] = &[
    "csv",
    "dart",
    "ecmascript",
    "geojson",
    "graphql",
    "hcl",
    "httpd-php",
    "ipynb",
    "java",
    "javascript",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "jsonlines",
    "jsonnet",
    "latex",
    "lua",
    "manifest",
    "markdown",
    "mbox",
    "ndjson",
    "node",
    "perl",
    "php",
    "powershell",
    "python",
    "rtf",
    "ruby",
    "sh",
    "shellscript",
    "sparql-query",
    "sql",
    "subrip",
    "tcl",
    "tex",
    "toml",
    "typescript",
    "xml",
    "yaml",
    "yml",
];

/// Suffixes of subtypes that are built on text.
const TEXT_SUFFIXES: &[&str] = &["json", "xml", "yaml", "json-seq"];

/// Subtypes that are binary, written without `x-`.
const BINARY_FORMATS: &[&str] = &[
    "7z-compressed",
    "avro",
    "bzip",
    "bzip2",
    "epub+zip",
    "feather",
    "gzip",
    "hdf",
    "hdf5",
    "java-archive",
    "msgpack",
    "msword",
    "npy",
    "octet-stream",
    "parquet",
    "pdf",
    "pickle",
    "protobuf",
    "rar-compressed",
    "sqlite3",
    "tar",
    "vnd.apache.arrow.file",
    "vnd.apache.arrow.stream",
    "vnd.apache.parquet",
    "vnd.sqlite3",
    "wasm",
    "xz",
    "zip",
    "zstd",
];

/// Suffixes of subtypes that are built on a binary format.
const BINARY_SUFFIXES: &[&str] = &["zip", "gzip", "cbor", "zstd"];

/// Prefixes of the subtypes of office documents.
const OFFICE: &[&str] =
    &["vnd.openxmlformats-officedocument.", "vnd.oasis.opendocument.", "vnd.ms-", "vnd.adobe."];

impl fmt::Display for BlobKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn kinds_are_brought_into_one_form() {
        for (text, normal) in [
            ("text/plain", "text/plain"),
            ("Text/CSV", "text/csv"),
            (" application/JSON ", "application/json"),
            ("text/plain;charset=UTF-8", "text/plain; charset=utf-8"),
            ("text/csv ;  Header=Present ; charset=x", "text/csv; header=Present; charset=x"),
            ("application/vnd.api+json", "application/vnd.api+json"),
        ] {
            assert_eq!(BlobKind::parse(text).unwrap().as_str(), normal);
        }
    }

    #[test]
    fn text_that_is_not_a_mime_type_is_refused() {
        let long = format!("text/{}", "x".repeat(MAX_KIND));
        let grows = format!("a/b{}", ";c=d".repeat(31));
        assert_eq!(grows.len(), MAX_KIND);
        for text in [
            "",
            "text",
            "/",
            "text/",
            "/plain",
            "text/plain/x",
            "text plain",
            "text/pl ain",
            "text/plain;",
            "text/plain; charset",
            "text/plain; charset=\"utf-8\"",
            "text/plain\n",
            "text/pläin",
            "text/*\0",
            "text/a;b=c,d",
            "\ttext/plain",
            &long,
            &grows,
        ] {
            assert_eq!(BlobKind::parse(text), Err(InvalidKind), "accepted {text:?}");
        }
    }

    #[test]
    fn text_is_recognised_by_its_kind() {
        for (kind, is_text) in [
            ("text/anything", true),
            ("text/plain; charset=latin1", true),
            ("application/json", true),
            ("application/x-ndjson", true),
            ("application/yaml", true),
            ("application/csv", true),
            ("image/svg+xml", true),
            ("application/ld+json", true),
            ("application/octet-stream", false),
            ("application/pdf", false),
            ("image/png; x=+json", false),
            ("application/jsonp", false),
            ("application/sql", true),
            ("application/javascript", true),
            ("application/toml", true),
            ("application/x-sh", true),
            ("application/x-python", true),
            ("application/graphql", true),
            ("application/openapi+yaml", true),
            ("application/x-own; charset=utf-8", true),
            ("application/vnd.sql", false),
        ] {
            assert_eq!(BlobKind::parse(kind).unwrap().is_text(), is_text, "{kind}");
        }
    }

    #[test]
    fn a_kind_is_text_or_binary_or_does_not_say() {
        let nature = |kind: &str| BlobKind::parse(kind).unwrap().nature();
        let office = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
        for kind in [office, "image/png", "application/zip", "application/x-tar", "audio/x-y"] {
            assert_eq!(nature(kind), Nature::Binary, "{kind}");
        }
        for kind in ["application/vnd.acme", "x/y", "application/x-foo", "chemical/x-pdb"] {
            assert_eq!(nature(kind), Nature::Unknown, "{kind}");
        }
        // Sorted and without a double, so that a person can look something up.
        for list in [TEXT_FORMATS, BINARY_FORMATS] {
            assert!(list.is_sorted_by(|one, other| one < other), "{list:?}");
        }
        assert!(TEXT_FORMATS.iter().all(|one| !BINARY_FORMATS.contains(one)));
    }

    proptest! {
        #[test]
        fn one_kind_has_one_form(text in "[ -~]{0,20}|[A-Za-z]{1,4}/[a-zA-Z+]{1,6}( ?; ?[A-Za-z]{1,3}=[A-Za-z0-9]{1,3}){0,3}") {
            if let Ok(kind) = BlobKind::parse(&text) {
                prop_assert_eq!(BlobKind::parse(kind.as_str()), Ok(kind.clone()));
                prop_assert_eq!(BlobKind::parse(&format!(" {text} ")), Ok(kind.clone()));
                prop_assert!(kind.as_str().len() <= MAX_KIND);
            }
        }
    }
}
