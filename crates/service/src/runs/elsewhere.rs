//! Runs in the background of other servers, and those that wait for one: they are listed and cancelled from here.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::sleep;
use tracing::warn;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::runs::active::{ActiveRunView, StopReason};
use crate::runs::history::RunHistory;
use crate::runs::noted::view_of;
use wardian_formats::job::outcome::RunFailure;
use wardian_formats::protocol::methods::execution::RunProgress;
use wardian_stores::records::{
    RecordedError, RunElsewhere, RunKind, RunOutcomeKind, RunRecord, UnrecordedState,
};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{RunId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// How often a server looks for runs of its own that others have cancelled.
const LOOK_FOR_CANCELLED: Duration = Duration::from_millis(300);

/// Most runs of others in one list.
const LISTED: u64 = 128;

/// Memory of a record while its run is listed: it may have the arguments of its call.
const RECORD: ByteCount = ByteCount::kibibytes(64);

impl RunHistory {
    /// Cancels a run that this server does not have: one that waits ends at once, and the server that has one is
    /// asked to stop it. Any other one stays as it is.
    pub(super) async fn cancel_elsewhere(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<(), ServiceError> {
        let Ok(table) = self.table() else { return Ok(()) };
        if let Some(RunElsewhere::Waiting(note)) = table.find_elsewhere(tenant, kind, run).await? {
            let record = serde_json::from_str::<RunRecord>(&note);
            let record = record.map_err(ServiceError::Unserialisable)?;
            if table.end_queued(&cancelled(record), None).await? {
                return Ok(());
            }
        }
        table.note_cancelled(tenant, kind, run).await?;
        Ok(())
    }

    /// The newest runs in the background of a tenant that wait for a server or that some server has.
    pub(super) async fn list_elsewhere(
        &self,
        caller: &Caller,
        kind: Option<RunKind>,
    ) -> Result<Vec<ActiveRunView>, ServiceError> {
        let Ok(table) = self.table() else { return Ok(Vec::new()) };
        caller.memory.reserve(ByteCount::bytes(RECORD.as_u64().saturating_mul(LISTED)))?;
        let _turn = self.turn_to_read().await;
        let found = table.unrecorded(&caller.tenant, kind, LISTED).await?;
        let views = found.into_iter().map(|run| {
            let status = match run.state {
                UnrecordedState::Waiting | UnrecordedState::Claimed => RunProgress::Queued,
                UnrecordedState::Begun => RunProgress::Running,
            };
            view_of(&run.run, status, &run.record)
        });
        views.collect()
    }

    /// Stops runs of this server that others were asked to cancel, until it is dropped.
    pub async fn follow_cancellations(&self) {
        let Ok(table) = self.table() else { return };
        let mut stopped: HashSet<RunId> = HashSet::new();
        let mut is_failing = false;
        loop {
            sleep(LOOK_FOR_CANCELLED).await;
            let found = table.cancelled().await;
            let was_failing = std::mem::replace(&mut is_failing, found.is_err());
            match found {
                Ok(found) => self.stop_all(found, &mut stopped),
                Err(fault) if !was_failing => {
                    warn!("cancelled runs cannot be looked up: {}", CauseChain(&fault));
                }
                Err(_) => {}
            }
        }
    }
}

impl RunHistory {
    /// Stops these runs, each once.
    fn stop_all(&self, found: Vec<(TenantId, RunId)>, stopped: &mut HashSet<RunId>) {
        stopped.retain(|run| found.iter().any(|(_, other)| other == run));
        for (tenant, run) in found {
            if let Some(active) = self.active().find(&tenant, None, &run)
                && stopped.insert(run)
            {
                active.stop(StopReason::Cancelled);
            }
        }
    }
}

/// The record of a run that was cancelled before it began.
fn cancelled(record: RunRecord) -> RunRecord {
    let failure = RunFailure::Cancelled;
    let error = RecordedError {
        error_type: failure.error_type().to_owned(),
        message: failure.to_string(),
        traceback: None,
    };
    RunRecord { outcome: RunOutcomeKind::Cancelled, error: Some(error), ..record }
}
