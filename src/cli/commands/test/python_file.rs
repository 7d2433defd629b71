//! Runs the tests of one Python file in the sandbox.
//!
//! The tests share an interpreter with the program that runs them, so a file that sets out to forge
//! the report about its own tests can. It cannot reach anything else: each file has its own run,
//! and this process decides about its end.

use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use crate::assembly::OwnBlobs;
use crate::cli::commands::blobs::read_text_blob;
use crate::cli::commands::test::packed_files::PackedFiles;
use crate::cli::commands::test::plan::{FileTests, TestSession};
use crate::cli::commands::test::project::hashed;
use crate::cli::commands::test::report::outcomes::{TestEnd, TestReport, UnitReport, clock_ms};
use crate::cli::failed::Failed;
use wardian_formats::protocol::methods::execution::{RequestedLimits, RunStatus};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_service::{
    Caller, LocalProgram, LocalResult, LocalRun, ProgressReport, Stream, log_stream, sole_tenant,
};
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::units::ByteCount;

/// The program that runs the tests.
pub(crate) const RUNNER: &str = include_str!("test_runner.py");

/// Largest report about a file that is read, in bytes.
const MAX_REPORT: u64 = 8 << 20;

/// Most output of a run that waits to be read here. Only its progress is of interest.
const MAX_WAITING: ByteCount = ByteCount::mebibytes(1);

/// The kind of the blobs with files.
const PACKED: &str = "application/octet-stream";

