//! Cells from the command line. They differ from calls in two points: the result has the whole logs, and what
//! is noted of the cell.

use std::sync::Arc;
use std::time::Duration;

use tracing::warn;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::prepare::limits::UNLIMITED;
use crate::run::result::answered::Answered;
use crate::service::Service;
use crate::sessions::asking::called_tools::CalledTools;
use crate::sessions::cell::CellTurn;
use crate::sessions::cell_parts::{CellParts, RecordedParts};
use crate::sessions::earlier_parts::of_one_call;
use crate::sessions::order::NewSessionOrder;
use crate::sessions::reproducible::cell_record::record_in;
use wardian_formats::job::KeepFiles;
use wardian_formats::job::outcome::Logs;
use wardian_formats::protocol::methods::execution::{RequestedLimits, RunResult, RunStatus};
use wardian_formats::provenance::{
    CellRun, DocumentLimits, DocumentTools, SessionInputs, Unrepeatable,
};
use wardian_images::PackageSet;
use wardian_sessions::{StoredSession, TurnRequest};
use wardian_stores::tenants::Right;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{BlobId, SessionId};

/// Why a cell ends that waits for somebody.
const ASKS_NOBODY: &str =
    "a command has nobody to ask: `input()` and tools do not work in its cells";

/// A cell of the local user.
#[derive(Debug)]
pub struct LocalCell {
    /// Its program.
    pub code: String,
    /// Its limits.
    pub limits: LocalCellLimits,
    /// The files to keep; without it those that are kept by default.
    pub keep_files: Option<KeepFiles>,
    /// True if values that are no JSON data are not converted.
    pub strict_output: bool,
    /// True if its value is displayed whatever it is.
    pub shows_value: bool,
    /// What decides all cells of the session that it repeats. With other inputs its first cell does not begin.
    pub expected: Option<Box<SessionInputs>>,
    /// The tools and the answers of the cell that it repeats. Without it nobody answers.
    pub tools: Option<DocumentTools>,
}

/// The limits of a [`LocalCell`].
#[derive(Debug, Clone, Copy)]
pub enum LocalCellLimits {
    /// Those that it asks for, and the usual ones.
    Asked(RequestedLimits),
    /// Those of the cell that it repeats, which may take so long.
    Recorded(DocumentLimits, Duration),
}

impl LocalCell {
    /// A cell with the usual limits.
    #[must_use]
    pub fn new(code: String) -> Self {
        Self {
            code,
            limits: LocalCellLimits::Asked(RequestedLimits::default()),
            keep_files: None,
            strict_output: false,
            shows_value: false,
            expected: None,
            tools: None,
        }
    }
}

/// The end of a [`LocalCell`].
#[derive(Debug)]
pub struct LocalCellResult {
    /// The result as a call would return it.
    pub result: RunResult,
    /// Its output and logs, as far as they were kept.
    pub logs: Logs,
    /// The blob that has the output as JSON, if it was too large for the result.
    pub output_blob: Option<BlobId>,
    /// What decided it and what came out, if it was kept and its session is reproducible.
    pub run: Option<Box<CellRun>>,
    /// The reason why a repetition may end in another way.
    pub unrepeatable: Option<Unrepeatable>,
    /// What it has asked otherwise than the cell that it repeats, in a sentence.
    pub difference: Option<String>,
}

impl Service {
    /// Begins a session of the local user. Loads the image of reproducible sessions before, which a command
    /// does not make.
    ///
    /// # Errors
    ///
    /// As for a session of a client.
    pub async fn begin_local_session(
        &self,
        caller: &Caller,
        order: NewSessionOrder,
    ) -> Result<SessionId, ServiceError> {
        let images = Arc::clone(&self.supplies.images.shared);
        let load = move || images.load_if_made(PackageSet::REPRODUCIBLE);
        let loaded = caller.memory.on_thread(load).await;
        if let Err(error) = loaded.map_err(ServiceError::Interrupted)? {
            warn!("an image cannot be loaded: {}", CauseChain(&*error));
        }
        let (session, unknown) = self.begin_session(caller, order).await?;
        unknown.keep();
        Ok(session.id)
    }

    /// Runs a cell of the local user in a session.
    ///
    /// # Errors
    ///
    /// As for a cell of a client. [`ServiceError::OtherInputs`] and [`ServiceError::LimitsOfRecord`] if it
    /// cannot repeat what it is to repeat.
    pub async fn run_local_cell(
        &self,
        caller: &Caller,
        id: &SessionId,
        cell: LocalCell,
    ) -> Result<LocalCellResult, ServiceError> {
        ensure_has(caller, Right::Code)?;
        let LocalCell { code, limits, keep_files, strict_output, shows_value, .. } = cell;
        let LocalCell { expected, tools, .. } = cell;
        let store = self.sessions().store()?;
        let usual = || KeepFiles::Usual(self.policy.limits.keep_files);
        let mut parts = CellParts::of_code(code.clone(), keep_files.unwrap_or_else(usual));
        (parts.strict_output, parts.shows_value) = (strict_output, shows_value);
        let declared = tools.as_ref().and_then(|tools| tools.declared.as_ref());
        parts.tools = declared.map(CalledTools::recorded).transpose()?.unwrap_or_default();
        match limits {
            LocalCellLimits::Asked(limits) => parts.limits = limits,
            LocalCellLimits::Recorded(recorded, patience) => {
                let mut limits = self.limits_of_record(&recorded, patience)?;
                // Its cells count fuel without a limit, too.
                limits.fuel = limits.fuel.or(Some(UNLIMITED));
                let blobs = expected.as_ref().map(|inputs| inputs.blobs.clone());
                parts.recorded = Some(RecordedParts { limits, blobs: blobs.unwrap_or_default() });
            }
        }
        parts.expected = expected;
        let session = store.find(&caller.tenant, id).await?;
        let planned = self.plan_next(caller, &session, &parts).await?;
        let next = parts.next_part();
        let order = TurnRequest { source: code, ..TurnRequest::default() };
        let turn = store.take_turn(&caller.tenant, id, order).await?;
        let (number, turn) = (turn.number(), CellTurn::Own(Box::new(turn)));
        let begun = self.run_planned_cell(caller, (&session, planned), parts, turn).await?;
        let (answered, difference) = match &tools {
            Some(tools) => self.repeat_rounds(caller, (&session, &next), begun, tools).await?,
            None => (self.give_up_waiting(caller, &session, begun).await?, None),
        };
        let Answered { result, logs, output_blob, unrepeatable, .. } = answered;
        let cells = store.cells(&caller.tenant, id, number.saturating_sub(1), 1).await?;
        let kept = cells.iter().find_map(|cell| cell.result.as_deref());
        let is_kept = result.session.as_ref().is_some_and(|kept| kept.state_digest.is_some());
        let run = kept.filter(|_| is_kept).and_then(record_in).map(|kept| Box::new(kept.run));
        Ok(LocalCellResult { result, logs, output_blob, run, unrepeatable, difference })
    }

    /// Ends a cell that waits for somebody.
    async fn give_up_waiting(
        &self,
        caller: &Caller,
        session: &StoredSession,
        mut answered: Answered,
    ) -> Result<Answered, ServiceError> {
        if answered.result.status == RunStatus::Waiting {
            let ended = self.give_up_cell(caller, session, ASKS_NOBODY).await?;
            answered.result = of_one_call(answered.result, ended, false);
        }
        Ok(answered)
    }
}
