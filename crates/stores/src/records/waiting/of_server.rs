//! The queue of a fleet as one server uses it.

use crate::database_error::DatabaseError;
use crate::records::record::{RunKind, RunRecord};
use crate::records::row::Row;
use crate::records::server_id::RunHolder;
use crate::records::servers::ServerRecords;
use crate::records::table::idempotency_keys::KnownKey;
use crate::records::waiting::order::{
    ClaimedRun, QueuedOrder, Submitted, UnrecordedState, UnrecordedView,
};
use crate::records::waiting::overview::ServerFacts;
use crate::records::waiting::run_queue::{NewRun, QueueCounts, Queued, StoredOrder, UnrecordedRow};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{RunId, TenantId};

impl ServerRecords {
    /// Lets calls wait for a server: their names, the limits of their tenants and their orders are one transaction.
    /// The outcomes are in their order.
    ///
    /// # Errors
    ///
    /// The database failed, and it is not known whether they wait; or a record cannot be written as JSON.
    pub async fn submit(&self, orders: &[QueuedOrder]) -> Result<Vec<Submitted>, DatabaseError> {
        let holder = self.holder();
        let runs = orders.iter().map(new_run).collect::<Result<Vec<_>, _>>()?;
        let queued = self.queue().submit(&runs, &holder).await?;
        let outcome = |(queued, order): (Queued, &QueuedOrder)| match (queued, &order.key) {
            (Queued::Waiting, _) => Submitted::Waiting,
            (Queued::Claimed, _) => Submitted::Claimed { epoch: holder.epoch },
            (Queued::TooMany, _) => Submitted::TooMany,
            (Queued::Known(call), Some(key)) => Submitted::Known(KnownKey::of(&call, key)),
            (Queued::Known(_), None) => Submitted::Known(KnownKey::OtherCall),
        };
        Ok(queued.into_iter().zip(orders).map(outcome).collect())
    }

