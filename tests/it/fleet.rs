//! Servers of one fleet: a call in the background waits in the database, and any server with room executes it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use wardian_stores::database::testing::PostgresServer;

use crate::support::{Client, Command, ObjectStore, SkillFolder, TestServer, eventually};

const PATIENCE: Duration = Duration::from_secs(60);

/// The lease of the servers.
const LEASE: Duration = Duration::from_millis(1_500);

/// A database and an object store, and folders of servers that share them.
struct Site {
    postgres: PostgresServer,
    store: ObjectStore,
    folder: TempDir,
    url_file: PathBuf,
    key_file: PathBuf,
}

impl Site {
    /// None if this machine can have no PostgreSQL, which is said aloud.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let postgres = PostgresServer::start(&folder.path().join("server"))
            .map_err(|why| PostgresServer::note(&why))
            .ok()?;
        let url_file = waited(postgres.database(folder.path(), "wardian"));
        let store = ObjectStore::start();
        store.object("blobs/x");
        let key_file = key_file(&folder, "fleet.key", "0123456789abcdef0123456789abcdef");
        Some(Self { postgres, store, folder, url_file, key_file })
    }

    fn settings(&self) -> Vec<String> {
        vec![
            format!("database.url_file={}", self.url_file.display()),
            "blobs.store=s3://blobs/team".to_owned(),
            format!("fleet.key_file={}", self.key_file.display()),
            format!("fleet.lease={} ms", LEASE.as_millis()),
            "workers.count=1".to_owned(),
            "workers.max=1".to_owned(),
            "workers.require_lockdown=false".to_owned(),
        ]
    }

    /// Starts a server with one worker and these settings beyond those of the fleet.
    fn server(&self, name: &str, more: &[&str]) -> TestServer {
        let settings = self.settings();
        let mut arguments = Vec::new();
        for one in settings.iter().map(String::as_str).chain(more.iter().copied()) {
            arguments.extend(["--set", one]);
        }
        let environment = self.store.environment();
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, text)| (*name, text.as_str())).collect();
        TestServer::start_on_in(&self.folder.path().join(name), &arguments, &environment)
    }

    fn number(&self, statement: &str) -> i64 {
        waited(self.postgres.number("wardian", statement))
    }

    /// Waits until this statement finds this number.
    fn until(&self, statement: &str, expected: i64) {
        eventually(PATIENCE, || (self.number(statement) == expected).then_some(()));
    }
}

fn key_file(folder: &TempDir, name: &str, key: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, key).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn waited<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

const WAITING: &str = "SELECT COUNT(*) FROM queued_runs";
const BEGUN: &str = "SELECT COUNT(*) FROM detached_runs";

/// A program that goes on for so long.
fn sleeping(seconds: f64) -> String {
    format!("import time\ntime.sleep({seconds})\n'slept'")
}

fn submitted(client: &Client, code: &str) -> String {
    let begun = client.run_with(code, json!({"detach": true}));
    begun["run_id"].as_str().unwrap().to_owned()
}

fn until_ended(client: &Client, run: &str) -> Value {
    eventually(PATIENCE, || {
        let answer = client.get(&format!("/v1/runs/{run}?wait_ms=2000"));
        let found = (answer.status == 200).then(|| answer.json())?;
        (found["status"] == "ended").then_some(found)
    })
}

/// True if a server has executed a run: its log has a line of each.
fn executed(server: &TestServer, run: &str) -> bool {
    server.log().lines().any(|line| line.contains(run) && line.contains(" run "))
}

/// Kills a server.
fn kill(server: &TestServer) {
    server.process().kill();
    server.wait();
}

