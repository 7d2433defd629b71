//! A run, step by step, from its plan to its answer:
//!
//! ```text
//! Planned -> Admitted -> Prepared -> Granted -> Ended -> Answered
//! ```
//!
//! Each step takes the one before by value: no run is granted twice, and none is answered before its
//! end. A step that fails ends the run with an error, and a stop of the run drops the step that goes
//! on; either way [`Service::carry_out`] closes its [`RunLog`], once. What happened is told by
//! the step that was reached and never by a flag.

use std::ops::ControlFlow;
use std::sync::Arc;

use tracing::{Instrument as _, Span, debug};

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::run::access::network::NetworkGrant;
use crate::run::access::redaction::covered;
use crate::run::access::secrets::RunSecrets;
use crate::run::background::aftermath::StepsEnd;
use crate::run::background::detach_policy::DetachOrder;
use crate::run::execute::host::{HostParts, TenantHost};
use crate::run::execute::log_stream::LogListener;
use crate::run::execute::run_trace::RunTrace;
use crate::run::packages::locked::UsedLayer;
use crate::run::prepare::input_blobs::{HeldBlobs, InputBlobs, open_inputs};
use crate::run::prepare::mounted_skill::mounts_and_contents;
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::RunPurpose;
use crate::run::record::document::{DocumentOrder, DocumentedRun, inputs_of};
use crate::run::record::kept_content::title_of_program;
use crate::run::record::kept_document::{kept_document, with_document};
use crate::run::record::run_record::DraftRecord;
use crate::run::result::answered::Answered;
use crate::run::result::log_line::RunLog;
use crate::run::result::make_answer::ResultForm;
use crate::runs::active::{ActivePlace, ActiveRun, RunInProgress};
use crate::runs::noted::NotedHere;
use crate::service::Service;
use crate::sessions::asking::open_run::OpenRun;
use crate::sessions::cell::{EndedCell, PlannedCell};
use wardian_dispatch::{DispatchError, FinishedRun, GuestSpec, Job, Pool};
use wardian_formats::job::{Program, Setup, Turn};
use wardian_stores::records::{Recorder, RunKind};
use wardian_vocabulary::ids::{Digest, RunId};

/// A run that has its id, from its plan on. It goes on as long as `run` lives.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) run: RunInProgress,
    /// Its place among the runs that callers find: given up when its record is written. The server's
    /// own runs have none.
    place: Option<ActivePlace>,
}

/// A run for which the pool has room and whose record has begun. Nothing is looked up yet.
#[derive(Debug)]
struct Admitted {
    run: Arc<ActiveRun>,
    planned: Planned,
}

/// A run with everything that it needs: its order for a worker with the content of all attachments,
/// its secrets, and the form of its answer.
#[derive(Debug)]
struct Prepared {
    run: Arc<ActiveRun>,
    purpose: RunPurpose,
    job: Job,
    secrets: RunSecrets,
    network: NetworkGrant,
    listener: Option<LogListener>,
    /// Hears what the run asks of its caller, if that answers while its call goes on.
    open: Option<Arc<OpenRun>>,
    detach: Option<DetachOrder>,
    document: Option<DocumentOrder>,
    form: ResultForm,
    /// The key under which its result is kept, if it is.
    key: Option<Digest>,
    /// Its turn in a session, if it is a cell.
    cell: Option<PlannedCell>,
    held: Held,
}

/// A run that is noted and has all that it may reach, but for a worker.
#[derive(Debug)]
struct Granted {
    purpose: RunPurpose,
    job: Job,
    host: TenantHost,
    form: ResultForm,
    /// What its document names, if it leaves one.
    documented: Option<Box<DocumentedRun>>,
    key: Option<Digest>,
    cell: Option<PlannedCell>,
    held: Held,
}

/// A run that is over: what its worker said, with covers over the values of secrets, and what its
/// answer is made with. The line in the log, the trace, the metrics and the record show it.
#[derive(Debug)]
struct Ended {
    run_id: RunId,
    finished: FinishedRun,
    host: TenantHost,
    form: ResultForm,
    documented: Option<Box<DocumentedRun>>,
    key: Option<Digest>,
    cell: Option<EndedCell>,
    held: Held,
}

/// What stays open until the answer is made: blobs that must not expire, and layers.
#[derive(Debug)]
struct Held {
    _blobs: HeldBlobs,
    _layers: Vec<Arc<UsedLayer>>,
}

