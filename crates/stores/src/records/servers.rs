//! The records as one server uses them: which runs in progress are its own, and for how long.
//!
//! A server joins at its start and renews its lease from then on. The lease says to other servers on
//! the same database that its runs go on. A start of the same server ends what its former life has
//! left at once, without waiting for a lease: the lock of the data folder, where the id of the server
//! is kept, tells that the former life is over.
//!
//! A server judges others only after it has renewed its own lease [`LeaseRules::STEADY`] times in a row. So a
//! database that was out of reach for all servers ends no run when it comes back.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval};
use tracing::{info, warn};

use crate::database_error::DatabaseError;
use crate::records::named_call::RequestKey;
use crate::records::record::{RunKind, RunRecord};
use crate::records::server_id::{RunHolder, ServerId};
use crate::records::store::{NotesOf, RecordStore, Renewed};
use crate::records::table::RecordTable;
use crate::records::table::detached::{NotedRun, UnrecordedRun};
use crate::records::table::idempotency_keys::KnownKey;
use wardian_cluster::{AfterRenewal, LeaseRules};
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::ids::{RunId, TenantId};

/// How long a lease lasts without being renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// The records, as one server uses them. Clones are the same server.
#[derive(Debug, Clone)]
pub struct ServerRecords {
    table: RecordTable,
    membership: Arc<Membership>,
}

#[derive(Debug)]
struct Membership {
    server: ServerId,
    lease: Duration,
    epoch: AtomicU64,
    rules: Mutex<LeaseRules>,
    /// Lets one task join again.
    joining: tokio::sync::Mutex<()>,
}

/// A run in the background that was noted, has no record, and is not known to this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunElsewhere {
    /// It waits for a server. This is its record if the server that begins it ends before the run does.
    Waiting(String),
    /// Another server has it. This is its record if that server ends before the run does.
    GoesOn(String),
    /// It is over, and its end was lost. This is its record.
    Over(String),
}

/// What a renewal of the lease has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewal {
    /// True if another server had ended this server's epoch, because its lease had ended.
    pub was_over: bool,
    /// The number of runs of others that were interrupted, because the leases of their servers have
    /// ended.
    pub interrupted: u64,
}

