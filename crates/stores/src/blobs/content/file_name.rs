//! Names of files and kinds of blobs: which kind a name suggests, and which name fits a kind.

use wardian_vocabulary::ids::{BlobId, BlobName};

/// Extensions of file names and their usual MIME types. For a kind the first extension is used.
const KINDS: [(&str, &str); 28] = [
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("md", "text/markdown"),
    ("py", "text/x-python"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("xml", "application/xml"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("ndjson", "application/x-ndjson"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("parquet", "application/vnd.apache.parquet"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("zip", "application/zip"),
];

/// The kind that a file's name suggests.
#[must_use]
pub fn kind_of_file(name: &str) -> &'static str {
    let name = name.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let known = KINDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending));
    known.map_or("application/octet-stream", |(_, kind)| kind)
}

/// A short name for a file with the content of a blob: the first letters of its id and the usual
/// extension of its kind.
#[must_use]
pub fn file_name_of(id: &BlobId, kind: &str) -> String {
    let letters: String = id.letters().chars().take(12).collect();
    format!("{letters}.{}", extension_of(kind))
}

/// A name for a file with the content of a blob that people read: what its program calls it, or a word
/// for its kind, and the usual extension of its kind.
#[must_use]
pub fn telling_name(called: Option<&str>, kind: &str) -> String {
    let extension = extension_of(kind);
    let with_extension = |stem: &str| {
        let has_it = stem.to_ascii_lowercase().ends_with(&format!(".{extension}"));
        if has_it { stem.to_owned() } else { format!("{stem}.{extension}") }
    };
    let called = called
        .filter(|stem| !stem.trim().is_empty())
        .map(with_extension)
        .filter(|name| BlobName::parse(name).is_ok());
    called.unwrap_or_else(|| format!("{}.{extension}", word_for(extension, kind)))
}

/// The usual extension of a kind.
fn extension_of(kind: &str) -> &'static str {
    let essence = kind.split(';').next().unwrap_or_default().trim();
    let known = KINDS.iter().find(|(_, known)| *known == essence);
    known.map_or("bin", |(ending, _)| ending)
}

/// What people call content of a kind.
fn word_for(extension: &str, kind: &str) -> &'static str {
    match extension {
        "csv" | "tsv" | "xlsx" | "parquet" => "table",
        "docx" | "pdf" => "document",
        "pptx" => "slides",
        "html" => "page",
        "gz" | "tar" | "zip" => "archive",
        "py" => "program",
        "txt" | "md" => "text",
        _ => match kind.split('/').next() {
            Some("image") => "image",
            Some("audio") => "audio",
            Some("video") => "video",
            Some("text") => "text",
            _ => "data",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blobs::content::kind::BlobKind;
    use wardian_vocabulary::ids::Digest;

    #[test]
    fn every_known_kind_is_one_that_the_store_takes() {
        for (ending, kind) in KINDS {
            assert_eq!(BlobKind::parse(kind).unwrap().as_str(), kind);
            assert_eq!(kind_of_file(&format!("dir.d/A.{}", ending.to_uppercase())), kind);
        }
        for name in ["", "README", "csv", "a.csv/b", "a.", "a.csv.unknown"] {
            assert_eq!(kind_of_file(name), "application/octet-stream", "{name}");
        }
    }

    #[test]
    fn a_name_has_the_extension_of_its_kind() {
        let id = BlobId::of_digest(&Digest::of(b"x"));
        assert!(file_name_of(&id, "text/csv; charset=utf-8").ends_with(".csv"));
        assert!(file_name_of(&id, "x/y").ends_with(".bin"));
        assert_eq!(file_name_of(&id, "image/jpeg").len(), 12 + 4);
    }

    #[test]
    fn a_telling_name_is_what_its_program_calls_it_or_a_word_for_its_kind() {
        for (called, kind, expected) in [
            (Some("histogram"), "image/png", "histogram.png"),
            (Some("umsätze 2026"), "text/csv; charset=utf-8", "umsätze 2026.csv"),
            (Some("report.CSV"), "text/csv", "report.CSV"),
            (Some("a/b"), "text/csv", "table.csv"),
            (Some("a\u{202e}b"), "image/png", "image.png"),
            (Some(" "), "x/y", "data.bin"),
            (None, "image/png", "image.png"),
            (None, "application/json", "data.json"),
            (None, "application/pdf", "document.pdf"),
            (None, "text/plain; charset=utf-8", "text.txt"),
            (None, "audio/wav", "audio.bin"),
            (None, "x/y", "data.bin"),
        ] {
            assert_eq!(telling_name(called, kind), expected, "{called:?} {kind}");
        }
    }
}
