//! Checks the Python of skills for `wardian skills check`. A program in the sandbox parses it,
//! because only the interpreter of the engine knows its syntax and packages. No code of the skill
//! is run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use tempfile::TempDir;

use crate::assembly::{self, MeteredCode, Runtime};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{block_on_until_interrupted, on_its_own, start_once};
use wardian_config::Config;
use wardian_engine::code::instrumentation::Variant;
use wardian_formats::protocol::methods::execution::RunStatus;
use wardian_formats::skill::diagnostic::{Diagnostic, Problem, Severity};
use wardian_service::{Caller, LocalProgram, LocalRun};
use wardian_skills::packages::lock::Lock;
use wardian_skills::packages::{
    GuestPlatform, LayerStore, NeedsError, REQUIREMENTS_FILE, SkillLists, SkillNeeds, batteries,
};
use wardian_skills::registry::FolderCheck;
use wardian_skills::registry::folders::snapshot::Snapshot;

/// The program that checks a skill's Python.
const PROGRAM: &str = include_str!("check_python.py");

/// Most Python of one skill that is checked, in bytes.
const MAX_SOURCE: usize = 8 << 20;

/// Files that other tools read as lists of packages to install.
const REQUIREMENTS: [&str; 5] =
    ["requirements.txt", "pyproject.toml", "Pipfile", "environment.yml", "setup.py"];

/// Whether the Python of skills was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It was checked, or there is none.
    Yes,
    /// It was not checked, for this reason.
    No(String),
    /// Ctrl-C ended the check.
    Interrupted,
}

/// The arguments of the program.
#[derive(Serialize)]
struct Source<'s> {
    files: BTreeMap<&'s str, &'s str>,
    entrypoint: &'s str,
    export: &'s str,
    /// Modules of the skill's own packages; `*` if they are not on this machine.
    provided: &'s [String],
}

/// The result of the program.
#[derive(Deserialize)]
struct Report {
    findings: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    severity: String,
    code: String,
    file: String,
    line: usize,
    column: usize,
    end: usize,
    message: String,
    help: Option<String>,
}

/// Adds the findings about the Python of each skill that has no errors yet.
pub(crate) fn check_python(config: Config, checks: &mut [FolderCheck]) -> Result<Looked, Failed> {
    let guest = assembly::guest_of(&config).ok().flatten();
    for check in &mut *checks {
        let snapshot = check.snapshot.clone();
        if let Some(snapshot) = snapshot {
            check.diagnostics.extend(requirements(guest.as_ref(), &snapshot));
            check
                .diagnostics
                .extend(guest.as_ref().and_then(|guest| needs(&config, guest, &snapshot)));
        }
    }
    let store = assembly::layer_store(&config);
    let has_python = |check: &FolderCheck| check.snapshot.as_deref().is_some_and(is_action);
    if !checks.iter().any(has_python) {
        return Ok(Looked::Yes);
    }
    let is_ready = assembly::open_engine(&config).and_then(|one| Ok(one.is_ready(Variant::Timed)?));
    match is_ready {
        Ok(true) => {}
        Ok(false) => {
            let why = "the engine is not installed: run `wardian engine install`";
            return Ok(Looked::No(why.to_owned()));
        }
        Err(fault) => return Ok(Looked::No(Failed::from(fault).to_string())),
    }
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let mut config = on_its_own(config, &folder);
    // The check does not need the served skills.
    config.skills.roots = Vec::new();
    let mut looked = Looked::Yes;
    let ended = block_on_until_interrupted(Box::pin(async {
        let runtime = start_once(&config, MeteredCode::IfThere).await?;
        for check in &mut *checks {
            let provided = provided(&store, check);
            if let Err(why) = look_at(&runtime, check, &provided).await {
                looked = Looked::No(why);
            }
        }
        runtime.shut_down(Duration::ZERO).await;
        Ok(Exit::Done)
    }))?;
    Ok(if ended == Exit::Interrupted { Looked::Interrupted } else { looked })
}

fn is_action(snapshot: &Snapshot) -> bool {
    snapshot.manifest().runtime.is_some()
}