impl ServerRecords {
    /// Begins the next epoch of `server`, whose former life is over, and writes the records of the
    /// runs that it has left. Returns their number.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn join(table: RecordTable, server: ServerId) -> Result<(Self, u64), DatabaseError> {
        Self::join_with(table, server, LEASE).await
    }

    /// The same with a lease of this length.
    ///
    /// # Errors
    ///
    /// As [`join`](Self::join).
    pub async fn join_with(
        table: RecordTable,
        server: ServerId,
        lease: Duration,
    ) -> Result<(Self, u64), DatabaseError> {
        let epoch = table.store().join(&server, lease).await?;
        table.store().reset_claims().await?;
        let membership = Membership {
            server,
            lease,
            epoch: AtomicU64::new(epoch),
            rules: Mutex::default(),
            joining: tokio::sync::Mutex::new(()),
        };
        let interrupted = table.end_interrupted().await?;
        Ok((Self { table, membership: Arc::new(membership) }, interrupted))
    }

    /// The server in its present epoch.
    #[must_use]
    pub fn holder(&self) -> RunHolder {
        let epoch = self.membership.epoch.load(Ordering::Acquire);
        RunHolder { server: self.membership.server.clone(), epoch }
    }

    /// Notes a run that is about to wait for a worker. `record` is its record if the server ends before
    /// the run does. Notes nothing, and returns the call that has the name, if one has.
    ///
    /// # Errors
    ///
    /// The database failed, or the record cannot be written as JSON.
    pub async fn note_detached(
        &self,
        record: &RunRecord,
        key: Option<&RequestKey>,
    ) -> Result<Option<KnownKey>, DatabaseError> {
        loop {
            let holder = self.holder();
            match self.table.note_detached(record, key, &holder).await? {
                NotedRun::Done => return Ok(None),
                NotedRun::Known(known) => return Ok(Some(known)),
                NotedRun::EpochOver => self.join_again(&holder).await?,
            }
        }
    }

    /// A run that was noted, has no record, and is not known to this server.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_elsewhere(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<RunElsewhere>, DatabaseError> {
        // A run that begins meanwhile is looked for in its new place.
        let queued = self.table.store().find_queued(tenant, kind, run).await?;
        if let Some(record) = queued {
            return Ok(Some(RunElsewhere::Waiting(record)));
        }
        let of = match self.table.find_detached(tenant, kind, run).await? {
            None => return Ok(None),
            Some(UnrecordedRun::Held { server, record }) if server != self.membership.server => {
                return Ok(Some(RunElsewhere::GoesOn(record)));
            }
            Some(UnrecordedRun::Held { .. }) => NotesOf::Present,
            Some(UnrecordedRun::Over(_)) => NotesOf::Abandoned,
        };
        Ok(self.table.settle(tenant, kind, run, of).await?.map(RunElsewhere::Over))
    }

    /// The queue of the fleet.
    pub(in crate::records) fn queue(&self) -> &dyn RecordStore {
        self.table.store()
    }

    /// Writes the records of those runs of a tenant that this server has noted, that do not go on, and
    /// that have none, because the records of their ends were lost. From then on they are removed like
    /// all others. Returns their number.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn end_lost(
        &self,
        tenant: &TenantId,
        goes_on: &(dyn Fn(&RunId) -> bool + Send + Sync),
    ) -> Result<u64, DatabaseError> {
        self.table.end_lost(tenant, &self.holder(), goes_on).await
    }

    /// Renews the lease until it is dropped, and ends what servers have left whose leases have ended.
    pub async fn follow(&self) {
        let mut clock = interval(self.membership.lease / LeaseRules::RENEWALS);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_failing = false;
        loop {
            clock.tick().await;
            let renewed = self.renew().await;
            let was_failing = std::mem::replace(&mut is_failing, renewed.is_err());
            match renewed {
                Err(fault) if !was_failing => {
                    warn!("the lease of this server cannot be renewed: {}", CauseChain(&fault));
                }
                Ok(_) if was_failing => info!("the lease of this server can be renewed again"),
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Renews the lease once. After enough renewals in a row it also ends what servers have left whose
    /// leases have ended.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn renew(&self) -> Result<Renewal, DatabaseError> {
        match self.renew_once().await {
            Ok(renewal) => Ok(renewal),
            Err(fault) => {
                self.membership.rules.lock().interrupted();
                Err(fault)
            }
        }
    }

    async fn renew_once(&self) -> Result<Renewal, DatabaseError> {
        let holder = self.holder();
        let mut renewal = Renewal { was_over: false, interrupted: 0 };
        let was_late = match self.table.store().renew(&holder, self.membership.lease).await? {
            Renewed::InTime => false,
            Renewed::Late => true,
            Renewed::EpochOver => {
                self.join_again(&holder).await?;
                renewal.was_over = true;
                return Ok(renewal);
            }
        };
        if self.membership.rules.lock().renewed(was_late) == AfterRenewal::Nothing {
            return Ok(renewal);
        }
        self.table.store().end_expired(&holder.server).await?;
        self.table.store().reset_claims().await?;
        renewal.interrupted = self.table.end_interrupted().await?;
        if renewal.interrupted > 0 {
            let count = renewal.interrupted;
            warn!(
                count,
                "background runs that were interrupted when another server stopped: {count}"
            );
        }
        Ok(renewal)
    }

    /// Begins the next epoch after the one of `holder`, which another server has ended. Runs that were
    /// noted before are over, whatever becomes of them here.
    async fn join_again(&self, holder: &RunHolder) -> Result<(), DatabaseError> {
        let _one = self.membership.joining.lock().await;
        if self.holder() != *holder {
            return Ok(());
        }
        warn!(
            "this server did not renew its lease in time, so its runs in the background were ended by \
             another server"
        );
        let epoch = self.table.store().join(&holder.server, self.membership.lease).await?;
        self.membership.rules.lock().interrupted();
        self.membership.epoch.store(epoch, Ordering::Release);
        Ok(())
    }
}

/// Records are read by all servers alike.
impl Deref for ServerRecords {
    type Target = RecordTable;

    fn deref(&self) -> &RecordTable {
        &self.table
    }
}
