//! `run_code`: runs code that the call contains.

use serde_json::value::RawValue;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fleet::order::OrderedCall;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::call_form::{CallForm, CallPieces};
use crate::run::prepare::label::RunLabel;
use crate::run::prepare::plan::Planned;
use crate::run::result::left_files;
use crate::service::Service;
use wardian_formats::job::Program;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::methods::execution::{Language, RunCodeParams};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::tenants::Right;

/// The file name of code in tracebacks.
const FILE_NAME: &str = "main.py";

impl Service {
    /// Runs code with the skills and blobs that it names. It gets no secrets and no network, also
    /// not those of the skills that it mounts, but for what the operator grants to all code.
    ///
    /// # Errors
    ///
    /// A skill or blob does not exist, or a limit exceeds the operator's. A program that fails is
    /// a result, not an error.
    pub async fn run_code(
        &self,
        caller: &Caller,
        params: RunCodeParams,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        let mut params = params;
        if let Some(session) = params.session.take() {
            return Box::pin(self.run_cell(caller, params, session.into_order(), listener)).await;
        }
        refuse_what_sessions_have(&params)?;
        let declares_some = params.tools.as_ref().is_some_and(|tools| !tools.is_empty());
        if declares_some || self.is_code_granted_tools(caller, &params) {
            return Box::pin(self.run_with_tools(caller, params, listener)).await;
        }
        let pieces = CallPieces {
            method: "run_code",
            program: &params.code,
            part: params.entrypoint.as_deref(),
            args: params.args.as_deref().map(RawValue::get),
            script: None,
            mount_skills: &params.mount_skills,
            input_blobs: &params.input_blobs,
            limits: params.limits(),
            keep_files: params.keep_files.as_ref(),
            strict_output: params.strict_output,
            reproducible: params.reproducible,
            label: params.label.as_deref(),
        };
        let form =
            CallForm::of(caller, params.detach, params.idempotency_key.clone(), pieces).await?;
        if let Some(answer) = self.answer_before(caller, &form).await? {
            return Ok(answer);
        }
        if form.is_detached && self.fleet().is_some() {
            let call = OrderedCall::RunCode(Box::new(params));
            return Box::pin(self.submit_call(caller, call, form)).await;
        }
        let plan = self.plan_code_call(caller, params, listener).await?;
        self.perform_call(caller, plan, form).await
    }

    /// Plans the run of a call.
    pub(crate) async fn plan_code_call(
        &self,
        caller: &Caller,
        params: RunCodeParams,
        listener: Option<LogListener>,
    ) -> Result<Planned, ServiceError> {
        let policy =
            self.policy.limits.for_caller(caller.limits).for_reproducible(params.reproducible);
        let limits = policy.resolve(&params.limits())?;
        let Language::Python = params.language;
        let label = params.label.map(RunLabel::parse).transpose()?;
        // Code can read the files of the skills that it mounts.
        if !params.mount_skills.is_empty() {
            ensure_has(caller, Right::Discover)?;
        }
        let skills =
            self.supplies.mounted_skills(self.discovery(), caller, &params.mount_skills).await?;
        let program = Program::Code { source: params.code, file_name: FILE_NAME.to_owned() };
        let entrypoint = params.entrypoint;
        let keep_files = left_files::kept(params.keep_files, self.policy.limits.keep_files);
        let args = params.args.unwrap_or_else(no_arguments);
        let plan = Planned {
            label,
            entrypoint,
            skills,
            keep_files,
            strict_output: params.strict_output,
            listener,
            ..Planned::new(program, args, limits)
        };
        let plan = plan.with_blobs(&params.input_blobs)?;
        Ok(plan.with_reproducible(params.reproducible))
    }
}

/// Refuses parameters that only a call with `session` can have.
fn refuse_what_sessions_have(params: &RunCodeParams) -> Result<(), ParamsError> {
    let set = [("answers", params.answers.is_some()), ("abandon", params.abandon)];
    match set.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(ParamsError::wrong(name, "left out without `session`", "a value")),
        None => Ok(()),
    }
}

/// The arguments of a call without arguments: an empty object.
pub(super) fn no_arguments() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap_or_default()
}