#[test]
fn calls_in_the_background_are_executed_by_any_server() {
    let Some(site) = Site::start() else { return };
    let (one, other) = (site.server("one", &[]), site.server("other", &[]));
    let blob = one.client().create_text("forty-two", "text/plain");
    let code = format!(
        "import runtime, time\ntime.sleep(0.5)\nprint('said')\n\
         runtime.blobs.write_text(open('/blobs/{blob}').read() + '!', name='out.txt')\n1 + 1"
    );
    let more = json!({"detach": true, "input_blobs": [blob], "label": "shared"});
    let runs: Vec<String> = (0..8)
        .map(|_| {
            let begun = one.client().run_with(&code, more.clone());
            assert_eq!(begun["status"], "queued", "{begun}");
            begun["run_id"].as_str().unwrap().to_owned()
        })
        .collect();
    // All are in the list of each server, wherever they are.
    let listed = other.client().get("/v1/runs/active").json();
    let listed = listed["runs"].as_array().unwrap();
    assert!(listed.iter().all(|run| run["title"] == "shared" && run["detached"] == true));
    assert!(listed.len() >= 6, "{listed:?}");
    for run in &runs {
        for server in [&one, &other] {
            let client = server.client();
            let ended = until_ended(&client, run);
            assert_eq!(ended["outcome"], "completed", "{ended:#}");
            assert_eq!(ended["result"]["output"]["result"], 2, "{ended:#}");
            let made = ended["result"]["output_blobs"][0].as_str().unwrap();
            assert_eq!(client.read_bytes(made), b"forty-two!");
            let log = client.get(&format!("/v1/runs/{run}/log")).body;
            assert!(String::from_utf8(log).unwrap().contains("said"));
        }
    }
    let counts =
        [&one, &other].map(|server| runs.iter().filter(|run| executed(server, run)).count());
    assert_eq!(counts.iter().sum::<usize>(), 8, "each run is executed once: {counts:?}");
    assert!(counts.iter().all(|count| *count >= 2), "{counts:?}");
    assert_eq!((site.number(WAITING), site.number(BEGUN)), (0, 0));
}

#[test]
fn a_killed_server_loses_no_call_and_its_runs_end_soon() {
    let Some(site) = Site::start() else { return };
    let (one, other) = (site.server("one", &[]), site.server("other", &[]));
    let client = other.client();
    let runs = [&one, &other].map(|server| submitted(&server.client(), &sleeping(60.0)));
    site.until(BEGUN, 2);
    let waiting: Vec<String> = (0..4).map(|_| submitted(&one.client(), "'done'")).collect();
    // The other server judges once it has renewed its lease often enough.
    thread::park_timeout(LEASE * 3);
    assert_eq!(site.number(WAITING), 4);
    kill(&one);
    let killed = Instant::now();
    site.until(BEGUN, 1);
    assert!(killed.elapsed() < LEASE * 3, "{:?}", killed.elapsed());
    let ends = runs.each_ref().map(|run| client.get(&format!("/v1/runs/{run}")).json());
    let lost = ends.iter().find(|end| end["status"] == "ended").unwrap();
    assert_eq!(lost["outcome"], "interrupted", "{lost:#}");
    // The run of the other one goes on, and is cancelled, so that there is room for those that wait.
    let kept = ends.iter().find(|end| end["status"] == "running").unwrap();
    let kept = kept["run_id"].as_str().unwrap();
    assert_eq!(client.post_to(&format!("/v1/runs/{kept}/cancel")).status, 200);
    assert_eq!(until_ended(&client, kept)["outcome"], "cancelled");
    for run in &waiting {
        assert_eq!(until_ended(&client, run)["outcome"], "completed");
    }
    // It comes back, and has nothing to end.
    let again = site.server("one", &[]);
    for run in waiting.iter().chain(&runs) {
        assert_eq!(until_ended(&again.client(), run)["status"], "ended");
    }
}

#[test]
fn a_stopped_server_gives_back_what_it_has_not_begun() {
    let Some(site) = Site::start() else { return };
    let one = site.server("one", &["http.drain_timeout=1 s"]);
    let long = submitted(&one.client(), &sleeping(60.0));
    site.until(BEGUN, 1);
    let waiting: Vec<String> = (0..3).map(|_| submitted(&one.client(), "'done'")).collect();
    one.process().terminate();
    assert!(one.wait().success(), "{}", one.log());
    assert_eq!((site.number(WAITING), site.number(BEGUN)), (3, 0));
    let claimed = "SELECT COUNT(*) FROM queued_runs WHERE server IS NOT NULL";
    assert_eq!(site.number(claimed), 0);
    let other = site.server("other", &[]);
    assert_eq!(until_ended(&other.client(), &long)["outcome"], "interrupted");
    for run in &waiting {
        assert_eq!(until_ended(&other.client(), run)["outcome"], "completed");
    }
}

