//! The table of the eight tools. The server publishes it and checks parameters against it.
//!
//! Names, descriptions and order are exactly the protocol's, because models know them. Wardian adds
//! the limits on sizes, `encoding` of `create_blob`, `keep_files`, `strict_output`, `reproducible`,
//! `timeout_ms` of `run_code` (published clients send it there), the limits other than time, paths of
//! blobs, scripts of skills, sessions, and runs in the background.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::protocol::cell_parameters::{ABANDON, ANSWERS, CALLED_TOOLS, SESSION};
use crate::protocol::methods::execution::DEFAULT_EPOCH;
use crate::protocol::methods::limit_bounds::{Limit, LimitBounds};
use crate::protocol::methods::scripts::{ARGV, ENV, SCRIPT, STDIN};
use crate::protocol::pattern::Pattern;
use crate::protocol::schema::{
    Fallback, Integer, Parameter, Presence, Published, Shape, Text, Tool,
};
use wardian_vocabulary::ids::{MAX_BLOB_NAME, MAX_SKILL_NAME, MAX_VERSION, MAX_WORKSPACE_PATH};

/// Most skills on one page of `list_skills`.
pub const MAX_PAGE: u64 = 500;

/// Maximum number of bytes that `read_blob` returns: more would flood the context of a model.
pub const MAX_READ: u64 = 1 << 20;

/// Bytes of a sample that `read_blob` returns by default.
pub(crate) const DEFAULT_READ: u64 = 2_000;

/// Longest source text of `run_code`, in characters. Larger programs belong in a skill.
pub(crate) const MAX_CODE: usize = 1 << 20;

/// Most skills that one run may mount.
pub(crate) const MAX_MOUNTS: usize = 64;

/// Maximum number of blobs that one run may mount by `input_blobs`.
pub const MAX_INPUT_BLOBS: usize = 256;

/// Longest path, cursor or blob id, in characters: more than any real one, too few to fill a log.
const MAX_REFERENCE: usize = 1_024;

/// The name of a skill.
const SKILL_NAME: Shape = Shape::Text(Text::up_to(MAX_SKILL_NAME));

/// Longest `name@version#digest` of a skill, in characters.
const MAX_SKILL_REFERENCE: usize = MAX_SKILL_NAME + 1 + MAX_VERSION + 1 + DIGEST_DIGITS;

/// Hexadecimal digits of a digest.
const DIGEST_DIGITS: usize = 64;

const VERSION: Shape = Shape::Text(Text::up_to(MAX_VERSION));
const REFERENCE: Shape = Shape::Text(Text::up_to(MAX_REFERENCE));
const LATEST: &str = "Skill version (omit for latest)";

const INPUT_BLOBS: Shape = Shape::TextOrObjectList {
    item: Text::up_to(MAX_REFERENCE),
    members: &[
        Parameter::required("blob", REFERENCE, "Blob identifier"),
        Parameter::required(
            "path",
            Shape::Text(Text::up_to(MAX_WORKSPACE_PATH)),
            "Relative path of a file with this content, such as 'data/in.csv', which the program can change",
        ),
    ],
    max_items: MAX_INPUT_BLOBS,
};

/// Most patterns of `keep_files`.
pub(crate) const MAX_KEEP_PATTERNS: usize = 64;

/// Longest pattern of `keep_files`, in characters.
pub(crate) const MAX_KEEP_PATTERN: usize = 256;

const KEEP_FILES: Parameter = Parameter::optional(
    "keep_files",
    Shape::FlagOrList { item: Text::up_to(MAX_KEEP_PATTERN), max_items: MAX_KEEP_PATTERNS },
    "Files in /workspace to store as blobs after the run: true for all, false for none, or glob patterns (omit for all within the size limits)",
);

const STRICT_OUTPUT: Parameter = Parameter::optional(
    "strict_output",
    Shape::Flag,
    "Fail if the program returns a value that JSON cannot represent (a date, table, figure, ...), instead of converting it",
);

/// Largest seed of a reproducible run: the largest integer that every JSON reader keeps exactly.
pub const MAX_SEED: u64 = (1 << 53) - 1;

