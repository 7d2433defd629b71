//! The tools that a call declares, and those that the operator's servers offer to its program: their names there,
//! and the schemas that calls of them fit.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use tracing::debug;

use crate::error::ServiceError;
use wardian_formats::job::session::asking::{JsonText, ToolRequest};
use wardian_formats::protocol::methods::asking::ToolDeclaration;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::protocol::strict::{self, RootKind};
use wardian_formats::protocol::tool_schema::ensure_fits;
use wardian_formats::provenance::DocumentText;
use wardian_tools::OfferedTool;
use wardian_vocabulary::ids::Digest;

/// Names of the guest's module, which no tool and no namespace can have.
const RESERVED: [&str; 7] =
    ["ToolError", "call", "execute_skill", "getpass", "input", "list", "search"];

/// Most bytes of all declarations of a call as JSON.
const MAX_DECLARED: usize = 1 << 20;

/// Most bytes of an error of the server's own, for a program.
const MAX_FAULT: usize = 2 << 10;

/// The tools that the program of a cell may call.
#[derive(Debug, Clone, Default)]
pub(crate) struct CalledTools {
    /// Their declarations for the guest; `None` if it has them, or if there are none.
    pub(crate) declared: Option<JsonText>,
    pub(crate) known: KnownTools,
}

/// The names of tools, with their schemas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct KnownTools(BTreeMap<String, ToolSchemas>);

/// What is known of a tool: its schemas, if it has some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ToolSchemas {
    /// The digest of the tool as its server has listed it; `None` for a tool of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    listed: Option<Digest>,
    /// True if each of its calls needs the caller's approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    needs_approval: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input: Option<JsonText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<JsonText>,
}

impl ToolSchemas {
    fn bytes(&self) -> usize {
        let texts = [self.input.as_ref(), self.output.as_ref()].into_iter().flatten();
        let texts = texts.map(|text| text.as_str().len()).fold(0, usize::saturating_add);
        texts.saturating_add(size_of::<Self>())
    }
}

impl CalledTools {
    /// The tools that a call declares.
    ///
    /// # Errors
    ///
    /// Two of them have one name in the program, one has a name of the program's own module or of a
    /// namespace, or they are too long.
    #[cfg(test)]
    pub(crate) fn of(declared: &[ToolDeclaration]) -> Result<Self, ServiceError> {
        Self::with_offered(declared, Vec::new(), None)
    }

    /// The tools that a call declares, with those that servers of the operator offer, and the one that executes
    /// skills. Of those of servers, those that the program could not tell apart are left out.
    ///
    /// # Errors
    ///
    /// As for those that a call declares; or one of them has the name of a tool that is offered.
    pub(crate) fn with_offered(
        declared: &[ToolDeclaration],
        offered: Vec<OfferedTool>,
        skills: Option<OfferedTool>,
    ) -> Result<Self, ServiceError> {
        ensure_different(declared)?;
        let text = to_raw_value(declared).map_err(ServiceError::Unserialisable)?;
        if text.get().len() > MAX_DECLARED {
            let expected = format!("declarations of at most {MAX_DECLARED} bytes");
            let found = format!("{} bytes", text.get().len());
            return Err(ParamsError::wrong("tools", expected, found).into());
        }
        let mut offered = told_apart(offered);
        ensure_not_offered(declared, &offered)?;
        offered.extend(skills);
        let told = offered.iter().map(|tool| DeclaredTool::Offered(OfferedDeclaration::of(tool)));
        let all: Vec<_> = declared.iter().map(DeclaredTool::Own).chain(told).collect();
        let text = to_raw_value(&all).map_err(ServiceError::Unserialisable)?;
        let known = declared.iter().map(|tool| {
            let [input, output] = [&tool.input_schema, &tool.output_schema]
                .map(|schema| schema.clone().map(JsonText::new));
            (tool.name.clone(), ToolSchemas { input, output, ..ToolSchemas::default() })
        });
        let of_servers = offered.into_iter().map(|tool| {
            let input = Some(JsonText::new(tool.input_schema));
            let (listed, needs_approval) = (Some(tool.digest), tool.needs_approval);
            (tool.name, ToolSchemas { listed, needs_approval, input, output: None })
        });
        let known = known.chain(of_servers).collect();
        Ok(Self { declared: Some(JsonText::new(text)), known: KnownTools(known) })
    }
}