impl Service {
    /// Performs a run and returns its answer. A program that fails is an answer, not an error.
    ///
    /// Cancellation: the run is stopped and its worker freed.
    pub(crate) async fn perform(
        &self,
        caller: &Caller,
        planned: Planned,
    ) -> Result<Answered, ServiceError> {
        planned.ensure_allowed(caller)?;
        let entered = self.enter(caller, &planned);
        self.carry_out(caller, planned, entered).await
    }

    /// Gives a run its id. If a caller asked for it, callers find it from now on.
    pub(crate) fn enter(&self, caller: &Caller, planned: &Planned) -> Entered {
        let mut run = active_run(caller, planned);
        if planned.purpose != RunPurpose::Call {
            return Entered { run: RunInProgress::of_server(run), place: None };
        }
        let keeps = |recorder: &Recorder| recorder.config().keeps_programs;
        let line = || match self.runs.recorder().is_some_and(keeps) {
            true => title_of_program(&planned.program),
            false => None,
        };
        run.title = planned.label.as_ref().map(|label| label.as_str().to_owned()).or_else(line);
        run.is_detached = planned.detach.is_some();
        let (run, place) = self.runs.active().enter(run);
        Entered { run, place: Some(place) }
    }

    /// Carries out a run that has its id: opens its log, takes its steps and closes the log.
    ///
    /// Cancellation: as for [`Self::perform`].
    pub(crate) async fn carry_out(
        &self,
        caller: &Caller,
        planned: Planned,
        entered: Entered,
    ) -> Result<Answered, ServiceError> {
        let Entered { run, place } = entered;
        let purpose = planned.purpose;
        let mut log = RunLog::open(&run.id, &caller.tenant, purpose)
            .counted_in(&self.execution.metrics)
            .holding(place);
        let mut lines = Span::none();
        if purpose == RunPurpose::Call {
            let trace = RunTrace::begin(caller, &run);
            lines = trace.lines(&run);
            log.traced(trace);
        }
        let performed = async move {
            let answered = Box::pin(self.until_stopped(caller, planned, &run, &mut log)).await;
            log.close(answered.as_ref().map(|answered| &answered.result));
            answered
        };
        performed.instrument(lines).await
    }

    /// Takes a run through all of its steps, or until it is stopped, and settles what it has left.
    async fn until_stopped(
        &self,
        caller: &Caller,
        planned: Planned,
        run: &RunInProgress,
        log: &mut RunLog,
    ) -> Result<Answered, ServiceError> {
        let order = planned.detach.as_ref();
        let (awaits, placed) = order.map(|order| (order.awaits, order.placed.clone())).unzip();
        let placed = placed.flatten();
        let admitted = match self.admit(caller, planned, run, log).await {
            Ok(admitted) => admitted,
            Err(error) => {
                let refused = Err(error);
                if let Some(placed) = placed {
                    placed.settle(StepsEnd::NotBegun, &refused, log.record()).await;
                }
                return refused;
            }
        };
        let (answered, end) = tokio::select! {
            biased;
            reason = run.stopped() => {
                (Ok(Answered::stopped(run.id.clone(), reason)), StepsEnd::Stopped(reason))
            }
            answered = self.take_steps(caller, admitted, log) => {
                let end = match &answered {
                    Ok(_) => StepsEnd::Answered,
                    Err(ServiceError::Dispatch(_)) => StepsEnd::NotBegun,
                    Err(_) => StepsEnd::Failed,
                };
                (answered, end)
            }
        };
        if let Some(placed) = placed {
            placed.settle(end, &answered, log.record()).await;
        } else if let Some(awaits) = awaits {
            self.runs.settle_detached(caller, run, (end, awaits), log.record()).await;
        }
        answered
    }

    /// The steps that a stop of the run interrupts.
    async fn take_steps(
        &self,
        caller: &Caller,
        admitted: Admitted,
        log: &mut RunLog,
    ) -> Result<Answered, ServiceError> {
        let prepared = match Box::pin(self.prepare(caller, admitted)).await? {
            ControlFlow::Continue(prepared) => prepared,
            ControlFlow::Break(kept) => return Ok(kept),
        };
        let granted = self.grant(caller, prepared, log).await?;
        let ended = self.hand_to_worker(caller, granted, log).await?;
        self.answer(caller, ended, log).await.map_err(after_run)
    }

