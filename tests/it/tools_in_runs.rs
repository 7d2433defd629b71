//! Programs that call tools of the operator's servers: a program on the standard input and output, Wardian's own
//! server of the protocol over HTTP, and an API.

use std::time::Duration;

use serde_json::{Value, json};

use crate::network::{Site, through_proxy};
use crate::support::{Client, Command, SkillFolder, TestServer, eventually, failed, output};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server in Python. It notes the calls that it gets in a file.
const SERVER: &str = r#"
import json, os, sys, threading, time

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ANY = {"type": "object"}
TOOLS = [
    {"name": "double", "description": "Doubles an invoice.", "inputSchema": NUMBER},
    {"name": "fail", "inputSchema": ANY},
    {"name": "token", "inputSchema": ANY},
    {"name": "sleep", "inputSchema": ANY},
    {"name": "nap", "inputSchema": ANY},
    {"name": "large", "inputSchema": ANY},
    {"name": "hidden", "inputSchema": ANY},
    {"name": "wipe", "inputSchema": ANY, "annotations": {"destructiveHint": True}},
    {"name": "erase", "inputSchema": NUMBER, "annotations": {"destructiveHint": True}},
]
lock = threading.Lock()

def call(name, arguments):
    with open(sys.argv[1], "a") as log:
        log.write(name + "\n")
    if name == "double":
        return {"structuredContent": {"twice": 2 * arguments["n"]}}
    if name == "erase":
        return {"structuredContent": {"erased": arguments["n"]}}
    if name == "wipe":
        return {"content": [{"type": "text", "text": "it is wipe"}]}
    if name == "fail":
        return {"isError": True, "content": [{"type": "text", "text": "out of paper"}]}
    if name == "sleep":
        time.sleep(30)
    if name == "nap":
        time.sleep(2)
        return {"structuredContent": {"slept": 2}}
    text = "x" * 3_000_000 if name == "large" else "it is " + os.environ["TOKEN"]
    return {"content": [{"type": "text", "text": text}]}

def answer(id, method, params):
    if method == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    else:
        result = call(params["name"], params["arguments"])
    with lock:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        parts = message["id"], message["method"], message.get("params", {})
        threading.Thread(target=answer, args=parts, daemon=True).start()
"#;

/// A server of Wardian with a server of tools, and the folder in which that notes its calls.
pub(crate) struct Served {
    pub(crate) server: TestServer,
    place: Command,
}

impl Served {
    pub(crate) fn start(settings: &str, more: &[&str]) -> Self {
        let place = Command::new();
        let program = place.file("server.py", SERVER);
        let calls = place.folder().join("calls.txt");
        let setting = format!(
            "tools={{ py = {{ command = [\"/usr/bin/env\", \"python3\", {program:?}, {calls:?}], \
             environment = {{ PATH = \"/usr/local/bin:/usr/bin:/bin\", TOKEN = \"${{SERVICE_TOKEN}}\" }}{settings} }} }}"
        );
        let arguments = [&["--set", setting.as_str()][..], more].concat();
        let secret = [("WARDIAN_SECRET_SERVICE_TOKEN", "hunter2-and-more")];
        Self { server: TestServer::start_in(&arguments, &secret), place }
    }

    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// The tools that were called.
    pub(crate) fn calls(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.place.folder().join("calls.txt"));
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }
}

pub(crate) const CODE: &str = ", code = [\"*\"], deny = [\"hidden\"]";

fn value(client: &Client, code: &str) -> Value {
    output(&client.run(code))["result"].clone()
}

pub(crate) fn recorded(client: &Client, run: &Value) -> Value {
    let id = run["run_id"].as_str().unwrap();
    client.get(&format!("/v1/runs/{id}?wait_ms=9000")).json()["tool_calls"].clone()
}

