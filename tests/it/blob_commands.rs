//! `wardian blobs` beside a running server, and on the store of this machine.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use crate::support::{Command, TestServer};

fn bytes(count: usize) -> Vec<u8> {
    (0..=250).cycle().take(count).collect()
}

fn damage(data: &Path, id: &str) {
    let path = data.join("blobs/tenants/local").join(&id[5..]);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, bytes).unwrap();
}

#[test]
fn commands_use_a_running_server() {
    let server = TestServer::start(&[]);
    let url = format!("http://{}", server.address);
    let place = Command::new();
    let content = bytes(700_000);
    place.file("table.csv", &content);
    let at = |arguments: &[&str]| {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--server", &url]);
        place.run(&arguments)
    };
    let id = at(&["blobs", "put", "table.csv"]).with(0).stdout.trim().to_owned();
    let told = at(&["blobs", "put", "table.csv", "--json"]).with(0).json();
    assert_eq!(told, json!({"blob_id": id, "size_bytes": 700_000, "name": "table.csv"}));
    assert_eq!(at(&["blobs", "get", &id]).with(0).bytes, content);
    at(&["blobs", "get", &id, "-o", "copy.csv"]).with(0);
    assert_eq!(fs::read(place.folder().join("copy.csv")).unwrap(), content);
    at(&["blobs", "get", &id, "-o", "/dev/null"]).with(0);
    at(&["blobs", "get", &id, "-o", "new/deep/"]).with(0);
    assert_eq!(fs::read(place.folder().join("new/deep/table.csv")).unwrap(), content);
    let refused = at(&["blobs", "get", &id, "-o", "copy.csv/"]).with(2).stderr;
    assert!(
        refused.contains("copy.csv/: a path that ends with a slash must be a folder"),
        "{refused}"
    );
    let missing = format!("blob:{}", "a".repeat(52));
    at(&["blobs", "get", &missing, "-o", "none/"]).with(2);
    assert!(!place.folder().join("none").try_exists().unwrap(), "no folder is made for nothing");

    let arguments = ["blobs", "put", "-", "--kind", "text/plain", "--server", &url];
    let piped = place.run_with_input(&arguments, "from a pipe").with(0).stdout;
    assert_eq!(at(&["blobs", "get", piped.trim()]).with(0).stdout, "from a pipe");
    let listed = at(&["blobs", "list", "--json"]).with(0).json();
    let kinds: Vec<&Value> = listed.as_array().unwrap().iter().map(|blob| &blob["kind"]).collect();
    assert_eq!(kinds, ["text/csv", "text/plain"]);
    let table = at(&["blobs", "list"]).with(0).stdout;
    assert!(table.contains(&id) && table.contains("683.5 KiB"), "{table}");

    damage(server.data_dir(), piped.trim());
    let found = at(&["blobs", "scrub", "--json"]).with(3).json();
    assert_eq!((&found["blobs"], &found["unreadable"]), (&json!(2), &json!([])));
    assert_eq!(found["damaged"], json!([{"blob_id": piped.trim(), "treatment": "kept"}]));
    at(&["blobs", "scrub", "--delete"]).with(3);
    let good = at(&["blobs", "scrub"]).with(0).stdout;
    assert!(good.contains("1 blobs") && good.contains("0 damaged"), "{good}");

    at(&["blobs", "delete", &id]).with(0);
    let gone = at(&["blobs", "delete", &id]).with(2).stderr;
    assert!(gone.contains("does not exist"), "{gone}");
    at(&["blobs", "get", &id, "-o", "copy.csv"]).with(2);
    assert_eq!(fs::read(place.folder().join("copy.csv")).unwrap(), content, "it is still there");
    at(&["blobs", "put", "gone.csv"]).with(2);
    at(&["blobs", "put", "table.csv", "--kind", "nonsense"]).with(2);
}

#[test]
fn a_server_that_is_not_there_or_no_server_is_our_fault_and_a_wrong_url_is_not() {
    let place = Command::new();
    place.file("file", "x");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{nobody}");
    assert!(
        place
            .run(&["blobs", "put", "file", "--server", &url])
            .with(3)
            .stderr
            .contains("could not call")
    );
    for wrong in ["127.0.0.1:8080", "ftp://127.0.0.1", ""] {
        place.run(&["blobs", "list", "--server", wrong]).with(2);
    }
}

