//! What records need of a database: the statements, each of them one transaction.
//!
//! A database implements the traits below, which are [`RecordStore`] together, and knows nothing else of
//! records. What is the same for all databases, such as pages of lists, is in `table/`. Each method fails
//! if the database does.
//!
//! Times are milliseconds since the Unix epoch. Only leases are compared with a clock, and that is the
//! clock of the database, which all servers share.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::database_error::DatabaseError;
use crate::records::filter::{RunFilter, WhoseRuns};
use crate::records::named_call::{NamedCall, RequestKey};
use crate::records::record::RunKind;
use crate::records::row::Row;
use crate::records::server_id::{RunHolder, ServerId};
use crate::records::waiting::overview::FleetOverview;
use crate::records::waiting::run_queue::RunQueue;
use wardian_vocabulary::ids::{RunId, TenantId};

/// Maximum number of runs that are listed for one blob.
pub(crate) const MADE_BY: u64 = 1_000;

/// A database of records: all statements.
#[async_trait]
pub(crate) trait RecordStore:
    RecordRows
    + RecordRetention
    + CallNames
    + RunNotes
    + RunQueue
    + FleetOverview
    + ServerLeases
    + fmt::Debug
{
    /// Closes the database.
    async fn close(&self);
}

/// Writes records, and reads them.
#[async_trait]
pub(crate) trait RecordRows: Send + Sync {
    /// Writes all of these records or none. Records that exist already stay as they are, so a batch can
    /// be written again after an error that may have come too late. Removes the notes of their runs,
    /// whose names are kept from `now_ms` on.
    ///
    /// The record of a run that a server holds is written only if the server still does, in that epoch. Returns the
    /// number of those that came too late, and were left out.
    async fn insert(&self, rows: &[Row], now_ms: u64) -> Result<u64, DatabaseError>;

    /// The newest runs of a window that fit a filter, newest first, at most `limit`.
    async fn list(
        &self,
        whose: &WhoseRuns,
        filter: &RunFilter,
        window: &Window,
        limit: u64,
    ) -> Result<Vec<ListedRow>, DatabaseError>;

    /// The id of the run at this place of a window without a filter, newest first, from 0 on.
    async fn run_at(
        &self,
        whose: &WhoseRuns,
        window: &Window,
        place: u64,
    ) -> Result<Option<String>, DatabaseError>;

    /// The first tenant with records whose name sorts behind `after`.
    async fn next_tenant(&self, after: &str) -> Result<Option<String>, DatabaseError>;

