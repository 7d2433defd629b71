//! Servers whose blobs are in an object store: found by all, and still there when a server's machine is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wardian_stores::database::testing::PostgresServer;

use crate::support::{Client, Command, Ended, ObjectStore, TestServer, eventually, failed, output};

const PATIENCE: Duration = Duration::from_secs(60);

/// Where the blobs are.
const PLACE: &str = "s3://blobs/team/a";

/// An object store, and folders of servers that use it.
struct Site {
    store: ObjectStore,
    folder: TempDir,
    /// Settings beyond the place of the blobs.
    settings: Vec<String>,
}

impl Site {
    fn new(settings: &[&str]) -> Self {
        let store = ObjectStore::start();
        store.object("blobs/x");
        let settings = settings.iter().map(|one| (*one).to_owned()).collect();
        Self { store, folder: tempfile::tempdir().unwrap(), settings }
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server(&self, name: &str) -> TestServer {
        let place = format!("blobs.store={PLACE}");
        let mut arguments = vec!["--set", &place];
        for one in &self.settings {
            arguments.extend(["--set", one]);
        }
        let environment = self.store.environment();
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, text)| (*name, text.as_str())).collect();
        TestServer::start_on_in(&self.data(name), &arguments, &environment)
    }

    /// A command on the data folder of a server, with the place of its blobs.
    fn command(&self, data: &str, place: &str, arguments: &[&str]) -> Ended {
        let mut at = Command::new().set("WARDIAN_BLOBS_STORE", place);
        for (name, text) in self.store.environment() {
            at = at.set(name, text);
        }
        let data = self.data(data).display().to_string();
        let ended = at.set("WARDIAN_DATA_DIR", data).run(arguments);
        for text in [&ended.stdout, &ended.stderr] {
            assert!(!text.contains("very/secret") && !text.contains("Signature="), "{text}");
        }
        ended
    }

    fn objects(&self, below: &str) -> Vec<String> {
        self.store.names(&format!("blobs/team/a/{below}"))
    }
}

/// The file with the copy of a blob of a server.
fn copy(server: &Path, tenant: &str, id: &str) -> PathBuf {
    server.join("blob-copies/tenants").join(tenant).join(letters(id))
}

fn letters(id: &str) -> &str {
    id.strip_prefix("blob:").unwrap()
}

/// Sums the bytes of a blob, and stores its length.
const PROGRAM: &str = "
import runtime

def main(args):
    with open('/blobs/' + args['id'], 'rb') as file:
        content = file.read()
    runtime.blobs.write_text(str(len(content)), name='length.txt')
    return sum(content)
";

fn summed(client: &Client, id: &str) -> Value {
    client.run_with(PROGRAM, json!({"args": {"id": id}, "input_blobs": [id]}))
}

/// More than a part of an upload has, and no multiple of one.
fn large() -> Vec<u8> {
    (0..=250).cycle().take((17 << 20) + 3).collect()
}