/// Latest start of a reproducible run, in the year 2255: pandas counts nanoseconds up to 2262.
pub const MAX_EPOCH: u64 = 9_000_000_000;

const REPRODUCIBLE: Parameter = Parameter::optional(
    "reproducible",
    Shape::FlagOrObject(&[
        Parameter::optional(
            "seed",
            Shape::Integer(Integer {
                minimum: 0,
                maximum: Some(MAX_SEED),
                fallback: Fallback::Filled(0),
            }),
            "Seed of all randomness",
        ),
        Parameter::optional(
            "epoch",
            Shape::Integer(Integer {
                minimum: 0,
                maximum: Some(MAX_EPOCH),
                fallback: Fallback::Filled(DEFAULT_EPOCH),
            }),
            "Time of day when the run starts, in seconds since 1970",
        ),
        Parameter::optional(
            "cache",
            Shape::Flag,
            "Return the cached result of an earlier run with the same inputs, if one exists",
        ),
    ]),
    "Make the result repeatable: true, or an object with the seed and the start time",
);

/// Longest label of a run, in characters.
pub(crate) const MAX_LABEL: usize = 200;

const LABEL: Parameter = Parameter::optional(
    "label",
    Shape::Text(Text::up_to(MAX_LABEL)),
    "Title of the run in lists and in its record",
);

/// Longest key of a request, in characters.
const MAX_REQUEST_KEY: usize = 128;

const DETACH: Parameter = Parameter::optional(
    "detach",
    Shape::Flag,
    "Return the run_id immediately and continue in the background; GET /v1/runs/{run_id} returns the status and result",
);

const IDEMPOTENCY_KEY: Parameter = Parameter::optional(
    "idempotency_key",
    Shape::Text(Text {
        max_length: Some(MAX_REQUEST_KEY),
        pattern: Some(Pattern::Token),
        default: None,
        shows_default: false,
    }),
    "Name that you choose for this call: a repeated call with the same name executes nothing and returns the first answer",
);

/// All tools, in the protocol's order.
pub static TOOLS: [Tool; 8] = [
    LIST_SKILLS,
    DESCRIBE_SKILL,
    READ_SKILL_FILE,
    EXECUTE_SKILL,
    RUN_CODE,
    CREATE_BLOB,
    READ_BLOB,
    LOAD_SKILLS_PROTOCOL_GUIDE,
];

const LIST_SKILLS: Tool = Tool {
    name: "list_skills",
    description: "Enumerate available skills, optionally filtering by namespace. Results are deterministically sorted.",
    parameters: &[
        Parameter::optional(
            "namespace",
            SKILL_NAME,
            "Optional namespace to filter skills (e.g., 'salesforce')",
        ),
        Parameter::optional(
            "detail",
            Shape::Choice { values: &["names", "summary"], default: Some("names") },
            "Level of detail to return",
        ),
        Parameter::optional(
            "limit",
            Shape::Integer(Integer {
                minimum: 1,
                maximum: Some(MAX_PAGE),
                fallback: Fallback::Filled(50),
            }),
            "Maximum number of results",
        ),
        Parameter::optional("cursor", REFERENCE, "Pagination cursor from previous response"),
    ],
};

const DESCRIBE_SKILL: Tool = Tool {
    name: "describe_skill",
    description: "Retrieve a skill's manifest and documentation frontmatter.",
    parameters: &[
        Parameter::required("name", SKILL_NAME, "Skill name (e.g., 'salesforce.leads.sync')"),
        Parameter::optional("version", VERSION, LATEST),
        Parameter::optional(
            "detail",
            Shape::Choice { values: &["manifest", "summary", "full"], default: Some("summary") },
            "Level of detail to return",
        ),
    ],
};

const READ_SKILL_FILE: Tool = Tool {
    name: "read_skill_file",
    description: "Read any file in a skill's directory (e.g., SKILL.md, extra docs, schemas).",
    parameters: &[
        Parameter::required("name", SKILL_NAME, "Skill name"),
        Parameter::optional("version", VERSION, LATEST),
        Parameter::required(
            "path",
            REFERENCE,
            "Path to file within skill directory (e.g., 'SKILL.md')",
        ),
    ],
};