    /// A record as JSON.
    async fn find(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError>;

    /// The sizes of the log of a run.
    async fn find_log(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<StoredLog>, DatabaseError>;

    /// Bytes of all texts that are kept of a run that has a result.
    async fn find_result(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<Option<u64>, DatabaseError>;

    /// A text that is kept beside the record of a run.
    async fn read(
        &self,
        tenant: &TenantId,
        run: &RunId,
        part: RecordPart,
    ) -> Result<Option<String>, DatabaseError>;
}

/// Removes old records.
#[async_trait]
pub(crate) trait RecordRetention: Send + Sync {
    /// The tenants with more records, or more bytes of logs, than this.
    async fn tenants_over(
        &self,
        runs: u64,
        log_bytes: u64,
    ) -> Result<Vec<RecordTotals>, DatabaseError>;

    /// The tenants that have records from before `bound`, the least id that is kept.
    async fn tenants_before(&self, bound: &str) -> Result<Vec<String>, DatabaseError>;

    /// Removes the oldest records of a tenant: at most `most`, and none from `bound` on. Removes none
    /// without a `bound` if the tenant has no more than `most`. Returns their number.
    async fn remove_oldest(
        &self,
        tenant: &str,
        bound: Option<&str>,
        most: u64,
    ) -> Result<u64, DatabaseError>;

    /// Removes the oldest logs of a tenant, at most `most`, until `excess` bytes are gone.
    async fn remove_logs(
        &self,
        tenant: &str,
        excess: u64,
        most: u64,
    ) -> Result<RemovedLogs, DatabaseError>;
}

/// The names that clients gave to calls (`idempotency_key`).
#[async_trait]
pub(crate) trait CallNames: Send + Sync {
    /// The call that has this name.
    async fn find_name(
        &self,
        tenant: &TenantId,
        name: &str,
    ) -> Result<Option<NamedCall>, DatabaseError>;

    /// Gives a name to a call that has stored a blob, unless a call has it. Returns the call that has
    /// it.
    async fn name_blob(
        &self,
        tenant: &TenantId,
        key: &RequestKey,
        now_ms: u64,
    ) -> Result<Option<NamedCall>, DatabaseError>;

    /// Forgets the name of a run.
    async fn forget_name(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError>;

    /// Forgets names from before this time, at most `most`, but not those of runs that are noted.
    /// Returns their number.
    async fn forget_old_names(
        &self,
        of: NamesOf,
        oldest_ms: u64,
        most: u64,
    ) -> Result<u64, DatabaseError>;

    /// The tenants with more names than this.
    async fn tenants_with_names(
        &self,
        of: NamesOf,
        more_than: u64,
    ) -> Result<Vec<String>, DatabaseError>;

    /// Forgets the names of a tenant beyond the newest `keep`, at most `most`. The names of runs that
    /// are noted do not count, and stay. Returns their number.
    async fn forget_surplus_names(
        &self,
        of: NamesOf,
        tenant: &str,
        keep: u64,
        most: u64,
    ) -> Result<u64, DatabaseError>;
}

/// Runs in the background that have no record yet.
#[async_trait]
pub(crate) trait RunNotes: Send + Sync {
    /// Notes a run of a server, and gives it its name. Changes nothing if a call has the name, or if
    /// the epoch of the server is over.
    async fn note_run(
        &self,
        note: &RunNote,
        key: Option<&RequestKey>,
    ) -> Result<Noted, DatabaseError>;

    /// Forgets the note of a run and its name.
    async fn forget_run(&self, tenant: &TenantId, run: &RunId) -> Result<(), DatabaseError>;

    /// The note of a run, and whether its server has it.
    async fn find_note(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<FoundNote>, DatabaseError>;

    /// The number of a tenant's runs that are noted.
    async fn count_notes(&self, tenant: &TenantId) -> Result<u64, DatabaseError>;

    /// The ids of runs of a tenant that a server has noted, at most `limit`.
    async fn notes_of(
        &self,
        tenant: &TenantId,
        holder: &RunHolder,
        limit: u64,
    ) -> Result<Vec<String>, DatabaseError>;

    /// Runs that are noted for an epoch that is over, at most `limit`.
    async fn abandoned_notes(&self, limit: u64) -> Result<Vec<StoredNote>, DatabaseError>;

    /// Ends runs that are noted as they were found: removes their notes, and writes their records, if there are some.
    /// A run that is not noted so any more is left out. Returns the number of records.
    async fn end_notes(
        &self,
        ends: &[(StoredNote, Option<Row>)],
        of: NotesOf,
        now_ms: u64,
    ) -> Result<u64, DatabaseError>;
}

/// The servers that have runs in progress.
#[async_trait]
pub(crate) trait ServerLeases: Send + Sync {
    /// Begins the next epoch of a server, with a lease of this length. Returns the epoch.
    async fn join(&self, server: &ServerId, lease: Duration) -> Result<u64, DatabaseError>;

    /// Renews the lease of a server. Changes nothing if its epoch is over.
    async fn renew(&self, holder: &RunHolder, lease: Duration) -> Result<Renewed, DatabaseError>;

    /// Ends the epochs of other servers whose leases have ended. Returns their number.
    async fn end_expired(&self, but: &ServerId) -> Result<u64, DatabaseError>;
}

/// The ids of the records that a page may read.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// All ids are before this one.
    pub(crate) newest: String,
    /// The first of them.
    pub(crate) oldest: String,
}

/// A record in a list, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedRow {
    pub(crate) run_id: String,
    pub(crate) tenant: String,
    pub(crate) title: Option<String>,
    pub(crate) kind: String,
    pub(crate) skill: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) outcome: String,
    pub(crate) error_type: Option<String>,
    pub(crate) started_ms: u64,
    pub(crate) duration_us: u64,
    pub(crate) log_bytes: u64,
}

/// A text that is kept beside a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordPart {
    /// The pieces of the log, as a JSON list. Empty if another part is kept and this one is not.
    Log,
    /// The result.
    Result,
    /// The document.
    Document,
    /// What the run was given and what it left.
    Content,
}

/// The log of a run, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredLog {
    /// Bytes of its text.
    pub bytes: u64,
    /// Bytes of its JSON and of the result next to it; `None` if they are not kept any more.
    pub size: Option<u64>,
}

/// The sums over the records of a tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordTotals {
    pub(crate) tenant: String,
    pub(crate) runs: u64,
    pub(crate) log_bytes: u64,
}

/// Logs that were removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RemovedLogs {
    pub(crate) logs: u64,
    pub(crate) bytes: u64,
}

/// The calls whose names are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamesOf {
    /// Those that began runs.
    Runs,
    /// Those that stored blobs.
    Blobs,
}

/// A run to note.
#[derive(Debug, Clone)]
pub(crate) struct RunNote {
    pub(crate) tenant: TenantId,
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
    /// Its record if its server ends before the run does.
    pub(crate) record: String,
    pub(crate) started_ms: u64,
    /// The server that has the run.
    pub(crate) holder: RunHolder,
}

/// The outcome of noting a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Noted {
    /// The run is noted.
    Done,
    /// This call has the name.
    Known(NamedCall),
    /// The epoch of the server is over, so it may have no runs.
    EpochOver,
}

/// The note of a run that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundNote {
    /// The record of the run if its server ends before the run does.
    pub(crate) record: String,
    /// The server that noted it.
    pub(crate) server: String,
    pub(crate) epoch: u64,
    /// True if this is the server's present epoch: the run goes on there, or its end was lost.
    pub(crate) is_held: bool,
}

/// The note of a run, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredNote {
    pub(crate) tenant: String,
    pub(crate) run_id: String,
    pub(crate) record: String,
    pub(crate) server: String,
    pub(crate) epoch: u64,
}

/// The runs that are ended by others than their server's writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotesOf {
    /// Those of epochs that are over.
    Abandoned,
    /// Those of a present epoch, whose own server has lost their ends.
    Present,
}

/// The outcome of renewing a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// The lease had not ended.
    InTime,
    /// The lease had ended, and no server had noticed.
    Late,
    /// The epoch of the server is over.
    EpochOver,
}
