//! Runs that call tools of their callers, without a session of the caller's own.

use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::run_events::Events;
use crate::support::{Client, SkillFolder, TestServer, eventually, failed, output};

/// What happens in a moment, on a machine that is not busy.
const PATIENCE: Duration = Duration::from_secs(60);

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
    assert!(failed(&ended).1.contains("each call was refused"), "{ended:#}");
}

#[test]
fn arguments_that_json_cannot_hold_are_an_error_of_their_call() {
    let client = TestServer::shared().client();
    let code = "import asyncio, tools\nfrom tools import mail\n\
                deep = 0\nfor _ in range(70):\n    deep = [deep]\n\
                async def caught(value):\n    try:\n        return await mail(n=value)\n    \
                except tools.ToolError as error:\n        return error.message.rpartition(': ')[2]\n\
                await asyncio.gather(*map(caught, [10**309, deep, 1]))";
    let (session, requests) = waiting(&run(&client, code, json!({})));
    let [request] = requests.as_slice() else { panic!("{requests:?}") };
    let ended = answer(&client, &session, json!([{"id": request["id"], "output": "sent"}]));
    let found = output(&ended)["result"].to_string();
    for expected in ["does not fit into 64 bits", "64 levels deep", "sent"] {
        assert!(found.contains(expected), "{found}");
    }
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
    for (name, value) in [
        ("detach", json!(true)),
        ("idempotency_key", json!("a")),
        ("reproducible", json!({"cache": true})),
    ] {
        let mut params = json!({"language": "python", "code": "1", "tools": tools()});
        params[name] = value;
        assert_eq!(client.refusal("run_code", params).kind, "invalid_params", "{name}");
    }
}

/// A call whose events a client reads, and its run.
pub(crate) struct Reading<'a> {
    client: &'a Client,
    events: Events,
    run: String,
    /// The response, if it was read.
    last: Option<Value>,
}

impl<'a> Reading<'a> {
    fn begin(client: &'a Client, code: &str, more: &Value) -> Self {
        Self::begin_at(TestServer::shared(), client, code, more)
    }

    /// Begins a run of a server that this client calls.
    pub(crate) fn begin_at(
        server: &TestServer,
        client: &'a Client,
        code: &str,
        more: &Value,
    ) -> Self {
        let mut params = json!({"language": "python", "code": code, "tools": tools()});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let events = Events::of(server, "run_code", &params);
        Self { client, events, run: String::new(), last: None }
    }

    /// The id of the next request, which comes after this output.
    pub(crate) fn request(&mut self, printed: &str) -> String {
        let mut found = String::new();
        loop {
            let event = self.events.event().unwrap();
            match event.name.as_str() {
                "output" => found.push_str(event.data["text"].as_str().unwrap()),
                "request" => {
                    event.data["run_id"].as_str().unwrap().clone_into(&mut self.run);
                    assert_eq!(found, printed);
                    return event.data["id"].as_str().unwrap().to_owned();
                }
                other => panic!("{other}: {}", event.data),
            }
        }
    }

    /// The id of the next request; `None` at the end of the events before the response.
    fn request_or_end(&mut self) -> Option<String> {
        let event = self.events.event().unwrap();
        if event.name == "response" {
            self.last = Some(event.data);
            return None;
        }
        assert_eq!(event.name, "request", "{}", event.data);
        event.data["run_id"].as_str().unwrap().clone_into(&mut self.run);
        Some(event.data["id"].as_str().unwrap().to_owned())
    }

    pub(crate) fn answer(&self, answers: Value) -> (u16, Value) {
        let body = json!({"answers": answers});
        let answer = self.client.post_json(&format!("/v1/runs/{}/answers", self.run), &body);
        (answer.status, answer.json())
    }

    pub(crate) fn response(self) -> Value {
        self.end()["result"].clone()
    }

    /// The response, which may be an error.
    pub(crate) fn end(mut self) -> Value {
        if let Some(last) = self.last.take() {
            return last;
        }
        let last = std::iter::from_fn(|| self.events.event()).last().unwrap();
        assert_eq!(last.name, "response", "{}", last.data);
        last.data
    }
}

