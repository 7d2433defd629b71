//! Where the model's tools run: a local server with the skill or without it, and a session for each run.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::cli::commands::skills::evals::cases::case_file::{Case, Configuration};
use crate::cli::commands::skills::evals::conversation::ModelTool;
use crate::cli::failed::Failed;
use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_formats::protocol::tools::{ToolFormat, described};
use wardian_skills::registry::check_folder;

/// The tools that a model gets, and the parameters of each: those that need a client are left out.
const OFFERED: [(&str, &[&str]); 5] = [
    ("list_skills", &["detail", "namespace", "limit", "cursor"]),
    ("describe_skill", &["name", "version", "detail"]),
    ("read_skill_file", &["name", "version", "path"]),
    ("execute_skill", &["name", "version", "args", "script", "argv", "stdin", "env", "timeout_ms"]),
    ("run_code", &["language", "code", "timeout_ms"]),
];

/// The members of a result that tell a model something.
const OF_RESULTS: [&str; 9] = [
    "status",
    "output",
    "error",
    "exit_code",
    "stdout",
    "stderr",
    "logs_preview",
    "files",
    "summary",
];

/// Maximum number of bytes of an answer of the server.
const MAX_ANSWER: u64 = 64 << 20;

/// Maximum number of bytes of all files of a run.
const MAX_FILES: u64 = 64 << 20;

/// Most characters of the result of a tool.
const MAX_RESULT: usize = 40_000;

/// Most levels of folders of a skill.
const MAX_DEPTH: usize = 16;

/// The time for an answer beyond that of the program.
const PATIENCE: Duration = Duration::from_secs(60);

/// A copy of the skill without its cases, which a model must not read.
#[derive(Debug)]
pub(super) struct SkillCopy {
    pub(super) name: String,
    /// Has a folder of skills for each configuration.
    pub(super) root: PathBuf,
}

impl SkillCopy {
    /// Copies the skill in `folder` to a new folder below `parent`.
    pub(super) fn create(folder: &Path, parent: &Path) -> Result<Self, Failed> {
        let named = |fault: &std::io::Error| Failed::named(folder.display(), fault);
        let check = check_folder(folder).map_err(|e| Failed::named(folder.display(), &e))?;
        let Some(snapshot) = &check.snapshot else {
            let folder = folder.display();
            let advice = format!("{folder}: the skill has errors: `wardian skills check {folder}`");
            return Err(Failed::usage(advice));
        };
        let (name, root) = (snapshot.name().to_string(), parent.join("skills"));
        for configuration in Configuration::BOTH {
            fs::create_dir_all(root.join(configuration.name())).map_err(|fault| named(&fault))?;
        }
        let target = root.join(Configuration::With.name()).join(&name);
        copy(folder, &target, MAX_DEPTH).map_err(|fault| named(&fault))?;
        let cases = fs::remove_dir_all(target.join("evals"));
        cases.map_err(|fault| named(&fault))?;
        Ok(Self { name, root })
    }
}

/// Copies files and folders. Links and hidden files are left out, as the server leaves them out.
fn copy(from: &Path, to: &Path, depth: usize) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() && depth > 0 {
            copy(&entry.path(), &to.join(name), depth - 1)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), to.join(name))?;
        }
    }
    Ok(())
}

/// A server.
#[derive(Debug)]
pub(super) struct EvalServer {
    agent: Agent,
    url: String,
    /// The skill, if the server has it.
    skill: Option<String>,
    /// What a model is told about the skill before it reads it.
    description: String,
}

/// A session for one run.
#[derive(Debug)]
pub(super) struct CaseSession<'a> {
    server: &'a EvalServer,
    id: String,
}

/// A file of the working folder.
#[derive(Debug, Clone)]
pub(super) struct WorkFile {
    pub(super) path: String,
    pub(super) content: Vec<u8>,
}

