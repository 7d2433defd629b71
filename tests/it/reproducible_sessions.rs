//! Reproducible sessions: equal cells, whatever becomes of workers and other cells, and their records.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, Watched, failed, output};

/// Long enough for a machine that is loaded.
const TIMEOUT: u64 = 300_000;

/// Cells that look for time and chance, and leave state in memory and files.
const CELLS: [&str; 5] = [
    "import os, random, time, uuid\nx = [random.random()]\nt = time.time(), time.monotonic()",
    "open('a.txt', 'w').write(str(uuid.uuid4()))\nx.append(random.random())\nx, t, os.stat('a.txt').st_mtime",
    "print(id(object()), {'a', 'b', 'c'})\n1 / 0",
    "time.sleep(5)\nx.append(os.urandom(4).hex())\nx[-1], time.time(), time.monotonic()",
    "open('a.txt').read(), os.stat('a.txt').st_ino, In[2].splitlines()[0]",
];

/// A cell that uses up its time and has to be stopped.
const ENDLESS: &str = "x = None\nwhile True: pass";

fn begin(client: &Client, reproducible: Value) -> String {
    let made = client.post_json("/v1/sessions", &json!({"reproducible": reproducible}));
    assert_eq!(made.status, 201, "{made:?}");
    made.json()["id"].as_str().unwrap().to_owned()
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
            2 => server.workers().iter().for_each(Watched::kill),
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
    let seeded = begin(&client, json!({"seed": 7}));
    assert_ne!(lasting(&cell(&client, &seeded, CELLS[0])), expected[0], "another seed");
}

#[test]
fn forks_go_on_with_the_same_stream_or_with_a_seed_of_their_own() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let id = begin(&client, json!(true));
    let draw = "import random, os\nrandom.random(), os.urandom(4).hex()";
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
    let tools = json!([{"name": "f"}]);
    let cached = json!({"session": "new", "reproducible": {"cache": true}});
    assert!(refusal(cached).contains("reproducible.cache"));
    assert!(
        refusal(json!({"session": "new", "reproducible": true, "tools": tools})).contains("tools")
    );
    let id = begin(&client, json!(true));
    assert!(refusal(json!({"session": id, "reproducible": true})).contains("reproducible"));
    assert!(refusal(json!({"session": id, "tools": tools})).contains("tools"));
    let asks = cell(&client, &id, "input('who? ')");
    assert_eq!(asks["session"]["state"], "rolled_back", "{asks:#}");
    assert!(asks["session"]["reason"].as_str().unwrap().contains("nobody to ask"), "{asks:#}");
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
    assert!(refused.error().1.contains("not reproducible"), "{refused:?}");
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
