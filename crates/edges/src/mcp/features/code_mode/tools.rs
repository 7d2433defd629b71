//! The tools of code mode, and their calls as calls of `run_code`.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use wardian_formats::protocol::check::check;
use wardian_formats::protocol::methods::cells::SessionParam;
use wardian_formats::protocol::methods::execution::RunCodeParams;
use wardian_formats::protocol::methods::limit_bounds::{Limit, LimitBounds};
use wardian_formats::protocol::schema::{
    Fallback, Integer, Parameter, Published, Shape, Text, Tool as ToolRow,
};
use wardian_formats::protocol::{CallError, MethodCall};

/// What a model learns about a server in code mode.
pub(crate) const INSTRUCTIONS: &str =
    "Calls tools of other servers from Python: find them with search_tools, call them in run_code.";

/// The program of a search.
const SEARCH: &str = include_str!("search.py");

/// Tools that a search names unless it asks for another number.
const USUAL_LIMIT: u64 = 10;

/// Most tools that a search names.
const MAX_LIMIT: u64 = 100;

/// Longest query, in characters.
const MAX_QUERY: usize = 500;

/// Longest code, in characters: that of `run_code` everywhere.
const MAX_CODE: usize = 1 << 20;

/// Longest id of a session, in characters: more than any real one.
const MAX_ID: usize = 64;

static SEARCH_TOOLS: ToolRow = ToolRow {
    name: "search_tools",
    description: "Find tools that run_code can call, the best first: a Python call and a description of each. Without \
        query: all tools.",
    parameters: &[
        Parameter::optional("query", Shape::Text(Text::up_to(MAX_QUERY)), "Words"),
        Parameter::optional(
            "limit",
            Shape::Integer(Integer {
                minimum: 1,
                maximum: Some(MAX_LIMIT),
                fallback: Fallback::Filled(USUAL_LIMIT),
            }),
            "Most tools to name",
        ),
    ],
};

static RUN_CODE: ToolRow = ToolRow {
    name: "run_code",
    description: "Run Python in a sandbox that can call tools, several in one program: `import tools`, then \
        `rows = await tools.SERVER.TOOL(name=value)` as search_tools shows; `asyncio.gather` for calls at once. In code, \
        `tools.search(\"words\")` finds tools and `help(tools.SERVER.TOOL)` shows arguments; a failed call raises \
        `tools.ToolError`. Results stay in the program: only what it prints (2 KB) and the value of its last expression \
        (4 KB) come back, so filter and sum up in code.",
    parameters: &[
        Parameter::required(
            "code",
            Shape::Text(Text::up_to(MAX_CODE)),
            "Python; `await` works at the top level",
        ),
        Parameter::optional(
            "session",
            Shape::Text(Text::up_to(MAX_ID)),
            "\"new\" keeps the variables; the id that comes back goes on with them",
        ),
        Parameter::optional("timeout_ms", Shape::Limit(Limit::Timeout), "Longest time"),
    ],
};

/// The servers whose tools code may call, where those are all that a client gets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeMode {
    servers: Vec<String>,
}

/// A tool of code mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeTool {
    Search,
    Run,
}

/// The parameters of a search.
#[derive(Debug, Deserialize)]
struct SearchParams {
    query: Option<String>,
    limit: u64,
}

/// The parameters of code.
#[derive(Deserialize)]
struct CodeParams {
    code: String,
    session: Option<String>,
    timeout_ms: Option<u64>,
}

impl CodeMode {
    /// Code mode in front of servers with these names.
    #[must_use]
    pub const fn of(servers: Vec<String>) -> Self {
        Self { servers }
    }

    /// Both tools, for a server with these bounds of limits.
    pub(crate) fn tools(&self, bounds: LimitBounds) -> Vec<Tool> {
        let hints = ToolAnnotations::new();
        let search = hints.clone().read_only(true).open_world(false);
        let run = hints.read_only(false).destructive(false).idempotent(false).open_world(true);
        vec![
            published(&SEARCH_TOOLS, "", bounds).with_annotations(search),
            published(&RUN_CODE, &self.named_servers(), bounds).with_annotations(run),
        ]
    }

    /// The end of a description, which names the servers.
    fn named_servers(&self) -> String {
        format!(" Servers: {}.", self.servers.join(", "))
    }
}

