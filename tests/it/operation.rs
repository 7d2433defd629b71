//! Operation: starts that are refused, a second server, settings that change while a server runs,
//! and clients that keep many connections.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use serde_json::json;

use crate::support::cache::untouched_script;
use crate::support::{
    Command, Connection, SkillFolder, TestServer, contained, eventually, make_pipe,
};

const HEADERS: &str = "Host: localhost\r\nContent-Type: application/json\r\n";
const GUIDE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"load_skills_protocol_guide"}"#;
const PATIENCE: Duration = Duration::from_secs(60);

/// Types `wardian serve` on a free port; it must be refused with one line and exit code 2.
fn refused(place: &Command, arguments: &[&str], says: &[&str]) {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
    let ended = place.run(&arguments).with(2);
    let missing = contained(&ended.stderr, says.iter().copied());
    assert!(missing.is_empty(), "{arguments:?}: {missing:?}: {}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{arguments:?}: {}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}

/// `scripts/restart-torture` in short.
#[test]
fn nothing_acknowledged_is_lost_when_a_loaded_server_is_killed() {
    let rounds = ["--json", "--rounds", "3", "--blobs", "1000", "--records", "2000"];
    let folder = tempfile::tempdir().unwrap();
    let ended =
        untouched_script("scripts/restart-torture", folder.path()).args(rounds).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    let summary: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&summary["rounds"], &summary["problems"]), (&json!(3), &json!(0)));
    for kind in ["blobs", "runs", "keys"] {
        assert!(summary["acknowledged"][kind].as_u64() > Some(0), "{said}");
    }
    let late = summary["runs_without_promise"].as_u64();
    assert!(summary["acknowledged"]["runs"].as_u64() > late, "{said}");
}

#[test]
fn one_server_uses_a_data_folder_and_a_killed_one_leaves_no_lock() {
    let place = Command::new();
    let data = place.folder().join("shared");
    let server = TestServer::start_on(&data, &[]);
    let stored = server.client().call("create_blob", json!({"content": "x", "kind": "text/plain"}));
    let blob = stored.unwrap()["blob_id"].as_str().unwrap().to_owned();
    let process = format!("(process {})", server.process().id);
    let folder = data.to_str().unwrap();
    // Its blobs may lie elsewhere: it is the same data folder.
    let elsewhere = format!("blobs.folder={}", place.folder().join("blobs").display());
    for more in [&[][..], &["--set", &elsewhere][..]] {
        let arguments = [&["--data-dir", folder], more].concat();
        refused(&place, &arguments, &["another server", &process, folder, "--data-dir"]);
    }
    assert!(!exists(&place.folder().join("blobs")), "nothing is changed");

    // Commands are no servers.
    let listed = place.run(&["--data-dir", folder, "blobs", "list"]).with(0);
    assert!(listed.stdout.contains(&blob), "{}", listed.stdout);
    let run = place.run(&["--data-dir", folder, "run", "-c", "print(7)"]).with(0);
    assert_eq!(run.stdout, "7\n");

    server.process().kill();
    server.wait();
    let again = TestServer::start_on(&data, &[]);
    assert_eq!(again.client().call("read_blob", json!({"blob_id": blob})).unwrap()["content"], "x");
}

#[test]
fn two_servers_do_not_share_a_blob_store() {
    let place = Command::new();
    let store = place.folder().join("blobs");
    let setting = format!("blobs.folder={}", store.display());
    let _server = TestServer::start(&["--set", &setting]);
    refused(&place, &["--set", &setting], &["using the blob store", "blobs.folder"]);
}

