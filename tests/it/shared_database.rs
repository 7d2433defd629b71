//! Servers that share a database of PostgreSQL: keys, records, the names of calls.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use serde_json::{Value, json};
use tempfile::TempDir;
use wardian_stores::database::testing::PostgresServer;

use crate::support::{Client, Command, TestServer, eventually, output};

const PATIENCE: Duration = Duration::from_secs(60);

/// A database, and the command line on it.
struct Shared {
    postgres: PostgresServer,
    url_file: PathBuf,
    place: Command,
    folder: TempDir,
}

impl Shared {
    /// None if this machine can have no PostgreSQL, which is said aloud.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let postgres = PostgresServer::start(&folder.path().join("server"))
            .map_err(|why| PostgresServer::note(&why))
            .ok()?;
        let url_file = waited(postgres.database(folder.path(), "wardian"));
        let path = url_file.to_str().unwrap().to_owned();
        let place = Command::new().set("WARDIAN_DATABASE_URL_FILE", path);
        Some(Self { postgres, url_file, place, folder })
    }

    /// Starts a server with a data folder of its own.
    fn server(&self, name: &str) -> TestServer {
        let setting = format!("database.url_file={}", self.url_file.display());
        let data = self.folder.path().join(name);
        let more = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
        TestServer::start_on(&data, &[&["--set", &setting][..], &more].concat())
    }

    fn key(&self, tenant: &str) -> String {
        let create = ["keys", "create", "--tenant", tenant, "--name", "ci"];
        self.place.run(&create).with(0).stdout.trim_end().to_owned()
    }

    fn number(&self, statement: &str) -> i64 {
        waited(self.postgres.number("wardian", statement))
    }
}

fn waited<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(future)
}

/// A client whose key the server knows.
fn client(server: &TestServer, key: &str) -> Client {
    let client = server.client().with_key(key);
    eventually(PATIENCE, || (client.get("/v1/blobs").status != 401).then_some(()));
    client
}

fn detached(client: &Client, code: &str, name: &str) -> String {
    let begun = client.run_with(code, json!({"detach": true, "idempotency_key": name}));
    begun["run_id"].as_str().unwrap().to_owned()
}

fn listed(client: &Client) -> BTreeSet<String> {
    let page = client.get("/v1/runs?limit=1000").json();
    let text = |run: &Value| run["run_id"].as_str().unwrap().to_owned();
    page["runs"].as_array().unwrap().iter().map(text).collect()
}

fn until_ended(client: &Client, run: &str) -> Value {
    eventually(PATIENCE, || {
        let answer = client.get(&format!("/v1/runs/{run}"));
        let found = (answer.status == 200).then(|| answer.json())?;
        (found["status"] == "ended").then_some(found)
    })
}