impl CodeTool {
    /// The tool of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "search_tools" => Some(Self::Search),
            "run_code" => Some(Self::Run),
            _ => None,
        }
    }

    /// Checks the arguments of a call, and makes one of `run_code` of it.
    pub(crate) fn call(self, arguments: Option<&RawValue>) -> Result<MethodCall, CallError> {
        let params = match self {
            Self::Search => {
                let params: SearchParams = check(&SEARCH_TOOLS, arguments)?.read(&SEARCH_TOOLS)?;
                let query = params.query.unwrap_or_default();
                let mut search = RunCodeParams::of_code(SEARCH.to_owned(), None);
                search.entrypoint = Some("main".to_owned());
                search.args = to_raw_value(&json!({"query": query, "limit": params.limit})).ok();
                search
            }
            Self::Run => {
                let params: CodeParams = check(&RUN_CODE, arguments)?.read(&RUN_CODE)?;
                let mut run = RunCodeParams::of_code(params.code, params.timeout_ms);
                run.session = params.session.map(SessionParam::Id);
                run
            }
        };
        Ok(MethodCall::RunCode(params))
    }
}

/// A tool as clients see it. Models do without the schema of its answers.
fn published(row: &'static ToolRow, more: &str, bounds: LimitBounds) -> Tool {
    let schema = serde_json::to_value(Published { part: row.schema(), bounds: &bounds });
    let schema = match schema {
        Ok(Value::Object(schema)) => schema,
        _ => serde_json::Map::new(),
    };
    Tool::new(row.name, format!("{}{more}", row.description), Arc::new(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, arguments: &Value) -> Result<RunCodeParams, String> {
        let arguments = to_raw_value(arguments).map_err(|error| error.to_string())?;
        let tool = CodeTool::named(tool).ok_or("there is no such tool")?;
        match tool.call(Some(&arguments)) {
            Ok(MethodCall::RunCode(params)) => Ok(params),
            Ok(other) => Err(format!("{other:?}")),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn both_tools_take_few_tokens() {
        let mode = CodeMode::of(vec!["git".to_owned(), "time".to_owned()]);
        let tools = serde_json::to_value(mode.tools(LimitBounds::ANY)).unwrap();
        let names: Vec<_> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["search_tools", "run_code"]);
        let described = tools[1]["description"].as_str().unwrap();
        assert!(described.ends_with("Servers: git, time."), "{described}");
        assert_eq!(tools[1]["inputSchema"]["required"], json!(["code"]));
        assert!(tools[1].get("outputSchema").is_none());
        // Some four letters are a token.
        assert!(tools.to_string().len() < 2_400, "{}", tools.to_string().len());
    }

    #[test]
    fn calls_become_calls_of_run_code() {
        let search = call("search_tools", &json!({"query": "a \"b\""})).unwrap();
        assert_eq!(search.entrypoint.as_deref(), Some("main"));
        let args: Value = serde_json::from_str(search.args.unwrap().get()).unwrap();
        assert_eq!(args, json!({"query": "a \"b\"", "limit": USUAL_LIMIT}));
        assert!(search.code.contains("from runtime import tools"));
        let all = call("search_tools", &json!({"limit": 3, "query": null})).unwrap();
        assert_eq!(all.args.unwrap().get(), r#"{"limit":3,"query":""}"#);

        let run =
            call("run_code", &json!({"code": "1", "session": "new", "timeout_ms": 7})).unwrap();
        assert_eq!((run.code.as_str(), run.limits().timeout_ms), ("1", Some(7)));
        assert_eq!(run.session, Some(SessionParam::Id("new".to_owned())));
        let plain = call("run_code", &json!({"code": "1"})).unwrap();
        assert!(plain.session.is_none() && plain.limits().timeout_ms.is_none());
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (tool, arguments, expected) in [
            ("run_code", json!({}), "`code`"),
            ("run_code", json!({"code": "1", "language": "python"}), "`language`"),
            ("run_code", json!({"code": 1}), "`code`"),
            ("search_tools", json!({"limit": 0}), "`limit`"),
            ("search_tools", json!({"limit": MAX_LIMIT + 1}), "`limit`"),
            ("search_tools", json!({"query": "x".repeat(MAX_QUERY + 1)}), "`query`"),
            ("search_tools", json!([]), "object"),
        ] {
            let fault = call(tool, &arguments).unwrap_err();
            assert!(fault.contains(expected), "{fault}");
        }
        assert_eq!(CodeTool::named("execute_skill"), None);
    }
}