/// The arguments of the runner.
#[derive(Debug, Serialize)]
pub(crate) struct RunnerArguments<'a> {
    /// The report repeats it. A text that a test prints cannot contain it by accident.
    word: String,
    file: &'a str,
    keyword: &'a str,
    list: bool,
    places: &'a [&'static str],
    blobs: Vec<String>,
    /// The blob with the bytecode of pytest.
    bytecode: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunnerReport {
    word: String,
    /// Failures of the whole file.
    errors: Vec<String>,
    tests: Vec<RunnerTest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunnerTest {
    id: String,
    outcome: String,
    message: String,
    details: String,
    line: Option<u64>,
    ms: u64,
}

/// Runs the tests of a file, or lists them.
pub(crate) async fn run_file(
    place: &OwnBlobs,
    tests: &FileTests,
    mount: Option<String>,
    bytecode: Option<&PackedFiles>,
    session: &TestSession,
) -> Result<UnitReport, Failed> {
    let mut blobs = Vec::new();
    for files in [&*tests.common, &tests.own] {
        let id = stored(place, files)?;
        if !blobs.contains(&id) {
            blobs.push(id);
        }
    }
    // Where no blob may be as large, pytest is compiled.
    let bytecode = bytecode.and_then(|packed| stored(place, packed).ok());
    let options = &session.options;
    let word = hashed(format!("{} {}", tests.common.digest, tests.own.digest).as_bytes());
    let arguments = RunnerArguments {
        word: word.clone(),
        file: &tests.path,
        keyword: &tests.keyword,
        list: session.list,
        places: &tests.places,
        blobs: blobs.clone(),
        bytecode: bytecode.clone(),
    };
    blobs.extend(bytecode);
    let (listener, mut output) = log_stream(MAX_WAITING);
    let program =
        LocalProgram::File { source: RUNNER.to_owned(), file_name: "test_runner.py".to_owned() };
    let request = LocalRun {
        entrypoint: Some("main".to_owned()),
        args: to_raw_value(&arguments).map_err(|e| Failed::at("write the arguments", &e))?,
        mount_skills: mount.into_iter().collect(),
        input_blobs: blobs.into_iter().map(InputBlob::Id).collect(),
        limits: RequestedLimits { timeout_ms: options.timeout_ms, ..RequestedLimits::default() },
        listener: Some(listener),
        reproducible: options.reproducible,
        ..LocalRun::new(program)
    };
    let caller = Caller::local("test");
    let mut last = None;
    let following = async {
        while let Some(chunk) = output.next().await {
            if chunk.stream == Stream::Progress {
                last =
                    ProgressReport::read(&chunk.text).map(|report| report.message).or(last.take());
            }
        }
    };
    let (ended, ()) = tokio::join!(place.service.run_file(&caller, request), following);
    let mut report = reported(place, tests, &ended?, &word, last.as_deref())?;
    report.tests.iter_mut().for_each(|test| test.file.clone_from(&tests.shown));
    Ok(report)
}

/// Stores packed files as a blob.
fn stored(place: &OwnBlobs, files: &PackedFiles) -> Result<String, Failed> {
    let kind = BlobKind::parse(PACKED).map_err(|fault| Failed::at("store files", &fault))?;
    Ok(place.blobs.put(&sole_tenant(), &kind, &files.content)?.id.to_string())
}

/// The report of a run that has ended. Whatever the tests did, only a run that returned the report
/// of the runner has tests that passed.
fn reported(
    place: &OwnBlobs,
    tests: &FileTests,
    ended: &LocalResult,
    word: &str,
    last: Option<&str>,
) -> Result<UnitReport, Failed> {
    let unit = |tests_of: Vec<TestReport>, is_lasting: bool| UnitReport {
        suite: tests.shown.clone(),
        tests: tests_of,
        fuel: ended.result.fuel,
        is_cached: false,
        is_lasting,
    };
    let result = &ended.result;
    let whole_file = |message: &str, details: &str| {
        let mut one = TestReport::new(&tests.shown, TestEnd::Error, message, details);
        one.duration_ms = clock_ms(result.fuel);
        one
    };
    if result.status == RunStatus::Failed {
        let (kind, text) = match &result.error {
            Some(error) => (error.error_type.as_str(), error.message.as_str()),
            None => ("", result.summary.as_str()),
        };
        let during = last.map(|test| format!(" during `{test}`")).unwrap_or_default();
        let message = format!("the run ended{during} before the tests did: {kind}: {text}");
        let traceback = result.error.as_ref().and_then(|error| error.traceback.clone());
        let details = format!("{}\n{}", traceback.unwrap_or_default(), result.logs_preview);
        return Ok(unit(vec![whole_file(&message, details.trim())], false));
    }
    let Some(report) = output_of(place, ended)?.filter(|report| report.word == word) else {
        let message = "the run ended without the report about its tests";
        return Ok(unit(vec![whole_file(message, &result.logs_preview)], false));
    };
    let errors = report.errors.iter().map(|error| {
        let (first, rest) = error.split_once('\n').unwrap_or((error, ""));
        // Tracebacks of pytest begin with where they are; their last line says what is wrong.
        let message = match first.trim().is_empty() || first.contains("rror while importing") {
            true => rest.lines().rfind(|line| !line.trim().is_empty()).unwrap_or(first),
            false => first,
        };
        whole_file(message.trim_start_matches("E "), error)
    });
    let mut all: Vec<TestReport> = errors.collect();
    all.extend(report.tests.iter().map(|test| one_test(tests, test)));
    Ok(unit(all, true))
}

/// The report that a run returned; `None` if it returned something else.
fn output_of(place: &OwnBlobs, ended: &LocalResult) -> Result<Option<RunnerReport>, Failed> {
    let text = match &ended.output_blob {
        Some(id) => {
            let size = place.blobs.stat(&sole_tenant(), id)?.size;
            if size.as_u64() > MAX_REPORT {
                return Ok(None);
            }
            read_text_blob(&place.blobs, id)?
        }
        None => ended.result.output.as_ref().map(|one| one.get().to_owned()).unwrap_or_default(),
    };
    Ok(serde_json::from_str(&text).ok())
}

fn one_test(tests: &FileTests, test: &RunnerTest) -> TestReport {
    let outcome = match test.outcome.as_str() {
        "passed" => TestEnd::Passed,
        "failed" => TestEnd::Failed,
        "skipped" => TestEnd::Skipped,
        "xfailed" => TestEnd::Xfailed,
        "xpassed" => TestEnd::Xpassed,
        _ => TestEnd::Error,
    };
    let inner = test.id.strip_prefix(&tests.path).map_or(test.id.as_str(), |rest| rest);
    let inner = inner.strip_prefix("::").unwrap_or(inner);
    let id =
        if inner.is_empty() { tests.shown.clone() } else { format!("{}::{inner}", tests.shown) };
    let mut report = TestReport::new(&id, outcome, &test.message, &test.details);
    report.line = test.line;
    report.duration_ms = test.ms;
    report
}
