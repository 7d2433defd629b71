//! Sessions: interpreters that several calls use one after another.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Command, TestServer, Watched, eventually, failed, output};

const PATIENCE: Duration = Duration::from_secs(60);

/// A session of one client.
struct Session<'a> {
    client: &'a Client,
    id: String,
}

impl<'a> Session<'a> {
    /// A session whose first cell is this code.
    fn begin(client: &'a Client, code: &str) -> Self {
        let first = client.run_with(code, json!({"session": "new"}));
        output(&first);
        let id = state_of(&first, "kept")["id"].as_str().unwrap().to_owned();
        Self { client, id }
    }

    fn cell(&self, code: &str) -> Value {
        self.client.run_with(code, json!({"session": self.id}))
    }

    /// The value of a cell that has to be kept.
    fn value(&self, code: &str) -> Value {
        let result = self.cell(code);
        state_of(&result, "kept");
        value_of(&result)
    }

    fn path(&self, more: &str) -> String {
        format!("/v1/sessions/{}{more}", self.id)
    }

    fn shown(&self) -> Value {
        let answer = self.client.get(&self.path(""));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    fn post(&self, more: &str, body: &Value) -> Answer {
        self.client.post_json(&self.path(more), body)
    }

    /// The refusal of a cell.
    fn refusal(&self, session: Value) -> (String, String) {
        let params = json!({"language": "python", "code": "1", "session": session});
        let refused = self.client.refusal("run_code", params);
        (refused.kind, refused.message)
    }
}

/// What has become of a session, which must be this.
fn state_of<'a>(result: &'a Value, state: &str) -> &'a Value {
    assert_eq!(result["session"]["state"], state, "{result:#}");
    &result["session"]
}

fn value_of(result: &Value) -> Value {
    output(result)["result"].clone()
}

#[test]
fn variables_imports_and_files_stay_from_cell_to_cell() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "import json\nx = [1]\nopen('a.txt', 'w').write('kept')");
    assert_eq!(session.value("x.append(2)\njson.dumps(x)"), "[1, 2]");
    assert_eq!(session.value("open('a.txt').read()"), "kept");
    assert_eq!(session.value("_, In[2].splitlines()[0]"), json!(["kept", "x.append(2)"]));
    // An exception leaves what came before it.
    let raised = session.cell("y = 5\n1 / 0");
    assert_eq!(failed(&raised).0, "ZeroDivisionError");
    assert!(raised["error"]["traceback"].as_str().unwrap().contains("<cell 5>"), "{raised}");
    assert_eq!(state_of(&raised, "kept")["cell"], 5);
    assert_eq!(session.value("y"), 5);
    let other = client.run("'x' in globals()");
    assert_eq!(value_of(&other), false, "a run without a session sees nothing of it");
    assert_eq!(other.get("session"), None);
    assert_eq!(client.delete(&session.path("")).status, 204);
    assert_eq!(session.refusal(json!(session.id)).0, "session_not_found");
}

#[test]
fn a_cell_shows_what_it_displays_and_only_the_files_that_it_made() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "open('old.txt', 'w').write('old')");
    let shown = session.cell(
        "class Table:\n    def _repr_html_(self):\n        return '<b>1</b>'\n\
         print('hello')\ndisplay(Table(), 'text')\nopen('new.txt', 'w').write('new')\n7",
    );
    assert_eq!(value_of(&shown), 7);
    assert_eq!(shown["display"][0]["text/html"]["text"], "<b>1</b>", "{shown:#}");
    assert_eq!(shown["display"][1]["text/plain"]["text"], "'text'", "{shown:#}");
    assert_eq!(shown["logs_preview"], "hello\n");
    let files: Vec<_> =
        shown["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(files, ["new.txt"]);
    let notebook = client.get(&session.path("/notebook"));
    assert_eq!(notebook.header("content-type"), "application/x-ipynb+json");
    let notebook = notebook.json();
    assert_eq!(
        (&notebook["nbformat"], &notebook["cells"][1]["execution_count"]),
        (&json!(4), &json!(2))
    );
    let cells = client.get(&session.path("/cells?after=1")).json();
    assert_eq!(cells["cells"][0]["state"], "kept");
    assert_eq!(cells["cells"][0]["result"]["session"], shown["session"]);
    assert_eq!(cells["cells"][0]["result"]["output"]["result"], 7, "{cells:#}");
    client.delete(&session.path(""));
}