#[test]
fn a_blob_of_one_server_is_that_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let Ok(postgres) = PostgresServer::start(&folder.path().join("server"))
        .map_err(|why| PostgresServer::note(&why))
    else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url_file = runtime.block_on(postgres.database(folder.path(), "wardian"));
    let database = format!("database.url_file={}", url_file.display());
    let site = Site::new(&[&database, "auth.mode=keys", "workers.require_lockdown=false"]);
    let (one, other) = (site.server("one"), site.server("other"));
    let keys = Command::new().set("WARDIAN_DATABASE_URL_FILE", url_file.to_str().unwrap());
    let clients = ["acme", "beta"].map(|tenant| {
        let create = ["keys", "create", "--tenant", tenant, "--name", "ci"];
        let key = keys.run(&create).with(0).stdout.trim_end().to_owned();
        [&one, &other].map(|server| {
            let client = server.client().with_key(&key);
            eventually(PATIENCE, || (client.get("/v1/blobs").status != 401).then_some(()));
            client
        })
    });
    let [[acme, acme_there], [beta, beta_there]] = &clients;

    let content = large();
    let id = acme.create_bytes(&content[..300_000], "application/x-one");
    assert_eq!(acme_there.read_bytes(&id), content[..300_000]);
    let sum: u64 = content[..300_000].iter().map(|byte| u64::from(*byte)).sum();
    let ran = summed(acme_there, &id);
    assert_eq!(output(&ran)["result"], sum, "{ran}");
    // What a run of one stored, the other one mounts, with its name.
    let made = ran["output_blobs"][0].as_str().unwrap();
    assert_eq!(acme.read_bytes(made), b"300000");
    let listed = acme.get("/v1/blobs").json();
    let named = listed["blobs"].as_array().unwrap().iter().find(|blob| blob["blob_id"] == made);
    assert_eq!(named.unwrap()["name"], "length.txt", "{listed}");
    // The same content is one blob, whichever server it is given to, and another tenant's is another one.
    assert_eq!(acme_there.create_bytes(&content[..300_000], "application/x-one"), id);
    assert_ne!(beta.create_bytes(&content[..300_000], "application/x-one"), id);
    assert_eq!(beta_there.get(&format!("/v1/blobs/{id}")).status, 404);
    assert_eq!(site.objects("keys"), ["acme", "beta"]);
    assert_eq!(site.objects("blobs/acme").len(), 2);
    // One is removed, and is gone everywhere, from the copies too once somebody asks.
    assert_eq!(acme.delete(&format!("/v1/blobs/{id}")).status, 204);
    assert_eq!(acme_there.get(&format!("/v1/blobs/{id}")).status, 404);
    assert_eq!(site.objects("blobs/acme"), [letters(made)]);
    // Eight uploads of one content at once, to both.
    thread::scope(|scope| {
        for number in 0..8 {
            let (client, content) = (&clients[0][number % 2], &content);
            scope.spawn(move || client.create_bytes(&content[..5_000], "text/plain"));
        }
    });
    assert_eq!(site.objects("blobs/acme").len(), 2);
    for server in [&one, &other] {
        assert!(!server.log().contains("very/secret"), "{}", server.log());
    }
}

#[test]
fn content_of_many_parts_goes_in_and_comes_out_without_its_copy() {
    let site = Site::new(&["blobs.max_size=32 MiB"]);
    let data = site.data("one");
    let content = large();
    let file = site.folder.path().join("large.bin");
    fs::write(&file, &content).unwrap();
    let path = file.to_str().unwrap();
    let server = site.server("one");
    let url = format!("http://{}", server.address);
    let put = ["blobs", "put", path, "--server", &url];
    let id = site.command("client", PLACE, &put).with(0).stdout.trim_end().to_owned();
    drop(server);
    fs::remove_file(copy(&data, "local", &id)).unwrap();
    let server = site.server("one");
    let url = format!("http://{}", server.address);
    let back = site.command("client", PLACE, &["blobs", "get", &id, "--server", &url]).with(0);
    assert!(back.bytes == content, "{} bytes", back.bytes.len());
    assert!(copy(&data, "local", &id).try_exists().unwrap());
    // Content that was changed in the store reaches nobody, and is set aside there.
    fs::remove_file(copy(&data, "local", &id)).unwrap();
    fs::write(site.store.object(&format!("blobs/team/a/blobs/local/{}", letters(&id))), "x")
        .unwrap();
    drop(server);
    let server = site.server("one");
    let refused = server.client().refusal("read_blob", json!({"blob_id": id, "mode": "full"}));
    assert_eq!(refused.kind, "internal", "{refused:?}");
    server.wait_for_log("its object is damaged: it is set aside");
    assert_eq!(site.objects("blobs/local").len(), 0);
    assert_eq!(site.objects("quarantine/local").len(), 1);
}