    /// Planned: refuses a run for which the pool has no room, before anything is looked up, compiled
    /// or opened for it, and begins its record.
    async fn admit(
        &self,
        caller: &Caller,
        mut planned: Planned,
        run: &RunInProgress,
        log: &mut RunLog,
    ) -> Result<Admitted, ServiceError> {
        if planned.purpose == RunPurpose::Call {
            self.execution.pool.ensure_room(&caller.tenant, &planned.limits)?;
            log.report_to(self.runs.audit());
            if let Some(recorder) = self.runs.recorder() {
                let engine = self.supplies.packages.engine;
                let draft = DraftRecord::begin(recorder, caller, &run.id, engine, &mut planned);
                let draft = draft.await?;
                planned.document = kept_document(caller, &planned, &draft);
                log.keep(draft);
            }
        }
        Ok(Admitted { run: run.shared(), planned })
    }

    /// Admitted: looks up and opens all that the run needs. Breaks with the kept answer of an earlier
    /// run with the same inputs, if the caller takes one.
    async fn prepare(
        &self,
        caller: &Caller,
        admitted: Admitted,
    ) -> Result<ControlFlow<Answered, Prepared>, ServiceError> {
        let Admitted { run, planned } = admitted;
        planned.ensure_recordable()?;
        let takes_kept = planned.may_take_kept();
        let mut planned = self.supplies.with_code(caller, planned).await?;
        let layers = self.supplies.layers_for(caller, &planned).await?;
        let mut secrets = self.supplies.secrets.prepare(caller, planned.secrets.take()).await?;
        let image = self.supplies.image_for(caller, &planned).await?;
        debug!(run.id = %run.id, "run `{}` started from the image `{}`", run.id, image.name());
        let blobs = (std::mem::take(&mut planned.blobs), std::mem::take(&mut planned.placed));
        let ((lasting, limits), recorded) = (planned.limits.split(), planned.recorded_blobs());
        let inputs = open_inputs(&self.blobs.files, caller, blobs, &lasting, recorded).await?;
        let InputBlobs { mounts, sources, note, held } = inputs;
        let form = ResultForm::of(&planned, note);
        let (mounted, skills) = mounts_and_contents(planned.skills);
        let setup = Box::new(Setup {
            tenant: caller.tenant.clone(),
            image: image.digest(),
            skills: mounted,
            layers: layers.mounts,
            blobs: mounts,
            hides_modules: matches!(planned.program, Program::Skill { .. }),
            environment: std::mem::take(&mut secrets.environment),
            reproducible: planned.reproducible,
            counts_fuel: planned.limits.fuel.is_some(),
            limits: lasting,
        });
        let turn = Turn {
            id: run.id.clone(),
            entrypoint: planned.entrypoint,
            keep_files: planned.keep_files,
            strict_output: planned.strict_output,
            // Reports of progress are sent with them.
            stream_logs: planned.listener.is_some() || planned.detach.is_some(),
            profile: planned.profile,
            cell: planned.cell.as_mut().map(PlannedCell::order),
            ..Turn::new(planned.program, planned.args, limits)
        };
        let guest = GuestSpec { setup, image, skills, layers: layers.contents, blobs: sources };
        let job = Job { guest, turn: Box::new(turn) };
        let (key, kept) = self.answers.kept_for(caller, takes_kept, &job).await?;
        if let Some(kept) = kept {
            return Ok(ControlFlow::Break(kept));
        }
        Ok(ControlFlow::Continue(Prepared {
            run,
            purpose: planned.purpose,
            job,
            secrets,
            network: planned.network,
            listener: planned.listener,
            open: planned.open,
            detach: planned.detach,
            document: planned.document,
            form,
            key,
            cell: planned.cell,
            held: Held { _blobs: held, _layers: layers.used },
        }))
    }

