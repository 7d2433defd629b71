//! Cells that wait for their callers: for tools, and for lines of text.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, Watched, eventually, failed, output};

/// A session whose code may call two tools.
struct Asking<'a> {
    client: &'a Client,
    id: String,
}

impl<'a> Asking<'a> {
    fn begin(client: &'a Client, code: &str) -> Self {
        let first = client.run_with(code, json!({"session": "new"}));
        output(&first);
        Self { client, id: first["session"]["id"].as_str().unwrap().to_owned() }
    }

    fn cell(&self, code: &str) -> Value {
        let query = json!({
            "name": "sales/query",
            "description": "Asks the database.",
            "input_schema": {"type": "object"},
        });
        let tools = json!([query, {"name": "mail"}]);
        self.client.run_with(code, json!({"session": self.id, "tools": tools}))
    }

    /// Runs a cell that has to wait, and returns its requests.
    fn waits(&self, code: &str) -> Vec<Value> {
        requests_of(&self.cell(code))
    }

    fn answer(&self, answers: Value) -> Value {
        self.client.run_with("", json!({"session": self.id, "answers": answers}))
    }

    fn value(&self, code: &str) -> Value {
        let result = self.client.run_with(code, json!({"session": self.id}));
        assert_eq!(result["session"]["state"], "kept", "{result:#}");
        output(&result)["result"].clone()
    }

    fn refusal(&self, more: Value) -> (String, String) {
        let mut params = json!({"language": "python", "code": "", "session": self.id});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let refused = self.client.refusal("run_code", params);
        (refused.kind, refused.message)
    }
}

fn requests_of(result: &Value) -> Vec<Value> {
    assert_eq!(
        (&result["status"], &result["session"]["state"]),
        (&json!("waiting"), &json!("waiting"))
    );
    assert_eq!(result["output"], Value::Null, "{result:#}");
    result["requests"].as_array().unwrap().clone()
}

fn value_of(result: &Value) -> Value {
    assert_eq!(result["session"]["state"], "kept", "{result:#}");
    assert_eq!(result.get("requests"), None);
    output(result)["result"].clone()
}

#[test]
fn a_tool_is_called_and_its_output_goes_on() {
    let client = TestServer::shared().client();
    let session = Asking::begin(&client, "import time\nx = 1\nstart = time.monotonic()");
    let before = client.get(&format!("/v1/sessions/{}", session.id)).json()["checkpoint"].clone();
    let waiting = session.cell(
        "print('before')\nrows = await tools.sales_query(table='orders', limit=2)\n\
         print('after')\nlen(rows)",
    );
    let [request] = requests_of(&waiting).try_into().unwrap();
    let expected = json!({
        "id": "c2-r1",
        "kind": "tool",
        "name": "sales/query",
        "arguments": {"table": "orders", "limit": 2},
    });
    assert_eq!(request, expected);
    assert_eq!(waiting["summary"], "Waits for an answer of sales/query.");
    assert_eq!(waiting["logs_preview"], "before\n");
    assert_eq!(
        (&waiting["session"]["checkpoint"], &waiting["session"]["cell"]),
        (&before, &json!(2))
    );
    thread::park_timeout(Duration::from_secs(3));
    let answered = session.answer(json!([{"id": "c2-r1", "output": [{"n": 1}, {"n": 2}]}]));
    assert_eq!((value_of(&answered), &answered["logs_preview"]), (json!(2), &json!("after\n")));
    assert_eq!(answered["session"]["cell"], 2);
    let value = session.value("rows[1]['n'], x, _, time.monotonic() - start < 2");
    assert_eq!(value, json!([2, 1, 2, true]), "its clock stands while it waits");
    let cells = client.get(&format!("/v1/sessions/{}/cells", session.id)).json();
    assert_eq!(
        (cells["cells"].as_array().unwrap().len(), &cells["cells"][1]["state"]),
        (3, &json!("kept"))
    );
    let whole = &cells["cells"][1]["result"]["logs_preview"];
    assert_eq!(whole, "before\nafter\n", "what is kept is that of all parts");
    client.delete(&format!("/v1/sessions/{}", session.id));
}

