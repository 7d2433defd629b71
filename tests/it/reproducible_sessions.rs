//! Reproducible sessions: equal cells, whatever becomes of workers and other cells, and their records.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, eventually, failed, output};

/// Long enough for a machine that is loaded.
const TIMEOUT: u64 = 300_000;

/// Cells that look for time and chance, and leave state in memory and files. The last ones free memory, of
/// which the states say nothing, and take some of it again.
const CELLS: [&str; 7] = [
    "import os, random, time, uuid\nx = [random.random()]\nt = time.time(), time.monotonic()",
    "open('a.txt', 'w').write(str(uuid.uuid4()))\nx.append(random.random())\nx, t, os.stat('a.txt').st_mtime",
    "print(id(object()), {'a', 'b', 'c'})\n1 / 0",
    "time.sleep(5)\nx.append(os.urandom(4).hex())\nx[-1], time.time(), time.monotonic()",
    "open('a.txt').read(), os.stat('a.txt').st_ino, In[2].splitlines()[0]",
    "y = [os.urandom(5_000) for _ in range(1_000)]\ndel y[::3]\nlen(y)",
    "del y\nz = bytearray(3_000_000)\nid(z), sum(z)",
];

/// A cell that uses up its time and has to be stopped.
const ENDLESS: &str = "x = None\nwhile True: pass";

fn begin(client: &Client, reproducible: Value) -> String {
    begin_with(client, &json!({"reproducible": reproducible}))
}

/// Makes a session. With a cold cache its image may still be built.
fn begin_with(client: &Client, order: &Value) -> String {
    let made = eventually(Duration::from_secs(300), || {
        Some(client.post_json("/v1/sessions", order)).filter(|made| made.status != 503)
    });
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["id"].as_str().unwrap().to_owned()
}

/// Lets the next cell of each session be resumed from its states.
fn lose_workers(server: &TestServer) {
    for worker in &server.workers() {
        worker.kill();
        assert!(worker.ends_within(Duration::from_secs(10)));
    }
}

fn cell(client: &Client, id: &str, code: &str) -> Value {
    client.run_with(code, json!({"session": id, "timeout_ms": TIMEOUT}))
}

/// What a repetition of a cell has to give.
fn lasting(result: &Value) -> Value {
    let mut kept = json!({"digest": result["session"]["state_digest"]});
    for member in
        ["status", "output", "error", "logs_preview", "fuel", "files", "memory_peak_bytes"]
    {
        kept[member] = result[member].clone();
    }
    assert_eq!(kept["digest"].as_str().unwrap().len(), 64, "{result:#}");
    assert!(kept["fuel"].as_u64().unwrap() > 0, "{result:#}");
    kept
}

#[test]
fn equal_cells_are_equal_however_their_state_is_kept() {
    let server = TestServer::start(&["--set", "sessions.warm=1"]);
    let client = server.client();
    let first = begin(&client, json!(true));
    let expected: Vec<Value> =
        CELLS.iter().map(|code| lasting(&cell(&client, &first, code))).collect();
    // Another session takes the place of a kept interpreter in between, workers are lost, and a cell is
    // rolled back.
    let (second, other) = (begin(&client, json!({})), begin(&client, json!(true)));
    for (number, code) in CELLS.iter().enumerate() {
        match number {
            1 => drop(cell(&client, &other, "1")),
            2 | 6 => lose_workers(&server),
            3 => {
                let stopped =
                    client.run_with(ENDLESS, json!({"session": second, "timeout_ms": 300}));
                assert_eq!(failed(&stopped).0, "Timeout");
                assert_eq!(stopped["session"]["state"], "rolled_back", "{stopped:#}");
                assert_eq!(stopped["session"].get("state_digest"), None);
            }
            _ => {}
        }
        assert_eq!(lasting(&cell(&client, &second, code)), expected[number], "cell {number}");
    }
    // The list of cells says what the answers said, and keeps what is noted for the record.
    let listed = client.get(&format!("/v1/sessions/{first}/cells")).json();
    let last = &listed["cells"].as_array().unwrap()[CELLS.len() - 1]["result"];
    assert_eq!(lasting(last), expected[CELLS.len() - 1]);
    assert_eq!(last.get("record"), None, "{last:#}");
    let seeded = begin(&client, json!({"seed": 7}));
    assert_ne!(lasting(&cell(&client, &seeded, CELLS[0])), expected[0], "another seed");
}