#[test]
fn a_notebook_has_the_pictures_of_its_cells_or_says_why_not() {
    let client = TestServer::shared().client();
    let picture = "class Picture:\n    def __init__(self, size): self.size = size\n    \
                   def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + bytes(self.size)";
    let session = Session::begin(&client, &format!("{picture}\nNone"));
    let shown = session.cell("display(Picture(200_000), Picture(5), Picture(9 << 20))");
    let blob = |at: usize| shown["display"][at]["image/png"]["blob"].as_str().unwrap();
    client.delete(&format!("/v1/blobs/{}", blob(1)));
    let notebook = client.get(&session.path("/notebook"));
    let length = notebook.header("content-length").parse::<usize>().unwrap();
    assert!((260_000..300_000).contains(&length), "{length}");
    let notebook = notebook.json();
    let outputs = notebook["cells"][1]["outputs"].as_array().unwrap();
    let data: Vec<_> = outputs.iter().map(|output| &output["data"]).collect();
    let embedded = data[0]["image/png"].as_str().unwrap();
    let embedded = data_encoding::BASE64.decode(embedded.as_bytes()).unwrap();
    assert!(embedded.starts_with(b"\x89PNG") && embedded.len() == 200_008);
    // An object without its picture is still shown as text, and the sentence follows.
    let sentence = |at: usize| data[at]["text/plain"].as_str().unwrap();
    assert!(sentence(1).contains("Picture object"));
    let gone = "image/png is not in this notebook: its blob has expired or was removed";
    assert_eq!(sentence(2), gone);
    assert_eq!(outputs[1]["metadata"]["wardian_blobs"]["image/png"], blob(1));
    assert!(sentence(4).contains(&format!("at most 8 MiB; `wardian blobs get {}`", blob(2))));
    client.delete(&session.path(""));
}

#[test]
fn a_cell_that_does_not_end_leaves_the_session_where_it_was() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = 1");
    let before = session.shown()["checkpoint"].clone();
    let stubborn = "x = 2\nwhile True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass";
    let params = json!({"session": session.id, "timeout_ms": 500});
    let stopped = client.run_with(stubborn, params);
    assert_eq!(failed(&stopped).0, "Timeout", "{stopped:#}");
    let state = state_of(&stopped, "rolled_back");
    assert_eq!((&state["checkpoint"], &state["cell"]), (&before, &json!(2)));
    assert!(state["reason"].as_str().unwrap().contains("time"), "{state}");
    let cells = client.get(&session.path("/cells?after=1")).json();
    assert_eq!(cells["cells"][0]["result"]["session"], *state, "as its call was answered");
    assert_eq!(session.value("x"), 1);
    let full = session.cell("x = 3\nb = bytearray(1500 << 20)");
    assert!(["MemoryError", "MemoryLimit"].contains(&failed(&full).0), "{full:#}");
    client.delete(&session.path(""));
}

#[test]
fn conditions_are_checked_before_anything_runs() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = 1");
    let first = session.shown()["checkpoint"].clone();
    session.value("x = 2");
    let (kind, message) = session.refusal(json!({"id": session.id, "if_checkpoint": first}));
    assert_eq!(kind, "session_conflict");
    assert!(message.contains("it is at checkpoint `c2-"), "{message}");
    let second = session.shown()["checkpoint"].clone();
    let params = json!({"session": {"id": session.id, "if_checkpoint": second, "keep": false}});
    let last = client.run_with("x", params);
    assert_eq!(value_of(&last), 2);
    assert_eq!(state_of(&last, "closed")["checkpoint"], Value::Null);
    for unknown in [session.id.as_str(), "ses_x", "", "new2", &format!("ses_{}", "a".repeat(26))] {
        assert_eq!(session.refusal(json!(unknown)).0, "session_not_found", "{unknown}");
    }
    for (name, value) in [
        ("entrypoint", json!("main")),
        ("args", json!({"a": 1})),
        ("detach", json!(true)),
        ("idempotency_key", json!("k")),
    ] {
        let mut params = json!({"language": "python", "code": "1", "session": "new"});
        params[name] = value;
        let refused = client.refusal("run_code", params);
        assert_eq!(
            (refused.kind.as_str(), refused.message.contains(name)),
            ("invalid_params", true)
        );
    }
}

