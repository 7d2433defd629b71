//! The description of the eight methods for programs that generate or check clients: an OpenRPC
//! document, as `rpc.discover` and `GET /openrpc.json` serve it.
//!
//! Parameters come from the tool table, kinds of errors from the table of error codes. The schemas
//! of results stand in `schemas.json`; a test compares them with the types that are sent.
//!
//! INVARIANT(eight-methods): the document lists the tools and nothing else. `rpc.discover` is not a
//! tool.

use serde::Serialize;
use serde::ser::{Error as _, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use crate::error::ErrorKind;
use crate::protocol::error_codes::WireError;
use crate::protocol::schema::{LimitBounds, Parameter, Presence, Published, Tool};
use crate::protocol::tools::TOOLS;

/// The name of the method that returns the document.
pub const DISCOVER: &str = "rpc.discover";

/// The version of OpenRPC: the newest that the published schema of documents allows.
const OPENRPC: &str = "1.3.2";

/// The schemas of results and events, as the text of a JSON object.
const SCHEMAS: &str = include_str!("schemas.json");

/// Kinds of errors that every method can have. The codes of a list differ: all mistakes of a caller
/// share one code, and `data.kind` tells them apart.
const OF_ALL: [ErrorKind; 6] = [
    ErrorKind::InvalidParams,
    ErrorKind::Unauthorized,
    ErrorKind::Forbidden,
    ErrorKind::RateLimited,
    ErrorKind::Overloaded,
    ErrorKind::Internal,
];

/// Further ones of methods that store blobs.
const OF_STORING: [ErrorKind; 1] = [ErrorKind::QuotaExceeded];

/// Further ones of methods that run a program.
const OF_RUNS: [ErrorKind; 3] =
    [ErrorKind::QuotaExceeded, ErrorKind::SecretUnavailable, ErrorKind::PackagesMissing];

/// The document of a server with these bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenRpcDocument {
    bounds: LimitBounds,
}

impl OpenRpcDocument {
    /// The document of a server that accepts limits within `bounds`.
    #[must_use]
    pub const fn new(bounds: LimitBounds) -> Self {
        Self { bounds }
    }
}

impl Serialize for OpenRpcDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bounds = &self.bounds;
        let methods: Vec<_> = TOOLS.iter().map(|tool| Method { tool, bounds }).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("openrpc", OPENRPC)?;
        map.serialize_entry("info", &Info::OF_THIS)?;
        map.serialize_entry("servers", &[Address { name: "this server", url: "/rpc" }])?;
        map.serialize_entry("methods", &methods)?;
        map.serialize_entry("components", &Components)?;
        map.serialize_entry("x-error-kinds", &WireError::ALL.map(KindOfError::of))?;
        map.end()
    }
}

#[derive(Serialize)]
struct Info {
    title: &'static str,
    description: &'static str,
    version: &'static str,
    license: License,
}

#[derive(Serialize)]
struct License {
    name: &'static str,
}

impl Info {
    const OF_THIS: Self = Self {
        title: "Wardian",
        description: "The Skills Protocol: discover, inspect and execute skills, and run code, in fresh sandboxes.",
        version: env!("CARGO_PKG_VERSION"),
        license: License { name: "Apache-2.0" },
    };
}

#[derive(Serialize)]
struct Address {
    name: &'static str,
    url: &'static str,
}

/// One method of the document.
struct Method<'a> {
    tool: &'static Tool,
    bounds: &'a LimitBounds,
}

impl Serialize for Method<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { tool, bounds } = *self;
        let params: Vec<_> =
            tool.parameters.iter().map(|parameter| Param { parameter, bounds }).collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", tool.name)?;
        map.serialize_entry("description", tool.description)?;
        map.serialize_entry("paramStructure", "by-name")?;
        map.serialize_entry("params", &params)?;
        map.serialize_entry("result", &Answer::of(tool.name))?;
        let errors: Vec<_> = errors_of(tool.name).map(|kind| Reference::to_error(kind)).collect();
        map.serialize_entry("errors", &errors)?;
        if is_run(tool.name) {
            map.serialize_entry("x-events", &Events)?;
        }
        map.end()
    }
}

