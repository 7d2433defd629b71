//! An operation as a tool: its name, the schema of its arguments, and where each of them is sent.

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use crate::offered::ToolDefinition;
use crate::openapi::references::{Schemas, resolve};

/// Most parameters of an operation.
const MAX_PARAMETERS: usize = 64;

/// Longest name of a parameter, in bytes.
const MAX_NAME: usize = 128;

/// The argument that is the body.
pub(crate) const BODY: &str = "body";

/// Headers that no argument sets: those of the gateway, of connections, and of credentials.
const RESERVED_HEADERS: [&str; 14] = [
    "accept",
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Where a parameter is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParameterPlace {
    Path,
    Query,
    Header,
}

/// A parameter of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OperationParameter {
    pub(crate) name: String,
    pub(crate) place: ParameterPlace,
    pub(crate) is_required: bool,
}

/// An operation that can be called.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) tool: ToolDefinition,
    pub(crate) method: &'static str,
    /// The path with `{name}` for parameters.
    pub(crate) path: String,
    pub(crate) parameters: Vec<OperationParameter>,
    /// Whether there is a body in JSON, and whether it is required.
    pub(crate) body: Option<bool>,
}

/// Reads an operation; `shared` are the parameters of its path.
///
/// # Errors
///
/// Why it cannot be a tool.
pub(crate) fn read_operation(
    root: &Value,
    (method, path): (&'static str, &str),
    operation: &Value,
    shared: Option<&Value>,
) -> Result<Operation, String> {
    let mut schemas = Schemas::new(root);
    let (mut properties, mut required) = (Map::new(), Vec::new());
    let mut parameters: Vec<OperationParameter> = Vec::new();
    for given in listed(operation.get("parameters")).chain(listed(shared)) {
        let given = resolve(root, given)?;
        let Some(parameter) = read_parameter(given)? else { continue };
        // Those of the operation hide those of its path.
        let is_known = parameters.iter().any(|known| known.name == parameter.name);
        if is_known || parameters.len() >= MAX_PARAMETERS {
            continue;
        }
        let schema = given.get("schema").map(|schema| schemas.standalone(schema)).transpose()?;
        let description = given.get("description").and_then(Value::as_str);
        properties.insert(parameter.name.clone(), described(schema, description));
        if parameter.is_required {
            required.push(Value::String(parameter.name.clone()));
        }
        parameters.push(parameter);
    }
    check_path(path, &parameters)?;
    let body = operation.get("requestBody").map(|body| resolve(root, body)).transpose()?;
    let body = body.map(read_body).transpose()?.flatten();
    if let Some((schema, is_required)) = &body {
        if properties.contains_key(BODY) {
            return Err("it has a parameter `body` besides a body".to_owned());
        }
        properties.insert(BODY.to_owned(), schemas.standalone(schema)?);
        if *is_required {
            required.push(Value::String(BODY.to_owned()));
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), Value::Array(required));
    schema.insert("additionalProperties".to_owned(), false.into());
    let definitions = schemas.into_definitions();
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    let input_schema = to_raw_value(&schema).map_err(|error| error.to_string())?;
    let tool = ToolDefinition {
        name: name_of(method, path, operation),
        description: description_of(operation),
        input_schema,
        output_schema: None,
        is_destructive: method == "DELETE",
    };
    let body = body.map(|(_, is_required)| is_required);
    Ok(Operation { tool, method, path: path.to_owned(), parameters, body })
}

fn listed(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

/// Reads a parameter; `None` for one that is left out of requests.
fn read_parameter(given: &Value) -> Result<Option<OperationParameter>, String> {
    let text = |key: &str| given.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("name");
    let is_required = given.get("required").and_then(Value::as_bool).unwrap_or(false);
    let is_header = |name: &str| {
        let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let lower = name.to_ascii_lowercase();
        name.bytes().all(is_sign) && !RESERVED_HEADERS.contains(&lower.as_str())
    };
    let place = match text("in") {
        _ if name.is_empty() || name.len() > MAX_NAME => None,
        "path" => Some(ParameterPlace::Path),
        "query" => Some(ParameterPlace::Query),
        "header" if is_header(name) => Some(ParameterPlace::Header),
        _ => None,
    };
    match place {
        Some(place) => {
            let is_required = is_required || place == ParameterPlace::Path;
            Ok(Some(OperationParameter { name: name.to_owned(), place, is_required }))
        }
        None if is_required => Err("it needs a parameter that cannot be sent".to_owned()),
        None => Ok(None),
    }
}

fn described(schema: Option<Value>, description: Option<&str>) -> Value {
    let mut schema = match schema {
        Some(Value::Object(schema)) => schema,
        _ => Map::new(),
    };
    if let Some(description) = description {
        schema.entry("description").or_insert_with(|| description.into());
    }
    Value::Object(schema)
}

/// The schema of a body in JSON, and whether it is required; `None` if it can be left out.
fn read_body(body: &Value) -> Result<Option<(Value, bool)>, String> {
    let is_required = body.get("required").and_then(Value::as_bool).unwrap_or(false);
    let content = body.get("content").and_then(Value::as_object);
    let json = content.and_then(|content| {
        content.iter().find(|(kind, _)| kind.split(';').next() == Some("application/json"))
    });
    match json {
        Some((_, media)) => {
            let schema = media.get("schema").cloned().unwrap_or_else(|| Value::Object(Map::new()));
            Ok(Some((schema, is_required)))
        }
        None if is_required => Err("its body is not JSON".to_owned()),
        None => Ok(None),
    }
}

/// Checks that each place in the path has its parameter.
fn check_path(path: &str, parameters: &[OperationParameter]) -> Result<(), String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/{}".contains(&byte);
    if !path.starts_with('/') || !path.bytes().all(is_plain) {
        return Err("its path is not plain".to_owned());
    }
    let mut rest = path.to_owned();
    for parameter in parameters.iter().filter(|one| one.place == ParameterPlace::Path) {
        rest = rest.replace(&format!("{{{}}}", parameter.name), "");
    }
    if rest.contains(['{', '}']) {
        return Err("its path has a place without a parameter".to_owned());
    }
    Ok(())
}

/// The operation's own name, or one that is made of its method and its path.
fn name_of(method: &str, path: &str, operation: &Value) -> String {
    if let Some(name) = operation.get("operationId").and_then(Value::as_str) {
        return name.to_owned();
    }
    let words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    std::iter::once(method.to_ascii_lowercase().as_str()).chain(words).collect::<Vec<_>>().join("_")
}

fn description_of(operation: &Value) -> String {
    let text = |key: &str| operation.get(key).and_then(Value::as_str).unwrap_or_default();
    let parts = [text("summary"), text("description")];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(operation: &Value) -> Result<Operation, String> {
        read_operation(&json!({}), ("POST", "/v1/items/{id}"), operation, None)
    }

    #[test]
    fn the_schema_has_parameters_and_body() {
        let id = json!({"name": "id", "in": "path", "required": true,
            "schema": {"type": "integer"}, "description": "Which."});
        let trace = json!({"name": "X-Trace", "in": "header", "schema": {"type": "string"}});
        let cookie = json!({"name": "c", "in": "cookie"});
        let token = json!({"name": "Authorization", "in": "header"});
        let body = json!({"required": true, "content": {"application/json": {"schema": {}}}});
        let operation = json!({"summary": "Does.", "description": "It.", "requestBody": body,
            "parameters": [id, trace, cookie, token]});
        let read = read(&operation).unwrap();
        assert_eq!(read.tool.name, "post_v1_items_id");
        assert_eq!(read.tool.description, "Does.\n\nIt.");
        let schema: Value = serde_json::from_str(read.tool.input_schema.get()).unwrap();
        let expected = json!({
            "type": "object", "additionalProperties": false, "required": ["id", "body"],
            "properties": {
                "id": {"type": "integer", "description": "Which."},
                "X-Trace": {"type": "string"},
                "body": {},
            },
        });
        assert_eq!(schema, expected);
        assert_eq!((read.parameters.len(), read.body), (2, Some(true)));
    }

    #[test]
    fn what_cannot_be_sent_is_no_tool() {
        let id = json!({"name": "id", "in": "path"});
        for wrong in [
            json!({}),
            json!({"parameters": [id, {"name": "c", "in": "cookie", "required": true}]}),
            json!({"parameters": [id, {"name": "Host", "in": "header", "required": true}]}),
            json!({"parameters": [id, {"$ref": "https://x.example/p"}]}),
            json!({"parameters": [id], "requestBody": {"required": true, "content": {}}}),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
        assert!(read(&json!({"parameters": [id]})).is_ok());
    }
}