const EXECUTE_SKILL: Tool = Tool {
    name: "execute_skill",
    description: "Execute a skill's entrypoint in an ephemeral sandbox.",
    parameters: &[
        Parameter::required("name", Shape::Text(Text::up_to(MAX_SKILL_REFERENCE)), "Skill name"),
        Parameter::optional("version", VERSION, LATEST),
        Parameter::optional(
            "args",
            Shape::AnyObject,
            "JSON-serializable arguments to pass to the skill",
        ),
        SCRIPT,
        ARGV,
        STDIN,
        ENV,
        Parameter::optional("input_blobs", INPUT_BLOBS, "Blob IDs to mount in the sandbox"),
        KEEP_FILES,
        STRICT_OUTPUT,
        REPRODUCIBLE,
        Parameter::optional(
            "timeout_ms",
            Shape::Limit(Limit::Timeout),
            "Execution timeout in milliseconds",
        ),
        Parameter::optional("limits", Shape::Object(LIMITS), "Execution limits"),
        SESSION,
        LABEL,
        CALLED_TOOLS,
        DETACH,
        IDEMPOTENCY_KEY,
    ],
};

const RUN_CODE: Tool = Tool {
    name: "run_code",
    description: "Execute LLM-written code in a sandbox with specified skills and blobs mounted.",
    parameters: &[
        Parameter::required(
            "language",
            Shape::Choice { values: &["python"], default: None },
            "Programming language (MVP: python only)",
        ),
        Parameter::required("code", Shape::Text(Text::up_to(MAX_CODE)), "Source code to execute"),
        Parameter::optional(
            "entrypoint",
            Shape::Text(Text {
                max_length: Some(128),
                pattern: Some(Pattern::Identifier),
                default: Some("main"),
                shows_default: true,
            }),
            "Function name to call",
        ),
        Parameter::optional("args", Shape::AnyObject, "Arguments to pass to entrypoint function"),
        Parameter::optional(
            "mount_skills",
            Shape::TextList { item: Text::up_to(MAX_SKILL_REFERENCE), max_items: MAX_MOUNTS },
            "Skill names to mount in sandbox",
        ),
        Parameter::optional("input_blobs", INPUT_BLOBS, "Blob IDs to mount in sandbox"),
        KEEP_FILES,
        STRICT_OUTPUT,
        REPRODUCIBLE,
        Parameter::optional("limits", Shape::Object(LIMITS), "Execution limits"),
        Parameter::optional(
            "timeout_ms",
            Shape::Limit(Limit::Timeout),
            "Same as limits.timeout_ms",
        ),
        SESSION,
        CALLED_TOOLS,
        ANSWERS,
        ABANDON,
        LABEL,
        DETACH,
        IDEMPOTENCY_KEY,
    ],
};

/// The members of `limits`.
const LIMITS: &[Parameter] = &[
    Parameter {
        name: "timeout_ms",
        presence: Presence::Optional,
        shape: Shape::Limit(Limit::Timeout),
        description: None,
    },
    Parameter::optional(
        "fuel",
        Shape::Limit(Limit::Fuel),
        "Maximum number of WebAssembly instructions",
    ),
    Parameter::optional(
        "memory_bytes",
        Shape::Limit(Limit::Memory),
        "Maximum memory, including the interpreter's",
    ),
    Parameter::optional(
        "workspace_bytes",
        Shape::Limit(Limit::Workspace),
        "Maximum size of all files in /workspace",
    ),
    Parameter::optional(
        "host_calls",
        Shape::Limit(Limit::HostCalls),
        "Maximum number of blob and log calls",
    ),
];

const CREATE_BLOB: Tool = Tool {
    name: "create_blob",
    description: "Store large content as a blob and return its ID.",
    parameters: &[
        Parameter::required("content", Shape::Text(Text::ANY), "Content to store"),
        Parameter::required(
            "kind",
            Shape::Text(Text::up_to(127)),
            "MIME type (e.g., 'text/plain', 'application/json')",
        ),
        Parameter::optional(
            "encoding",
            Shape::Choice { values: &["utf-8", "base64"], default: None },
            "Encoding of content (omit for utf-8 if kind is a text type, base64 if it is a known binary type)",
        ),
        Parameter::optional(
            "name",
            Shape::Text(Text::up_to(MAX_BLOB_NAME)),
            "File name, such as 'sales.csv': programs can open the blob by this name, and lists show it",
        ),
        IDEMPOTENCY_KEY,
    ],
};