#[test]
fn many_calls_wait_at_once_and_errors_are_raised() {
    let client = TestServer::shared().client();
    let session = Asking::begin(&client, "import asyncio");
    let requests = session.waits(
        "async def ask(n):\n    try:\n        return await tools.mail(to=n)\n\
         \x20   except tools.ToolError as error:\n        return str(error)\n\
         await asyncio.gather(*map(ask, range(3)), asyncio.sleep(0.01, 'slept'))",
    );
    assert_eq!(requests.len(), 3);
    let answer = |(at, request): (usize, &Value)| match at {
        1 => json!({"id": request["id"], "error": "no such address"}),
        _ => json!({"id": request["id"], "output": request["arguments"]["to"]}),
    };
    // In any order.
    let answers: Vec<Value> = requests.iter().enumerate().map(answer).rev().collect();
    let value = value_of(&session.answer(json!(answers)));
    assert_eq!(value, json!([0, "no such address", 2, "slept"]));
    let [request] = session.waits("await tools.mail()").try_into().unwrap();
    let raised = session.answer(json!([{"id": request["id"], "error": "refused"}]));
    assert_eq!(failed(&raised), ("ToolError", "refused"));
    assert_eq!(raised["session"]["state"], "kept");
    client.delete(&format!("/v1/sessions/{}", session.id));
}

#[test]
fn a_session_that_waits_survives_a_restart_and_its_clock_stands() {
    let place = Command::new();
    let data = place.folder().join("data");
    let code = "import time\ndef rows():\n    yield from range(9)\nn = rows()\nnext(n)";
    let id = {
        let server = TestServer::start_on(&data, &[]);
        let client = server.client();
        let session = Asking::begin(&client, code);
        let requests = session.waits(
            "start = time.monotonic()\nopen('half.txt', 'w').write('half')\n\
             city = await tools.sales_query(n=next(n))\nline = await ainput('Name? ')\n\
             [city, line, next(n), time.monotonic() - start < 5, open('half.txt').read()]",
        );
        assert_eq!(requests[0]["arguments"], json!({"n": 1}));
        session.id
    };
    thread::park_timeout(Duration::from_secs(6));
    for answers in
        [json!([{"id": "c2-r1", "output": "Oslo"}]), json!([{"id": "c2-r2", "output": "Ada"}])]
    {
        let server = TestServer::start_on(&data, &[]);
        let client = server.client();
        let session = Asking { client: &client, id: id.clone() };
        let (kind, message) = session.refusal(json!({"code": "1"}));
        assert_eq!(kind, "session_busy");
        assert!(message.contains("cell 2") && message.contains("answers"), "{message}");
        let answered = session.answer(answers);
        if answered["status"] == "waiting" {
            let [request] = requests_of(&answered).try_into().unwrap();
            let expected = json!({"id": "c2-r2", "kind": "input", "prompt": "Name? "});
            assert_eq!(request, expected);
            continue;
        }
        assert_eq!(value_of(&answered), json!(["Oslo", "Ada", 2, true, "half"]));
        assert_eq!(session.value("next(n)"), 3);
    }
}

#[test]
fn a_password_is_asked_for_and_not_to_be_shown() {
    let client = TestServer::shared().client();
    let session = Asking::begin(&client, "import getpass\ndef word(): return getpass.getpass()");
    let asked = |id: &str, prompt: &str| json!({"id": id, "kind": "input", "prompt": prompt, "hidden": true});
    let [request] = session.waits("getpass.getpass('Key: ').upper()").try_into().unwrap();
    assert_eq!(request, asked("c2-r1", "Key: "));
    let answered = session.answer(json!([{"id": "c2-r1", "output": "ada"}]));
    assert_eq!(value_of(&answered), "ADA");
    let [request] = session.waits("word()").try_into().unwrap();
    assert_eq!(request, asked("c3-r2", "Password: "));
    let answered = session.answer(json!([{"id": "c3-r2", "error": "nobody is there"}]));
    assert_eq!(failed(&answered).0, "EOFError");
    client.delete(&format!("/v1/sessions/{}", session.id));
}

