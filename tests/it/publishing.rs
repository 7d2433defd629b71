//! Skills that tenants publish on a running server, over HTTP.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, Client, Command, TestServer, contained, eventually, output};

const PATIENCE: Duration = Duration::from_secs(60);

const KEYS: [&str; 4] = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];

/// A folder with a skill that says `text`.
fn skill(place: &Command, folder: &str, version: &str, text: &str) -> PathBuf {
    place.run(&["skills", "new", "acme.says", "--in", folder]).with(0);
    let whole = place.folder().join(folder).join("acme.says");
    let manifest = fs::read_to_string(whole.join("skill.toml")).unwrap();
    let lines = manifest.lines().map(|line| match line.starts_with("version") {
        true => format!("version = \"{version}\"\n"),
        false => format!("{line}\n"),
    });
    fs::write(whole.join("skill.toml"), lines.collect::<String>()).unwrap();
    let code = format!("def main(args):\n    return {text:?}\n");
    fs::write(whole.join("code/main.py"), code).unwrap();
    fs::remove_dir_all(whole.join("resources/tests")).ok();
    whole
}

fn key(place: &Command, server: &TestServer, tenant: &str, scopes: &str) -> (Client, String) {
    let data = server.data_dir().to_str().unwrap();
    let create = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "ci"];
    let made = place.run(&[&create[..], &["--scopes", scopes]].concat()).with(0);
    let key = made.stdout.trim_end().to_owned();
    let client = server.client().with_key(&key);
    eventually(PATIENCE, || (client.get("/v1/caller").status != 401).then_some(()));
    (client, key)
}

fn said(client: &Client, version: &str) -> Option<Value> {
    let asked = json!({"name": "acme.says", "version": version, "args": {}});
    client.call("execute_skill", asked).ok().map(|result| output(&result)["result"].clone())
}

#[test]
fn a_tenant_publishes_skills_that_it_alone_sees_and_that_survive() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &KEYS);
    let all = "discover,execute,blobs,publish";
    let (acme, acme_key) = key(&place, &server, "acme", all);
    let (beta, _) = key(&place, &server, "beta", all);
    let url = format!("http://{}", server.address);
    let shell = Command::new().set("WARDIAN_API_KEY", acme_key);
    let one = skill(&place, "one", "1.0.0", "one");
    let two = skill(&place, "two", "2.0.0", "two");
    let other = skill(&place, "other", "1.0.0", "another");
    let publish = |folder: &PathBuf| {
        shell.run(&["skills", "publish", folder.to_str().unwrap(), "--server", &url])
    };
    let first = publish(&one).with(0).stdout;
    assert!(first.starts_with("`acme.says@1.0.0#") && first.contains("was published"), "{first}");
    assert_eq!(said(&acme, "1.0.0"), Some(json!("one")), "it is there when the command ends");
    assert_eq!(said(&beta, "1.0.0"), None);
    let listed = beta.call("list_skills", json!({"namespace": "acme"})).unwrap();
    assert_eq!(listed["skills"], json!([]), "others see nothing of it");
    // The same again, another version, and another content of the first.
    let again = publish(&one).with(0).stdout;
    assert!(again.contains("was already published, with the same content"), "{again}");
    publish(&two).with(0);
    let refused = publish(&other).with(1).stderr;
    assert!(refused.contains("published with different content"), "{refused}");
    assert_eq!(said(&acme, "1.0.0"), Some(json!("one")));
    assert_eq!(said(&acme, "2.0.0"), Some(json!("two")));
    // A restart.
    drop(server);
    fs::create_dir(data.join("published/acme/.new-crashed")).unwrap();
    let server = TestServer::start_on(&data, &KEYS);
    let acme = server.client().with_key(acme.key().unwrap());
    assert_eq!(said(&acme, "1.0.0"), Some(json!("one")));
    assert!(!data.join("published/acme/.new-crashed").try_exists().unwrap());
    // Removed, and its version is not free for another content.
    let url = format!("http://{}", server.address);
    shell.run(&["skills", "unpublish", "acme.says@1.0.0", "--server", &url]).with(0);
    assert_eq!(said(&acme, "1.0.0"), None);
    assert_eq!(said(&acme, "2.0.0"), Some(json!("two")));
    let path = other.to_str().unwrap();
    let refused = shell.run(&["skills", "publish", path, "--server", &url]).with(1).stderr;
    assert!(refused.contains("published with different content"), "{refused}");
    shell.run(&["skills", "publish", one.to_str().unwrap(), "--server", &url]).with(0);
    assert_eq!(said(&acme, "1.0.0"), Some(json!("one")));
    let missing = shell.run(&["skills", "unpublish", "acme.says@7.0.0", "--server", &url]).with(1);
    assert!(missing.stderr.contains("was not published by this tenant"), "{}", missing.stderr);
}

