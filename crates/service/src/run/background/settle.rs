//! What becomes of the note of a run in the background when the run has ended.

use std::sync::Arc;

use tracing::error;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fleet::placed_run::PlacedRun;
use crate::run::background::aftermath::{Aftermath, StepsEnd};
use crate::run::background::detach_policy::Awaits;
use crate::run::background::placed_end::PlacedEnd;
use crate::run::record::run_record::DraftRecord;
use crate::run::result::answered::Answered;
use crate::runs::active::ActiveRun;
use crate::runs::history::RunHistory;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::RunId;

impl PlacedRun {
    /// Settles what becomes of the run in the queue of the fleet, whose steps have ended. If it is recorded it is this
    /// server's until the record is written.
    pub(crate) async fn settle(
        self: Arc<Self>,
        end: StepsEnd,
        answered: &Result<Answered, ServiceError>,
        record: Option<&mut DraftRecord>,
    ) {
        let Some(record) = record else {
            // It was refused before its record began.
            return self.give_back(false);
        };
        match PlacedEnd::of(self.has_begun().await, end, answered) {
            PlacedEnd::Record => record.acknowledge_for(self),
            PlacedEnd::GiveBack { is_impossible_here } => {
                record.withhold();
                self.give_back(is_impossible_here);
            }
            PlacedEnd::Forget => record.withhold(),
        }
    }
}

impl RunHistory {
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
            error!(run.id = %run, "run `{run}`, which was refused, cannot be removed from the \
                list: {causes}");
        }
    }
}