/// The name of a recorded tool.
#[derive(Deserialize)]
struct RecordedTool {
    name: String,
}

impl CalledTools {
    /// The tools of a program that is repeated, from its record. Its calls were checked when they were recorded.
    ///
    /// # Errors
    ///
    /// The text is not a list of declarations.
    pub(crate) fn recorded(declared: &DocumentText) -> Result<Self, ServiceError> {
        let text = declared.text.clone().unwrap_or_default();
        let tools: Vec<RecordedTool> =
            serde_json::from_str(&text).map_err(ServiceError::Unserialisable)?;
        let known = tools.into_iter().map(|tool| (tool.name, ToolSchemas::default())).collect();
        let text = RawValue::from_string(text).map_err(ServiceError::Unserialisable)?;
        Ok(Self { declared: Some(JsonText::new(text)), known: KnownTools(known) })
    }
}

/// A tool as the guest is told of it.
#[derive(Serialize)]
#[serde(untagged)]
enum DeclaredTool<'a> {
    Own(&'a ToolDeclaration),
    Offered(OfferedDeclaration<'a>),
}

/// A tool of a server, as the guest is told of it.
#[derive(Serialize)]
struct OfferedDeclaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
}

impl<'a> OfferedDeclaration<'a> {
    fn of(tool: &'a OfferedTool) -> Self {
        let OfferedTool { name, description, input_schema, output_schema, .. } = tool;
        Self { name, description, input_schema, output_schema: output_schema.as_deref() }
    }
}

/// Bytes of what a server says of a tool.
pub(super) fn bytes_of(tool: &OfferedTool) -> usize {
    let output = tool.output_schema.as_ref().map_or(0, |schema| schema.get().len());
    let texts = [tool.name.len(), tool.description.len(), tool.input_schema.get().len(), output];
    texts.into_iter().fold(0, usize::saturating_add)
}

/// The tools of servers that the program can tell apart: the first of those with one name, and as many as there is
/// room for.
fn told_apart(offered: Vec<OfferedTool>) -> Vec<OfferedTool> {
    let (mut names, mut room) = (ToolNames::default(), MAX_DECLARED);
    let fits = |tool: &OfferedTool| {
        let bytes = bytes_of(tool);
        let has_room = bytes <= room;
        let fits = has_room && names.add(&path_of(&tool.name));
        if fits {
            room = room.saturating_sub(bytes);
        } else {
            let reason =
                if has_room { "it has no name of its own in programs" } else { "it is too long" };
            debug!("the tool `{}` is not offered: {reason}", tool.name);
        }
        fits
    };
    offered.into_iter().filter(fits).collect()
}

/// Refuses a tool of the caller that has the name of one of the operator's.
fn ensure_not_offered(
    declared: &[ToolDeclaration],
    offered: &[OfferedTool],
) -> Result<(), ParamsError> {
    let mut names = ToolNames::default();
    for tool in offered {
        names.add(&path_of(&tool.name));
    }
    let clash = declared.iter().enumerate().find(|(_, tool)| !names.has_room(&path_of(&tool.name)));
    match clash {
        None => Ok(()),
        Some((index, tool)) => {
            let expected =
                "a name that no tool of the server's operator has: `tools.list()` shows them";
            let parameter = format!("tools[{index}].name");
            Err(ParamsError::wrong(&parameter, expected, tool.name.clone()))
        }
    }
}

/// Names in a program, and the namespaces that lead to them.
#[derive(Default)]
struct ToolNames {
    paths: BTreeSet<String>,
    spaces: BTreeSet<String>,
}

