//! The runs of callers that are not over: how far each is, and the way to stop it.
//!
//! INVARIANT(detached-runs-are-bounded): the runs in the background of one tenant are at most as many
//! as its limit says, and hold at most [`HELD`] of programs and arguments and [`BLOBS`] blobs. Those
//! of all tenants hold at most [`ALL_BLOBS`] blobs, so other runs find open files.
//!
//! Every run of a call is here from the time when it has an id until its record is written. So a run
//! that is asked for is found here, or in the records, and never in between.

use std::collections::{BTreeMap, HashMap};
use std::future;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::error::ServiceError;
use wardian_dispatch::RunStage;
use wardian_formats::job::outcome::ProgressReport;
use wardian_formats::protocol::methods::execution::RunProgress;
use wardian_stores::records::RunKind;
use wardian_vocabulary::budget::{BudgetExhausted, OPEN_BLOBS, WaitingMemory};
use wardian_vocabulary::ids::{RunId, SkillName, SkillVersion, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The most memory that the programs and arguments of one tenant's runs in the background take.
/// Nobody waits for such a run, so nothing else bounds how long it holds its memory.
pub(crate) const HELD: ByteCount = ByteCount::mebibytes(16);

/// Maximum number of blobs that one tenant's runs in the background read together. They are open
/// until the runs end.
pub(crate) const BLOBS: usize = 512;

/// Maximum number of blobs that all runs in the background read together: a quarter of those that
/// may be open.
pub(crate) const ALL_BLOBS: usize = OPEN_BLOBS / 4;

/// A few blobs, for which there is room when runs with many have taken all of theirs.
const FEW_BLOBS: usize = 8;

/// The runs that are not over.
#[derive(Debug, Default)]
pub struct ActiveRuns(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    runs: Mutex<BTreeMap<RunId, Arc<ActiveRun>>>,
    detached: Mutex<Detached>,
    /// The number of runs in the background.
    count: watch::Sender<usize>,
    /// True once the server stops them.
    is_interrupting: AtomicBool,
}

/// The runs in the background.
#[derive(Debug, Default)]
struct Detached {
    tenants: HashMap<TenantId, Held>,
    /// Blobs of all of them.
    blobs: usize,
    /// True once the server admits no more of them.
    is_closing: bool,
}

/// The runs in the background of one tenant.
#[derive(Debug, Default)]
struct Held {
    runs: usize,
    content: DetachedContent,
    memory: Arc<WaitingMemory>,
}

/// What runs in the background hold from their call to their end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DetachedContent {
    /// The bytes of programs and arguments.
    pub bytes: u64,
    /// The blobs that they read.
    pub blobs: usize,
}

/// A run that is not over.
#[derive(Debug)]
pub struct ActiveRun {
    pub id: RunId,
    pub tenant: TenantId,
    pub kind: RunKind,
    pub skill: Option<(SkillName, SkillVersion)>,
    /// The title that its caller gave it, or a line of its code.
    pub title: Option<String>,
    pub(crate) is_detached: bool,
    step: watch::Sender<RunStep>,
    stop: watch::Sender<Option<StopReason>>,
    reached: Mutex<Reached>,
    progress: Mutex<Option<ProgressReport>>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunStep {
    /// Its skills, secrets and blobs are looked up.
    Preparing,
    /// It waits for a worker.
    Queued,
    /// It has a worker.
    Running,
    /// It is over. Its record may still have to be written.
    Ended,
}

/// How far a run has come at most. A worker that breaks gives it back to the queue, so its step may be
/// an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reached {
    /// It was never admitted.
    Preparation,
    /// It was given a place in the queue.
    Queue,
    /// It was given a worker.
    Worker,
}

/// The reason why a run is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A caller has cancelled it.
    Cancelled,
    /// The server stops.
    Interrupted,
}

