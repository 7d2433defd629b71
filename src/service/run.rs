//! One run: plan, order, outcome, result. What `execute_skill` and `run_code` share.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::spawn_blocking;
use tracing::debug;

use crate::blobs::BlobStore;
use crate::blobs::kind::BlobKind;
use crate::dispatch::{BlobSource, Finished, Job, Received, SkillContent};
use crate::ids::{BlobId, RunId, TenantId};
use crate::images::Needs;
use crate::job::limits::RunLimits;
use crate::job::message::Refusal;
use crate::job::outcome::{Logs, RunFailure, RunOutcome};
use crate::job::{BlobMount, KeepFiles, Program, RunSpec, SkillMount};
use crate::protocol::execution::{
    MAX_OUTPUT, RequestedLimits, RunError, RunResult, RunStatus, TruncatedOutput,
};
use crate::service::bytecode::Compiled;
use crate::service::failure::error_of;
use crate::service::guest_door::{GuestDoor, Listener, not_stored};
use crate::service::output::{Output, head, one_line};
use crate::service::run_log::{Purpose, RunLog, whole_milliseconds};
use crate::service::skills::blob_ids;
use crate::service::{Caller, LimitPolicy, Service, ServiceError, left_files, logs};

/// Bytes of a large output that stand in its place.
const OUTPUT_PREVIEW: usize = 512;

/// Outputs up to this size, in bytes, are read at once: that takes less than a change of threads
/// would be worth.
const SMALL_OUTPUT: usize = 64 << 10;

/// A run with everything looked up and nothing started.
pub(super) struct Plan {
    pub(super) program: Program,
    pub(super) entrypoint: Option<String>,
    /// Text of a JSON object.
    pub(super) args: Box<RawValue>,
    pub(super) skills: Vec<MountedSkill>,
    pub(super) blobs: Vec<BlobId>,
    pub(super) keep_files: KeepFiles,
    pub(super) limits: RunLimits,
    pub(super) listener: Option<Listener>,
}

impl Plan {
    /// The plan with the blobs that a call names, after those that it has.
    pub(super) fn with_blobs(mut self, named: &[String]) -> Result<Self, ServiceError> {
        for blob in blob_ids(named)? {
            if !self.blobs.contains(&blob) {
                self.blobs.push(blob);
            }
        }
        Ok(self)
    }

    /// What the run is going to import that images can hold. With fuel nothing is taken for
    /// granted: importing costs fuel, and what a run costs must not depend on which images there
    /// are.
    pub(super) fn needs(&self) -> Needs {
        if self.limits.fuel.is_some() {
            return Needs::NONE;
        }
        let own = match &self.program {
            Program::Code { source, .. } => Needs::of_source(source),
            Program::Skill { .. } => Needs::NONE,
        };
        self.skills.iter().fold(own, |needs, skill| needs.union(skill.needs))
    }

    /// The plan within the limits that a call asks for.
    pub(super) fn limited(
        mut self,
        policy: &LimitPolicy,
        requested: &RequestedLimits,
    ) -> Result<Self, ServiceError> {
        self.limits = policy.resolve(requested)?;
        Ok(self)
    }
}

/// Whether the skills of a run are compiled first, if that was not done before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bytecode {
    /// They are: runs to come have the use of it.
    Compiled,
    /// They are not: there are no runs to come.
    AsItIs,
}

/// The end of a run.
#[derive(Debug)]
pub(super) struct Performed {
    pub(super) result: RunResult,
    /// All that was kept of what the program wrote; the result has a part of it.
    pub(super) logs: Logs,
    /// The blob of an output that is too large for the result.
    pub(super) output_blob: Option<BlobId>,
}

/// A skill that a run sees.
#[derive(Debug, Clone)]
pub(super) struct MountedSkill {
    pub(super) mount: SkillMount,
    pub(super) content: Arc<SkillContent>,
    /// What its code imports that images can hold.
    pub(super) needs: Needs,
    /// What its code was compiled to, for this run.
    pub(super) bytecode: Option<Arc<SkillContent>>,
    /// The same for all runs.
    pub(super) compiled: Compiled,
}