#[test]
fn called_by_the_gateway_a_tool_answers_in_the_same_call() {
    let audit = Command::new();
    let file = audit.folder().join("audit.log");
    let setting = format!("audit.file={}", file.display());
    let served = Served::start(CODE, &["--set", &setting]);
    let client = served.client();
    let ended =
        client.run("from tools import py\nprint('before')\n(await py.double(n=21))['twice']");
    assert_eq!(output(&ended)["result"], 42);
    assert_eq!((ended.get("session"), ended.get("requests")), (None, None), "{ended:#}");
    assert_eq!(ended["logs_preview"], "before\n");
    let calls = recorded(&client, &ended);
    assert_eq!((&calls[0]["tool"], &calls[0]["end"]), (&json!("py.double"), &json!("answered")));
    assert_eq!(calls.as_array().unwrap().len(), 1, "{calls:#}");

    let code = "import asyncio\nfrom tools import py\n\
                async def main(args):\n    \
                    rows = await asyncio.gather(*(py.double(n) for n in range(9)))\n    \
                    return [row['twice'] for row in rows] + args['names']";
    let ended = client.run_with(code, json!({"args": {"names": ["end"]}}));
    assert_eq!(output(&ended)["result"], json!([0, 2, 4, 6, 8, 10, 12, 14, 16, "end"]));
    assert_eq!(recorded(&client, &ended).as_array().unwrap().len(), 9);
    let held =
        "from tools import py\ndef f(n):\n    return py.double.sync(n)['twice']\nf(1) + f(2)";
    assert_eq!(value(&client, held), 6);
    let loops = "import asyncio, tools\nasync def f():\n    return await tools.call('py.double', {'n': 4})\n\
                 def g():\n    return asyncio.run(f())['twice']\ng()";
    assert_eq!(value(&client, loops), 8);

    let known = "import pydoc, tools\n[sorted(one['name'] for one in tools.list()),\n \
                 tools.search('invoice')[0]['name'], 'n: int' in pydoc.render_doc(tools.py.double, renderer=pydoc.plaintext)]";
    let names = [
        "py.double",
        "py.erase",
        "py.fail",
        "py.large",
        "py.nap",
        "py.sleep",
        "py.token",
        "py.wipe",
    ];
    assert_eq!(value(&client, known), json!([names, "py.double", true]));

    let audited = || std::fs::read_to_string(&file).unwrap_or_default();
    let names_call = |line: &str| line.contains("\"tool_called\"") && line.contains("py.double");
    eventually(PATIENCE, || audited().lines().any(names_call).then_some(()));
    assert!(!audited().contains("hunter2"));
}

/// Answers the requests of a run that waits.
fn decide(client: &Client, waiting: &Value, answer: impl Fn(&str) -> Value) -> Value {
    assert_eq!(waiting["status"], "waiting", "{waiting:#}");
    let requests = waiting["requests"].as_array().unwrap();
    let answers: Vec<Value> = requests
        .iter()
        .map(|request| {
            let mut answer = answer(request["name"].as_str().unwrap_or_default());
            answer["id"] = request["id"].clone();
            answer
        })
        .collect();
    client.call("run_code", answering(waiting, &json!(answers))).unwrap()
}

/// A program that catches the error of a call.
pub(crate) fn caught_in_a_program(call: &str) -> String {
    format!(
        "import asyncio, tools\nfrom tools import py\nm = [1]\ntry:\n    x = {call}\n\
         except tools.ToolError as e:\n    x = [e.tool, str(e)]\n[m, x]"
    )
}

/// The call with answers to a run that waits.
fn answering(waiting: &Value, answers: &Value) -> Value {
    let session = &waiting["session"]["id"];
    json!({"language": "python", "code": "", "session": session, "answers": answers})
}