/// A run that is not over, as callers see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActiveRunView {
    /// Id of the run.
    pub run_id: RunId,
    /// How far it is.
    pub status: RunProgress,
    /// The title that its caller gave it, or a line of its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The method that was called.
    pub kind: RunKind,
    /// The skill that is executed.
    pub skill: Option<SkillName>,
    /// Its version.
    pub version: Option<SkillVersion>,
    /// True if it runs in the background.
    pub detached: bool,
    /// When it was asked for, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// The last report of the program itself.
    pub progress: Option<ProgressReport>,
}

/// A run that lasts as long as this value lives.
#[derive(Debug)]
pub struct RunInProgress(Arc<ActiveRun>);

/// The place of a run among those that are found. Dropping it gives the place up.
#[derive(Debug)]
pub struct ActivePlace {
    shared: Arc<Shared>,
    id: RunId,
}

/// The right to one more run in the background, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct DetachedSeat {
    shared: Arc<Shared>,
    tenant: TenantId,
    content: DetachedContent,
    memory: Arc<WaitingMemory>,
}

impl ActiveRuns {
    /// Enters a run, which lasts until the first value is dropped and is found until the second is.
    pub fn enter(&self, run: ActiveRun) -> (RunInProgress, ActivePlace) {
        let (id, run) = (run.id.clone(), Arc::new(run));
        self.0.runs.lock().insert(id.clone(), Arc::clone(&run));
        // Looked at once the run is found: a stop at this moment sees the run, or is seen here.
        if run.is_detached && self.0.is_interrupting.load(Ordering::Acquire) {
            run.stop(StopReason::Interrupted);
        }
        (RunInProgress(run), ActivePlace { shared: Arc::clone(&self.0), id })
    }

    /// Finds a run of a tenant, of this kind if one is given.
    pub fn find(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        id: &RunId,
    ) -> Option<Arc<ActiveRun>> {
        let run = self.0.runs.lock().get(id).cloned()?;
        run.is_seen_by(tenant, kind).then_some(run)
    }

    /// The newest runs in progress of a tenant, of this kind if one is given.
    pub fn list(
        &self,
        tenant: &TenantId,
        kind: Option<RunKind>,
        most: usize,
    ) -> Vec<ActiveRunView> {
        let runs = self.0.runs.lock();
        let seen = runs.values().rev().filter(|run| run.is_seen_by(tenant, kind) && !run.is_over());
        seen.take(most).map(|run| run.view()).collect()
    }

    /// Takes a seat for a run in the background of a tenant, which may have `most`.
    ///
    /// # Errors
    ///
    /// The tenant has as many as it may have, or they hold too much; those of all tenants read too
    /// many blobs; or the server stops.
    pub(crate) fn take_seat(
        &self,
        tenant: &TenantId,
        most: usize,
        content: DetachedContent,
    ) -> Result<DetachedSeat, ServiceError> {
        let mut detached = self.0.detached.lock();
        if detached.is_closing {
            return Err(ServiceError::Stopping);
        }
        let (runs, held) = match detached.tenants.get(tenant) {
            Some(held) => (held.runs, held.content),
            None => Default::default(),
        };
        let held = held.with(content);
        if runs >= most || held.bytes > HELD.as_u64() || held.blobs > BLOBS {
            return Err(ServiceError::TooManyDetached { most });
        }
        let blobs = detached.blobs.saturating_add(content.blobs);
        // The last quarter is for runs with few.
        let most_blobs = if content.blobs > FEW_BLOBS { ALL_BLOBS / 4 * 3 } else { ALL_BLOBS };
        if content.blobs > 0 && blobs > most_blobs {
            return Err(BudgetExhausted.into());
        }
        detached.blobs = blobs;
        let entry = detached.tenants.entry(tenant.clone()).or_default();
        entry.runs = runs.saturating_add(1);
        entry.content = held;
        let memory = Arc::clone(&entry.memory);
        // Counted before the lock is free: whoever closes sees the run.
        self.0.count.send_modify(|count| *count = count.saturating_add(1));
        drop(detached);
        Ok(DetachedSeat { shared: Arc::clone(&self.0), tenant: tenant.clone(), content, memory })
    }

