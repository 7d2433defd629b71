//! `execute_skill` with `script`: runs one of a skill's Python files as a program, with a command line.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::authorisation::ensure_has;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::methods::run_code::no_arguments;
use crate::run::execute::log_stream::LogListener;
use crate::run::prepare::plan::Planned;
use crate::run::prepare::purpose::Bytecode;
use crate::service::Service;
use crate::sessions::order::is_new_session;
use crate::sessions::setup::setup_of;
use crate::sessions::views::session_id;
use wardian_formats::job::ScriptCall;
use wardian_formats::protocol::MethodResult;
use wardian_formats::protocol::members::{Members, string};
use wardian_formats::protocol::methods::execution::{
    ExecuteSkillParams, ReproducibleParam, RequestedLimits,
};
use wardian_formats::protocol::methods::scripts::{
    MAX_SCRIPT_ENV, MAX_SCRIPT_ENV_VALUE, MAX_STDIN,
};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::skill::manifest::SkillKind;
use wardian_formats::skill::scripts::{can_be_called, declared_variables};
use wardian_skills::registry::SeenSkill;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_stores::tenants::Right;

/// Most names that a message lists.
const MAX_NAMED: usize = 20;

/// A sign that no argument, variable or text of a process can have.
const NUL: char = '\0';

/// Takes the call of a script out of the parameters of its call, if it has one. Which script it is and
/// which variables it may have is not checked yet: both depend on the skill.
pub(super) fn asked_script(
    params: &mut ExecuteSkillParams,
) -> Result<Option<ScriptCall>, ParamsError> {
    let Some(path) = params.script.take() else {
        let set = [
            ("argv", !params.argv.is_empty()),
            ("stdin", params.stdin.is_some()),
            ("env", params.env.is_some()),
            ("session", params.session.is_some()),
        ];
        return match set.into_iter().find(|(_, is_set)| *is_set) {
            Some((name, _)) => {
                Err(ParamsError::wrong(name, "left out in a call without `script`", "a value"))
            }
            None => Ok(None),
        };
    };
    if params.tools.as_ref().is_some_and(|tools| !tools.is_empty()) {
        let expected = "left out in a call with `script`: a script has no tools";
        return Err(ParamsError::wrong("tools", expected, "a list"));
    }
    let argv = std::mem::take(&mut params.argv);
    if let Some(at) = argv.iter().position(|word| word.contains(NUL)) {
        let expected = "a string without the sign NUL";
        return Err(ParamsError::wrong(&format!("argv[{at}]"), expected, "one with it"));
    }
    let stdin = params.stdin.take();
    let env = params.env.take().map(|env| variables(&env)).transpose()?.unwrap_or_default();
    Ok(Some(ScriptCall { path, argv, stdin, env }))
}

/// The variables of a call.
fn variables(env: &RawValue) -> Result<BTreeMap<String, String>, ParamsError> {
    let members = Members::split(env.get()).unwrap_or_default().0;
    if members.len() > MAX_SCRIPT_ENV {
        let expected = format!("an object of at most {MAX_SCRIPT_ENV} variables");
        return Err(ParamsError::wrong("env", expected, members.len().to_string()));
    }
    let mut variables = BTreeMap::new();
    for (name, value) in members {
        let text =
            string(value).filter(|text| text.len() <= MAX_SCRIPT_ENV_VALUE && !text.contains(NUL));
        let Some(text) = text else {
            let shown: String = name.chars().take(MAX_NAMED).collect();
            let expected =
                format!("a string of at most {MAX_SCRIPT_ENV_VALUE} bytes without the sign NUL");
            return Err(ParamsError::wrong(&format!("env.{shown}"), expected, "another value"));
        };
        variables.insert(name.into_owned(), text.into_owned());
    }
    Ok(variables)
}

