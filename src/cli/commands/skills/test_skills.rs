//! `wardian skills test`: runs the tests that skills bring along.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;

use crate::assembly::{MeteredCode, OwnBlobs, Runtime};
use crate::cli::commands::blobs::read_blob;
use crate::cli::commands::run::local_program::{on_its_own, start_once};
use crate::cli::commands::skills::test_case::{
    BlobContent, CaseBlob, CaseResult, ExpectedStatus, MadeBlob, TestCase, with_ids,
};
use crate::cli::commands::skills::test_file::{case_name, parse_case, resource};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::prepare::{Installer, block_on_until_interrupted};
use crate::cli::terminal::output::{note, print_json, print_line, shown};
use wardian_config::Config;
use wardian_egress::recorded::Recording;
use wardian_formats::protocol::methods::execution::{
    ReproducibleParam, RequestedLimits, RunStatus,
};
use wardian_service::{Caller, LocalProgram, LocalResult, LocalRun, ServiceError, sole_tenant};
use wardian_skills::packages::LOCK_FILE;
use wardian_skills::packages::lock::Lock;
use wardian_skills::registry::check_folder;
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The tests of one skill.
#[derive(Debug)]
pub(crate) struct SkillTests {
    /// The skill's folder, without links.
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) digest: Digest,
    /// Names the packages that it has locked; empty for none.
    pub(crate) layer: String,
    pub(crate) cases: Vec<SkillCase>,
    /// What the skill is for a server. Nothing of a test is read elsewhere: not all names of the
    /// folder are part of the skill, and those that are not may lead to any file of this machine.
    snapshot: Arc<Snapshot>,
}

/// A test, and what identifies it.
#[derive(Debug)]
pub(crate) struct SkillCase {
    pub(crate) name: String,
    /// Digest of its text.
    pub(crate) digest: Digest,
    pub(crate) case: TestCase,
}

impl SkillTests {
    /// The content of a file below `resources` that a case names.
    ///
    /// INVARIANT(case-files): a case reads files of its skill, and no others.
    ///
    /// # Errors
    ///
    /// Says why there is none, with its path.
    pub(crate) fn file_of_case(&self, path: &str) -> Result<&[u8], String> {
        let whole = resource(path)?;
        self.snapshot.read_file(&whole).map_err(|fault| format!("{path}: {fault}"))
    }
}

/// How the cases are run.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HowToRun {
    pub(crate) reproducible: Option<ReproducibleParam>,
    /// The longest time of a run; `None` for that of the settings.
    pub(crate) timeout_ms: Option<u64>,
}

/// The end of one case.
#[derive(Debug, Default)]
pub(crate) struct CaseRun {
    pub(crate) differences: Vec<String>,
    pub(crate) duration_ms: u64,
    /// Instructions that were executed, if they were counted.
    pub(crate) fuel: Option<u64>,
    /// The result, if the case got as far as a call.
    pub(crate) ended: Option<CaseResult>,
}

impl CaseRun {
    /// A case that cannot be run.
    fn impossible(problem: &str) -> Self {
        Self { differences: vec![shown(problem)], ..Self::default() }
    }
}

/// The outcome of one case, for programs.
#[derive(Serialize)]
struct Outcome {
    skill: String,
    case: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    passed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<String>,
    duration_ms: u64,
}

/// Runs the tests of the skills in `folders`, those alone whose name contains `filter`.
pub(crate) fn test_skills(
    config: Config,
    installer: &Installer,
    folders: &[PathBuf],
    filter: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let folder = TempDir::new().map_err(|fault| Failed::at("create a temporary folder", &fault))?;
    let root = folder.path().join("skills");
    let mut malformed = Vec::new();
    let tested: Vec<SkillTests> = folders
        .iter()
        .map(|path| read_tests(path, &root, filter, &mut malformed))
        .collect::<Result<_, _>>()?;
    if !malformed.is_empty() {
        let lines = malformed.join("\n  ");
        return Err(Failed::usage(format!("no test was run; these are malformed:\n  {lines}")));
    }
    let mut config = on_its_own(config, &folder);
    // The skills are tested as they are here, whatever a server finds elsewhere.
    config.skills.roots = vec![root];
    block_on_until_interrupted(Box::pin(async {
        installer.ensure_engine(&config, MeteredCode::IfThere).await?;
        let metered = MeteredCode::IfThere;
        let runtime = start_once(&config, metered).await?;
        let ended = test_all(&runtime, &tested, filter, as_json).await;
        runtime.shut_down(Duration::ZERO).await;
        ended
    }))
}

