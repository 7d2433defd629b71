//! Runs from the command line: the same as calls, with all of the logs.

use std::sync::Arc;

use serde_json::value::RawValue;
use tracing::warn;

use crate::error::CauseChain;
use crate::ids::BlobId;
use crate::job::outcome::Logs;
use crate::job::{KeepFiles, Program};
use crate::protocol::methods::execution::{RequestedLimits, RunResult};
use crate::service::authorisation::ensure_has;
use crate::service::caller::Caller;
use crate::service::error::ServiceError;
use crate::service::parts::Service;
use crate::service::rights::Right;
use crate::service::run::execute::Bytecode;
use crate::service::run::host::LogListener;
use crate::service::run::log_line::RunPurpose;
use crate::service::run::plan::RunPlan;
use crate::service::run::result::Performed;

/// A program on this machine that is to be run in the sandbox.
#[derive(Debug)]
pub struct LocalRun {
    /// The program.
    pub program: LocalProgram,
    /// Function to call; without it `main`, or the whole file if that has no `main`. Skills have
    /// their own.
    pub entrypoint: Option<String>,
    /// Text of a JSON object.
    pub args: Box<RawValue>,
    /// Skills to mount, as `name` or `name@version`.
    pub mount_skills: Vec<String>,
    /// Blobs to mount.
    pub input_blobs: Vec<String>,
    /// Limits to ask for.
    pub limits: RequestedLimits,
    /// Gets what the program prints as it comes; the result has all of it.
    pub listener: Option<LogListener>,
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
    /// All that was kept of what the program wrote.
    pub logs: Logs,
    /// The blob that has the output as JSON, if it was too large for the result.
    pub output_blob: Option<BlobId>,
}

impl Service {
    /// Runs a program of this machine's user.
    ///
    /// # Errors
    ///
    /// As `run_code` and `execute_skill`.
    pub async fn run_file(
        &self,
        caller: &Caller,
        request: LocalRun,
    ) -> Result<LocalResult, ServiceError> {
        self.run_local(caller, request, RunPurpose::Call).await
    }

    /// Runs a program of this machine's user, or one of our own.
    pub(super) async fn run_local(
        &self,
        caller: &Caller,
        request: LocalRun,
        purpose: RunPurpose,
    ) -> Result<LocalResult, ServiceError> {
        let LocalRun { program, entrypoint, args, mount_skills, input_blobs, limits, listener } =
            request;
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
                limits: self.limits.for_caller(caller.limits).resolve(&limits)?,
                listener: None,
                whole_logs: true,
            },
            LocalProgram::Skill { name, version } => {
                self.plan_skill(caller, &name, version.as_deref(), Some(args), &limits).await?
            }
        };
        plan.listener = listener;
        plan.whole_logs = true;
        plan.skills.extend(self.mounted_skills(&mount_skills).await?);
        let plan = plan.with_blobs(&input_blobs)?;
        let (images, packages) = (Arc::clone(&self.images), plan.packages());
        // No server has made an image for a single run.
        let loaded = caller.memory.on_thread(move || images.load_if_made(packages));
        if let Err(error) = loaded.await.map_err(ServiceError::Interrupted)? {
            warn!("an image cannot be loaded: {}", CauseChain(&*error));
        }
        let Performed { result, logs, output_blob } =
            self.perform(caller, plan, Bytecode::AsItIs, purpose).await?;
        Ok(LocalResult { result, logs, output_blob })
    }
}