#[test]
fn what_may_destroy_something_is_called_once_its_caller_has_approved() {
    let served = Served::start(CODE, &[]);
    let client = served.client();
    let caught = caught_in_a_program;
    // Where the program awaits, where it cannot, and in a loop of its own.
    for call in [
        "await py.wipe(what='a')",
        "(lambda: py.wipe.sync(what='a'))()",
        "(lambda: asyncio.run(tools.call('py.wipe', {'what': 'a'})))()",
    ] {
        let before = served.calls().len();
        let waiting = client.run(&caught(call));
        let request = &waiting["requests"][0];
        assert_eq!(waiting["summary"], "Waits for the approval of py.wipe.", "{waiting:#}");
        assert_eq!((&request["kind"], &request["name"]), (&json!("approval"), &json!("py.wipe")));
        assert_eq!(request["arguments"], json!({"what": "a"}));
        let refusal = |output: Value| {
            let answers = json!([{"id": request["id"], "output": output}]);
            client.refusal("run_code", answering(&waiting, &answers))
        };
        let wrong = refusal("yes".into());
        assert!(wrong.message.contains("the request is for an approval"), "{wrong:?}");
        assert_eq!(served.calls().len(), before, "nobody has approved it");
        let ended = decide(&client, &waiting, |_| json!({"output": true}));
        assert_eq!(output(&ended)["result"], json!([[1], "it is wipe"]), "{ended:#}");
        assert_eq!(served.calls().len(), before + 1, "it is called once");
        let again = refusal(true.into());
        assert!(again.kind.starts_with("session_"), "{again:?}");
        assert_eq!(served.calls().len(), before + 1, "nor twice");
    }
    let calls = served.calls().len();
    for (answer, expected) in [
        (json!({"output": false}), "the call was not approved"),
        (json!({"error": "ask Ada"}), "the call was not approved: ask Ada"),
    ] {
        let waiting = client.run(&caught("await py.wipe(what='a')"));
        let ended = decide(&client, &waiting, |_| answer.clone());
        assert_eq!(output(&ended)["result"], json!([[1], ["py.wipe", expected]]));
        let recorded = recorded(&client, &ended);
        assert_eq!(recorded[0]["end"], "refused", "{recorded:#}");
    }
    assert_eq!(served.calls().len(), calls, "what is not approved is not called");
}

#[test]
fn approvals_change_arguments_and_stand_beside_other_requests() {
    let audit = Command::new();
    let file = audit.folder().join("audit.log");
    let setting = format!("audit.file={}", file.display());
    let served = Served::start(CODE, &["--set", &setting]);
    let client = served.client();
    let caught = caught_in_a_program;
    let waiting = client.run(&caught("(await py.erase(n=1))['erased']"));
    let wrong = json!([{"id": waiting["requests"][0]["id"], "output": {"arguments": {"n": "x"}}}]);
    let wrong = client.refusal("run_code", answering(&waiting, &wrong));
    assert!(wrong.message.contains("must be an integer"), "{wrong:?}");
    let ended = decide(&client, &waiting, |_| json!({"output": {"arguments": {"n": 7}}}));
    assert_eq!(output(&ended)["result"], json!([[1], 7]), "{ended:#}");
    assert_eq!(recorded(&client, &ended)[0]["approved_by"], "anonymous");
    let both = "import asyncio\nfrom tools import f, py\n\
                await asyncio.gather(f(), py.erase(n=2), py.double(n=3), py.wipe(), return_exceptions=True)";
    let waiting = client.run_with(both, json!({"tools": [{"name": "f"}]}));
    let ended = decide(&client, &waiting, |name| match name {
        "f" => json!({"output": "F"}),
        name => json!({"output": name == "py.erase"}),
    });
    let results = output(&ended)["result"].to_string();
    let expected = r#"["F",{"erased":2},{"twice":6},"#;
    assert!(results.starts_with(expected) && results.contains("not approved"), "{results}");
    let audited = || std::fs::read_to_string(&file).unwrap_or_default();
    for word in ["approved", "changed", "refused"] {
        let is_of = |line: &str| line.contains("\"tool_decided\"") && line.contains(word);
        eventually(PATIENCE, || audited().lines().any(is_of).then_some(()));
    }
}

#[test]
fn what_goes_wrong_is_an_error_of_the_tool() {
    let served = Served::start(&format!("{CODE}, calls_per_run = 3"), &[]);
    let client = served.client();
    let caught = |call: &str| {
        let code = format!(
            "import tools\nfrom tools import py\ntry:\n    x = {call}\nexcept tools.ToolError as e:\n    x = [e.tool, str(e)]\nx"
        );
        value(&client, &code)
    };
    assert_eq!(caught("await py.fail()"), json!(["py.fail", "out of paper"]));
    let wrong = caught("await tools.call('py.double', {'n': 'x'})");
    assert_eq!(wrong, json!(["py.double", "`arguments.n` must be an integer"]));
    let large = caught("await py.large()")[1].clone();
    assert!(large.as_str().unwrap().contains("larger than this server takes"), "{large}");
    let token = caught("await py.token()");
    let token = token.as_str().unwrap();
    assert!(token.starts_with("it is ***") && !token.contains("hunter2"), "{token}");
    assert_eq!(served.calls(), ["fail", "large", "token"], "the others are not sent");
    let hidden = client.run("import tools\nawait tools.call('py.hidden', {})");
    assert!(failed(&hidden).1.contains("there is no tool 'py.hidden'"), "{hidden:#}");

    let many = "import tools\nfrom tools import py\nx = []\nfor n in range(5):\n    try:\n        \
                x.append((await py.double(n))['twice'])\n    except tools.ToolError as e:\n        x.append(str(e))\nx";
    let many = value(&client, many);
    assert_eq!((&many[0], &many[1], &many[2]), (&json!(0), &json!(2), &json!(4)));
    assert!(many[4].as_str().unwrap().contains("used up its 3 calls"), "{many}");
    let endless = "import tools\nwhile True:\n    try:\n        await tools.call('py.double', {'n': 'x'})\n    except tools.ToolError:\n        pass";
    let endless = client.run(endless);
    assert!(endless["summary"].as_str().unwrap().contains("each call was refused"), "{endless:#}");
}

