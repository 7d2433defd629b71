//! Approvals of calls of tools at the edges: clients of the Model Context Protocol ask their users with a form, and a
//! prompt without a terminal refuses.

use serde_json::{Value, json};

use crate::mcp::speaker::ask;
use crate::run_events::Events;
use crate::support::{Client, Command, SkillFolder, TestServer, eventually};
use crate::tools_in_runs::{CODE, PATIENCE, Served, caught_in_a_program, recorded};

/// A call of a tool by a client that can ask its user.
fn call(server: &TestServer, tool: &str, arguments: &Value, answers: Value) -> Value {
    let mut params = json!({
        "name": tool,
        "arguments": arguments,
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}},
    });
    if let Value::Object(answers) = answers {
        params.as_object_mut().unwrap().extend(answers);
    }
    ask(server, "tools/call", params).result().clone()
}

/// Begins a call that needs an approval, and answers the form so. Returns the form, and the end of the call.
fn answered(
    server: &TestServer,
    (tool, arguments): (&str, &Value),
    response: &Value,
) -> (Value, Value) {
    let asked = call(server, tool, arguments, Value::Null);
    assert_eq!(asked["resultType"], "input_required", "{asked:#}");
    let requests = asked["inputRequests"].as_object().unwrap();
    let (id, form) = requests.iter().next().unwrap();
    assert_eq!((requests.len(), &form["method"]), (1, &json!("elicitation/create")));
    let state = &asked["requestState"];
    let answers = json!({"inputResponses": {id: response}, "requestState": state});
    let ended = call(server, tool, arguments, answers);
    (form["params"].clone(), ended["structuredContent"].clone())
}

#[test]
fn clients_of_the_protocol_ask_their_users() {
    let served = Served::start(CODE, &[]);
    let code = caught_in_a_program("(await py.erase(n=7))['erased']");
    let arguments = json!({"language": "python", "code": code});
    let run = ("run_code", &arguments);
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let (form, ended) = answered(&served.server, run, &yes);
    assert_eq!(
        form["message"],
        r#"The program wants to call py.erase({"n":7}). Approve the call?"#
    );
    assert_eq!(form["requestedSchema"]["properties"]["approve"]["type"], "boolean");
    assert_eq!(ended["output"]["result"], json!([[1], 7]), "{ended:#}");
    assert_eq!(served.calls(), ["erase"]);
    for (response, reason) in [
        (json!({"action": "accept", "content": {"approve": false}}), ""),
        (json!({"action": "decline"}), ": the user has declined"),
        (json!({"action": "cancel", "content": {"approve": true}}), ": the user has not answered"),
        (json!({"action": "accept", "content": {}}), ": the user has not answered"),
    ] {
        let (_, ended) = answered(&served.server, run, &response);
        let refused = format!("the call was not approved{reason}");
        assert_eq!(ended["output"]["result"], json!([[1], ["py.erase", refused]]), "{ended:#}");
    }
    assert_eq!(served.calls(), ["erase"], "what is not approved is not called");
    // A client that cannot ask has the request.
    let params = json!({"name": "run_code", "arguments": arguments});
    let waiting = ask(&served.server, "tools/call", params).result()["structuredContent"].clone();
    assert_eq!(waiting["requests"][0]["kind"], "approval", "{waiting:#}");
}

#[test]
fn a_skill_goes_on_after_its_users_have_approved() {
    let skills = SkillFolder::new();
    let source = "from tools import py\nasync def main(args):\n    \
                  return await py.erase(n=args['n'])";
    skills.action("acme.eraser", "1.0.0", source);
    let manifest = std::fs::read_to_string(skills.at("acme.eraser/skill.toml")).unwrap();
    let granted = manifest + "\n[permissions]\ntools = [\"py.erase\"]\n";
    skills.file("acme.eraser/skill.toml", granted);
    let served = Served::start("", &["--skills", skills.path()]);
    let arguments = json!({"name": "acme.eraser", "args": {"n": 3}});
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let (_, ended) = answered(&served.server, ("execute_skill", &arguments), &yes);
    assert_eq!(ended["output"], json!({"erased": 3}), "{ended:#}");
    assert_eq!(served.calls(), ["erase"], "it is executed once");
}

