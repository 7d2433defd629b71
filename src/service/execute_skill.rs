//! `execute_skill`: runs the entrypoint of a skill.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::ids::BlobId;
use crate::job::{KeepFiles, Program};
use crate::protocol::execution::{ExecuteSkillParams, RunResult};
use crate::protocol::members::{Members, Sort};
use crate::service::run::Plan;
use crate::service::run_code::no_arguments;
use crate::service::{Caller, Service, ServiceError, left_files};
use crate::skill::arguments::{blobs_among, check_arguments};
use crate::skill::inputs::Inputs;
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
        let mut plan =
            plan.await?.with_blobs(&params.input_blobs)?.limited(&self.limits, &limits)?;
        plan.keep_files = left_files::kept(params.keep_files);
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
        let (keep_files, limits) = (KeepFiles::default(), self.limits.default);
        Ok(Plan { program, entrypoint, args, skills, blobs, keep_files, limits })
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
    let read: Map<String, Value> =
        serde_json::from_str(given.get()).map_err(ServiceError::Unserialisable)?;
    let checked = check_arguments(inputs, read).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let name = manifest.name.to_string();
        ServiceError::Arguments { name, problems: problems.join("; ") }
    })?;
    let blobs = blobs_among(inputs, &checked);
    let args = with_defaults(given, inputs, &checked).map_err(ServiceError::Unserialisable)?;
    Ok((args, blobs))
}

/// `given` with the defaults that `checked` has and it has not. All else stays the text that it
/// was, because reading a number may change its last digit, and a table forgets its order.
fn with_defaults(
    given: Box<RawValue>,
    inputs: &Inputs,
    checked: &Map<String, Value>,
) -> Result<Box<RawValue>, serde_json::Error> {
    let members = Members::split(given.get()).unwrap_or_default();
    let is_given =
        |name: &str| members.find(name).is_some_and(|value| Sort::of(value) != Sort::Null);
    let defaults: Vec<(&str, &Value)> = inputs
        .iter()
        .filter(|input| !is_given(&input.name))
        .filter_map(|input| Some((input.name.as_str(), checked.get(&input.name)?)))
        .filter(|(_, value)| !value.is_null())
        .collect();
    if defaults.is_empty() {
        return Ok(given);
    }
    let is_default = |name: &str| defaults.iter().any(|(default, _)| *default == name);
    let kept = members.0.iter().filter(|(name, _)| !is_default(name));
    let kept = kept.map(|(name, value)| Ok(format!("{}:{value}", serde_json::to_string(name)?)));
    let added = defaults
        .iter()
        .map(|(name, value)| Ok(format!("{}:{value}", serde_json::to_string(name)?)));
    let all: Result<Vec<String>, serde_json::Error> = kept.chain(added).collect();
    RawValue::from_string(format!("{{{}}}", all?.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::{Files, Origin, check};

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
        check("a.b", &files, Origin::Folder).skill.unwrap().manifest
    }

    fn passed_on(args: &str) -> String {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        checked_arguments(&manifest(), Some(args)).unwrap().0.get().to_owned()
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
