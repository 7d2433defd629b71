//! The files of a session over HTTP, and the commands for them.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Command, Reply, TestServer, eventually, output};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session of a server, whose files are called by raw requests.
struct Files<'a> {
    server: &'a TestServer,
    id: String,
}

impl<'a> Files<'a> {
    /// A session in which no cell has run.
    fn of_new(server: &'a TestServer) -> Self {
        let made = server.client().post_json("/v1/sessions", &json!({})).json();
        Self { server, id: made["id"].as_str().unwrap().to_owned() }
    }

    fn ask(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> Reply {
        let place = format!("/v1/sessions/{}/files{path}", self.id);
        let is_chunked = headers.contains("transfer-encoding");
        let length = format!("content-length: {}\r\n", body.len());
        let length = if is_chunked { "" } else { length.as_str() };
        let head = format!("{method} {place} HTTP/1.1\r\nhost: localhost\r\n{headers}{length}");
        let mut connection = self.server.connect();
        connection.send([head.as_bytes(), b"\r\n", body].concat());
        connection.reply()
    }

    fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "", b"")
    }

    /// Writes a file, and returns what is said of it.
    fn put(&self, path: &str, content: &[u8]) -> Value {
        let written = self.ask("PUT", path, "", content);
        assert!([200, 201].contains(&written.status), "{written:?}");
        written.json()
    }

    fn cell(&self, code: &str) -> Value {
        self.server.client().run_with(code, json!({"session": self.id}))
    }

    fn value(&self, code: &str) -> Value {
        output(&self.cell(code))["result"].clone()
    }

    fn shown(&self) -> Value {
        self.server.client().get(&format!("/v1/sessions/{}", self.id)).json()
    }

    /// Waits until a cell is running.
    fn until_running(&self) {
        eventually(PATIENCE, || self.shown()["run_id"].is_string().then_some(()));
    }

    fn interrupt(&self) {
        let path = format!("/v1/sessions/{}/interrupt", self.id);
        assert_eq!(self.server.client().post_json(&path, &json!({})).status, 202);
    }

    fn paths(&self, query: &str) -> Vec<Value> {
        let listed = self.get(query).json();
        listed["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect()
    }
}

/// The status and the kind of a refusal.
fn refused(reply: &Reply) -> (u16, String) {
    (reply.status, reply.kind())
}

#[test]
fn files_are_written_before_the_first_cell_and_read_after_it() {
    let server = TestServer::start(&[]);
    let files = Files::of_new(&server);
    assert_eq!(files.paths(""), Vec::<Value>::new());
    let written = files.put("/data/in.csv", b"a,b\n1,2\n");
    assert_eq!((&written["path"], &written["replaced"]), (&json!("data/in.csv"), &json!(false)));
    let session = &written["session"];
    assert_eq!((&session["cell"], &session["state"]), (&json!(1), &json!("kept")));
    assert_eq!(files.shown()["checkpoint"], session["checkpoint"]);
    let code = "import random\nrows = open('data/in.csv').read()\n\
                open('out.json', 'w').write('{}')\nrows";
    assert_eq!(files.value(code), "a,b\n1,2\n");
    assert_eq!(files.paths(""), ["data", "data/in.csv", "out.json"]);
    assert_eq!(files.paths("?folder=data"), ["data/in.csv"]);

    let read = files.get("/out.json");
    assert_eq!((read.status, read.body.as_slice()), (200, &b"{}"[..]));
    assert_eq!(read.header("content-type"), "application/json");
    assert_eq!(read.header("content-disposition"), "attachment; filename=\"out.json\"");
    assert_eq!(read.header("accept-ranges"), "bytes");
    assert_eq!(read.header("content-security-policy"), "sandbox; default-src 'none'");
    let tag = read.header("etag").to_owned();
    let part = files.ask("GET", "/data/in.csv", "range: bytes=4-6\r\n", b"");
    assert_eq!((part.status, part.body.as_slice()), (206, &b"1,2"[..]));
    assert_eq!(part.header("content-range"), "bytes 4-6/8");
    let known = files.ask("GET", "/out.json", &format!("if-none-match: {tag}\r\n"), b"");
    assert_eq!(known.status, 304);
    assert_eq!(files.ask("GET", "/out.json", "range: bytes=9-\r\n", b"").status, 416);

    let replaced = files.ask("PUT", "/out.json", "", b"[1]");
    assert_eq!((replaced.status, &replaced.json()["replaced"]), (200, &json!(true)));
    assert_eq!(files.value("open('out.json').read(), rows[:3]"), json!(["[1]", "a,b"]));
    let removed = files.ask("DELETE", "/out.json", "", b"");
    assert_eq!((removed.status, removed.json().get("size_bytes")), (200, None));
    let gone = "import os\nos.path.exists('out.json')";
    assert_eq!(files.value(gone), false);
}

