//! Reads records: lists in pages, one record, and what is kept beside it.

use crate::database_error::DatabaseError;
use crate::records::filter::{RunFilter, WhoseRuns};
use crate::records::record::{MAX_RESULT, RunKind, RunOutcomeKind, RunSummary};
use crate::records::store::{ListedRow, RecordPart, StoredLog, Window};
use crate::records::table::{RecordTable, before, bound_at};
use wardian_vocabulary::ids::{RunId, TenantId};

/// Most records that a page with filters reads. So a filter that fits nothing costs a caller many
/// short calls, and the server no long one.
pub(crate) const SCANNED: u64 = 5_000;

/// A page of the list of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedRuns {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// The id from which the next page continues, if there may be more.
    pub next: Option<RunId>,
}

impl RecordTable {
    /// Lists at most `limit` runs of a tenant that began before `cursor`, newest first. With filters
    /// a page may have fewer runs, and even none, although there are more.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list(
        &self,
        tenant: &TenantId,
        filter: &RunFilter,
        cursor: Option<&RunId>,
        limit: u64,
    ) -> Result<ListedRuns, DatabaseError> {
        self.list_of(&WhoseRuns::Own(tenant.clone()), filter, cursor, limit).await
    }

    /// As [`Self::list`], also of other tenants.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn list_of(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        cursor: Option<&RunId>,
        limit: u64,
    ) -> Result<ListedRuns, DatabaseError> {
        let mut window =
            Window { newest: before(cursor), oldest: bound_at(filter.since_ms.unwrap_or(0)) };
        if let Some(until) = filter.until_ms {
            window.newest = window.newest.min(bound_at(until.saturating_add(1)));
        }
        // The id from which the next page continues, if this page ends before the last record.
        let mut end = None;
        // The runs of one blob are few, and an index has them.
        if filter.leaves_out() && filter.blob.is_none() {
            end = self.store.run_at(whose, &window, SCANNED.saturating_sub(1)).await?;
            if let Some(last) = &end {
                window.oldest.clone_from(last);
            }
        }
        let rows = self.store.list(whose, filter, &window, limit.saturating_add(1)).await?;
        let mut runs: Vec<RunSummary> =
            rows.into_iter().filter_map(|row| summary(row, whose)).collect();
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let next = match has_more {
            true => runs.last().map(|run| run.run_id.clone()),
            false => end.and_then(|id| RunId::parse(&id).ok()),
        };
        Ok(ListedRuns { runs, next })
    }

    /// The tenants that have records, by name, at most `limit`: each is found by a look into the
    /// index, whatever number of records it has.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn tenants(&self, limit: usize) -> Result<Vec<TenantId>, DatabaseError> {
        let (mut tenants, mut last) = (Vec::new(), String::new());
        while tenants.len() < limit {
            let Some(next) = self.store.next_tenant(&last).await? else { break };
            tenants.extend(TenantId::parse(&next).ok());
            last = next;
        }
        Ok(tenants)
    }

    /// The record of a run as JSON, if the tenant has such a run, of this kind if one is given.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        self.store.find(tenant, kind, run).await
    }

    /// Upper bound on the size of the stored result of a background run, in bytes, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, DatabaseError> {
        let size = self.store.find_result(tenant, run).await?;
        let most = u64::try_from(MAX_RESULT).unwrap_or(u64::MAX);
        Ok(size.map(|size| size.min(most)))
    }

    /// The result of a run in the background, as JSON, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        self.store.read(tenant, run, RecordPart::Result).await
    }

    /// The document of a run, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_document(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        self.store.read(tenant, run, RecordPart::Document).await
    }

    /// What a run was given and what it left, as JSON, if it is kept.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_content(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        self.store.read(tenant, run, RecordPart::Content).await
    }

    /// The sizes of the log of a run, if the tenant has such a run.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_log(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, DatabaseError> {
        self.store.find_log(tenant, kind, run).await
    }

    /// The pieces of the log of a run, as a JSON list.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn read_log(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError> {
        self.store.read(tenant, run, RecordPart::Log).await
    }
}

/// The summary of a record; `None` if its id is malformed, which only a damaged database has.
fn summary(row: ListedRow, whose: &WhoseRuns) -> Option<RunSummary> {
    let run_id = RunId::parse(&row.run_id).ok()?;
    let may_read = whose.may_read(&row.tenant);
    // The program chooses the class of an exception.
    let is_chosen = !may_read && row.outcome == RunOutcomeKind::Exception.name();
    Some(RunSummary {
        run_id,
        tenant: matches!(whose, WhoseRuns::Operator { .. }).then_some(row.tenant),
        title: row.title.filter(|_| may_read),
        kind: row.kind,
        skill: row.skill,
        version: row.version,
        outcome: row.outcome,
        error_type: row.error_type.filter(|_| !is_chosen),
        started_ms: row.started_ms,
        duration_us: row.duration_us,
        log_bytes: row.log_bytes,
    })
}