#[test]
fn a_run_is_cancelled_at_any_server() {
    let Some(site) = Site::start() else { return };
    let (one, other) = (site.server("one", &[]), site.server("other", &[]));
    let clients = [one.client(), other.client()];
    let running = clients.each_ref().map(|client| submitted(client, &sleeping(60.0)));
    site.until(BEGUN, 2);
    let waits = submitted(&clients[0], "'done'");
    let found = clients[1].get(&format!("/v1/runs/{waits}")).json();
    assert_eq!(found["status"], "queued", "{found:#}");
    let cancel =
        |client: &Client, run: &str| client.post_to(&format!("/v1/runs/{run}/cancel")).json();
    let cancelled = cancel(&clients[1], &waits);
    assert_eq!(cancelled["outcome"], "cancelled", "{cancelled:#}");
    // Each at the server that does not have it, whichever that is: both are asked for both.
    for run in &running {
        for client in &clients {
            let answer = cancel(client, run);
            assert_eq!(answer["run_id"], run.as_str(), "{answer:#}");
        }
        for client in &clients {
            let ended = until_ended(client, run);
            assert_eq!(ended["outcome"], "cancelled", "{ended:#}");
        }
    }
    assert_eq!(
        clients[0].post_to("/v1/runs/run_0198c0de0000700080000000000000aa/cancel").status,
        404
    );
}

#[test]
fn names_and_limits_of_calls_hold_for_all_servers_together() {
    let Some(site) = Site::start() else { return };
    let limit = ["tenants.detached=4"];
    let servers = [site.server("one", &limit), site.server("other", &limit)];
    let submit = |number: usize, code: &str, name: Option<&str>| {
        let client = servers[number % 2].client();
        let mut more = json!({"code": code, "language": "python", "detach": true});
        if let Some(name) = name {
            more["idempotency_key"] = name.into();
        }
        client.call("run_code", more)
    };
    let of_one_name: BTreeSet<String> = thread::scope(|scope| {
        let calls: Vec<_> = (0..12)
            .map(|number| scope.spawn(move || submit(number, "'one'", Some("a-name"))))
            .collect();
        let ids = calls.into_iter().map(|call| call.join().unwrap().unwrap()["run_id"].to_string());
        ids.collect()
    });
    assert_eq!(of_one_name.len(), 1, "{of_one_name:?}");
    let other = submit(1, "'other'", Some("a-name")).unwrap_err();
    assert!(other.message.contains("names another call"), "{other:?}");
    site.until(BEGUN, 0);
    site.until(WAITING, 0);
    let code = sleeping(60.0);
    let accepted: Vec<bool> = thread::scope(|scope| {
        let calls: Vec<_> = (0..12)
            .map(|number| {
                scope.spawn({
                    let code = &code;
                    move || submit(number, code, None)
                })
            })
            .collect();
        calls
            .into_iter()
            .map(|call| call.join().unwrap())
            .map(|one| match one {
                Ok(_) => true,
                Err(refused) => {
                    assert!(refused.message.contains("at most 4"), "{refused:?}");
                    false
                }
            })
            .collect()
    });
    assert_eq!(accepted.iter().filter(|one| **one).count(), 4);
    let active = servers[0].client().get("/v1/runs/active").json();
    for run in active["runs"].as_array().unwrap() {
        let id = run["run_id"].as_str().unwrap();
        servers[1].client().post_to(&format!("/v1/runs/{id}/cancel"));
    }
    site.until(BEGUN, 0);
}

#[test]
fn a_skill_is_executed_where_it_is_as_it_was() {
    let Some(site) = Site::start() else { return };
    let (here, elsewhere) = (SkillFolder::new(), SkillFolder::new());
    here.action("test.here", "1.0.0", "def main(args):\n    return 'here'\n");
    let roots = [&here, &elsewhere].map(|folder| format!("skills.roots={}", folder.path()));
    let one = site.server("one", &[&roots[0]]);
    let other = site.server("other", &[&roots[1]]);
    let execute = json!({"name": "test.here", "args": {}, "detach": true});
    let runs: Vec<String> = (0..4)
        .map(|_| {
            let begun = one.client().call("execute_skill", execute.clone()).unwrap();
            begun["run_id"].as_str().unwrap().to_owned()
        })
        .collect();
    for run in &runs {
        let ended = until_ended(&other.client(), run);
        assert_eq!(ended["result"]["output"]["result"], "here", "{ended:#}");
        assert!(executed(&one, run));
    }
}

