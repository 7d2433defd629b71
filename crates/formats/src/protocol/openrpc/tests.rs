//! The document agrees with the tools, with the types of results, and with the committed copy.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::protocol::methods::asking::{AskedKind, AskedRequest};
use crate::protocol::methods::blobs::{CreateBlobResult, Encoding, ReadBlobResult};
use crate::protocol::methods::bootstrap::GuideResult;
use crate::protocol::methods::cells::{CellFate, DisplayedForm, DisplayedObject, SessionResult};
use crate::protocol::methods::discovery::{
    DescribeSkillResult, DescribedScript, DescribedSkill, ListSkillsResult, ListedKind,
    ListedSkill, ReadSkillFileResult, SkillSummary,
};
use crate::protocol::methods::execution::{
    ConvertedValue, DetachedRun, FileResult, RunError, RunProgress, RunResult, RunStatus,
    TruncatedOutput,
};
use crate::protocol::methods::limit_bounds::{Bounds, LimitBounds};
use crate::protocol::openrpc::OpenRpcDocument;
use crate::protocol::response::ErrorBody;
use crate::protocol::tools::{ToolFormat, described};
use wardian_vocabulary::ids::{
    BlobId, BlobName, CheckpointId, Digest, RunId, SessionId, SkillName, SkillVersion,
};

use super::*;

/// The copy that the suites of the clients compare themselves with.
const COMMITTED: &str = include_str!("../../../../../clients/openrpc.json");

fn document() -> Value {
    serde_json::to_value(OpenRpcDocument::new(LimitBounds::ANY)).unwrap()
}

#[test]
fn the_committed_document_is_the_one_that_is_served() {
    let printed = serde_json::to_string_pretty(&OpenRpcDocument::new(LimitBounds::ANY)).unwrap();
    if printed.trim() != COMMITTED.trim() {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/openrpc.json.new");
        std::fs::write(place, printed + "\n").unwrap();
        panic!("review clients/openrpc.json.new and let it replace clients/openrpc.json");
    }
}

/// Of INVARIANT(eight-methods).
#[test]
fn eight_methods_with_the_parameters_of_the_tools() {
    let document = document();
    let methods = document["methods"].as_array().unwrap();
    let tools = serde_json::to_value(described(ToolFormat::Plain, LimitBounds::ANY)).unwrap();
    assert_eq!(methods.len(), 8);
    for (method, tool) in methods.iter().zip(tools.as_array().unwrap()) {
        assert_eq!(
            (&method["name"], &method["description"]),
            (&tool["name"], &tool["description"])
        );
        let schema = &tool["parameters"];
        let no_properties = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&no_properties);
        let params = method["params"].as_array().unwrap();
        assert_eq!(params.len(), properties.len(), "{}", method["name"]);
        for param in params {
            assert_eq!(param["schema"], properties[param["name"].as_str().unwrap()]);
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = required.is_some_and(|names| names.contains(&param["name"]));
            assert_eq!(param["required"], is_required, "{param}");
        }
    }
}

#[test]
fn a_server_describes_its_own_bounds() {
    let bounds = LimitBounds { timeout: Bounds::between(1, 7_000), ..LimitBounds::ANY };
    let document = serde_json::to_value(OpenRpcDocument::new(bounds)).unwrap();
    let params = document["methods"][3]["params"].as_array().unwrap();
    let timeout = params.iter().find(|param| param["name"] == "timeout_ms").unwrap();
    assert_eq!(timeout["schema"]["maximum"], 7_000);
}

#[test]
fn references_lead_somewhere_and_errors_of_a_method_have_different_codes() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 60, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for method in document["methods"].as_array().unwrap() {
        let errors = method["errors"].as_array().unwrap();
        let code = |error: &Value| {
            let pointer = error["$ref"].as_str().unwrap().trim_start_matches('#').to_owned();
            document.pointer(&pointer).unwrap()["code"].as_i64().unwrap()
        };
        let codes: BTreeSet<_> = errors.iter().map(code).collect();
        assert_eq!(codes.len(), errors.len(), "{}", method["name"]);
    }
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_result_has_the_members_of_its_schema() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for (name, is_full, sample) in samples() {
        let schema = &schemas[name];
        assert_fits(schemas, schema, &sample, name);
        let members: BTreeSet<_> = sample.as_object().unwrap().keys().cloned().collect();
        let known: BTreeSet<_> =
            schema["properties"].as_object().unwrap().keys().cloned().collect();
        let required = schema["required"].as_array().unwrap();
        let required: BTreeSet<_> =
            required.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
        assert_eq!(members, if is_full { known } else { required }, "{name}");
    }
}