    /// The number of runs in the background of one tenant, that which is about to be noted included.
    pub(crate) fn detached_of(&self, tenant: &TenantId) -> u64 {
        let runs = self.0.detached.lock().tenants.get(tenant).map_or(0, |held| held.runs);
        u64::try_from(runs).unwrap_or(u64::MAX)
    }

    /// The number of runs in the background.
    #[must_use]
    pub fn detached(&self) -> usize {
        *self.0.count.borrow()
    }

    /// Resolves when no background run is in progress.
    pub async fn detached_ended(&self) {
        // The sender lives as long as `self`, so an error cannot happen here.
        self.0.count.subscribe().wait_for(|count| *count == 0).await.ok();
    }

    /// Admits no more runs in the background: the server is about to stop.
    pub fn close_to_detached(&self) {
        self.0.detached.lock().is_closing = true;
    }

    /// True once no more runs in the background are admitted.
    pub(crate) fn is_closed_to_detached(&self) -> bool {
        self.0.detached.lock().is_closing
    }

    /// Stops all runs in the background, and admits no more. They end as `interrupted`.
    pub fn interrupt_detached(&self) {
        self.close_to_detached();
        self.0.is_interrupting.store(true, Ordering::Release);
        let runs: Vec<_> = self.0.runs.lock().values().cloned().collect();
        runs.iter().filter(|run| run.is_detached).for_each(|run| run.stop(StopReason::Interrupted));
    }
}

impl DetachedContent {
    /// Both together.
    const fn with(self, more: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(more.bytes),
            blobs: self.blobs.saturating_add(more.blobs),
        }
    }

    /// What is left without `less`.
    const fn without(self, less: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(less.bytes),
            blobs: self.blobs.saturating_sub(less.blobs),
        }
    }
}

impl DetachedSeat {
    /// The memory that the runs of its tenant hold while they wait.
    pub(crate) fn memory(&self) -> Arc<WaitingMemory> {
        Arc::clone(&self.memory)
    }
}

impl ActiveRun {
    /// A run that begins to be prepared.
    pub fn new(id: RunId, tenant: TenantId, kind: RunKind) -> Self {
        Self {
            id,
            tenant,
            kind,
            skill: None,
            title: None,
            is_detached: false,
            step: watch::Sender::new(RunStep::Preparing),
            stop: watch::Sender::new(None),
            reached: Mutex::new(Reached::Preparation),
            progress: Mutex::new(None),
        }
    }

    fn is_seen_by(&self, tenant: &TenantId, kind: Option<RunKind>) -> bool {
        self.tenant == *tenant && kind.is_none_or(|kind| kind == self.kind)
    }

    fn is_over(&self) -> bool {
        *self.step.borrow() == RunStep::Ended
    }

    /// The steps of the run. The channel is closed when the run is found no more.
    pub(crate) fn steps(&self) -> watch::Receiver<RunStep> {
        self.step.subscribe()
    }

    /// How far the run has come at most.
    pub(crate) fn reached(&self) -> Reached {
        *self.reached.lock()
    }

    /// Resolves when the run was given a worker or a place in the queue, with how far it is by then;
    /// or when it was refused, with `None`.
    pub(crate) async fn admission(&self) -> Option<RunProgress> {
        let mut steps = self.steps();
        // The sender lives as long as `self`, so an error cannot happen here.
        let step = steps.wait_for(|step| *step != RunStep::Preparing).await.map(|step| *step);
        match step.unwrap_or(RunStep::Ended) {
            RunStep::Ended => (self.reached() >= Reached::Queue).then_some(RunProgress::Ended),
            RunStep::Running => Some(RunProgress::Running),
            RunStep::Preparing | RunStep::Queued => Some(RunProgress::Queued),
        }
    }

    /// Resolves when the run is found no more: its record is written, or its key is forgotten.
    pub(crate) async fn left(run: Arc<Self>) {
        let mut steps = run.steps();
        // While this value has the run, the channel stays open.
        drop(run);
        // No step ends the wait; the end of the channel is an error to it.
        steps.wait_for(|_| false).await.ok();
    }