#[test]
fn what_looks_like_a_secret_is_not_sent_to_a_server() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &KEYS);
    let (acme, acme_key) = key(&place, &server, "acme", "discover,execute,blobs,publish");
    let url = format!("http://{}", server.address);
    let shell = Command::new().set("WARDIAN_API_KEY", acme_key);
    let folder = skill(&place, "one", "1.0.0", "one");
    fs::write(folder.join("prod.env"), "TOKEN=1").unwrap();
    fs::write(
        folder.join("notes.txt"),
        "aws_secret_access_key = hunter2hunter2hunter2hunter2hunter2hunter2",
    )
    .unwrap();
    let publish = ["skills", "publish", folder.to_str().unwrap(), "--server", &url];
    let refused = shell.run(&publish).with(1).stderr;
    let wanted = ["nothing was published", "`prod.env` has the name", "`notes.txt` has"];
    assert!(contained(&refused, wanted).is_empty(), "{refused}");
    assert!(!refused.contains("hunter2"), "{refused}");
    assert_eq!(said(&acme, "1.0.0"), None);
    let listed = acme.get("/v1/blobs").json();
    assert_eq!(listed["blobs"], json!([]), "nothing was sent: {listed}");
    let allow = ["--allow", "prod.env", "--allow", "notes.txt"];
    shell.run(&[&publish[..], &allow].concat()).with(0);
    assert_eq!(said(&acme, "1.0.0"), Some(json!("one")));
}

/// The document of a skill that is nothing but instructions.
const DOCUMENT: &str = "---\nname: A\nshort_description: Says nothing.\n---\n# A\n";

/// A package with these files: paths and texts.
fn package(files: &[(&str, &str)]) -> String {
    let head: Vec<_> = files.iter().map(|(path, text)| json!([path, text.len()])).collect();
    let head = json!({"wardian_skill": 1, "files": head}).to_string();
    let content: String = files.iter().map(|(_, text)| *text).collect();
    format!("{head}\n{content}")
}

/// A package with the skill `a.b`, which nothing is wrong with.
fn whole_package(version: &str) -> String {
    let manifest = format!(
        "name = \"a.b\"\nversion = \"{version}\"\ndescription = \"Says nothing.\"\n\
         kind = \"instruction\"\nnamespace = \"a\"\n"
    );
    package(&[("SKILL.md", DOCUMENT), ("skill.toml", &manifest)])
}

/// Stores a package as a blob.
fn stored(client: &Client, package: &str) -> String {
    client.create_bytes(package.as_bytes(), "application/vnd.wardian.skill")
}

fn put(client: &Client, path: &str) -> Answer {
    client.put(&format!("/v1/skills/{path}"))
}

/// Asserts that refused packages left nothing in the folder of `acme`.
fn assert_nothing_is_left(data: &Path) {
    let left: Vec<_> = fs::read_dir(data.join("published/acme"))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name()).collect())
        .unwrap_or_default();
    assert!(left.iter().all(|name| name == ".digests"), "nothing is left: {left:?}");
}