#[test]
fn requests_are_events_and_are_answered_while_the_program_goes_on() {
    let client = TestServer::shared().client();
    let code = "import asyncio\nfrom tools import crm\n\
                async def main():\n    \
                    first = asyncio.ensure_future(crm.search('a'))\n    \
                    print('second', await crm.search('b'))\n    \
                    third = await crm.search('c')\n    return [await first, third]";
    // The task begins to ask when the program waits for the first time.
    let mut reading = Reading::begin(&client, code, &json!({}));
    let asked = [reading.request(""), reading.request("")];
    assert_eq!(asked, ["c1-r1", "c1-r2"]);
    let (status, taken) = reading.answer(json!([{"id": "c1-r1", "output": [2]}]));
    let expected = json!({"run_id": reading.run, "accepted": ["c1-r1"], "repeated": []});
    assert_eq!((status, taken), (200, expected));
    assert_eq!(reading.request("second [2]\n"), "c1-r3");
    let (_, again) = reading.answer(json!([{"id": "c1-r1", "output": [2]}]));
    assert_eq!((&again["accepted"], &again["repeated"]), (&json!([]), &json!(["c1-r1"])));
    for (wrong, status, words) in [
        (json!([{"id": "c1-r1", "output": [3]}]), 400, "answered once"),
        (json!([{"id": "c1-r9"}]), 400, "of this run"),
        (json!([{"id": "c1-r2", "output": 1, "error": "x"}]), 400, "both"),
    ] {
        let (found, body) = reading.answer(wrong);
        assert_eq!(found, status, "{body}");
        assert!(body.to_string().contains(words), "{body}");
    }
    let both = json!([{"id": "c1-r3", "error": "no"}, {"id": "c1-r2", "output": [1]}]);
    assert_eq!(reading.answer(both).0, 200);
    let path = format!("/v1/runs/{}/answers", reading.run);
    let ended = reading.response();
    assert_eq!(failed(&ended), ("ToolError", "no"));
    assert_eq!((ended.get("session"), &ended["logs_preview"]), (None, &json!("second [2]\n")));
    let late = client.post_json(&path, &json!({"answers": [{"id": "c1-r1", "output": [1]}]}));
    assert_eq!((late.status, late.error().1), (404, "run_not_found".to_owned()));
}

#[test]
fn a_function_that_waits_is_answered_while_its_call_goes_on() {
    let client = TestServer::shared().client();
    let code = "import tools\ndef main():\n    \
                return [tools.mail.sync(n=number) for number in range(3)]";
    let mut reading = Reading::begin(&client, code, &json!({}));
    for number in 1..=3 {
        let id = reading.request("");
        assert_eq!(id, format!("c1-r{number}"));
        assert_eq!(reading.answer(json!([{"id": id, "output": number}])).0, 200);
    }
    assert_eq!(output(&reading.response())["result"], json!([1, 2, 3]));
    let session = client.run_with("n = 1", json!({"session": "new"}));
    let more = json!({"session": session["session"]["id"]});
    let mut reading = Reading::begin(&client, "n += await tools.mail()\nn", &more);
    let id = reading.request("");
    assert_eq!(reading.answer(json!([{"id": id, "output": 4}])).0, 200);
    let ended = reading.response();
    assert_eq!(
        (&output(&ended)["result"], &ended["session"]["state"]),
        (&json!(5), &json!("kept"))
    );
}

/// Each part has a record of its own with the calls that ended in it. An answer that takes long on a busy
/// machine ends the part before the one that takes long by intent, and the first one its part before any ended.
#[test]
fn answers_that_come_at_once_take_no_time_of_the_run() {
    let calls = eventually(PATIENCE, || {
        let calls = calls_of_first_part();
        (!calls.is_empty()).then_some(calls)
    });
    assert!(calls.len() <= 51, "{}", calls.len());
    assert_eq!((&calls[0]["id"], &calls[0]["end"]), (&json!("c1-r1"), &json!("answered")));
}