    pub(crate) fn note_stage(&self, stage: RunStage) {
        let (step, reached) = match stage {
            RunStage::Queued => (RunStep::Queued, Reached::Queue),
            RunStage::Running => (RunStep::Running, Reached::Worker),
        };
        {
            let mut furthest = self.reached.lock();
            *furthest = reached.max(*furthest);
        }
        // Whoever sees the step sees at least this, too.
        self.step.send_replace(step);
    }

    pub(crate) fn note_progress(&self, report: ProgressReport) {
        *self.progress.lock() = Some(report);
    }

    /// Stops the run. Only the first reason counts.
    pub fn stop(&self, reason: StopReason) {
        self.stop.send_if_modified(|stop| {
            let is_first = stop.is_none();
            stop.get_or_insert(reason);
            is_first
        });
    }

    /// Resolves when the run is to be stopped.
    pub async fn stopped(&self) -> StopReason {
        let mut stop = self.stop.subscribe();
        let reason = stop.wait_for(Option::is_some).await.ok().and_then(|reason| *reason);
        match reason {
            Some(reason) => reason,
            // The sender lives as long as `self`, so this is never reached.
            None => future::pending().await,
        }
    }

    /// The run as callers see it.
    pub fn view(&self) -> ActiveRunView {
        let status = match *self.step.borrow() {
            RunStep::Preparing | RunStep::Queued => RunProgress::Queued,
            RunStep::Running | RunStep::Ended => RunProgress::Running,
        };
        let (skill, version) = self.skill.clone().unzip();
        ActiveRunView {
            run_id: self.id.clone(),
            status,
            title: self.title.clone(),
            kind: self.kind,
            skill,
            version,
            detached: self.is_detached,
            started_ms: self.id.began_ms(),
            progress: self.progress.lock().clone(),
        }
    }
}

impl RunInProgress {
    /// A run that no caller asked for, and that none finds.
    pub(crate) fn of_server(run: ActiveRun) -> Self {
        Self(Arc::new(run))
    }

    /// The run, also beyond its end.
    pub fn shared(&self) -> Arc<ActiveRun> {
        Arc::clone(&self.0)
    }
}

impl Deref for RunInProgress {
    type Target = ActiveRun;

    fn deref(&self) -> &ActiveRun {
        &self.0
    }
}

impl Drop for RunInProgress {
    fn drop(&mut self) {
        self.0.step.send_replace(RunStep::Ended);
    }
}

impl Drop for ActivePlace {
    fn drop(&mut self) {
        let removed = self.shared.runs.lock().remove(&self.id);
        // The last reference may be dropped here, outside of the lock.
        drop(removed);
    }
}

