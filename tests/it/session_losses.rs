//! Sessions of servers that end without a word, and of machines that lose their power.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, output};

/// The id of a new session whose first cell is this code.
fn begin(client: &Client, code: &str) -> String {
    let first = client.run_with(code, json!({"session": "new"}));
    output(&first);
    first["session"]["id"].as_str().unwrap().to_owned()
}

fn cell(client: &Client, session: &Value, code: &str) -> Value {
    client.run_with(code, json!({"session": session}))
}

fn value_of(result: &Value) -> &Value {
    &output(result)["result"]
}

/// Ends a server as a crash does.
fn kill(server: &TestServer) {
    server.process().kill();
    server.wait();
}

/// Changes the rows of sessions, as a loss of power can leave them.
fn change(data: &Path, statements: &str) {
    let script = "import sqlite3, sys\n\
                  rows = sqlite3.connect(sys.argv[1])\n\
                  rows.executescript(sys.argv[2])\n\
                  rows.close()";
    let changed = process::Command::new("python3")
        .args(["-c", script])
        .arg(data.join("sessions.db"))
        .arg(statements)
        .status();
    assert!(changed.unwrap().success());
}

/// The file of the state after a cell.
fn pack_of(data: &Path, cell: &str) -> PathBuf {
    let packs = fs::read_dir(data.join("sessions")).unwrap();
    let is_of_cell = |path: &PathBuf| {
        path.extension().is_some_and(|name| name.to_str().unwrap().starts_with(cell))
    };
    packs.map(|pack| pack.unwrap().path()).find(is_of_cell).unwrap()
}

#[test]
fn a_server_that_is_killed_after_an_answer_costs_no_state() {
    for sync in ["second", "always"] {
        let place = Command::new();
        let data = place.folder().join("data");
        let sync = format!("sessions.sync={sync}");
        let id = {
            let server = TestServer::start_on(&data, &["--set", &sync]);
            let client = server.client();
            let id = begin(&client, "import random\nx = [1]");
            cell(&client, &json!(id), "x.append(2)");
            kill(&server);
            json!(id)
        };
        let server = TestServer::start_on(&data, &["--set", &sync]);
        let client = server.client();
        assert_eq!(value_of(&cell(&client, &id, "x")), &json!([1, 2]), "{sync}");
    }
}

#[test]
fn a_session_goes_back_after_a_loss_of_power_and_its_next_caller_is_told() {
    let place = Command::new();
    let data = place.folder().join("data");
    let (id, first) = {
        let server = TestServer::start_on(&data, &[]);
        let client = server.client();
        let id = begin(&client, "x = 1");
        let first = cell(&client, &json!(id), "x")["session"]["checkpoint"].clone();
        cell(&client, &json!(id), "x = 2");
        kill(&server);
        (id, first)
    };
    // The third cell has its row, and half of its state.
    change(
        &data,
        "UPDATE session_lives SET boot = 'another'; \
         UPDATE session_packs SET is_settled = 0 WHERE checkpoint LIKE 'c3-%';",
    );
    let torn = pack_of(&data, "c3-");
    let content = fs::read(&torn).unwrap();
    fs::remove_file(&torn).unwrap();
    fs::write(&torn, &content[..content.len() / 2]).unwrap();

    let server = TestServer::start_on(&data, &[]);
    let client = server.client();
    let params = json!({"language": "python", "code": "x", "session": id});
    let told = client.refusal("run_code", params);
    assert_eq!(told.kind, "session_conflict", "{}", told.message);
    assert!(told.message.contains("lost its power"), "{}", told.message);
    assert!(told.message.contains(first.as_str().unwrap()), "{}", told.message);
    assert_eq!(value_of(&cell(&client, &json!(id), "x")), &json!(1));
    let cells = client.get(&format!("/v1/sessions/{id}/cells?after=1")).json();
    let states: Vec<&Value> =
        cells["cells"].as_array().unwrap().iter().map(|cell| &cell["state"]).collect();
    assert_eq!(states, ["kept", "rolled_back", "kept"]);
    let reason = cells["cells"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("lost its power"), "{reason}");
    assert!(cells["cells"][0].get("reason").is_none(), "{cells:#}");
    assert!(server.log().contains("undone checkpoint"), "{}", server.log());
}

