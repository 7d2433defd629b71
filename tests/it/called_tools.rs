//! Runs that call tools of their callers, without a session of the caller's own.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, failed, output};

/// Tools with schemas.
fn tools() -> Value {
    let input = json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
        "required": ["query"],
        "additionalProperties": false,
    });
    json!([
        {"name": "crm.search", "description": "Searches invoices.", "input_schema": input,
         "output_schema": {"type": "array"}},
        {"name": "mail"},
    ])
}

fn run(client: &Client, code: &str, more: Value) -> Value {
    let mut params = json!({"tools": tools()});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.run_with(code, params)
}

/// The id of the session in which a run waits, and what it asks.
fn waiting(result: &Value) -> (String, Vec<Value>) {
    assert_eq!(result["status"], "waiting", "{result:#}");
    let id = result["session"]["id"].as_str().unwrap().to_owned();
    (id, result["requests"].as_array().unwrap().clone())
}

fn answer(client: &Client, session: &str, answers: Value) -> Value {
    client.run_with("", json!({"session": session, "answers": answers}))
}

fn is_gone(client: &Client, session: &str) -> bool {
    client.get(&format!("/v1/sessions/{session}")).status == 404
}

#[test]
fn a_run_waits_for_its_caller_and_ends_as_any_other() {
    let client = TestServer::shared().client();
    let code = "import asyncio\nfrom tools import crm\nprint('before')\n\
                async def main(names, more=1):\n    \
                    rows = await asyncio.gather(*(crm.search(name) for name in names))\n    \
                    open('left.txt', 'w').write('x')\n    return {'rows': rows, 'more': more}";
    let first = run(&client, code, json!({"args": {"names": ["a", "b"]}}));
    assert_eq!(first["logs_preview"], "before\n");
    let (session, requests) = waiting(&first);
    let expected = json!([
        {"id": "c1-r1", "kind": "tool", "name": "crm.search", "arguments": {"query": "a", "limit": 10}},
        {"id": "c1-r2", "kind": "tool", "name": "crm.search", "arguments": {"query": "b", "limit": 10}},
    ]);
    assert_eq!(json!(requests), expected);
    let answers = json!([{"id": "c1-r2", "output": [2]}, {"id": "c1-r1", "output": [1]}]);
    let ended = answer(&client, &session, answers);
    assert_eq!(output(&ended), &json!({"rows": [[1], [2]], "more": 1}));
    assert_eq!(ended["session"]["state"], "closed");
    assert_eq!(ended["files"][0]["path"], "left.txt", "{ended:#}");
    assert!(is_gone(&client, &session));
}

#[test]
fn a_run_that_asks_for_nothing_has_no_session() {
    let client = TestServer::shared().client();
    let ended = run(&client, "from tools import crm\n1 + 1", json!({}));
    assert_eq!((&output(&ended)["result"], ended.get("session")), (&json!(2), None));
    let raised = run(&client, "1 / 0", json!({}));
    assert_eq!(failed(&raised).0, "ZeroDivisionError");
    assert_eq!(raised.get("session"), None);
    let plain = client.run_with("1", json!({"tools": []}));
    assert_eq!(output(&plain)["result"], 1);
}

#[test]
fn what_does_not_fit_a_schema_never_comes_to_the_caller() {
    let client = TestServer::shared().client();
    let code = "from tools import crm\nfrom tools import ToolError\nimport tools\n\
                async def ask(arguments):\n    try:\n        \
                    return await tools.call('crm.search', arguments)\n    \
                except ToolError as error:\n        return [error.tool, error.message]\n\
                first = await ask({'query': 1})\nsecond = await ask({'query': 'a'})\n[first, second]";
    let (session, requests) = waiting(&run(&client, code, json!({})));
    assert_eq!(json!(requests.iter().map(|one| &one["id"]).collect::<Vec<_>>()), json!(["c1-r2"]));
    let ended = answer(&client, &session, json!([{"id": "c1-r2", "output": {"rows": []}}]));
    let [first, second] = [0, 1].map(|at| output(&ended)["result"][at].clone());
    assert_eq!(first, json!(["crm.search", "`arguments.query` must be a string"]));
    assert!(second[1].as_str().unwrap().contains("`output` must be an array"), "{second}");
    let endless = "import tools\nwhile True:\n    try:\n        await tools.call('crm.search')\n    \
                   except tools.ToolError:\n        pass";
    let ended = run(&client, endless, json!({}));
    assert!(failed(&ended).1.contains("wrong arguments"), "{ended:#}");
}

#[test]
fn tools_are_found_from_code_and_others_do_not_exist() {
    let client = TestServer::shared().client();
    let code = "import inspect, tools\nfrom tools import crm\nhelp(crm.search)\n\
                [tools.search('invoice')[0]['name'], str(inspect.signature(crm.search)), \
                [one['name'] for one in tools.list()]]";
    let ended = run(&client, code, json!({}));
    let expected =
        json!(["crm.search", "(query: str, limit: int = 10) -> list", ["crm.search", "mail"]]);
    assert_eq!(output(&ended)["result"], expected);
    assert!(ended["logs_preview"].as_str().unwrap().contains("Searches invoices."), "{ended:#}");
    let raised = run(&client, "import tools\nawait tools.call('crm.delete')", json!({}));
    assert_eq!(failed(&raised).0, "ToolError");
}

#[test]
fn a_run_that_waits_ends_with_its_caller_or_without() {
    let client = TestServer::shared().client();
    let (session, _) = waiting(&run(&client, "import tools\nawait tools.mail()", json!({})));
    let wrong = json!({"language": "python", "code": "", "session": session,
        "answers": [{"id": "c9-r9"}]});
    assert_eq!(client.refusal("run_code", wrong).kind, "invalid_params");
    let abandoned = client.run_with("", json!({"session": session, "abandon": true}));
    assert_eq!(abandoned["session"]["state"], "closed", "{abandoned:#}");
    assert!(is_gone(&client, &session));
    let (session, _) = waiting(&run(
        &client,
        "import tools\ndef main(): return tools.mail.sync(n=1) + 1",
        json!({}),
    ));
    let ended = answer(&client, &session, json!([{"id": "c1-r1", "output": 41}]));
    assert_eq!(output(&ended)["result"], 42);
    assert!(is_gone(&client, &session));
    for (name, value) in
        [("detach", json!(true)), ("idempotency_key", json!("a")), ("reproducible", json!(true))]
    {
        let mut params = json!({"language": "python", "code": "1", "tools": tools()});
        params[name] = value;
        assert_eq!(client.refusal("run_code", params).kind, "invalid_params", "{name}");
    }
}