#[test]
fn a_function_waits_with_its_stack() {
    let client = TestServer::shared().client();
    let code = "import time\ndef name():\n    start = time.monotonic()\n    line = input('Name? ')\n    \
                return [line, time.monotonic() - start < 2]";
    let session = Asking::begin(&client, code);
    let waiting = session.cell("print('before')\nx = 2\nlist(map(lambda _: name(), 'ab'))");
    let [request] = requests_of(&waiting).try_into().unwrap();
    let expected = json!({"id": "c2-r1", "kind": "input", "prompt": "Name? "});
    assert_eq!((&request, &waiting["logs_preview"]), (&expected, &json!("before\n")));
    let cells = client.get(&format!("/v1/sessions/{}/cells?after=1", session.id)).json();
    let [cell] = cells["cells"].as_array().unwrap().as_slice() else { panic!("{cells:#}") };
    assert_eq!(
        (&cell["state"], &cell["result"]["requests"]),
        (&json!("waiting"), &json!([request]))
    );
    let (kind, message) = session.refusal(json!({"code": "1"}));
    assert!(kind == "session_busy" && message.contains("cell 2"), "{kind}: {message}");
    let (kind, _) = session.refusal(json!({"answers": [{"id": "c2-r7"}]}));
    assert_eq!(kind, "invalid_params", "it waits on after a wrong answer");
    thread::park_timeout(Duration::from_secs(3));
    let answered = session.answer(json!([{"id": "c2-r1", "output": "Ada"}]));
    assert_eq!(requests_of(&answered)[0]["id"], "c2-r2");
    assert_eq!(answered["logs_preview"], "", "each call has its own log");
    let done = session.answer(json!([{"id": "c2-r2", "output": "Bo"}]));
    assert_eq!(value_of(&done), json!([["Ada", true], ["Bo", true]]));
    assert_eq!(session.value("x"), 2);
    // A time limit is that of a call, and a tool can be called from a function.
    let [request] =
        session.waits("def f(n): return tools.mail.sync(n=n) + 1\nf(1)").try_into().unwrap();
    assert_eq!(request["arguments"], json!({"n": 1}));
    thread::park_timeout(Duration::from_millis(1_500));
    let answers = json!([{"id": request["id"], "output": 41}]);
    let params = json!({"session": session.id, "answers": answers, "timeout_ms": 1_000});
    assert_eq!(value_of(&client.run_with("", params)), 42);
    // The end of a wait.
    session.waits("x = 3\nname()");
    let abandoned = client.run_with("", json!({"session": session.id, "abandon": true}));
    assert_eq!(abandoned["session"]["state"], "rolled_back", "{abandoned:#}");
    assert_eq!(session.value("x"), 2);
    session.waits("x = 4\nname()");
    assert_eq!(client.delete(&format!("/v1/sessions/{}", session.id)).status, 204);
}

#[test]
fn a_function_that_waits_ends_with_its_worker_its_server_or_its_time() {
    let place = Command::new();
    let data = place.folder().join("data");
    let id = {
        let server = TestServer::start_on(&data, &["--set", "sessions.longest_wait=2s"]);
        let client = server.client();
        let session = Asking::begin(&client, "x = 1\ndef name(): return input()");
        let [request] = session.waits("x = 2\nname()").try_into().unwrap();
        server.workers().iter().for_each(Watched::kill);
        let (kind, message) =
            session.refusal(json!({"answers": [{"id": request["id"], "output": ""}]}));
        assert_eq!(kind, "session_conflict", "{message}");
        assert!(message.contains("rolled back"), "{message}");
        assert_eq!(session.value("x"), 1);
        let [request] = session.waits("x = 3\nname()").try_into().unwrap();
        eventually(Duration::from_secs(60), || {
            let cells = client.get(&format!("/v1/sessions/{}/cells?after=3", session.id)).json();
            let cell = &cells["cells"][0];
            let reason = cell["result"]["session"]["reason"].as_str().map(str::to_owned);
            (cell["state"] == "rolled_back").then(|| assert!(reason.unwrap().contains("in time")))
        });
        let (kind, _) = session.refusal(json!({"answers": [{"id": request["id"], "output": ""}]}));
        assert_eq!(kind, "session_conflict");
        assert_eq!(session.value("x"), 1);
        session.waits("x = 4\nname()");
        session.id
    };
    let server = TestServer::start_on(&data, &[]);
    let client = server.client();
    let session = Asking { client: &client, id };
    assert_eq!(session.value("x"), 1);
}

