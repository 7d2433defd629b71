//! The run document: everything that decided a run, by digest, and all that came out.
//!
//! JSON texts, such as arguments, are strings in it. Canonical JSON knows doubles only, and a
//! program may depend on the digits and the order that its caller wrote.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::job::outcome::LogChunk;
use crate::job::{FuelRules, KeepFiles, LayerPlace, ScriptCall};
use crate::provenance::canonical::{canonical, read_canonical};
use crate::provenance::fault::ProvenanceError;
use crate::provenance::session::asked::{DocumentTools, PartEnding};
use crate::provenance::text::DocumentText;
use crate::provenance::unrepeatable::Unrepeatable;
use wardian_vocabulary::ids::{BlobId, BlobName, Digest, SkillName, SkillVersion, WorkspacePath};
use wardian_vocabulary::units::ByteCount;

/// The name of the format, in each document.
pub const FORMAT: &str = "wardian run record";

/// The version of the format that is written and read.
pub const VERSION: u64 = 1;

/// Maximum number of pieces of a log, and of blobs, of a document.
pub const MAX_PIECES: usize = 20_000;

/// Largest document.
pub const MAX_DOCUMENT: ByteCount = ByteCount::mebibytes(32);

/// The MIME type of the blob that is a network record.
pub const NETWORK_KIND: &str = "application/vnd.wardian.network+json";

/// A run that can be executed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunDocument {
    /// Always [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub format_version: u64,
    /// The programs that executed it. They explain a difference and decide nothing.
    pub made_by: MadeBy,
    /// Everything that decided the run.
    pub inputs: RunInputs,
    /// All that came out.
    pub ending: RunEnding,
}

/// The programs that executed a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeBy {
    /// The version of Wardian.
    pub wardian: String,
    /// The version of wasmtime.
    pub wasmtime: String,
}

/// The interpreter of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineIdentity {
    /// Digest of the patched module.
    pub module: Digest,
    /// Version of the changes to its code, such as those that let it be stopped.
    pub transform: u32,
    /// Digest of its library.
    pub library: Digest,
}

/// The programs and the interpreter that execute runs here.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The programs.
    pub made_by: MadeBy,
    /// The interpreter.
    pub engine: EngineIdentity,
}

/// Everything that decided a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunInputs {
    /// The interpreter.
    pub engine: EngineIdentity,
    /// The memory image that the run began as.
    pub image: Digest,
    /// The program.
    pub program: DocumentProgram,
    /// The function that was called, if one was named.
    pub entrypoint: Option<String>,
    /// The JSON text of the arguments, with defaults filled in.
    pub arguments: DocumentText,
    /// The skills that it could import, in the order of their mounts.
    pub skills: Vec<DocumentSkill>,
    /// The packages that it could import.
    pub layers: Vec<DocumentLayer>,
    /// The blobs that it could read.
    pub blobs: Vec<DocumentBlob>,
    /// The files that were stored after the run.
    pub keep_files: KeepFiles,
    /// True if values that are no JSON data were not converted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_output: bool,
    /// The limits.
    pub limits: DocumentLimits,
    /// What its randomness followed from.
    pub seed: u64,
    /// The time of day at the start, in seconds since the Unix epoch.
    pub epoch: u64,
    /// What used fuel in addition to instructions. Documents of older versions do not name it.
    #[serde(default, skip_serializing_if = "is_first")]
    pub fuel_rules: FuelRules,
    /// The record of what it exchanged with the network; none if it had no network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<DocumentBlob>,
    /// Its tools, and the answers with which it went on; none if it could not wait for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<DocumentTools>,
}

fn is_first(rules: &FuelRules) -> bool {
    *rules == FuelRules::FIRST
}

impl RunInputs {
    /// The blobs whose content decided the run: those that it could read, and its network record.
    pub fn contents(&self) -> impl Iterator<Item = &DocumentBlob> {
        self.blobs.iter().chain(&self.network)
    }
}

/// The program of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum DocumentProgram {
    /// A text of Python.
    Code {
        /// Its name in tracebacks.
        file_name: String,
        /// The text.
        source: DocumentText,
    },
    /// The first of the skills.
    Skill {
        /// Its name.
        name: SkillName,
        /// The script that ran; without it its entrypoint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<Box<ScriptCall>>,
    },
}

/// A skill of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentSkill {
    /// Its name.
    pub name: SkillName,
    /// Its version.
    pub version: SkillVersion,
    /// The digest of its files.
    pub digest: Digest,
}

/// A layer of packages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentLayer {
    /// The digest of its files.
    pub digest: Digest,
    /// Its place among the packages.
    pub place: LayerPlace,
}

