//! What becomes of the note of a run in the background when the run has ended.

use tracing::error;

use crate::caller::Caller;
use crate::run::background::aftermath::{Aftermath, StepsEnd};
use crate::run::background::detach_policy::Awaits;
use crate::run::record::run_record::DraftRecord;
use crate::runs::active::ActiveRun;
use crate::runs::history::RunHistory;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::RunId;

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