#[test]
fn servers_share_keys_records_and_the_names_of_calls() {
    let Some(shared) = Shared::start() else { return };
    let (one, other) = (shared.server("one"), shared.server("other"));
    let key = shared.key("acme");
    let clients = [client(&one, &key), client(&other, &key)];
    // A run of one is a record of both.
    let run = clients[0].run("1 + 1")["run_id"].as_str().unwrap().to_owned();
    eventually(PATIENCE, || listed(&clients[1]).contains(&run).then_some(()));
    // One name has one call, whichever server is asked.
    for round in 0..4 {
        let name = format!("call-{round}");
        let runs: BTreeSet<String> = thread::scope(|scope| {
            let calls: Vec<_> = (0..8)
                .map(|number| {
                    let (client, name) = (&clients[number % 2], &name);
                    scope.spawn(move || detached(client, "'done'", name))
                })
                .collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        assert_eq!(runs.len(), 1, "{runs:?}");
        let run = runs.first().unwrap();
        for client in &clients {
            assert_eq!(until_ended(client, run)["outcome"], "completed");
        }
    }
    // A run in progress of the other server is seen, and is not ended by this server's start.
    let sleeps = detached(&clients[0], "import time\ntime.sleep(60)", "sleeps");
    let third = shared.server("third");
    let found = client(&third, &key).get(&format!("/v1/runs/{sleeps}")).json();
    assert_ne!(found["status"], "ended", "{found:#}");
    assert_eq!(clients[0].post_to(&format!("/v1/runs/{sleeps}/cancel")).status, 200);
    // A key that is revoked is one no more on any of them.
    let prefix = shared.place.run(&["keys", "list", "--json"]).with(0).json()[0]["prefix"].clone();
    shared.place.run(&["keys", "revoke", prefix.as_str().unwrap()]).with(0);
    for client in &clients {
        eventually(PATIENCE, || (client.get("/v1/blobs").status == 401).then_some(()));
    }
    // The command line reads the same records, and nothing was made in its data folder.
    let runs = shared.place.run(&["runs", "list", "--tenant", "acme", "--json"]).with(0);
    assert!(runs.stdout.contains(&run), "{}", runs.stdout);
    assert!(!shared.place.folder().join("data/wardian.db").try_exists().unwrap());
    for server in [&one, &other, &third] {
        assert!(!server.log().contains("secret"), "{}", server.log());
        assert!(!server.data_dir().join("wardian.db").try_exists().unwrap());
        assert!(!server.data_dir().join("records.db").try_exists().unwrap());
    }
}

#[test]
fn a_restart_of_the_database_loses_nothing_that_was_acknowledged() {
    let Some(shared) = Shared::start() else { return };
    let server = shared.server("one");
    let key = shared.key("acme");
    let calls = client(&server, &key);
    let first = calls.run_with("x = 40", json!({"session": "new"}));
    let session = first["session"]["id"].as_str().unwrap().to_owned();
    let mut acknowledged = BTreeSet::new();
    for round in 0..3 {
        for number in 0..4 {
            acknowledged.insert(detached(&calls, "'done'", &format!("{round}-{number}")));
        }
        shared.postgres.order("kill");
        // A call that needs no database is answered without it, and others wait.
        assert_eq!(output(&calls.run("1 + 1"))["result"], 2);
        let waits = thread::scope(|scope| {
            let waits = scope.spawn(|| detached(&calls, "'done'", &format!("{round}-waits")));
            thread::park_timeout(Duration::from_millis(500));
            shared.postgres.order("start");
            waits.join().unwrap()
        });
        acknowledged.insert(waits);
    }
    for run in &acknowledged {
        assert_eq!(until_ended(&calls, run)["outcome"], "completed");
    }
    // Records are written behind the answer, and waited for the database.
    eventually(PATIENCE, || {
        let there = listed(&calls);
        (acknowledged.is_subset(&there) && there.len() == acknowledged.len() + 4).then_some(())
    });
    assert_eq!(shared.number("SELECT COUNT(*) FROM detached_runs"), 0);
    // Its sessions are in the data folder, and go on after a restart of the server.
    drop(server);
    let server = shared.server("one");
    let calls = client(&server, &key);
    let result = calls.run_with("x + 2", json!({"session": session}));
    assert_eq!(output(&result)["result"], 42, "{result:#}");
    assert_eq!(detached(&calls, "'done'", "0-0").len(), 36);
}

/// A server with this URL, and its message.
fn refused(place: &Command, url: &str, mode: u32) -> String {
    let file = place.file("database.url", url);
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    let file = format!("database.url_file={}", file.display());
    let ended = place.run(&["serve", "--listen", "127.0.0.1:0", "--set", &file]).with(2);
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("error")).collect();
    assert_eq!(lines.len(), 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains("secret"), "{}", ended.stderr);
    let data = place.folder().join("data");
    assert!(!data.try_exists().unwrap(), "nothing was changed: {}", ended.stderr);
    lines[0].to_owned()
}

#[test]
fn a_database_that_cannot_be_used_is_one_line_that_says_what_to_do() {
    let Some(shared) = Shared::start() else { return };
    let (place, postgres) = (Command::new(), &shared.postgres);
    let execute = |statement: &str| waited(postgres.execute("wardian", statement));
    execute("CREATE ROLE reader LOGIN PASSWORD 'secret'");
    let port = postgres.port();
    let right = postgres.url("wardian");
    let of = |user: &str, at: &str| format!("postgres://{user}:secret@127.0.0.1:{at}/wardian");
    for (url, mode, expected) in [
        (of("postgres", "1"), 0o600, "cannot be reached"),
        (of("nobody", &port.to_string()), 0o600, "check the user and the password"),
        (of("reader", &port.to_string()), 0o600, "may not make or change tables"),
        (right.replace("/wardian", "/none"), 0o600, "create it with `CREATE DATABASE`"),
        ("secret".to_owned(), 0o600, "postgres://USER:PASSWORD@HOST:5432/DATABASE"),
        (right.clone(), 0o644, "its mode is 0644 and must be 0600"),
    ] {
        let line = refused(&place, &url, mode);
        assert!(line.contains(expected), "{line}");
    }
    let tables = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(shared.number(tables), 0);
    // A later version has been there.
    shared.key("acme");
    execute("UPDATE wardian_schema SET version = 9 WHERE part = 'keys'");
    let line = refused(&place, &right, 0o600);
    assert!(
        line.contains("has schema version 9, but this program knows only versions up to"),
        "{line}"
    );
    execute("UPDATE wardian_schema SET version = 3 WHERE part = 'keys'");
    postgres.order("standby");
    let line = refused(&place, &right, 0o600);
    assert!(line.contains("it only reads, as a standby does"), "{line}");
    postgres.order("primary");
    // Its own keys would be hidden.
    let other = Command::new();
    other.run(&["keys", "create", "--tenant", "acme", "--name", "ci"]).with(0);
    let file = format!("database.url_file={}", shared.url_file.display());
    let ended = other.run(&["serve", "--listen", "127.0.0.1:0", "--set", &file]).with(2);
    assert!(ended.stderr.contains("the data folder has keys of its own"), "{}", ended.stderr);
    doctor_says(&shared.url_file, &place);
}

/// A certificate for this name, which is its own authority, and its key: in files that only PostgreSQL reads.
fn certificate(folder: &Path, name: &str) -> [PathBuf; 2] {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = certificate.self_signed(&key).unwrap();
    let owner = fs::metadata(folder).unwrap();
    [("pem", certificate.pem()), ("key", key.serialize_pem())].map(|(ending, text)| {
        let file = folder.join(format!("{name}.{ending}"));
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        chown(&file, Some(owner.uid()), Some(owner.gid())).unwrap();
        file
    })
}

#[test]
fn a_certificate_of_the_database_is_verified() {
    let Some(shared) = Shared::start() else { return };
    let folder = shared.folder.path().join("server");
    let [authority, key] = certificate(&folder, "localhost");
    let [stranger, _] = certificate(&folder, "stranger");
    for setting in [
        "ALTER SYSTEM SET ssl = on".to_owned(),
        format!("ALTER SYSTEM SET ssl_cert_file = '{}'", authority.display()),
        format!("ALTER SYSTEM SET ssl_key_file = '{}'", key.display()),
    ] {
        waited(shared.postgres.execute("postgres", &setting));
    }
    shared.postgres.order("stop");
    shared.postgres.order("start");
    let url = shared.postgres.url("wardian").replace("127.0.0.1", "localhost");
    let with = |authority: &Path| {
        let url = format!("{url}?sslmode=verify-full&sslrootcert={}", authority.display());
        fs::write(&shared.url_file, url).unwrap();
        shared.place.run(&["keys", "list"])
    };
    with(&authority).with(0);
    let only = "SELECT COUNT(*) FROM pg_stat_ssl WHERE ssl";
    assert!(shared.number(only) > 0, "this connection is encrypted");
    let refused = with(&stranger).with(2);
    assert!(refused.stderr.contains("its certificate is not accepted"), "{}", refused.stderr);
}

fn doctor_says(url_file: &Path, place: &Command) {
    let file = format!("database.url_file={}", url_file.display());
    let found = place.run(&["doctor", "--json", "--set", &file]).json();
    let database = found.as_array().unwrap().iter().find(|found| found["what"] == "database");
    assert_eq!(database.unwrap()["state"], "good", "{found:#}");
}
