//! The notes of runs in the background: made right before a run is admitted, and settled at its end.
//!
//! A call that lost its answer finds its run by the key in the note.

use std::time::Duration;

use tokio::time::sleep;
use tracing::{error, warn};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::background::aftermath::{Aftermath, StepsEnd};
use crate::run::background::detach_policy::{Awaits, DetachOrder};
use crate::run::record::run_record::DraftRecord;
use crate::runs::active::ActiveRun;
use crate::runs::history::RunHistory;
use wardian_formats::protocol::methods::execution::{DetachedRun, RunProgress};
use wardian_stores::records::{KnownKey, RecordTable, RequestKey, RunRecord};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::RunId;

/// The pause before a run that was stopped before it was admitted is looked for again.
const FORGOTTEN_SOON: Duration = Duration::from_millis(50);

impl RunHistory {
    /// The run that a key names, once it was admitted. There is none if it was refused.
    ///
    /// # Errors
    ///
    /// The key names the run of another call.
    pub(crate) async fn run_of_key(
        &self,
        caller: &Caller,
        table: &RecordTable,
        key: &RequestKey,
    ) -> Result<Option<DetachedRun>, ServiceError> {
        while let Some(known) = table.find_key(&caller.tenant, key).await? {
            let KnownKey::Run(run_id) = known else {
                return Err(ServiceError::KeyOfOtherCall);
            };
            if let Some(run) = self.active().find(&caller.tenant, None, &run_id) {
                if let Some(status) = run.admission().await {
                    return Ok(Some(DetachedRun { status, run_id }));
                }
                // Its key is forgotten, or its record written, in a moment.
                sleep(FORGOTTEN_SOON).await;
            } else if table.find_key(&caller.tenant, key).await?.is_some() {
                // A run that is refused is forgotten before it leaves the runs that are found.
                return Ok(Some(DetachedRun { status: RunProgress::Ended, run_id }));
            }
        }
        Ok(None)
    }

    /// Notes a run in the background, right before it is admitted.
    pub(crate) async fn note_detached(
        &self,
        order: &DetachOrder,
        record: &RunRecord,
    ) -> Result<(), ServiceError> {
        let _turn = self.turn_to_note().await;
        // Without this, runs whose records are lost would never count against the tenant's limits.
        let table = self.table()?;
        let in_progress = self.active().detached_of(&record.tenant);
        if table.count_noted(&record.tenant).await? >= in_progress {
            let goes_on = |run: &RunId| self.active().find(&record.tenant, None, run).is_some();
            match table.end_lost(&record.tenant, goes_on).await {
                Ok(0) => {}
                Ok(lost) => {
                    let tenant = &record.tenant;
                    warn!(tenant.id = %tenant, "runs in the background whose ends were lost: {lost}");
                }
                Err(fault) => {
                    warn!(
                        "the ends of runs that were lost cannot be written: {}",
                        CauseChain(&fault)
                    );
                }
            }
        }
        let known = self.table()?.note_detached(record, order.key.as_ref()).await?;
        known.map_or(Ok(()), |_run| Err(ServiceError::KnownRun))
    }

    /// Settles what a run in the background has left beside its record.
    pub(crate) async fn settle_detached(
        &self,
        caller: &Caller,
        run: &ActiveRun,
        (end, awaits): (StepsEnd, Awaits),
        record: Option<&mut DraftRecord>,
    ) {
        let mut record = record;
        for one in Aftermath::of(run.reached(), end, awaits) {
            match one {
                Aftermath::Record => record.iter_mut().for_each(|record| record.acknowledge()),
                Aftermath::ForgetRun => self.forget_detached(caller, &run.id).await,
                Aftermath::ForgetKey => self.forget_key(caller, &run.id).await,
            }
        }
    }

    /// Forgets the key of a run that was admitted and never had a worker.
    async fn forget_key(&self, caller: &Caller, run: &RunId) {
        let Ok(table) = self.table() else { return };
        let _turn = self.turn_to_note().await;
        if let Err(fault) = table.forget_key(&caller.tenant, run).await {
            let causes = CauseChain(&fault);
            error!(run.id = %run, "run `{run}`, which was refused, keeps its key: {causes}");
        }
    }

    /// Forgets a run that was noted and not admitted.
    async fn forget_detached(&self, caller: &Caller, run: &RunId) {
        let Ok(table) = self.table() else { return };
        let _turn = self.turn_to_note().await;
        if let Err(fault) = table.forget_detached(&caller.tenant, run).await {
            let causes = CauseChain(&fault);
            error!(run.id = %run, "run `{run}`, which was refused, stays noted: {causes}");
        }
    }
}