#[test]
fn reads_change_nothing_and_leave_the_guest_warm() {
    let server = TestServer::start(&[]);
    let files = Files::of_new(&server);
    files.cell("x = 5\nopen('a', 'w').write('1')");
    let before = files.shown();
    assert_eq!(before["is_warm"], true);
    for _ in 0..3 {
        assert_eq!(files.get("/a").body, b"1");
        assert_eq!(files.paths(""), ["a"]);
    }
    assert_eq!(files.shown(), before, "no cell, no checkpoint, and the guest is kept");
    // A fork draws other numbers than its origin, also if its files were looked at or changed before.
    files.cell("import random\nrandom.random()");
    let path = format!("/v1/sessions/{}/fork", files.id);
    let forks = server.client().post_json(&path, &json!({"count": 2})).json();
    let drawn: Vec<Value> = [0_usize, 1]
        .into_iter()
        .map(|at| {
            let id = forks["forks"][at]["id"].as_str().unwrap().to_owned();
            let fork = Files { server: &server, id };
            assert_eq!(fork.get("/a").body, b"1");
            fork.put("/b", b"2");
            fork.value("random.random()")
        })
        .collect();
    assert_ne!(drawn[0], drawn[1]);
}

#[test]
fn the_state_of_a_write_survives_its_worker_and_can_be_taken_back() {
    let data = tempfile::tempdir().unwrap();
    let server = TestServer::start_on(data.path(), &[]);
    let files = Files::of_new(&server);
    files.cell("x = [1]");
    let before = files.shown()["checkpoint"].clone();
    files.put("/b", b"2");
    let id = files.id.clone();
    drop(server);
    let server = TestServer::start_on(data.path(), &[]);
    let files = Files { server: &server, id };
    assert_eq!(files.get("/b").body, b"2");
    assert_eq!(files.value("x + [open('b').read()]"), json!([1, "2"]));
    let restore = format!("/v1/sessions/{}/restore", files.id);
    server.client().post_json(&restore, &json!({"checkpoint": before}));
    assert_eq!(refused(&files.get("/b")), (404, "file_not_found".to_owned()));
    let cells = server.client().get(&format!("/v1/sessions/{}/cells", files.id)).json();
    assert_eq!(cells["cells"][1]["source"], "# wrote b (1 bytes)", "{cells:#}");
}