    /// Prepared: notes the run as it is about to wait for a worker, one in the background on the
    /// disk, and opens what it may reach.
    async fn grant(
        &self,
        caller: &Caller,
        prepared: Prepared,
        log: &mut RunLog,
    ) -> Result<Granted, ServiceError> {
        let Prepared { run, purpose, job, secrets, network, listener, detach, document, .. } =
            prepared;
        let Prepared { mut form, open, key, cell, held, .. } = prepared;
        let inputs = inputs_of(document.as_ref(), &job, &self.answers.toolchain)?;
        let mut documented = inputs.map(|inputs| Box::new(DocumentedRun::of(*inputs)));
        form.whole_logs |= documented.is_some();
        log.note_prepared();
        if let Some(record) = log.record() {
            record.note_prepared(&job, secrets.masks.as_ref());
            // One of the fleet is in its queue.
            if let Some(order) = detach.as_ref().filter(|order| order.placed.is_none()) {
                let note = record.if_interrupted();
                match self.runs.note_detached(&note, order.key.as_ref()).await? {
                    NotedHere::By(holder) => record.held_by(holder),
                    NotedHere::Known => return Err(ServiceError::KnownRun),
                }
            }
        }
        // A cell may have several parts, and its document is made at the end of the last one.
        let cell = cell.map(|cell| cell.of_run(&run, documented.take()));
        let network = Arc::new(self.execution.network.open(&caller.tenant, network, &secrets));
        log.watch(&network);
        let parts = HostParts {
            listener,
            open,
            network,
            masks: secrets.masks,
            active: (purpose == RunPurpose::Call).then_some(run),
            longest_wait: detach.as_ref().and_then(|one| self.policy.detach.longest_wait_of(one)),
            placed: detach.and_then(|order| order.placed),
        };
        let host = self.execution.host_of(caller, parts);
        Ok(Granted { purpose, job, host, form, documented, key, cell, held })
    }

    /// Granted: waits for a worker and for the end of the run there.
    async fn hand_to_worker(
        &self,
        caller: &Caller,
        granted: Granted,
        log: &mut RunLog,
    ) -> Result<Ended, ServiceError> {
        let Granted { purpose, job, mut host, form, documented, key, cell, held } = granted;
        let run_id = job.turn.id.clone();
        let pool = &self.execution.pool;
        // The answer needs no content of the order, which is dropped here.
        let (finished, cell) = match (cell, purpose) {
            (Some(cell), _) => {
                let place = (&**pool, &self.sessions, &self.answers.toolchain);
                let (finished, cell) = Box::pin(cell.run(place, caller, job, &mut host)).await?;
                (finished, Some(cell))
            }
            (None, purpose) => {
                let finished = match purpose {
                    RunPurpose::SelfTest => pool.run_own(&job, &mut host).await?,
                    RunPurpose::Call | RunPurpose::Compilation => {
                        until_begun(pool, &job, &mut host).await?
                    }
                };
                drop(job);
                (finished, None)
            }
        };
        let finished = covered(caller, host.masks(), finished).await.map_err(after_run)?;
        log.note(&finished);
        Ok(Ended { run_id, finished, host, form, documented, key, cell, held })
    }

    /// Ended: makes the answer of the call, and the document if the run leaves one.
    async fn answer(
        &self,
        caller: &Caller,
        ended: Ended,
        log: &mut RunLog,
    ) -> Result<Answered, ServiceError> {
        let Ended { run_id, finished, host, form, mut documented, key, cell, held: _held } = ended;
        let mut answered = self.answers.result_of(caller, run_id, finished, host, form).await?;
        if let Some(cell) = cell {
            let settled = Box::pin(cell.settle((&self.sessions, caller), answered)).await;
            (answered, documented) = settled;
        }
        let answered =
            with_document(&self.answers.toolchain, caller, log, answered, documented).await?;
        self.answers.keep_result(caller, key, &answered);
        Ok(answered)
    }
}

/// Executes a run of a caller. One that waited for the database in vain, has given its worker back, and has begun since, is
/// given another one.
async fn until_begun(
    pool: &Pool,
    job: &Job,
    host: &mut TenantHost,
) -> Result<FinishedRun, DispatchError> {
    loop {
        match pool.run(job, host).await {
            Err(DispatchError::Withdrawn) if host.has_begun_meanwhile().await => {}
            ended => return ended,
        }
    }
}

/// An error of a step behind the end of the run: nothing says that the call may be repeated.
fn after_run(error: ServiceError) -> ServiceError {
    ServiceError::AfterRun(Box::new(error))
}

/// A run with a new id, or with the one that its caller knows.
fn active_run(caller: &Caller, planned: &Planned) -> ActiveRun {
    let kind = match &planned.program {
        Program::Code { .. } => RunKind::RunCode,
        Program::Skill { .. } => RunKind::ExecuteSkill,
    };
    let skill = match &planned.program {
        Program::Code { .. } => None,
        Program::Skill { name, .. } => {
            let mut mounted = planned.skills.iter().map(|skill| &skill.mount);
            let found = mounted.find(|mount| mount.name == *name);
            found.map(|mount| (mount.name.clone(), mount.version.clone()))
        }
    };
    let id = planned.id.clone().unwrap_or_else(RunId::generate);
    let mut run = ActiveRun::new(id, caller.tenant.clone(), kind);
    run.skill = skill;
    run
}
