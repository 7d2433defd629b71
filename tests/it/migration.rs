//! `wardian migrate`: what a server keeps goes to a database of PostgreSQL and an object store, and back to nothing
//! else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use wardian_stores::database::testing::PostgresServer;

use crate::support::{Client, Command, Ended, ObjectStore, TestServer, eventually, output};

const PATIENCE: Duration = Duration::from_secs(60);

struct Site {
    store: ObjectStore,
    folder: TempDir,
}

impl Site {
    fn new() -> Self {
        let store = ObjectStore::start();
        store.object("blobs/x");
        Self { store, folder: tempfile::tempdir().unwrap() }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A file with settings.
    fn settings(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Ended {
        let mut at = Command::new().set("WARDIAN_DATA_DIR", self.data().to_str().unwrap());
        for (name, text) in self.store.environment() {
            at = at.set(name, text);
        }
        at.run(arguments)
    }

    fn server(&self, settings: &Path) -> TestServer {
        let environment = self.store.environment();
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let arguments = ["--config", settings.to_str().unwrap()];
        TestServer::start_on_in(&self.data(), &arguments, &environment)
    }

    /// Stores blobs for tenants, runs something, and returns their keys, the blobs and a run.
    fn fill(&self, settings: &Path) -> (Vec<(String, String)>, String) {
        let server = self.server(settings);
        let mut stored = Vec::new();
        for tenant in ["acme", "beta"] {
            let create = ["keys", "create", "--tenant", tenant, "--name", "ci"];
            let key = self.command(&create).with(0).stdout.trim_end().to_owned();
            let client = known(&server, &key);
            let id = client.create_text(&format!("of {tenant}"), "text/plain");
            stored.push((key, id));
        }
        let client = known(&server, &stored[0].0);
        let program = "import runtime\nruntime.blobs.write_text('made', name='made.txt')\n'done'";
        let named = json!({"detach": true, "idempotency_key": "nightly"});
        let run = client.run_with(program, named)["run_id"].as_str().unwrap().to_owned();
        eventually(PATIENCE, || {
            let found = client.get(&format!("/v1/runs/{run}"));
            (found.status == 200 && found.json()["status"] == "ended").then_some(())
        });
        (stored, run)
    }
}

/// A client whose key the server knows.
fn known(server: &TestServer, key: &str) -> Client {
    let client = server.client().with_key(key);
    eventually(PATIENCE, || (client.get("/v1/blobs").status != 401).then_some(()));
    client
}

const KEYS: &str = "[auth]\nmode = \"keys\"\n[workers]\nrequire_lockdown = false\n";

#[test]
fn a_server_goes_on_with_another_database_and_an_object_store() {
    let postgres = tempfile::tempdir().unwrap();
    let Ok(server) = PostgresServer::start(&postgres.path().join("server"))
        .map_err(|why| PostgresServer::note(&why))
    else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = runtime.block_on(server.database(postgres.path(), "wardian"));
    let site = Site::new();
    let old = site.settings("old.toml", KEYS);
    let (stored, run) = site.fill(&old);
    let places = format!(
        "{KEYS}[database]\nurl_file = \"{}\"\n[blobs]\nstore = \"s3://blobs/team\"\n",
        url.display()
    );
    let new = site.settings("new.toml", &places);
    let migrate =
        ["migrate", "--config", old.to_str().unwrap(), "--to", new.to_str().unwrap(), "--json"];
    // Nothing is changed while the store does not answer, and none is begun.
    site.store.set_out(true);
    let refused = site.command(&migrate).with(2).stderr;
    assert!(refused.contains("`blobs.store` cannot be used"), "{refused}");
    site.store.set_out(false);
    // A server that is running keeps what it has.
    let running = site.server(&old);
    let refused = site.command(&migrate).with(2).stderr;
    assert!(refused.contains("is using the data folder"), "{refused}");
    drop(running);
    let told = site.command(&migrate).with(0).json();
    assert_eq!(told["blobs"]["blobs"], 3, "{told}");
    assert_eq!(told["kept"].as_array().unwrap().len(), 3, "{told}");
    for name in ["wardian.db", "records.db", "blobs"] {
        assert!(!site.data().join(name).try_exists().unwrap(), "{name}");
        assert!(site.data().join(format!("{name}.migrated")).try_exists().unwrap(), "{name}");
    }
    let again = site.command(&migrate).with(0).json();
    assert_eq!(again["kept"], json!([]), "{again}");

    let server = site.server(&new);
    let client = known(&server, &stored[0].0);
    for (key, id) in &stored {
        let content = known(&server, key).read_bytes(id);
        assert!(content.starts_with(b"of "), "{content:?}");
    }
    let listed = client.get("/v1/blobs").json();
    let names: Vec<&str> =
        listed["blobs"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["made.txt"], "{listed}");
    assert_eq!(client.get(&format!("/v1/runs/{run}")).json()["outcome"], "completed");
    // The name of the call is known, and ids go on as before.
    let program = "import runtime\nruntime.blobs.write_text('made', name='made.txt')\n'done'";
    let named = json!({"detach": true, "idempotency_key": "nightly"});
    assert_eq!(client.run_with(program, named)["run_id"], run.as_str());
    assert_eq!(client.create_text("of acme", "text/plain"), stored[0].1);
    assert!(!server.log().contains("from before"), "{}", server.log());
}

#[test]
fn an_interrupted_migration_goes_on_and_damaged_blobs_stay() {
    let site = Site::new();
    let old = site.settings("old.toml", "");
    let server = site.server(&old);
    let client = server.client();
    let ids: Vec<String> =
        (0..5).map(|number| client.create_text(&format!("blob {number}"), "text/plain")).collect();
    assert_eq!(output(&client.run("1 + 1"))["result"], 2);
    drop(server);
    let letters = |id: &str| id.strip_prefix("blob:").unwrap().to_owned();
    let local = |id: &str| site.data().join("blobs/tenants/local").join(letters(id));
    let file = local(&ids[3]);
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    #[expect(clippy::permissions_set_readonly_false, reason = "a file of this test")]
    permissions.set_readonly(false);
    fs::set_permissions(&file, permissions).unwrap();
    let mut content = fs::read(&file).unwrap();
    content[0] ^= 1;
    fs::write(&file, content).unwrap();
    let new = site.settings("new.toml", "[blobs]\nstore = \"s3://blobs/team\"\n");
    let migrate = ["migrate", "--config", old.to_str().unwrap(), "--to", new.to_str().unwrap()];
    // What an interrupted command has left: a blob that is there, and other content in the place of one.
    let place = |id: &str| site.store.object(&format!("blobs/team/blobs/local/{}", letters(id)));
    fs::write(place(&ids[1]), "other").unwrap();
    let told = site.command(&migrate).with(0).stdout;
    assert!(told.contains("moved  blobs: 4, 24 B"), "{told}");
    assert!(told.contains(&format!("left   local  {}: its file is damaged", ids[3])), "{told}");
    assert_eq!(site.store.names("blobs/team/quarantine/local").len(), 1);
    assert_eq!(fs::read(place(&ids[1])).unwrap(), b"blob 1");
    let server = site.server(&new);
    assert_eq!(server.client().read_bytes(&ids[4]), b"blob 4");
    assert_eq!(server.client().get("/v1/blobs").json()["blobs"].as_array().unwrap().len(), 4);
}

#[test]
fn what_cannot_be_moved_is_refused_before_anything_is_changed() {
    let site = Site::new();
    let old = site.settings("old.toml", "");
    let elsewhere = site.settings("other.toml", "[blobs]\nstore = \"s3://blobs/other\"\n");
    let moved = site.settings("moved.toml", "[blobs]\nstore = \"s3://blobs/team\"\n");
    let (old, elsewhere) = (old.to_str().unwrap(), elsewhere.to_str().unwrap());
    for (arguments, expected) in [
        ([old, old], "nothing to move"),
        ([elsewhere, moved.to_str().unwrap()], "is set already"),
        ([elsewhere, old], "is set already"),
        ([old, "/no/such/file.toml"], "/no/such/file.toml"),
    ] {
        let ended = site.command(&["migrate", "--config", arguments[0], "--to", arguments[1]]);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.code, Some(2));
    }
    assert!(!site.data().try_exists().unwrap());
}