impl ToolNames {
    /// True if a tool at this path would be one of its own.
    fn has_room(&self, path: &str) -> bool {
        let first = path.split('.').next().unwrap_or_default();
        !RESERVED.contains(&first)
            && !self.paths.contains(path)
            && !self.spaces.contains(path)
            && !spaces_of(path).any(|space| self.paths.contains(space))
    }

    /// Adds a path, if there is room for it.
    fn add(&mut self, path: &str) -> bool {
        let has_room = self.has_room(path);
        if has_room {
            self.spaces.extend(spaces_of(path).map(str::to_owned));
            self.paths.insert(path.to_owned());
        }
        has_room
    }
}

/// Refuses tools that the program could not tell apart.
fn ensure_different(declared: &[ToolDeclaration]) -> Result<(), ParamsError> {
    let paths: Vec<String> = declared.iter().map(|tool| path_of(&tool.name)).collect();
    let mut seen = BTreeSet::new();
    let spaces: BTreeSet<&str> = paths.iter().flat_map(|path| spaces_of(path)).collect();
    for (index, (tool, path)) in declared.iter().zip(&paths).enumerate() {
        let first = path.split('.').next().unwrap_or_default();
        let expected = if RESERVED.contains(&first) {
            format!(
                "a name that does not begin with `{first}`, which the module `tools` has itself"
            )
        } else if spaces.contains(path.as_str()) {
            "a name that does not end where that of another tool has a `.`".to_owned()
        } else if !seen.insert(path.as_str()) {
            "a name that no other tool has in Python, where `_` stands for signs other than `.`"
                .to_owned()
        } else {
            continue;
        };
        let parameter = format!("tools[{index}].name");
        return Err(ParamsError::wrong(&parameter, expected, tool.name.clone()));
    }
    Ok(())
}

/// The name of a tool in the program, as `CalledTool` in `wasm/guest/_wardian/called_tools.py` makes it.
fn path_of(name: &str) -> String {
    name.replace(|sign: char| !sign.is_ascii_alphanumeric() && sign != '.', "_")
}

/// The namespaces that a path leads through.
fn spaces_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').filter_map(|(at, _)| path.get(..at))
}

impl KnownTools {
    /// The digest of a tool of a server as it was listed; `None` for a tool of the caller.
    pub(crate) fn listed(&self, name: &str) -> Option<Digest> {
        self.0.get(name)?.listed
    }

    /// True if some are tools of servers.
    pub(crate) fn has_listed(&self) -> bool {
        self.0.values().any(|tool| tool.listed.is_some())
    }

    /// True if each call of this tool needs the approval of the caller.
    pub(crate) fn needs_approval(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|tool| tool.needs_approval)
    }

    /// Bytes that they take in memory.
    pub(crate) fn bytes(&self) -> usize {
        let bytes = self.0.iter().map(|(name, schemas)| name.len().saturating_add(schemas.bytes()));
        bytes.fold(0, usize::saturating_add)
    }

    /// Why the caller does not have this call: the program gets that as the error of the tool. `None` if
    /// nothing is wrong.
    ///
    /// # Errors
    ///
    /// The tool was not declared, or the arguments are not an object. Only a program that makes host calls by itself
    /// does that.
    pub(crate) fn fault_of(&self, call: &ToolRequest) -> Result<Option<String>, String> {
        let name = &call.name;
        let Some(schemas) = self.0.get(name) else {
            return Err(format!(
                "the program asked for the tool `{name}`, which its call has not declared"
            ));
        };
        // All parsers must read them alike, as the output of a program.
        match strict::read_output(call.arguments.as_str()) {
            Ok(RootKind::Object) => {}
            Ok(_) => {
                return Err(format!(
                    "the program called the tool `{name}` with arguments that are not an object"
                ));
            }
            Err(fault) => {
                return Ok(Some(bounded(&format!("the arguments cannot be sent: {fault}"))));
            }
        }
        let Some(schema) = &schemas.input else { return Ok(None) };
        let fits = ensure_fits(schema.raw(), call.arguments.raw(), "arguments");
        Ok(fits.err().map(|fault| bounded(&fault)))
    }

    /// Why the program does not get this output of a tool.
    pub(crate) fn fault_of_output(&self, name: &str, output: Option<&JsonText>) -> Option<String> {
        let schema = self.0.get(name)?.output.as_ref()?;
        let null = JsonText::null();
        let fault = ensure_fits(schema.raw(), output.unwrap_or(&null).raw(), "output").err()?;
        Some(bounded(&format!("the tool has returned something else than it declares: {fault}")))
    }
}