/// True for the methods that run a program.
fn is_run(method: &str) -> bool {
    matches!(method, "execute_skill" | "run_code")
}

fn errors_of(method: &str) -> impl Iterator<Item = ErrorKind> {
    let further: &[ErrorKind] = match method {
        _ if is_run(method) => &OF_RUNS,
        "create_blob" => &OF_STORING,
        _ => &[],
    };
    OF_ALL.into_iter().chain(further.iter().copied())
}

/// One parameter of a method.
struct Param<'a> {
    parameter: &'static Parameter,
    bounds: &'a LimitBounds,
}

impl Serialize for Param<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { parameter, bounds } = *self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", parameter.name)?;
        if let Some(description) = parameter.description {
            map.serialize_entry("description", description)?;
        }
        map.serialize_entry("required", &(parameter.presence == Presence::Required))?;
        map.serialize_entry("schema", &Published { part: parameter, bounds })?;
        map.end()
    }
}

/// The result of a method.
#[derive(Serialize)]
struct Answer {
    name: &'static str,
    schema: ResultSchema,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResultSchema {
    One(Reference),
    Either {
        #[serde(rename = "oneOf")]
        one_of: [Reference; 2],
    },
}

impl Answer {
    /// The result of the method. A test compares the names with the tools.
    fn of(method: &str) -> Self {
        let name = match method {
            "list_skills" => "ListSkillsResult",
            "describe_skill" => "DescribeSkillResult",
            "read_skill_file" => "ReadSkillFileResult",
            "create_blob" => "CreateBlobResult",
            "read_blob" => "ReadBlobResult",
            "load_skills_protocol_guide" => "GuideResult",
            _ => {
                let one_of = ["RunResult", "DetachedRun"].map(Reference::to_schema);
                return Self { name: "RunResult", schema: ResultSchema::Either { one_of } };
            }
        };
        Self { name, schema: ResultSchema::One(Reference::to_schema(name)) }
    }
}

/// A reference to a component of the document.
#[derive(Serialize)]
struct Reference {
    #[serde(rename = "$ref")]
    target: String,
}

impl Reference {
    fn to_schema(name: &str) -> Self {
        Self { target: format!("#/components/schemas/{name}") }
    }

    fn to_error(kind: ErrorKind) -> Self {
        Self { target: format!("#/components/errors/{}", WireError::of(kind).label) }
    }
}

/// The events of a run that is answered with `text/event-stream`, before the event `response`.
struct Events;

impl Serialize for Events {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let events = [
            ("output", "OutputEvent"),
            ("progress", "ProgressEvent"),
            ("left_out", "LeftOutEvent"),
        ];
        serializer.collect_map(events.map(|(event, name)| (event, Reference::to_schema(name))))
    }
}

struct Components;

impl Serialize for Components {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schemas: &RawValue = serde_json::from_str(SCHEMAS).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("schemas", schemas)?;
        map.serialize_entry("errors", &Errors)?;
        map.end()
    }
}

/// The errors that methods refer to.
struct Errors;

impl Serialize for Errors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = OF_ALL.iter().chain(&OF_RUNS);
        serializer.collect_map(kinds.map(|kind| {
            let WireError { code, label, .. } = WireError::of(*kind);
            let data = Kind { kind: label };
            (label, KnownError { code, message: label.replace('_', " "), data })
        }))
    }
}

#[derive(Serialize)]
struct KnownError {
    code: i32,
    message: String,
    data: Kind,
}

#[derive(Serialize)]
struct Kind {
    kind: &'static str,
}

/// One value of `error.data.kind`.
#[derive(Serialize)]
struct KindOfError {
    kind: &'static str,
    code: i32,
    http_status: u16,
}

impl KindOfError {
    const fn of(wire: WireError) -> Self {
        let WireError { code, label, http_status } = wire;
        Self { kind: label, code, http_status }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