#[derive(Deserialize)]
struct Listed {
    files: Vec<ListedFile>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct ListedFile {
    path: String,
    kind: String,
    #[serde(default)]
    size_bytes: u64,
}

impl EvalServer {
    /// The server at `url`, which has `skill` or not.
    pub(super) fn open(url: &str, skill: Option<&str>) -> Result<Self, Failed> {
        let config = Agent::config_builder().http_status_as_error(false).max_redirects(0);
        let agent = config.build().into();
        let mut server = Self {
            agent,
            url: url.to_owned(),
            skill: skill.map(str::to_owned),
            description: String::new(),
        };
        if let Some(skill) = skill {
            let told = server.rpc("describe_skill", &json!({"name": skill}), PATIENCE)?;
            let told = told.map_err(Failed::because)?;
            let description = told.pointer("/skill/manifest/description").and_then(Value::as_str);
            description.unwrap_or_default().clone_into(&mut server.description);
        }
        Ok(server)
    }

    /// What a model is told first.
    pub(super) fn system(&self) -> String {
        let mut text = "You solve a task with tools. `run_code` executes Python in a session: variables and the files \
             in the working folder `/workspace` stay between calls. Other programs do not exist. Leave files that the \
             task asks for in the working folder. When the task is done, answer without a call of a tool."
            .to_owned();
        if let Some(skill) = &self.skill {
            text.push_str(&format!(
                "\n\nThis skill is available: `{skill}`: {}\nIf it fits the task, read it with `describe_skill` \
                 (`detail`: `full`) and `read_skill_file`, and follow it. Its files are in `/skills/{skill}/`; \
                 `execute_skill` runs its scripts in the same working folder.",
                self.description
            ));
        }
        text
    }

    /// A new session with the files of a case.
    pub(super) fn session(&self, case: &Case) -> Result<CaseSession<'_>, Failed> {
        let mounted: Vec<&str> = self.skill.as_deref().into_iter().collect();
        let body = json!({"label": "wardian skills eval", "mount_skills": mounted}).to_string();
        let request = self.agent.post(format!("{}/v1/sessions", self.url));
        let answer = request.header("content-type", "application/json").send(body.as_bytes());
        let made: Value = self.json(answer)?;
        let id = made.get("id").and_then(Value::as_str).ok_or_else(|| self.misread())?.to_owned();
        let session = CaseSession { server: self, id };
        for file in &case.files {
            let answer = self.agent.put(session.address(&file.path)).send(file.content.as_slice());
            drop::<Value>(self.json(answer)?);
        }
        Ok(session)
    }

    /// Calls a method: its result, or the refusal.
    fn rpc(
        &self,
        method: &str,
        params: &Value,
        patience: Duration,
    ) -> Result<Result<Value, String>, Failed> {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.agent.post(format!("{}/rpc", self.url));
        let request = request.config().timeout_global(Some(patience)).build();
        let request = request.header("content-type", "application/json");
        let answer = request.send(call.to_string().as_bytes());
        let answer = answer.map_err(|fault| self.unreachable(&fault))?;
        let mut answer: Value =
            serde_json::from_str(&text_of(answer)?).map_err(|_malformed| self.misread())?;
        if let Some(error) = answer.get("error") {
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            return Ok(Err(message.to_owned()));
        }
        answer.get_mut("result").map(|result| Ok(result.take())).ok_or_else(|| self.misread())
    }

    fn json<T: serde::de::DeserializeOwned>(
        &self,
        answer: Result<Response<Body>, ureq::Error>,
    ) -> Result<T, Failed> {
        let answer = answer.map_err(|fault| self.unreachable(&fault))?;
        let is_good = answer.status().is_success();
        let text = text_of(answer)?;
        if !is_good {
            return Err(Failed::because(format!("the local server refuses: {text}")).harmless());
        }
        serde_json::from_str(&text).map_err(|_malformed| self.misread())
    }

    fn unreachable(&self, fault: &ureq::Error) -> Failed {
        Failed::because(format!("could not call the local server {}: {fault}", self.url))
    }

    fn misread(&self) -> Failed {
        Failed::because("the local server does not answer as expected")
    }
}

