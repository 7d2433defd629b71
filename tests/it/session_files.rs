//! The files of a session over HTTP, and the commands for them.

use serde_json::{Value, json};

use crate::support::{Command, Reply, TestServer, output};

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
    // A tag that is no checkpoint says what the condition names.
    let tag = files.get("/d/f").header("etag").to_owned();
    for (tag, expected) in [
        (tag, "names the checkpoint"),
        (format!("W/\"{at}\""), "without `W/`"),
        ("*".to_owned(), "one checkpoint"),
    ] {
        let conditional = files.ask("PUT", "/d/f", &format!("if-match: {tag}\r\n"), b"x");
        assert_eq!(refused(&conditional), of(400, "invalid_request"), "{tag}");
        let message = conditional.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(files.shown()["checkpoint"], at);
    assert_eq!(files.paths(""), ["d", "d/f", "s"]);
    let tagged = files.ask("PUT", "/x", &format!("if-match: \"{at}\"\r\n"), b"x");
    assert_eq!(tagged.status, 201, "{tagged:?}");
}

#[test]
fn refused_changes_leave_nothing_and_the_guest_stays_warm() {
    let server = TestServer::start(&[]);
    let limits = json!({"limits": {"workspace_bytes": 65_536}});
    let drawn = [false, true].map(|is_refused| {
        let made = server.client().post_json("/v1/sessions", &limits).json();
        let files = Files { server: &server, id: made["id"].as_str().unwrap().to_owned() };
        let code = "import os, random\nrandom.seed(7)\nopen('f', 'w').write('1' * 1000)\n\
                    os.symlink('nowhere/x', 'dangling')\nos.mkdir('d')";
        files.cell(code);
        let cells = || server.client().get(&format!("/v1/sessions/{}/cells", files.id)).json();
        let before = (files.shown(), cells());
        assert_eq!(before.0["is_warm"], true);
        if is_refused {
            let of = |status: u16, kind: &str| (status, kind.to_owned());
            for _ in 0..2 {
                let gone = files.ask("DELETE", "/nothing", "", b"");
                assert_eq!(refused(&gone), of(404, "file_not_found"));
                let folder = files.ask("PUT", "/d", "", b"x");
                assert_eq!(refused(&folder), of(400, "invalid_params"));
                let full = files.ask("PUT", "/new/er/g", "", &vec![7; 65_500]);
                assert_eq!(refused(&full), of(507, "quota_exceeded"));
                let dangling = files.ask("PUT", "/dangling", "", b"x");
                assert_eq!(refused(&dangling), of(400, "invalid_params"));
                let message = dangling.json()["error"]["message"].as_str().unwrap().to_owned();
                assert!(message.contains("`dangling` leads through a link"), "{message}");
                assert_eq!((files.shown(), cells()), before, "something is left of it");
            }
        }
        let next = files.cell("random.random()");
        assert_eq!(next["session"]["cell"], 2, "{next:#}");
        output(&next)["result"].clone()
    });
    assert_eq!(drawn[0], drawn[1], "the program draws other numbers");
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
