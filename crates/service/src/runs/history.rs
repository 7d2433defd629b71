//! Reads the records of a tenant, for callers with the right to see them.

use std::sync::OnceLock;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::runs::active::{ActiveRunView, ActiveRuns, RunStep};
use crate::runs::choice::{RunListOrder, visible_kind, whose_runs};
use crate::runs::waits::WaitPermit;
use wardian_formats::job::outcome::LogChunk;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::audit::AuditLog;
use wardian_stores::records::{
    Recorder, RunElsewhere, RunKind, RunOutcomeKind, RunSummary, ServerRecords, StoredLog,
    with_result,
};
use wardian_vocabulary::ids::RunId;
use wardian_vocabulary::quotas::FairShare;
use wardian_vocabulary::units::ByteCount;

/// Maximum number of runs of one page of the list.
pub(super) const MAX_PAGE: u64 = 1_000;

/// Memory for one run of a page: its members, a title of 800 bytes among them, and their JSON.
pub(super) const LISTED: u64 = 4 << 10;

/// Memory for a record: each of its lists and texts is bounded, and so is their sum.
const RECORD: ByteCount = ByteCount::kibibytes(512);

/// Copies of a result while it is answered: as it was read, and in the record.
const COPIES: u64 = 2;

/// Maximum number of bytes of the content of a run, as JSON: its code and its arguments, of which a
/// byte takes up to six with its escapes, and the rest.
const MAX_CONTENT: u64 = 13 << 20;

/// The time in which the record of a run that is over is usually written.
pub(super) const WRITTEN_WITHIN: Duration = Duration::from_secs(3);

/// How often a call that waits for the end of a run looks at it again.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// Maximum number of calls that read the database at one time; further ones wait. One of its
/// connections stays free for the writer.
const READERS: usize = 3;

/// Where a server records what happens. The runs of commands leave nothing.
#[derive(Debug)]
pub struct Journal {
    /// Takes the records of runs.
    pub recorder: Option<Recorder>,
    /// Holds those that were written, and the runs in the background of this server.
    pub table: Option<ServerRecords>,
    /// Takes events.
    pub audit: AuditLog,
    /// Lets requests wait for the end of runs: each holds its connection meanwhile.
    pub waits: FairShare,
}

/// The records of runs.
#[derive(Debug)]
pub struct RunHistory {
    journal: OnceLock<Journal>,
    readers: Semaphore,
    /// Lets calls note runs one after the other: the database has one writer at a time, and those
    /// that wait within it do so badly.
    notes: Semaphore,
    active: ActiveRuns,
}

/// A run that was found.
#[derive(Debug)]
pub enum FoundRun {
    /// It is in progress.
    Active(ActiveRunView),
    /// It is over: its record as JSON, with the result if it ran in the background.
    Ended(String),
}

/// The member of a record that tells the end of its run.
#[derive(Deserialize)]
pub(super) struct OutcomeOfRecord {
    pub(super) outcome: String,
}

/// The member of a record that tells whether its run was reproducible.
#[derive(Deserialize)]
struct ReproducibleOfRecord {
    reproducible: Option<IgnoredAny>,
}

/// Why the document of a reproducible run may not be kept.
const NOT_KEPT: &str = "its outcome may not repeat, it used secrets or blobs of a tenant with \
    keys, its code or arguments exceed 256 KiB, or it is too old";

/// A page of the list of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunList {
    /// The runs, newest first.
    pub runs: Vec<RunSummary>,
    /// The cursor of the next page, if there may be one.
    pub next_cursor: Option<String>,
}

/// The log of a run.
#[derive(Debug, Default, Serialize)]
pub struct RunLogText {
    /// Its pieces, in order.
    pieces: Vec<LogChunk>,
}

impl RunLogText {
    /// The texts of its pieces, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().map(|piece| piece.text.as_str())
    }
}

impl Default for RunHistory {
    fn default() -> Self {
        let readers = Semaphore::new(READERS);
        let (notes, active) = (Semaphore::new(1), ActiveRuns::default());
        Self { journal: OnceLock::new(), readers, notes, active }
    }
}

impl RunHistory {
    /// Lets runs be recorded from now on. Only the first call has an effect.
    pub fn open(&self, journal: Journal) {
        drop(self.journal.set(journal));
    }

