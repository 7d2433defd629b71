//! A cell of a reproducible session: what decided it, and all that came out.

use std::io;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::job::KeepFiles;
use crate::job::outcome::LogChunk;
use crate::protocol::methods::cells::DisplayedObject;
use crate::provenance::document::{DocumentError, DocumentFile, DocumentStatus, few};
use crate::provenance::session::asked::{DocumentTools, PartEnding};
use crate::provenance::text::DocumentText;
use wardian_vocabulary::ids::{BlobId, Digest};
use wardian_vocabulary::units::ByteCount;

/// A cell of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionCell {
    /// Its number in its session. Those that follow each other may have gaps.
    pub number: u32,
    /// What has become of it.
    pub state: SessionCellState,
    /// Its program; none if that was too long to be kept, or of a cell that was not kept.
    pub source: Option<DocumentText>,
    /// What decided it, and what came out; only of a cell that was kept.
    pub run: Option<CellRun>,
}

/// What has become of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionCellState {
    /// The next one of these went on from the state after it.
    Kept,
    /// It left no trace.
    RolledBack,
    /// The session went back to the state before it.
    Left,
}

/// An execution of a cell that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRun {
    /// What decided it besides its program and the state before it.
    pub inputs: CellInputs,
    /// All that came out.
    pub ending: CellEnding,
}

/// What decides a cell besides its program and the state before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellInputs {
    /// What randomness follows from.
    pub seed: u64,
    /// True if its randomness was renewed before its program ran: it is the first one of a fork with a seed.
    pub reseeds: bool,
    /// The files that are stored after it.
    pub keep_files: KeepFiles,
    /// True if values that are no JSON data are not converted.
    pub strict_output: bool,
    /// True if its value is displayed whatever it is.
    pub shows_value: bool,
    /// Instructions; none for no limit.
    pub fuel: Option<u64>,
    /// Output and log lines that are kept.
    pub logs_bytes: u64,
    /// Calls to the host.
    pub host_calls: u32,
    /// Bytes of those calls.
    pub host_bytes: u64,
    /// Its tools, and the answers with which it went on; none if it had no tools and asked nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<DocumentTools>,
}

/// The end of a cell, and all that came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellEnding {
    /// Whether it returned.
    pub status: DocumentStatus,
    /// The JSON text of its value; one that stands in for a large value names its blob.
    pub output: Option<String>,
    /// True if the output stands in for a large value.
    pub output_truncated: bool,
    /// The reason why it failed.
    pub error: Option<DocumentError>,
    /// What it wrote, by digest.
    pub log: LogDigest,
    /// What it displayed, by digest.
    pub display: DisplayDigest,
    /// The blobs that it stored, in order.
    #[serde(deserialize_with = "few")]
    pub output_blobs: Vec<BlobId>,
    /// The files that it made or changed, or some of them if there are many.
    pub files: Vec<DocumentFile>,
    /// The number of all of these, if not all are listed.
    pub files_total: Option<u64>,
    /// Executed instructions.
    pub fuel: u64,
    /// Size of the memory.
    pub memory_bytes: u64,
    /// The digest of all of memory, and of the files of the workspace.
    pub state_digest: Digest,
    /// What its parts before the last one left, each of which ended because the cell waited for answers. The other
    /// members are those of the last part.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "few")]
    pub parts: Vec<PartEnding>,
}

/// The log of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogDigest {
    /// SHA-256 of the canonical JSON of the log, in the form that documents of runs have.
    pub sha256: Digest,
    /// Bytes that were kept.
    pub size_bytes: u64,
    /// Bytes beyond the limit.
    pub dropped_bytes: u64,
    /// Its beginning and its end.
    pub preview: String,
}

impl LogDigest {
    /// The digest of the log that has these pieces, which results show as `preview`. Where a stream was cut
    /// into pieces makes no difference.
    ///
    /// # Errors
    ///
    /// A text has no JSON, which does not happen.
    pub fn of(chunks: &[LogChunk], dropped: u64, preview: &str) -> serde_json::Result<Self> {
        let mut hash = Sha256::new();
        hash.update(format!("{{\"dropped_bytes\":{dropped},\"pieces\":["));
        let (mut last, mut size_bytes) = (None, 0_u64);
        for LogChunk { stream, text } in chunks.iter().filter(|chunk| !chunk.text.is_empty()) {
            if last != Some(*stream) {
                hash.update(if last.is_some() { "\"}," } else { "" });
                let stream = serde_json::to_string(stream)?;
                hash.update(format!("{{\"stream\":{stream},\"text\":\""));
            }
            serde_json::to_writer(Unquoted(&mut hash), text)?;
            last = Some(*stream);
            size_bytes = size_bytes.saturating_add(ByteCount::from(text.len()).as_u64());
        }
        hash.update(if last.is_some() { "\"}]}" } else { "]}" });
        let sha256 = Digest::from_bytes(hash.finalize().into());
        let preview = preview.to_owned();
        Ok(Self { sha256, size_bytes, dropped_bytes: dropped, preview })
    }
}

/// Hashes a JSON text that is written to it, but for the quotes around it: those alone are written by
/// themselves. So a long log is not copied.
struct Unquoted<'h>(&'h mut Sha256);

impl io::Write for Unquoted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes != b"\"" {
            self.0.update(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a cell displayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisplayDigest {
    /// The number of objects.
    pub count: u64,
    /// SHA-256 of the JSON of the list of all of them, as results have it.
    pub sha256: Digest,
}

impl DisplayDigest {
    /// The digest of displayed objects.
    ///
    /// # Errors
    ///
    /// They have no JSON, which does not happen.
    pub fn of(objects: &[DisplayedObject]) -> serde_json::Result<Self> {
        let mut hash = HashWriter(Sha256::new());
        serde_json::to_writer(&mut hash, objects)?;
        let count = ByteCount::from(objects.len()).as_u64();
        Ok(Self { count, sha256: Digest::from_bytes(hash.0.finalize().into()) })
    }
}

/// Hashes what is written to it.
struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::outcome::Stream;
    use crate::protocol::methods::cells::DisplayedForm;
    use crate::provenance::canonical::canonical;
    use crate::provenance::document::DocumentLog;

    #[test]
    fn the_digest_of_a_log_is_that_of_its_canonical_json() {
        let chunk = |stream, text: &str| LogChunk { stream, text: text.to_owned() };
        let logs = [
            chunk(Stream::Stdout, "a\"\u{1}\n"),
            chunk(Stream::Stdout, "é\\"),
            chunk(Stream::Stderr, ""),
            chunk(Stream::Log, "b"),
        ];
        for (chunks, dropped) in [(&logs[..], 7), (&logs[..2], 0), (&logs[2..3], 0), (&[], 0)] {
            let found = LogDigest::of(chunks, dropped, "").unwrap();
            let text = canonical(&DocumentLog::of(chunks, dropped)).unwrap();
            assert_eq!(found.sha256, Digest::of(text.as_bytes()), "{text}");
        }
        assert_eq!(LogDigest::of(&logs, 0, "p").unwrap().size_bytes, 8);
    }

    #[test]
    fn the_digest_of_what_was_displayed_is_that_of_its_json() {
        let form = ("text/plain".to_owned(), DisplayedForm::Text("x".to_owned()));
        let found = DisplayDigest::of(&[DisplayedObject(vec![form])]).unwrap();
        let text = br#"[{"text/plain":{"text":"x"}}]"#;
        assert_eq!((found.count, found.sha256), (1, Digest::of(text)));
    }
}