#[test]
fn an_interrupted_cell_leaves_no_trace() {
    let client = TestServer::shared().client();
    let (first, other) = (begin(&client, json!(true)), begin(&client, json!(true)));
    let draw = "import random\nx = random.random()\nx";
    let expected = [draw, draw].map(|code| lasting(&cell(&client, &other, code)));
    assert_eq!(lasting(&cell(&client, &first, draw)), expected[0]);
    let (running, id) = (client.clone(), first.clone());
    let running = thread::spawn(move || running.run_with(ENDLESS, json!({"session": id})));
    eventually(Duration::from_secs(60), || {
        let path = format!("/v1/sessions/{first}/interrupt");
        let answer = client.post_json(&path, &json!({})).json();
        (answer["interrupted"] == true).then_some(())
    });
    let stopped = running.join().unwrap();
    assert_eq!(stopped["session"]["state"], "rolled_back", "{stopped:#}");
    assert_eq!(lasting(&cell(&client, &first, draw)), expected[1]);
    for id in [first, other] {
        client.delete(&format!("/v1/sessions/{id}"));
    }
}

#[test]
fn forks_go_on_with_the_same_stream_or_with_a_seed_of_their_own() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let id = begin(&client, json!(true));
    let draw = "import random, os, sqlite3\nrandom.random(), os.urandom(4).hex(), \
                sqlite3.connect(':memory:').execute('select random()').fetchone()";
    cell(&client, &id, draw);
    let fork = |body: Value| {
        let made = client.post_json(&format!("/v1/sessions/{id}/fork"), &body);
        assert_eq!(made.status, 201, "{made:?}");
        made.json()["forks"][0]["id"].as_str().unwrap().to_owned()
    };
    let forks = [json!({}), json!({"seed": 5}), json!({"seed": 5}), json!({"seed": 6})].map(fork);
    let drawn = forks.map(|fork| lasting(&cell(&client, &fork, draw)));
    assert_eq!(lasting(&cell(&client, &id, draw)), drawn[0], "the session and its fork");
    assert_eq!(drawn[1], drawn[2]);
    assert!(drawn[1] != drawn[0] && drawn[1] != drawn[3], "{drawn:#?}");
    let ordinary = client.post_json("/v1/sessions", &json!({})).json();
    let ordinary = ordinary["id"].as_str().unwrap();
    output(&cell(&client, ordinary, "1"));
    let refused = client.post_json(&format!("/v1/sessions/{ordinary}/fork"), &json!({"seed": 1}));
    assert_eq!(refused.status, 400, "{refused:?}");
}