/// Answers one request with these bytes; returns the request.
fn answer_once(answer: &'static [u8]) -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4_096];
        while !request.windows(4).any(|window| window == b"\r\n\r\n") {
            let count = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..count]);
        }
        stream.write_all(answer).unwrap();
        String::from_utf8_lossy(&request).into_owned()
    });
    (url, serving)
}

#[test]
fn the_key_of_the_environment_is_sent_and_never_shown() {
    let answer = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno";
    let (url, serving) = answer_once(answer);
    let place = Command::new().set("WARDIAN_API_KEY", "very-secret-key");
    let ended = place.run(&["blobs", "list", "--server", &url]).with(2);
    assert!(serving.join().unwrap().contains("Bearer very-secret-key"));
    assert!(ended.stderr.contains("401"), "{}", ended.stderr);
    let config = place.run(&["config"]).with(0);
    for text in [ended.stderr, ended.stdout, config.stderr, config.stdout] {
        assert!(!text.contains("very-secret-key") && !text.contains("no setting"), "{text}");
    }
}

#[test]
fn bytes_that_are_not_the_blobs_replace_no_file() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nConnection: close\r\n\r\nwrong";
    let (url, serving) = answer_once(answer);
    let place = Command::new();
    let file = place.file("precious.txt", "precious");
    let id = format!("blob:{}", "a".repeat(52));
    let ended = place.run(&["blobs", "get", &id, "-o", "precious.txt", "--server", &url]).with(3);
    assert!(ended.stderr.contains("bytes that are not those"), "{}", ended.stderr);
    serving.join().unwrap();
    assert_eq!(fs::read_to_string(file).unwrap(), "precious");
    let others = fs::read_dir(place.folder()).unwrap();
    let names: Vec<_> = others.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().starts_with(".wardian-")), "{names:?}");
}

#[test]
fn without_a_server_commands_use_the_store_of_this_machine() {
    let place = Command::new();
    place.file("a.txt", "one");
    let id = place.run(&["blobs", "put", "a.txt"]).with(0).stdout.trim().to_owned();
    let piped = place.run_with_input(&["blobs", "put", "-", "--json"], "two").with(0).json();
    assert_eq!(piped["size_bytes"], 3);
    assert_eq!(place.run(&["blobs", "list", "--json"]).with(0).json().as_array().unwrap().len(), 2);
    place.run(&["blobs", "scrub"]).with(0);
    let data = place.folder().join("data");
    damage(&data, &id);
    let ended = place.run(&["blobs", "scrub", "--quarantine", "--json"]).with(3).json();
    assert_eq!(ended["damaged"][0]["treatment"], "quarantined");
    assert_eq!(fs::read_dir(data.join("blobs/quarantine")).unwrap().count(), 1);
    place.run(&["blobs", "delete", piped["blob_id"].as_str().unwrap()]).with(0);
    assert_eq!(place.run(&["blobs", "list", "--json"]).with(0).json(), json!([]));
}

#[test]
fn beside_a_server_the_store_is_read_and_not_changed() {
    let server = TestServer::start(&[]);
    let id = server.client().create_text("beside", "text/plain");
    let damaged = server.client().create_text("damaged", "text/plain");
    damage(server.data_dir(), &damaged);
    let data = server.data_dir().to_str().unwrap();
    let place = Command::new();
    place.file("a.txt", "one");
    let beside = |arguments: &[&str]| {
        let mut arguments = arguments.to_vec();
        arguments.extend(["--data-dir", data]);
        place.run(&arguments)
    };
    assert_eq!(beside(&["blobs", "get", &id]).with(0).stdout, "beside");
    assert_eq!(beside(&["blobs", "list", "--json"]).with(0).json().as_array().unwrap().len(), 2);
    let found = beside(&["blobs", "scrub", "--json"]).with(3).json();
    assert_eq!(found["damaged"][0]["blob_id"], damaged.as_str());
    for change in [
        &["blobs", "put", "a.txt"][..],
        &["blobs", "delete", &id],
        &["blobs", "scrub", "--delete"],
        &["blobs", "scrub", "--quarantine"],
    ] {
        let refused = beside(change).with(2).stderr;
        assert!(refused.contains("--server"), "{change:?}: {refused}");
    }
    assert_eq!(server.client().read_bytes(&id), b"beside");
}
