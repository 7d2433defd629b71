//! One method of the document: its parameters, result, errors and events.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::protocol::methods::limit_bounds::LimitBounds;
use crate::protocol::openrpc::components::{OF_ALL, OF_RUNS, OF_SESSIONS, Reference};
use crate::protocol::schema::{Parameter, Presence, Published, Tool};
use wardian_vocabulary::error::ErrorKind;

/// Further kinds of errors of methods that store blobs.
const OF_STORING: [ErrorKind; 1] = [ErrorKind::QuotaExceeded];

/// One method of the document.
pub(super) struct Method<'a> {
    pub(super) tool: &'static Tool,
    pub(super) bounds: &'a LimitBounds,
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
        let errors: Vec<_> = errors_of(tool.name).map(Reference::to_error).collect();
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
    let of_sessions: &[ErrorKind] = if method == "run_code" { &OF_SESSIONS } else { &[] };
    OF_ALL.into_iter().chain(further.iter().chain(of_sessions).copied())
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

/// The names of the schemas of a method's results. A test compares them with the tools.
pub(super) fn result_names(method: &str) -> &'static [&'static str] {
    match method {
        "list_skills" => &["ListSkillsResult"],
        "describe_skill" => &["DescribeSkillResult"],
        "read_skill_file" => &["ReadSkillFileResult"],
        "create_blob" => &["CreateBlobResult"],
        "read_blob" => &["ReadBlobResult"],
        "load_skills_protocol_guide" => &["GuideResult"],
        _ => &["RunResult", "DetachedRun"],
    }
}

impl Answer {
    /// The result of the method.
    fn of(method: &str) -> Self {
        match result_names(method) {
            [one, other] => {
                let one_of = [one, other].map(|name| Reference::to_schema(name));
                Self { name: one, schema: ResultSchema::Either { one_of } }
            }
            names => {
                let name = names.first().copied().unwrap_or_default();
                Self { name, schema: ResultSchema::One(Reference::to_schema(name)) }
            }
        }
    }
}

/// The events of a run that is answered with `text/event-stream`, before the event `response`.
struct Events;

impl Serialize for Events {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let events = [
            ("output", "OutputEvent"),
            ("progress", "ProgressEvent"),
            ("request", "RequestEvent"),
            ("left_out", "LeftOutEvent"),
        ];
        serializer.collect_map(events.map(|(event, name)| (event, Reference::to_schema(name))))
    }
}