#[test]
fn a_damaged_state_is_refused_by_its_name_and_the_operator_reads_of_it() {
    let place = Command::new();
    let data = place.folder().join("data");
    let id = {
        let server = TestServer::start_on(&data, &[]);
        begin(&server.client(), "x = 1")
    };
    let pack = pack_of(&data, "c1-");
    let mut content = fs::read(&pack).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(&pack, content).unwrap();

    let server = TestServer::start_on(&data, &[]);
    let params = json!({"language": "python", "code": "x", "session": id});
    let refused = server.client().refusal("run_code", params);
    assert_eq!(refused.kind, "session_damaged", "{}", refused.message);
    let line = server.wait_for_log("is damaged");
    assert!(line.contains("WARN") && line.contains(&id) && line.contains("c1-"), "{line}");
}

#[test]
fn a_start_without_the_database_of_its_states_is_refused_and_costs_nothing() {
    let place = Command::new();
    let data = place.folder().join("data");
    let id = {
        let server = TestServer::start_on(&data, &[]);
        begin(&server.client(), "x = 1")
    };
    let away = place.folder().join("away");
    fs::create_dir(&away).unwrap();
    let move_database = |from: &Path, to: &Path| {
        for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
            if entry.file_name().to_str().unwrap().starts_with("sessions.db") {
                fs::rename(entry.path(), to.join(entry.file_name())).unwrap();
            }
        }
    };
    move_database(&data, &away);
    let folder = data.to_str().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", folder];
    let refused = place.run(&serve);
    assert!(refused.code.is_some_and(|code| code != 0), "{}", refused.stderr);
    assert!(refused.stderr.contains("put the `sessions.db` back"), "{}", refused.stderr);
    fs::read_dir(&data).unwrap().for_each(|entry| {
        let entry = entry.unwrap();
        if entry.file_name().to_str().unwrap().starts_with("sessions.db") {
            fs::remove_file(entry.path()).unwrap();
        }
    });
    move_database(&away, &data);
    // Few states that the database does not know are those of a crash. Many are set aside.
    let pack = pack_of(&data, "c1-");
    let name = pack.file_name().unwrap().to_str().unwrap().to_owned();
    for cell in 2..=40 {
        fs::copy(&pack, pack.with_file_name(name.replace(".c1-", &format!(".c{cell}-")))).unwrap();
    }
    let server = TestServer::start_on(&data, &[]);
    assert_eq!(value_of(&cell(&server.client(), &json!(id), "x")), &json!(1));
    assert!(server.log().contains("39 states ("), "{}", server.log());
    assert_eq!(fs::read_dir(data.join("sessions/orphans")).unwrap().count(), 39);
}

#[test]
fn a_caller_that_knows_its_checkpoint_goes_on_after_a_loss_of_power() {
    let place = Command::new();
    let data = place.folder().join("data");
    let (known, ended) = {
        let server = TestServer::start_on(&data, &[]);
        let client = server.client();
        let first = client.run_with("x = 1", json!({"session": "new"}))["session"].clone();
        kill(&server);
        change(&data, "UPDATE session_lives SET boot = 'another'");
        let server = TestServer::start_on(&data, &[]);
        let second = server.client().run_with("x = 2", json!({"session": "new"}));
        (first, second["session"].clone())
    };
    let server = TestServer::start_on(&data, &[]);
    let client = server.client();
    let session = json!({"id": known["id"], "if_checkpoint": known["checkpoint"]});
    assert_eq!(value_of(&cell(&client, &session, "x")), &json!(1));
    // A server that has ended has lost nothing, whatever the machine does.
    assert_eq!(value_of(&cell(&client, &ended["id"], "x")), &json!(2));
}
