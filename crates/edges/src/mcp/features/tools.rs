//! The eight methods as tools: titles, hints, and the schemas of parameters and results.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};

use wardian_formats::protocol::openrpc::output_schema;
use wardian_formats::protocol::schema::LimitBounds;
use wardian_formats::protocol::tools::{TOOLS, ToolFormat, described};

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
