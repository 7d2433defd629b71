//! The document: JSON or YAML, of bounded size, and the operations in it.

use serde_json::{Map, Value};

use crate::fault::told;
use crate::openapi::operation::{Operation, read_operation};
use crate::openapi::references::resolve;

/// Most levels of a document in YAML. The reader of JSON has the same bound.
const MAX_DEPTH: usize = 128;

/// Most keys and values of a document in YAML.
const MAX_VALUES: usize = 500_000;

/// Methods whose operations are tools, as the document writes them and as they are sent.
const METHODS: [(&str, &str); 6] = [
    ("get", "GET"),
    ("put", "PUT"),
    ("post", "POST"),
    ("delete", "DELETE"),
    ("patch", "PATCH"),
    ("head", "HEAD"),
];

/// A document that was read.
#[derive(Debug)]
pub(crate) struct ApiDocument {
    /// The first of its servers, if it is a URL.
    pub(crate) base: Option<String>,
    /// The operations that can be tools.
    pub(crate) operations: Vec<Operation>,
    /// Why each of the others cannot.
    pub(crate) left_out: Vec<String>,
}

/// Reads a document, with at most `most` operations.
///
/// # Errors
///
/// The problem, as the end of a sentence.
pub(crate) fn read_document(text: &str, most: usize) -> Result<ApiDocument, String> {
    let root = parse(text)?;
    let version = root.get("openapi").and_then(Value::as_str).unwrap_or_default();
    if !["3.0", "3.1"].iter().any(|known| version.starts_with(known)) {
        return Err(format!("has `openapi: {}` and must have 3.0 or 3.1", told(version)));
    }
    let none = Map::new();
    let paths = root.get("paths").and_then(Value::as_object).unwrap_or(&none);
    let mut document =
        ApiDocument { base: first_server(&root), operations: Vec::new(), left_out: Vec::new() };
    for (path, item) in paths {
        let item = match resolve(&root, item) {
            Ok(item) => item,
            Err(problem) => {
                document.left_out.push(format!("{}: {problem}", told(path)));
                continue;
            }
        };
        for (key, method) in METHODS {
            let Some(operation) = item.get(key) else { continue };
            let shared = item.get("parameters");
            let read = read_operation(&root, (method, path), operation, shared);
            let read = read.and_then(|read| {
                let is_known =
                    document.operations.iter().any(|known| known.tool.name == read.tool.name);
                match (is_known, document.operations.len() < most) {
                    (true, _) => Err("another operation has its name".to_owned()),
                    (_, false) => Err("there are too many operations".to_owned()),
                    _ => Ok(read),
                }
            });
            match read {
                Ok(read) => document.operations.push(read),
                Err(problem) => {
                    document.left_out.push(format!("{method} {}: {problem}", told(path)));
                }
            }
        }
    }
    Ok(document)
}

fn first_server(root: &Value) -> Option<String> {
    let url = root.get("servers")?.get(0)?.get("url")?.as_str()?;
    url.starts_with("http").then(|| url.to_owned())
}

fn parse(text: &str) -> Result<Value, String> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_VALUES,
            max_events: 4 * MAX_VALUES,
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
        },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| format!("is neither JSON nor YAML: {}", told(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "
openapi: 3.1.0
servers:
  - url: https://crm.example.com/api
paths:
  /contacts/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
    get:
      operationId: findContact
      summary: Finds a contact.
      responses:
        200: {description: It.}
    delete:
      responses:
        '204': {description: Gone.}
  /odd:
    get:
      operationId: findContact
    post:
      requestBody: {required: true, content: {text/plain: {}}}
";

    #[test]
    fn operations_of_a_document_are_tools() {
        let document = read_document(YAML, 10).unwrap();
        assert_eq!(document.base.as_deref(), Some("https://crm.example.com/api"));
        let names: Vec<_> = document.operations.iter().map(|one| one.tool.name.as_str()).collect();
        assert_eq!(names, ["findContact", "delete_contacts_id"]);
        let [find, delete] = document.operations.as_slice() else { panic!() };
        assert_eq!((find.method, find.tool.is_destructive), ("GET", false));
        assert_eq!((delete.method, delete.tool.is_destructive), ("DELETE", true));
        assert_eq!(document.left_out.len(), 2, "{:?}", document.left_out);
        assert_eq!(read_document(YAML, 1).unwrap().operations.len(), 1);
    }

    #[test]
    fn json_is_read_too_and_other_texts_are_refused() {
        let json = r#"{"openapi":"3.0.3","paths":{"/a":{"get":{"operationId":"a"}}}}"#;
        assert_eq!(read_document(json, 9).unwrap().operations.len(), 1);
        let deep = format!("{{\"a\":{}", "[".repeat(100_000));
        let bomb = "openapi: 3.1.0\na: &a [x]\npaths: *a\n".to_owned();
        let old = r#"{"swagger":"2.0"}"#.to_owned();
        for wrong in [deep, bomb, old, "- a".to_owned(), String::new()] {
            assert!(read_document(&wrong, 9).is_err(), "{}", told(&wrong));
        }
    }
}