#[test]
fn one_cell_at_a_time() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "import time");
    let (other, id) = (client.clone(), session.id.clone());
    let slow =
        thread::spawn(move || other.run_with("time.sleep(1.5)\nx = 1", json!({"session": id})));
    eventually(PATIENCE, || {
        let cells = client.get(&session.path("/cells?after=1")).json();
        (cells["cells"][0]["state"] == "running").then_some(())
    });
    let run = eventually(PATIENCE, || session.shown()["run_id"].as_str().map(str::to_owned));
    assert_eq!(client.get(&format!("/v1/runs/{run}")).status, 200);
    let (kind, message) = session.refusal(json!(session.id));
    assert_eq!(kind, "session_busy", "{message}");
    let waiting = json!({"session": {"id": session.id, "wait_ms": 60_000}});
    assert_eq!(value_of(&client.run_with("x", waiting)), 1);
    state_of(&slow.join().unwrap(), "kept");
    client.delete(&session.path(""));
}

#[test]
fn the_last_checkpoint_is_truth_for_a_session_whose_worker_and_server_are_lost() {
    let place = Command::new();
    let data = place.folder().join("data");
    let id = {
        let server = TestServer::start_on(&data, &[]);
        let client = server.client();
        let session =
            Session::begin(&client, "def numbers():\n    yield from range(9)\nn = numbers()");
        assert_eq!(session.value("next(n), next(n)"), json!([0, 1]));
        assert_eq!(session.shown()["is_warm"], true);
        server.workers().iter().for_each(Watched::kill);
        assert_eq!(session.value("next(n)"), 2, "a lost worker costs no state");
        session.id
    };
    let server = TestServer::start_on(&data, &[]);
    let client = server.client();
    let session = Session { client: &client, id };
    assert_eq!(session.shown()["is_warm"], false);
    assert_eq!(session.value("next(n)"), 3);
    assert_eq!(session.value("next(n)"), 4);
    let id = session.id;
    drop(server);
    // A server whose limits have become lower says so, and not that the caller has asked for too much.
    let server = TestServer::start_on(
        &data,
        &["--set", "limits.memory=256 MiB", "--set", "limits.max.memory=256 MiB"],
    );
    let client = server.client();
    let session = Session { client: &client, id };
    let (kind, message) = session.refusal(json!(session.id));
    assert_eq!(kind, "session_damaged", "{message}");
    assert!(message.contains("limits"), "{message}");
    let damaged = session.shown()["checkpoint"].clone();
    assert_eq!(session.post("/restore", &json!({"checkpoint": damaged})).status, 200);
}

#[test]
fn cells_of_a_session_that_counts_fuel_have_its_limit() {
    let client = TestServer::shared().client();
    let limits = json!({"limits": {"fuel": 2_000_000_000_u64}});
    let mut params = limits.clone();
    params["session"] = json!("new");
    params["language"] = json!("python");
    params["code"] = json!("x = 1");
    // The code that counts may still be compiled.
    let first =
        eventually(Duration::from_secs(240), || client.call("run_code", params.clone()).ok());
    assert!(first["fuel"].as_u64().unwrap() > 100_000, "{first:#}");
    let id = state_of(&first, "kept")["id"].as_str().unwrap().to_owned();
    let session = Session { client: &client, id };
    assert_eq!(session.value("x"), 1, "a cell without a limit of its own");
    let few = json!({"session": session.id, "limits": {"fuel": 1_000_000}});
    let ended = client.run_with("x = 2\nwhile True: x += 1", few);
    state_of(&ended, "rolled_back");
    assert_eq!(session.value("x"), 1);
    client.delete(&session.path(""));
    let made = client.post_json("/v1/sessions", &limits);
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let session = Session { client: &client, id };
    assert_eq!(session.value("1 + 1"), 2);
    client.delete(&session.path(""));
}