impl CaseSession<'_> {
    /// What a model is told first.
    pub(super) fn system(&self) -> String {
        self.server.system()
    }

    /// Calls a tool for the model: its result as text, and whether it is an error.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: Value,
        deadline: Instant,
    ) -> Result<(String, bool), Failed> {
        let Some((_, parameters)) = OFFERED.iter().find(|(name, _)| *name == tool) else {
            return Ok((format!("no tool has the name `{tool}`"), true));
        };
        let Value::Object(mut arguments) = arguments else {
            return Ok(("the arguments have to be an object".to_owned(), true));
        };
        if let Some(other) = arguments.keys().find(|name| !parameters.contains(&name.as_str())) {
            return Ok((format!("`{tool}` has no parameter `{other}`"), true));
        }
        // Skills with an entrypoint run outside of sessions.
        if tool == "run_code" || (tool == "execute_skill" && arguments.contains_key("script")) {
            arguments.insert("session".to_owned(), json!(self.id));
        }
        if tool == "run_code" {
            arguments.entry("language").or_insert_with(|| json!("python"));
        }
        let rest = deadline.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Ok(("there was no time left".to_owned(), true));
        }
        if let Some(timeout) = arguments.get_mut("timeout_ms") {
            let most = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX).max(1);
            *timeout = timeout.as_u64().map_or_else(|| timeout.clone(), |ms| ms.min(most).into());
        }
        let ended = self.server.rpc(tool, &Value::Object(arguments), rest + PATIENCE)?;
        Ok(match ended {
            Ok(result) => {
                let is_error = result.get("status").is_some_and(|status| status != "completed");
                (cut(&told(result).to_string(), MAX_RESULT), is_error)
            }
            Err(refusal) => (refusal, true),
        })
    }

    /// Executes code for a check: the value of its last expression, or why there is none.
    pub(super) fn compute(&self, code: &str) -> Result<Result<Value, String>, Failed> {
        let params = json!({"language": "python", "code": code, "session": self.id});
        let ended = self.server.rpc("run_code", &params, PATIENCE)?;
        Ok(ended.and_then(|mut result| {
            if result.get("status").is_some_and(|status| status == "completed") {
                let output = result.get_mut("output").map(Value::take).unwrap_or_default();
                return Ok(unwrapped(output));
            }
            let error = result.get("error").cloned().unwrap_or_default();
            let part = |name| error.get(name).and_then(Value::as_str).unwrap_or_default();
            Err(format!("{}: {}", part("type"), part("message")))
        }))
    }

    /// The files of the working folder, up to a bound on their size; and the paths of those beyond it.
    pub(super) fn files(&self) -> Result<(Vec<WorkFile>, Vec<String>), Failed> {
        let (mut files, mut left_out) = (Vec::new(), Vec::new());
        let (mut cursor, mut size) = (String::new(), 0_u64);
        loop {
            let address =
                format!("{}/v1/sessions/{}/files?limit=1000{cursor}", self.server.url, self.id);
            let page: Listed = self.server.json(self.server.agent.get(&address).call())?;
            for file in page.files {
                if file.kind != "file" {
                    continue;
                }
                size = size.saturating_add(file.size_bytes);
                if size > MAX_FILES {
                    left_out.push(file.path);
                    continue;
                }
                let answer = self.server.agent.get(self.address(&file.path)).call();
                let answer = answer.map_err(|fault| self.server.unreachable(&fault))?;
                if !answer.status().is_success() {
                    left_out.push(file.path);
                    continue;
                }
                let mut content = Vec::new();
                let read =
                    answer.into_body().into_reader().take(MAX_FILES).read_to_end(&mut content);
                read.map_err(|fault| Failed::at("read a file of a session", &fault))?;
                files.push(WorkFile { path: file.path, content });
            }
            match page.next_cursor {
                Some(next) => cursor = format!("&cursor={}", escaped(&next)),
                None => return Ok((files, left_out)),
            }
        }
    }

    /// Ends the session. One that cannot be closed ends with the server.
    pub(super) fn close(self) {
        self.server
            .agent
            .delete(format!("{}/v1/sessions/{}", self.server.url, self.id))
            .call()
            .ok();
    }

    fn address(&self, path: &str) -> String {
        let path: Vec<String> = path.split('/').map(escaped).collect();
        format!("{}/v1/sessions/{}/files/{}", self.server.url, self.id, path.join("/"))
    }
}

