//! Disks that fail under a running server, damaged blobs, and kills while blobs are written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command as Process;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;

use crate::support::{Connection, Reply, TestServer, WARDIAN, repository};

fn ask(server: &TestServer, line: &str, body: &[u8]) -> Reply {
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    let mut connection: Connection = server.connect();
    connection.send(head).send(body).reply()
}

fn put(server: &TestServer, content: &[u8]) -> String {
    let reply = ask(server, "PUT /v1/blobs", content);
    assert!([200, 201].contains(&reply.status), "{reply:?}");
    reply.json()["blob_id"].as_str().unwrap().to_owned()
}

/// Limits the size of files that the server may write.
fn limit_files(server: &TestServer, bytes: Option<u64>) {
    let process = Pid::from_raw(i32::try_from(server.process().id).unwrap());
    prlimit(process, Resource::Fsize, Rlimit { current: bytes, maximum: None }).unwrap();
}

#[test]
fn a_disk_that_takes_no_more_is_an_error_and_leaves_nothing() {
    let server = TestServer::start(&[]);
    let kept = put(&server, b"kept");
    limit_files(&server, Some(1 << 20));
    let large = vec![7; 3 << 20];
    let reply = ask(&server, "PUT /v1/blobs", &large);
    assert_eq!((reply.status, reply.kind().as_str()), (503, "overloaded"), "{reply:?}");
    assert!(String::from_utf8_lossy(&reply.body).contains("the blob store is full"), "{reply:?}");
    let content = data_encoding::BASE64.encode(&large);
    let params = json!({"content": content, "kind": "a/b", "encoding": "base64"});
    let refused = server.client().refusal("create_blob", params);
    assert_eq!(refused.kind, "overloaded");
    let code =
        "from runtime import blobs\ndef main(args): return blobs.write_bytes(bytes(3 << 20))";
    let result = server.client().run_with(code, json!({}));
    assert_eq!(result["error"]["type"], "OSError", "{result}");
    let drafts = fs::read_dir(server.data_dir().join("blobs/drafts")).unwrap().count();
    assert_eq!(drafts, 0, "drafts are left");
    assert_eq!(ask(&server, &format!("GET /v1/blobs/{kept}"), b"").body, b"kept");
    // Without a restart.
    limit_files(&server, None);
    put(&server, &large);
}

#[test]
fn a_store_that_cannot_be_written_to_says_so_and_recovers() {
    let server = TestServer::start(&[]);
    let kept = put(&server, b"kept");
    let blobs = server.data_dir().join("blobs");
    for folder in ["drafts", "tenants/local"] {
        let (here, away) = (blobs.join(folder), blobs.join("away"));
        fs::rename(&here, &away).unwrap();
        let reply = ask(&server, "PUT /v1/blobs", folder.as_bytes());
        assert_eq!((reply.status, reply.kind().as_str()), (500, "internal"), "{folder}: {reply:?}");
        let said = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(!said.contains("blobs/") && !said.contains("os error"), "{said}");
        fs::rename(&away, &here).unwrap();
        assert_eq!(fs::read_dir(blobs.join("drafts")).unwrap().count(), 0, "{folder}");
        put(&server, folder.as_bytes());
    }
    assert_eq!(ask(&server, &format!("GET /v1/blobs/{kept}"), b"").body, b"kept");
}

#[test]
fn a_damaged_blob_is_never_sent() {
    let server = TestServer::start(&[]);
    let ids = [&b"first"[..], b"second", b"third"].map(|content| put(&server, content));
    let path = |id: &str| server.data_dir().join("blobs/tenants/local").join(&id[5..]);
    for id in &ids {
        let mut bytes = fs::read(path(id)).unwrap();
        bytes[0] ^= 1;
        fs::set_permissions(path(id), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(path(id), bytes).unwrap();
    }
    let reply = ask(&server, &format!("GET /v1/blobs/{}", ids[0]), b"");
    assert_eq!((reply.status, reply.kind().as_str()), (500, "internal"));
    assert_eq!(ask(&server, &format!("GET /v1/blobs/{}", ids[0]), b"").status, 404);

    let verify =
        |id: &str, query: &str| ask(&server, &format!("POST /v1/blobs/{id}/verify{query}"), b"");
    let kept = verify(&ids[1], "");
    assert_eq!((kept.status, &kept.json()["intact"]), (200, &json!(false)));
    assert!(path(&ids[1]).try_exists().unwrap());
    assert_eq!(verify(&ids[1], "?damaged=quarantine").json()["intact"], false);
    assert_eq!(verify(&ids[1], "").status, 404);
    assert_eq!(verify(&ids[2], "?damaged=delete").json()["intact"], false);
    assert_eq!(verify(&ids[2], "").status, 404);
    let quarantine = fs::read_dir(server.data_dir().join("blobs/quarantine")).unwrap().count();
    assert_eq!(quarantine, 2);
    assert_eq!(verify(&put(&server, b"good"), "?damaged=delete").json()["intact"], true);
    assert_eq!(verify(&ids[0], "?damaged=burn").status, 400);
}

/// `scripts/blob-torture` in short.
#[test]
fn acknowledged_is_durable_when_the_server_is_killed() {
    let ended = Process::new(repository("scripts/blob-torture"))
        .args(["--json", "--rounds", "6", "--wardian", WARDIAN])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{said}\n{}", String::from_utf8_lossy(&ended.stderr));
    let summary: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&summary["rounds"], &summary["problems"]), (&json!(6), &json!(0)));
    assert!(summary["blobs_at_the_end"].as_u64() > Some(0), "{said}");
}