#[test]
fn wrong_orders_are_refused_and_change_nothing() {
    let server = TestServer::start(&[]);
    let files = Files::of_new(&server);
    files.cell("import os\nos.mkdir('d')\nopen('d/f', 'w').write('1')\nos.symlink('/skills', 's')");
    let at = files.shown()["checkpoint"].as_str().unwrap().to_owned();
    let of = |status: u16, kind: &str| (status, kind.to_owned());
    assert_eq!(refused(&files.get("/none")), of(404, "file_not_found"));
    assert_eq!(refused(&files.get("/s/x")), of(404, "file_not_found"));
    assert_eq!(refused(&files.get("/d")), of(400, "invalid_params"));
    assert_eq!(refused(&files.get("/d/%2e%2e/x")), of(400, "invalid_params"));
    assert_eq!(refused(&files.get("?limit=0")), of(400, "invalid_params"));
    assert_eq!(refused(&files.get("?folder=none")), of(404, "file_not_found"));
    assert_eq!(refused(&files.ask("DELETE", "/d", "", b"")), of(400, "invalid_params"));
    assert_eq!(refused(&files.ask("DELETE", "/none", "", b"")), of(404, "file_not_found"));
    assert_eq!(refused(&files.ask("PUT", "/d", "", b"x")), of(400, "invalid_params"));
    assert_eq!(refused(&files.ask("PUT", "/d/f/x", "", b"x")), of(400, "invalid_params"));
    assert_eq!(refused(&files.ask("PUT", "/s/x", "", b"x")), of(404, "file_not_found"));
    assert_eq!(refused(&files.ask("PUT", "/a%5Cb", "", b"x")), of(400, "invalid_params"));
    let chunked = files.ask("PUT", "/x", "transfer-encoding: chunked\r\n", b"1\r\nx\r\n0\r\n\r\n");
    assert_eq!(chunked.status, 411);
    let elsewhere = "c9-0011223344556677";
    let moved = files.ask("PUT", &format!("/x?if_checkpoint={elsewhere}"), "", b"x");
    assert_eq!(refused(&moved), of(409, "session_conflict"));
    let moved = files.ask("DELETE", "/d/f", &format!("if-match: \"{elsewhere}\"\r\n"), b"");
    assert_eq!(refused(&moved), of(409, "session_conflict"));
    // A condition that nobody looks at would be a file that is overwritten against its writer's will.
    for condition in ["if-none-match: *", "if-unmodified-since: Thu, 01 Jan 2026 00:00:00 GMT"] {
        let conditional = files.ask("PUT", "/d/f", &format!("{condition}\r\n"), b"x");
        assert_eq!(refused(&conditional), of(400, "invalid_request"), "{condition}");
    }
    let tag = files.get("/d/f").header("etag").to_owned();
    for condition in [format!("W/\"{at}\""), tag, "*".to_owned()] {
        let conditional = files.ask("PUT", "/d/f", &format!("if-match: {condition}\r\n"), b"x");
        assert_eq!(refused(&conditional), of(400, "invalid_request"), "{condition}");
        let message = conditional.json()["error"]["message"].to_string();
        assert!(message.contains("checkpoint"), "{message}");
    }
    assert_eq!(files.shown()["checkpoint"], at);
    assert_eq!(files.paths(""), ["d", "d/f", "s"]);
    let tagged = files.ask("PUT", "/x", &format!("if-match: \"{at}\"\r\n"), b"x");
    assert_eq!(tagged.status, 201, "{tagged:?}");
}

#[test]
fn a_change_that_is_refused_leaves_no_cell_and_the_interpreter_as_it_was() {
    let server = TestServer::start(&[]);
    let files = Files::of_new(&server);
    files.cell(
        "import os, random\nopen('f', 'w').write('1')\nos.symlink('none/x', 'loose')\nrandom.seed(7)",
    );
    let before = files.shown();
    assert_eq!(before["is_warm"], true);
    let not_found = (404, "file_not_found".to_owned());
    assert_eq!(refused(&files.ask("DELETE", "/none", "", b"")), not_found);
    let misfit = (400, "invalid_params".to_owned());
    assert_eq!(refused(&files.ask("PUT", "/f/x", "", b"x")), misfit);
    let loose = files.ask("PUT", "/loose", "", b"x");
    assert_eq!(refused(&loose), not_found);
    let message = loose.json()["error"]["message"].to_string();
    assert!(message.contains("a link to a place whose folder does not exist"), "{message}");
    assert_eq!(files.shown(), before, "no cell, and the guest is kept");
    let drawn = files.cell("random.random()");
    assert_eq!(output(&drawn)["result"], 0.323_832_764_833_162_37, "it was reseeded");
    assert_eq!(drawn["session"]["cell"], 2);
}

#[test]
fn only_whole_writes_are_kept_within_the_bounds_of_a_session() {
    let server = TestServer::start(&[]);
    let made = json!({"limits": {"workspace_bytes": 65_536}});
    let made = server.client().post_json("/v1/sessions", &made).json();
    let files = Files { server: &server, id: made["id"].as_str().unwrap().to_owned() };
    let large = files.ask("PUT", "/a", "", &vec![7; 70_000]);
    assert_eq!(refused(&large), (413, "too_large".to_owned()));
    files.put("/a", &vec![7; 40_000]);
    let full = files.ask("PUT", "/b", "", &vec![7; 40_000]);
    assert_eq!(refused(&full), (507, "quota_exceeded".to_owned()));
    assert_eq!(files.paths(""), ["a"], "nothing is left of it");

    let waiting = files.cell("await ainput('?')");
    assert_eq!(waiting["status"], "waiting");
    for reply in [files.get(""), files.get("/a"), files.ask("PUT", "/c", "", b"x")] {
        assert_eq!(refused(&reply), (409, "session_busy".to_owned()));
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("waits for its caller"), "{message}");
    }
    let abandon = json!({"session": files.id, "abandon": true});
    server.client().run_with("", abandon);
    assert_eq!(files.get("/a").body.len(), 40_000);
}

