//! `execute_skill`: runs the entrypoint of a skill, or one of its scripts.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use serde::ser::Error as _;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::fleet::order::OrderedCall;
use crate::methods::execute_script::{asked_script, scripts_in_words};
use crate::methods::run_code::no_arguments;
use crate::run::access::network::NetworkGrant;
use crate::run::access::secrets::DeclaredSecrets;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::call_form::{CallForm, CallPieces};
use crate::run::prepare::label::RunLabel;
use crate::run::prepare::plan::Planned;
use crate::run::result::left_files;
use crate::service::Service;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::{KeepFiles, Program, ScriptCall};
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::members::Members;
use wardian_formats::protocol::methods::execution::{
    ExecuteSkillParams, ReproducibleParam, RequestedLimits,
};
use wardian_formats::skill::arguments::{CheckedArguments, check_arguments};
use wardian_formats::skill::manifest::runtime::RuntimeSection;
use wardian_formats::skill::manifest::{Manifest, SkillKind};
use wardian_skills::registry::SeenSkill;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_vocabulary::ids::BlobId;

impl Service {
    /// Runs the entrypoint of a skill with arguments that fit its inputs.
    ///
    /// # Errors
    ///
    /// A skill or blob does not exist, the skill has no code, the arguments do not fit, or a limit
    /// exceeds the operator's. A program that fails is a result, not an error.
    pub async fn execute_skill(
        &self,
        caller: &Caller,
        mut params: ExecuteSkillParams,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        let script = asked_script(&mut params)?;
        let declares_some = params.tools.as_ref().is_some_and(|tools| !tools.is_empty());
        if script.is_none() && (declares_some || self.is_skill_granted_tools(caller, &params)) {
            return Box::pin(self.execute_with_tools(caller, params, listener)).await;
        }
        let script = match script {
            Some(script) if params.session.is_some() => {
                return Box::pin(self.execute_in_session(caller, params, script, listener)).await;
            }
            script => script,
        };
        let limits = params.limits();
        let script_text = script.as_ref().map(serde_json::to_string).transpose();
        let script_text = script_text.map_err(ServiceError::Unserialisable)?;
        let pieces = CallPieces {
            method: "execute_skill",
            program: &params.name,
            part: params.version.as_deref(),
            args: params.args.as_deref().map(RawValue::get),
            script: script_text.as_deref(),
            mount_skills: &[],
            input_blobs: &params.input_blobs,
            limits,
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
            let call = OrderedCall::ExecuteSkill(Box::new(params), script.map(Box::new));
            return Box::pin(self.submit_call(caller, call, form)).await;
        }
        let plan = self.plan_skill_call(caller, (params, script), listener).await?;
        self.perform_call(caller, plan, form).await
    }

    /// Plans the run of a call, of which its script is separate.
    pub(crate) async fn plan_skill_call(
        &self,
        caller: &Caller,
        (params, script): (ExecuteSkillParams, Option<ScriptCall>),
        listener: Option<LogListener>,
    ) -> Result<Planned, ServiceError> {
        let limits = params.limits();
        let named = (params.name.as_str(), params.version.as_deref());
        let (args, reproducible) = (params.args, params.reproducible);
        let label = params.label.map(RunLabel::parse).transpose()?;
        let plan = match script {
            None => self.plan_skill(caller, named, args, &limits, reproducible).await?,
            Some(script) => {
                self.plan_script(caller, named, (script, args), &limits, reproducible).await?
            }
        };
        let plan = plan.with_reproducible(reproducible);
        let mut plan = plan.with_blobs(&params.input_blobs)?;
        plan.keep_files = left_files::kept(params.keep_files, self.policy.limits.keep_files);
        plan.strict_output |= params.strict_output;
        plan.label = label;
        plan.listener = listener;
        Ok(plan)
    }

    /// Plans the execution of a skill, without the blobs of the call. That the run is `reproducible`
    /// only decides its limits here.
    pub(crate) async fn plan_skill(
        &self,
        caller: &Caller,
        (name, version): (&str, Option<&str>),
        args: Option<Box<RawValue>>,
        requested: &RequestedLimits,
        reproducible: Option<ReproducibleParam>,
    ) -> Result<Planned, ServiceError> {
        let seen = self.find_skill(caller, name, version)?;
        let snapshot = &seen.snapshot;
        ensure_has_entrypoint(snapshot)?;
        let (args, blobs) = checked_arguments(caller, snapshot, args).await?;
        let policy = self.policy.limits.for_caller(caller.limits).for_reproducible(reproducible);
        let limits = policy.resolve(requested)?;
        Ok(Planned { args, blobs, ..self.plan_of(caller, &seen, None, limits).await? })
    }

    /// The plan of a skill without arguments: of its entrypoint, or of this script.
    pub(crate) async fn plan_of(
        &self,
        caller: &Caller,
        seen: &SeenSkill,
        script: Option<Box<ScriptCall>>,
        limits: RunLimits,
    ) -> Result<Planned, ServiceError> {
        let snapshot = &seen.snapshot;
        let name = snapshot.name().clone();
        let runtime = match &script {
            None => Some(ensure_has_entrypoint(snapshot)?),
            Some(_) => None,
        };
        let entrypoint = runtime.map(|runtime| runtime.export.clone());
        let is_script = script.is_some();
        let skills = vec![self.supplies.mounted(caller, seen).await?];
        let secrets = DeclaredSecrets::of(snapshot.manifest(), seen.is_own);
        let program = Program::Skill { name, script };
        let keep_files = KeepFiles::Usual(self.policy.limits.keep_files);
        let network = NetworkGrant::Manifest(snapshot.manifest().permissions.network.clone());
        Ok(Planned {
            entrypoint,
            skills,
            keep_files,
            strict_output: runtime.is_some_and(|runtime| runtime.strict_output),
            is_script,
            network,
            secrets,
            ..Planned::new(program, no_arguments(), limits)
        })
    }
}