impl Service {
    /// Plans the run of a script, without the blobs of its call.
    pub(crate) async fn plan_script(
        &self,
        caller: &Caller,
        (name, version): (&str, Option<&str>),
        (script, args): (ScriptCall, Option<Box<RawValue>>),
        requested: &RequestedLimits,
        reproducible: Option<ReproducibleParam>,
    ) -> Result<Planned, ServiceError> {
        let seen = self.find_skill(caller, name, version)?;
        let script = Box::new(checked_script(&seen.snapshot, script)?);
        let policy = self.policy.limits.for_caller(caller.limits).for_reproducible(reproducible);
        let limits = policy.resolve(requested)?;
        let planned = self.plan_of(caller, &seen, Some(script), limits).await?;
        let args = args.unwrap_or_else(no_arguments);
        // No folder of the call is among those from which a script imports, but a child of it may search
        // its current folder, so the code of a caller that may run none stays out, and so does any code
        // that could use the rights of the skill.
        let refuses_modules = match rights_of(&seen) {
            Some(rights) => Some(rights.no_modules),
            None if caller.rights.contains(Right::Code) => None,
            None => Some("because the key lacks the scope `code`, and the script could run them"),
        };
        // Nothing imports the files of a script past their source.
        Ok(Planned { args, refuses_modules, usual_bytecode: Bytecode::AsItIs, ..planned })
    }