const READ_BLOB: Tool = Tool {
    name: "read_blob",
    description: "Retrieve a preview of blob content. Full reads discouraged for large blobs.",
    parameters: &[
        Parameter::required("blob_id", REFERENCE, "Blob identifier"),
        Parameter::optional(
            "mode",
            Shape::Choice {
                values: &["sample_head", "sample_tail", "full"],
                default: Some("sample_head"),
            },
            "How to sample the blob",
        ),
        Parameter::optional(
            "max_bytes",
            Shape::Integer(Integer {
                minimum: 1,
                maximum: Some(MAX_READ),
                fallback: Fallback::Shown(DEFAULT_READ),
            }),
            "Maximum bytes to return",
        ),
    ],
};

const LOAD_SKILLS_PROTOCOL_GUIDE: Tool = Tool {
    name: "load_skills_protocol_guide",
    description: "Load the Skills Protocol Guide to learn how to use these tools. Call this first if you haven't read the guide yet.",
    parameters: &[],
};

/// Finds a tool by its name.
#[must_use]
pub fn find_tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// The formats in which the tools are published.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolFormat {
    /// The protocol's own format: `name`, `description`, `parameters`.
    #[default]
    Plain,
    /// The format of functions of `OpenAI`'s interface.
    OpenAi,
    /// The format of tools of Anthropic's interface.
    Anthropic,
}

/// A tool that prints in a [`ToolFormat`].
#[derive(Debug, Clone, Copy)]
pub struct DescribedTool {
    tool: &'static Tool,
    format: ToolFormat,
    bounds: LimitBounds,
}

/// Returns all tools of a server with these bounds, in the format for a vendor's interface.
#[must_use]
pub fn described(format: ToolFormat, bounds: LimitBounds) -> Vec<DescribedTool> {
    TOOLS.iter().map(|tool| DescribedTool { tool, format, bounds }).collect()
}