/// The entrypoint of a skill.
///
/// # Errors
///
/// The skill has none. The message names its scripts.
fn ensure_has_entrypoint(snapshot: &Snapshot) -> Result<&RuntimeSection, ServiceError> {
    let name = || snapshot.name().to_string();
    match (&snapshot.manifest().runtime, snapshot.manifest().kind) {
        (Some(runtime), _) => Ok(runtime),
        (None, SkillKind::Instruction) => Err(ServiceError::NotExecutable { name: name() }),
        (None, SkillKind::Action) => {
            let scripts = scripts_in_words(snapshot);
            Err(ServiceError::NoEntrypoint { name: name(), scripts })
        }
    }
}

/// Arguments up to this size, in bytes, are checked on the event loop: the check takes less time
/// than a switch of threads.
const SMALL_ARGUMENTS: usize = 64 << 10;

/// Checks the arguments and fills in defaults. Returns them with the blobs that they name. Large
/// arguments are checked on another thread.
async fn checked_arguments(
    caller: &Caller,
    snapshot: &Arc<Snapshot>,
    args: Option<Box<RawValue>>,
) -> Result<(Box<RawValue>, Vec<BlobId>), ServiceError> {
    let given = args.unwrap_or_else(no_arguments);
    if snapshot.manifest().inputs.iter().next().is_none() {
        return Ok((given, Vec::new()));
    }
    if given.get().len() <= SMALL_ARGUMENTS {
        return fitted(snapshot.manifest(), given);
    }
    let snapshot = Arc::clone(snapshot);
    let checked = caller.memory.on_thread(move || fitted(snapshot.manifest(), given));
    checked.await.map_err(ServiceError::Interrupted)?
}

fn fitted(
    manifest: &Manifest,
    given: Box<RawValue>,
) -> Result<(Box<RawValue>, Vec<BlobId>), ServiceError> {
    let members = Members::split(given.get()).unwrap_or_default();
    let checked = check_arguments(&manifest.inputs, &members.0).map_err(|problems| {
        let name = manifest.name.to_string();
        ServiceError::Arguments { name, problems: problems.join("; ") }
    })?;
    let CheckedArguments { defaults, blobs } = checked;
    if defaults.is_empty() {
        return Ok((given, blobs));
    }
    let args = with_defaults(&members, &defaults).map_err(ServiceError::Unserialisable)?;
    Ok((args, blobs))
}

/// Returns the arguments with `defaults` added for the missing ones. Given arguments keep their
/// text, because parsing a number could change its last digit, and a map would lose their order.
fn with_defaults(
    members: &Members<'_>,
    defaults: &[(&str, &Value)],
) -> Result<Box<RawValue>, serde_json::Error> {
    let is_default = |name: &str| defaults.iter().any(|(default, _)| *default == name);
    let mut text = String::from("{");
    let mut add = |name: &str, value: fmt::Arguments<'_>| -> Result<(), serde_json::Error> {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&serde_json::to_string(name)?);
        // Writing to a string cannot fail.
        write!(text, ":{value}").map_err(serde_json::Error::custom)
    };
    for (name, value) in members.0.iter().filter(|(name, _)| !is_default(name)) {
        add(name, format_args!("{value}"))?;
    }
    for (name, value) in defaults {
        add(name, format_args!("{value}"))?;
    }
    text.push('}');
    RawValue::from_string(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::skill::{Files, SkillOrigin, check};

    /// A skill with a default for `n`, and an input `x` without one.
    fn manifest() -> Manifest {
        let manifest =
            b"name = \"a.b\"\nversion = \"1.0.0\"\ndescription = \"C.\"\nkind = \"action\"\n\
            [runtime]\nlanguage = \"python\"\nentrypoint = \"m.py\"\nexport = \"main\"\n\
            [inputs]\nn = { type = \"number\", default = 0.1 }\nx = { type = \"number\" }\n";
        let document = b"---\nname: A\nshort_description: B\n---\nC\n";
        let files = Files::from([
            ("skill.toml", manifest.as_slice()),
            ("SKILL.md", document),
            ("m.py", b"def main(args): ..."),
        ]);
        check("a.b", &files, SkillOrigin::Folder).skill.unwrap().manifest
    }

    fn passed_on(args: &str) -> String {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        fitted(&manifest(), args).unwrap().0.get().to_owned()
    }

    #[test]
    fn arguments_keep_their_text_when_defaults_are_filled_in() {
        for (given, expected) in [
            ("{}", r#"{"n":0.1}"#),
            (r#"{"n": null, "x": 1}"#, r#"{"x":1,"n":0.1}"#),
            (r#"{"z": 1e2, "x": -0, "n": 2.50}"#, r#"{"z": 1e2, "x": -0, "n": 2.50}"#),
            (r#"{"x": 1844674407.09551616}"#, r#"{"x":1844674407.09551616,"n":0.1}"#),
            (
                r#"{"b": {"z": 1.0, "a": [1]}, "a": "\u00e9"}"#,
                r#"{"b":{"z": 1.0, "a": [1]},"a":"\u00e9","n":0.1}"#,
            ),
        ] {
            assert_eq!(passed_on(given), expected);
        }
    }
}