#[test]
fn answers_are_checked_before_anything_goes_on() {
    let client = TestServer::shared().client();
    let session = Asking::begin(&client, "import asyncio");
    let answer = |id: &str| json!({"id": id, "output": 1});
    let none = session.refusal(json!({"answers": [answer("c1-r1")]}));
    assert_eq!(none.0, "session_conflict", "{}", none.1);
    let code = "x = await asyncio.gather(tools.mail(n=1), tools.mail(n=2))\nsum(x)";
    assert_eq!(session.waits(code).len(), 2);
    let both = json!({"id": "c2-r1", "output": 1, "error": "x"});
    for (more, words) in [
        (json!({"answers": []}), "`c2-r1` is missing"),
        (json!({"answers": [answer("c2-r1")]}), "`c2-r2` is missing"),
        (json!({"answers": [answer("c2-r1"), answer("c2-r1")]}), "answers[1].id"),
        (json!({"answers": [answer("c2-r1"), answer("c2-r3")]}), "such as `c2-r2`"),
        (json!({"answers": [both, answer("c2-r2")]}), "both"),
        (json!({"answers": [answer("c2-r1"), answer("c2-r2")], "code": "1"}), "`code`"),
        (json!({"answers": [1]}), "answers[0]"),
        (json!({"answers": [{"output": 1}]}), "answers[0].id"),
        (json!({"answers": [], "abandon": true}), "answers"),
        (json!({"tools": [{"name": "input"}]}), "tools[0].name"),
        (json!({"tools": [{"name": "a b"}]}), "tools[0].name"),
        (json!({"tools": [{"name": "a-b"}, {"name": "a/b"}]}), "tools[1].name"),
        (json!({"tools": [{"name": "search"}]}), "tools[0].name"),
    ] {
        let (kind, message) = session.refusal(more.clone());
        assert_eq!(kind, "invalid_params", "{more}: {message}");
        assert!(message.contains(words), "{more}: {message}");
    }
    let answered = session.answer(json!([answer("c2-r1"), answer("c2-r2")]));
    assert_eq!(value_of(&answered), 2);
    let again = session.refusal(json!({"answers": [answer("c2-r1"), answer("c2-r2")]}));
    assert_eq!(again.0, "session_conflict", "{}", again.1);
    let params = json!({"language": "python", "code": "1", "answers": []});
    assert_eq!(client.refusal("run_code", params).kind, "invalid_params");
    client.delete(&format!("/v1/sessions/{}", session.id));
}

#[test]
fn a_cell_that_waits_is_abandoned_without_a_trace() {
    let client = TestServer::shared().client();
    let session = Asking::begin(&client, "x = 1");
    session.waits("x = 2\nawait tools.mail()");
    let checkpoint =
        client.get(&format!("/v1/sessions/{}", session.id)).json()["checkpoint"].clone();
    let restored = client.post_json(
        &format!("/v1/sessions/{}/restore", session.id),
        &json!({"checkpoint": checkpoint}),
    );
    assert_eq!(restored.status, 409, "{restored:?}");
    let abandoned = client.run_with("", json!({"session": session.id, "abandon": true}));
    assert_eq!(failed(&abandoned).0, "Cancelled");
    assert_eq!(abandoned["session"]["state"], "rolled_back", "{abandoned:#}");
    assert_eq!(abandoned["session"]["checkpoint"], checkpoint);
    assert_eq!(session.value("x"), 1);
    let (kind, _) = session.refusal(json!({"abandon": true}));
    assert_eq!(kind, "session_conflict");
    // A cell that fails after its answers is kept, as any other; one that does not end is not.
    session.waits("x = 3\nawait tools.mail()\n1 / 0");
    let raised = session.answer(json!([{"id": "c4-r1"}]));
    assert_eq!(
        (failed(&raised).0, &raised["session"]["state"]),
        ("ZeroDivisionError", &json!("kept"))
    );
    session.waits(
        "x = 4\nawait tools.mail()\nwhile True:\n    try:\n        while True: pass\n    \
         except KeyboardInterrupt: pass",
    );
    let answers = json!([{"id": "c5-r2"}]);
    let params = json!({"session": session.id, "answers": answers, "timeout_ms": 500});
    let stopped = client.run_with("", params);
    assert_eq!(
        (failed(&stopped).0, &stopped["session"]["state"]),
        ("Timeout", &json!("rolled_back"))
    );
    assert_eq!(session.value("x"), 3);
    client.delete(&format!("/v1/sessions/{}", session.id));
}