impl Serialize for DescribedTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { tool, format, bounds } = self;
        let published = Published { part: *tool, bounds };
        match format {
            ToolFormat::Plain => published.serialize(serializer),
            ToolFormat::OpenAi => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "function")?;
                map.serialize_entry("function", &published)?;
                map.end()
            }
            ToolFormat::Anthropic => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("name", tool.name)?;
                map.serialize_entry("description", tool.description)?;
                let schema = Published { part: tool.schema(), bounds };
                map.serialize_entry("input_schema", &schema)?;
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    use super::*;

    /// The protocol's own schemas.
    const PROTOCOL: &str = include_str!("../../../../tests/fixtures/protocol/tool-schemas.json");

    /// Keywords that are added to the protocol's schemas.
    const ADDED_KEYWORDS: [&str; 6] =
        ["minimum", "maximum", "maxLength", "maxItems", "uniqueItems", "pattern"];

    /// Parameters that are added to the protocol's tools.
    const ADDED_PARAMETERS: [(&str, &str); 31] = [
        ("execute_skill", "script"),
        ("execute_skill", "argv"),
        ("execute_skill", "stdin"),
        ("execute_skill", "env"),
        ("execute_skill", "session"),
        ("execute_skill", "label"),
        ("run_code", "label"),
        ("execute_skill", "strict_output"),
        ("run_code", "strict_output"),
        ("create_blob", "name"),
        ("execute_skill", "keep_files"),
        ("run_code", "keep_files"),
        ("execute_skill", "limits"),
        ("run_code", "timeout_ms"),
        ("run_code.limits", "fuel"),
        ("run_code.limits", "memory_bytes"),
        ("run_code.limits", "workspace_bytes"),
        ("run_code.limits", "host_calls"),
        ("execute_skill", "reproducible"),
        ("run_code", "reproducible"),
        ("create_blob", "encoding"),
        ("execute_skill", "tools"),
        ("execute_skill", "detach"),
        ("execute_skill", "idempotency_key"),
        ("create_blob", "idempotency_key"),
        ("run_code", "detach"),
        ("run_code", "idempotency_key"),
        ("run_code", "session"),
        ("run_code", "tools"),
        ("run_code", "answers"),
        ("run_code", "abandon"),
    ];

    /// JSON whose objects keep their order.
    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(untagged)]
    enum Ordered {
        Object(#[serde(deserialize_with = "pairs")] Vec<(String, Ordered)>),
        Array(Vec<Ordered>),
        Leaf(Value),
    }

    fn pairs<'de, D: serde::Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(String, Ordered)>, D::Error> {
        struct Pairs;
        impl<'de> serde::de::Visitor<'de> for Pairs {
            type Value = Vec<(String, Ordered)>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose()).collect()
            }
        }
        from.deserialize_map(Pairs)
    }

    /// Removes the additions from the properties of `owner`.
    fn strip(owner: &str, schema: &mut Ordered) {
        let Ordered::Object(members) = schema else { return };
        members.retain(|(keyword, _)| !ADDED_KEYWORDS.contains(&keyword.as_str()));
        for (keyword, value) in members {
            if keyword == "items" {
                strip_forms(value);
                strip(owner, value);
            }
            let Ordered::Object(properties) = value else { continue };
            if keyword == "properties" {
                properties.retain(|(name, _)| !ADDED_PARAMETERS.contains(&(owner, name.as_str())));
                for (name, property) in properties {
                    strip(&format!("{owner}.{name}"), property);
                }
            }
        }
    }

    /// Leaves the first of several forms that an item may have, which is the protocol's.
    fn strip_forms(items: &mut Ordered) {
        let Ordered::Object(members) = &mut *items else { return };
        if let [(keyword, Ordered::Array(forms))] = members.as_mut_slice()
            && keyword == "anyOf"
        {
            *items = forms.swap_remove(0);
        }
    }

    #[test]
    fn the_table_is_the_protocols_except_for_the_additions() {
        let ours = serde_json::to_string(&described(ToolFormat::Plain, LimitBounds::ANY)).unwrap();
        let mut ours: Vec<Ordered> = serde_json::from_str(&ours).unwrap();
        for (tool, described) in TOOLS.iter().zip(&mut ours) {
            let Ordered::Object(members) = described else { panic!("{described:?}") };
            strip(tool.name, &mut members[2].1);
        }
        let protocol: Vec<Ordered> = serde_json::from_str(PROTOCOL).unwrap();
        for (ours, theirs) in ours.iter().zip(&protocol) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(ours.len(), protocol.len());
    }

    #[test]
    fn the_published_table_does_not_change_unnoticed() {
        insta::assert_json_snapshot!("tools", described(ToolFormat::Plain, LimitBounds::ANY));
    }

    #[test]
    fn every_vendors_format_has_the_same_tools() {
        let plain = serde_json::to_value(described(ToolFormat::Plain, LimitBounds::ANY)).unwrap();
        let openai = serde_json::to_value(described(ToolFormat::OpenAi, LimitBounds::ANY)).unwrap();
        let anthropic =
            serde_json::to_value(described(ToolFormat::Anthropic, LimitBounds::ANY)).unwrap();
        for at in 0..TOOLS.len() {
            let tool = &plain[at];
            assert_eq!(openai[at], json!({"type": "function", "function": tool}));
            let wanted = json!({
                "name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"],
            });
            assert_eq!(anthropic[at], wanted);
        }
    }

    #[test]
    fn formats_are_chosen_by_name() {
        for (name, format) in [
            ("\"plain\"", ToolFormat::Plain),
            ("\"openai\"", ToolFormat::OpenAi),
            ("\"anthropic\"", ToolFormat::Anthropic),
        ] {
            assert_eq!(serde_json::from_str::<ToolFormat>(name).unwrap(), format);
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        let names: BTreeSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), 8);
        for tool in &TOOLS {
            assert!(std::ptr::eq(find_tool(tool.name).unwrap(), tool));
            let parameters: BTreeSet<_> = tool.parameters.iter().map(|p| p.name).collect();
            assert_eq!(parameters.len(), tool.parameters.len());
        }
        assert!(find_tool("__class__").is_none() && find_tool("").is_none());
    }
}
