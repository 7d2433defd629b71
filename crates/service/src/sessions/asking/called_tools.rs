//! The tools that a call declares: their names in the program, and the schemas that calls of them fit.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use crate::error::ServiceError;
use wardian_formats::job::session::asking::{JsonText, ToolRequest};
use wardian_formats::protocol::methods::asking::ToolDeclaration;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_formats::protocol::strict::{self, RootKind};
use wardian_formats::protocol::tool_schema::ensure_fits;

/// Names of the guest's module, which no tool and no namespace can have.
const RESERVED: [&str; 6] = ["ToolError", "call", "getpass", "input", "list", "search"];

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

/// The schemas of a tool, if it has some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ToolSchemas {
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
    pub(crate) fn of(declared: &[ToolDeclaration]) -> Result<Self, ServiceError> {
        ensure_different(declared)?;
        let text = to_raw_value(declared).map_err(ServiceError::Unserialisable)?;
        if text.get().len() > MAX_DECLARED {
            let expected = format!("declarations of at most {MAX_DECLARED} bytes");
            let found = format!("{} bytes", text.get().len());
            return Err(ParamsError::wrong("tools", expected, found).into());
        }
        let known = declared.iter().map(|tool| {
            let [input, output] = [&tool.input_schema, &tool.output_schema]
                .map(|schema| schema.clone().map(JsonText::new));
            (tool.name.clone(), ToolSchemas { input, output })
        });
        Ok(Self { declared: Some(JsonText::new(text)), known: KnownTools(known.collect()) })
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
    /// A tool that was not declared, or arguments that parsers of JSON would read differently. Only a
    /// program that makes host calls by itself asks so.
    pub(crate) fn fault_of(&self, call: &ToolRequest) -> Result<Option<String>, String> {
        let name = &call.name;
        let Some(schemas) = self.0.get(name) else {
            return Err(format!(
                "the program asked for the tool `{name}`, which its call has not declared"
            ));
        };
        // All parsers must read them alike, as the output of a program.
        if strict::read_output(call.arguments.as_str()).ok() != Some(RootKind::Object) {
            return Err(format!(
                "the program called the tool `{name}` with arguments that have no single meaning"
            ));
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

    fn called(arguments: &str) -> ToolRequest {
        let arguments: JsonText = serde_json::from_str(arguments).unwrap();
        ToolRequest { name: "f".to_owned(), arguments }
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
        assert!(known.fault_of(&called(r#"{"n":1,"n":2}"#)).is_err());
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