#[test]
fn a_restart_of_the_database_ends_nothing_and_loses_no_call() {
    let Some(site) = Site::start() else { return };
    let (one, other) = (site.server("one", &[]), site.server("other", &[]));
    let long = submitted(&one.client(), &sleeping(6.0));
    site.until(BEGUN, 1);
    let mut acknowledged = Vec::new();
    for _ in 0..2 {
        acknowledged.extend((0..4).map(|_| submitted(&other.client(), "'done'")));
        site.postgres.order("kill");
        thread::park_timeout(LEASE * 2);
        site.postgres.order("start");
    }
    for run in &acknowledged {
        assert_eq!(until_ended(&one.client(), run)["outcome"], "completed");
    }
    let ended = until_ended(&one.client(), &long);
    assert_eq!(ended["outcome"], "completed", "{ended:#}");
}

#[test]
fn a_fleet_that_cannot_be_is_one_line_that_says_what_to_do() {
    let Some(site) = Site::start() else { return };
    let place = Command::new();
    let refused = |settings: &[String]| {
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0"];
        settings.iter().for_each(|one| arguments.extend(["--set", one]));
        let ended = place.run(&arguments).with(2);
        assert!(!place.folder().join("data").try_exists().unwrap(), "nothing is changed");
        ended.stderr
    };
    let key = format!("fleet.key_file={}", site.key_file.display());
    let lines = refused(&[key]);
    for need in ["`database.url_file`", "`blobs.store`"] {
        assert!(lines.contains(&format!("`fleet.key_file` needs {need}")), "{lines}");
    }
    let short = key_file(&site.folder, "short.key", "0123456789");
    let open = key_file(&site.folder, "open.key", "0123456789abcdef0123456789abcdef");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let none = site.folder.path().join("none.key");
    for (file, expected) in [
        (&short, "the key of a fleet has at least 32 bytes"),
        (&open, "its mode is 0644 and must be 0600"),
        (&none, "it cannot be read"),
    ] {
        let mut settings = site.settings();
        settings[2] = format!("fleet.key_file={}", file.display());
        let line = refused(&settings);
        assert!(line.contains(expected) && line.contains("fleet.key_file"), "{line}");
    }
    let mut settings = site.settings();
    settings[3] = "fleet.lease=1 s".to_owned();
    assert!(refused(&settings).contains("fleet.lease"));
}

#[test]
fn operators_see_servers_and_what_waits() {
    let Some(site) = Site::start() else { return };
    let place = Command::new();
    let none = place.run(&["fleet", "status"]).with(2);
    assert!(none.stderr.contains("`database.url_file`"), "{}", none.stderr);
    let place = place.set("WARDIAN_DATABASE_URL_FILE", site.url_file.to_str().unwrap());
    let empty = place.run(&["fleet", "status"]).with(0);
    assert!(empty.stdout.contains("no server has been on this database yet"), "{}", empty.stdout);
    let (one, other) = (site.server("one", &[]), site.server("other", &["tenants.detached=9"]));
    let runs = [&one, &other, &one].map(|server| submitted(&server.client(), &sleeping(60.0)));
    site.until(BEGUN, 2);
    let status = place.run(&["fleet", "status", "--json"]).with(0).json();
    let servers = status["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2, "{status:#}");
    for server in servers {
        assert_eq!((&server["begun"], &server["version"]), (&json!(1), &json!("0.1.0")));
        assert!(server["lease_ms"].as_u64().unwrap() > 0, "{server:#}");
    }
    assert_ne!(servers[0]["settings"], servers[1]["settings"], "{status:#}");
    let queue = &status["queues"][0];
    assert_eq!((&queue["tenant"], &queue["begun"]), (&json!("local"), &json!(2)), "{queue:#}");
    // A server may have claimed it as its worker became busy.
    let not_begun = queue["waiting"].as_u64().unwrap() + queue["claimed"].as_u64().unwrap();
    assert_eq!(not_begun, 1, "{queue:#}");
    kill(&one);
    let text = eventually(PATIENCE, || {
        let text = place.run(&["fleet", "status"]).with(0).stdout;
        text.contains("ended").then_some(text)
    });
    assert!(text.starts_with("SERVER") && text.contains("TENANT"), "{text}");
    for run in &runs {
        other.client().post_to(&format!("/v1/runs/{run}/cancel"));
    }
}
