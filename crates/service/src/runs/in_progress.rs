//! Runs in progress, wherever they are: their list, and their cancellation.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::runs::active::{ActiveRunView, StopReason};
use crate::runs::choice::visible_kind;
use crate::runs::history::{FoundRun, LISTED, MAX_PAGE, OutcomeOfRecord, RunHistory, parsed};
use wardian_formats::protocol::methods::execution::RunProgress;
use wardian_vocabulary::ids::RunId;
use wardian_vocabulary::units::ByteCount;

/// The time in which a run that is cancelled usually ends.
const STOPPED_WITHIN: Duration = Duration::from_secs(2);

/// The answer to a cancellation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelledRun {
    /// Id of the run.
    pub run_id: RunId,
    /// How far it is.
    pub status: RunProgress,
    /// Its end, if it is over and has a record.
    pub outcome: Option<String>,
}

/// A page of the runs in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActiveRunList {
    /// The runs, newest first.
    pub runs: Vec<ActiveRunView>,
}

impl RunHistory {
    /// Lists the newest runs in progress of the caller's tenant: those of this server, and those in the background
    /// that wait for a server or that others have.
    ///
    /// # Errors
    ///
    /// The caller may make no runs, or the database failed.
    pub async fn list_active(&self, caller: &Caller) -> Result<ActiveRunList, ServiceError> {
        let kind = visible_kind(caller)?;
        let most = usize::try_from(MAX_PAGE).unwrap_or(usize::MAX);
        caller.memory.reserve(ByteCount::bytes(LISTED.saturating_mul(MAX_PAGE)))?;
        let mut runs = self.active().list(&caller.tenant, kind, most);
        for view in self.list_elsewhere(caller, kind).await? {
            if runs.iter().all(|run| run.run_id != view.run_id) {
                runs.push(view);
            }
        }
        runs.sort_by(|one, other| other.run_id.cmp(&one.run_id));
        runs.truncate(most);
        Ok(ActiveRunList { runs })
    }

    /// Cancels a run of the caller's tenant, wherever it is. A run that is over stays as it is.
    ///
    /// # Errors
    ///
    /// The caller has no such run, or the database failed.
    pub async fn cancel(&self, caller: &Caller, id: &str) -> Result<CancelledRun, ServiceError> {
        let kind = visible_kind(caller)?;
        let run_id = parsed(id)?;
        let found = self.active().find(&caller.tenant, kind, &run_id);
        let was_active = found.is_some();
        match found {
            Some(run) => run.stop(StopReason::Cancelled),
            None => self.cancel_elsewhere(&caller.tenant, kind, &run_id).await?,
        }
        match self.find(caller, id, STOPPED_WITHIN).await {
            Ok(FoundRun::Active(ActiveRunView { status, .. })) => {
                Ok(CancelledRun { run_id, status, outcome: None })
            }
            Ok(FoundRun::Ended(record)) => {
                let read = serde_json::from_str::<OutcomeOfRecord>(&record);
                let outcome = read.map_err(ServiceError::Unserialisable)?.outcome;
                Ok(CancelledRun { run_id, status: RunProgress::Ended, outcome: Some(outcome) })
            }
            // It is over, and has no record, or none yet.
            Err(
                ServiceError::NoRecords
                | ServiceError::NoSuchRun { .. }
                | ServiceError::RecordNotWritten,
            ) if was_active => {
                Ok(CancelledRun { run_id, status: RunProgress::Ended, outcome: None })
            }
            Err(error) => Err(error),
        }
    }
}