#[test]
fn tools_of_the_caller_stand_beside_those_of_servers() {
    let served = Served::start(CODE, &[]);
    let client = served.client();
    let code = "import asyncio, tools\nx = await asyncio.gather(tools.py.double(3), tools.mine.ask('a'))\nx";
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let tools = json!([{"name": "mine.ask", "input_schema": schema}]);
    let first = client.run_with(code, json!({"tools": tools}));
    assert_eq!(first["status"], "waiting", "{first:#}");
    let requests = first["requests"].as_array().unwrap();
    let names: Vec<_> = requests.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mine.ask"], "the caller never sees the others");
    assert_eq!(served.calls(), ["double"]);
    let (session, id) = (&first["session"]["id"], &requests[0]["id"]);
    let forged = json!([{"id": id, "output": 1}, {"id": "c1-r1", "output": 2}]);
    let call = |answers: &Value| json!({"language": "python", "code": "", "session": session, "answers": answers});
    client.refusal("run_code", call(&forged));
    let ended =
        client.run_with("", json!({"session": session, "answers": [{"id": id, "output": 1}]}));
    assert_eq!(output(&ended)["result"], json!([{"twice": 6}, 1]));
    assert_eq!(served.calls(), ["double"], "it is called once");

    for name in ["py.double", "py", "py.double.fast"] {
        let refused = client.refusal(
            "run_code",
            json!({"language": "python", "code": "1", "tools": [{"name": name}]}),
        );
        let message = refused.message;
        assert!(message.contains("tools[0].name") && message.contains("operator"), "{message}");
    }
}

#[test]
fn cells_of_a_session_call_tools_and_can_be_interrupted() {
    let served = Served::start(CODE, &[]);
    let client = served.client();
    let first = client.run_with("from tools import py\nn = 4", json!({"session": "new"}));
    let id = first["session"]["id"].as_str().unwrap();
    let cell = &|code: &str| client.run_with(code, json!({"session": id}));
    let second = cell("(await py.double(n))['twice']");
    assert_eq!(output(&second)["result"], 8, "{second:#}");
    assert_eq!(second["session"]["state"], "kept");
    std::thread::scope(|scope| {
        for code in ["await py.sleep()", "py.sleep.sync()"] {
            let before = served.calls().len();
            let running = scope.spawn(move || cell(code));
            eventually(PATIENCE, || (served.calls().len() > before).then_some(()));
            let path = format!("/v1/sessions/{id}/interrupt");
            assert_eq!(client.post_json(&path, &json!({})).json()["interrupted"], true);
            let ended = running.join().unwrap();
            assert_eq!(failed(&ended).0, "KeyboardInterrupt", "{ended:#}");
        }
    });
    assert_eq!(output(&cell("n"))["result"], 4);
}

