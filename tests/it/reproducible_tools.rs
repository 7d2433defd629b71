//! Reproducible runs and sessions whose programs call tools, and documents by which they are repeated without any.

use std::fs;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::called_tools::Reading;
use crate::support::{Client, Command, SkillFolder, TestServer, eventually, failed, output};
use crate::tools_in_runs::{CODE, Served};

/// Long enough for a machine that is loaded.
const TIMEOUT: u64 = 300_000;

/// Twenty calls and more: one after another, together, with errors, retries and a line of text. It looks for time and
/// chance at every place, and leaves a file.
const PROGRAM: &str = r#"
import asyncio, random, time, uuid
from tools import ToolError, crm, mail
import tools

seen = []
def look():
    seen.append([random.random(), time.time(), time.monotonic(), id(object()), str(uuid.uuid4())])

async def page(number):
    look()
    row = await crm.search(query=f"page {number}", limit=number)
    look()
    return row

async def main(args):
    print("begins", args["name"])
    total = 0
    for number in range(8):
        total += (await page(number))[0]
        time.sleep(3600)
    rows = await asyncio.gather(*(page(number) for number in range(8, 16)))
    print("half", len(rows))
    tries = 0
    while True:
        tries += 1
        try:
            answer = await mail(to="Ada", attempt=tries)
            break
        except ToolError as error:
            print("failed", error)
            look()
    slow = asyncio.ensure_future(mail(to="Eve", attempt=0))
    first = await tools.call("crm.search", {"query": "last"})
    slow.cancel()
    name = await tools.input("Name? ")
    with open("left.txt", "w") as file:
        file.write(name + str(random.random()))
    look()
    return {"total": total, "rows": rows, "tries": tries, "answer": answer, "first": first, "name": name,
            "seen": len(set(map(str, seen))), "last": seen[-1]}
"#;

/// The same in functions that cannot `await`, which wait in the middle of a call, and a timer on the clock of the run.
const HELD: &str = r#"
import asyncio, random, signal, time
from tools import crm, mail

rung = []
signal.signal(signal.SIGALRM, lambda *_: rung.append(time.monotonic()))
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)

def search(query):
    before = time.time()
    rows = crm.search.sync(query=query)
    return rows + [time.time() - before, random.random()]

def main():
    found = [search(f"{number}") for number in range(3)]
    for _ in range(400_000):
        pass
    async def two():
        return await asyncio.gather(crm.search("a"), mail(b=1))
    def inner():
        return asyncio.run(two())
    found.append(inner())
    for _ in range(400_000):
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    return [found, len(rung) > 1, rung, time.time(), time.monotonic()]
"#;

fn tools() -> Value {
    let input = json!({"required": ["query"], "properties":
        {"query": {"type": "string"}, "limit": {"type": "integer"}}});
    json!([{"name": "crm.search", "input_schema": input}, {"name": "mail"}])
}

fn begin(client: &Client, code: &str, more: Value) -> Value {
    let mut params = json!({"tools": tools(), "reproducible": {"seed": 7}, "timeout_ms": TIMEOUT});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    // With a cold cache its image may still be built.
    eventually(Duration::from_secs(300), || {
        let mut call = params.clone();
        (call["language"], call["code"]) = (json!("python"), json!(code));
        client.call("run_code", call).ok()
    })
}

/// What a tool of the caller answers.
fn answer(request: &Value) -> Value {
    let id = &request["id"];
    let arguments = &request["arguments"];
    match (request["kind"].as_str().unwrap(), request["name"].as_str()) {
        ("input", _) => json!({"id": id, "output": "Ada Lovelace"}),
        (_, Some("mail")) if arguments["attempt"] == 1 => {
            json!({"id": id, "error": "out of paper"})
        }
        (_, Some("mail")) => json!({"id": id, "output": null}),
        _ => {
            json!({"id": id, "output": [arguments["query"].as_str().unwrap().len(), "é\u{1f600}", 1.50]})
        }
    }
}

