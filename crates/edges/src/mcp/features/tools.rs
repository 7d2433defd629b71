//! The eight methods and `session` as tools: titles, hints, and the schemas of parameters and results.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_formats::protocol::openrpc::output_schema;
use wardian_formats::protocol::schema::{
    Fallback, Integer, Parameter, Published, Shape, Text, Tool as ToolRow,
};
use wardian_formats::protocol::tools::{TOOLS, ToolFormat, described};

/// Longest id or cursor, in characters: more than any real one.
const MAX_ID: usize = 64;

/// The tool `session` with its parameters.
pub(crate) static SESSION_TOOL: ToolRow = ToolRow {
    name: "session",
    description: "Manage the Python sessions that run_code keeps if its parameter session is set. \
        list: all sessions. show: one session with its checkpoints, the states after its calls. \
        fork: new sessions that begin with the same variables and files, to try alternatives. \
        restore: go back to a checkpoint. interrupt: raise KeyboardInterrupt in the call that runs or \
        waits. close: delete a session that is no longer needed.",
    parameters: &[
        Parameter::required(
            "action",
            Shape::Choice {
                values: &["list", "show", "fork", "restore", "interrupt", "close"],
                default: None,
            },
            "What to do",
        ),
        Parameter::optional(
            "id",
            Shape::Text(Text::up_to(MAX_ID)),
            "The session (required by all actions except list)",
        ),
        Parameter::optional(
            "checkpoint",
            Shape::Text(Text::up_to(MAX_ID)),
            "restore: the checkpoint to go back to. fork: the checkpoint to begin with (omit for the latest)",
        ),
        Parameter::optional(
            "count",
            Shape::Integer(Integer { minimum: 1, maximum: Some(16), fallback: Fallback::None }),
            "fork: number of new sessions (omit for 1)",
        ),
        Parameter::optional(
            "cursor",
            Shape::Text(Text::up_to(MAX_ID)),
            "list: pagination cursor from previous response",
        ),
    ],
};

/// What a tool is called by people, and what it does to the world.
struct Hints {
    title: &'static str,
    effect: Effect,
}

enum Effect {
    /// It changes nothing.
    Reads,
    /// It adds something, the same for the same arguments.
    Adds,
    /// It runs a program, whose skill or network may do anything.
    Runs,
}

/// The hints of a tool. A test compares the names with the table of tools.
fn hints_of(tool: &str) -> Hints {
    let (title, effect) = match tool {
        "list_skills" => ("List skills", Effect::Reads),
        "describe_skill" => ("Describe a skill", Effect::Reads),
        "read_skill_file" => ("Read a file of a skill", Effect::Reads),
        "execute_skill" => ("Execute a skill", Effect::Runs),
        "run_code" => ("Run Python in a sandbox", Effect::Runs),
        "create_blob" => ("Store data", Effect::Adds),
        "read_blob" => ("Read stored data", Effect::Reads),
        _ => ("Load the guide to skills", Effect::Reads),
    };
    Hints { title, effect }
}

/// The tools of a server with these bounds of limits.
pub(crate) fn own_tools(bounds: LimitBounds) -> Vec<Tool> {
    let described = described(ToolFormat::Anthropic, bounds);
    let named = TOOLS.iter().zip(described);
    named
        .map(|(tool, described)| {
            // The table is ours, and small.
            let described = serde_json::to_value(described).unwrap_or_default();
            let schema = described.get("input_schema").and_then(Value::as_object).cloned();
            let Hints { title, effect } = hints_of(tool.name);
            let annotations = match effect {
                Effect::Reads => ToolAnnotations::new().read_only(true).open_world(false),
                Effect::Adds => ToolAnnotations::new()
                    .read_only(false)
                    .destructive(false)
                    .idempotent(true)
                    .open_world(false),
                Effect::Runs => ToolAnnotations::new()
                    .read_only(false)
                    .destructive(tool.name == "execute_skill")
                    .idempotent(false)
                    .open_world(true),
            };
            Tool::new(tool.name, tool.description, object(schema))
                .with_title(title)
                .with_annotations(annotations.clone())
                .with_raw_output_schema(object(Some(output_schema(tool.name))))
        })
        .collect()
}

fn object(schema: Option<Map<String, Value>>) -> Arc<Map<String, Value>> {
    Arc::new(schema.unwrap_or_default())
}

/// The tool `session` as clients see it.
pub(crate) fn session_tool() -> Tool {
    let schema = Published { part: SESSION_TOOL.schema(), bounds: &LimitBounds::ANY };
    let schema = members(serde_json::to_value(schema).unwrap_or_default());
    let hints = ToolAnnotations::new()
        .read_only(false)
        .destructive(true)
        .idempotent(false)
        .open_world(false);
    Tool::new(SESSION_TOOL.name, SESSION_TOOL.description, Arc::new(schema))
        .with_title("Manage Python sessions")
        .with_annotations(hints)
        .with_raw_output_schema(Arc::new(members(session_schema())))
}

/// The schema of all answers of the tool `session`. Which members an answer has depends on `action`.
fn session_schema() -> Value {
    let text_or_null = json!({"type": ["string", "null"]});
    let number = json!({"type": "integer", "minimum": 0});
    let forked_from = json!({
        "type": ["object", "null"],
        "properties": {"session": {"type": "string"}, "checkpoint": {"type": "string"}},
    });
    let session = json!({
        "id": {"type": "string"},
        "label": text_or_null,
        "created_ms": number,
        "used_ms": number,
        "expires_ms": number,
        "cells": number,
        "checkpoint": text_or_null,
        "is_warm": {"type": "boolean"},
        "guest_memory_bytes": {"type": ["integer", "null"], "minimum": 0},
        "parked_own_bytes": number,
        "parked_shared_bytes": number,
        "forked_from": forked_from,
        "run_id": text_or_null,
    });
    let checkpoint = json!({
        "id": {"type": "string"},
        "parent": text_or_null,
        "cell": number,
        "name": text_or_null,
        "created_ms": number,
        "bytes": number,
    });
    let list = |properties: &Value| json!({"type": "array", "items": {"type": "object", "properties": properties}});
    let mut properties = members(session.clone());
    properties.extend(members(json!({
        "sessions": list(&session),
        "next_cursor": text_or_null,
        "usage": {"type": "object", "properties": {"sessions": number, "bytes": number}},
        "checkpoints": list(&checkpoint),
        "forks": list(&session),
        "interrupted": {"type": "boolean"},
        "closed": {"type": "boolean"},
    })));
    json!({"type": "object", "properties": properties})
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_say_what_is_taken_and_answered() {
        let tool = serde_json::to_value(session_tool()).unwrap();
        assert_eq!(tool["inputSchema"]["required"], json!(["action"]));
        assert_eq!(tool["inputSchema"]["properties"]["count"]["maximum"], 16);
        let answered = tool["outputSchema"]["properties"].as_object().unwrap();
        for member in ["sessions", "checkpoints", "forks", "interrupted", "closed", "id"] {
            assert!(answered.contains_key(member), "{member}");
        }
    }
}
