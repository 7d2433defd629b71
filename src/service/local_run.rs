//! Runs from the command line. They differ from calls in one point: the result has the whole logs.

use std::sync::Arc;

use serde_json::value::RawValue;
use tracing::warn;

use crate::egress::recorded::Recording;
use crate::error::CauseChain;
use crate::ids::BlobId;
use crate::job::outcome::Logs;
use crate::job::{KeepFiles, Program};
use crate::protocol::methods::execution::{ReproducibleParam, RequestedLimits, RunResult};
use crate::service::authorisation::ensure_has;
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::parts::Service;
use crate::service::run::execute::Bytecode;
use crate::service::run::log_line::RunPurpose;
use crate::service::run::log_stream::LogListener;
use crate::service::run::network::NetworkGrant;
use crate::service::run::plan::RunPlan;
use crate::service::run::result::Performed;
use crate::service::run::secrets::DeclaredSecrets;
use crate::tenants::Right;

/// A program of the local user to run in the sandbox.
#[derive(Debug)]
pub struct LocalRun {
    /// The program.
    pub program: LocalProgram,
    /// Function to call. Default: `main`, or the whole file if it has no `main`. A skill's
    /// manifest names its own.
    pub entrypoint: Option<String>,
    /// Text of a JSON object.
    pub args: Box<RawValue>,
    /// Skills to mount, as `name` or `name@version`.
    pub mount_skills: Vec<String>,
    /// Blobs to mount.
    pub input_blobs: Vec<String>,
    /// Limits to ask for.
    pub limits: RequestedLimits,
    /// Receives the program's output while it runs; the result has all of it again.
    pub listener: Option<LogListener>,
    /// Whether the run is to be reproducible.
    pub reproducible: Option<ReproducibleParam>,
    /// Answers the requests of a skill in place of the world.
    pub recording: Option<Arc<Recording>>,
}

/// The program of a [`LocalRun`].
#[derive(Debug)]
pub enum LocalProgram {
    /// A file of Python.
    File {
        /// Its text.
        source: String,
        /// Its name for tracebacks.
        file_name: String,
    },
    /// A skill.
    Skill {
        /// Its name.
        name: String,
        /// Its version; the latest without it.
        version: Option<String>,
    },
}

/// The end of a [`LocalRun`].
#[derive(Debug)]
pub struct LocalResult {
    /// The result as a call would return it.
    pub result: RunResult,
    /// The program's output and logs, as far as they were kept.
    pub logs: Logs,
    /// The blob that has the output as JSON, if it was too large for the result.
    pub output_blob: Option<BlobId>,
}

impl Service {
    /// Runs a program of the local user.
    ///
    /// # Errors
    ///
    /// The errors of `run_code` and `execute_skill`.
    pub async fn run_file(
        &self,
        caller: &Caller,
        request: LocalRun,
    ) -> Result<LocalResult, ServiceError> {
        self.run_local(caller, request, RunPurpose::Call).await
    }

    /// Runs a program of the local user, or a program of the self-test.
    pub(super) async fn run_local(
        &self,
        caller: &Caller,
        request: LocalRun,
        purpose: RunPurpose,
    ) -> Result<LocalResult, ServiceError> {
        let LocalRun {
            program,
            entrypoint,
            args,
            mount_skills,
            input_blobs,
            limits,
            listener,
            reproducible,
            recording,
        } = request;
        let right = match program {
            LocalProgram::File { .. } => Right::Code,
            LocalProgram::Skill { .. } => Right::Execute,
        };
        ensure_has(caller, right)?;
        let mut plan = match program {
            LocalProgram::File { source, file_name } => RunPlan {
                program: Program::Code { source, file_name },
                entrypoint,
                args,
                skills: Vec::new(),
                blobs: Vec::new(),
                keep_files: KeepFiles::default(),
                network: NetworkGrant::Operator,
                secrets: None,
                limits: self.limits.for_caller(caller.limits).resolve(&limits)?,
                reproducible: None,
                listener: None,
                detach: None,
                whole_logs: true,
            },
            LocalProgram::Skill { name, version } => {
                self.plan_skill(caller, &name, version.as_deref(), Some(args), &limits).await?
            }
        };
        plan.listener = listener;
        if let Some(recording) = recording {
            plan.network = plan.network.with_recording(recording);
            plan.secrets = plan.secrets.map(DeclaredSecrets::with_stand_ins);
        }
        let mut plan = plan.with_reproducible(reproducible);
        plan.whole_logs = true;
        plan.skills.extend(self.mounted_skills(caller, &mount_skills)?);
        let plan = plan.with_blobs(&input_blobs)?;
        let (images, packages) = (Arc::clone(&self.images), plan.packages());
        // A command does not build images as a server does; it can only load existing ones.
        let loaded = caller.memory.on_thread(move || images.load_if_made(packages));
        if let Err(error) = loaded.await.map_err(ServiceError::Interrupted)? {
            warn!("an image cannot be loaded: {}", CauseChain(&*error));
        }
        let Performed { result, logs, output_blob } =
            self.perform(caller, plan, Bytecode::AsItIs, purpose).await?;
        Ok(LocalResult { result, logs, output_blob })
    }
}