#[test]
fn an_address_that_cannot_be_listened_on_is_refused_and_nothing_is_changed() {
    let place = Command::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let says = [&address, "Address already in use", "another program", "--listen"];
    let ended = place.run(&["serve", "--listen", &address]).with(2);
    assert!(contained(&ended.stderr, says).is_empty(), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    // An address for documentation, which no machine has.
    let beyond = ["serve", "--listen", "192.0.2.1:0", "--set", "auth.mode=proxy"];
    let ended = place.run(&beyond).with(2);
    let says = ["192.0.2.1:0", "this machine has no such address"];
    assert!(contained(&ended.stderr, says).is_empty(), "{}", ended.stderr);
    assert!(!exists(&place.folder().join("data")));
}

#[test]
fn folders_that_cannot_be_used_are_refused_with_advice() {
    let place = Command::new();
    let file = place.file("file", "content");
    let below = file.join("below");
    let below = below.to_str().unwrap();
    let set = |key: &str| format!("{key}={below}");
    refused(&place, &["--data-dir", below], &["data folder", below, "`data_dir`", "user "]);
    refused(&place, &["--set", &set("blobs.folder")], &["blob store", below, "`blobs.folder`"]);
    refused(&place, &["--cache-dir", below], &["cache folder", below, "`cache_dir`"]);
    refused(&place, &["--skills", below], &["folder of skills", below, "`skills.roots`"]);
    // Nothing was made before the mistake was found.
    assert!(!exists(&place.folder().join("data")) && !exists(&place.folder().join("cache")));
    // A file system to which nobody can write.
    refused(&place, &["--data-dir", "/proc/wardian"], &["data folder `/proc/wardian`"]);
    assert_eq!(fs::read_to_string(file).unwrap(), "content");
}

/// A server with a configuration file of its own.
struct Configured {
    place: Command,
    server: TestServer,
}

impl Configured {
    fn start(text: &str) -> Self {
        Self::start_with(text, &[])
    }

    fn start_with(text: &str, more: &[&str]) -> Self {
        let place = Command::new();
        let file = place.file("wardian.toml", text);
        let arguments = [&["--config", file.to_str().unwrap()], more].concat();
        Self { server: TestServer::start(&arguments), place }
    }

    /// Writes the file as editors do: beside the old one, then in its place.
    fn write(&self, text: &str) {
        let draft = self.place.file("draft", text);
        fs::rename(draft, self.place.folder().join("wardian.toml")).unwrap();
    }

    /// True if the server closes an idle connection soon.
    fn closes_idle_connections(&self) -> bool {
        let mut connection = self.server.connect();
        assert_eq!(connection.post(HEADERS, GUIDE).status, 200);
        connection.ends_within(Duration::from_secs(3))
    }
}

#[test]
fn settings_that_can_change_apply_when_the_file_changes() {
    let configured = Configured::start("[http]\nidle_timeout = \"1 h\"\n");
    let server = &configured.server;
    let mut before = server.connect();
    assert_eq!(before.post(HEADERS, GUIDE).status, 200);
    assert!(!configured.closes_idle_connections());

    configured.write("[http]\nidle_timeout = \"200 ms\"\n");
    server.wait_for_log("`http.idle_timeout` is now \"200 ms\"");
    assert!(configured.closes_idle_connections());
    assert_eq!(before.post(HEADERS, GUIDE).status, 200, "old connections are not disturbed");

    configured.write("[http]\nidle_timeout = \"200 ms\"\n[log]\nlevel = \"debug\"\n");
    server.wait_for_log("`log.level` is now \"debug\"");
    let foreign = server.connect().post("Host: evil.example\r\n", "");
    assert_eq!(foreign.status, 403);
    server.wait_for_log("DEBUG request refused: this host name is not allowed");
}

/// Whoever waits for a line about a setting acts on it at once.
#[test]
fn a_setting_applies_before_the_log_says_so() {
    let configured = Configured::start("[http]\nidle_timeout = \"1 h\"\n");
    let server = &configured.server;
    // The line about these is longer than what a pipe and its reader take. So the server waits for
    // the reader after its first line, and everything that is done after all lines is not done yet.
    let networks: Vec<String> =
        (0..20_000).map(|n| format!("\"10.{}.{}.1/32\"", n >> 8, n & 255)).collect();
    let first = "`http.max_connections_per_address` is now 9";
    server.hold_log_behind(first);
    configured.write(&format!(
        "[http]\nidle_timeout = \"200 ms\"\nmax_connections_per_address = 9\n\
         unlimited_addresses = [{}]\n",
        networks.join(", ")
    ));
    server.wait_for_log(first);
    assert!(configured.closes_idle_connections());
    assert!(!server.log().contains("`http.idle_timeout` is"), "the server waits for the reader");
    server.let_log_go();
    server.wait_for_log("`http.idle_timeout` is now \"200 ms\"");
}

#[test]
fn kept_configuration_when_the_file_is_wrong_and_told_in_one_line() {
    let configured = Configured::start("[http]\nidle_timeout = \"1 h\"\n");
    let server = &configured.server;
    for (text, says) in [
        (
            "[http]\nidle_timout = 1\nmax_body = 2",
            "wardian.toml:2: `http.idle_timout` is not a setting",
        ),
        ("[http\n", "is not TOML"),
        ("[http]\nidle_timeout = \"1 y\"\n", "`http.idle_timeout` must be a time"),
        (
            "[http]\nidle_timeout = 30\n",
            "`http.idle_timeout` must have a unit: \"30 s\" for seconds",
        ),
        ("[http.tls]\nkey = \"x\"\n", "`http.tls.key` is set and"),
    ] {
        configured.write(text);
        let line = server.wait_for_log(says);
        assert!(line.contains("WARN the configuration is kept: "), "{line}");
    }
    // The line with the mistake is not shown.
    configured.write("[network]\nproxy = \"http://user:hunter2secret@proxy.example:3128\n");
    let line = server.wait_for_log("is not TOML: line 2, column");
    assert!(!server.log().contains("hunter2secret"), "{line}");
    // A pipe in the place of the file is not waited for.
    let file = configured.place.folder().join("wardian.toml");
    fs::remove_file(&file).unwrap();
    make_pipe(&file);
    server.wait_for_log("cannot be read: it is not a regular file");
    fs::remove_file(&file).unwrap();
    configured.write("[http]\nidle_timout = 1\nmax_body = 2");
    // Two mistakes are one line.
    let line = server.wait_for_log("is not a setting");
    assert!(line.contains("`http.max_body` must be between"), "{line}");
    fs::remove_file(configured.place.folder().join("wardian.toml")).unwrap();
    server.wait_for_log("cannot be read: No such file");
    assert!(!configured.closes_idle_connections());
    configured.write("[http]\nidle_timeout = \"200 ms\"\n");
    server.wait_for_log("`http.idle_timeout` is now \"200 ms\"");
}

#[test]
fn settings_that_need_a_restart_are_told_and_have_no_effect() {
    let configured = Configured::start("[http]\nmax_batch = 2\n");
    let server = &configured.server;
    configured.write("[http]\nmax_batch = 3\n[workers]\nqueue = 1\n");
    let line = server.wait_for_log("require a restart of the server");
    assert!(line.contains("`http.max_batch`, `workers.queue`"), "{line}");
    let batch = format!("[{GUIDE},{GUIDE},{GUIDE}]");
    let reply = server.connect().post(HEADERS, batch);
    assert_eq!(reply.json()["error"]["data"]["kind"], "invalid_request", "{reply:?}");
    // The command line wins over the file, also when the file is read again.
    let fixed = Configured::start_with("", &["--set", "http.idle_timeout=1 h"]);
    fixed.write("[http]\nidle_timeout = \"200 ms\"\nheader_timeout = \"9 s\"\n");
    fixed.server.wait_for_log("`http.header_timeout` is now \"9 s\"");
    assert!(!fixed.closes_idle_connections());
    assert!(!fixed.server.log().contains("`http.idle_timeout` is"), "{}", fixed.server.log());
}

#[test]
fn a_hangup_reads_everything_again_and_ends_nothing() {
    let skills = SkillFolder::new();
    skills.action("a.first", "1.0.0", "def main(args):\n    return 1\n");
    let configured = Configured::start_with(
        "",
        // A remote file system, as far as the server can tell: it is polled now and then.
        &["--skills", skills.path(), "--set", "skills.max_watches=0"],
    );
    let server = &configured.server;
    server.process().hang_up();
    server.wait_for_log("SIGHUP: reading the configuration, the certificate and the skills again");
    server.wait_for_log("the configuration has not changed");
    skills.action("a.second", "1.0.0", "def main(args):\n    return 2\n");
    configured.write("[http]\ndrain_timeout = \"9 s\"\n");
    server.process().hang_up();
    server.wait_for_log("`http.drain_timeout` is now \"9 s\"");
    let call = || server.client().call("execute_skill", json!({"name": "a.second", "args": {}}));
    eventually(PATIENCE, || call().ok());
}

#[test]
fn a_hangup_during_the_start_ends_nothing() {
    let place = Command::new();
    let script = place.file("python3", "#!/bin/sh\nwhile [ -e \"$0\" ]; do sleep 0.1; done\n");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server = TestServer::start_unready(&[
        "--cache-dir",
        place.folder().join("cache").to_str().unwrap(),
        "--set",
        &format!("engine.python={}", script.display()),
    ]);
    server.process().hang_up();
    server.wait_for_log("the configuration has not changed");
    assert_eq!(server.client().get("/healthz").status, 200);
}

/// A connection from this address of the machine.
fn connect_from(address: Ipv4Addr, server: &TestServer) -> Connection {
    let made = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&made, &SocketAddrV4::new(address, 0)).unwrap();
    connect(&made, &server.address.parse::<SocketAddr>().unwrap()).unwrap();
    Connection::over(TcpStream::from(made))
}