/// Answers a program to its end. Returns its result, and the number of its waits.
fn to_end(client: &Client, mut result: Value, between: impl Fn(usize)) -> (Value, usize) {
    let mut waits = 0;
    while result["status"] == "waiting" {
        between(waits);
        waits += 1;
        let answers: Vec<Value> =
            result["requests"].as_array().unwrap().iter().map(answer).collect();
        let session = &result["session"]["id"];
        let more = json!({"session": session, "answers": answers, "timeout_ms": TIMEOUT});
        result = client.run_with("", more);
    }
    (result, waits)
}

fn lose_workers(server: &TestServer) {
    for worker in &server.workers() {
        worker.kill();
        assert!(worker.ends_within(Duration::from_secs(10)));
    }
}

fn document(client: &Client, result: &Value) -> Vec<u8> {
    let path = format!("/v1/runs/{}/record", result["run_id"].as_str().unwrap());
    let found = client.get(&path);
    assert_eq!(found.status, 200, "{found:?}");
    found.body
}

fn server() -> TestServer {
    TestServer::start(&["--set", "records.documents=true"])
}

fn write(place: &Command, file: &str, document: &Value) {
    place.file(file, serde_json::to_string(document).unwrap());
}

/// A text as documents have it.
fn text(text: &str) -> Value {
    let digest = HEXLOWER.encode(&Sha256::digest(text));
    json!({"sha256": digest, "size_bytes": text.len(), "text": text})
}

#[test]
fn recorded_answers_are_those_of_equal_documents_and_need_nobody() {
    let (server, place) = (server(), Command::new());
    let client = server.client();
    let args = json!({"args": {"name": "x"}, "keep_files": true});
    let (first, waits) = to_end(&client, begin(&client, PROGRAM, args.clone()), |_| ());
    let value = output(&first).clone();
    assert_eq!((&value["tries"], &value["name"]), (&json!(2), &json!("Ada Lovelace")));
    assert!(waits > 11, "{waits}");
    let text = document(&client, &first);
    // Once more, with other workers at every third wait.
    let lose = |wait| {
        if wait % 3 == 1 {
            lose_workers(&server);
        }
    };
    let (second, _) = to_end(&client, begin(&client, PROGRAM, args), lose);
    assert_eq!(output(&second), &value);
    let again = document(&client, &second);
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&text));
    let read: Value = serde_json::from_slice(&text).unwrap();
    let rounds = read["inputs"]["tools"]["rounds"].as_array().unwrap();
    assert_eq!((rounds.len(), read["ending"]["parts"].as_array().unwrap().len()), (waits, waits));
    let calls: usize = rounds.iter().map(|round| round["asked"].as_array().unwrap().len()).sum();
    assert_eq!(calls, 21);
    let log = read["ending"]["log"]["pieces"][0]["text"].as_str().unwrap();
    assert_eq!(log, "begins x\nhalf 8\nfailed out of paper\n");
    place.file("run.json", &text);
    let same = place.run(&["verify", "run.json"]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
    differences(&place, &read);
}

