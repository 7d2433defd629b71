//! Executes a plan and builds its result, for `execute_skill` and `run_code`.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tracing::{Instrument as _, Span, debug};

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::parts::Service;
use crate::run::access::redaction::covered;
use crate::run::background::detach_policy::DetachOrder;
use crate::run::execute::host::{HostParts, TenantHost};
use crate::run::execute::run_trace::RunTrace;
use crate::run::packages::layers::RunLayers;
use crate::run::packages::packages_error::PackagesError;
use crate::run::prepare::input_blobs::InputBlobs;
use crate::run::prepare::mounted_skill::MountedSkill;
use crate::run::prepare::plan::RunPlan;
use crate::run::record::document::inputs_of;
use crate::run::record::kept_content::title_of_program;
use crate::run::record::run_record::DraftRecord;
use crate::run::result::log_line::{RunLog, RunPurpose};
use crate::run::result::run_result::{Performed, ResultForm};
use crate::runs::active::{ActivePlace, ActiveRun, RunInProgress, StopReason};
use wardian_dispatch::{DispatchError, FinishedRun, Job, SkillContent};
use wardian_formats::job::image::ImageContent;
use wardian_formats::job::{Program, RunSpec, SkillMount};
use wardian_formats::provenance::RunInputs;
use wardian_images::NotReproducible;
use wardian_stores::records::{Recorder, RunKind};
use wardian_stores::secrets::mask::Masks;
use wardian_stores::tenants::Right;
use wardian_vocabulary::ids::{Digest, RunId};

/// The longest time that a reproducible run waits for its image, which is made in seconds, and for
/// the batteries, which are fetched in seconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often it looks for them.
const PATIENCE_POLL: Duration = Duration::from_millis(50);

/// Whether skills without bytecode are compiled before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bytecode {
    /// They are compiled, since later runs use the bytecode too.
    Compiled,
    /// They are not compiled, since there are no later runs.
    AsItIs,
    /// No bytecode is used, not even that of packages that are compiled already, so that the run
    /// does not depend on it.
    Never,
}

/// A run that has an id and that callers find.
#[derive(Debug)]
pub struct EnteredRun {
    pub active: RunInProgress,
    /// Its place among the runs that are found: given up when its record is written.
    pub place: Option<ActivePlace>,
}

/// The decisions about how a run is performed.
#[derive(Debug, Clone, Copy)]
struct Steps {
    bytecode: Bytecode,
    purpose: RunPurpose,
}

/// A run that has ended, and what its answer is made with.
struct EndedRun {
    run_id: RunId,
    finished: FinishedRun,
    masks: Option<Arc<Masks>>,
    form: ResultForm,
    /// The inputs that its document names, if it leaves one.
    inputs: Option<Box<RunInputs>>,
    /// The key under which its result is kept, if it is.
    key: Option<Digest>,
}

impl Service {
    /// Runs `plan` and returns its result. A program that fails is a result, not an error.
    ///
    /// Cancellation: the run is stopped and its worker freed.
    pub(crate) async fn perform(
        &self,
        caller: &Caller,
        plan: RunPlan,
        bytecode: Bytecode,
        purpose: RunPurpose,
    ) -> Result<Performed, ServiceError> {
        // The id of a blob in a call is a use of blobs, whichever parameter names it.
        if !plan.blobs.is_empty() {
            ensure_has(caller, Right::Blobs)?;
        }
        let entered = match purpose {
            RunPurpose::Call => self.enter(caller, &plan, false),
            RunPurpose::Compilation | RunPurpose::SelfTest => {
                let run = active_run(caller, &plan);
                EnteredRun { active: RunInProgress::of_server(run), place: None }
            }
        };
        self.perform_as(caller, plan, bytecode, purpose, entered).await
    }

