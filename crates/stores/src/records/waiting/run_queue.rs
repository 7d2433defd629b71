//! What the queue of a fleet needs of a database.

use async_trait::async_trait;

use crate::database_error::DatabaseError;
use crate::records::named_call::{NamedCall, RequestKey};
use crate::records::record::RunKind;
use crate::records::row::Row;
use crate::records::server_id::RunHolder;
use wardian_vocabulary::ids::{RunId, TenantId};

/// Runs that wait for a server. Each method is one transaction.
#[async_trait]
pub(crate) trait RunQueue: Send + Sync {
    /// Lets runs wait, each unless its name is known or its tenant has too many. Runs of `holder` are claimed in the
    /// same transaction, if its epoch is not over. The outcomes are in the order of the runs.
    async fn submit(
        &self,
        runs: &[NewRun],
        holder: &RunHolder,
    ) -> Result<Vec<Queued>, DatabaseError>;

    /// Tenants with runs that wait, by their names, at most `most`.
    async fn waiting_tenants(&self, most: u64) -> Result<Vec<String>, DatabaseError>;

    /// Claims the oldest runs of a tenant that wait, at most `most`, but none of `except`. Claims nothing if the epoch
    /// of the server is over.
    async fn claim(
        &self,
        holder: &RunHolder,
        tenant: &TenantId,
        most: u64,
        except: &[RunId],
    ) -> Result<Vec<StoredOrder>, DatabaseError>;

    /// The runs that a server has claimed and not begun, at most `most`.
    async fn claimed(
        &self,
        holder: &RunHolder,
        most: u64,
    ) -> Result<Vec<StoredOrder>, DatabaseError>;

    /// Begins those of these runs that the server has claimed, if its epoch is not over. Returns those of them that it
    /// has begun by now, so the same question may be asked again.
    async fn begin(
        &self,
        holder: &RunHolder,
        runs: &[(TenantId, RunId)],
    ) -> Result<Vec<String>, DatabaseError>;

    /// Lets those of these runs wait again that the server has claimed.
    async fn give_back(
        &self,
        holder: &RunHolder,
        runs: &[(TenantId, RunId)],
    ) -> Result<(), DatabaseError>;

    /// Ends a run that has not begun, with this record. With a `holder` only if that one has claimed it. Returns false
    /// if it has begun, or is over.
    async fn end_queued(
        &self,
        row: &Row,
        holder: Option<&RunHolder>,
        now_ms: u64,
    ) -> Result<bool, DatabaseError>;

    /// The records of runs whose longest wait is over, at most `most`.
    async fn expired(&self, most: u64) -> Result<Vec<String>, DatabaseError>;

    /// Asks the server that executes a run to stop it. Returns false if none does.
    async fn note_cancelled(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<bool, DatabaseError>;

    /// The runs of a server that somebody has asked to stop, with their tenants.
    async fn cancelled(&self, holder: &RunHolder) -> Result<Vec<(String, String)>, DatabaseError>;

    /// A run that has not begun: its record if its server ends before the run does.
    async fn find_queued(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<String>, DatabaseError>;

    /// Runs of a tenant that have no record yet, newest first, at most `most`.
    async fn unrecorded(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        most: u64,
    ) -> Result<Vec<UnrecordedRow>, DatabaseError>;

    /// Lets runs wait again that were claimed in epochs which are over. Returns their number.
    async fn reset_claims(&self) -> Result<u64, DatabaseError>;

    /// The runs of all tenants that have no record yet.
    async fn queue_counts(&self) -> Result<QueueCounts, DatabaseError>;
}

/// A run that is to wait.
#[derive(Debug, Clone)]
pub(crate) struct NewRun {
    pub(crate) tenant: TenantId,
    pub(crate) run: RunId,
    pub(crate) kind: RunKind,
    pub(crate) record: String,
    pub(crate) sealed: String,
    pub(crate) key: Option<RequestKey>,
    pub(crate) started_ms: u64,
    pub(crate) most: u64,
    pub(crate) longest_wait_ms: u64,
    pub(crate) claims: bool,
}

/// What came of a run that is to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Queued {
    Waiting,
    Claimed,
    Known(NamedCall),
    TooMany,
}

/// A run of the queue, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredOrder {
    pub(crate) tenant: String,
    pub(crate) run_id: String,
    pub(crate) sealed: String,
    pub(crate) record: String,
}

/// A run without a record, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnrecordedRow {
    pub(crate) run_id: String,
    pub(crate) record: String,
    /// True if it has begun.
    pub(crate) has_begun: bool,
    /// True if a server has claimed it.
    pub(crate) is_claimed: bool,
}

/// The runs in the background of all tenants that have no record yet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Those that wait for a server.
    pub waiting: u64,
    /// Those that a server is about to begin.
    pub claimed: u64,
    /// Those that a server executes.
    pub begun: u64,
}