impl Service {
    /// Runs `plan` and says how it ended. A program that fails is a result.
    ///
    /// Cancellation: the run is stopped and its worker freed.
    pub(super) async fn perform(
        &self,
        caller: &Caller,
        plan: Plan,
        bytecode: Bytecode,
        purpose: Purpose,
    ) -> Result<Performed, ServiceError> {
        let run_id = RunId::generate();
        let mut log = RunLog::open(&run_id, &caller.tenant, purpose);
        let plan = match bytecode {
            Bytecode::Compiled => self.with_bytecode(caller, plan).await,
            Bytecode::AsItIs => plan,
        };
        let performed = self.perform_logged(caller, run_id, plan, &mut log).await;
        log.close(performed.as_ref().map(|performed| &performed.result));
        performed
    }

    async fn perform_logged(
        &self,
        caller: &Caller,
        run_id: RunId,
        plan: Plan,
        log: &mut RunLog,
    ) -> Result<Performed, ServiceError> {
        if plan.limits.fuel.is_some() {
            self.metering.ensure()?;
        }
        let image = self.images.pick(plan.needs(), plan.limits.memory);
        debug!(run.id = %run_id, "run `{run_id}` began as the image `{}`", image.name());
        let blobs = self.open_blobs(&caller.tenant, plan.blobs).await?;
        let (mounts, sources) = blobs.into_iter().unzip();
        let mut contents: Vec<Arc<SkillContent>> = Vec::with_capacity(plan.skills.len());
        let mut skills = Vec::with_capacity(plan.skills.len());
        for skill in plan.skills {
            skills.push(skill.mount);
            contents.push(skill.content);
            contents.extend(skill.bytecode);
        }
        let spec = RunSpec {
            run_id: run_id.clone(),
            tenant: caller.tenant.clone(),
            program: plan.program,
            entrypoint: plan.entrypoint,
            args: plan.args,
            skills,
            blobs: mounts,
            image: image.digest(),
            environment: BTreeMap::new(),
            keep_files: plan.keep_files,
            stream_logs: plan.listener.is_some(),
            limits: plan.limits,
        };
        let job = Job { spec: Box::new(spec), image, skills: contents, blobs: sources };
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        let mut door = GuestDoor::new(blobs, tenant, plan.listener);
        let finished = self.pool.run(&job, &mut door).await?;
        log.note(&finished);
        self.harvest(caller, run_id, finished, door.into_written()).await
    }

