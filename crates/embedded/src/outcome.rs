//! The outcome of a program.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::stored::StoredContents;
use wardian_formats::job::outcome::{
    LeftFile, LogChunk, Logs, RunFailure, RunOutcome, RunUsage, Stream,
};
use wardian_formats::protocol::strict;
use wardian_sandbox::TurnEnd;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The outcome of a program. All of it but [`Outcome::usage`] is chosen by the program.
pub struct Outcome {
    /// The value that the program returned, as the text of a JSON value, or the reason why it did not
    /// return. Values that JSON cannot hold were converted, as by a server.
    ///
    /// The variant of a [`RunFailure`] is the sandbox's own word. The class of an
    /// [exception](RunFailure::Exception) is the program's, so a program can name one `Timeout`.
    pub result: Result<Box<RawValue>, RunFailure>,
    /// Its output, up to the limit on logs, in the order in which it was written.
    pub logs: Logs,
    /// The files that it left in its working folder, at most a hundred.
    pub files: Vec<OutputFile>,
    /// Files that are not in [`Outcome::files`], with the reason.
    pub lost_files: Vec<LostFile>,
    /// The contents that it stored, by id: those of `runtime.blobs`, and those of its files.
    pub blobs: BTreeMap<BlobId, Arc<[u8]>>,
    /// The time and memory that it took.
    pub usage: RunUsage,
}

/// A file that a program left.
#[derive(Clone, PartialEq, Eq)]
pub struct OutputFile {
    /// Its path below the working folder, such as `out/table.csv`. The program chose it: do not use it
    /// as a path of this machine without a check.
    pub path: String,
    /// MIME type, by the ending of its name.
    pub kind: String,
    /// Its content.
    pub content: Arc<[u8]>,
}

/// A file that a program left and that was not kept.
#[derive(Clone, PartialEq, Eq)]
pub struct LostFile {
    /// Its path below the working folder.
    pub path: String,
    /// Its size.
    pub size: ByteCount,
    /// The limit that it passes.
    pub reason: String,
}

impl Outcome {
    /// The outcome of a run whose contents were collected in `stored`.
    pub(crate) fn of(end: TurnEnd, stored: &StoredContents) -> Self {
        let TurnEnd { outcome, output, .. } = end;
        let RunOutcome { end, logs, files, usage, .. } = outcome;
        let blobs = stored.take();
        let (mut kept, mut lost_files) = (Vec::new(), Vec::new());
        for LeftFile { path, size, kept: blob, problem } in files.listed {
            let found = blob.and_then(|blob| Some((blobs.get(&blob.id)?, blob.kind)));
            match found {
                Some((content, kind)) => {
                    kept.push(OutputFile { path, kind, content: Arc::clone(content) });
                }
                None => {
                    let reason = problem.unwrap_or_else(|| "it was not kept".to_owned());
                    lost_files.push(LostFile { path, size, reason });
                }
            }
        }
        let result = end.and_then(|()| value(output));
        Self { result, logs, files: kept, lost_files, blobs, usage }
    }

    /// The text of the returned value, if the program returned.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.result.as_ref().ok().map(|value| value.get())
    }

    /// The reason why the program did not return, if it did not.
    #[must_use]
    pub fn error(&self) -> Option<&RunFailure> {
        self.result.as_ref().err()
    }

    /// What it wrote to standard output.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.written_to(Stream::Stdout)
    }

    /// What it wrote to standard error.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.written_to(Stream::Stderr)
    }

    fn written_to(&self, stream: Stream) -> String {
        let of_stream = |chunk: &&LogChunk| chunk.stream == stream;
        self.logs.chunks.iter().filter(of_stream).map(|chunk| chunk.text.as_str()).collect()
    }
}

/// Prints no content.
impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("error", &self.error().map(RunFailure::error_type))
            .field("files", &self.files.len())
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}

/// Prints no path and no content: the program chose both.
impl fmt::Debug for OutputFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputFile").field("size", &self.content.len()).finish_non_exhaustive()
    }
}

/// Prints no path: the program chose it.
impl fmt::Debug for LostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LostFile").field("size", &self.size).finish_non_exhaustive()
    }
}

/// The returned value in a text of the guest's, which may be hostile. It stays text: a tree of it could
/// take a hundred times its size.
fn value(text: Vec<u8>) -> Result<Box<RawValue>, RunFailure> {
    let unreadable =
        || RunFailure::SandboxCrash { reason: "the program ended without JSON".to_owned() };
    let text = String::from_utf8(text).ok().ok_or_else(unreadable)?;
    if let Err(fault) = strict::read_output(&text) {
        let message = format!("the returned value is not JSON with one meaning: {fault}");
        let class = "ValueError".to_owned();
        return Err(RunFailure::Exception { class, message, traceback: None });
    }
    RawValue::from_string(text.trim_ascii().to_owned()).ok().ok_or_else(unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<String, String> {
        let read = value(text.to_vec());
        read.map(|value| value.get().to_owned()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn values_are_json_that_every_parser_reads_alike() {
        assert_eq!(read(br#" {"a":[1,null]}"#).as_deref(), Ok(r#"{"a":[1,null]}"#));
        assert_eq!(read(b"null").as_deref(), Ok("null"));
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in ["", "NaN", "{", r#"{"a":1,"a":2}"#, "1e999", r#""\ud800""#, &deep] {
            let message = read(text.as_bytes()).unwrap_err();
            assert!(message.contains("JSON"), "{text:.20}: {message}");
        }
        assert!(read(b"\"\xff\"").is_err());
    }
}
