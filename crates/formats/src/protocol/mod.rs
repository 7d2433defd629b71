//! The wire format: JSON-RPC envelopes, the eight methods, error codes.
//!
//! Only values and their serialisation. No code of this module reads a clock, a file or a socket,
//! and none implements a method.
//!
//! A body becomes typed calls in three steps: [`strict`] proves that the bytes are JSON with one
//! meaning, [`envelope`] finds the calls, and [`MethodCall::parse`] checks the parameters of a call
//! against the table in [`tools`]. No step builds a tree. Values stay text, so a hostile body costs
//! little more memory than its own size.

mod cell_parameters;
pub mod check;
pub mod envelope;
pub mod error_codes;
pub mod members;
pub mod methods;
pub mod openrpc;
pub mod params_error;
pub mod pattern;
pub mod request_id;
pub mod response;
pub mod schema;
pub mod strict;
pub mod tool_schema;
pub mod tools;
mod wording;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::protocol::check::check;
use crate::protocol::error_codes::WireError;
use crate::protocol::methods::blobs::{
    CreateBlobParams, CreateBlobResult, ReadBlobParams, ReadBlobResult,
};
use crate::protocol::methods::bootstrap::{GuideParams, GuideResult};
use crate::protocol::methods::discovery::{
    DescribeSkillParams, DescribeSkillResult, ListSkillsParams, ListSkillsResult,
    ReadSkillFileParams, ReadSkillFileResult,
};
use crate::protocol::methods::execution::{
    DetachedRun, ExecuteSkillParams, RunCodeParams, RunResult,
};
use crate::protocol::openrpc::{DISCOVER, OpenRpcDocument};
use crate::protocol::params_error::ParamsError;
use crate::protocol::response::ErrorBody;
use crate::protocol::schema::Tool;
use crate::protocol::tools::{TOOLS, find_tool};
use crate::protocol::wording::{listed, shortened};
use wardian_vocabulary::error::ErrorKind;

/// A call of one of the eight methods, with checked parameters.
#[derive(Debug)]
pub enum MethodCall {
    /// `list_skills`
    ListSkills(ListSkillsParams),
    /// `describe_skill`
    DescribeSkill(DescribeSkillParams),
    /// `read_skill_file`
    ReadSkillFile(ReadSkillFileParams),
    /// `execute_skill`
    ExecuteSkill(ExecuteSkillParams),
    /// `run_code`
    RunCode(RunCodeParams),
    /// `create_blob`
    CreateBlob(CreateBlobParams),
    /// `read_blob`
    ReadBlob(ReadBlobParams),
    /// `load_skills_protocol_guide`
    LoadSkillsProtocolGuide(GuideParams),
    /// `rpc.discover`, which is not a tool: only an edge that speaks JSON-RPC has it.
    Discover,
}

impl MethodCall {
    /// Checks the parameters of a call. `params` is text that passed [`strict::read`].
    ///
    /// # Errors
    ///
    /// An unknown method, or the first wrong parameter.
    pub fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, CallError> {
        let unknown = || CallError::UnknownMethod { method: shortened(method) };
        let tool = find_tool(method).ok_or_else(unknown)?;
        let checked = check(tool, params)?;
        Ok(match tool.name {
            "list_skills" => Self::ListSkills(checked.read(tool)?),
            "describe_skill" => Self::DescribeSkill(checked.read(tool)?),
            "read_skill_file" => Self::ReadSkillFile(checked.read(tool)?),
            "execute_skill" => {
                Self::ExecuteSkill(checked.read::<ExecuteSkillParams>(tool)?.settled()?)
            }
            "run_code" => Self::RunCode(checked.read::<RunCodeParams>(tool)?.settled()?),
            "create_blob" => Self::CreateBlob(checked.read(tool)?),
            "read_blob" => Self::ReadBlob(checked.read(tool)?),
            "load_skills_protocol_guide" => Self::LoadSkillsProtocolGuide(checked.read(tool)?),
            _ => return Err(unknown()),
        })
    }

    /// As [`Self::parse`], for an edge that has `rpc.discover` besides the eight methods.
    ///
    /// # Errors
    ///
    /// As [`Self::parse`].
    pub fn parse_with_discover(method: &str, params: Option<&RawValue>) -> Result<Self, CallError> {
        if method != DISCOVER {
            return Self::parse(method, params);
        }
        check(&DISCOVER_TOOL, params)?;
        Ok(Self::Discover)
    }