    /// Takes the records of runs, if this server keeps them.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.journal.get()?.recorder.as_ref()
    }

    /// Takes events, if this server has an audit log.
    pub fn audit(&self) -> Option<&AuditLog> {
        self.journal.get().map(|journal| &journal.audit).filter(|audit| audit.is_on())
    }

    /// Records that could not be written, and logs.
    pub fn lost(&self) -> (u64, u64) {
        self.recorder().map_or((0, 0), |recorder| {
            let counts = recorder.counts();
            (counts.lost, counts.lost_logs)
        })
    }

    /// Waits for the turn to note a run.
    pub(crate) async fn turn_to_note(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.notes.acquire().await.ok()
    }

    /// Waits for the turn to read the database.
    pub(crate) async fn turn_to_read(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.readers.acquire().await.ok()
    }

    /// The runs that are not over.
    #[must_use]
    pub const fn active(&self) -> &ActiveRuns {
        &self.active
    }

    pub(crate) fn table(&self) -> Result<&ServerRecords, ServiceError> {
        let table = self.journal.get().and_then(|journal| journal.table.as_ref());
        table.ok_or(ServiceError::NoRecords)
    }

    /// Lists runs of the caller's tenant, newest first.
    ///
    /// A cursor holds the id of the last run that was read, so it survives all changes. A page with
    /// a filter may have fewer runs than asked for, although more follow.
    ///
    /// # Errors
    ///
    /// A parameter is wrong, the caller may make no runs, or the database failed.
    pub async fn list(
        &self,
        caller: &Caller,
        order: RunListOrder<'_>,
    ) -> Result<RunList, ServiceError> {
        let (whose, kind) = whose_runs(caller, order.tenant)?;
        let cursor = order.cursor.map(|letters| RunId::parse(&format!("run_{letters}")));
        let cursor = cursor.transpose().map_err(|_invalid| {
            ParamsError::wrong("cursor", "the `next_cursor` of an earlier answer", "something else")
        })?;
        if order.limit == 0 {
            return Err(ParamsError::wrong("limit", "at least 1", "0").into());
        }
        let filter = order.filter(kind)?;
        let limit = order.limit.min(MAX_PAGE);
        caller.memory.reserve(ByteCount::bytes(LISTED.saturating_mul(limit)))?;
        let table = self.table()?;
        let _turn = self.turn_to_read().await;
        let page = table.list_of(&whose, &filter, cursor.as_ref(), limit).await?;
        let next_cursor = page.next.map(|id| id.as_str().trim_start_matches("run_").to_owned());
        Ok(RunList { runs: page.runs, next_cursor })
    }

    /// Finds a run of the caller's tenant. Waits for the end of a run in progress, for as long as
    /// `patience`; not at all if as many requests of the tenant wait as may.
    ///
    /// # Errors
    ///
    /// The caller has no such run, its record is not written yet, or the database failed.
    pub async fn find(
        &self,
        caller: &Caller,
        id: &str,
        patience: Duration,
    ) -> Result<FoundRun, ServiceError> {
        let kind = visible_kind(caller)?;
        let run = parsed(id)?;
        // A request that waits holds no memory for the answer yet.
        if let Some(view) = self.wait_for_record(caller, kind, &run, patience).await? {
            return Ok(FoundRun::Active(view));
        }
        caller.memory.reserve(RECORD)?;
        let table = self.table()?;
        let _turn = self.turn_to_read().await;
        let record = match table.find(&caller.tenant, kind, &run).await? {
            Some(record) => record,
            None => match table.find_elsewhere(&caller.tenant, kind, &run).await? {
                // Its end could not be written.
                Some(RunElsewhere::Over(record)) => record,
                // It was noted at this moment.
                Some(RunElsewhere::GoesOn(_) | RunElsewhere::Waiting(_)) => {
                    return Err(ServiceError::RecordNotWritten);
                }
                // It may have ended between both looks.
                None => {
                    let ended = table.find(&caller.tenant, kind, &run).await?;
                    ended.ok_or_else(|| no_such_run(id))?
                }
            },
        };
        let result = self.kept_result(caller, &run).await?;
        Ok(FoundRun::Ended(with_result(&record, result.as_deref())))
    }

    /// What a run of the caller's tenant was given and what it left, as JSON.
    ///
    /// # Errors
    ///
    /// The caller has no such run, it is in progress, this is not kept, or the database failed.
    pub async fn content(&self, caller: &Caller, id: &str) -> Result<String, ServiceError> {
        let kind = visible_kind(caller)?;
        let run = parsed(id)?;
        if self.wait_for_record(caller, kind, &run, Duration::ZERO).await?.is_some() {
            return Err(ServiceError::RecordNotWritten);
        }
        let table = self.table()?;
        let _turn = self.turn_to_read().await;
        let found = table.find_log(&caller.tenant, kind, &run).await?;
        let size = found.ok_or_else(|| no_such_run(id))?.size.unwrap_or(0);
        caller.memory.reserve(ByteCount::bytes(size.min(MAX_CONTENT).saturating_mul(COPIES)))?;
        let content = table.read_content(&caller.tenant, &run).await?;
        content.ok_or_else(|| ServiceError::ContentNotKept {
            reason: match self.recorder().is_some_and(|recorder| recorder.config().keeps_programs) {
                true => "it is of an earlier version, its log was too old, or memory was short",
                false => "this server keeps no programs: `records.programs`",
            },
        })
    }

    /// The document of a reproducible run of the caller's tenant, in canonical form.
    ///
    /// # Errors
    ///
    /// The caller has no such run, the run has no document, or the database failed.
    pub async fn document(&self, caller: &Caller, id: &str) -> Result<String, ServiceError> {
        let kind = visible_kind(caller)?;
        let run = parsed(id)?;
        if self.wait_for_record(caller, kind, &run, Duration::ZERO).await?.is_some() {
            return Err(ServiceError::RecordNotWritten);
        }
        let table = self.table()?;
        let _turn = self.turn_to_read().await;
        caller.memory.reserve(RECORD)?;
        let record = table.find(&caller.tenant, kind, &run).await?;
        let record = record.ok_or_else(|| no_such_run(id))?;
        let size = table.find_log(&caller.tenant, kind, &run).await?.and_then(|log| log.size);
        caller.memory.reserve(ByteCount::bytes(size.unwrap_or(0).saturating_mul(COPIES)))?;
        if let Some(text) = table.read_document(&caller.tenant, &run).await? {
            return Ok(text);
        }
        let read = serde_json::from_str::<ReproducibleOfRecord>(&record);
        let is_reproducible = read.map_err(ServiceError::Unserialisable)?.reproducible.is_some();
        let keeps = self.recorder().is_some_and(|recorder| recorder.config().keeps_documents);
        Err(ServiceError::NoDocument {
            reason: match (is_reproducible, keeps) {
                (false, _) => "it was not reproducible",
                (true, false) => {
                    "this server keeps neither code nor arguments of runs: `records.documents`"
                }
                (true, true) => NOT_KEPT,
            },
        })
    }

    /// The result of a run in the background, as its call would have returned it; `None` if the server
    /// ended before the run did. Waits for the end of the run.
    ///
    /// # Errors
    ///
    /// The result is not kept, or the database failed.
    pub(crate) async fn result_after_end(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<Option<Box<RawValue>>, ServiceError> {
        if self.wait_for_record(caller, None, run, Duration::ZERO).await?.is_some() {
            let permit = WaitPermit::take(self.journal.get().map(|one| &one.waits), &caller.tenant);
            let _permit = permit.ok_or(ServiceError::TooManyWaits)?;
            while self.wait_for_end(caller, None, run, LOOK_AGAIN).await?.is_some() {}
        }
        let _turn = self.turn_to_read().await;
        if let Some(result) = self.kept_result(caller, run).await? {
            return RawValue::from_string(result).map(Some).map_err(ServiceError::Unserialisable);
        }
        caller.memory.reserve(RECORD)?;
        let record = self.table()?.find(&caller.tenant, None, run).await?;
        let not_kept = || ServiceError::ResultNotKept { run: run.clone() };
        let record = record.ok_or_else(not_kept)?;
        let read = serde_json::from_str::<OutcomeOfRecord>(&record);
        let outcome = read.map_err(ServiceError::Unserialisable)?.outcome;
        match RunOutcomeKind::of_name(&outcome) {
            Some(RunOutcomeKind::Interrupted) => Ok(None),
            // Nothing was executed, and the name is free again.
            Some(RunOutcomeKind::Refused) => Err(ServiceError::FirstCallRefused),
            _ => Err(not_kept()),
        }
    }

    async fn kept_result(
        &self,
        caller: &Caller,
        run: &RunId,
    ) -> Result<Option<String>, ServiceError> {
        let table = self.table()?;
        let Some(size) = table.find_result(&caller.tenant, run).await? else { return Ok(None) };
        caller.memory.reserve(ByteCount::bytes(size.saturating_mul(COPIES)))?;
        Ok(table.read_result(&caller.tenant, run).await?)
    }

    /// As [`Self::wait_for_end`], without patience for a tenant of which as many requests wait as
    /// may: it learns how far the run is.
    async fn wait_for_record(
        &self,
        caller: &Caller,
        kind: Option<RunKind>,
        run: &RunId,
        patience: Duration,
    ) -> Result<Option<ActiveRunView>, ServiceError> {
        let permit = WaitPermit::take(self.journal.get().map(|one| &one.waits), &caller.tenant);
        let patience = if permit.is_some() { patience } else { Duration::ZERO };
        self.wait_for_end(caller, kind, run, patience).await
    }

    /// Waits until a run is over and its record is written. Returns the run if it is still in
    /// progress after `patience`.
    async fn wait_for_end(
        &self,
        caller: &Caller,
        kind: Option<RunKind>,
        run: &RunId,
        patience: Duration,
    ) -> Result<Option<ActiveRunView>, ServiceError> {
        let asked = Instant::now();
        let left = || patience.saturating_sub(asked.elapsed());
        loop {
            if let Some(view) = self.wait_here(caller, kind, run, left()).await? {
                return Ok(Some(view));
            }
            // It may have been given back, or never have been here.
            if let Some(view) = self.wait_elsewhere(&caller.tenant, kind, run, left()).await? {
                return Ok(Some(view));
            }
            if self.active.find(&caller.tenant, kind, run).is_none() {
                return Ok(None);
            }
        }
    }

    /// Waits until this server does not have the run any more. Returns the run if it is still in progress after
    /// `patience`.
    async fn wait_here(
        &self,
        caller: &Caller,
        kind: Option<RunKind>,
        run: &RunId,
        patience: Duration,
    ) -> Result<Option<ActiveRunView>, ServiceError> {
        let find = || self.active.find(&caller.tenant, kind, run);
        let Some(mut steps) = find().map(|found| found.steps()) else { return Ok(None) };
        // The channel is closed when the record is written.
        let ended = steps.wait_for(|step| *step == RunStep::Ended);
        if timeout(patience, ended).await.is_err()
            && let Some(found) = find()
        {
            return Ok(Some(found.view()));
        }
        let written = steps.wait_for(|_| false);
        match timeout(WRITTEN_WITHIN, written).await {
            Ok(_closed) => Ok(None),
            Err(_elapsed) => Err(ServiceError::RecordNotWritten),
        }
    }

    /// The log of a run of the caller's tenant.
    ///
    /// # Errors
    ///
    /// The caller has no such run, it is in progress, its log is not kept, or the database failed.
    pub async fn log(&self, caller: &Caller, id: &str) -> Result<RunLogText, ServiceError> {
        let kind = visible_kind(caller)?;
        let run = parsed(id)?;
        if self.wait_for_record(caller, kind, &run, Duration::ZERO).await?.is_some() {
            return Err(ServiceError::RecordNotWritten);
        }
        let table = self.table()?;
        let _turn = self.turn_to_read().await;
        let found = table.find_log(&caller.tenant, kind, &run).await?;
        let StoredLog { bytes, size } = found.ok_or_else(|| no_such_run(id))?;
        let Some(size) = size else {
            return if bytes == 0 {
                Ok(RunLogText::default())
            } else {
                Err(ServiceError::LogNotKept)
            };
        };
        // As JSON, in pieces, and as the answer. Parsed pieces take little more than their JSON.
        caller.memory.reserve(ByteCount::bytes(size.saturating_mul(4)))?;
        let json = table.read_log(&caller.tenant, &run).await?.ok_or(ServiceError::LogNotKept)?;
        let parse = move || serde_json::from_str(&json);
        let pieces = caller.memory.on_thread(parse).await.map_err(ServiceError::Interrupted)?;
        Ok(RunLogText { pieces: pieces.map_err(ServiceError::Unserialisable)? })
    }
}

pub(super) fn parsed(id: &str) -> Result<RunId, ServiceError> {
    RunId::parse(id).map_err(|_malformed| no_such_run(id))
}

fn no_such_run(id: &str) -> ServiceError {
    ServiceError::NoSuchRun { id: id.to_owned() }
}
