//! `execute_skill`: runs the entrypoint of a skill.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ids::BlobId;
use crate::job::Program;
use crate::protocol::execution::{ExecuteSkillParams, RunResult};
use crate::service::run::Plan;
use crate::service::run_code::no_arguments;
use crate::service::{Caller, Service, ServiceError};
use crate::skill::arguments::{blobs_among, check_arguments};
use crate::skill::manifest::Manifest;

impl Service {
    /// Runs the entrypoint of a skill with arguments that fit its inputs.
    ///
    /// # Errors
    ///
    /// Something that is named is not there, the skill has no code, the arguments do not fit, or
    /// a limit is above the operator's. Code that fails is a result.
    pub async fn execute_skill(
        &self,
        caller: &Caller,
        params: ExecuteSkillParams,
    ) -> Result<RunResult, ServiceError> {
        let limits = params.limits();
        let plan = self.plan_skill(&params.name, params.version.as_deref(), params.args);
        let plan = plan.await?.with_blobs(&params.input_blobs)?.limited(&self.limits, &limits)?;
        let plan = self.with_bytecode(caller, plan).await;
        Ok(self.perform(caller, plan).await?.result)
    }

    /// What executing a skill means, without the blobs and limits of the call.
    pub(super) async fn plan_skill(
        &self,
        name: &str,
        version: Option<&str>,
        args: Option<Box<RawValue>>,
    ) -> Result<Plan, ServiceError> {
        let snapshot = self.find_skill(name, version).await?;
        let name = snapshot.name().clone();
        let Some(runtime) = &snapshot.manifest().runtime else {
            return Err(ServiceError::NotExecutable { name: name.to_string() });
        };
        let entrypoint = Some(runtime.export.clone());
        let (args, blobs) = checked_arguments(snapshot.manifest(), args)?;
        let skills = vec![self.mounted(&snapshot)];
        let program = Program::Skill { name };
        Ok(Plan { program, entrypoint, args, skills, blobs, limits: self.limits.default })
    }
}

/// The arguments with defaults filled in, and the blobs among them.
fn checked_arguments(
    manifest: &Manifest,
    args: Option<Box<RawValue>>,
) -> Result<(Box<RawValue>, Vec<BlobId>), ServiceError> {
    let given = args.unwrap_or_else(no_arguments);
    let inputs = &manifest.inputs;
    if inputs.iter().next().is_none() {
        return Ok((given, Vec::new()));
    }
    let given: Map<String, Value> =
        serde_json::from_str(given.get()).map_err(ServiceError::Unserialisable)?;
    let checked = check_arguments(inputs, given).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let name = manifest.name.to_string();
        ServiceError::Arguments { name, problems: problems.join("; ") }
    })?;
    let blobs = blobs_among(inputs, &checked);
    let args = serde_json::value::to_raw_value(&checked).map_err(ServiceError::Unserialisable)?;
    Ok((args, blobs))
}
