//! Runs in the background as the database of records knows them: noted, named, and perhaps those of
//! another server.
//!
//! This server knows how far its own runs are. Of a run of another server on the same database it knows
//! that it goes on, until its record is written or the lease of that server has ended.

use std::time::Duration;

use serde::Deserialize;
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::error::ServiceError;
use crate::runs::active::ActiveRunView;
use crate::runs::history::RunHistory;
use wardian_formats::protocol::methods::execution::{DetachedRun, RunProgress};
use wardian_stores::records::{
    KnownKey, RecordedSkill, RequestKey, RunElsewhere, RunKind, RunRecord,
};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{RunId, TenantId};

/// The pause before a run that was stopped before it was admitted is looked for again.
const FORGOTTEN_SOON: Duration = Duration::from_millis(50);

/// How often a run of another server is looked at while its end is waited for.
const LOOK_ELSEWHERE: Duration = Duration::from_millis(500);

/// The members of a note that a run in progress is shown with.
#[derive(Deserialize)]
struct ViewOfNote {
    kind: RunKind,
    label: Option<String>,
    title: Option<String>,
    skill: Option<RecordedSkill>,
    started_ms: u64,
}

impl RunHistory {
    /// The run that a key names, once it was admitted. There is none if it was refused.
    ///
    /// # Errors
    ///
    /// The key names the run of another call, or the database failed.
    pub(crate) async fn run_of_key(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
    ) -> Result<Option<DetachedRun>, ServiceError> {
        let table = self.table()?;
        while let Some(known) = table.find_key(tenant, key).await? {
            let KnownKey::Run(run_id) = known else {
                return Err(ServiceError::KeyOfOtherCall);
            };
            if let Some(run) = self.active().find(tenant, None, &run_id) {
                if let Some(status) = run.admission().await {
                    return Ok(Some(DetachedRun { status, run_id }));
                }
                // Its key is forgotten, or its record written, in a moment.
                sleep(FORGOTTEN_SOON).await;
                continue;
            }
            if let Some(RunElsewhere::GoesOn(_)) =
                table.find_elsewhere(tenant, None, &run_id).await?
            {
                return Ok(Some(DetachedRun { status: RunProgress::Running, run_id }));
            }
            if table.find_key(tenant, key).await?.is_some() {
                // A run that is refused is forgotten before it leaves the runs that are found.
                return Ok(Some(DetachedRun { status: RunProgress::Ended, run_id }));
            }
        }
        Ok(None)
    }

    /// Notes a run in the background, right before it is admitted. Notes nothing, and returns the call
    /// that has the name, if one has.
    ///
    /// # Errors
    ///
    /// This server keeps no records, or the database failed.
    pub(crate) async fn note_detached(
        &self,
        record: &RunRecord,
        key: Option<&RequestKey>,
    ) -> Result<Option<KnownKey>, ServiceError> {
        let _turn = self.turn_to_note().await;
        // Without this, runs whose records are lost would never count against the tenant's limits.
        let (table, tenant) = (self.table()?, &record.tenant);
        if table.count_noted(tenant).await? >= self.active().detached_of(tenant) {
            let goes_on = |run: &RunId| self.active().find(tenant, None, run).is_some();
            match table.end_lost(tenant, &goes_on).await {
                Ok(0) => {}
                Ok(lost) => {
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
        Ok(table.note_detached(record, key).await?)
    }

    /// Waits until a run that another server has is over. Returns the run if it still goes on after
    /// `patience`. Any other run is not waited for.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub(crate) async fn wait_elsewhere(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
        patience: Duration,
    ) -> Result<Option<ActiveRunView>, ServiceError> {
        let Ok(table) = self.table() else { return Ok(None) };
        let asked = Instant::now();
        loop {
            let found = {
                let _turn = self.turn_to_read().await;
                table.find_elsewhere(tenant, kind, run).await?
            };
            let Some(RunElsewhere::GoesOn(note)) = found else { return Ok(None) };
            let left = patience.saturating_sub(asked.elapsed());
            if left.is_zero() {
                return view_of(run, &note).map(Some);
            }
            sleep(LOOK_ELSEWHERE.min(left)).await;
        }
    }
}

/// A run of another server, as callers see it.
fn view_of(run: &RunId, note: &str) -> Result<ActiveRunView, ServiceError> {
    let note: ViewOfNote = serde_json::from_str(note).map_err(ServiceError::Unserialisable)?;
    let (skill, version) = note.skill.map(|skill| (skill.name, skill.version)).unzip();
    Ok(ActiveRunView {
        run_id: run.clone(),
        status: RunProgress::Running,
        title: note.label.or(note.title),
        kind: note.kind,
        skill,
        version,
        detached: true,
        started_ms: note.started_ms,
        progress: None,
    })
}
