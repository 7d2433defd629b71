//! `run_code`: runs code that came with the call.

use serde_json::value::RawValue;

use crate::job::Program;
use crate::protocol::execution::{Language, RunCodeParams, RunResult};
use crate::service::run::{Bytecode, Plan};
use crate::service::run_log::Purpose;
use crate::service::skills::blob_ids;
use crate::service::{Caller, Service, ServiceError, left_files};

/// What tracebacks call the file of code that has none.
const FILE_NAME: &str = "main.py";

impl Service {
    /// Runs code with the skills and blobs that it names. It gets no secrets, also not those of
    /// the skills that it mounts.
    ///
    /// # Errors
    ///
    /// Something that is named is not there, or a limit is above the operator's. Code that fails
    /// is a result.
    pub async fn run_code(
        &self,
        caller: &Caller,
        params: RunCodeParams,
    ) -> Result<RunResult, ServiceError> {
        let limits = self.limits.resolve(&params.limits())?;
        let Language::Python = params.language;
        let skills = self.mounted_skills(&params.mount_skills).await?;
        let blobs = blob_ids(&params.input_blobs)?;
        let program = Program::Code { source: params.code, file_name: FILE_NAME.to_owned() };
        let entrypoint = params.entrypoint;
        let keep_files = left_files::kept(params.keep_files);
        let args = params.args.unwrap_or_else(no_arguments);
        let plan =
            Plan { program, entrypoint, args, skills, blobs, keep_files, limits, listener: None };
        Ok(self.perform(caller, plan, Bytecode::Compiled, Purpose::Call).await?.result)
    }
}

/// The arguments of a call that gives none.
pub(super) fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}