    /// Tenants with calls that wait, by their names, at most `most`.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn waiting_tenants(&self, most: u64) -> Result<Vec<TenantId>, DatabaseError> {
        let found = self.queue().waiting_tenants(most).await?;
        Ok(found.iter().filter_map(|tenant| TenantId::parse(tenant).ok()).collect())
    }

    /// Claims the oldest calls of a tenant that wait, at most `most`, but none of `except`. Claims nothing if the epoch
    /// is over.
    ///
    /// # Errors
    ///
    /// The database failed. Some may be claimed: [`Self::claimed`] tells.
    pub async fn claim(
        &self,
        epoch: u64,
        tenant: &TenantId,
        most: u64,
        except: &[RunId],
    ) -> Result<Vec<ClaimedRun>, DatabaseError> {
        let found = self.queue().claim(&self.in_epoch(epoch), tenant, most, except).await?;
        Ok(found.into_iter().filter_map(claimed_run).collect())
    }

    /// The calls that this server has claimed in this epoch and not begun, at most `most`.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn claimed(&self, epoch: u64, most: u64) -> Result<Vec<ClaimedRun>, DatabaseError> {
        let found = self.queue().claimed(&self.in_epoch(epoch), most).await?;
        Ok(found.into_iter().filter_map(claimed_run).collect())
    }

    /// Begins calls that this server has claimed in this epoch. Returns those of them that it has begun by now: after a
    /// failure the same may be asked again.
    ///
    /// # Errors
    ///
    /// The database failed, and they may have begun.
    pub async fn begin(
        &self,
        epoch: u64,
        runs: &[(TenantId, RunId)],
    ) -> Result<Vec<RunId>, DatabaseError> {
        let begun = self.queue().begin(&self.in_epoch(epoch), runs).await?;
        Ok(begun.iter().filter_map(|run| RunId::parse(run).ok()).collect())
    }

    /// Lets calls wait again that this server has claimed in this epoch and not begun.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn give_back(
        &self,
        epoch: u64,
        runs: &[(TenantId, RunId)],
    ) -> Result<(), DatabaseError> {
        self.queue().give_back(&self.in_epoch(epoch), runs).await
    }

    /// Ends a call that has not begun, with this record: with a `holder` only if that one has claimed it. Returns
    /// false if it has begun, or is over.
    ///
    /// # Errors
    ///
    /// The database failed, or the record cannot be written as JSON.
    pub async fn end_queued(
        &self,
        record: &RunRecord,
        holder: Option<&RunHolder>,
    ) -> Result<bool, DatabaseError> {
        let row = Row::of(record, None, None).map_err(DatabaseError::failed)?;
        let now = u64::try_from(Clock::System.now().as_millis()).unwrap_or(u64::MAX);
        self.queue().end_queued(&row, holder, now).await
    }

    /// Calls whose longest wait is over, as the records of their runs, at most `most`.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn expired(&self, most: u64) -> Result<Vec<RunRecord>, DatabaseError> {
        let found = self.queue().expired(most).await?;
        Ok(found.iter().filter_map(|record| serde_json::from_str(record).ok()).collect())
    }

    /// Asks the server that executes a run to stop it. Returns false if none does.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn note_cancelled(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<bool, DatabaseError> {
        self.queue().note_cancelled(tenant, kind, run).await
    }

    /// The runs of this server that somebody has asked to stop.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn cancelled(&self) -> Result<Vec<(TenantId, RunId)>, DatabaseError> {
        let found = self.queue().cancelled(&self.holder()).await?;
        let parsed = |(tenant, run): &(String, String)| {
            Some((TenantId::parse(tenant).ok()?, RunId::parse(run).ok()?))
        };
        Ok(found.iter().filter_map(parsed).collect())
    }

    /// Runs in the background of a tenant that have no record yet, newest first, at most `most`.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn unrecorded(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        most: u64,
    ) -> Result<Vec<UnrecordedView>, DatabaseError> {
        let found = self.queue().unrecorded(tenant, kind, most).await?;
        Ok(found.into_iter().filter_map(view).collect())
    }

    /// The runs of all tenants that have no record yet.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn queue_counts(&self) -> Result<QueueCounts, DatabaseError> {
        self.queue().queue_counts().await
    }

    /// Notes what this server says of itself.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn describe(&self, facts: &ServerFacts) -> Result<(), DatabaseError> {
        self.queue().describe(&self.holder(), facts).await
    }

    fn in_epoch(&self, epoch: u64) -> RunHolder {
        RunHolder { epoch, ..self.holder() }
    }
}

fn new_run(order: &QueuedOrder) -> Result<NewRun, DatabaseError> {
    let QueuedOrder { record, key, sealed, most, longest_wait, claims } = order;
    Ok(NewRun {
        tenant: record.tenant.clone(),
        run: record.run_id.clone(),
        kind: record.kind,
        record: serde_json::to_string(record).map_err(DatabaseError::failed)?,
        sealed: sealed.clone(),
        key: key.clone(),
        started_ms: record.started_ms,
        most: *most,
        longest_wait_ms: u64::try_from(longest_wait.as_millis()).unwrap_or(u64::MAX),
        claims: *claims,
    })
}

/// A run that was found. One with a malformed name, which only a damaged database has, is left out.
fn claimed_run(order: StoredOrder) -> Option<ClaimedRun> {
    let StoredOrder { tenant, run_id, sealed, record } = order;
    let (tenant, run) = (TenantId::parse(&tenant).ok()?, RunId::parse(&run_id).ok()?);
    Some(ClaimedRun { tenant, run, sealed, record })
}

fn view(row: UnrecordedRow) -> Option<UnrecordedView> {
    let UnrecordedRow { run_id, record, has_begun, is_claimed } = row;
    let state = match (has_begun, is_claimed) {
        (true, _) => UnrecordedState::Begun,
        (false, true) => UnrecordedState::Claimed,
        (false, false) => UnrecordedState::Waiting,
    };
    Some(UnrecordedView { run: RunId::parse(&run_id).ok()?, record, state })
}