const ONE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// Begins a request whose body does not come. The server waits for it when this returns.
fn begin_upload(connection: &mut Connection) {
    let head = format!("POST /rpc HTTP/1.1\r\n{HEADERS}Content-Length: 10\r\n");
    connection.send(format!("{head}Expect: 100-continue\r\n\r\n"));
    assert_eq!(connection.head().status, 100);
    connection.send("{");
}

#[test]
fn share_of_connections_of_one_address_leaves_the_rest_to_others() {
    let server = TestServer::start(&[
        "--set",
        "http.unlimited_addresses=",
        "--set",
        "http.max_connections=8",
        "--set",
        "http.max_connections_per_address=4",
    ]);
    // Slow bodies keep connections busy; they are all that the address gets.
    let mut slow: Vec<Connection> = (0..4).map(|_| connect_from(ONE, &server)).collect();
    slow.iter_mut().for_each(begin_upload);
    let start = Instant::now();
    let refused = || connect_from(ONE, &server).ends_within(Duration::from_secs(1));
    eventually(PATIENCE, || refused().then_some(()));
    assert!(start.elapsed() < Duration::from_secs(20), "before the slow bodies time out");
    server.wait_for_log("reached `http.max_connections_per_address` with busy connections");
    // Another address has its own share.
    for _ in 0..20 {
        let reply = connect_from(OTHER, &server).post(HEADERS, GUIDE);
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    // When one of them is done, the address gets another.
    drop(slow.pop());
    eventually(PATIENCE, || (!refused()).then_some(()));
}

#[test]
fn idle_connections_of_an_address_make_room_for_its_new_ones() {
    let server = TestServer::start(&[
        "--set",
        "http.unlimited_addresses=",
        "--set",
        "http.max_connections_per_address=3",
    ]);
    let mut other = connect_from(OTHER, &server);
    assert_eq!(other.post(HEADERS, GUIDE).status, 200);
    let mut all: Vec<Connection> = (0..3).map(|_| connect_from(ONE, &server)).collect();
    // A connection is idle shortly after its answer has arrived: the server notes it in a task of its own.
    let pause = || std::thread::park_timeout(Duration::from_millis(100));
    for connection in &mut all {
        assert_eq!(connection.post(HEADERS, GUIDE).status, 200);
        pause();
    }
    for longest_idle in 0..3 {
        let mut new = connect_from(ONE, &server);
        assert_eq!(new.post(HEADERS, GUIDE).status, 200);
        pause();
        assert_eq!(all[longest_idle].rest(), b"", "{longest_idle}");
        all.push(new);
    }
    assert_eq!(other.post(HEADERS, GUIDE).status, 200, "the idle one of another is kept");
}

#[test]
fn loopback_has_no_share_unless_an_operator_wants_one() {
    let server = TestServer::start(&["--set", "http.max_connections_per_address=1"]);
    let mut many: Vec<Connection> = (0..20).map(|_| server.connect()).collect();
    many.iter_mut().for_each(begin_upload);
    for connection in &mut many {
        connection.send("         ");
        assert_eq!(connection.reply().status, 200);
    }
}

#[test]
fn fuel_compiles_nothing_where_the_operator_forbids_it() {
    // The cache of whoever runs the tests, without the code that counts fuel.
    let place = Command::new();
    let info = place.run(&["engine", "info", "--json"]).with(0).json();
    let from = Path::new(info["cache_folder"].as_str().unwrap());
    let cache = place.folder().join("cache");
    for file in info["files"].as_array().unwrap() {
        let path = Path::new(file["path"].as_str().unwrap());
        let place = path.strip_prefix(from).unwrap();
        let is_wanted = place.starts_with("engine") || place.starts_with("native");
        if file["is_used"] == true && is_wanted && !path.ends_with("metered.cwasm") {
            copy(path, &cache.join(place));
        }
    }
    private(&cache);
    let cache = cache.to_str().unwrap();
    let never = "engine.compile_metered=never";
    let server = TestServer::start(&["--cache-dir", cache, "--set", never]);
    let client = server.client();
    let fuel = json!({"language": "python", "code": "1", "limits": {"fuel": 10_000_000}});
    for _ in 0..2 {
        let refused = client.refusal("run_code", fuel.clone());
        assert_eq!(refused.code, -32602, "{refused:?}");
        assert!(refused.message.contains("does not count fuel"), "{refused:?}");
        assert!(refused.message.contains("`limits.fuel`"), "{refused:?}");
    }
    assert_eq!(client.run("def main(args): return 7")["output"]["result"], 7);
    assert!(!server.log().contains("compiling"), "{}", server.log());
    drop(server);
    // A server whose every run needs fuel does not start.
    let arguments = ["--cache-dir", cache, "--set", never, "--set", "limits.fuel=10000000"];
    refused(&place, &arguments, &["engine install --metered", "engine.compile_metered"]);
}

/// Copies a file of the cache and its record.
fn copy(from: &Path, to: &Path) {
    let folder = to.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    for folder in folder.ancestors().take(2) {
        private(folder);
    }
    let record = |path: &Path| format!("{}.json", path.display());
    fs::copy(from, to).unwrap();
    fs::copy(record(from), record(to)).unwrap();
}

fn private(folder: &Path) {
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
}