    /// Opens the blobs that a run reads; the run keeps what it opened even if a blob expires.
    async fn open_blobs(
        &self,
        tenant: &TenantId,
        ids: Vec<BlobId>,
    ) -> Result<Vec<(BlobMount, BlobSource)>, ServiceError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (blobs, tenant) = (Arc::clone(&self.blobs), tenant.clone());
        let opened = spawn_blocking(move || {
            ids.into_iter().map(|id| open_blob(&blobs, &tenant, id)).collect()
        });
        opened.await.map_err(ServiceError::Interrupted)?
    }

    /// The result of a finished run.
    async fn harvest(
        &self,
        caller: &Caller,
        run_id: RunId,
        finished: Finished,
        output_blobs: Vec<BlobId>,
    ) -> Result<Performed, ServiceError> {
        let RunOutcome { end, logs, files, usage } = finished.outcome;
        let output = match end {
            Ok(()) => read_output(caller, finished.output).await?,
            Err(failure) => Err(failure),
        };
        let (logs_preview, logs_truncated) = logs::preview(&logs);
        let duration_ms = whole_milliseconds(usage.wall_time);
        let (files, files_total) = left_files::shown(files, &output_blobs);
        let mut result = RunResult {
            status: RunStatus::Completed,
            run_id,
            summary: String::new(),
            output: None,
            output_blobs,
            files,
            files_total,
            logs_preview,
            error: None,
            logs_truncated,
            output_truncated: false,
            duration_ms,
            memory_peak_bytes: usage.memory_peak.as_u64(),
            fuel: usage.fuel.map(|fuel| fuel.0),
        };
        let mut output_blob = None;
        match output {
            Ok(Checked { output: Output { value, summary }, _permit }) => {
                result.summary =
                    summary.unwrap_or_else(|| format!("Completed in {duration_ms} ms."));
                if let Some(value) = value {
                    output_blob = self.put_output(caller, value, &mut result).await?;
                }
            }
            Err(failure) => {
                result.status = RunStatus::Failed;
                result.summary = summary_of(&failure);
                result.error = Some(error_of(&failure));
            }
        }
        Ok(Performed { result, logs, output_blob })
    }

    /// Puts an output into a result: as it is, or what stands for one that is too large. If that
    /// cannot be stored, the run has failed: what it has done besides is not to be lost. Returns the
    /// blob.
    async fn put_output(
        &self,
        caller: &Caller,
        value: Box<RawValue>,
        result: &mut RunResult,
    ) -> Result<Option<BlobId>, ServiceError> {
        if value.get().len() <= MAX_OUTPUT {
            result.output = Some(value);
            return Ok(None);
        }
        let preview = head(value.get(), OUTPUT_PREVIEW).to_owned();
        let (blobs, tenant) = (Arc::clone(&self.blobs), caller.tenant.clone());
        let kind = BlobKind::parse("application/json")?;
        let stored =
            spawn_blocking(move || blobs.put(&tenant, &kind, value.get().as_bytes())).await;
        let blob = match stored.map_err(ServiceError::Interrupted)? {
            Ok(blob) => blob,
            Err(error) => {
                let Refusal { error_type, message } = not_stored(&error);
                result.status = RunStatus::Failed;
                result.summary = format!("the output could not be stored: {message}");
                let message = result.summary.clone();
                result.error = Some(RunError { error_type, message, traceback: None });
                return Ok(None);
            }
        };
        if !result.output_blobs.contains(&blob.id) {
            result.output_blobs.push(blob.id.clone());
        }
        let (id, size_bytes) = (blob.id.clone(), blob.size.as_u64());
        let stand_in = TruncatedOutput { truncated: true, blob_id: blob.id, size_bytes, preview };
        let stand_in = serde_json::value::to_raw_value(&stand_in);
        result.output = Some(stand_in.map_err(ServiceError::Unserialisable)?);
        result.output_truncated = true;
        Ok(Some(id))
    }
}

/// One line about a failure. `assert x` raises without a word, and `KeyError` with nothing but the
/// key: a message of a single word is no sentence without the type.
fn summary_of(failure: &RunFailure) -> String {
    let (class, message) = (failure.error_type(), one_line(&failure.to_string()));
    if message.is_empty() {
        class.to_owned()
    } else if class == "KeyError" || !message.contains(' ') {
        one_line(&format!("{class}: {message}"))
    } else {
        message
    }
}

/// Reads what a program returned, beside the event loop if it is much.
async fn read_output(
    caller: &Caller,
    output: Option<Received>,
) -> Result<Result<Checked, RunFailure>, ServiceError> {
    let Some(output) = output else {
        return Ok(Output::parse(Vec::new()).map(Checked::small));
    };
    if output.size().as_usize() <= SMALL_OUTPUT {
        let text = output.into_bytes().await.map_err(ServiceError::Unreadable)?;
        return Ok(Output::parse(text).map(Checked::small));
    }
    let permit = caller.memory.budget().wait_for_output(output.size()).await;
    let text = output.into_bytes().await.map_err(ServiceError::Unreadable)?;
    let parsed = spawn_blocking(move || Output::parse(text));
    let parsed = parsed.await.map_err(ServiceError::Interrupted)?;
    Ok(parsed.map(|output| Checked { output, _permit: permit }))
}

/// An output with its place among those that are in memory.
struct Checked {
    output: Output,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Checked {
    const fn small(output: Output) -> Self {
        Self { output, _permit: None }
    }
}

fn open_blob(
    blobs: &BlobStore,
    tenant: &TenantId,
    id: BlobId,
) -> Result<(BlobMount, BlobSource), ServiceError> {
    let opened = blobs.open_content(tenant, &id)?;
    let size = opened.blob.size;
    let file: File = opened.file;
    let kind = opened.blob.kind.as_str().to_owned();
    let source = BlobSource { id: id.clone(), file: Arc::new(file), size };
    Ok((BlobMount { id, kind, size }, source))
}