/// Documents that were changed.
fn differences(place: &Command, read: &Value) {
    // An answer without its digest.
    let mut changed = read.clone();
    changed["inputs"]["tools"]["rounds"][0]["answers"][0]["output"]["text"] = json!("[9]");
    write(place, "answer.json", &changed);
    let refused = place.run(&["verify", "answer.json"]).with(2);
    assert!(refused.stderr.contains("digest"), "{}", refused.stderr);
    // With its digest, it is the document of another run.
    changed["inputs"]["tools"]["rounds"][0]["answers"][0]["output"] = text("[9]");
    write(place, "answer.json", &changed);
    let other = place.run(&["verify", "answer.json", "--json"]).with(1).json();
    let found = other["differences"].to_string();
    assert!(found.contains("\"part 2") && found.contains("\"output\""), "{found}");
    // Another program: its calls are named, and nobody is asked.
    let source = read["inputs"]["program"]["code"]["source"]["text"].as_str().unwrap();
    for (old, new, expected) in [
        ("limit=number)", "limit=number + 1)", "request 1 (`crm.search`) has other arguments"),
        (
            "mail(to=\"Ada\", attempt=tries)",
            "crm.search(query=\"Ada\")",
            "request 17 (`crm.search`) was not recorded; at this point the record has request 17 (`mail`)",
        ),
        ("range(8)", "range(7)", "request 8 (`crm.search`) has other arguments"),
        (
            "name = await tools.input(\"Name? \")",
            "name = 'x'",
            "request 21 (a line of text) was recorded, and not made",
        ),
        ("\"Name? \"", "\"Who? \"", "has another prompt"),
        (
            "    look()\n    return {",
            "    await mail(more=1)\n    return {",
            "request 22 (`mail`) was not recorded",
        ),
    ] {
        assert!(source.contains(old), "{old}");
        let mut changed = read.clone();
        changed["inputs"]["program"]["code"]["source"] = text(&source.replace(old, new));
        write(place, "program.json", &changed);
        let other = place.run(&["verify", "program.json"]).with(1);
        assert!(other.stdout.contains(expected), "{expected}: {}{}", other.stdout, other.stderr);
        assert!(other.stdout.contains("tools: "), "{}", other.stdout);
    }
}