#[test]
fn a_call_waits_for_tools_no_longer_than_its_cell() {
    let served = Served::start(CODE, &[]);
    let client = &served.client();
    let first = client.run_with("from tools import py", json!({"session": "new"}));
    let id = first["session"]["id"].as_str().unwrap();
    // The call is refused because of what another one does while the tool is called.
    let cut_off = |code: &str, end: &dyn Fn()| {
        let (before, code) = (served.calls().len(), code.to_owned());
        std::thread::scope(|scope| {
            let call = json!({"language": "python", "code": code, "session": id});
            let running = scope.spawn(move || client.refusal("run_code", call));
            eventually(PATIENCE, || (served.calls().len() > before).then_some(()));
            end();
            running.join().unwrap()
        })
    };
    let abandon = || drop(client.run_with("", json!({"session": id, "abandon": true})));
    for code in ["await py.sleep()", "py.sleep.sync()"] {
        let refused = cut_off(code, &abandon);
        assert_eq!(refused.kind, "session_conflict");
        assert!(refused.message.contains("abandoned"), "{}", refused.message);
    }
    let caught = "try:\n    x = await py.sleep()\nexcept Exception as e:\n    x = str(e)\nx";
    let refused = cut_off(caught, &|| {
        let ended = client.run_with("", json!({"session": id, "answers": []}));
        let told = output(&ended)["result"].as_str().unwrap();
        assert!(told.contains("the call was cut off"), "{told}");
    });
    assert!(refused.message.contains("another call"), "{}", refused.message);
    assert_eq!(served.calls().len(), 3, "nothing is called twice");
    let refused =
        cut_off("await py.sleep()", &|| drop(client.delete(&format!("/v1/sessions/{id}"))));
    assert_eq!(refused.kind, "session_not_found");
}

#[test]
fn skills_have_the_tools_of_their_manifests() {
    let skills = SkillFolder::new();
    let source = "import tools\nfrom tools import py\nasync def main(args):\n    \
                  return [one['name'] for one in tools.list()] + [(await py.double(5))['twice']]";
    let grant = |name: &str, permissions: &str| {
        skills.action(name, "1.0.0", source);
        let file = format!("{name}/skill.toml");
        let manifest = std::fs::read_to_string(skills.at(&file)).unwrap();
        skills.file(&file, manifest + "\n[permissions]\n" + permissions);
    };
    grant("acme.given", "tools = [\"py.doub*\", \"other.find\"]\n");
    grant("acme.secret", "tools = [\"py.double\"]\nsecrets = [\"SERVICE_TOKEN\"]\n");
    grant("acme.none", "");
    let served = Served::start("", &["--skills", skills.path()]);
    let client = served.client();
    let ended = client.execute("acme.given", json!({}));
    assert_eq!(output(&ended)["result"], json!(["py.double", 10]), "{ended:#}");
    let none = client.execute("acme.none", json!({}));
    assert_eq!(failed(&none).0, "ModuleNotFoundError");
    let refused = client.refusal("execute_skill", json!({"name": "acme.secret", "args": {}}));
    assert!(refused.message.contains("secrets"), "{}", refused.message);
    // The operator has given code of calls nothing.
    let code = client.run("import tools");
    assert_eq!(failed(&code).0, "ModuleNotFoundError");
}

#[test]
fn servers_behind_urls_answer_programs() {
    let upstream = TestServer::start(&["--set", "http.allowed_hosts=wardian.example.com"]);
    let port = upstream.address.rsplit(':').next().unwrap();
    let (site, place) = (Site::start(), Command::new());
    let document = json!({
        "openapi": "3.0.0", "info": {"title": "Site", "version": "1"},
        "paths": {
            "/hello": {"get": {"operationId": "hello", "responses": {}}},
            "/echo": {"post": {
                "operationId": "echo",
                "parameters": [{"name": "a", "in": "query", "schema": {"type": "integer"}}],
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {},
            }},
        },
    });
    let document = place.file("site.json", document.to_string());
    let setting = format!(
        "tools={{ other = {{ mcp = \"http://wardian.example.com:{port}/mcp\", code = [\"*\"] }}, \
         site = {{ openapi = {document:?}, base = {:?}, code = [\"*\"] }}, \
         gone = {{ mcp = \"http://gone.test:1/mcp\", code = [\"*\"] }} }}",
        site.url("/"),
    );
    let server = TestServer::start(&[&through_proxy()[..], &["--set", &setting]].concat());
    let client = server.client();
    let code = "from tools import other, site\nimport json\n\
                a = await site.hello()\nb = await site.echo(a=1, body={'x': 2})\n\
                c = await other.list_skills()\n[a, b['query'], json.loads(b['body']), 'skills' in c]";
    assert_eq!(value(&client, code), json!(["hello", "a=1", {"x": 2}, true]));
    let lacks = client.run("import tools\ntools.gone");
    let (kind, message) = failed(&lacks);
    assert_eq!(kind, "AttributeError");
    assert!(!message.contains("gone.test"), "{message}");
}
