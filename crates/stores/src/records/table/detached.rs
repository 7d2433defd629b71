//! Runs in the background: noted before they begin, so that a kill of the server loses none of them.
//!
//! A note names the server that has the run, in its present epoch. The server renews a lease for as
//! long as it lives. If a lease has ended, another server ends the epoch; a server that starts begins
//! its next one. What was noted for an epoch that is over is over too.
//!
//! INVARIANT(no-run-stays-in-progress): a run that was noted has a record in the end. If its server
//! ends before the run does, its next start writes the record, or another server does when the lease
//! has ended, with the outcome `interrupted`. If the record of the end is lost, the next run that the
//! tenant begins in the background writes it.
//!
//! INVARIANT(runs-of-others-go-on): no server ends a run that another server has, nor reports it as
//! ended, before the other server's lease has ended.

use crate::database_error::DatabaseError;
use crate::records::named_call::RequestKey;
use crate::records::record::{RunKind, RunRecord};
use crate::records::row::Row;
use crate::records::server_id::{RunHolder, ServerId};
use crate::records::store::{FoundNote, Noted, NotesOf, RunNote, StoredNote};
use crate::records::table::RecordTable;
use crate::records::table::idempotency_keys::KnownKey;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{RunId, TenantId};

/// Maximum number of runs that are read at one time.
const AT_ONCE: u64 = 256;

/// Most notes of a tenant that are looked through for runs that are over.
const MOST_NOTED: u64 = 10_000;

/// The reason why a run whose record was lost did not complete, as far as is known.
const LOST_END: &str = "the server could not record the outcome of the run";

/// The outcome of noting a run in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotedRun {
    /// The run is noted.
    Done,
    /// A call has the name, so nothing is noted.
    Known(KnownKey),
    /// The epoch of the server is over, so nothing is noted.
    EpochOver,
}

/// A run that has a note and no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnrecordedRun {
    /// The server has the run, or has lost its end.
    Held {
        /// The server.
        server: ServerId,
        /// The record of the run if that server ends before the run does.
        record: String,
    },
    /// The run is over: how it ended is not known. This is its record.
    Over(String),
}

impl RecordTable {
    /// Notes a run that is about to wait for a worker of this server. `record` is its record if the
    /// server ends before the run does.
    ///
    /// # Errors
    ///
    /// The database failed, or the record cannot be written as JSON.
    pub async fn note_detached(
        &self,
        record: &RunRecord,
        key: Option<&RequestKey>,
        holder: &RunHolder,
    ) -> Result<NotedRun, DatabaseError> {
        let note = RunNote {
            tenant: record.tenant.clone(),
            run: record.run_id.clone(),
            kind: record.kind,
            record: serde_json::to_string(record).map_err(DatabaseError::failed)?,
            started_ms: record.started_ms,
            holder: holder.clone(),
        };
        Ok(match (self.store.note_run(&note, key).await?, key) {
            (Noted::Done, _) => NotedRun::Done,
            (Noted::EpochOver, _) => NotedRun::EpochOver,
            (Noted::Known(call), Some(key)) => NotedRun::Known(KnownKey::of(&call, key)),
            (Noted::Known(_), None) => NotedRun::Known(KnownKey::OtherCall),
        })
    }

    /// Forgets a run that was noted and then refused.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn forget_detached(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> Result<(), DatabaseError> {
        self.store.forget_run(tenant, run).await
    }

    /// A run that was noted and has no record.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn find_detached(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
    ) -> Result<Option<UnrecordedRun>, DatabaseError> {
        let Some(note) = self.store.find_note(tenant, kind, run).await? else { return Ok(None) };
        Ok(Some(match ServerId::parse(&note.server).filter(|_| note.is_held) {
            Some(server) => UnrecordedRun::Held { server, record: note.record },
            None => UnrecordedRun::Over(note.record),
        }))
    }

    /// The number of a tenant's runs that are noted, by whichever server.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn count_noted(&self, tenant: &TenantId) -> Result<u64, DatabaseError> {
        self.store.count_notes(tenant).await
    }

    /// Writes the records of those runs of a tenant that this server has noted, that do not go on, and
    /// that have none, because the records of their ends were lost. From then on they are removed like
    /// all others. Returns their number.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub(in crate::records) async fn end_lost(
        &self,
        tenant: &TenantId,
        holder: &RunHolder,
        goes_on: &(dyn Fn(&RunId) -> bool + Send + Sync),
    ) -> Result<u64, DatabaseError> {
        let mut count = 0_u64;
        for text in self.store.notes_of(tenant, holder, MOST_NOTED).await? {
            let Ok(run) = RunId::parse(&text) else { continue };
            if goes_on(&run) {
                continue;
            }
            // A record that was written meanwhile has removed the note.
            let Some(note) = self.store.find_note(tenant, None, &run).await? else { continue };
            let note = stored(tenant, text, note);
            let ended = self.end_noted(vec![note], NotesOf::Present, Some(LOST_END)).await?;
            count = count.saturating_add(ended);
        }
        Ok(count)
    }

    /// Writes the records of all runs that were noted for an epoch that is over, and have none. Returns
    /// their number.
    ///
    /// # Errors
    ///
    /// The database failed.
    pub async fn end_interrupted(&self) -> Result<u64, DatabaseError> {
        let mut count = 0_u64;
        loop {
            let found = self.store.abandoned_notes(AT_ONCE).await?;
            if found.is_empty() {
                return Ok(count);
            }
            let ended = self.end_noted(found, NotesOf::Abandoned, None).await?;
            count = count.saturating_add(ended);
        }
    }

    /// Ends a run whose note says that it is over, so that no other end of it is written, and returns its record.
    pub(in crate::records) async fn settle(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        run: &RunId,
        of: NotesOf,
    ) -> Result<Option<String>, DatabaseError> {
        if let Some(note) = self.store.find_note(tenant, kind, run).await? {
            let reason = (of == NotesOf::Present).then_some(LOST_END);
            let note = stored(tenant, run.to_string(), note);
            self.end_noted(vec![note], of, reason).await?;
        }
        self.store.find(tenant, kind, run).await
    }

    /// Writes the records of runs as they were noted, with this reason if one is given, and removes
    /// the notes. Returns the number of records.
    async fn end_noted(
        &self,
        found: Vec<StoredNote>,
        of: NotesOf,
        reason: Option<&str>,
    ) -> Result<u64, DatabaseError> {
        let read = |note: &StoredNote| {
            let mut record = serde_json::from_str::<RunRecord>(&note.record).ok()?;
            if let (Some(error), Some(reason)) = (&mut record.error, reason) {
                reason.clone_into(&mut error.message);
            }
            Row::of(&record, None, None).ok()
        };
        // What cannot be read, which only a damaged database has, is not looked at again.
        let ends: Vec<(StoredNote, Option<Row>)> = found
            .into_iter()
            .map(|note| {
                let row = read(&note);
                (note, row)
            })
            .collect();
        let now = u64::try_from(Clock::System.now().as_millis()).unwrap_or(u64::MAX);
        self.store.end_notes(&ends, of, now).await
    }
}

fn stored(tenant: &TenantId, run_id: String, note: FoundNote) -> StoredNote {
    let FoundNote { record, server, epoch, .. } = note;
    StoredNote { tenant: tenant.to_string(), run_id, record, server, epoch }
}