/// A client with a new key for the tenant `acme`.
fn with_key(server: &TestServer, scopes: &str) -> Client {
    let data = server.data_dir().to_str().unwrap();
    let create = ["--data-dir", data, "keys", "create", "--tenant", "acme", "--name", "k"];
    let made = Command::new().run(&[&create[..], &["--scopes", scopes]].concat()).with(0);
    let client = server.client().with_key(made.stdout.trim_end());
    eventually(PATIENCE, || (client.get("/v1/caller").status != 401).then_some(()));
    client
}

/// The name in records of who has the key of this client.
fn name_of(client: &Client) -> Value {
    client.get("/v1/caller").json()["credential"].clone()
}

#[test]
fn only_a_key_that_may_approve_does_and_is_named() {
    let keys = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let served = Served::start(CODE, &keys);
    let (model, person) =
        (with_key(&served.server, "code"), with_key(&served.server, "code,approve"));
    let params = json!({"language": "python", "code": "from tools import py\n(await py.erase(n=7))['erased']"});
    let lacks = "the caller lacks the scope `approve`";
    for changed in [json!(true), json!({"arguments": {"n": 8}})] {
        let waiting = model.call("run_code", params.clone()).unwrap();
        let answering = |output: &Value| {
            let answers = json!([{"id": waiting["requests"][0]["id"], "output": output}]);
            json!({"language": "python", "code": "", "session": waiting["session"]["id"], "answers": answers})
        };
        let refused = model.refusal("run_code", answering(&changed));
        assert_eq!((refused.kind.as_str(), refused.message.as_str()), ("forbidden", lacks));
        let before = served.calls().len();
        let ended = person.call("run_code", answering(&changed)).unwrap();
        assert_eq!(ended["status"], "completed", "{ended:#}");
        assert_eq!(served.calls().len(), before + 1);
        assert_eq!(recorded(&person, &ended)[0]["approved_by"], name_of(&person));
    }
    let waiting = model.call("run_code", params.clone()).unwrap();
    let answers = json!([{"id": waiting["requests"][0]["id"], "output": false}]);
    let no = json!({"language": "python", "code": "", "session": waiting["session"]["id"], "answers": answers});
    let ended = model.call("run_code", no).unwrap();
    assert_eq!(ended["error"]["type"], "ToolError", "anybody may say no: {ended:#}");

    // While the call goes on, somebody else approves.
    let mut params = params;
    params["tools"] = json!([{"name": "f"}]);
    let mut events = Events::with_key(&served.server, model.key().unwrap(), "run_code", &params);
    let asked = loop {
        let event = events.event().unwrap();
        if event.name == "request" {
            break event.data;
        }
    };
    let path = format!("/v1/runs/{}/answers", asked["run_id"].as_str().unwrap());
    let yes = json!({"answers": [{"id": asked["id"], "output": true}]});
    let refused = model.post_json(&path, &yes);
    assert_eq!((refused.status, refused.json()["error"]["message"].as_str()), (403, Some(lacks)));
    assert_eq!(person.post_json(&path, &yes).status, 200);
    let ended = loop {
        let event = events.event().unwrap();
        if event.name == "response" {
            break event.data["result"].clone();
        }
    };
    assert_eq!(ended["output"]["result"], 7, "{ended:#}");
    assert_eq!(recorded(&person, &ended)[0]["approved_by"], name_of(&person));
}

#[test]
fn a_prompt_without_a_terminal_refuses() {
    let (served, place) = (Served::start(CODE, &[]), Command::new());
    let url = format!("http://{}", served.server.address);
    let script = "from tools import py\nawait py.erase(n=1)\ny\n'goes on'\n";
    let ended = place.run_with_input(&["repl", "--server", &url], script).with(0);
    let refused = "the call was not approved: nobody can be asked here";
    assert!(ended.stderr.contains(refused), "{}", ended.stderr);
    assert!(ended.stderr.contains("NameError"), "the next line is code: {}", ended.stderr);
    assert!(ended.stdout.contains("goes on") && served.calls().is_empty(), "{}", ended.stdout);
}