/// The tools, as they are described to a model.
pub(super) fn offered_tools() -> Vec<ModelTool> {
    let all = described(ToolFormat::Plain, LimitBounds::ANY);
    let all: Vec<Value> = all.iter().map(|tool| json!(tool)).collect();
    let tool = |(name, parameters): (&str, &[&str])| {
        let found = all.iter().find(|tool| tool.get("name").is_some_and(|has| has == name))?;
        let mut schema = found.get("parameters")?.clone();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| parameters.contains(&name.as_str()));
        }
        let description = found.get("description")?.as_str()?.to_owned();
        Some(ModelTool { name: name.to_owned(), description, parameters: schema })
    };
    OFFERED.into_iter().filter_map(tool).collect()
}

/// What a model is told of a result.
fn told(result: Value) -> Value {
    let Value::Object(members) = result else { return result };
    if !members.contains_key("run_id") {
        return Value::Object(members);
    }
    let is_empty = |value: &Value| {
        value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty)
    };
    let told = members
        .into_iter()
        .filter(|(name, value)| OF_RESULTS.contains(&name.as_str()) && !is_empty(value));
    Value::Object(told.collect::<Map<_, _>>())
}

/// The value of a cell, which is in an object unless it is one.
pub(super) fn unwrapped(output: Value) -> Value {
    match output {
        Value::Object(mut members) if members.len() == 1 && members.contains_key("result") => {
            members.remove("result").unwrap_or_default()
        }
        other => other,
    }
}

/// The beginning and the end of a text that is too long.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, tail) =
        (text.floor_char_boundary(most / 2), text.ceil_char_boundary(text.len() - most / 2));
    let parts = (text.get(..head).unwrap_or_default(), text.get(tail..).unwrap_or_default());
    format!("{}\n[{} bytes are left out]\n{}", parts.0, tail - head, parts.1)
}

/// A part of a path in a URL.
fn escaped(part: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    part.bytes().fold(String::new(), |mut text, byte| {
        match is_plain(byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}

fn text_of(answer: Response<Body>) -> Result<String, Failed> {
    let mut text = String::new();
    let read = answer.into_body().into_reader().take(MAX_ANSWER).read_to_string(&mut text);
    read.map_err(|fault| Failed::at("read the answer of the local server", &fault))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_have_only_what_a_model_can_use() {
        let tools = offered_tools();
        assert_eq!(tools.len(), OFFERED.len());
        for (tool, (_, parameters)) in tools.iter().zip(OFFERED) {
            let properties = tool.parameters["properties"].as_object().unwrap();
            assert!(!properties.is_empty() && !properties.contains_key("session"), "{tool:?}");
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            for parameter in parameters {
                assert!(known.contains(parameter), "{}: {parameter}", tool.name);
            }
        }
    }

    #[test]
    fn a_copy_has_no_cases() {
        let folder = tempfile::tempdir().unwrap();
        let skill = folder.path().join("notes");
        fs::create_dir_all(skill.join("evals/files")).unwrap();
        fs::create_dir_all(skill.join("scripts")).unwrap();
        fs::write(skill.join("SKILL.md"), "---\nname: notes\ndescription: Notes.\n---\n").unwrap();
        fs::write(skill.join("scripts/a.py"), "print(1)\n").unwrap();
        fs::write(skill.join("evals/evals.json"), "{}").unwrap();
        let parent = tempfile::tempdir().unwrap();
        let copy = SkillCopy::create(&skill, parent.path()).unwrap();
        let at = copy.root.join("with_skill/notes");
        assert!(at.join("scripts/a.py").is_file() && !at.join("evals").try_exists().unwrap());
        assert_eq!(fs::read_dir(copy.root.join("without_skill")).unwrap().count(), 0);
    }

    #[test]
    fn long_results_keep_their_beginning_and_end() {
        let text = format!("a{}z", "é".repeat(100));
        let short = cut(&text, 20);
        assert!(short.starts_with("aé") && short.ends_with("éz") && short.contains("left out"));
        assert_eq!(cut("short", 20), "short");
    }
}