    /// Gives a run its id, and lets callers find it from now on.
    pub fn enter(&self, caller: &Caller, plan: &RunPlan, is_detached: bool) -> EnteredRun {
        let mut run = active_run(caller, plan);
        let keeps = |recorder: &Recorder| recorder.config().keeps_programs;
        let line = || match self.runs.recorder().is_some_and(keeps) {
            true => title_of_program(&plan.program),
            false => None,
        };
        run.title = plan.label.as_ref().map(|label| label.as_str().to_owned()).or_else(line);
        run.is_detached = is_detached;
        let (active, place) = self.runs.active().enter(run);
        EnteredRun { active, place: Some(place) }
    }

    /// As [`Self::perform`], for a run that has its id.
    pub(crate) async fn perform_as(
        &self,
        caller: &Caller,
        plan: RunPlan,
        bytecode: Bytecode,
        purpose: RunPurpose,
        entered: EnteredRun,
    ) -> Result<Performed, ServiceError> {
        let run = &entered.active;
        let mut log = RunLog::open(&run.id, &caller.tenant, purpose).counted_in(&self.metrics);
        let mut lines = Span::none();
        if purpose == RunPurpose::Call {
            let trace = RunTrace::begin(caller, run);
            lines = trace.lines(run);
            log.traced(trace);
        }
        let steps = Steps { bytecode, purpose };
        self.perform_open(caller, plan, steps, entered, log).instrument(lines).await
    }

    /// As [`Self::perform_as`], with the log of the run.
    async fn perform_open(
        &self,
        caller: &Caller,
        plan: RunPlan,
        steps: Steps,
        entered: EnteredRun,
        mut log: RunLog,
    ) -> Result<Performed, ServiceError> {
        let Steps { bytecode, purpose } = steps;
        let EnteredRun { active, place } = entered;
        let run_id = active.id.clone();
        if purpose == RunPurpose::Call
            && let Err(error) = self.pool.ensure_room(&caller.tenant, &plan.limits)
        {
            // Nothing was looked up, compiled or opened for the run.
            let error = error.into();
            log.close(Err(&error));
            return Err(error);
        }
        let mut plan = plan;
        if purpose == RunPurpose::Call {
            log.report_to(self.runs.audit());
            if let Some(recorder) = self.runs.recorder() {
                let engine = self.packages.engine;
                let draft =
                    DraftRecord::begin(recorder, caller, &run_id, engine, &mut plan).await?;
                plan.document = self.kept_document(caller, &plan, &draft);
                log.keep(draft.until_written(place));
            }
        }
        let bytecode = if plan.reproducible.is_some() { Bytecode::Never } else { bytecode };
        let steps = Steps { bytecode, purpose };
        let is_detached = plan.detach.is_some();
        let is_awaited = plan.detach.as_ref().is_some_and(|order| order.is_awaited);
        let mut was_interrupted = false;
        let performed = tokio::select! {
            biased;
            reason = active.stopped() => {
                was_interrupted = reason == StopReason::Interrupted;
                Ok(Performed::stopped(run_id.clone(), reason))
            }
            performed = Box::pin(self.perform_logged(caller, &active, plan, steps, &mut log)) => performed,
        };
        if is_detached {
            if active.was_admitted() {
                log.record().into_iter().for_each(DraftRecord::acknowledge);
            } else if performed.is_err() {
                self.forget_detached(caller, &run_id).await;
            }
            // An error of the pool says that the run was not begun, whatever came before it.
            let was_begun =
                active.was_started() && !matches!(performed, Err(ServiceError::Dispatch(_)));
            if is_awaited && !was_begun && (performed.is_err() || was_interrupted) {
                self.forget_key(caller, &run_id).await;
            }
        }
        log.close(performed.as_ref().map(|performed| &performed.result));
        performed
    }