    /// The name of the method, for logs and metrics.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::ListSkills(_) => "list_skills",
            Self::DescribeSkill(_) => "describe_skill",
            Self::ReadSkillFile(_) => "read_skill_file",
            Self::ExecuteSkill(_) => "execute_skill",
            Self::RunCode(_) => "run_code",
            Self::CreateBlob(_) => "create_blob",
            Self::ReadBlob(_) => "read_blob",
            Self::LoadSkillsProtocolGuide(_) => "load_skills_protocol_guide",
            Self::Discover => DISCOVER,
        }
    }
}

/// The result of one of the eight methods.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum MethodResult {
    /// `list_skills`
    ListSkills(ListSkillsResult),
    /// `describe_skill`
    DescribeSkill(DescribeSkillResult),
    /// `read_skill_file`
    ReadSkillFile(ReadSkillFileResult),
    /// `execute_skill` and `run_code`
    Run(Box<RunResult>),
    /// `execute_skill` and `run_code` with `detach`
    Detached(DetachedRun),
    /// `execute_skill` and `run_code` with an `idempotency_key` that was used before: the first answer
    Repeated(Box<RawValue>),
    /// `create_blob`
    CreateBlob(CreateBlobResult),
    /// `read_blob`
    ReadBlob(ReadBlobResult),
    /// `load_skills_protocol_guide`
    LoadSkillsProtocolGuide(GuideResult),
    /// `rpc.discover`
    Discover(OpenRpcDocument),
}

/// `rpc.discover` as the check of parameters sees it. It is not published as a tool.
static DISCOVER_TOOL: Tool =
    Tool { name: DISCOVER, description: "Return this server's OpenRPC document.", parameters: &[] };

/// The reason why a call is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The method does not exist.
    #[error("the method `{method}` does not exist: call \
        {}", listed(TOOLS.iter().map(|tool| tool.name), "or"))]
    UnknownMethod {
        /// The name as sent, shortened.
        method: String,
    },
    /// A parameter is wrong.
    #[error(transparent)]
    Params(#[from] ParamsError),
}