/// Checks a value against the few keywords that the schemas use.
fn assert_fits(schemas: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return assert_fits(schemas, &schemas[name], value, place);
    }
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allows = |expected: &Value| expected == found;
    let is_allowed = schema["type"]
        .as_array()
        .map_or_else(|| allows(&schema["type"]), |types| types.iter().any(allows));
    assert!(is_allowed, "{place} is {found}");
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(value), "{place} is {value}");
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        if let Some(schema) = schema["properties"].get(name) {
            assert_fits(schemas, schema, member, &format!("{place}.{name}"));
        }
    }
    for item in value.as_array().into_iter().flatten() {
        assert_fits(schemas, &schema["items"], item, place);
    }
}

/// Results with the name of their schema, each with all of its members and with as few as it can
/// have. The second value is true for those with all.
fn samples() -> Vec<(&'static str, bool, Value)> {
    let samples = [execution_samples(), discovery_samples(), blob_samples()];
    samples.into_iter().flatten().collect()
}

fn blob_name() -> BlobName {
    BlobName::parse("a.csv").unwrap()
}

fn created(name: Option<BlobName>) -> CreateBlobResult {
    CreateBlobResult { blob_id: blob_id(), size_bytes: 1, name }
}

fn blob_id() -> BlobId {
    BlobId::parse(&format!("blob:{}", "a".repeat(52))).unwrap()
}

fn raw() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).unwrap()
}

