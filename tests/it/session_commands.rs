//! `wardian sessions` and `wardian repl` beside a running server.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Command, Ended, TestServer, Watched, contained, eventually};

/// Types a command that calls the server.
fn at(place: &Command, server: &TestServer, arguments: &[&str], input: &str) -> Ended {
    let url = format!("http://{}", server.address);
    place.run_with_input(&[arguments, &["--server", &url]].concat(), input)
}

/// The id of the session that a prompt has kept.
fn kept_id(ended: &Ended) -> String {
    let (_, rest) = ended.stderr.split_once("session ses_").unwrap();
    format!("ses_{}", rest.split(' ').next().unwrap())
}

/// The sessions of the server.
fn listed(place: &Command, server: &TestServer) -> Vec<Value> {
    let list = at(place, server, &["sessions", "list", "--json"], "").with(0).json();
    list.as_array().unwrap().clone()
}

#[test]
fn blocks_of_a_pipe_share_their_variables() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let script = "x = 6\nx * 7\ndef double(n):\n    print('doubling')\n\n    return 2 * n\n\n\
                  double(x)\nNone\n";
    let ended = at(&place, &server, &["repl"], script).with(0);
    assert_eq!(ended.stdout, "42\ndoubling\n12\n");
    assert_eq!(listed(&place, &server), Vec::<Value>::new(), "the session is closed");
}

#[test]
fn the_last_cell_decides_the_exit_code() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let failed = at(&place, &server, &["repl"], "print('before')\n1 / 0\n").with(1);
    assert_eq!(failed.stdout, "before\n");
    let wanted = ["<cell 2>", "ZeroDivisionError: division by zero"];
    assert!(contained(&failed.stderr, wanted).is_empty(), "{}", failed.stderr);
    assert_eq!(failed.stderr.matches("ZeroDivisionError").count(), 1, "{}", failed.stderr);
    at(&place, &server, &["repl"], "1 / 0\n'good'\n").with(0);
    at(&place, &server, &["repl"], "").with(0);
}

#[test]
fn a_cell_that_asks_gets_the_next_line() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let script = "name = input('Name? ')\nAda\nname.upper()\ninput()\n";
    let ended = at(&place, &server, &["repl"], script).with(1);
    assert_eq!(ended.stdout, "\"ADA\"\n");
    assert!(ended.stderr.contains("EOFError: EOF when reading a line"), "{}", ended.stderr);
}

#[test]
fn sessions_are_kept_continued_and_controlled() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let kept = at(&place, &server, &["repl", "--keep"], "x = 1\n").with(0);
    let id = kept_id(&kept);
    let again = at(&place, &server, &["repl", "--session", &id], "x += 1\nx\n").with(0);
    assert_eq!((again.stdout.as_str(), kept_id(&again)), ("2\n", id.clone()));

    let shown = at(&place, &server, &["sessions", "show", &id, "--json"], "").with(0).json();
    let cells = shown["cells"].as_array().unwrap();
    let sources: Vec<&Value> = cells.iter().map(|cell| &cell["source"]).collect();
    assert_eq!(sources, ["x = 1", "x += 1", "x"]);
    let first = shown["session"]["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .find(|checkpoint| checkpoint["cell"] == 1)
        .unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let text = at(&place, &server, &["sessions", "show", &id], "").with(0).stdout;
    let wanted = [id.as_str(), "x += 1", &first];
    assert!(contained(&text, wanted).is_empty(), "{text}");

    let forked = ["sessions", "fork", &id, "--checkpoint", &first, "--count", "2"];
    let forked = at(&place, &server, &forked, "").with(0).stdout;
    let forks: Vec<&str> = forked.lines().collect();
    assert_eq!(forks.len(), 2);
    for fork in &forks {
        let ended = at(&place, &server, &["repl", "--session", fork], "x\n").with(0);
        assert_eq!(ended.stdout, "1\n");
    }

    at(&place, &server, &["sessions", "restore", &id, &first], "").with(0);
    let back = at(&place, &server, &["repl", "--session", &id], "x\n").with(0);
    assert_eq!(back.stdout, "1\n");
    let refused = at(&place, &server, &["sessions", "restore", &id, "unknown"], "").with(2);
    assert!(refused.stderr.contains("no checkpoint with the id or name `unknown`"), "{refused:?}");

    let notebook = ["sessions", "notebook", &id, "-o", "a.ipynb"];
    at(&place, &server, &notebook, "").with(0);
    let written = fs::read(place.folder().join("a.ipynb")).unwrap();
    let written: Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(written["nbformat"], json!(4));

    let table = at(&place, &server, &["sessions", "list"], "").with(0).stdout;
    assert!(table.contains(&id) && table.contains("wardian repl"), "{table}");
    at(&place, &server, &["sessions", "close", &id, forks[0], forks[1]], "").with(0);
    assert_eq!(listed(&place, &server), Vec::<Value>::new());
    let gone = at(&place, &server, &["sessions", "close", &id], "").with(2);
    assert!(gone.stderr.contains("does not exist"), "{}", gone.stderr);
    at(&place, &server, &["repl", "--session", &id], "x\n").with(2);
}

#[test]
fn control_c_interrupts_the_cell_and_keeps_its_effects() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let url = format!("http://{}", server.address);
    let mut child = place
        .process(&["repl", "--keep", "--server", &url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"import time\ny = 1; time.sleep(250)\n").unwrap();
    let id = eventually(Duration::from_secs(120), || {
        let sessions = listed(&place, &server);
        let id = sessions.first()?["id"].as_str()?.to_owned();
        let shown = at(&place, &server, &["sessions", "show", &id, "--json"], "").json();
        let last = shown["cells"].as_array()?.last()?.clone();
        (last["number"] == 2 && last["state"] == "running").then_some(id)
    });
    Watched::of(child.id()).unwrap().interrupt();
    // It ends although its input goes on.
    let ended = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(ended.status.code(), Some(130));
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(told.contains("KeyboardInterrupt"), "{told}");
    let after = at(&place, &server, &["repl", "--session", &id], "y\n").with(0);
    assert_eq!(after.stdout, "1\n");
}

#[test]
fn a_server_that_is_not_there_is_told_with_advice() {
    let place = Command::new();
    for arguments in [&["repl"][..], &["sessions", "list"]] {
        let nowhere = [&["--set", "listen=127.0.0.1:1"][..], arguments].concat();
        let failed = place.run(&nowhere).with(3).stderr;
        let wanted = ["http://127.0.0.1:1", "`wardian serve` starts a server"];
        assert!(contained(&failed, wanted).is_empty(), "{failed}");
    }
    place.run(&["sessions", "show", "../runs"]).with(2);
    place.run(&["sessions", "fork", "ses_x", "--count", "17"]).with(2);
}