#[test]
fn a_session_that_is_closed_is_never_said_to_be_rolled_back() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = 1");
    let params = json!({"session": {"id": session.id, "keep": false}});
    let ended = client.run_with("import os; os._exit(1)", params);
    assert_eq!(state_of(&ended, "closed")["checkpoint"], Value::Null, "{ended:#}");
    assert_eq!(client.get(&session.path("")).status, 404);
    let session = Session::begin(&client, "import time");
    let (other, id) = (client.clone(), session.id.clone());
    let slow = thread::spawn(move || other.run_with("time.sleep(60)", json!({"session": id})));
    eventually(PATIENCE, || {
        let cells = client.get(&session.path("/cells?after=1")).json();
        (cells["cells"][0]["state"] == "running").then_some(())
    });
    assert_eq!(client.delete(&session.path("")).status, 204);
    let ended = slow.join().unwrap();
    assert_eq!(state_of(&ended, "closed")["checkpoint"], Value::Null, "{ended:#}");
}

#[test]
fn what_a_session_cannot_be_made_of_is_refused() {
    let client = TestServer::shared().client();
    let blob = format!("sha256:{}", "0".repeat(64));
    for (body, status, kind) in [
        (json!({"input_blobs": [blob]}), 404, "blob_not_found"),
        (json!({"mount_skills": ["no.such"]}), 404, "skill_not_found"),
        (json!({"limits": {"timeout_ms": 5_000}}), 400, "invalid_params"),
        (json!({"idle_ms": 0}), 400, "invalid_params"),
    ] {
        let refused = client.post_json("/v1/sessions", &body);
        let found = refused.json();
        let found = found["error"]["data"]["kind"].as_str().unwrap().to_owned();
        assert_eq!((refused.status, found.as_str()), (status, kind), "{body}: {refused:?}");
    }
}

#[test]
fn a_session_whose_caller_is_gone_before_it_knows_the_id_is_closed() {
    let place = Command::new();
    let server = TestServer::start_on(&place.folder().join("data"), &[]);
    let client = server.client();
    let sessions = || client.get("/v1/sessions").json()["usage"]["sessions"].clone();
    let params = json!({"language": "python", "code": "import time; time.sleep(60)",
        "session": "new"});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
    let body = body.to_string();
    // Some of these callers go at the moment at which the session is made.
    for _ in 0..20 {
        let mut connection = server.connect();
        connection.send(format!(
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        eventually(PATIENCE, || (sessions() == 1).then_some(()));
        drop(connection);
        eventually(PATIENCE, || (sessions() == 0).then_some(()));
    }
}

#[test]
fn pages_of_long_cells_are_short() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = 1");
    let long = format!("x += 1\n#{}", "x".repeat(900_000));
    for _ in 0..9 {
        session.cell(&long);
    }
    let (mut after, mut pages, mut numbers) = (0, 0, Vec::new());
    loop {
        let page = client.get(&session.path(&format!("/cells?limit=100&after={after}"))).json();
        let cells = page["cells"].as_array().unwrap().clone();
        let Some(last) = cells.last() else { break };
        after = last["number"].as_u64().unwrap();
        numbers.extend(cells.iter().map(|cell| cell["number"].as_u64().unwrap()));
        pages += 1;
    }
    assert!(pages > 1 && numbers == (1..=10).collect::<Vec<u64>>(), "{pages} pages: {numbers:?}");
    client.delete(&session.path(""));
}

#[test]
fn a_fork_goes_its_own_way() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "import random, sqlite3\nx = [1]\nrandom.seed(1)");
    // SQLite has drawn a number, so that its state is in the checkpoint.
    session.value("rows = sqlite3.connect(':memory:')\nrows.execute('select random()').fetchone()\nx.append(2)");
    let forked = session.post("/fork", &json!({"count": 3}));
    assert_eq!(forked.status, 201, "{forked:?}");
    let forks = forked.json();
    let origin = session.shown();
    let expected = json!({"session": session.id, "checkpoint": origin["checkpoint"]});
    assert_eq!(forks["forks"][0]["forked_from"], expected);
    assert_eq!(origin["forked_from"], Value::Null);
    assert!(origin["guest_memory_bytes"].as_u64().unwrap() > 1 << 20, "{origin:#}");
    let bytes = |session: &Value| {
        ["parked_own_bytes", "parked_shared_bytes"].map(|name| session[name].as_u64().unwrap())
    };
    let parked = bytes(&forks["forks"][0]);
    assert!(parked[0] == 0 && parked[1] > 0 && parked == bytes(&origin), "{forks:#}");
    let draw = "[random.random(), *rows.execute('select random()').fetchone()]";
    let mut drawn = Vec::new();
    let mut draw_in = |one: &Session<'_>| {
        drawn.extend(one.value(draw).as_array().unwrap().iter().map(Value::to_string));
    };
    draw_in(&session);
    for fork in forks["forks"].as_array().unwrap() {
        let id = fork["id"].as_str().unwrap().to_owned();
        let fork = Session { client: &client, id };
        assert_eq!(fork.value("x.append(3)\nx"), json!([1, 2, 3]));
        draw_in(&fork);
        assert_eq!(client.delete(&fork.path("")).status, 204);
    }
    assert_eq!(session.value("x"), json!([1, 2]), "forks changed it");
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 8, "forks draw the same numbers: {drawn:?}");
    assert_eq!(session.post("/fork", &json!({"count": 17})).status, 400);
    assert_eq!(session.post("/fork", &json!({"checkpoint": "c9-0123456789abcdef"})).status, 404);
    client.delete(&session.path(""));
}

