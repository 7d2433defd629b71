//! Keeps the documents of a server's reproducible runs, if the operator wants them.
//!
//! A document that cannot be kept costs the run nothing: it is left out, and whoever asks for it
//! learns the possible reasons.

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::prepare::plan::Planned;
use crate::run::record::document::{DocumentOrder, DocumentedRun, document_of};
use crate::run::record::run_record::DraftRecord;
use crate::run::result::answered::Answered;
use crate::run::result::log_line::RunLog;
use wardian_formats::job::KeepFiles;
use wardian_formats::job::outcome::Logs;
use wardian_formats::protocol::methods::execution::RunResult;
use wardian_formats::provenance::{DocumentLog, MAX_PIECES, RunDocument, Toolchain, Unrepeatable};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Longest program, and longest arguments, of a document that is kept, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// Copies of the texts of a run while its document is made: in the inputs, in the document, as
/// values, and in its text with escapes.
const COPIES: usize = 8;

/// Memory for each piece of the log, and for each item of a list, while a document is made: its
/// names, its values and their tree.
const ITEM: usize = 1 << 10;

/// Memory for the rest of a document.
const REST: usize = 64 << 10;

/// The order for the document of a run of this server; none if it is not to be kept, or if there is no
/// memory for it.
pub(crate) fn kept_document(
    caller: &Caller,
    planned: &Planned,
    record: &DraftRecord,
) -> Option<DocumentOrder> {
    if !record.keeps_documents() || planned.reproducible.is_none() || planned.secrets.is_some() {
        return None;
    }
    // A cell does not repeat without the cells before it: its session has a document. A program that has waited
    // has its order already.
    if planned.cell.as_ref().is_some_and(|cell| !cell.begins_program()) {
        return None;
    }
    let source = planned.program.text_size();
    let args = planned.args.get().len();
    if source > MAX_TEXT || args > MAX_TEXT {
        return None;
    }
    let memory = source.saturating_add(args).saturating_add(REST).saturating_mul(COPIES);
    caller.memory.reserve(ByteCount::from(memory)).ok()?;
    Some(DocumentOrder::default())
}

/// The end of a run with its document, if one is wanted. That of a run of a server goes to its
/// record.
pub(crate) async fn with_document(
    toolchain: &Toolchain,
    caller: &Caller,
    log: &mut RunLog,
    answered: Answered,
    run: Option<Box<DocumentedRun>>,
) -> Result<Answered, ServiceError> {
    let Some(run) = run else { return Ok(answered) };
    let Answered { result, logs, output_blob, unrepeatable, profile, server_calls, .. } = answered;
    let parts = Parts::of(&run, &result, &logs);
    let unrepeatable = unrepeatable.or_else(|| parts.too_many());
    let Some(record) = log.record() else {
        let document = || Box::new(document_of(toolchain, *run, &result, &logs));
        let document = unrepeatable.is_none().then(document);
        return Ok(Answered {
            result,
            logs,
            output_blob,
            document,
            unrepeatable,
            profile,
            server_calls,
        });
    };
    if unrepeatable.is_none() && caller.memory.reserve(parts.memory()).is_ok() {
        let document = document_of(toolchain, *run, &result, &logs);
        if is_for_everybody(&document, &caller.tenant) {
            let text = caller.memory.on_thread(move || document.text()).await;
            // A document that is too large is left out.
            if let Ok(text) = text.map_err(ServiceError::Interrupted)? {
                record.note_document(text);
            }
        }
    }
    // The result has the preview of the logs, and nobody asked for all of them.
    let (logs, document) = (Logs::default(), None);
    Ok(Answered { result, logs, output_blob, document, unrepeatable, profile, server_calls })
}

/// True if others can repeat the run. The ids of the blobs of a tenant with keys belong to this server
/// alone.
fn is_for_everybody(document: &RunDocument, tenant: &TenantId) -> bool {
    let has_blobs = !document.inputs.blobs.is_empty() || !document.ending.output_blobs.is_empty();
    *tenant == TenantId::local() || !has_blobs
}

/// The lists of a document that can be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    /// Bytes of the log.
    log: usize,
    /// Pieces of the log.
    pieces: usize,
    /// Blobs that the run stored.
    blobs: usize,
    /// Items of all other lists, which have their own bounds.
    others: usize,
}

impl Parts {
    fn of(run: &DocumentedRun, result: &RunResult, logs: &Logs) -> Self {
        let (inputs, [pieces, blobs]) = (&run.inputs, run.items());
        let patterns = match &inputs.keep_files {
            KeepFiles::Matching(patterns) => patterns.len(),
            _ => 0,
        };
        let others = [
            inputs.skills.len(),
            inputs.layers.len(),
            inputs.blobs.len(),
            result.files.len(),
            run.parts.len(),
        ];
        let texts = logs.chunks.iter().map(|chunk| chunk.text.len());
        Self {
            log: texts.fold(run.texts(), usize::saturating_add),
            pieces: DocumentLog::count(&logs.chunks).saturating_add(pieces),
            blobs: result.output_blobs.len().saturating_add(blobs),
            others: others.into_iter().fold(patterns, usize::saturating_add),
        }
    }

    /// The reason why a record cannot have them, if there is one.
    fn too_many(&self) -> Option<Unrepeatable> {
        let is_too_much = self.pieces > MAX_PIECES || self.blobs > MAX_PIECES;
        is_too_much.then_some(Unrepeatable::TooManyParts)
    }

    /// Memory for them.
    fn memory(&self) -> ByteCount {
        let items = self.pieces.saturating_add(self.blobs).saturating_add(self.others);
        let texts = self.log.saturating_mul(COPIES);
        ByteCount::from(texts.saturating_add(items.saturating_mul(ITEM)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::outcome::{LogChunk, Stream};

    #[test]
    fn each_piece_is_charged_and_only_so_many_are_kept() {
        let chunks = |count: usize| -> Vec<LogChunk> {
            let streams = [Stream::Stdout, Stream::Stderr].into_iter().cycle().take(count);
            streams.map(|stream| LogChunk { stream, text: "x".to_owned() }).collect()
        };
        let parts = |count| Parts {
            log: count,
            pieces: DocumentLog::count(&chunks(count)),
            blobs: 0,
            others: 0,
        };
        assert_eq!(parts(MAX_PIECES).too_many(), None);
        assert!(parts(MAX_PIECES).memory() > ByteCount::mebibytes(19));
        assert_eq!(parts(MAX_PIECES + 1).too_many(), Some(Unrepeatable::TooManyParts));
        // Pieces of one stream are one piece.
        let mut same = chunks(9);
        same.iter_mut().for_each(|chunk| chunk.stream = Stream::Stdout);
        assert_eq!(DocumentLog::count(&same), DocumentLog::of(&same, 0).pieces.len());
        let mut gap = chunks(3);
        gap[1].text.clear();
        assert_eq!(DocumentLog::count(&gap), DocumentLog::of(&gap, 0).pieces.len());
    }
}