#[test]
fn programs_that_wait_in_the_middle_of_a_call_repeat_with_their_clocks_and_timers() {
    let (server, place) = (server(), Command::new());
    let client = server.client();
    let (first, waits) = to_end(&client, begin(&client, HELD, json!({})), |_| ());
    let value = output(&first)["result"].clone();
    assert_eq!((waits, &value[1]), (4, &json!(true)), "{first:#}");
    // The wait itself takes no time.
    assert!(value[0][0][3].as_f64().unwrap() < 1.0, "{value}");
    let (second, _) = to_end(&client, begin(&client, HELD, json!({})), |_| {
        std::thread::park_timeout(Duration::from_millis(700));
    });
    assert_eq!(output(&second)["result"], value);
    let text = document(&client, &first);
    let again = document(&client, &second);
    assert_eq!(String::from_utf8_lossy(&again), String::from_utf8_lossy(&text));
    place.file("run.json", &text);
    let same = place.run(&["verify", "run.json"]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
    // The ends of failures repeat as well, and fuel counts in each part.
    for (code, more) in [
        ("from tools import mail\nmail.sync(attempt=1)", json!({})),
        (
            "from tools import mail\nawait mail(attempt=2)\nwhile True: pass",
            json!({"limits": {"fuel": 300_000_000_u64}}),
        ),
        ("import tools\nawait tools.call('unknown', {})", json!({})),
        ("from tools import crm\nawait crm.search(query=7)", json!({})),
        ("1 + 1", json!({})),
    ] {
        let (ended, _) = to_end(&client, begin(&client, code, more), |_| ());
        place.file("run.json", document(&client, &ended));
        let same = place.run(&["verify", "run.json"]).with(0);
        assert_eq!(same.stdout, "identical\n", "{code}: {}", same.stderr);
    }
}

#[test]
fn answers_that_come_while_the_program_goes_on_are_recorded_in_their_rounds() {
    let (server, place) = (server(), Command::new());
    let client = server.client();
    let code = "import asyncio\nfrom tools import crm\n\
                async def main():\n    \
                    first = asyncio.ensure_future(crm.search('a'))\n    \
                    print('second', await crm.search('b'))\n    \
                    third = await crm.search('c')\n    return [await first, third]";
    drop(begin(&client, "1", json!({})));
    let more = json!({"reproducible": true, "timeout_ms": TIMEOUT});
    let mut reading = Reading::begin_at(&server, &client, code, &more);
    let asked = [reading.request(""), reading.request("")];
    let second = asked.iter().find(|id| id.ends_with("r1")).unwrap();
    assert_eq!(reading.answer(json!([{"id": second, "output": [1]}])).0, 200);
    let third = reading.request("second [1]\n");
    assert_eq!(reading.answer(json!([{"id": third, "output": [2]}])).0, 200);
    let first = asked.iter().find(|id| id != &second).unwrap();
    // The program may wait once more, or get both at once.
    assert_eq!(reading.answer(json!([{"id": first, "output": [3]}])).0, 200);
    let ended = reading.response();
    assert_eq!(output(&ended)["result"], json!([[3], [2]]));
    place.file("run.json", document(&client, &ended));
    let same = place.run(&["verify", "run.json"]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
}

#[test]
fn calls_of_servers_and_approvals_are_repeated_without_the_servers() {
    let served = Served::start(CODE, &["--set", "records.documents=true"]);
    let (client, place) = (served.client(), Command::new());
    let code = "import asyncio\nfrom tools import py\n\
                async def main():\n    \
                    rows = await asyncio.gather(*(py.double(n=n) for n in range(9)))\n    \
                    try:\n        await py.fail()\n    \
                    except Exception as error:\n        rows.append(str(error))\n    \
                    return rows + [await py.erase(n=1)]";
    let reproducible = json!({"reproducible": true, "timeout_ms": TIMEOUT});
    let waiting = eventually(Duration::from_secs(300), || {
        let call = json!({"language": "python", "code": code, "reproducible": true});
        client.call("run_code", call).ok()
    });
    assert_eq!(waiting["requests"][0]["kind"], "approval", "{waiting:#}");
    let answers = json!([{"id": waiting["requests"][0]["id"], "output": {"arguments": {"n": 5}}}]);
    let session = &waiting["session"]["id"];
    let ended = client.run_with("", json!({"session": session, "answers": answers}));
    let rows = output(&ended)["result"].as_array().unwrap().clone();
    assert_eq!((&rows[8], &rows[10]), (&json!({"twice": 16}), &json!({"erased": 5})));
    let calls = served.calls().len();
    assert_eq!(calls, 11);
    place.file("run.json", document(&client, &ended));
    let same = place.run(&["verify", "run.json"]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
    assert_eq!(served.calls().len(), calls, "no tool is called");
    // Code that names no tools is the same run as on any other server.
    let usual = client.run_with("6 * 7", reproducible);
    let usual: Value = serde_json::from_slice(&document(&client, &usual)).unwrap();
    assert_eq!(usual["inputs"].get("tools"), None);
}

#[test]
fn cells_of_reproducible_sessions_wait_and_are_repeated() {
    let (server, place) = (server(), Command::new());
    let client = server.client();
    let session = || {
        let made = eventually(Duration::from_secs(300), || {
            let order = json!({"reproducible": {"seed": 3}});
            Some(client.post_json("/v1/sessions", &order)).filter(|made| made.status != 503)
        });
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let cells = [
        ("import random\nx = [random.random()]", json!({})),
        ("name = input('Name? ')\nx.append(random.random())\nname", json!({})),
        (
            "from tools import crm\nx += await crm.search('a')\nlen(x), len(In), Out[2]",
            json!({"tools": tools()}),
        ),
        ("def f(): return input('Name? ')\nx.append(f())\nx, random.random()", json!({})),
        ("from tools import mail\nawait mail(attempt=1)", json!({"tools": tools()})),
        ("len(In), x, random.random()", json!({})),
    ];
    let all = |id: &str, between: &dyn Fn(usize)| -> Vec<Value> {
        let run = |(code, more): &(&str, Value)| {
            let mut params = json!({"session": id, "timeout_ms": TIMEOUT});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let (ended, _) = to_end(&client, client.run_with(code, params), between);
            assert_eq!(ended["session"]["state"], "kept", "{ended:#}");
            ended
        };
        cells.iter().map(run).collect()
    };
    let (one, other) = (session(), session());
    let first = all(&one, &|_| ());
    assert_eq!(output(&first[2])["result"], json!([5, 4, "Ada Lovelace"]), "{:#}", first[2]);
    assert_eq!(failed(&first[4]).0, "ToolError");
    assert_eq!(output(&first[5])["result"][0], 7);
    let second = all(&other, &|_| std::thread::park_timeout(Duration::from_millis(300)));
    for (one, other) in first.iter().zip(&second) {
        for member in ["output", "error", "fuel"] {
            assert_eq!(one[member], other[member], "{one:#}");
        }
        assert_eq!(one["session"]["state_digest"], other["session"]["state_digest"], "{one:#}");
    }
    let url = format!("http://{}", server.address);
    place.run(&["sessions", "record", &one, "-o", "s.json", "--server", &url]).with(0);
    let same = place.run(&["verify", "s.json"]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
    let written = fs::read_to_string(place.folder().join("s.json")).unwrap();
    let mut changed: Value = serde_json::from_str(&written).unwrap();
    let code = "from tools import crm\nx += await crm.search('b')\nlen(x), len(In), Out[2]";
    changed["cells"][2]["source"] = text(code);
    write(&place, "changed.json", &changed);
    let other = place.run(&["verify", "changed.json"]).with(1);
    let expected = "cell 3: tools: request 2 (`crm.search`) has other arguments";
    assert!(other.stdout.contains(expected), "{}", other.stdout);
}

#[test]
fn skills_that_call_tools_or_are_called_repeat_from_a_bundle() {
    let skills = SkillFolder::new();
    let asks = "import random\nfrom tools import mail\ndef main(args):\n    \
                return {'said': mail.sync(n=args['n']), 'x': random.random()}";
    skills.action("acme.asks", "1.0.0", asks);
    let double = "def main(args):\n    return {'twice': 2 * args['n']}";
    skills.action("acme.double", "1.0.0", double);
    let code = ["--set", "skills.from_code=acme.*"];
    let arguments =
        [&["--skills", skills.path(), "--set", "records.documents=true"][..], &code].concat();
    let (server, place) = (TestServer::start(&arguments), Command::new());
    let client = server.client();
    let call = json!({"name": "acme.asks", "args": {"n": 1}, "tools": [{"name": "mail"}],
        "reproducible": {"seed": 5}, "timeout_ms": TIMEOUT});
    let asked =
        eventually(Duration::from_secs(300), || client.call("execute_skill", call.clone()).ok());
    let (ended, waits) = to_end(&client, asked, |_| ());
    assert_eq!((waits, &output(&ended)["said"]), (1, &Value::Null), "{ended:#}");
    place.file("run.json", document(&client, &ended));
    let same = place.run(&["verify", "run.json", "--skills", skills.path()]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
    place.run(&["bundle", "run.json", "-o", "run.tar", "--skills", skills.path()]).with(0);
    assert_eq!(place.run(&["verify", "run.tar"]).with(0).stdout, "identical\n");
    // A skill that was executed is an answer as any other.
    let code = "import tools\nasync def main():\n    \
                return await tools.execute_skill('acme.double', n=21)";
    let ended = begin(&client, code, json!({}));
    assert_eq!(output(&ended)["twice"], 42, "{ended:#}");
    place.file("run.json", document(&client, &ended));
    assert_eq!(place.run(&["verify", "run.json"]).with(0).stdout, "identical\n");
    let against = place.run(&["verify", "run.json", "--against", "run.json"]).with(0);
    assert_eq!(against.stdout, "identical\n");
}

#[test]
fn what_takes_kept_results_calls_no_tools() {
    let client = TestServer::shared().client();
    let params = json!({"language": "python", "code": "1", "tools": tools(),
        "reproducible": {"cache": true}});
    let refused = client.refusal("run_code", params);
    assert!(refused.message.contains("reproducible.cache"), "{refused:?}");
}