    async fn perform_logged(
        &self,
        caller: &Caller,
        active: &RunInProgress,
        plan: RunPlan,
        steps: Steps,
        log: &mut RunLog,
    ) -> Result<Performed, ServiceError> {
        let run_id = active.id.clone();
        plan.ensure_recordable()?;
        let takes_kept = plan.may_take_kept();
        let mut plan = self.with_code(caller, plan, steps.bytecode).await?;
        let layers = self.layers_with(caller, &plan, steps.bytecode).await?;
        let RunLayers { mounts: layer_mounts, contents: layers, used: _used } = layers;
        let mut secrets = self.secrets.prepare(caller, plan.secrets.take()).await?;
        let image = self.image_for(caller, &plan).await?;
        debug!(run.id = %run_id, "run `{run_id}` started from the image `{}`", image.name());
        let inputs = self.open_inputs(caller, plan.blobs, plan.document.as_ref()).await?;
        let InputBlobs { mounts, sources, note, held: _held } = inputs;
        let mut form = ResultForm::of(&plan.keep_files, note);
        form.shows_duration = plan.reproducible.is_none();
        let (skills, contents) = mounts_and_contents(plan.skills);
        let spec = RunSpec {
            run_id: run_id.clone(),
            tenant: caller.tenant.clone(),
            program: plan.program,
            entrypoint: plan.entrypoint,
            args: plan.args,
            skills,
            blobs: mounts,
            layers: layer_mounts,
            image: image.digest(),
            environment: std::mem::take(&mut secrets.environment),
            keep_files: plan.keep_files,
            strict_output: plan.strict_output,
            // Reports of progress are sent with them.
            stream_logs: plan.listener.is_some() || plan.detach.is_some(),
            reproducible: plan.reproducible,
            profile: plan.profile,
            limits: plan.limits,
        };
        let (key, kept) = self.kept_for(caller, takes_kept, &spec).await?;
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let inputs = inputs_of(plan.document.as_ref(), &spec, &self.toolchain)?;
        form.whole_logs = plan.whole_logs || inputs.is_some();
        let prepared = (&spec, &*image, secrets.masks.as_ref());
        self.note_prepared(log, prepared, plan.detach.as_ref()).await?;
        let job = Job { spec: Box::new(spec), image, skills: contents, layers, blobs: sources };
        let network = Arc::new(self.network.open(&caller.tenant, plan.network, &secrets));
        log.watch(&network);
        let mut host = self.host_of(
            caller,
            HostParts {
                listener: plan.listener,
                network,
                masks: secrets.masks.clone(),
                active: (steps.purpose == RunPurpose::Call).then(|| active.shared()),
                longest_wait: plan.detach.and_then(|order| self.detach.longest_wait_of(&order)),
            },
        );
        let finished = self.run_job(&job, &mut host, steps.purpose).await?;
        drop(job);
        let ended = EndedRun { run_id, finished, masks: secrets.masks, form, inputs, key };
        let answered = self.answer(caller, log, host, ended).await;
        answered.map_err(|error| ServiceError::AfterRun(Box::new(error)))
    }

    /// The answer to the call of a run that has ended.
    async fn answer(
        &self,
        caller: &Caller,
        log: &mut RunLog,
        host: TenantHost,
        ended: EndedRun,
    ) -> Result<Performed, ServiceError> {
        let EndedRun { run_id, finished, masks, form, inputs, key } = ended;
        let finished = covered(caller, masks, finished).await?;
        log.note(&finished);
        let performed = self.result_of(caller, run_id, finished, host, form).await?;
        let performed = self.with_document(caller, log, performed, inputs).await?;
        self.keep_result(caller, key, &performed);
        Ok(performed)
    }

    /// Waits for the batteries, which all reproducible runs have.
    async fn wait_for_batteries(&self) -> Result<(), PackagesError> {
        let last = Instant::now() + PATIENCE;
        loop {
            match self.packages.ensure_batteries() {
                Err(PackagesError::BatteriesOnTheirWay) if Instant::now() < last => {
                    sleep(PATIENCE_POLL).await;
                }
                found => return found,
            }
        }
    }