#[test]
fn an_interrupt_is_raised_where_a_cell_waits() {
    let client = TestServer::shared().client();
    let code = "def name():\n    try:\n        return input()\n    except KeyboardInterrupt:\n        return 'stopped'";
    let session = Asking::begin(&client, code);
    let interrupt = || {
        let path = format!("/v1/sessions/{}/interrupt", session.id);
        let answer = client.post_json(&path, &json!({}));
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["interrupted"].as_bool().unwrap()
    };
    // On a busy machine an interrupt is answered before the cell has ended.
    let last = || {
        eventually(Duration::from_secs(60), || {
            let cells = client.get(&format!("/v1/sessions/{}/cells", session.id)).json();
            let cell = cells["cells"].as_array().unwrap().last().unwrap().clone();
            (cell["state"] != "running").then_some(cell)
        })
    };
    assert!(!interrupt(), "nothing runs and nothing waits");
    // Parked, and nobody catches it.
    session.waits("x = 2\nprint('before')\nawait tools.mail()");
    assert!(interrupt());
    let cell = last();
    assert_eq!((&cell["state"], &cell["result"]["status"]), (&json!("kept"), &json!("failed")));
    assert_eq!(cell["result"]["error"]["type"], "KeyboardInterrupt");
    assert_eq!(cell["result"]["logs_preview"], "before\n");
    assert_eq!(session.value("x"), 2);
    // Parked, and the program asks for something else then.
    session.waits(
        "try:\n    await tools.mail()\nexcept KeyboardInterrupt:\n    why = await ainput('Why? ')\nwhy",
    );
    assert!(interrupt());
    let cell = last();
    assert_eq!((&cell["state"], &cell["result"]["status"]), (&json!("waiting"), &json!("waiting")));
    let asked = &cell["result"]["requests"][0];
    assert_eq!((&asked["kind"], &asked["prompt"]), (&json!("input"), &json!("Why? ")));
    let answered = session.answer(json!([{"id": asked["id"], "output": "so"}]));
    assert_eq!(value_of(&answered), "so");
    // In the middle of a call.
    session.waits("x = 3\nname()");
    assert!(interrupt());
    let cell = last();
    assert_eq!(cell["result"]["output"]["result"], "stopped", "{cell:#}");
    assert_eq!(session.value("x"), 3);
    client.delete(&format!("/v1/sessions/{}", session.id));
}

#[test]
fn a_cell_that_waits_in_a_call_waits_on_if_its_answer_is_refused() {
    let client = TestServer::shared().client();
    let content = json!({"content": "some words of this test", "kind": "text/plain"});
    let store = || {
        let stored = client.call("create_blob", content.clone()).unwrap();
        stored["blob_id"].as_str().unwrap().to_owned()
    };
    let blob = store();
    let params = json!({"session": "new", "input_blobs": [blob]});
    let first = client.run_with("def name(): return input('Name? ')", params);
    output(&first);
    let id = first["session"]["id"].as_str().unwrap().to_owned();
    let session = Asking { client: &client, id };
    let [request] = session.waits("x = 2\nname()").try_into().unwrap();
    // What the session mounts is gone for a while.
    assert_eq!(client.delete(&format!("/v1/blobs/{blob}")).status, 204);
    let answers = json!([{"id": request["id"], "output": "Ada"}]);
    let (kind, message) = session.refusal(json!({"answers": answers}));
    assert_eq!(kind, "blob_not_found", "{message}");
    let cells = client.get(&format!("/v1/sessions/{}/cells?after=1", session.id)).json();
    assert_eq!(cells["cells"][0]["state"], "waiting", "{cells:#}");
    store();
    assert_eq!(value_of(&session.answer(answers)), "Ada");
    assert_eq!(session.value("x"), 2);
    client.delete(&format!("/v1/sessions/{}", session.id));
}