#[test]
fn what_does_not_repeat_is_refused() {
    let client = TestServer::shared().client();
    let refusal = |more: Value| {
        let mut params = json!({"language": "python", "code": "1"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.refusal("run_code", params).message
    };
    let cached = json!({"session": "new", "reproducible": {"cache": true}});
    assert!(refusal(cached).contains("reproducible.cache"));
    let id = begin(&client, json!(true));
    assert!(refusal(json!({"session": id, "reproducible": true})).contains("reproducible"));
    client.delete(&format!("/v1/sessions/{id}"));
}

#[test]
fn a_record_is_executed_again_and_names_the_first_cell_that_differs() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let client = server.client();
    let id = begin(&client, json!({"seed": 3}));
    for code in &CELLS[..3] {
        cell(&client, &id, code);
    }
    client.run_with(ENDLESS, json!({"session": id, "timeout_ms": 300}));
    cell(&client, &id, CELLS[3]);
    let fork = client.post_json(&format!("/v1/sessions/{id}/fork"), &json!({"seed": 9}));
    let fork = fork.json()["forks"][0]["id"].as_str().unwrap().to_owned();
    cell(&client, &fork, "random.random()");
    let url = format!("http://{}", server.address);
    let record = |id: &str, file: &str| {
        place.run(&["sessions", "record", id, "-o", file, "--server", &url]).with(0);
        fs::read_to_string(place.folder().join(file)).unwrap()
    };
    let text = record(&id, "session.json");
    let document: Value = serde_json::from_str(&text).unwrap();
    let states: Vec<&Value> =
        document["cells"].as_array().unwrap().iter().map(|cell| &cell["state"]).collect();
    assert_eq!(states, ["kept", "kept", "kept", "rolled_back", "kept"]);
    let same = place.run(&["verify", "session.json"]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
    record(&fork, "fork.json");
    assert_eq!(place.run(&["verify", "fork.json"]).with(0).stdout, "identical\n");
    // One with the same seed draws other numbers, too.
    let fork = client.post_json(&format!("/v1/sessions/{id}/fork"), &json!({"seed": 3})).json();
    let same_seed = fork["forks"][0]["id"].as_str().unwrap();
    cell(&client, same_seed, "random.random()");
    let seeded: Value = serde_json::from_str(&record(same_seed, "seed.json")).unwrap();
    let last = seeded["cells"].as_array().unwrap().last().unwrap();
    assert_eq!(last["run"]["inputs"]["reseeds"], true, "{last:#}");
    assert_eq!(place.run(&["verify", "seed.json"]).with(0).stdout, "identical\n");
    let other = place.run(&["verify", "session.json", "--against", "fork.json"]).with(1);
    assert!(other.stdout.contains("cell 6: state"), "{}", other.stdout);
    // A changed fuel is found in its cell.
    let fuel = document["cells"][1]["run"]["ending"]["fuel"].to_string();
    place.file("changed.json", text.replace(&format!("\"fuel\":{fuel}"), "\"fuel\":1"));
    let changed = place.run(&["verify", "changed.json", "--json"]).with(1).json();
    assert_eq!(changed["differences"][0]["what"], "cell 2: fuel", "{changed:#}");
    let ordinary = client.post_json("/v1/sessions", &json!({})).json();
    let path = format!("/v1/sessions/{}/record", ordinary["id"].as_str().unwrap());
    let refused = client.get(&path);
    assert_eq!(refused.status, 400, "{refused:?}");
    assert!(refused.message().contains("not reproducible"), "{refused:?}");
}

#[test]
fn a_restored_session_has_the_record_of_its_present_state() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let id = begin(&client, json!(true));
    let first = cell(&client, &id, "x = 1")["session"]["checkpoint"].clone();
    let left = lasting(&cell(&client, &id, "import random\nrandom.random()"));
    client.post_json(&format!("/v1/sessions/{id}/restore"), &json!({"checkpoint": first}));
    let again = lasting(&cell(&client, &id, "import random\nrandom.random()"));
    assert_eq!(again, left, "the same cell from the same state");
    let record = client.get(&format!("/v1/sessions/{id}/record")).json();
    let states = record["cells"].as_array().unwrap().iter();
    assert_eq!(states.map(|cell| &cell["state"]).collect::<Vec<_>>(), ["kept", "left", "kept"]);
}

#[test]
fn files_are_read_between_cells_and_change_in_cells_alone() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let (looked, other) = (begin(&client, json!(true)), begin(&client, json!(true)));
    let files = format!("/v1/sessions/{looked}/files");
    let paths = || {
        let listed = client.get(&files).json();
        let paths = listed["files"].as_array().unwrap().iter();
        paths.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(), Vec::<String>::new(), "before the first cell");
    let write = "open('a.txt', 'w').write('text')\nimport time\ntime.time()";
    let look = "import random\nrandom.random(), time.monotonic(), open('a.txt').read()";
    let expected = [write, look].map(|code| lasting(&cell(&client, &other, code)));
    assert_eq!(lasting(&cell(&client, &looked, write)), expected[0]);
    assert_eq!(paths(), ["a.txt"]);
    lose_workers(&server);
    assert_eq!(client.get(&format!("{files}/a.txt")).body, b"text");
    for refused in [client.put(&format!("{files}/b.txt")), client.delete(&format!("{files}/a.txt"))]
    {
        assert_eq!((refused.status, refused.error().1.as_str()), (400, "invalid_params"));
        assert!(refused.json()["error"]["message"].to_string().contains("reproducible"));
    }
    assert_eq!(lasting(&cell(&client, &looked, look)), expected[1], "to look changes nothing");
}

#[test]
fn a_session_with_a_named_blob_is_repeated() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let client = server.client();
    let head =
        "PUT /v1/blobs?filename=in.csv HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\n";
    let stored = server.connect().send(head).send("n\n1\n").reply().json();
    let blob = stored["blob_id"].as_str().unwrap();
    let id = begin_with(&client, &json!({"reproducible": true, "input_blobs": [blob]}));
    output(&cell(&client, &id, "from runtime import blobs\nblobs.read_bytes('in.csv').decode()"));
    let url = format!("http://{}", server.address);
    place.run(&["sessions", "record", &id, "-o", "s.json", "--server", &url]).with(0);
    let record = fs::read_to_string(place.folder().join("s.json")).unwrap();
    assert!(record.contains("\"name\":\"in.csv\""), "{record}");
    place.file("in.csv", "n\n1\n");
    let same = place.run(&["verify", "s.json", "--blobs", "."]).with(0);
    assert_eq!(same.stdout, "identical\n", "{}", same.stderr);
}
