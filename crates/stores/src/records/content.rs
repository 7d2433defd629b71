//! What a run was given and what it left, for people who look at its record.
//!
//! It is kept apart from the record, next to the log: it is longer, it goes with the log when the
//! tenant has too much of them, and an operator can do without it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use wardian_vocabulary::ids::BlobId;

/// Maximum number of files of a run that are kept with its content; the rest are counted.
pub const MAX_FILES: usize = 100;

/// Maximum number of bytes of the content of a run besides its code, its arguments and its output.
pub const MAX_FILES_TEXT: usize = 64 << 10;

/// What a run was given and what it left.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RunContent {
    /// The code that came with the call, or its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<KeptText>,
    /// The arguments as JSON, or the beginning of their text. None if they are long and could show
    /// a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<KeptText>,
    /// The returned value, or what the result has in place of a large one.
    #[serde(default)]
    pub output: Option<Box<RawValue>>,
    /// True if `output` stands for a larger value that is a blob.
    #[serde(default)]
    pub output_truncated: bool,
    /// The parts of `output` that were no JSON data, and what became of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub converted: Vec<RecordedConversion>,
    /// The number of all converted parts, if not all of them are in `converted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converted_total: Option<u64>,
    /// Files that the run left: the first [`MAX_FILES`].
    #[serde(default)]
    pub files: Vec<RecordedFile>,
    /// The number of all files.
    #[serde(default)]
    pub files_total: u64,
}

/// A text that is kept, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptText {
    /// The text.
    pub text: String,
    /// True if there was more of it.
    pub cut: bool,
}

/// Parts of an output that were no JSON data, as the result has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedConversion {
    /// The place of the first of them in the output, such as `$.rows[0].when`.
    pub path: String,
    /// Their type in Python.
    pub from: String,
    /// What they are now.
    pub to: String,
    /// Their number, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// A file that a run left in its workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// Path below `/workspace`.
    pub path: String,
    /// Length of the content.
    pub size_bytes: u64,
    /// The blob that has its content, if it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob_id: Option<BlobId>,
    /// The reason why it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
}
