//! Keeps the documents of a server's reproducible runs, if the operator wants them.
//!
//! A document that cannot be kept costs the run nothing: it is left out, and whoever asks for it
//! learns the possible reasons.

use crate::ids::TenantId;
use crate::job::Program;
use crate::job::outcome::Logs;
use crate::provenance::{RunDocument, RunInputs};
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::parts::Service;
use crate::service::run::document::{DocumentOrder, document_of};
use crate::service::run::log_line::RunLog;
use crate::service::run::plan::RunPlan;
use crate::service::run::result::Performed;
use crate::service::run::run_record::DraftRecord;
use crate::units::ByteCount;

/// Longest program, and longest arguments, of a document that is kept, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// Copies of the texts of a run while its document is made: in the inputs, in the document, as
/// values, and in its text with escapes.
const COPIES: usize = 8;

/// Memory for the rest of a document.
const REST: usize = 64 << 10;

impl Service {
    /// The order for the document of a run of this server; none if it is not to be kept, or if there
    /// is no memory for it.
    pub(super) fn kept_document(
        &self,
        caller: &Caller,
        plan: &RunPlan,
        record: &DraftRecord,
    ) -> Option<DocumentOrder> {
        if !record.keeps_documents() || plan.reproducible.is_none() || plan.secrets.is_some() {
            return None;
        }
        let source = match &plan.program {
            Program::Code { source, .. } => source.len(),
            Program::Skill { .. } => 0,
        };
        let args = plan.args.get().len();
        if source > MAX_TEXT || args > MAX_TEXT {
            return None;
        }
        let memory = source.saturating_add(args).saturating_add(REST).saturating_mul(COPIES);
        caller.memory.reserve(ByteCount::from(memory)).ok()?;
        Some(DocumentOrder::default())
    }

    /// The end of a run with its document, if one is wanted. That of a run of a server goes to its
    /// record.
    pub(super) async fn with_document(
        &self,
        caller: &Caller,
        log: &mut RunLog,
        performed: Performed,
        inputs: Option<Box<RunInputs>>,
    ) -> Result<Performed, ServiceError> {
        let Some(inputs) = inputs else { return Ok(performed) };
        let Performed { result, logs, output_blob, .. } = performed;
        let Some(record) = log.record() else {
            let document = Some(Box::new(document_of(&self.toolchain, *inputs, &result, &logs)));
            return Ok(Performed { result, logs, output_blob, document });
        };
        let length: usize = logs.chunks.iter().map(|chunk| chunk.text.len()).sum();
        if caller.memory.reserve(ByteCount::from(length.saturating_mul(COPIES))).is_ok() {
            let document = document_of(&self.toolchain, *inputs, &result, &logs);
            if is_for_everybody(&document, &caller.tenant) {
                let text = caller.memory.on_thread(move || document.text()).await;
                // A document that is too large is left out.
                if let Ok(text) = text.map_err(ServiceError::Interrupted)? {
                    record.note_document(text);
                }
            }
        }
        // The result has the preview of the logs, and nobody asked for all of them.
        Ok(Performed { result, logs: Logs::default(), output_blob, document: None })
    }
}

/// True if others can repeat the run. The ids of the blobs of a tenant with keys belong to this server
/// alone.
fn is_for_everybody(document: &RunDocument, tenant: &TenantId) -> bool {
    let has_blobs = !document.inputs.blobs.is_empty() || !document.ending.output_blobs.is_empty();
    !document.ending.is_by_time() && (*tenant == TenantId::local() || !has_blobs)
}