#[test]
fn a_server_whose_machine_is_lost_leaves_its_blobs() {
    let site = Site::new(&[]);
    let server = site.server("one");
    let id = server.client().create_text("kept", "text/plain");
    let again = site.command("one", PLACE, &["blobs", "reconcile"]).with(0);
    assert!(again.stdout.contains("0 unlisted, 0 damaged, 0 foreign, 0 lost"), "{}", again.stdout);
    drop(server);
    // Another machine, with another database.
    let refused = site.command("two", PLACE, &["serve"]).with(2).stderr;
    assert!(refused.contains("belongs to another database"), "{refused}");
    let refused = site.command("two", PLACE, &["blobs", "reconcile"]).with(2).stderr;
    assert!(refused.contains("--take-over"), "{refused}");
    fs::write(site.store.object("blobs/team/a/blobs/README"), "by hand").unwrap();
    let take = ["blobs", "reconcile", "--take-over"];
    let taken = site.command("two", PLACE, &take).with(3).stdout;
    assert!(taken.contains(&format!("unlisted  local  {id}  4 B, listed again")), "{taken}");
    assert!(taken.contains("foreign   team/a/blobs/README"), "{taken}");
    fs::remove_file(site.store.object("blobs/team/a/blobs/README")).unwrap();
    let server = site.server("two");
    assert_eq!(server.client().read_bytes(&id), b"kept");
    // The first one would remove what the second one has.
    let refused = site.command("one", PLACE, &["serve"]).with(2).stderr;
    assert!(refused.contains("belongs to another database"), "{refused}");
    // What is lost in the store is named, and is forgotten if that is wanted.
    fs::remove_file(site.store.object(&format!("blobs/team/a/blobs/local/{}", letters(&id))))
        .unwrap();
    let dry = site.command("two", PLACE, &["blobs", "reconcile", "--dry-run", "--json"]).with(3);
    assert_eq!(dry.json()["lost"][0]["blob_id"], id.as_str());
    let forget = ["blobs", "reconcile", "--forget-lost"];
    let forgotten = site.command("two", PLACE, &forget).with(0).stdout;
    assert!(forgotten.contains(&format!("lost      local  {id}  removed")), "{forgotten}");
    assert_eq!(server.client().get("/v1/blobs").json()["blobs"], json!([]));
}

#[test]
fn while_the_store_is_out_nothing_is_acknowledged_and_copies_are_read() {
    let site = Site::new(&[]);
    let server = site.server("one");
    let client = server.client();
    let kept = client.create_text("kept", "text/plain");
    site.store.set_out(true);
    let refused = client.refusal("create_blob", json!({"content": "new", "kind": "text/plain"}));
    assert!(refused.message.contains("try again later"), "{refused:?}");
    assert_eq!(client.read_bytes(&kept), b"kept");
    // A run can read what has a copy, and learns that it can store nothing.
    let ran = summed(&client, &kept);
    let (kind, message) = failed(&ran);
    assert_eq!((kind, message), ("OSError", "the blob could not be stored"));
    assert_eq!(output(&client.run("1 + 1"))["result"], 2);
    site.store.set_out(false);
    let new = client.create_text("new", "text/plain");
    assert_eq!(client.read_bytes(&new), b"new");
    assert!(server.log().contains("503"), "{}", server.log());
}

#[test]
fn a_store_that_cannot_be_used_is_named_before_anything_is_changed() {
    let site = Site::new(&[]);
    site.store.object("careless/x");
    for (place, expected) in [
        ("s3://careless/x", "was written twice"),
        ("s3://nothing-there/x", "NoSuchBucket"),
        ("s3:/blobs/x", "names no place in an object store"),
        ("gs://blobs/x", "names no place in an object store"),
        ("s3://elsewhere/x", "redirect"),
    ] {
        let refused = site.command("new", place, &["serve", "--listen", "127.0.0.1:0"]).with(2);
        assert!(refused.stderr.contains("`blobs.store`"), "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{place}: {}", refused.stderr);
        assert_eq!(refused.stderr.lines().filter(|line| line.starts_with("error")).count(), 1);
        assert!(!site.data("new").try_exists().unwrap(), "{place}: a folder was made");
    }
    let seen = site.command("new", "s3://careless/x", &["doctor"]);
    assert!(seen.stdout.contains("object store"), "{}", seen.stdout);
    assert!(seen.stdout.contains("was written twice"), "{}", seen.stdout);
}

#[test]
fn blobs_of_this_machine_are_not_taken_for_those_of_the_server() {
    let site = Site::new(&[]);
    let file = site.folder.path().join("note.txt");
    fs::write(&file, "of a command").unwrap();
    let put = ["blobs", "put", file.to_str().unwrap()];
    let stored = site.command("one", PLACE, &put).with(0);
    assert!(stored.stderr.contains("name it with `--server`"), "{}", stored.stderr);
    assert_eq!(site.objects("blobs"), Vec::<String>::new());
    let server = site.server("one");
    assert!(server.log().contains("those in"), "{}", server.log());
    assert_eq!(server.client().get("/v1/blobs").json()["blobs"], json!([]));
}