/// A blob that a run could read. The id is a digest over kind and content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentBlob {
    /// Its id.
    pub id: BlobId,
    /// Its MIME type.
    pub kind: String,
    /// Its length.
    pub size_bytes: u64,
    /// The name by which the run could open it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<BlobName>,
    /// Further names by which the run could open it. Absent if there are none, as in documents of
    /// older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<BlobName>,
    /// The paths at which its content was a file of the workspace. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WorkspacePath>,
}

/// The limits of a run. The time limit is not an input: a run that times out has no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentLimits {
    /// Instructions; none for no limit.
    pub fuel: Option<u64>,
    /// Linear memory.
    pub memory_bytes: u64,
    /// All files of the workspace.
    pub workspace_bytes: u64,
    /// Files, folders and links of the workspace.
    pub workspace_entries: u32,
    /// Open files at one time.
    pub open_files: u32,
    /// Output and log lines that are kept.
    pub logs_bytes: u64,
    /// Calls to the host.
    pub host_calls: u32,
    /// Bytes of those calls.
    pub host_bytes: u64,
}

/// The end of a run, and all that came out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunEnding {
    /// Whether the program returned.
    pub status: DocumentStatus,
    /// One sentence.
    pub summary: String,
    /// The JSON text of the returned value; one that stands in for a large value names its blob.
    pub output: Option<String>,
    /// True if the output stands in for a large value.
    pub output_truncated: bool,
    /// The reason why it failed.
    pub error: Option<DocumentError>,
    /// What it wrote.
    pub log: DocumentLog,
    /// The blobs that it stored, in order. At most [`MAX_PIECES`].
    #[serde(deserialize_with = "few")]
    pub output_blobs: Vec<BlobId>,
    /// The files that it left in its workspace, or some of them if there are many.
    pub files: Vec<DocumentFile>,
    /// The number of all files, if not all are listed.
    pub files_total: Option<u64>,
    /// Executed instructions.
    pub fuel: Option<u64>,
    /// Largest size of its memory.
    pub memory_peak_bytes: u64,
    /// What its parts before the last one left, each of which ended because the program waited for answers. The
    /// other members are those of all parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "few")]
    pub parts: Vec<PartEnding>,
}

/// Whether a program returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DocumentStatus {
    /// It did.
    Completed,
    /// It did not.
    Failed,
}

impl RunEnding {
    /// The reason why the run does not repeat, as far as its error tells.
    #[must_use]
    pub fn unrepeatable(&self) -> Option<Unrepeatable> {
        let error = self.error.as_ref().filter(|_| self.status == DocumentStatus::Failed);
        error.and_then(|error| Unrepeatable::of_error_type(&error.error_type))
    }
}

impl DocumentStatus {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// The reason why a run failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentError {
    /// The class of the exception, or a name of the protocol.
    #[serde(rename = "type")]
    pub error_type: String,
    /// One sentence.
    pub message: String,
    /// Frames of the program's own code.
    pub traceback: Option<String>,
}

/// The log of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentLog {
    /// Its pieces: neighbours are of different streams. At most [`MAX_PIECES`].
    #[serde(deserialize_with = "few")]
    pub pieces: Vec<LogChunk>,
    /// Bytes beyond the limit.
    pub dropped_bytes: u64,
}

impl DocumentLog {
    /// The log that has these pieces. Where a stream was cut into pieces depends on the time.
    #[must_use]
    pub fn of(chunks: &[LogChunk], dropped_bytes: u64) -> Self {
        let mut pieces: Vec<LogChunk> = Vec::new();
        for chunk in chunks.iter().filter(|chunk| !chunk.text.is_empty()) {
            match pieces.last_mut().filter(|last| last.stream == chunk.stream) {
                Some(last) => last.text.push_str(&chunk.text),
                None => pieces.push(chunk.clone()),
            }
        }
        Self { pieces, dropped_bytes }
    }

    /// The number of pieces that the log of these has.
    #[must_use]
    pub fn count(chunks: &[LogChunk]) -> usize {
        let mut streams: Vec<_> = Vec::new();
        let texts = chunks.iter().filter(|chunk| !chunk.text.is_empty());
        streams.extend(texts.map(|chunk| chunk.stream));
        streams.dedup();
        streams.len()
    }
}

/// A file that a run left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentFile {
    /// Path below the workspace.
    pub path: String,
    /// Its length.
    pub size_bytes: u64,
    /// The blob that has its content, if it was kept.
    pub blob_id: Option<BlobId>,
    /// MIME type of the blob.
    pub kind: Option<String>,
    /// The reason why it was not kept although it should have been.
    pub not_kept: Option<String>,
}