    /// The layers of a run, with the bytecode that it may use.
    async fn layers_with(
        &self,
        caller: &Caller,
        plan: &RunPlan,
        bytecode: Bytecode,
    ) -> Result<RunLayers, ServiceError> {
        if plan.reproducible.is_some() {
            self.wait_for_batteries().await?;
        }
        let mut layers = self.layers_of(caller, &plan.skills).await?;
        if bytecode == Bytecode::Never {
            layers.mounts.iter_mut().for_each(|layer| layer.bytecode = None);
        }
        if bytecode == Bytecode::Compiled {
            self.compile_beside(&layers.used);
        }
        Ok(layers)
    }

    /// The image that the run begins as. Waits for that of reproducible runs, which has to be the
    /// same each time.
    async fn image_for(
        &self,
        caller: &Caller,
        plan: &RunPlan,
    ) -> Result<Arc<ImageContent>, ServiceError> {
        if plan.reproducible.is_none() {
            let images = self.images_of(&caller.tenant);
            return Ok(images.pick(plan.packages(), plan.limits.memory));
        }
        let last = Instant::now() + PATIENCE;
        loop {
            match self.images.reproducible() {
                Err(NotReproducible::InTheMaking) if Instant::now() < last => {
                    sleep(PATIENCE_POLL).await;
                }
                found => return Ok(found?),
            }
        }
    }

    /// The plan with bytecode, if it is to have some, and with code that counts fuel if it needs it.
    async fn with_code(
        &self,
        caller: &Caller,
        plan: RunPlan,
        bytecode: Bytecode,
    ) -> Result<RunPlan, ServiceError> {
        let plan = match bytecode {
            Bytecode::Compiled => self.with_bytecode(caller, plan).await,
            Bytecode::AsItIs | Bytecode::Never => plan,
        };
        if plan.limits.fuel.is_some() {
            self.metering.ensure()?;
        }
        Ok(plan)
    }

    /// Notes a run as it is about to wait for a worker. One in the background is noted on the disk.
    async fn note_prepared(
        &self,
        log: &mut RunLog,
        (spec, image, masks): (&RunSpec, &ImageContent, Option<&Arc<Masks>>),
        detach: Option<&DetachOrder>,
    ) -> Result<(), ServiceError> {
        log.note_prepared();
        let Some(record) = log.record() else { return Ok(()) };
        record.note_prepared(spec, image, masks);
        match detach {
            Some(order) => self.note_detached(order, &record.if_interrupted()).await,
            None => Ok(()),
        }
    }

    async fn run_job(
        &self,
        job: &Job,
        host: &mut TenantHost,
        purpose: RunPurpose,
    ) -> Result<FinishedRun, DispatchError> {
        match purpose {
            RunPurpose::SelfTest => self.pool.run_own(job, host).await,
            RunPurpose::Call | RunPurpose::Compilation => self.pool.run(job, host).await,
        }
    }

    fn host_of(&self, caller: &Caller, parts: HostParts) -> TenantHost {
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        TenantHost::new(blobs, self.blob_writes.clone(), tenant, caller.memory.clone(), parts)
    }
}

/// The mounts of skills, and what workers need for them.
fn mounts_and_contents(skills: Vec<MountedSkill>) -> (Vec<SkillMount>, Vec<Arc<SkillContent>>) {
    let mut contents = Vec::with_capacity(skills.len());
    let mut mounts = Vec::with_capacity(skills.len());
    for skill in skills {
        mounts.push(skill.mount);
        contents.push(skill.content);
        contents.extend(skill.bytecode);
    }
    (mounts, contents)
}

/// A run with a new id.
fn active_run(caller: &Caller, plan: &RunPlan) -> ActiveRun {
    let kind = match &plan.program {
        Program::Code { .. } => RunKind::RunCode,
        Program::Skill { .. } => RunKind::ExecuteSkill,
    };
    let skill = match &plan.program {
        Program::Code { .. } => None,
        Program::Skill { name } => {
            let mut mounted = plan.skills.iter().map(|skill| &skill.mount);
            let found = mounted.find(|mount| mount.name == *name);
            found.map(|mount| (mount.name.clone(), mount.version.clone()))
        }
    };
    let mut run = ActiveRun::new(RunId::generate(), caller.tenant.clone(), kind);
    run.skill = skill;
    run
}
