//! Sessions and the memory images that they began as, while images get another hash secret.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::images::cache_without_images;
use crate::support::{Client, Command, TestServer, Watched, eventually, output};

const PATIENCE: Duration = Duration::from_secs(120);

/// A value that depends on the image alone.
const HASH: &str = "str(hash('text'))";

fn value_of(result: &Value) -> Value {
    output(result)["result"].clone()
}

/// The id of a new session whose first cell is this code.
fn begin(client: &Client, code: &str) -> Value {
    let first = client.run_with(code, json!({"session": "new"}));
    output(&first);
    first["session"]["id"].clone()
}

fn cell(client: &Client, session: &Value, code: &str) -> Value {
    value_of(&client.run_with(code, json!({"session": session})))
}

fn refusal(client: &Client, session: &Value) -> (String, String) {
    let params = json!({"language": "python", "code": "1", "session": session});
    let refused = client.refusal("run_code", params);
    (refused.kind, refused.message)
}

/// The images that are kept for sessions.
fn images_in(data: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(data.join("sessions/images")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn sessions_keep_their_image_when_images_are_renewed_and_the_server_restarts() {
    let (cache, place) = (cache_without_images(), Command::new());
    let (data, folder) = (place.folder().join("data"), cache.path().to_str().unwrap());
    let start = |age: &str| {
        let age = format!("images.max_age={age}");
        TestServer::start_on(&data, &["--cache-dir", folder, "--set", &age])
    };
    let (session, hash) = {
        let server = start("1 s");
        let client = server.client();
        let session = begin(&client, "x = [1]");
        let hash = cell(&client, &session, HASH);
        eventually(PATIENCE, || (value_of(&client.run(HASH)) != hash).then_some(()));
        assert_eq!(cell(&client, &session, "x.append(2); x"), json!([1, 2]), "kept");
        server.workers().iter().for_each(Watched::kill);
        assert_eq!(cell(&client, &session, "x.append(3); x"), json!([1, 2, 3]), "resumed");
        (session, hash)
    };
    let before = images_in(&data);
    let server = start("0");
    let client = server.client();
    assert_eq!(cell(&client, &session, "x.append(4); x"), json!([1, 2, 3, 4]));
    assert_eq!(cell(&client, &session, HASH), hash);
    assert_ne!(value_of(&client.run(HASH)), hash);
    // A fork needs the image as well, and a new session begins as the present one.
    let path = |session: &Value| format!("/v1/sessions/{}", session.as_str().unwrap());
    let forks = client.post_json(&format!("{}/fork", path(&session)), &json!({})).json();
    let fork = forks["forks"][0]["id"].clone();
    let new = begin(&client, "y = 1");
    assert_ne!(cell(&client, &new, HASH), hash);
    assert_eq!(client.delete(&path(&session)).status, 204);
    assert_eq!(cell(&client, &fork, "x"), json!([1, 2, 3, 4]));
    assert_eq!((before.len(), images_in(&data).len()), (1, 2));
    // With the last session that began as it, an image goes.
    assert_eq!(client.delete(&path(&fork)).status, 204);
    let left = eventually(PATIENCE, || Some(images_in(&data)).filter(|left| left.len() == 1));
    assert_ne!(left, before);
    assert_eq!(cell(&client, &new, "y"), 1);
}

#[test]
fn a_session_whose_image_is_damaged_or_missing_says_so() {
    let (cache, place) = (cache_without_images(), Command::new());
    let (data, folder) = (place.folder().join("data"), cache.path().to_str().unwrap());
    let start =
        || TestServer::start_on(&data, &["--cache-dir", folder, "--set", "images.max_age=0"]);
    let session = begin(&start().client(), "x = 1");
    let [image] = images_in(&data).try_into().unwrap();
    // An operator may empty the cache at any time: the server draws another secret then.
    fs::remove_dir_all(cache.path().join("images")).unwrap();
    assert_eq!(cell(&start().client(), &session, "x"), 1);
    let mut bytes = fs::read(&image).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&image, bytes).unwrap();
    let server = start();
    let client = server.client();
    let (kind, message) = refusal(&client, &session);
    assert_eq!(kind, "session_damaged", "{message}");
    assert!(message.contains("image that it began as is damaged on the disk"), "{message}");
    fs::remove_file(&image).unwrap();
    let (kind, message) = refusal(&client, &session);
    assert_eq!(kind, "session_damaged", "{message}");
    assert!(message.contains("image that it began as is missing on the disk"), "{message}");
    assert_eq!(cell(&client, &begin(&client, "y = 2"), "y"), 2);
}

#[test]
fn a_session_for_whose_image_there_is_no_room_is_refused() {
    let server = TestServer::start(&["--set", "sessions.images=1 MiB"]);
    let client = server.client();
    let (kind, message) = refusal(&client, &json!("new"));
    assert_eq!(kind, "quota_exceeded", "{message}");
    assert!(message.contains("`sessions.images`"), "{message}");
    assert_eq!(client.get("/v1/sessions").json()["sessions"], json!([]));
    assert_eq!(value_of(&client.run("1 + 1")), 2);
}