/// Answers 400 calls, and returns those that the record of the first part has.
fn calls_of_first_part() -> Vec<Value> {
    let client = TestServer::shared().client();
    let code = "import time, tools\nbegan = time.monotonic()\nfor n in range(400):\n    \
                assert await tools.mail(n=n) == n\nprint(time.monotonic() - began)\nn";
    // As a whole the answers take longer than the run may.
    let mut reading = Reading::begin(&client, code, &json!({"timeout_ms": 1000}));
    for number in 0..400 {
        let id = reading.request("");
        std::thread::park_timeout(Duration::from_millis(if number % 100 == 50 { 60 } else { 4 }));
        assert_eq!(reading.answer(json!([{"id": id, "output": number}])).0, 200);
    }
    let run = reading.run.clone();
    let ended = reading.response();
    assert_eq!(output(&ended)["result"], 399);
    let passed: f64 = ended["logs_preview"].as_str().unwrap().trim().parse().unwrap();
    assert!(passed < 3.0, "the clock of the program went on for {passed} s");
    let record = client.get(&format!("/v1/runs/{run}?wait_ms=9000")).json();
    record["tool_calls"].as_array().cloned().unwrap_or_default()
}

#[test]
fn answers_that_come_at_once_and_arguments_can_be_large() {
    let client = TestServer::shared().client();
    let code = "import tools\nfrom tools import mail\nlengths = []\nfor size in [1, 70_000, 200_000]:\n    \
                lengths.append(len(await mail(text='x' * size)))\nlengths";
    let mut reading = Reading::begin(&client, code, &json!({}));
    for size in [65_536, 3_000_000, 1] {
        let id = reading.request("");
        let answers = json!([{"id": id, "output": "y".repeat(size)}]);
        assert_eq!(reading.answer(answers).0, 200);
    }
    let ended = reading.response();
    assert_eq!(output(&ended)["result"], json!([65_536, 3_000_000, 1]), "{ended:#}");
}

#[test]
fn an_interrupt_in_a_short_wait_is_raised_where_the_program_waits() {
    let client = TestServer::shared().client();
    let first = client.run_with("import tools\nn = 1", json!({"session": "new"}));
    let id = first["session"]["id"].as_str().unwrap();
    let code = "for n in range(100_000):\n    try:\n        await tools.mail(n=n)\n    \
                except KeyboardInterrupt:\n        break\nn >= 19, await tools.mail(n=-1)";
    let mut reading = Reading::begin(&client, code, &json!({"session": id}));
    let mut interrupted = None;
    let mut number = 0;
    let ended = loop {
        let Some(id_of_request) = reading.request_or_end() else { break reading.response() };
        number += 1;
        if number == 20 {
            let (server, path) = (TestServer::shared(), format!("/v1/sessions/{id}/interrupt"));
            interrupted = Some(std::thread::spawn(move || {
                server.client().post_json(&path, &json!({})).json()
            }));
        }
        // Late answers are refused once the program waits no more for them.
        reading.answer(json!([{"id": id_of_request, "output": 5}]));
    };
    assert_eq!(interrupted.unwrap().join().unwrap()["interrupted"], true);
    assert_eq!(output(&ended)["result"], json!([true, 5]), "{ended:#}");
    assert_eq!(ended["session"]["state"], "kept");
}