async fn test_all(
    runtime: &Runtime,
    tested: &[SkillTests],
    filter: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failed> {
    let mut outcomes = Vec::new();
    let mut is_good = true;
    for skill in tested {
        if skill.cases.is_empty() {
            // With a filter it is enough that one of the skills has such a case.
            is_good &= filter.is_some();
            let missing = match filter {
                Some(filter) => format!("no test whose name contains `{filter}`"),
                None => "no tests in resources/tests".to_owned(),
            };
            note(&format!("{}: {missing}", skill.name));
        }
        for SkillCase { name, case, .. } in &skill.cases {
            let place = runtime.with_own_blobs(ByteCount::bytes(0))?;
            let run = run_case(&place, skill, case, &HowToRun::default()).await?;
            let CaseRun { differences, duration_ms, .. } = run;
            let passed = differences.is_empty();
            is_good &= passed;
            if !as_json {
                let word = if passed { "ok    " } else { "FAILED" };
                print_line(&format!("{word} {} {name} ({duration_ms} ms)", skill.name));
                differences.iter().for_each(|line| print_line(&format!("       {line}")));
            }
            outcomes.push(Outcome {
                skill: skill.name.clone(),
                case: name.clone(),
                description: case.description.clone(),
                passed,
                differences,
                duration_ms,
            });
        }
    }
    if as_json {
        print_json(&outcomes);
    } else {
        let passed = outcomes.iter().filter(|outcome| outcome.passed).count();
        let failed = outcomes.len().saturating_sub(passed);
        print_line(&format!("{passed} passed, {failed} failed"));
    }
    let is_good = is_good && !outcomes.is_empty();
    Ok(if is_good { Exit::Done } else { Exit::GuestFailed })
}

/// Reads the tests of the skill in `folder`, and copies the skill below `root`. The mistakes of all
/// tests go to `malformed`.
pub(crate) fn read_tests(
    folder: &Path,
    root: &Path,
    filter: Option<&str>,
    malformed: &mut Vec<String>,
) -> Result<SkillTests, Failed> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the user's own folder; nothing is contained in it"
    )]
    let whole =
        fs::canonicalize(folder).map_err(|fault| Failed::named(folder.display(), &fault))?;
    let check = check_folder(&whole).map_err(|fault| Failed::named(folder.display(), &fault))?;
    let Some(snapshot) = &check.snapshot else {
        let folder = folder.display();
        return Err(Failed::usage(format!("{folder}: has errors; see `wardian skills check`")));
    };
    copy(snapshot, root)?;
    let mut cases = Vec::new();
    for file in snapshot.files() {
        let name = case_name(&file.path);
        let Some(name) = name.filter(|name| filter.is_none_or(|part| name.contains(part))) else {
            continue;
        };
        let text = snapshot.read_file(&file.path)?;
        match parse_case(text) {
            Ok(case) => {
                cases.push(SkillCase { name: name.to_owned(), digest: Digest::of(text), case });
            }
            Err(mistakes) => {
                let shown_path = folder.join(&file.path);
                let line = |mistake: &String| format!("{}: {mistake}", shown_path.display());
                malformed.extend(mistakes.iter().map(line).map(|line| shown(&line)));
            }
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    let (name, version) = (snapshot.name().to_string(), snapshot.version().to_string());
    let lock = snapshot.read_file(LOCK_FILE).ok().and_then(|text| Lock::parse(text).ok());
    let layer = lock.and_then(|lock| lock.layer()).map(|key| key.to_string()).unwrap_or_default();
    let (digest, snapshot) = (snapshot.digest(), Arc::clone(snapshot));
    Ok(SkillTests { folder: whole, name, version, digest, layer, cases, snapshot })
}

/// Writes the files of a skill below `root`, in a folder that has the skill's name and version. Two
/// skills of one name and version are refused: the tests of both would run the same files.
fn copy(snapshot: &Snapshot, root: &Path) -> Result<(), Failed> {
    let folder = root.join(format!("{}@{}", snapshot.name(), snapshot.version()));
    let made = fs::create_dir_all(root).and_then(|()| fs::create_dir(&folder));
    made.map_err(|fault| match fault.kind() {
        io::ErrorKind::AlreadyExists => {
            let (name, version) = (snapshot.name(), snapshot.version());
            Failed::usage(format!("two folders have version {version} of the skill `{name}`"))
        }
        _ => Failed::at("copy the skill", &fault),
    })?;
    for file in snapshot.files() {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(&folder);
        let content = snapshot.read_file(&file.path)?;
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .map_err(|fault| Failed::at("copy the skill", &fault))?;
    }
    Ok(())
}

/// Runs one case.
pub(crate) async fn run_case(
    place: &OwnBlobs,
    skill: &SkillTests,
    case: &TestCase,
    how: &HowToRun,
) -> Result<CaseRun, Failed> {
    let mut ids = BTreeMap::new();
    for (blob, content) in &case.blobs {
        match store(place, skill, content) {
            Ok(id) => drop(ids.insert(blob.clone(), id)),
            // A file that does not exist fails this case, and not the others.
            Err(failed) if failed.exit == Exit::WrongUsage => {
                return Ok(CaseRun::impossible(&format!("blob {blob}: {failed}")));
            }
            Err(failed) => return Err(failed),
        }
    }
    let args = match with_ids(case.args.get(), &ids) {
        Ok(args) => args,
        Err(blob) => return Ok(CaseRun::impossible(&format!("the blob `{blob}` does not exist"))),
    };
    let args =
        RawValue::from_string(args).map_err(|fault| Failed::at("write the arguments", &fault))?;
    let recording = match recording_of(skill, case) {
        Ok(recording) => Arc::new(recording),
        Err(problem) => return Ok(CaseRun::impossible(&problem)),
    };
    let program =
        LocalProgram::Skill { name: skill.name.clone(), version: Some(skill.version.clone()) };
    let request = LocalRun {
        args,
        input_blobs: ids.values().cloned().collect(),
        limits: RequestedLimits { timeout_ms: how.timeout_ms, ..RequestedLimits::default() },
        reproducible: how.reproducible,
        recording: Some(Arc::clone(&recording)),
        ..LocalRun::new(program)
    };
    let caller = Caller::local("skill-test");
    let (ended, duration_ms, fuel) = match place.service.run_file(&caller, request).await {
        Ok(ended) => (compared(place, &ended)?, ended.result.duration_ms, ended.result.fuel),
        Err(error @ ServiceError::Arguments { .. }) => (refused(&error), 0, None),
        Err(error) => return Err(error.into()),
    };
    let mut differences = case.expect.differences(&ended);
    differences.extend(recording.differences().iter().map(|line| shown(line)));
    Ok(CaseRun { differences, duration_ms, fuel, ended: Some(ended) })
}

/// The recorded network of a case. Without one every request fails: a test must not depend on the
/// state of the world.
fn recording_of(skill: &SkillTests, case: &TestCase) -> Result<Recording, String> {
    let exchanges = case.network.iter().enumerate().map(|(at, exchange)| {
        let read = |path: &str| skill.file_of_case(path).map(<[u8]>::to_vec);
        exchange.recorded(read).map_err(|wrong| format!("network[{at}]: {wrong}"))
    });
    Ok(Recording::new(exchanges.collect::<Result<_, _>>()?))
}

/// Stores a blob of a case; its id.
fn store(place: &OwnBlobs, skill: &SkillTests, blob: &CaseBlob) -> Result<String, Failed> {
    let content = match &blob.content {
        BlobContent::File(path) => skill.file_of_case(path).map_err(Failed::usage)?,
        BlobContent::Text(text) => text.as_bytes(),
    };
    let kind =
        BlobKind::parse(&blob.mime_type).map_err(|error| Failed::usage(error.to_string()))?;
    let stored = place.blobs.put(&sole_tenant(), &kind, content);
    let stored = stored.map_err(|error| match error.kind() {
        ErrorKind::TooLarge | ErrorKind::QuotaExceeded => Failed::usage(error.to_string()),
        _ => error.into(),
    })?;
    Ok(stored.id.to_string())
}

fn refused(error: &ServiceError) -> CaseResult {
    CaseResult {
        status: ExpectedStatus::Refused,
        summary: String::new(),
        output: Value::Null,
        error: Some(("invalid_params".to_owned(), error.to_string())),
        blobs: Vec::new(),
    }
}

/// The result with the content of its blobs.
fn compared(place: &OwnBlobs, ended: &LocalResult) -> Result<CaseResult, Failed> {
    let result = &ended.result;
    let mut blobs = Vec::new();
    let mut output = result.output.as_ref().map(|output| output.get().to_owned());
    for id in &result.output_blobs {
        let content = read_blob(&*place.blobs, id)?;
        // An output that was too large for the result is not a blob that the skill made.
        if ended.output_blob.as_ref() == Some(id) {
            output = String::from_utf8(content).ok();
            continue;
        }
        let stat = place.blobs.stat(&sole_tenant(), id)?;
        let sha256 = Digest::of(&content).to_string();
        blobs.push(MadeBlob { mime_type: stat.kind.as_str().to_owned(), content, sha256 });
    }
    let output = output.and_then(|text| serde_json::from_str(&text).ok());
    Ok(CaseResult {
        status: match result.status {
            RunStatus::Completed => ExpectedStatus::Completed,
            RunStatus::Failed => ExpectedStatus::Failed,
        },
        summary: result.summary.clone(),
        output: output.unwrap_or(Value::Null),
        error: result.error.as_ref().map(|e| (e.error_type.clone(), e.message.clone())),
        blobs,
    })
}
