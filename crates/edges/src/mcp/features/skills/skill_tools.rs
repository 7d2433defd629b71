//! Each skill that can be executed as a tool of its own.
//!
//! The name of the tool is that of the skill, with underscores for its dots: many clients accept only
//! letters, digits, `_` and `-`. No skill has an underscore in its name, so each tool is one skill.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value};

use crate::mcp::features::tools::SESSION_TOOL;
use wardian_formats::protocol::openrpc::output_schema;
use wardian_formats::protocol::tools::find_tool;
use wardian_service::PublishedSkill;

/// Longest name of a tool: what the interfaces of models accept.
const MAX_NAME: usize = 64;

/// The name of the tool that executes a skill, if the skill can have one.
pub(crate) fn tool_of(skill: &str) -> Option<String> {
    let name = skill.replace('.', "_");
    let is_taken = name == SESSION_TOOL.name || find_tool(&name).is_some();
    (name.len() <= MAX_NAME && !is_taken).then_some(name)
}

/// The name of the skill that a tool executes.
pub(crate) fn skill_of(tool: &str) -> String {
    tool.replace('_', ".")
}

/// The tool of a skill; `None` if it cannot be executed or called.
pub(crate) fn tool(skill: &PublishedSkill) -> Option<Tool> {
    let name = tool_of(skill.name().as_str()).filter(|_| skill.is_action())?;
    let schema = match skill.input_schema() {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    let hints = ToolAnnotations::new().read_only(false).open_world(skill.reaches_network());
    let tool = Tool::new(name, skill.description().to_owned(), Arc::new(schema));
    let results = Arc::new(output_schema("execute_skill"));
    Some(tool.with_title(skill.title()).with_annotations(hints).with_raw_output_schema(results))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_one_skill() {
        for skill in ["hello.world", "pdf-tools", "a.b-c.d"] {
            assert_eq!(skill_of(&tool_of(skill).unwrap()), skill);
        }
        assert_eq!(tool_of("data.csv.profile").unwrap(), "data_csv_profile");
        // The server's own tools keep their names.
        assert_eq!(tool_of("run.code"), None);
        assert_eq!(tool_of("session"), None);
        assert_eq!(tool_of(&"a".repeat(65)), None);
    }
}