    /// Runs a script as a cell of a session: the files that it leaves are there for the next one.
    pub(super) async fn execute_in_session(
        &self,
        caller: &Caller,
        mut params: ExecuteSkillParams,
        script: ScriptCall,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, ServiceError> {
        ensure_has(caller, Right::Code)?;
        refuse_what_cells_have_not(&params)?;
        let order = params.session.take().unwrap_or_default().into_order();
        let seen = match order.id.as_deref().filter(|id| !is_new_session(id)) {
            None => self.find_skill(caller, &params.name, params.version.as_deref())?,
            Some(id) => {
                let named = (params.name.as_str(), params.version.as_deref());
                let mounted = self.mounted_in_session(caller, id, named).await?;
                self.find_skill(caller, &mounted, None)?
            }
        };
        let script = checked_script(&seen.snapshot, script)?;
        ensure_has_no_rights(&seen)?;
        let found = &seen.snapshot;
        let is_new = order.id.as_deref().is_none_or(is_new_session);
        let reference = format!("{}@{}#{}", found.name(), found.version(), found.digest());
        let mounts = if is_new { vec![reference] } else { Vec::new() };
        let code = cell_of(found.name().as_str(), &script)?;
        let mut cell = params.into_cell(code, mounts);
        cell.is_script = true;
        Box::pin(self.run_cell(caller, cell, order, listener)).await
    }

    /// The `name@version#digest` of a skill that a session of the caller mounts. A version of the call must
    /// be the mounted one.
    async fn mounted_in_session(
        &self,
        caller: &Caller,
        id: &str,
        (name, version): (&str, Option<&str>),
    ) -> Result<String, ServiceError> {
        let session = self.sessions().store()?.find(&caller.tenant, &session_id(id)?).await?;
        let asked = version.map_or_else(|| name.to_owned(), |version| format!("{name}@{version}"));
        let plain = asked.split(['@', '#']).next().unwrap_or_default();
        let setup = setup_of(&session)?;
        let names = setup.skills.iter().map(|skill| skill.split('@').next().unwrap_or_default());
        let Some(at) = names.clone().position(|mounted| mounted == plain) else {
            let mounted: Vec<String> = names.map(|name| format!("`{name}`")).collect();
            let expected = match mounted.is_empty() {
                true => "a session that mounts the skill, which this one does not: its first call \
                         decides that, with `mount_skills` or with `session` \"new\""
                    .to_owned(),
                false => format!(
                    "a session that mounts the skill: this one mounts {}",
                    mounted.join(", ")
                ),
            };
            return Err(ParamsError::wrong("session", expected, id).into());
        };
        let mounted = setup.skills.into_iter().nth(at).unwrap_or_default();
        if asked != plain && !mounted.starts_with(&asked) {
            let expected = "left out, or the version that the session mounts";
            return Err(ParamsError::wrong("version", expected, asked).into());
        }
        Ok(mounted)
    }
}

/// Checks that a skill has the script of a call and declares the variables that it sets.
pub(super) fn checked_script(
    snapshot: &Snapshot,
    mut script: ScriptCall,
) -> Result<ScriptCall, ServiceError> {
    let manifest = snapshot.manifest();
    // Its path from the folder of the skill, as a shell has it, and where programs find it.
    let mounted = format!("/skills/{}/", snapshot.name());
    let begins = ["./", &mounted].into_iter().find(|begin| script.path.starts_with(begin));
    if let Some(begin) = begins {
        script.path.drain(..begin.len());
    }
    if manifest.kind != SkillKind::Action {
        return Err(ServiceError::NotExecutable { name: snapshot.name().to_string() });
    }
    let has_entrypoint = manifest.runtime.is_some();
    let is_callable = can_be_called(&script.path, has_entrypoint);
    if !is_callable || snapshot.read_file(&script.path).is_err() {
        let expected = format!("{} of skill `{}`", scripts_in_words(snapshot), snapshot.name());
        let shown: String = script.path.chars().take(200).collect();
        let found = format!("\"{}\"", shown.escape_debug());
        return Err(ParamsError::wrong("script", expected, found).into());
    }
    if let Some(long) = script.stdin.as_ref().map(String::len).filter(|one| *one > MAX_STDIN) {
        let expected = format!("at most {MAX_STDIN} bytes of text: pass larger ones as a file");
        return Err(ParamsError::wrong("stdin", expected, long.to_string()).into());
    }
    if !script.env.is_empty() {
        let declared = declared_variables(manifest, snapshot.document());
        if let Some(other) = script.env.keys().find(|name| !declared.contains(*name)) {
            let shown: String = other.chars().take(200).collect();
            let names: Vec<String> =
                declared.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
            let expected = match names.is_empty() {
                true => format!("left out: skill `{}` declares no variables", snapshot.name()),
                false => {
                    format!("one of the variables that the skill declares: {}", names.join(", "))
                }
            };
            return Err(ParamsError::wrong(
                "env",
                expected,
                format!("\"{}\"", shown.escape_debug()),
            )
            .into());
        }
    }
    Ok(script)
}

/// The scripts of a skill as the beginning of an expectation.
pub(super) fn scripts_in_words(snapshot: &Snapshot) -> String {
    let mut paths: Vec<String> = snapshot.scripts().map(|one| format!("`{}`", one.path)).collect();
    let more = paths.len().saturating_sub(MAX_NAMED);
    paths.truncate(MAX_NAMED);
    match (paths.is_empty(), more) {
        (true, _) => "left out: there are no scripts".to_owned(),
        (false, 0) => format!("one of the scripts {}", paths.join(", ")),
        (false, more) => format!("one of the scripts {} and {more} others", paths.join(", ")),
    }
}

/// Refuses parameters that a script in a session cannot have.
fn refuse_what_cells_have_not(params: &ExecuteSkillParams) -> Result<(), ParamsError> {
    let set = [
        ("args", params.args.is_some()),
        ("strict_output", params.strict_output),
        ("detach", params.detach),
        ("idempotency_key", params.idempotency_key.is_some()),
    ];
    match set.into_iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => {
            Err(ParamsError::wrong(name, "left out in a call with `session`", "a value"))
        }
        None => Ok(()),
    }
}

/// Rights of a skill that other code must not have, in words.
struct RightsOfSkill {
    name: &'static str,
    no_modules: &'static str,
}

/// The rights that a skill has of its own, if it has any.
fn rights_of(seen: &SeenSkill) -> Option<RightsOfSkill> {
    let permissions = &seen.snapshot.manifest().permissions;
    if !permissions.network.is_empty() {
        let no_modules = "because the skill declares a network, which no other code may use";
        return Some(RightsOfSkill { name: "a network", no_modules });
    }
    let no_modules = "because the skill declares secrets, which no other code may use";
    let has_secrets = !permissions.secret_names().is_empty();
    has_secrets.then_some(RightsOfSkill { name: "secrets", no_modules })
}