/// Lists of packages, which are never installed.
fn requirements(guest: Option<&GuestPlatform>, snapshot: &Snapshot) -> Vec<Diagnostic> {
    let is_list = |path: &str| REQUIREMENTS.contains(&path.rsplit('/').next().unwrap_or(path));
    let lists = snapshot.files().iter().filter(|file| is_list(&file.path));
    // Those of scripts are locked together where the skill has no list for its entrypoint.
    let has_own = snapshot.read_file(REQUIREMENTS_FILE).is_ok();
    let are_locked = !has_own && snapshot.read_file("pylock.toml").is_ok();
    let is_read = |path: &str| {
        path == REQUIREMENTS_FILE
            || are_locked && path.rsplit('/').next() == Some("requirements.txt")
    };
    let lists = lists.filter(|file| !is_read(&file.path));
    let lists =
        lists.filter(|file| !guest.is_some_and(|guest| is_there(guest, snapshot, &file.path)));
    let told = lists.map(|file| {
        let message = "nothing is installed from it";
        let help = if has_own {
            "add its packages to `code/requirements.txt`, and lock them with `wardian skills deps \
             lock FOLDER`"
        } else {
            "lock its packages with `wardian skills deps lock FOLDER`"
        };
        let problem = Problem::new("requirements-ignored", message).help(help);
        Diagnostic::about(Severity::Warning, &file.path, problem)
    });
    told.collect()
}

/// True if every run has all packages of a `requirements.txt`.
fn is_there(guest: &GuestPlatform, snapshot: &Snapshot, path: &str) -> bool {
    let (Ok(text), Ok(batteries)) = (snapshot.read_file(path), batteries::lock()) else {
        return false;
    };
    let needs = || SkillNeeds::of(Some(text), None, guest, &batteries);
    path.rsplit('/').next() == Some("requirements.txt")
        && matches!(needs(), SkillNeeds::Nothing | SkillNeeds::Batteries)
}

/// The state of the packages that a skill needs.
fn needs(config: &Config, guest: &GuestPlatform, snapshot: &Snapshot) -> Option<Diagnostic> {
    let (severity, code, message, help) = match needs_of(guest, snapshot) {
        SkillNeeds::Nothing | SkillNeeds::Batteries => return None,
        SkillNeeds::Unknown(error) => {
            let code = match error {
                NeedsError::NotLocked { .. } => "lock-missing",
                NeedsError::Stale | NeedsError::OtherEngine { .. } => "lock-stale",
                _ => "lock-malformed",
            };
            let help = "the skill does not run without its packages";
            (Severity::Error, code, error.to_string(), help)
        }
        SkillNeeds::Layer { key, .. } if assembly::layer_store(config).has(key) => return None,
        SkillNeeds::Layer { .. } => {
            let message = "its packages are not installed on this machine".to_owned();
            (Severity::Warning, "layer-missing", message, "`wardian skills deps sync` fetches them")
        }
    };
    Some(Diagnostic::about(severity, REQUIREMENTS_FILE, Problem::new(code, message).help(help)))
}

fn needs_of(guest: &GuestPlatform, snapshot: &Snapshot) -> SkillNeeds {
    let Ok(batteries) = batteries::lock() else { return SkillNeeds::Nothing };
    SkillLists::of(snapshot.contents()).needs(guest, &batteries)
}

/// The modules that the locked packages of a skill provide.
fn provided(store: &LayerStore, check: &FolderCheck) -> Vec<String> {
    let Some(snapshot) = &check.snapshot else { return Vec::new() };
    let lists = SkillLists::of(snapshot.contents());
    if lists.is_empty() {
        return Vec::new();
    }
    let lock = lists.lock().and_then(|text| Lock::parse(text).ok());
    let layer = lock.and_then(|lock| lock.layer()).and_then(|key| store.open(key).ok().flatten());
    let Some(index) = layer.and_then(|layer| layer.content.index().ok()) else {
        // What is not there cannot be distinguished from what is misspelt.
        return vec!["*".to_owned()];
    };
    let tops = index.files.iter().filter_map(|(path, _)| {
        let top = path.split('/').next().unwrap_or(path);
        (!top.ends_with(".dist-info")).then(|| top.trim_end_matches(".py").to_owned())
    });
    let mut tops: Vec<String> = tops.collect();
    tops.dedup();
    tops
}

