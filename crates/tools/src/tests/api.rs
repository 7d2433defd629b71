//! APIs that a document describes, against a server on loopback.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::config::{CredentialTemplate, ToolSource, parse_server_url};
use crate::tests::support::{
    HOST, HttpStub, VALUE, call, catalogue, in_json, quick, response, run, soon, text_of,
};
use wardian_vocabulary::budget::CallMemory;

fn document(paths: &Value) -> PathBuf {
    let file = tempfile::tempdir().unwrap().keep().join("api.json");
    std::fs::write(&file, json!({"openapi": "3.1.0", "paths": paths}).to_string()).unwrap();
    file
}

fn source(document: PathBuf, base: &str) -> ToolSource {
    let template = CredentialTemplate::parse("${TOOL_TOKEN}").unwrap();
    let headers = vec![("X-Key".to_owned(), template)];
    ToolSource::OpenApi { document, base: Some(parse_server_url(base).unwrap()), headers }
}

fn paths() -> Value {
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    let tag = json!({"name": "tag", "in": "query"});
    let key = json!({"name": "X-Key", "in": "header"});
    let body = json!({"required": true, "content": {"application/json": {"schema": {}}}});
    json!({"/items/{id}": {
        "parameters": [id],
        "get": {"operationId": "find", "parameters": [tag, key]},
        "put": {"operationId": "change", "requestBody": body},
        "delete": {"operationId": "drop"},
    }})
}

#[tokio::test]
async fn operations_are_called_as_the_document_says() {
    let server = HttpStub::start(|head, body| match head.split(' ').next() {
        Some("get") if head.contains("/items/gone") => response("404 Not Found", "", "nothing"),
        Some("get") => in_json(&json!({"path": head.split(' ').nth(1), "key": VALUE})),
        _ => in_json(body),
    })
    .await;
    let base = format!("http://{HOST}:{}/v1", server.port);
    let catalogue = catalogue(quick(source(document(&paths()), &base)));
    let tools = run(&catalogue);
    let offered = tools.offered(soon(), &CallMemory::unlimited()).await;
    let offered: Vec<_> =
        offered.tools.iter().map(|tool| (tool.name.as_str(), tool.needs_approval)).collect();
    assert_eq!(offered, [("s.change", false), ("s.drop", true), ("s.find", false)]);

    let found = call(&tools, "s.find", &json!({"id": "a b", "tag": "x", "X-Key": "mine"})).await;
    let found: Value = serde_json::from_str(&text_of(&found)).unwrap();
    assert_eq!(found["path"], "/v1/items/a%20b?tag=x");
    assert_eq!(found["key"], "*".repeat(VALUE.len()), "the value of the secret is covered");
    let head = server.requests.lock()[0].0.clone();
    assert!(head.contains("x-key: hunter2-and-more") && !head.contains("mine"), "{head}");

    let changed = call(&tools, "s.change", &json!({"id": "1", "body": {"n": 1.0}})).await;
    assert_eq!(text_of(&changed), r#"{"n":1.0}"#);
    let gone = call(&tools, "s.find", &json!({"id": "gone"})).await.unwrap();
    assert_eq!(gone.error_text().unwrap(), "status 404: nothing");
    let wrong = call(&tools, "s.find", &json!({"id": ".."})).await.unwrap_err().to_string();
    assert!(wrong.contains("the arguments of `s.find`"), "{wrong}");
    let below = call(&tools, "s.find", &json!({"id": "a/../../admin"})).await;
    assert!(below.is_err(), "an encoded slash is ambiguous: {below:?}");
    assert_eq!(server.requests.lock().len(), 3);
}

#[tokio::test]
async fn a_document_without_a_place_or_a_readable_text_offers_nothing() {
    let file = document(&paths());
    let unnamed = ToolSource::OpenApi { document: file.clone(), base: None, headers: Vec::new() };
    let missing = source(PathBuf::from("/no/such/file"), "https://api.example.com");
    std::fs::write(file.with_extension("txt"), "no document").unwrap();
    let wrong = source(file.with_extension("txt"), "https://api.example.com");
    for (source, expected) in
        [(unnamed, "set `base`"), (missing, "cannot be read"), (wrong, "must have 3.0 or 3.1")]
    {
        let catalogue = catalogue(quick(source));
        let offered = run(&catalogue).offered(soon(), &CallMemory::unlimited()).await;
        let [(_, reason)] = offered.unavailable.as_slice() else { panic!("{expected}") };
        assert!(reason.contains(expected) && !reason.contains("/no/such"), "{reason}");
    }
}