#[test]
fn a_fork_finds_itself_in_another_process_than_its_origin_and_its_siblings() {
    let client = TestServer::shared().client();
    let code = "import os, tempfile\nran = []\n\
                os.register_at_fork(after_in_child=lambda: ran.append(os.getpid()))\n\
                name = tempfile.mktemp()";
    let session = Session::begin(&client, code);
    let forks = session.post("/fork", &json!({"count": 3})).json();
    let seen = "[os.getpid(), tempfile.mktemp(), ran]";
    let mut processes = vec![session.value("os.getpid()").to_string()];
    let mut names = vec![session.value("name").to_string()];
    assert_eq!(session.value("ran"), json!([]), "its origin goes on as before");
    for fork in forks["forks"].as_array().unwrap() {
        let id = fork["id"].as_str().unwrap().to_owned();
        let fork = Session { client: &client, id };
        let now = fork.value(seen);
        assert_eq!(now[2], json!([now[0]]), "its handler has run once, in the new process");
        assert_eq!(fork.value("os.getpid()"), now[0], "it stays the same");
        processes.push(now[0].to_string());
        names.push(now[1].to_string());
        client.delete(&fork.path(""));
    }
    for mut all in [processes, names] {
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 4, "{all:?}");
    }
    client.delete(&session.path(""));
}

#[test]
fn a_session_goes_back_to_a_checkpoint() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = 1");
    let named = session.post("/checkpoints", &json!({"name": "the beginning"}));
    assert_eq!(named.status, 200, "{named:?}");
    let first = named.json()["id"].as_str().unwrap().to_owned();
    session.value("x = 2\nopen('f', 'w').write('2')");
    session.value("x = 3");
    assert_eq!(session.post("/restore", &json!({"checkpoint": first})).status, 200);
    assert_eq!(session.value("import os\nx, os.path.exists('f')"), json!([1, false]));
    let shown = session.shown();
    let checkpoints = shown["checkpoints"].as_array().unwrap();
    assert_eq!(checkpoints[0]["name"], "the beginning", "{shown:#}");
    assert_eq!(checkpoints.last().unwrap()["parent"], json!(first), "{shown:#}");
    let path = |id: &Value| session.path(&format!("/checkpoints/{}", id.as_str().unwrap()));
    assert_eq!(client.delete(&path(&checkpoints[1]["id"])).status, 204);
    assert_eq!(client.delete(&path(&checkpoints[1]["id"])).status, 404);
    assert_eq!(client.delete(&path(&shown["checkpoint"])).status, 409, "the session is at it");
    client.delete(&session.path(""));
}

#[test]
fn an_interrupt_keeps_the_state() {
    let client = TestServer::shared().client();
    let session = Session::begin(&client, "x = 1");
    let idle = session.post("/interrupt", &json!({}));
    assert_eq!((idle.status, idle.json()["interrupted"].clone()), (202, json!(false)));
    let (other, id) = (client.clone(), session.id.clone());
    let running =
        thread::spawn(move || other.run_with("x = 2\nwhile True: pass", json!({"session": id})));
    eventually(PATIENCE, || {
        let cells = client.get(&session.path("/cells?after=1")).json();
        (cells["cells"][0]["state"] == "running").then_some(())
    });
    // The cell has begun its loop by then, on any machine that can run the tests.
    thread::park_timeout(Duration::from_secs(1));
    assert_eq!(session.post("/interrupt", &json!({})).json()["interrupted"], true);
    let interrupted = running.join().unwrap();
    assert_eq!(failed(&interrupted).0, "KeyboardInterrupt", "{interrupted:#}");
    state_of(&interrupted, "kept");
    assert_eq!(session.value("x"), 2);
    client.delete(&session.path(""));
}