/// Checks the Python of one skill. An error is the reason why it cannot be checked.
async fn look_at(
    runtime: &Runtime,
    check: &mut FolderCheck,
    provided: &[String],
) -> Result<(), String> {
    let Some(snapshot) = check.snapshot.clone().filter(|snapshot| is_action(snapshot)) else {
        return Ok(());
    };
    let Some(manifest) = snapshot.manifest().runtime.as_ref() else { return Ok(()) };
    let mut files = BTreeMap::new();
    let mut size: usize = 0;
    for file in snapshot.files().iter().filter(|file| file.path.ends_with(".py")) {
        let bytes = snapshot.read_file(&file.path).map_err(|fault| fault.to_string())?;
        size = size.saturating_add(bytes.len());
        // Python can read other encodings that a file declares. Such files are not checked.
        if let Ok(text) = std::str::from_utf8(bytes) {
            files.insert(file.path.as_str(), text);
        }
    }
    if size > MAX_SOURCE {
        return Err(format!("`{}` has more than 8 MiB of Python", snapshot.name()));
    }
    let (entrypoint, export) = (manifest.entrypoint.as_str(), manifest.export.as_str());
    let args = to_raw_value(&Source { files: files.clone(), entrypoint, export, provided });
    let program =
        LocalProgram::File { source: PROGRAM.to_owned(), file_name: "check_python.py".to_owned() };
    let request = LocalRun {
        entrypoint: Some("main".to_owned()),
        args: args.map_err(|fault| fault.to_string())?,
        ..LocalRun::new(program)
    };
    let ended = runtime.service.run_file(&Caller::local("check"), request).await;
    let ended = ended.map_err(|fault| fault.to_string())?;
    let output = match (ended.result.status, &ended.output_blob) {
        (RunStatus::Failed | RunStatus::Waiting, _) => {
            return Err(format!("`{}`: {}", snapshot.name(), ended.result.summary));
        }
        (RunStatus::Completed, Some(id)) => {
            crate::cli::commands::blobs::read_text_blob(&runtime.blobs, id)
                .map_err(|e| e.to_string())?
        }
        (RunStatus::Completed, None) => {
            ended.result.output.map(|output| output.get().to_owned()).unwrap_or_default()
        }
    };
    let report: Report = serde_json::from_str(&output).map_err(|fault| fault.to_string())?;
    // The warning was a guess from the text; the program has checked the export itself.
    check.diagnostics.retain(|one| one.code != "export-missing");
    let texts: Vec<(String, String)> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let found = report.findings.iter().map(|found| diagnostic(found, &files));
    check.diagnostics.extend(found.collect::<Vec<_>>());
    check.add_texts(texts);
    Ok(())
}

fn diagnostic(found: &Found, files: &BTreeMap<&str, &str>) -> Diagnostic {
    let code = CODES.iter().find(|code| **code == found.code).copied().unwrap_or("python");
    let severity = if found.severity == "error" { Severity::Error } else { Severity::Warning };
    let problem = Problem::new(code, found.message.clone()).maybe_help(found.help.clone());
    let text = files.get(found.file.as_str()).copied().unwrap_or_default();
    let about_file = found.code.starts_with("shadows") || found.code == "export-missing";
    let diagnostic = Diagnostic::about(severity, &found.file, problem);
    if about_file {
        return diagnostic;
    }
    diagnostic.at(text, &span_of(text, found.line, found.column, found.end))
}

/// The bytes of some columns of a line.
fn span_of(text: &str, line: usize, column: usize, end: usize) -> std::ops::Range<usize> {
    let before = text.split_inclusive('\n').take(line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    let rest = rest.lines().next().unwrap_or_default();
    let byte_of = |column: usize| {
        rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at).saturating_add(start)
    };
    let first = byte_of(column);
    first..byte_of(end.max(column.saturating_add(1))).max(first)
}

/// Names of the rules that the program knows.
const CODES: [&str; 5] =
    ["python-syntax", "package-missing", "export-missing", "shadows-library", "shadows-package"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_within_its_line() {
        let text = "é = 1\nimport x, y\n";
        assert_eq!(text.get(span_of(text, 2, 7, 8)), Some("x"));
        assert_eq!(text.get(span_of(text, 1, 0, 1)), Some("é"));
        assert_eq!(text.get(span_of(text, 2, 90, 95)), Some(""));
        assert_eq!(text.get(span_of(text, 90, 1, 2)), Some(""));
    }
}