/// Refuses a skill with rights of its own: other code of the session could use them.
fn ensure_has_no_rights(seen: &SeenSkill) -> Result<(), ParamsError> {
    let Some(RightsOfSkill { name, .. }) = rights_of(seen) else { return Ok(()) };
    let expected = format!(
        "left out: skill `{}` declares {name}, which code of a session must not have",
        seen.snapshot.name()
    );
    Err(ParamsError::wrong("session", expected, "a session"))
}

/// The source of the cell that runs a script. Texts of JSON are texts of Python, too.
fn cell_of(skill: &str, script: &ScriptCall) -> Result<String, ServiceError> {
    fn text(value: &impl Serialize) -> Result<String, ServiceError> {
        serde_json::to_string(value).map_err(ServiceError::Unserialisable)
    }
    let mut source = format!(
        "__import__(\"_wardian.skill_scripts\").skill_scripts.cell({}, {}, {}",
        text(&skill)?,
        text(&script.path)?,
        text(&script.argv)?
    );
    if let Some(stdin) = &script.stdin {
        source.push_str(&format!(", stdin={}", text(stdin)?));
    }
    if !script.env.is_empty() {
        source.push_str(&format!(", env={}", text(&script.env)?));
    }
    source.push(')');
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use wardian_formats::protocol::MethodCall;

    fn asked(members: &Value) -> Result<Option<ScriptCall>, String> {
        let mut call = json!({"name": "acme.a"});
        call.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let raw = serde_json::value::to_raw_value(&call).unwrap();
        let parsed = MethodCall::parse("execute_skill", Some(&raw)).map_err(|e| e.to_string())?;
        let MethodCall::ExecuteSkill(mut params) = parsed else { return Ok(None) };
        asked_script(&mut params).map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_line_is_taken_as_it_is() {
        let call = json!({
            "script": "scripts/a.py", "argv": ["-v", "-v", ""], "stdin": "x", "env": {"A": "1"},
        });
        let script = asked(&call).unwrap().unwrap();
        assert_eq!(script.argv, ["-v", "-v", ""]);
        assert_eq!((script.stdin.as_deref(), script.env["A"].as_str()), (Some("x"), "1"));
        assert_eq!(asked(&json!({})), Ok(None));
    }

    #[test]
    fn what_belongs_to_a_script_needs_one() {
        for (name, value) in [
            ("argv", json!(["x"])),
            ("stdin", json!("")),
            ("env", json!({})),
            ("session", json!("new")),
        ] {
            let refused = asked(&json!({name: value})).unwrap_err();
            assert!(refused.contains(name) && refused.contains("without `script`"), "{refused}");
        }
        for (members, words) in [
            (json!({"script": "a.py", "tools": [{"name": "f"}]}), "a script has no tools"),
            (json!({"script": "a.py", "argv": ["a\u{0}"]}), "`argv[0]` must be a string without"),
            (json!({"script": "a.py", "env": {"A": 1}}), "`env.A` must be a string"),
        ] {
            let refused = asked(&members).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn a_cell_has_the_call_as_python() {
        let script = ScriptCall {
            argv: vec!["a \"b\"\n\\".into(), "é\u{1f600}".into()],
            ..ScriptCall::of_path("scripts/a.py".into())
        };
        assert_eq!(
            cell_of("acme.a", &script).unwrap(),
            "__import__(\"_wardian.skill_scripts\").skill_scripts.cell(\"acme.a\", \
             \"scripts/a.py\", [\"a \\\"b\\\"\\n\\\\\",\"é\u{1f600}\"])"
        );
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        let script = ScriptCall { stdin: Some("x".into()), env, ..script };
        let source = cell_of("acme.a", &script).unwrap();
        assert!(source.ends_with(", stdin=\"x\", env={\"A\":\"1\"})"), "{source}");
    }
}
