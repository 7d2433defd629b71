//! A session of the cells of a notebook, which are executed one after another.

use serde::Serialize;
use tokio::time::sleep;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::service::Service;
use crate::sessions::cell_parts::CellParts;
use crate::sessions::notebook::programs::{NotebookProgram, programs_of};
use crate::sessions::order::NewSessionOrder;
use crate::sessions::reproducible::session_seed::SessionSeedParam;
use crate::sessions::views::SessionView;
use wardian_formats::job::KeepFiles;
use wardian_formats::protocol::methods::cells::CellFate;
use wardian_formats::protocol::methods::execution::{RunError, RunResult, RunStatus};
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{RunId, SessionId};
use wardian_vocabulary::units::ByteCount;

/// Memory for what the answer says of a cell.
const CELL_ROOM: usize = 16 << 10;

/// How a notebook is made a session.
#[derive(Debug, Clone, Default)]
pub struct NotebookOrder {
    /// True if the cells after one that fails are executed, too.
    pub allows_errors: bool,
    /// A text for people.
    pub label: Option<String>,
    /// Whether the session is reproducible, and from what.
    pub reproducible: Option<SessionSeedParam>,
}

/// A session that was made of a notebook.
#[derive(Debug, Serialize)]
pub struct ImportedNotebook {
    /// The session after its last cell.
    pub session: SessionView,
    /// The cells that were executed, in order.
    pub cells: Vec<ImportedCell>,
    /// Why those behind them were not; `None` if there are none.
    pub stopped: Option<String>,
}

/// A cell of a notebook that was executed. The session has its whole result.
#[derive(Debug, Serialize)]
pub struct ImportedCell {
    /// Its place among the cells of the notebook that have programs, from 1 on.
    pub place: u64,
    /// Its number in the session.
    pub cell: Option<u32>,
    /// What has become of its effects.
    pub state: Option<CellFate>,
    /// How it ended.
    pub status: RunStatus,
    /// The id of its run.
    pub run_id: RunId,
    /// One sentence.
    pub summary: String,
    /// The reason why it failed, without its traceback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
}

impl Service {
    /// Makes a session, and executes the programs of a notebook in it.
    ///
    /// Cancellation: the cell that is running leaves no trace, and the session is closed.
    pub(crate) async fn begin_notebook(
        &self,
        caller: &Caller,
        text: &[u8],
        order: NotebookOrder,
    ) -> Result<ImportedNotebook, ServiceError> {
        ensure_has(caller, Right::Code)?;
        caller.memory.reserve(ByteCount::from(text.len()))?;
        let programs = programs_of(text)?;
        caller.memory.reserve(ByteCount::from(programs.len().saturating_mul(CELL_ROOM)))?;
        let NotebookOrder { allows_errors, label, reproducible } = order;
        let begun = NewSessionOrder { label, reproducible, ..NewSessionOrder::default() };
        // The caller learns the id from the answer alone.
        let (session, unknown) = self.begin_session(caller, begun).await?;
        let store = self.sessions().store()?;
        let (mut cells, mut stopped) = (Vec::with_capacity(programs.len()), None);
        for program in programs {
            let place = program.place;
            match Box::pin(self.import_cell(caller, &session.id, program)).await {
                Ok(cell) => {
                    stopped = cell.reason_to_stop(allows_errors);
                    cells.push(cell);
                }
                Err(cause) => stopped = Some(format!("cell {place} was not executed: {cause}")),
            }
            if stopped.is_some() {
                break;
            }
        }
        let session = store.find(&caller.tenant, &session.id).await?;
        let session = self.sessions().view(&session).await?;
        unknown.keep();
        Ok(ImportedNotebook { session, cells, stopped })
    }

    /// Executes a cell, which counts as a call of its tenant and waits until that may call.
    async fn import_cell(
        &self,
        caller: &Caller,
        session: &SessionId,
        program: NotebookProgram,
    ) -> Result<ImportedCell, ServiceError> {
        while let Err(too_many) = self.discovery().rates.count(&caller.tenant) {
            sleep(too_many.retry_after).await;
        }
        let NotebookProgram { place, source } = program;
        let keep_files = KeepFiles::Usual(self.policy.limits.keep_files);
        let parts = CellParts::of_code(source, keep_files);
        // What one cell has needed is free for the next one.
        let caller = Caller { memory: caller.memory.of_call(), ..caller.clone() };
        let answered = Box::pin(self.run_next(&caller, session, parts)).await?;
        Ok(ImportedCell::of(place, answered.result))
    }
}

impl ImportedCell {
    fn of(place: u64, result: RunResult) -> Self {
        let RunResult { status, run_id, summary, error, session, .. } = result;
        let error = error.map(|error| RunError { traceback: None, ..error });
        let (cell, state) = session.map(|at| (at.cell, at.state)).unzip();
        Self { place, cell, state, status, run_id, summary, error }
    }

    /// Why no further cell is executed.
    fn reason_to_stop(&self, allows_errors: bool) -> Option<String> {
        let place = self.place;
        match (self.status, &self.error) {
            (RunStatus::Waiting, _) => {
                Some(format!("cell {place} waits for answers, and the session with it"))
            }
            (RunStatus::Failed, Some(error)) if !allows_errors => {
                Some(format!("cell {place} failed: {}", error.error_type))
            }
            (RunStatus::Failed, None) if !allows_errors => Some(format!("cell {place} failed")),
            (RunStatus::Failed | RunStatus::Completed, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::result::answered::Answered;
    use crate::runs::active::StopReason;

    #[test]
    fn a_cell_that_fails_ends_the_import_unless_errors_are_allowed() {
        let failed = Answered::stopped(RunId::generate(), StopReason::Cancelled).result;
        let waiting = RunResult { status: RunStatus::Waiting, ..failed.clone() };
        let (failed, waiting) = (ImportedCell::of(3, failed), ImportedCell::of(4, waiting));
        assert_eq!(failed.reason_to_stop(false).unwrap(), "cell 3 failed: Cancelled");
        assert_eq!(failed.reason_to_stop(true), None);
        assert!(waiting.reason_to_stop(true).unwrap().contains("cell 4 waits"));
    }
}