/// The interrupt comes while the program computes, while it waits, or as its turn ends: answers that come late
/// end it.
#[test]
fn an_interrupt_is_raised_once_wherever_the_program_is() {
    let client = TestServer::shared().client();
    let first = client.run_with("import tools", json!({"session": "new"}));
    let id = first["session"]["id"].as_str().unwrap();
    let code = "seen = more = 0\nwhile more < 6:\n    try:\n        await tools.mail(n=more)\n    \
                except KeyboardInterrupt:\n        seen += 1\n    more += seen > 0\nseen";
    for round in 0..16_u64 {
        let mut reading = Reading::begin(&client, code, &json!({"session": id}));
        let (server, path) = (TestServer::shared(), format!("/v1/sessions/{id}/interrupt"));
        let mut interrupted = None;
        let mut number = 0;
        let ended = loop {
            let Some(id_of_request) = reading.request_or_end() else { break reading.response() };
            number += 1;
            if number == 5 {
                let path = path.clone();
                interrupted = Some(std::thread::spawn(move || {
                    std::thread::park_timeout(Duration::from_micros(round * 2_500));
                    server.client().post_json(&path, &json!({})).json()
                }));
            }
            if number % 3 == 0 {
                std::thread::park_timeout(Duration::from_millis(18 + round / 2));
            }
            // The one that the program was interrupted in waits no more.
            reading.answer(json!([{"id": id_of_request, "output": 5}]));
        };
        assert_eq!(interrupted.unwrap().join().unwrap()["interrupted"], true, "{round}");
        assert_eq!(output(&ended)["result"], 1, "{round}: {ended:#}");
        assert_eq!(ended["session"]["state"], "kept");
    }
}

#[test]
fn a_caller_that_leaves_ends_the_run_that_waits_for_it() {
    let client = TestServer::shared().client();
    let label = "a caller that leaves";
    let code = "import tools\nawait tools.mail()";
    let mut reading = Reading::begin(&client, code, &json!({"label": label}));
    reading.request("");
    let is_listed = || {
        let listed = client.get("/v1/sessions?limit=500").json();
        listed["sessions"].as_array().unwrap().iter().any(|one| one["label"] == label)
    };
    assert!(is_listed());
    let path = format!("/v1/runs/{}/answers", reading.run);
    drop(reading);
    eventually(Duration::from_secs(20), || (!is_listed()).then_some(()));
    assert_eq!(client.post_json(&path, &json!({"answers": []})).status, 404);
}

#[test]
fn records_name_the_calls_that_a_run_goes_on_with() {
    let client = TestServer::shared().client();
    let code = "import tools\nfrom tools import crm\nasync def main():\n    try:\n        \
                await crm.search('a', limit=1)\n    except tools.ToolError:\n        \
                return await crm.search('a', limit=1)";
    let first = run(&client, code, json!({}));
    let (session, _) = waiting(&first);
    let second = answer(&client, &session, json!([{"id": "c1-r1", "error": "no"}]));
    let third = answer(&client, &session, json!([{"id": "c1-r2", "output": [1]}]));
    assert_eq!(output(&third)["result"], json!([1]));
    let calls = |run: &Value| {
        let id = run["run_id"].as_str().unwrap();
        client.get(&format!("/v1/runs/{id}?wait_ms=9000")).json()["tool_calls"].clone()
    };
    let sha256 = |text: &str| HEXLOWER.encode(&Sha256::digest(text.as_bytes()));
    let (failed, answered) = (&calls(&second)[0], &calls(&third)[0]);
    let expected = json!([{"id": "c1-r1", "tool": "crm.search", "arguments": failed["arguments"],
        "result": sha256("no"), "end": "failed"}]);
    assert_eq!((calls(&first), calls(&second)), (Value::Null, expected));
    assert_eq!((&answered["id"], &answered["end"]), (&json!("c1-r2"), &json!("answered")));
    assert_eq!(answered["result"], sha256("[1]"));
    assert_eq!(answered["arguments"], failed["arguments"], "their arguments are the same");
    assert_eq!(failed["arguments"].as_str().unwrap().len(), 64);
}