fn sample(value: impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

fn execution_samples() -> Vec<(&'static str, bool, Value)> {
    let run_id = || RunId::parse(&format!("run_{}", "0".repeat(32))).unwrap();
    let full_file = FileResult {
        path: "a.png".to_owned(),
        size_bytes: 1,
        blob_id: Some(blob_id()),
        kind: Some("image/png".to_owned()),
        not_kept: Some("no room".to_owned()),
    };
    let file = FileResult { blob_id: None, kind: None, not_kept: None, ..full_file.clone() };
    let text = || "text".to_owned();
    let error = |traceback| RunError { error_type: text(), message: text(), traceback };
    let run = |status, files: Vec<FileResult>, output, fuel: Option<u64>, error| RunResult {
        status,
        run_id: run_id(),
        summary: text(),
        output,
        converted: match files.is_empty() {
            true => Vec::new(),
            false => [None, Some(2)]
                .map(|count| ConvertedValue { path: text(), from: text(), to: text(), count })
                .to_vec(),
        },
        converted_total: (!files.is_empty()).then_some(4),
        output_blobs: vec![blob_id()],
        files_total: (!files.is_empty()).then_some(2),
        files,
        exit_code: fuel.map(|_| 2),
        stdout: fuel.map(|_| text()),
        stderr: fuel.map(|_| text()),
        logs_preview: text(),
        error,
        logs_truncated: false,
        output_truncated: true,
        duration_ms: 1,
        memory_peak_bytes: 1,
        fuel,
        cached: fuel.is_some(),
        display: fuel.map(|_| displayed()).into_iter().collect(),
        requests: fuel.map(|_| asked(true)).into_iter().collect(),
        session: fuel.map(|_| session_result(None)),
    };
    let traced = Some(error(Some(text())));
    let full = run(RunStatus::Failed, vec![full_file.clone()], Some(raw()), Some(1), traced);
    let truncated =
        TruncatedOutput { truncated: true, blob_id: blob_id(), size_bytes: 1, preview: text() };
    let mut all = session_samples();
    all.extend([
        ("RunResult", true, sample(&full)),
        ("RunResult", false, sample(run(RunStatus::Completed, Vec::new(), None, None, None))),
        ("RunFile", true, sample(&full_file)),
        ("RunFile", false, sample(&file)),
        ("RunError", true, sample(error(Some(text())))),
        ("RunError", false, sample(error(None))),
        ("TruncatedOutput", true, sample(truncated)),
    ]);
    for status in [RunProgress::Queued, RunProgress::Running, RunProgress::Ended] {
        all.push(("DetachedRun", true, sample(DetachedRun { status, run_id: run_id() })));
    }
    all
}

fn session_samples() -> Vec<(&'static str, bool, Value)> {
    let reasons = [Some("text".to_owned()), None];
    let states =
        reasons.map(|reason| ("SessionState", reason.is_some(), sample(session_result(reason))));
    let requests = [true, false].map(|full| ("CallerRequest", full, sample(asked(full))));
    [states, requests].concat()
}

fn displayed() -> DisplayedObject {
    DisplayedObject(vec![
        ("text/plain".to_owned(), DisplayedForm::Text("text".to_owned())),
        ("image/png".to_owned(), DisplayedForm::Blob(blob_id())),
    ])
}

fn asked(is_full: bool) -> AskedRequest {
    AskedRequest {
        id: "c3-r1".to_owned(),
        kind: if is_full { AskedKind::Tool } else { AskedKind::Input },
        name: is_full.then(|| "find".to_owned()),
        arguments: is_full.then(raw),
        prompt: is_full.then(String::new),
        hidden: is_full,
    }
}

fn session_result(reason: Option<String>) -> SessionResult {
    let checkpoint = Some(CheckpointId::new(3, &Digest::of(b"state")));
    let id = SessionId::of_random(&[7; 16]);
    let state_digest = reason.as_ref().map(|_| Digest::of(b"memory"));
    SessionResult { id, cell: 3, checkpoint, state: CellFate::Kept, reason, state_digest }
}

fn discovery_samples() -> Vec<(&'static str, bool, Value)> {
    let listed = |summary| ListedSkill {
        name: SkillName::parse("a.b").unwrap(),
        version: SkillVersion::parse("0.1.0").unwrap(),
        summary,
    };
    let summary = |kind| SkillSummary {
        description: "d".to_owned(),
        namespace: Some("a".to_owned()),
        kind,
        tags: vec!["t".to_owned()],
    };
    let full = |kind| listed(Some(summary(kind)));
    let list = |skills, next_cursor| ListSkillsResult { skills, next_cursor };
    let file = |encoding| ReadSkillFileResult { content: "c".to_owned(), encoding };
    let script = |help| DescribedScript { path: "scripts/a.py".to_owned(), help };
    let described = |is_full: bool| DescribedSkill {
        manifest: raw(),
        skill_md_frontmatter: is_full.then(raw),
        skill_md_content: is_full.then(|| "c".to_owned()),
        input_schema: is_full.then(raw),
        scripts: is_full.then(|| script(None)).into_iter().collect(),
        scripts_total: is_full.then_some(2),
        signer: is_full.then(|| "ed25519:k".to_owned()),
    };
    vec![
        ("ListedSkill", true, sample(full(ListedKind::Action))),
        ("ListedSkill", true, sample(full(ListedKind::Instruction))),
        ("ListedSkill", false, sample(listed(None))),
        ("ListSkillsResult", true, sample(list(vec![listed(None)], Some("c".to_owned())))),
        ("ListSkillsResult", true, sample(list(Vec::new(), None))),
        ("DescribedScript", true, sample(script(Some("h".to_owned())))),
        ("DescribedScript", false, sample(script(None))),
        ("DescribedSkill", true, sample(described(true))),
        ("DescribedSkill", false, sample(described(false))),
        ("DescribeSkillResult", true, sample(DescribeSkillResult { skill: described(true) })),
        ("ReadSkillFileResult", true, sample(file(Some(Encoding::Base64)))),
        ("ReadSkillFileResult", false, sample(file(None))),
        ("GuideResult", true, sample(GuideResult { content: "c".to_owned() })),
    ]
}

fn blob_samples() -> Vec<(&'static str, bool, Value)> {
    let read = |encoding| ReadBlobResult {
        name: (encoding == Encoding::Utf8).then(blob_name),
        content: "c".to_owned(),
        truncated: false,
        kind: "text/plain".to_owned(),
        size_bytes: 1,
        encoding,
    };
    let mut error = ErrorBody::new(WireError::PARSE_ERROR, "m");
    let bare = sample(&error.data);
    error = error.with_parameter("p").with_request_id("r");
    error.data.retry_after_ms = Some(1);
    vec![
        ("CreateBlobResult", true, sample(created(Some(blob_name())))),
        ("CreateBlobResult", false, sample(created(None))),
        ("ReadBlobResult", true, sample(read(Encoding::Utf8))),
        ("ReadBlobResult", false, sample(read(Encoding::Base64))),
        ("ErrorData", true, sample(&error.data)),
        ("ErrorData", false, bare),
    ]
}

#[test]
fn all_kinds_of_errors_are_listed() {
    let document = document();
    let kinds = document["x-error-kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), WireError::ALL.len());
    assert_eq!(kinds[0], json!({"kind": "parse_error", "code": -32700, "http_status": 200}));
    assert!(kinds.contains(&json!({"kind": "overloaded", "code": 1004, "http_status": 503})));
}