impl Drop for DetachedSeat {
    fn drop(&mut self) {
        let mut detached = self.shared.detached.lock();
        detached.blobs = detached.blobs.saturating_sub(self.content.blobs);
        if let Some(held) = detached.tenants.get_mut(&self.tenant) {
            held.runs = held.runs.saturating_sub(1);
            held.content = held.content.without(self.content);
            if held.runs == 0 {
                detached.tenants.remove(&self.tenant);
            }
        }
        drop(detached);
        self.shared.count.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(tenant: &str, kind: RunKind) -> ActiveRun {
        ActiveRun::new(RunId::generate(), TenantId::parse(tenant).unwrap(), kind)
    }

    fn acme() -> TenantId {
        TenantId::parse("acme").unwrap()
    }

    fn content(bytes: u64, blobs: usize) -> DetachedContent {
        DetachedContent { bytes, blobs }
    }

    #[test]
    fn detached_runs_are_bounded_by_number_and_by_size() {
        let active = ActiveRuns::default();
        let seat = |bytes| active.take_seat(&acme(), 2, content(bytes, 0));
        let first = seat(1).unwrap();
        let second = seat(HELD.as_u64() - 1).unwrap();
        assert!(matches!(seat(0), Err(ServiceError::TooManyDetached { .. })));
        drop(first);
        assert!(seat(2).is_err(), "all together hold more than they may");
        let third = seat(1).unwrap();
        let beta = TenantId::parse("beta").unwrap();
        let other = active.take_seat(&beta, 1, content(HELD.as_u64(), 0)).unwrap();
        assert_eq!(active.detached(), 3);
        assert!(active.take_seat(&beta, 0, content(0, 0)).is_err());
        drop((second, third, other));
        assert_eq!(active.detached(), 0);
        let is_empty = active.0.detached.lock().tenants.is_empty();
        assert!(is_empty, "nothing is kept of tenants without runs");
        active.close_to_detached();
        assert!(matches!(seat(0), Err(ServiceError::Stopping)));
    }

    #[test]
    fn detached_runs_leave_open_files_to_others() {
        let active = ActiveRuns::default();
        let tenant = |name: usize| TenantId::parse(&format!("tenant-{name}")).unwrap();
        let seat = |name, blobs| active.take_seat(&tenant(name), 99, content(1, blobs));
        assert!(matches!(seat(0, BLOBS + 1), Err(ServiceError::TooManyDetached { .. })));
        let mut seats: Vec<_> = (0..3).map(|name| seat(name, BLOBS).unwrap()).collect();
        assert!(matches!(seat(9, BLOBS), Err(ServiceError::Memory(_))));
        seats.extend((3..67).map(|name| seat(name, FEW_BLOBS).unwrap()));
        assert!(matches!(seat(0, 1), Err(ServiceError::TooManyDetached { .. })));
        assert!(matches!(seat(99, 1), Err(ServiceError::Memory(_))));
        let without = seat(99, 0).unwrap();
        drop(seats);
        drop(seat(99, BLOBS).unwrap());
        drop(without);
        assert_eq!(active.0.detached.lock().blobs, 0);
    }

    #[tokio::test]
    async fn a_detached_run_that_begins_at_the_stop_is_interrupted() {
        let active = ActiveRuns::default();
        let seat = active.take_seat(&acme(), 1, content(0, 0)).unwrap();
        active.interrupt_detached();
        let mut detached = run("acme", RunKind::RunCode);
        detached.is_detached = true;
        let (late, _place) = active.enter(detached);
        assert_eq!(late.stopped().await, StopReason::Interrupted);
        let (attended, _place) = active.enter(run("acme", RunKind::RunCode));
        let stopped = tokio::time::timeout(std::time::Duration::from_millis(5), attended.stopped());
        assert!(stopped.await.is_err(), "a run with a waiting client has its own end");
        drop(seat);
    }

    #[tokio::test]
    async fn a_run_is_found_until_its_place_is_given_up_and_stopped_once() {
        let active = ActiveRuns::default();
        let (code, place) = active.enter(run("acme", RunKind::RunCode));
        let (other, _place) = active.enter(run("beta", RunKind::RunCode));
        let id = code.id.clone();
        assert!(active.find(&acme(), None, &other.id).is_none());
        assert!(active.find(&acme(), Some(RunKind::ExecuteSkill), &id).is_none());
        assert_eq!(active.list(&acme(), None, 9).len(), 1);
        let mut steps = active.find(&acme(), Some(RunKind::RunCode), &id).unwrap().steps();
        code.note_stage(RunStage::Running);
        assert_eq!(active.list(&acme(), None, 9)[0].status, RunProgress::Running);
        code.stop(StopReason::Cancelled);
        code.stop(StopReason::Interrupted);
        assert_eq!(code.stopped().await, StopReason::Cancelled);
        drop(code);
        assert_eq!(*steps.wait_for(|step| *step == RunStep::Ended).await.unwrap(), RunStep::Ended);
        assert!(active.list(&acme(), None, 9).is_empty(), "what is over does not go on");
        assert!(active.find(&acme(), None, &id).is_some(), "its record is not written yet");
        drop(place);
        assert!(active.find(&acme(), None, &id).is_none());
        assert!(steps.changed().await.is_err());
    }
}