#[test]
fn sessions_are_listed_bounded_and_closed() {
    let server = TestServer::start(&["--set", "sessions.max=2"]);
    let client = server.client();
    let made = client.post_json("/v1/sessions", &json!({"label": "report"}));
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(made.header("location"), format!("/v1/sessions/{id}"));
    let session = Session { client: &client, id };
    assert_eq!(session.shown()["checkpoint"], Value::Null);
    assert_eq!(session.value("1 + 1"), 2);
    let second = Session::begin(&client, "1");
    let params = json!({"language": "python", "code": "1", "session": "new"});
    assert_eq!(client.refusal("run_code", params).kind, "quota_exceeded");
    let page = client.get("/v1/sessions?limit=1").json();
    assert_eq!(page["sessions"][0]["id"], second.id);
    assert_eq!(page["usage"]["sessions"], 2);
    let cursor = page["next_cursor"].as_str().unwrap();
    let next = client.get(&format!("/v1/sessions?limit=1&cursor={cursor}")).json();
    assert_eq!(
        (&next["sessions"][0]["id"], &next["sessions"][0]["label"]),
        (&json!(session.id), &json!("report"))
    );
    for wrong in ["?cursor=x", "?limit=0", "?limit=x", "?other=1"] {
        assert_eq!(client.get(&format!("/v1/sessions{wrong}")).status, 400, "{wrong}");
    }
    for wrong in [json!({"labels": 1}), json!([]), json!({"label": "x".repeat(201)})] {
        assert_eq!(client.post_json("/v1/sessions", &wrong).status, 400, "{wrong}");
    }
    assert_eq!(client.delete(&session.path("")).status, 204);
    assert_eq!(client.delete(&session.path("")).status, 404);
    assert_eq!(client.get("/v1/sessions").json()["usage"]["sessions"], 1);
}

#[test]
fn a_session_of_another_tenant_is_like_one_that_does_not_exist() {
    let place = Command::new();
    let arguments = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let server = TestServer::start(&arguments);
    let key = |tenant: &str, scopes: &str| {
        let data = server.data_dir().to_str().unwrap();
        let create = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "k"];
        let made = place.run(&[&create[..], &["--scopes", scopes]].concat()).with(0);
        let client = server.client().with_key(made.stdout.trim_end());
        eventually(PATIENCE, || (client.get("/v1/sessions").status != 401).then_some(()));
        client
    };
    let (acme, beta, reader) = (key("acme", "code"), key("beta", "code"), key("acme", "discover"));
    let session = Session::begin(&acme, "secret = 1");
    let unknown = format!("ses_{}", "a".repeat(26));
    for path in ["", "/cells", "/notebook"] {
        let of = |id: &str| {
            let answer = beta.get(&format!("/v1/sessions/{id}{path}"));
            (answer.status, String::from_utf8(answer.body).unwrap().replace(id, ""))
        };
        let (found, missing) = (of(&session.id), of(&unknown));
        assert_eq!(found.0, 404, "{path}");
        let without_request = |text: &str| text.split("request_id").next().unwrap().to_owned();
        assert_eq!(without_request(&found.1), without_request(&missing.1));
    }
    let params = json!({"language": "python", "code": "secret", "session": session.id});
    assert_eq!(beta.refusal("run_code", params).kind, "session_not_found");
    assert_eq!(beta.delete(&session.path("")).status, 404);
    assert_eq!(reader.get(&session.path("")).status, 403, "a session is code");
    assert_eq!(session.value("secret"), 1);
}

#[test]
fn a_server_without_sessions_says_so() {
    let server = TestServer::start(&["--set", "sessions.enabled=false"]);
    let client = server.client();
    let params = json!({"language": "python", "code": "1", "session": "new"});
    let refused = client.refusal("run_code", params);
    assert_eq!(refused.message, "this server keeps no sessions");
    assert_eq!(client.get("/v1/sessions").status, 400);
}