#[test]
fn what_waits_for_its_session_holds_no_transfer_and_a_part_of_the_memory() {
    let set = ["--set", "http.max_transfers=1", "--set", "http.memory=64 MiB"];
    let server = TestServer::start(&set);
    let (busy, free) = (Files::of_new(&server), Files::of_new(&server));
    busy.put("/a", b"1");
    free.put("/a", b"2");
    thread::scope(|scope| {
        let running = scope.spawn(|| busy.cell("while True: pass"));
        busy.until_running();
        let read = scope.spawn(|| busy.ask("GET", "/a?wait_ms=60000", "", b""));
        let write = scope.spawn(|| busy.ask("PUT", "/b?wait_ms=60000", "", &vec![7; 1 << 20]));
        // They wait by then, on any machine that can run the tests.
        thread::park_timeout(Duration::from_secs(1));
        // An eighth of the memory is what may wait.
        let large = busy.ask("PUT", "/c?wait_ms=60000", "", &vec![7; 12 << 20]);
        assert_eq!(refused(&large), (409, "session_busy".to_owned()));
        let message = large.json()["error"]["message"].to_string();
        assert!(message.contains("cannot wait"), "{message}");
        for _ in 0..2 {
            // The last answer may still be on its way out of the server.
            eventually(PATIENCE, || (free.get("/a").body == b"2").then_some(()));
            free.put("/b", &vec![8; 12 << 20]);
        }
        assert!(!read.is_finished() && !write.is_finished());
        busy.interrupt();
        running.join().unwrap();
        assert_eq!(read.join().unwrap().body, b"1");
        assert_eq!(write.join().unwrap().status, 201);
    });
    assert_eq!(busy.get("/b").body, vec![7; 1 << 20]);
}

#[test]
fn commands_list_get_and_put_files() {
    let (server, place) = (TestServer::start(&[]), Command::new());
    let files = Files::of_new(&server);
    let url = format!("http://{}", server.address);
    let at = |arguments: &[&str], input: &str| {
        let arguments = [&["sessions"][..], arguments, &["--server", &url]].concat();
        place.run_with_input(&arguments, input)
    };
    let local = place.file("in.txt", "content");
    let put = at(&["put", &files.id, local.to_str().unwrap(), "--json"], "").with(0).json();
    assert_eq!((&put["path"], &put["size_bytes"]), (&json!("in.txt"), &json!(7)));
    let typed = at(&["put", &files.id, "-", "/workspace/d/typed"], "from input").with(0);
    assert!(typed.stdout.contains("d/typed: 10 bytes written"), "{}", typed.stdout);
    let listed = at(&["files", &files.id, "--json"], "").with(0).json();
    let paths: Vec<&Value> =
        listed["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(paths, ["d", "d/typed", "in.txt"]);
    let table = at(&["files", &files.id, "d"], "").with(0).stdout;
    assert!(table.contains("d/typed") && !table.contains("in.txt"), "{table}");
    assert_eq!(at(&["get", &files.id, "d/typed"], "").with(0).stdout, "from input");
    let copy = place.folder().join("copy");
    at(&["get", &files.id, "in.txt", "-o", copy.to_str().unwrap()], "").with(0);
    assert_eq!(std::fs::read(copy).unwrap(), b"content");
    let none = at(&["get", &files.id, "none"], "").with(2);
    assert!(none.stderr.contains("no file `none`"), "{}", none.stderr);
    let checkpoint = put["session"]["checkpoint"].as_str().unwrap();
    let late = ["put", &files.id, "-", "x", "--if-checkpoint", checkpoint];
    assert!(at(&late, "x").with(2).stderr.contains("moved on"));
}
