//! Runs with tools that go on in another call than the one that has begun them, and those that a full server cannot let
//! go on at once: no tool is called twice, and every call hears what has become of its run.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::called_tools::Reading;
use crate::support::{Client, eventually, output};
use crate::tools_in_runs::{CODE, Served};

const PATIENCE: Duration = Duration::from_secs(60);

/// The id of the only session.
fn session(client: &Client) -> String {
    eventually(PATIENCE, || {
        let sessions = client.get("/v1/sessions").json();
        sessions["sessions"].as_array()?.first()?["id"].as_str().map(str::to_owned)
    })
}

/// The call with answers to the session.
fn answers(session: &str, answers: &Value) -> Value {
    json!({"language": "python", "code": "", "session": session, "answers": answers})
}

#[test]
fn a_full_server_calls_no_tool_twice() {
    let full = ["--workers", "1", "--set", "workers.queue=1", "--set", "workers.queue_wait=100 ms"];
    let served = Served::start(CODE, &full);
    let client = served.client();
    client.run("1");
    thread::scope(|scope| {
        let naps = scope.spawn(|| {
            let code = "from tools import py\n(await py.nap())['slept']";
            client.call("run_code", json!({"language": "python", "code": code}))
        });
        eventually(PATIENCE, || served.calls().contains(&"nap".to_owned()).then_some(()));
        // Until the tool has answered, and beyond, there is no worker for others.
        let busy = || {
            let code = "import time\ntime.sleep(4)";
            client.call("run_code", json!({"language": "python", "code": code}))
        };
        let others: Vec<_> = (0..3).map(|_| scope.spawn(busy)).collect();
        let ended = naps.join().unwrap().unwrap();
        assert_eq!(output(&ended)["result"], 2, "{ended:#}");
        let refused = others.into_iter().filter_map(|other| other.join().unwrap().err());
        assert!(refused.count() > 0, "the server was not full");
    });
    assert_eq!(served.calls(), ["nap"]);
}

#[test]
fn each_call_that_waits_for_a_cell_hears_that_it_has_gone_on() {
    let served = Served::start(CODE, &[]);
    let client = served.client();
    let erases = "from tools import py\n(await py.erase(n=5))['erased']";
    let mut reading = Reading::begin_at(&served.server, &client, erases, &json!({}));
    let id = reading.request("");
    let wrong = json!([{"id": id, "output": {"arguments": {"n": "x"}}}]);
    let (status, refused) = reading.answer(wrong);
    assert_eq!(status, 400, "{refused:#}");
    assert!(refused.to_string().contains("must be an integer"), "{refused:#}");
    let (status, _) = reading.answer(json!([{"id": id, "output": {"arguments": {"n": 6}}}]));
    assert_eq!(status, 200);
    assert_eq!(output(&reading.response())["result"], 6);

    let mut reading = Reading::begin_at(&served.server, &client, erases, &json!({}));
    let id = reading.request("");
    let yes = json!([{"id": id, "output": true}]);
    let taken = client.call("run_code", answers(&session(&client), &yes)).unwrap();
    assert_eq!(output(&taken)["result"], 5, "{taken:#}");
    let error = reading.end()["error"].clone();
    // It has ended in the other call, and so has its session.
    assert_eq!(error["data"]["kind"], "session_not_found", "{error:#}");
    assert_eq!(served.calls(), ["erase", "erase"]);
}

#[test]
fn the_end_of_a_call_does_not_end_what_goes_on_in_another_one() {
    let served = Served::start(CODE, &[]);
    let client = served.client();
    let code = "import tools\nfrom tools import py\ntry:\n    await py.sleep()\n\
                except tools.ToolError as e:\n    told = str(e)\n\
                [told[:20], (await py.nap())['slept']]";
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            client.call("run_code", json!({"language": "python", "code": code})).unwrap_err()
        });
        eventually(PATIENCE, || served.calls().contains(&"sleep".to_owned()).then_some(()));
        let second = client.call("run_code", answers(&session(&client), &json!([]))).unwrap();
        assert_eq!(output(&second)["result"], json!(["the call was cut off", 2]), "{second:#}");
        assert!(first.join().unwrap().message.contains("another call"));
    });
    assert_eq!(served.calls(), ["sleep", "nap"]);
}

#[test]
fn an_answer_to_one_call_approves_no_other_one_under_its_number() {
    let served = Served::start(CODE, &[]);
    let client = served.client();
    // The caller has heard of a tool of its own, which returns true.
    let code = "import asyncio, tools\nfrom _wardian import asking\nasync def main():\n    \
                asked = asyncio.ensure_future(tools.call('mail', {}))\n    await asyncio.sleep(0)\n    \
                asking._pending[1].content = b'\"tool\":{\"name\":\"py.wipe\",\"arguments\":{}}'\n    \
                asking._pending[1].tool = 'py.wipe'\n    return await asked";
    let mut reading = Reading::begin_at(&served.server, &client, code, &json!({}));
    let id = reading.request("");
    reading.answer(json!([{"id": id, "output": true}]));
    let ended = reading.end().to_string();
    assert!(ended.contains("two things under one number"), "{ended}");
    // The caller has seen an approval of something else.
    let code = "from tools import py\nfrom _wardian import asking\ntry:\n    await py.erase(n=1)\n\
                except KeyboardInterrupt:\n    pass\nasking._count = 0\nawait py.wipe()";
    let waiting = client.run_with(code, json!({"session": "new"}));
    let request = &waiting["requests"][0];
    assert_eq!((&request["kind"], &request["name"]), (&json!("approval"), &json!("py.erase")));
    let id = waiting["session"]["id"].as_str().unwrap();
    client.post_json(&format!("/v1/sessions/{id}/interrupt"), &json!({}));
    let approved = json!([{"id": request["id"], "output": true}]);
    let late = client.refusal("run_code", answers(id, &approved));
    assert!(late.message.contains("two things under one number"), "{late:?}");
    assert_eq!(served.calls(), Vec::<String>::new(), "nobody has approved it");
}

#[test]
fn an_answer_reaches_a_request_that_waits_in_another_loop() {
    let served = Served::start(CODE, &[]);
    let client = served.client();
    let code = "import asyncio, time, tools\nasync def main():\n    \
                first = asyncio.ensure_future(tools.call('mail', {'n': 1}))\n    await asyncio.sleep(0)\n    \
                time.sleep(0.3)\n    def second():\n        return tools.call.sync('mail', {'n': 2})\n    \
                return [second(), await first]";
    let mut reading = Reading::begin_at(&served.server, &client, code, &json!({}));
    let first = reading.request("");
    reading.answer(json!([{"id": first, "output": 10}]));
    let second = reading.request("");
    reading.answer(json!([{"id": second, "output": 20}]));
    assert_eq!(output(&reading.response())["result"], json!([20, 10]));
}
