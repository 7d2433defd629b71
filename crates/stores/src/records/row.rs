//! A record as a database holds it.

use crate::records::record::RunRecord;
use crate::records::server_id::RunHolder;
use wardian_vocabulary::units::ByteCount;

/// Longest message of an error that a search reads, in bytes.
const MAX_MESSAGE: usize = 200;

/// A record with its longer texts.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) tenant: String,
    pub(crate) run_id: String,
    pub(crate) kind: &'static str,
    pub(crate) skill: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) outcome: &'static str,
    pub(crate) error_type: Option<String>,
    pub(crate) started_ms: u64,
    pub(crate) duration_us: u64,
    pub(crate) log_bytes: u64,
    /// All of the record, as JSON.
    pub(crate) record: String,
    /// The pieces of the log as JSON.
    pub(crate) pieces: Option<String>,
    /// The result of a background run, as JSON.
    pub(crate) result: Option<String>,
    /// The document of a reproducible run.
    pub(crate) document: Option<String>,
    /// What the run was given and what it left, as JSON.
    pub(crate) content: Option<String>,
    pub(crate) title: Option<String>,
    /// What a search reads, in lower case.
    pub(crate) search: String,
    /// The blobs that it stored.
    pub(crate) blobs: Vec<String>,
    /// True if a note of the run goes with the record.
    pub(crate) is_detached: bool,
    /// The server that has the run, if it was noted. The record is written only while it has it.
    pub(crate) holder: Option<RunHolder>,
}

impl Row {
    /// The record as a database holds it.
    pub(crate) fn of(
        record: &RunRecord,
        pieces: Option<String>,
        result: Option<String>,
    ) -> Result<Self, serde_json::Error> {
        Ok(Self {
            tenant: record.tenant.to_string(),
            run_id: record.run_id.to_string(),
            kind: record.kind.name(),
            skill: record.skill.as_ref().map(|skill| skill.name.to_string()),
            version: record.skill.as_ref().map(|skill| skill.version.to_string()),
            outcome: record.outcome.name(),
            error_type: record.error.as_ref().map(|error| error.error_type.clone()),
            started_ms: record.started_ms,
            duration_us: record.duration_us,
            log_bytes: record.log.bytes,
            record: serde_json::to_string(record)?,
            pieces,
            result,
            document: None,
            content: None,
            title: record.label.as_ref().or(record.title.as_ref()).cloned(),
            search: search_text(record),
            blobs: record.output_blobs.iter().map(ToString::to_string).collect(),
            is_detached: record.detached,
            holder: None,
        })
    }

    /// Bytes of the log, the result, the document and the content.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let texts = [&self.pieces, &self.result, &self.document, &self.content];
        texts.into_iter().flatten().map(|text| ByteCount::from(text.len()).as_u64()).sum()
    }
}

/// The text that a search reads, in lower case: title, skill, error and id.
fn search_text(record: &RunRecord) -> String {
    let mut texts = vec![record.run_id.as_str(), record.kind.name()];
    texts.extend([&record.label, &record.title].into_iter().flatten().map(String::as_str));
    if let Some(skill) = &record.skill {
        texts.extend([skill.name.as_str(), skill.version.as_str()]);
    }
    if let Some(error) = &record.error {
        let end = (0..=MAX_MESSAGE.min(error.message.len())).rev();
        let message = end.into_iter().find_map(|end| error.message.get(..end));
        texts.extend([error.error_type.as_str(), message.unwrap_or_default()]);
    }
    texts.join("\n").to_lowercase()
}