impl CallError {
    /// The `error` member of the response.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        match self {
            Self::UnknownMethod { .. } => {
                ErrorBody::new(WireError::METHOD_NOT_FOUND, self.to_string())
            }
            Self::Params(error) => {
                ErrorBody::new(WireError::of(ErrorKind::InvalidParams), self.to_string())
                    .with_parameter(error.parameter())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(method: &str, params: &serde_json::Value) -> Result<MethodCall, CallError> {
        MethodCall::parse(method, Some(&serde_json::value::to_raw_value(params).unwrap()))
    }

    #[test]
    fn every_tool_is_a_method_with_all_its_parameters() {
        let (limits, blobs) = (json!({"timeout_ms": 5, "fuel": 1}), json!(["blob:a"]));
        for (method, params) in [
            (
                "list_skills",
                json!({"namespace": "a", "detail": "summary", "limit": 1, "cursor": "c"}),
            ),
            ("describe_skill", json!({"name": "a", "version": "1.0.0", "detail": "full"})),
            ("read_skill_file", json!({"name": "a", "version": "1.0.0", "path": "p"})),
            (
                "execute_skill",
                json!({"name": "a", "version": "1.0.0", "args": {"x": 1}, "input_blobs": blobs,
                    "timeout_ms": 5, "limits": limits, "detach": true, "idempotency_key": "a.1"}),
            ),
            (
                "run_code",
                json!({"language": "python", "code": "pass", "entrypoint": "f", "args": {},
                    "mount_skills": ["a"], "input_blobs": blobs, "limits": limits, "timeout_ms": 5}),
            ),
            (
                "create_blob",
                json!({"content": "c", "kind": "text/plain", "encoding": "utf-8", "idempotency_key": "a"}),
            ),
            ("read_blob", json!({"blob_id": "b", "mode": "full", "max_bytes": 9})),
            ("load_skills_protocol_guide", json!({})),
        ] {
            assert_eq!(parse(method, &params).unwrap().method(), method);
        }
        for tool in &TOOLS {
            let known =
                !matches!(MethodCall::parse(tool.name, None), Err(CallError::UnknownMethod { .. }));
            assert!(known, "{} has no method", tool.name);
        }
    }

    #[test]
    fn an_unknown_method_is_told_the_known_ones() {
        for method in ["", "rpc.x", "__class__", "LIST_SKILLS", "list_skills "] {
            let body = parse(method, &json!({})).unwrap_err().body();
            assert_eq!((body.code, body.data.kind), (-32601, "method_not_found"));
            assert!(body.message.contains("`list_skills`, `describe_skill`"), "{}", body.message);
        }
        let long = parse(&"m".repeat(1_000_000), &json!({})).unwrap_err().to_string();
        assert!(long.len() < 300, "{long}");
    }

    #[test]
    fn discovery_is_a_method_of_json_rpc_alone_and_takes_nothing() {
        assert!(parse(DISCOVER, &json!({})).is_err());
        let discover = |params: serde_json::Value| {
            let params = serde_json::value::to_raw_value(&params).unwrap();
            MethodCall::parse_with_discover(DISCOVER, Some(&params))
        };
        assert_eq!(discover(json!({})).unwrap().method(), "rpc.discover");
        assert!(MethodCall::parse_with_discover(DISCOVER, None).is_ok());
        let refusal = discover(json!({"format": "x"})).unwrap_err().to_string();
        assert!(refusal.contains("`format`"), "{refusal}");
        assert!(MethodCall::parse_with_discover("rpc.x", None).is_err());
    }

    #[test]
    fn a_wrong_parameter_is_named_in_the_data_of_the_error() {
        let body = parse("list_skills", &json!({"limit": 0})).unwrap_err().body();
        assert_eq!(
            serde_json::to_value(body).unwrap(),
            json!({
                "code": -32602,
                "message": "parameter `limit` must be an integer between 1 and 500, got 0",
                "data": {"kind": "invalid_params", "parameter": "limit"},
            })
        );
    }

    #[test]
    fn a_timeout_may_stand_in_either_place_but_not_differ() {
        let code = |more: serde_json::Value| {
            let mut params = json!({"language": "python", "code": ""});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            match parse("run_code", &params) {
                Ok(MethodCall::RunCode(params)) => Ok(params.limits().timeout_ms),
                Ok(other) => panic!("{other:?}"),
                Err(error) => Err(error.to_string()),
            }
        };
        assert_eq!(code(json!({})), Ok(None));
        assert_eq!(code(json!({"timeout_ms": 5})), Ok(Some(5)));
        assert_eq!(code(json!({"limits": {"timeout_ms": 5}})), Ok(Some(5)));
        assert_eq!(code(json!({"timeout_ms": 5, "limits": {"timeout_ms": 5}})), Ok(Some(5)));
        assert_eq!(
            code(json!({"timeout_ms": 5, "limits": {"timeout_ms": 6}})),
            Err("parameters `timeout_ms` and `limits.timeout_ms` differ: give one of them".into())
        );
    }

    #[test]
    fn the_key_of_a_call_is_a_word() {
        let run = |more: serde_json::Value| {
            let mut params = json!({"language": "python", "code": ""});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            parse("run_code", &params).map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(run(json!({"idempotency_key": "nightly:2026-11-22.a_1"})), Ok(()));
        assert_eq!(run(json!({"detach": true, "idempotency_key": null})), Ok(()));
        for key in ["", "a b", "é", "a\n", &"k".repeat(129)] {
            let refusal = run(json!({"idempotency_key": key})).unwrap_err();
            assert!(refusal.contains("`idempotency_key` must be"), "{refusal}");
        }
        for flag in [json!(1), json!("true"), json!([])] {
            let refusal = run(json!({"detach": flag})).unwrap_err();
            assert!(refusal.contains("`detach` must be true or false"), "{refusal}");
        }
    }

    #[test]
    fn requests_print_no_content_for_logs() {
        for (method, params) in [
            ("run_code", json!({"language": "python", "code": "SECRET", "args": {"a": "SECRET"}})),
            ("execute_skill", json!({"name": "a", "args": {"a": "SECRET"}})),
            ("create_blob", json!({"content": "SECRET", "kind": "text/plain"})),
        ] {
            let printed = format!("{:?}", parse(method, &params).unwrap());
            assert!(!printed.contains("SECRET"), "{printed}");
        }
    }
}