fn bounded(fault: &str) -> String {
    let end = fault.floor_char_boundary(MAX_FAULT);
    fault.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(names: &[&str]) -> Result<CalledTools, String> {
        let declared: Vec<ToolDeclaration> = names
            .iter()
            .map(|name| serde_json::from_value(json!({"name": name})).unwrap())
            .collect();
        CalledTools::of(&declared).map_err(|error| error.to_string())
    }

    fn offered(name: &str, schema: &str) -> OfferedTool {
        OfferedTool {
            name: name.to_owned(),
            description: "Does.".to_owned(),
            input_schema: RawValue::from_string(schema.to_owned()).unwrap(),
            output_schema: None,
            needs_approval: false,
            digest: Digest::of(name.as_bytes()),
        }
    }

    #[test]
    fn tools_of_servers_stand_beside_those_of_the_caller() {
        let declared: Vec<ToolDeclaration> = serde_json::from_str(r#"[{"name":"f"}]"#).unwrap();
        let schema = r#"{"required": ["q"]}"#;
        let servers = [
            "my-server.find",
            "my-server.fi-nd",
            "my-server.fi_nd",
            "my-server.find.all",
            "call.x",
        ];
        let servers: Vec<_> = servers.iter().map(|name| offered(name, schema)).collect();
        let tools = CalledTools::with_offered(&declared, servers, None).unwrap();
        let expected = format!(
            r#"[{{"name":"f"}},{{"name":"my-server.find","description":"Does.","input_schema":{schema}}},{{"name":"my-server.fi-nd","description":"Does.","input_schema":{schema}}}]"#
        );
        assert_eq!(tools.declared.unwrap().as_str(), expected, "what has no name is left out");
        let known = tools.known;
        assert_eq!(known.listed("my-server.find"), Some(Digest::of(b"my-server.find")));
        assert_eq!((known.listed("f"), known.listed("my-server.fi_nd")), (None, None));
        let call = ToolRequest { name: "my-server.find".to_owned(), ..called("{}") };
        let fault = known.fault_of(&call).unwrap().unwrap();
        assert!(fault.contains("`arguments.q`") || fault.contains("q"), "{fault}");
        let text = serde_json::to_string(&known).unwrap();
        assert_eq!(serde_json::from_str::<KnownTools>(&text).unwrap(), known);
        let long = format!(r#"{{"description": "{}"}}"#, "x".repeat(MAX_DECLARED));
        let tools = CalledTools::with_offered(
            &[],
            vec![offered("s.long", &long), offered("s.a", "{}")],
            None,
        );
        assert_eq!(tools.unwrap().known.0.keys().collect::<Vec<_>>(), ["s.a"]);
    }

    #[test]
    fn a_tool_of_the_caller_has_no_name_of_a_servers() {
        for (name, is_refused) in [
            ("crm.find", true),
            ("crm", true),
            ("crm.find.all", true),
            ("crm/find", false),
            ("crm.list", false),
        ] {
            let declared = format!(r#"[{{"name":"other"}},{{"name":"{name}"}}]"#);
            let declared: Vec<ToolDeclaration> = serde_json::from_str(&declared).unwrap();
            let tools = CalledTools::with_offered(&declared, vec![offered("crm.find", "{}")], None);
            let message = tools.map(drop).map_err(|error| error.to_string());
            let refused = message.as_ref().is_err_and(|text| {
                text.contains("tools[1].name") && text.contains("the server's operator")
            });
            assert_eq!(refused, is_refused, "{name}: {message:?}");
        }
    }

    fn called(arguments: &str) -> ToolRequest {
        let arguments: JsonText = serde_json::from_str(arguments).unwrap();
        ToolRequest { name: "f".to_owned(), arguments }
    }

    #[test]
    fn a_repeated_program_is_told_what_was_recorded() {
        let text = r#"[{"name":"execute_skill","input_schema":{"type":"object"}},{"name":"f"}]"#;
        let tools = CalledTools::recorded(&DocumentText::of(text)).unwrap();
        assert_eq!(tools.declared.unwrap().as_str(), text);
        assert_eq!(tools.known.0.keys().collect::<Vec<_>>(), ["execute_skill", "f"]);
        assert_eq!(tools.known.fault_of(&called("{}")), Ok(None));
        assert!(CalledTools::recorded(&DocumentText::of("[7]")).is_err());
    }

    #[test]
    fn tools_have_different_names_in_the_program() {
        let two = tools(&["crm/find", "crm-list"]).unwrap();
        assert_eq!(two.declared.unwrap().as_str(), r#"[{"name":"crm/find"},{"name":"crm-list"}]"#);
        assert!(tools(&["crm.find", "crm.list", "crm_find", "search_all", "a..b"]).is_ok());
        for wrong in [
            &["a/b", "a_b"][..],
            &["f", "f"],
            &["input"],
            &["ToolError"],
            &["search.all"],
            &["crm.find", "crm"],
            &["crm.find.all", "crm.find"],
        ] {
            let message = tools(wrong).unwrap_err();
            assert!(message.contains(&format!("tools[{}].name", wrong.len() - 1)), "{message}");
        }
    }

    #[test]
    fn arguments_and_outputs_fit_their_schemas() {
        let declared = json!([{"name": "f",
            "input_schema": {"properties": {"n": {"type": "integer"}}, "required": ["n"]},
            "output_schema": {"type": "array"}}]);
        let declared: Vec<ToolDeclaration> = serde_json::from_str(&declared.to_string()).unwrap();
        let known = CalledTools::of(&declared).unwrap().known;
        assert_eq!(known.fault_of(&called(r#"{"n":1}"#)), Ok(None));
        let fault = known.fault_of(&called(r#"{"n":"1"}"#)).unwrap().unwrap();
        assert_eq!(fault, "`arguments.n` must be an integer");
        let digits = format!(r#"{{"n":1{}}}"#, "0".repeat(309));
        let deep = format!(r#"{{"n":{}{}}}"#, "[".repeat(70), "]".repeat(70));
        for (text, reason) in [
            (r#"{"n":1,"n":2}"#, "member `n` appears twice"),
            (&digits, "the number at `n` does not fit into 64 bits; send it as a string"),
            (&deep, "nested more than 64 levels deep"),
        ] {
            let fault = known.fault_of(&called(text)).unwrap().unwrap();
            assert!(fault.starts_with("the arguments cannot be sent: "), "{fault}");
            assert!(fault.ends_with(reason), "{fault}");
        }
        assert!(known.fault_of(&called("[1]")).is_err());
        assert!(KnownTools::default().fault_of(&called("{}")).unwrap_err().contains("`f`"));
        let output = |text: &str| serde_json::from_str::<JsonText>(text).unwrap();
        assert_eq!(known.fault_of_output("f", Some(&output("[1]"))), None);
        for other in [Some(output("1")), None] {
            let fault = known.fault_of_output("f", other.as_ref()).unwrap();
            assert!(fault.ends_with("`output` must be an array"), "{fault}");
        }
        let text = serde_json::to_string(&known).unwrap();
        assert_eq!(serde_json::from_str::<KnownTools>(&text).unwrap(), known);
    }
}