#[test]
fn a_package_with_tricks_is_refused_and_leaves_nothing() {
    let place = Command::new();
    let data = place.folder().join("data");
    let bounds = ["--set", "tenants.skills_max_folders=1"];
    let server = TestServer::start_on(&data, &[&KEYS[..], &bounds].concat());
    let (acme, _) = key(&place, &server, "acme", "discover,execute,blobs,publish");
    let hostile = package(&[("../../x", "x")]);
    for (name, content, expected) in [
        ("a.b/1.0.0", hostile.as_str(), "must not contain empty, `.` or `..` segments"),
        ("a.b/1.0.0", "PK\u{3}\u{4}", "the package ends within its first line"),
        ("a.b/1.0.0", &package(&[("a", "x"), ("a", "y")]), "each path may appear once"),
        ("a.b/1.0.0", &package(&[("SKILL.md", "x")]), "the skill is refused"),
    ] {
        let blob = stored(&acme, content);
        let answer = put(&acme, &format!("{name}?blob={blob}"));
        assert_eq!(answer.status, 400, "{answer:?}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(expected), "{content:?}: {message}");
        assert!(!message.contains(data.to_str().unwrap()), "no path of the host: {message}");
    }
    let blob = stored(&acme, &whole_package("1.0.0"));
    assert_eq!(put(&acme, "a.b/1.0.0").status, 400);
    assert_eq!(put(&acme, &format!("a.b/1.0?blob={blob}")).status, 400);
    assert_eq!(put(&acme, &format!("..%2f..%2fx/1.0.0?blob={blob}")).status, 400);
    let other = put(&acme, &format!("a.c/1.0.0?blob={blob}"));
    assert_eq!(other.status, 400, "{other:?}");
    assert_nothing_is_left(&data);
    // What was refused takes no room of the one folder that this tenant may have.
    let answer = put(&acme, &format!("a.b/1.0.0?blob={blob}"));
    assert_eq!((answer.status, &answer.json()["is_new"]), (201, &json!(true)), "{answer:?}");
}

#[test]
fn publishing_needs_a_scope_and_room_and_is_audited() {
    let place = Command::new();
    let data = place.folder().join("data");
    let bounds =
        ["--set", "tenants.skills_max_folders=2", "--set", "tenants.skills_max_size=1 MiB"];
    let log_file = place.folder().join("audit.log");
    let audit = format!("audit.file={}", log_file.display());
    let server = TestServer::start_on(&data, &[&KEYS[..], &bounds, &["--set", &audit]].concat());
    let (acme, _) = key(&place, &server, "acme", "discover,execute,blobs,publish");
    let (weak, _) = key(&place, &server, "acme", "discover,execute,code,blobs");
    let (beta, _) = key(&place, &server, "beta", "blobs,publish");
    let blob = stored(&acme, &whole_package("1.0.0"));
    assert_eq!(put(&weak, &format!("a.b/1.0.0?blob={blob}")).status, 403);
    assert_eq!(
        put(&beta, &format!("a.b/1.0.0?blob={blob}")).status,
        404,
        "a blob of another tenant"
    );
    assert_nothing_is_left(&data);
    let answer = put(&acme, &format!("a.b/1.0.0?blob={blob}"));
    assert_eq!((answer.status, &answer.json()["is_new"]), (201, &json!(true)), "{answer:?}");
    for (version, status) in [("2.0.0", 201), ("3.0.0", 507)] {
        let blob = stored(&acme, &whole_package(version));
        let answer = put(&acme, &format!("a.b/{version}?blob={blob}"));
        assert_eq!(answer.status, status, "{answer:?}");
    }
    assert_eq!(weak.delete("/v1/skills/a.b/1.0.0").status, 403);
    assert_eq!(beta.delete("/v1/skills/a.b/1.0.0").status, 404);
    assert_eq!(acme.delete("/v1/skills/a.b/1.0.0").status, 204);
    let log = eventually(PATIENCE, || {
        let log = fs::read_to_string(&log_file).ok()?;
        log.contains("skill_unpublished").then_some(log)
    });
    let wanted = ["\"skill_published\"", "a.b@1.0.0#", "\"skill_unpublished\"", "a.b@1.0.0\""];
    assert!(contained(&log, wanted).is_empty(), "{log}");
    drop(server);
    let off =
        TestServer::start_on(&data, &[&KEYS[..], &["--set", "skills.publishing=false"]].concat());
    let acme = off.client().with_key(acme.key().unwrap());
    let refused = put(&acme, &format!("a.b/9.0.0?blob={blob}"));
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("skills.publishing"));
}
