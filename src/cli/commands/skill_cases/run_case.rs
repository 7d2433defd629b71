//! Runs one case of a skill, and compares its result with what the case expects.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::assembly::OwnBlobs;
use crate::cli::commands::blobs::read_blob;
use crate::cli::commands::skill_cases::skill_tests::SkillTests;
use crate::cli::commands::skill_cases::test_case::{
    BlobContent, CaseBlob, CaseResult, ExpectedStatus, MadeBlob, TestCase, with_ids,
};
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::shown;
use wardian_egress::recorded::Recording;
use wardian_formats::protocol::methods::execution::{
    ReproducibleParam, RequestedLimits, RunStatus,
};
use wardian_formats::protocol::methods::input_blob::InputBlob;
use wardian_service::{Caller, LocalProgram, LocalResult, LocalRun, ServiceError, sole_tenant};
use wardian_stores::blobs::content::kind::BlobKind;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::Digest;

/// The options of a run of cases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CaseOptions {
    pub(crate) reproducible: Option<ReproducibleParam>,
    /// The longest time of a run; `None` for that of the settings.
    pub(crate) timeout_ms: Option<u64>,
}

/// The end of one case.
#[derive(Debug, Default)]
pub(crate) struct CaseRun {
    pub(crate) differences: Vec<String>,
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

/// Runs one case.
pub(crate) async fn run_case(
    place: &OwnBlobs,
    skill: &SkillTests,
    case: &TestCase,
    options: &CaseOptions,
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
    let program = LocalProgram::Skill {
        name: skill.name.clone(),
        version: Some(skill.version.clone()),
        script: None,
    };
    let request = LocalRun {
        args,
        input_blobs: ids.values().cloned().map(InputBlob::Id).collect(),
        limits: RequestedLimits { timeout_ms: options.timeout_ms, ..RequestedLimits::default() },
        reproducible: options.reproducible,
        recording: Some(Arc::clone(&recording)),
        ..LocalRun::new(program)
    };
    let caller = Caller::local("skill-test");
    let (ended, fuel) = match place.service.run_file(&caller, request).await {
        Ok(ended) => (compared(place, &ended)?, ended.result.fuel),
        Err(error @ ServiceError::Arguments { .. }) => (refused(&error), None),
        Err(error) => return Err(error.into()),
    };
    let mut differences = case.expect.differences(&ended);
    differences.extend(recording.differences().iter().map(|line| shown(line)));
    Ok(CaseRun { differences, fuel, ended: Some(ended) })
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
        let content = read_blob(&place.blobs, id)?;
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
            RunStatus::Failed | RunStatus::Waiting => ExpectedStatus::Failed,
        },
        summary: result.summary.clone(),
        output: output.unwrap_or(Value::Null),
        error: result.error.as_ref().map(|e| (e.error_type.clone(), e.message.clone())),
        blobs,
    })
}