#[test]
fn a_call_does_not_wait_longer_than_its_cell() {
    let client = TestServer::shared().client();
    for code in ["await tools.mail()", "tools.mail.sync()"] {
        let first = client.run_with("import tools\nn = 1", json!({"session": "new"}));
        let id = first["session"]["id"].as_str().unwrap();
        let begin = || {
            let mut reading = Reading::begin(&client, code, &json!({"session": id}));
            let asked = reading.request("");
            (reading, asked)
        };
        // A request is told before the cell has come to wait for its answer.
        let begin_to_wait = || {
            let begun = begin();
            eventually(Duration::from_secs(60), || {
                let cells = client.get(&format!("/v1/sessions/{id}/cells")).json();
                (cells["cells"].as_array()?.last()?["state"] == "waiting").then_some(())
            });
            begun
        };
        let (reading, _) = begin();
        let path = format!("/v1/sessions/{id}/interrupt");
        assert_eq!(client.post_json(&path, &json!({})).json()["interrupted"], true);
        let ended = reading.response();
        assert_eq!(failed(&ended).0, "KeyboardInterrupt");
        assert_eq!(ended["session"]["state"], "kept", "{ended:#}");
        let (reading, _) = begin_to_wait();
        client.run_with("", json!({"session": id, "abandon": true}));
        let error = reading.end()["error"].clone();
        assert_eq!(error["data"]["kind"], "session_conflict", "{error:#}");
        assert!(error["message"].as_str().unwrap().contains("abandoned"), "{error:#}");
        let (reading, asked) = begin_to_wait();
        let answers = json!([{"id": asked, "output": 5}]);
        assert_eq!(output(&answer(&client, id, answers))["result"], 5);
        let error = reading.end()["error"].clone();
        assert!(error["message"].as_str().unwrap().contains("another call"), "{error:#}");
        let (reading, _) = begin_to_wait();
        client.delete(&format!("/v1/sessions/{id}"));
        let error = reading.end()["error"].clone();
        assert_eq!(error["data"]["kind"], "session_not_found", "{error:#}");
    }
}

#[test]
fn a_skill_calls_tools_of_its_caller() {
    let skills = SkillFolder::new();
    let code = "from tools import crm\nasync def main(args):\n    \
                print('asks')\n    rows = await crm.search(args['query'])\n    \
                return {'rows': rows, 'skill': __name__}";
    skills.action("acme.asks", "1.0.0", code);
    let code = "def main(args):\n    return 1";
    skills.action("acme.keeps", "1.0.0", code);
    let manifest = std::fs::read_to_string(skills.at("acme.keeps/skill.toml")).unwrap();
    let secret = "\n[permissions]\nsecrets = [\"ACME_KEY\"]\n";
    skills.file("acme.keeps/skill.toml", manifest + secret);
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let params = json!({"name": "acme.asks", "args": {"query": "a"}, "tools": tools()});
    let first = client.call("execute_skill", params.clone()).unwrap();
    assert_eq!(first["logs_preview"], "asks\n");
    let (session, requests) = waiting(&first);
    assert_eq!(requests[0]["arguments"], json!({"query": "a", "limit": 10}));
    // Nobody else's code runs with the rights of the skill.
    let other = json!({"language": "python", "code": "1", "session": session});
    assert_eq!(client.refusal("run_code", other).kind, "invalid_params");
    let ended = answer(&client, &session, json!([{"id": "c1-r1", "output": [1]}]));
    assert_eq!(output(&ended)["rows"], json!([1]), "{ended:#}");
    assert!(is_gone(&client, &session));

    let mut events = Events::of(&server, "execute_skill", &params);
    let asked =
        std::iter::from_fn(|| events.event()).find(|event| event.name == "request").unwrap();
    let path = format!("/v1/runs/{}/answers", asked.data["run_id"].as_str().unwrap());
    let answers = json!({"answers": [{"id": asked.data["id"], "output": [2]}]});
    assert_eq!(client.post_json(&path, &answers).status, 200);
    let last = std::iter::from_fn(|| events.event()).last().unwrap();
    assert_eq!(output(&last.data["result"])["rows"], json!([2]));

    let plain = json!({"name": "acme.asks", "args": {"query": "a"}});
    let alone = client.call("execute_skill", plain).unwrap();
    assert_eq!(alone["status"], "failed", "{alone:#}");
    let keeps = json!({"name": "acme.keeps", "tools": tools()});
    let refused = client.refusal("execute_skill", keeps);
    assert!(refused.message.contains("secrets"), "{refused:?}");
}