/// Reads a list of at most [`MAX_PIECES`] items. Stops at a longer one: parsed items take several
/// times the memory of their JSON.
pub(super) fn few<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    reader: D,
) -> Result<Vec<T>, D::Error> {
    struct Few<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_PIECES} items")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = sequence.next_element()? {
                if items.len() == MAX_PIECES {
                    return Err(A::Error::invalid_length(MAX_PIECES.saturating_add(1), &self));
                }
                items.push(item);
            }
            Ok(items)
        }
    }

    reader.deserialize_seq(Few(PhantomData))
}

/// The members that tell the version of a document.
#[derive(Deserialize)]
struct VersionOnly {
    format: String,
    format_version: u64,
}

impl RunDocument {
    /// The document of a run.
    #[must_use]
    pub fn new(made_by: MadeBy, inputs: RunInputs, ending: RunEnding) -> Self {
        let (format, format_version) = (FORMAT.to_owned(), VERSION);
        Self { format, format_version, made_by, inputs, ending }
    }

    /// Reads a document from its canonical form.
    ///
    /// # Errors
    ///
    /// It is too large, of a newer format, malformed, or in another form.
    pub fn read(text: &[u8]) -> Result<Self, ProvenanceError> {
        if ByteCount::from(text.len()) > MAX_DOCUMENT {
            return Err(ProvenanceError::TooLarge { most: MAX_DOCUMENT });
        }
        if let Ok(found) = serde_json::from_slice::<VersionOnly>(text) {
            if found.format != FORMAT {
                return Err(ProvenanceError::Unknown);
            }
            if found.format_version > VERSION {
                let (found, known) = (found.format_version, VERSION);
                return Err(ProvenanceError::NewerVersion { found, known });
            }
        }
        let document: Self = read_canonical("the document", text)?;
        document.check()?;
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

    /// A document as it was written once, with every member.
    const WRITTEN: &str = include_str!("../../testdata/run-document.json");

    /// What is signed, compared and kept are these bytes: a change of the format needs a version.
    #[test]
    fn a_document_that_was_written_once_keeps_its_text_and_its_digest() {
        let document = RunDocument::read(WRITTEN.as_bytes()).unwrap();
        let text = document.text().unwrap();
        assert_eq!(text, WRITTEN);
        let digest = Digest::of(text.as_bytes()).to_string();
        assert_eq!(digest, "69a59ccaea633f77dfd3c123f6400d2218751913147b0ab04924c9100e138b3f");
        // A member that is added and not written here would escape the comparison.
        let RunInputs { network, blobs, strict_output, .. } = &document.inputs;
        assert!(network.is_some() && *strict_output);
        assert!(blobs.iter().all(|blob| blob.name.is_some() && !blob.other_names.is_empty()));
        assert!(blobs.iter().all(|blob| !blob.paths.is_empty()));
    }

    /// The form of what a run was answered, which is signed, compared and kept as well.
    #[test]
    fn a_document_with_answers_keeps_its_text() {
        let mut document = RunDocument::read(WRITTEN.as_bytes()).unwrap();
        let digest = Digest::of(b"{}");
        let text = r#"{"sha256":"D","size_bytes":1,"text":"7"}"#;
        let text = text.replace('D', &Digest::of(b"7").to_string());
        let tools = format!(
            r#"{{"declared":null,"rounds":[{{"answers":[{{"number":1,"output":{text}}},{{"error":{text},"number":2}},{{"interrupt":true,"number":3}}],"asked":[{{"content_sha256":"{digest}","number":1,"tool":"crm.find"}},{{"content_sha256":"{digest}","number":2,"tool":null}},{{"content_sha256":"{digest}","number":3,"tool":null}}]}}]}}"#
        );
        document.inputs.network = None;
        document.inputs.tools = Some(serde_json::from_str(&tools).unwrap());
        let part = PartEnding {
            log_sha256: digest,
            display_sha256: digest,
            output_blobs: Vec::new(),
            fuel: 5,
            memory_bytes: 6,
            state_digest: Some(digest),
        };
        document.ending.parts.push(part);
        let written = document.text().unwrap();
        assert!(written.contains(&format!(r#""tools":{tools}"#)), "{written}");
        let part = format!(
            r#""parts":[{{"display_sha256":"{digest}","fuel":5,"log_sha256":"{digest}","memory_bytes":6,"output_blobs":[],"state_digest":"{digest}"}}]"#
        );
        assert!(written.contains(&part), "{written}");
        assert_eq!(RunDocument::read(written.as_bytes()).unwrap(), document);
    }
}
