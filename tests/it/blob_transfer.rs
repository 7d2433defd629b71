//! Blobs as streams over HTTP: uploads, ranges, conditions, the list, and hostile clients.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use data_encoding::BASE64;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Connection, Reply, TestServer, eventually, output};

const MIB: usize = 1 << 20;
const SOON: Duration = Duration::from_secs(30);

/// Sends a request on a connection of its own and returns the answer.
fn ask(server: &TestServer, line: &str, headers: &str, body: &[u8]) -> Reply {
    let mut connection = server.connect();
    let length = body.len();
    let head =
        format!("{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}\r\n");
    connection.send(head).send(body);
    if line.starts_with("HEAD ") { connection.head() } else { connection.reply() }
}

fn get(server: &TestServer, id: &str, headers: &str) -> Reply {
    ask(server, &format!("GET /v1/blobs/{id}"), headers, b"")
}

/// Stores content; returns the id.
fn put(server: &TestServer, kind: &str, content: &[u8]) -> String {
    let reply = ask(server, "PUT /v1/blobs", &format!("Content-Type: {kind}\r\n"), content);
    assert!([200, 201].contains(&reply.status), "{reply:?}");
    let told = reply.json();
    assert_eq!(told["size_bytes"], content.len());
    told["blob_id"].as_str().unwrap().to_owned()
}

fn bytes(count: usize) -> Vec<u8> {
    (0..=250).cycle().take(count).collect()
}

fn drafts(server: &TestServer) -> Vec<PathBuf> {
    let folder = fs::read_dir(server.data_dir().join("blobs/drafts")).unwrap();
    folder.map(|entry| entry.unwrap().path()).collect()
}

/// Open files of the server, those of its connections included.
fn descriptors(server: &TestServer) -> usize {
    fs::read_dir(format!("/proc/{}/fd", server.process().id)).unwrap().count()
}

/// A server that opens no files by itself: with images that are made in the background, each of
/// which stays open, the number of open files would grow at any time.
fn start_quiet(arguments: &[&str]) -> TestServer {
    TestServer::start(&[&["--set", "images.on_need=false"], arguments].concat())
}

/// Open files of a quiet server once it has nothing to do: closed connections take a while.
fn at_rest(server: &TestServer) -> usize {
    let mut last = descriptors(server);
    let mut unchanged = 0;
    eventually(SOON, || {
        let now = descriptors(server);
        unchanged = if now == last { unchanged + 1 } else { 0 };
        last = now;
        (unchanged > 25).then_some(())
    });
    last
}

/// Waits until a quiet server holds no draft and no more descriptors than before.
fn settles(server: &TestServer, before: usize) {
    eventually(SOON, || (drafts(server).is_empty() && descriptors(server) <= before).then_some(()));
}

#[test]
fn content_of_any_size_goes_in_and_comes_out() {
    let server = TestServer::shared();
    for size in [0, 1, 131_071, 131_072, 131_073, 5 * MIB + 7] {
        let content = bytes(size);
        let head = "Content-Type: a/b\r\n";
        let first = ask(server, "PUT /v1/blobs", head, &content);
        assert_eq!(first.status, 201, "{first:?}");
        let id = first.json()["blob_id"].as_str().unwrap().to_owned();
        assert_eq!(first.json(), json!({"blob_id": id, "size_bytes": size}));
        assert_eq!(first.header("location"), format!("/v1/blobs/{id}"));
        let tag = format!("\"{}\"", id.strip_prefix("blob:").unwrap());
        assert_eq!(first.header("etag"), tag);
        let again = ask(server, "PUT /v1/blobs", head, &content);
        assert_eq!((again.status, again.json()), (200, first.json()));

        let read = get(server, &id, "");
        assert_eq!((read.status, read.header("content-type")), (200, "a/b"));
        assert_eq!(read.header("etag"), tag);
        assert_eq!(read.header("accept-ranges"), "bytes");
        assert!(read.body == content, "{size} bytes came back otherwise");
        let described = ask(server, &format!("HEAD /v1/blobs/{id}"), "", b"");
        assert_eq!(described.header("content-length"), size.to_string());
        assert_eq!(described.header("etag"), tag);
    }
}

#[test]
fn a_blob_is_the_same_by_every_way() {
    let server = TestServer::shared();
    let client = server.client();
    let id = client.create_text("one content", "text/plain; charset=utf-8");
    assert_eq!(put(server, "Text/Plain;charset=UTF-8", b"one content"), id);
    assert_eq!(get(server, &id, "").header("content-type"), "text/plain; charset=utf-8");
    let code = "
from runtime import blobs
def main(args):
    return [blobs.read_text(args['id']), blobs.write_text('by a run', 'text/plain')]
";
    let result = client.run_with(code, json!({"args": {"id": id}, "input_blobs": [id]}));
    let written = output(&result)["result"][1].as_str().unwrap();
    assert_eq!(get(server, written, "").body, b"by a run");
}

#[test]
fn a_body_of_unknown_length_is_stored() {
    let server = TestServer::shared();
    let content = bytes(300_000);
    let mut connection = server.connect();
    connection.send("PUT /v1/blobs?filename=table.CSV HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for piece in content.chunks(7_001) {
        connection.send(format!("{:x}\r\n", piece.len())).send(piece).send("\r\n");
    }
    let stored = connection.send("0\r\n\r\n").reply();
    assert_eq!(stored.status, 201);
    let id = stored.json()["blob_id"].as_str().unwrap().to_owned();
    let read = get(server, &id, "");
    assert!(read.body == content);
    assert_eq!(read.header("content-type"), "text/csv");
    // The connection goes on.
    let next = connection.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").reply();
    assert_eq!(next.status, 200);
}

#[test]
fn a_client_that_waits_for_permission_is_told_before_it_sends() {
    let server = TestServer::shared();
    let head = |length: &str, more: &str| {
        format!(
            "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\nExpect: 100-continue\r\n{more}\r\n"
        )
    };
    let mut connection = server.connect();
    connection.send(head("3", ""));
    assert_eq!(connection.head().status, 100);
    assert_eq!(connection.send("abc").reply().status, 201);

    // Nothing is sent in these cases, and the refusal comes nevertheless.
    let known = put(server, "a/b", b"known content");
    let tag = known.strip_prefix("blob:").unwrap();
    let condition = format!("If-None-Match: \"x\", \"{tag}\"\r\n");
    for (length, more, status) in [
        ("999999999999999", "", 413),
        ("17592186044417", "", 413),
        ("3", "Content-Type: nonsense\r\n", 400),
        ("3", "Content-Encoding: gzip\r\n", 415),
        ("3", "Content-Range: bytes 0-2/9\r\n", 400),
        ("3", "Repr-Digest: sha-256=:AAAA:\r\n", 400),
        ("13", &condition, 412),
    ] {
        let mut connection = server.connect();
        let reply = connection.send(head(length, more)).reply();
        assert_eq!(reply.status, status, "{length} {more}: {reply:?}");
        assert_eq!(reply.header("connection"), "close", "{more}");
    }
}

#[test]
fn lengths_that_are_none_are_refused() {
    let server = TestServer::shared();
    for framing in [
        "Content-Length: 99999999999999999999999",
        "Content-Length: -1",
        "Content-Length: 1e3",
        "Content-Length: 0x10",
        "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: gzip",
    ] {
        let mut connection = server.connect();
        connection
            .send(format!("PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\nabcd"));
        let said = String::from_utf8_lossy(&connection.rest()).into_owned();
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{framing}: {said}");
    }
    assert!(drafts(server).len() <= 8, "{:?}", drafts(server));
}

#[test]
fn a_digest_guards_the_content() {
    let server = TestServer::shared();
    let digest = |content: &[u8]| BASE64.encode(&Sha256::digest(content));
    for (name, sent, status) in [
        ("Repr-Digest", &b"guarded"[..], 201),
        ("Content-Digest", b"guarded", 200),
        ("Repr-Digest", b"other", 400),
    ] {
        let header = format!("{name}: md5=:AAAA:, sha-256=:{}:\r\n", digest(b"guarded"));
        let reply = ask(server, "PUT /v1/blobs", &header, sent);
        assert_eq!(reply.status, status, "{reply:?}");
    }
}

#[test]
fn ranges_select_bytes_of_the_content() {
    let server = TestServer::shared();
    let content = bytes(400_000);
    let id = put(server, "a/b", &content);
    for (range, expected) in [
        ("bytes=0-0", 0..1),
        ("bytes=399999-", 399_999..400_000),
        ("bytes=-5", 399_995..400_000),
        ("bytes=131071-262144", 131_071..262_145),
        ("bytes=100-99999999999999999999", 100..400_000),
    ] {
        let reply = get(server, &id, &format!("Range: {range}\r\n"));
        assert_eq!(reply.status, 206, "{range}");
        let named = format!("bytes {}-{}/400000", expected.start, expected.end - 1);
        assert_eq!(reply.header("content-range"), named);
        assert!(reply.body == content[expected], "{range}");
    }
    for range in ["bytes=400000-", "bytes=-0", "bytes=99999999999999999999-"] {
        let reply = get(server, &id, &format!("Range: {range}\r\n"));
        assert_eq!((reply.status, reply.header("content-range")), (416, "bytes */400000"));
    }
    let many = format!("Range: bytes={}\r\n", "0-0,".repeat(2_000));
    for headers in [
        "Range: bytes=0-0,5-6\r\n",
        "Range: bytes=5-4\r\n",
        "Range: lines=0-1\r\n",
        "Range: bytes=0-0\r\nRange: bytes=1-1\r\n",
        "Range: bytes=0-0\r\nIf-Range: \"other\"\r\n",
        "Range: bytes=0-0\r\nIf-Range: Sun, 22 Nov 2026 08:00:00 GMT\r\n",
        &many,
    ] {
        let reply = get(server, &id, headers);
        assert_eq!((reply.status, reply.body.len()), (200, 400_000), "{headers:.80}");
    }
    let same = format!("Range: bytes=0-0\r\nIf-Range: \"{}\"\r\n", &id[5..]);
    assert_eq!(get(server, &id, &same).status, 206);
    let described = ask(server, &format!("HEAD /v1/blobs/{id}"), "Range: bytes=0-0\r\n", b"");
    assert_eq!((described.status, described.header("content-length")), (200, "400000"));
}

#[test]
fn conditions_spare_the_content() {
    let server = TestServer::shared();
    let id = put(server, "a/b", b"conditions");
    let tag = &id[5..];
    for (condition, status) in [
        (format!("If-None-Match: \"{tag}\""), 304),
        (format!("If-None-Match: \"x\", W/\"{tag}\""), 304),
        ("If-None-Match: *".to_owned(), 304),
        ("If-None-Match: \"x\"".to_owned(), 200),
        (format!("If-Match: \"{tag}\""), 200),
        ("If-Match: \"x\"".to_owned(), 412),
    ] {
        let mut connection = server.connect();
        let head = format!("GET /v1/blobs/{id} HTTP/1.1\r\nHost: localhost\r\n{condition}\r\n\r\n");
        let reply = connection.send(head).head();
        assert_eq!(reply.status, status, "{condition}");
        assert_eq!(reply.header("etag"), format!("\"{tag}\""));
    }
    // `*` stores what is new only.
    let only_new = "If-None-Match: *\r\n";
    assert_eq!(ask(server, "PUT /v1/blobs", only_new, b"brand new content").status, 201);
    assert_eq!(ask(server, "PUT /v1/blobs", only_new, b"brand new content").status, 412);
}

#[test]
fn inert_content_whatever_its_kind() {
    let server = TestServer::shared();
    let id = put(server, "text/html", b"<script>alert(1)</script>");
    let evil = "%3Cb%3E%22%0D%0AX";
    let reply = get(server, &id, "");
    assert_eq!(reply.header("content-type"), "text/html");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    assert_eq!(reply.header("content-security-policy"), "sandbox; default-src 'none'");
    assert_eq!(reply.header("cross-origin-resource-policy"), "same-origin");
    let name = format!("attachment; filename=\"{}.html\"", &id[5..17]);
    assert_eq!(reply.header("content-disposition"), name);
    let named = get(server, &format!("{id}?filename=r%C3%A9sum%C3%A9.html"), "");
    assert_eq!(
        named.header("content-disposition"),
        "attachment; filename=\"r_sum_.html\"; filename*=UTF-8''r%C3%A9sum%C3%A9.html"
    );
    assert_eq!(get(server, &format!("{id}?filename={evil}"), "").status, 400);
    assert_eq!(get(server, &format!("{id}?other=1"), "").status, 400);
}

#[test]
fn the_name_of_an_upload_is_kept_and_proposed() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start_on(folder.path(), &[]);
    let stored = ask(&server, "PUT /v1/blobs?filename=t%C3%A4glich%201.csv", "", b"a,b\n");
    assert_eq!((stored.status, stored.json()["name"].as_str()), (201, Some("täglich 1.csv")));
    let id = stored.json()["blob_id"].as_str().unwrap().to_owned();
    let expected = "attachment; filename=\"t_glich 1.csv\"; filename*=UTF-8''t%C3%A4glich%201.csv";
    assert_eq!(get(&server, &id, "").header("content-disposition"), expected);
    // Without a name the old one stays; another one takes its place.
    let again = ask(&server, "PUT /v1/blobs", "Content-Type: text/csv\r\n", b"a,b\n");
    assert_eq!((again.status, again.json()["name"].as_str()), (200, Some("täglich 1.csv")));
    ask(&server, "PUT /v1/blobs?filename=b.csv", "", b"a,b\n");
    ask(&server, "PUT /v1/blobs", "Content-Type: text/plain\r\n", b"unnamed");
    for name in ["..", "a%2Fb", "a%0D%0Ab", "%E2%80%AEx", "%00"] {
        let refused = ask(&server, &format!("PUT /v1/blobs?filename={name}"), "", b"x");
        assert_eq!(refused.status, 400, "{name}");
    }
    drop(server);
    let server = TestServer::start_on(folder.path(), &[]);
    let listed = ask(&server, "GET /v1/blobs", "", b"").json();
    let names: Vec<Option<&str>> =
        listed["blobs"].as_array().unwrap().iter().map(|blob| blob["name"].as_str()).collect();
    assert_eq!(names.len(), 2, "{listed}");
    assert!(names.contains(&Some("b.csv")) && names.contains(&None), "{listed}");
    assert!(
        listed["blobs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|blob| blob["name"] != Value::Null || blob.get("name").is_none())
    );
    assert_eq!(ask(&server, &format!("DELETE /v1/blobs/{id}"), "", b"").status, 204);
    let again = ask(&server, "PUT /v1/blobs", "Content-Type: text/csv\r\n", b"a,b\n");
    assert_eq!(again.json().get("name"), None, "a name goes with its blob");
}

#[test]
fn ids_with_tricks_name_no_blob() {
    let server = TestServer::shared();
    let id = put(server, "a/b", b"tricks");
    let letters = &id[5..];
    for trick in [
        "blob:../../../etc/passwd",
        "blob:..%2f..%2flock",
        "..%2f..%2flock",
        letters,
        &id.to_uppercase(),
        &format!("{id}%20"),
        &format!("{id}%00"),
        &format!("{id}%0a"),
        &format!("%20{id}"),
        &format!("{id}."),
        &format!("blob:{id}"),
        &format!("BLOB:{letters}"),
        &format!("blob:{}", &letters[..51]),
        &format!("blob:{}9", &letters[..51]),
        &format!("blob:{}", "a".repeat(52)),
        &format!("blob:{}", "%C3%A9".repeat(26)),
        "blob:*",
        "%ff",
        &"a".repeat(8_000),
    ] {
        for method in ["GET", "DELETE"] {
            let reply = ask(server, &format!("{method} /v1/blobs/{trick}"), "", b"");
            assert!([400, 404].contains(&reply.status), "{method} {trick:.90}: {reply:?}");
            let said = String::from_utf8_lossy(&reply.body).into_owned();
            assert!(!said.contains("/tmp") && !said.contains("tenants"), "{said}");
        }
    }
    assert_eq!(get(server, &id.replace(':', "%3A"), "").status, 200, "a colon may be encoded");
    for line in [
        "POST /v1/blobs",
        "DELETE /v1/blobs",
        &format!("PUT /v1/blobs/{id}"),
        &format!("POST /v1/blobs/{id}"),
        &format!("GET /v1/blobs/{id}/verify"),
    ] {
        let reply = ask(server, line, "", b"");
        assert_eq!((reply.status, reply.header("allow").is_empty()), (405, false), "{line}");
    }
    for path in ["/v1/", "/v1/blobs/", &format!("/v1/blobs/{id}/"), &format!("/v1/blobs/../{id}")] {
        let reply = ask(server, &format!("GET {path}"), "", b"");
        assert!([404, 405].contains(&reply.status), "{path}: {reply:?}");
    }
}

#[test]
fn the_rules_for_hosts_and_websites_hold_for_blobs() {
    let server = TestServer::start(&["--set", "http.allowed_origins=https://a.example"]);
    let id = put(&server, "a/b", b"guarded");
    let requests = [
        "PUT /v1/blobs".to_owned(),
        "GET /v1/blobs".to_owned(),
        format!("GET /v1/blobs/{id}"),
        format!("DELETE /v1/blobs/{id}"),
        format!("POST /v1/blobs/{id}/verify"),
    ];
    for line in &requests {
        let mut connection = server.connect();
        let head = format!("{line} HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(connection.send(head).reply().status, 403, "{line}");
        let evil = "Origin: https://evil.example\r\n";
        assert_eq!(ask(&server, line, evil, b"").status, 403, "{line}");
    }
    let allowed = get(&server, &id, "Origin: https://a.example\r\n");
    assert_eq!(allowed.header("access-control-allow-origin"), "https://a.example");
    assert!(allowed.header("access-control-expose-headers").contains("content-range"));
    for (path, methods) in [
        ("/v1/blobs".to_owned(), "GET, PUT"),
        (format!("/v1/blobs/{id}"), "GET, HEAD, DELETE"),
        (format!("/v1/blobs/{id}/verify"), "POST"),
    ] {
        let asked = "Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n";
        let reply = ask(&server, &format!("OPTIONS {path}"), asked, b"");
        assert_eq!(reply.header("access-control-allow-methods"), methods, "{path}");
        assert!(reply.header("access-control-allow-headers").contains("if-none-match"));
    }
    assert_eq!(get(&server, &id, "").status, 200);
}

#[test]
fn limits_hold_for_announced_and_for_unannounced_content() {
    let set = ["--set", "blobs.max_size=1 MiB", "--set", "blobs.quota=1536 KiB"];
    let server = start_quiet(&set);
    let before = at_rest(&server);
    let endless = |server: &TestServer| {
        let mut connection = server.connect();
        connection.send(
            "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        let piece = vec![7; 65_536];
        for _ in 0..100 {
            let sent = connection
                .try_send("10000\r\n")
                .and_then(|()| connection.try_send(&piece))
                .and_then(|()| connection.try_send("\r\n"));
            if sent.is_err() {
                break;
            }
        }
        connection.reply()
    };
    let reply = endless(&server);
    assert_eq!((reply.status, reply.kind().as_str()), (413, "too_large"));
    let reply = ask(&server, "PUT /v1/blobs", "", &bytes(MIB + 1));
    assert_eq!((reply.status, reply.kind().as_str()), (413, "too_large"));
    let id = put(&server, "a/b", &bytes(MIB));
    for reply in [endless(&server), ask(&server, "PUT /v1/blobs", "", &bytes(600_000))] {
        assert_eq!((reply.status, reply.kind().as_str()), (507, "quota_exceeded"));
    }
    settles(&server, before);
    // Deleting makes room at once.
    assert_eq!(ask(&server, &format!("DELETE /v1/blobs/{id}"), "", b"").status, 204);
    assert_eq!(ask(&server, &format!("DELETE /v1/blobs/{id}"), "", b"").status, 404);
    put(&server, "a/b", &bytes(600_000));
}

#[test]
fn aborted_transfers_leave_nothing() {
    let server = start_quiet(&[]);
    let id = put(&server, "a/b", &bytes(8 * MIB));
    let before = at_rest(&server);
    for round in 0..20 {
        let mut upload = server.connect();
        upload
            .send("PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000000\r\n\r\n")
            .send(bytes(round * 40_000));
        let mut download = server.connect();
        download.send(format!("GET /v1/blobs/{id} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        if round % 2 == 0 {
            download.head();
        }
        drop((upload, download));
    }
    settles(&server, before);
    let listed = ask(&server, "GET /v1/blobs", "", b"").json();
    assert_eq!(listed["blobs"].as_array().unwrap().len(), 1);
    assert_eq!(get(&server, &id, "").body.len(), 8 * MIB);
}

/// The most memory that the gateway says it takes, in bytes.
fn stated(server: &TestServer) -> u64 {
    let line = server.wait_for_log("the gateway takes at most");
    let mut words = line.split("at most ").nth(1).unwrap().split(' ');
    let number: u64 = words.next().unwrap().parse().unwrap();
    match words.next().unwrap() {
        "MiB" => number << 20,
        "GiB" => number << 30,
        other => panic!("a size in {other}: {line}"),
    }
}

#[test]
fn sixty_four_slow_uploads_and_downloads_stay_within_the_stated_memory() {
    let set = ["--set", "http.memory=128 MiB", "--set", "http.max_connections=256"];
    let server = start_quiet(&set);
    let most = stated(&server);
    let id = put(&server, "a/b", &bytes(16 * MIB));
    let before = at_rest(&server);
    let memory = server.process().memory("VmRSS");
    let begin = |length: usize| {
        let mut upload = server.connect();
        let head = format!(
            "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
        );
        upload.send(head).send(bytes(200_000));
        upload
    };
    let uploads: Vec<Connection> = (0..64).map(|_| begin(5_000_000)).collect();
    eventually(SOON, || (drafts(&server).len() == 64).then_some(()));
    let refused = begin(200_000).reply();
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
    let downloads: Vec<Connection> = (0..64)
        .map(|_| {
            let mut download = server.connect();
            download.send(format!("GET /v1/blobs/{id} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
            assert_eq!(download.head().status, 200);
            download
        })
        .collect();
    assert_eq!(get(&server, &id, "").status, 503);
    // Everything else works meanwhile.
    assert_eq!(output(&server.client().run("40 + 2"))["result"], 42);
    let peak = server.process().memory("VmHWM");
    assert!(peak <= most, "{peak} bytes of {most}");
    let grown = peak - memory;
    eprintln!("128 transfers took {} MiB", grown >> 20);
    assert!(grown < 96 << 20, "{grown} bytes for 128 transfers");
    drop((uploads, downloads));
    settles(&server, before);
    put(&server, "a/b", b"and on it goes");
}

#[test]
fn slow_and_silent_uploads_are_cut_off() {
    let server = start_quiet(&["--set", "http.body_timeout=1 s"]);
    let before = at_rest(&server);
    let head = "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n";
    let mut silent = server.connect();
    silent.send(head).send("abc");
    let mut dripping = server.connect();
    dripping.send(head);
    let began = Instant::now();
    while dripping.try_send("x").is_ok() && began.elapsed() < SOON {
        if let Some(reply) = dripping.reply_within(Duration::from_millis(100)) {
            assert_eq!(reply.status, 408, "{reply:?}");
            break;
        }
    }
    assert!(began.elapsed() < SOON, "it goes on forever");
    assert_eq!(silent.reply().status, 408);
    settles(&server, before);
    // A client that is slow on the whole earns its time.
    let mut steady = server.connect();
    let content = bytes(400_000);
    let length = content.len();
    steady.send(format!(
        "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n"
    ));
    for piece in content.chunks(100_000) {
        steady.send(piece);
        thread::park_timeout(Duration::from_millis(500));
    }
    assert_eq!(steady.reply().status, 201);
}

#[test]
fn readers_that_take_nothing_are_cut_off_and_slow_ones_are_not() {
    let server =
        start_quiet(&["--set", "http.stall_timeout=2 s", "--set", "http.idle_timeout=1 s"]);
    let content = bytes(96 * MIB);
    let id = put(&server, "a/b", &content);
    let before = at_rest(&server);
    let mut silent = server.connect();
    silent.send(format!("GET /v1/blobs/{id} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_eq!(silent.head().status, 200);
    // This one pauses, longer in all than a connection may be idle.
    let mut slow = std::net::TcpStream::connect(&server.address).unwrap();
    std::io::Write::write_all(
        &mut slow,
        format!("GET /v1/blobs/{id} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .as_bytes(),
    )
    .unwrap();
    let mut taken = 0;
    let mut buffer = vec![0; 2 * MIB];
    loop {
        let count = std::io::Read::read(&mut slow, &mut buffer).unwrap();
        if count == 0 {
            break;
        }
        taken += count;
        thread::park_timeout(Duration::from_millis(40));
    }
    assert!(taken > content.len(), "{taken} bytes of {}", content.len());
    drop(slow);
    eventually(SOON, || (descriptors(&server) <= before).then_some(()));
    assert!(silent.rest().len() < content.len());
}

#[test]
fn the_list_is_paged_in_the_order_that_is_asked_for() {
    let server = TestServer::start(&[]);
    let names = ["b.csv", "", "A.csv", "ü.csv", "", "c.csv", "a.csv"];
    let ids: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            // So that no two are of one millisecond.
            thread::park_timeout(Duration::from_millis(3));
            let text = "x".repeat(10 + (n * 3) % 7);
            let path = format!("PUT /v1/blobs?filename={}", name.replace('ü', "%C3%BC"));
            let path = if name.is_empty() { "PUT /v1/blobs" } else { &path };
            let made = ask(&server, path, "Content-Type: text/csv\r\n", text.as_bytes()).json();
            made["blob_id"].as_str().unwrap().to_owned()
        })
        .collect();
    let get = |query: &str| ask(&server, &format!("GET /v1/blobs?{query}"), "", b"");
    let paged = |order: &str, limit: usize| {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = get(&format!("order={order}&limit={limit}{cursor}")).json();
            found.extend(page["blobs"].as_array().unwrap().iter().cloned());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return found,
            }
        }
    };
    let of = |blobs: &[Value], member: &str| -> Vec<Value> {
        blobs.iter().map(|blob| blob[member].clone()).collect()
    };
    for limit in [1, 2, 3, 1_000] {
        let newest = of(&paged("created", limit), "blob_id");
        assert_eq!(newest, ids.iter().rev().map(|id| json!(id)).collect::<Vec<_>>());
        let named = of(&paged("name", limit), "name");
        let expected = ["A.csv", "a.csv", "b.csv", "c.csv", "ü.csv"].map(|name| json!(name));
        assert_eq!(named[..5], expected, "{limit}");
        assert_eq!(named[5..], [Value::Null, Value::Null]);
        let sizes = of(&paged("size", limit), "size_bytes");
        assert_eq!(sizes, [16, 15, 14, 13, 12, 11, 10].map(|size| json!(size)));
        assert_eq!(paged("id", limit), paged("id", 7));
    }
    // The blob that a cursor names may be gone, and a new one does not move the others.
    let first = get("order=created&limit=2").json();
    let gone = first["blobs"][1]["blob_id"].as_str().unwrap();
    ask(&server, &format!("DELETE /v1/blobs/{gone}"), "", b"");
    put(&server, "text/plain", b"newer");
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = get(&format!("order=created&cursor={cursor}")).json();
    assert_eq!(rest["blobs"][0]["blob_id"], json!(ids[4]), "{rest}");
    assert_eq!(rest["blobs"].as_array().unwrap().len(), 5);
    for query in ["order=age", "order=", "order=name&cursor=x", "order=id&cursor=1.a.b"] {
        assert_eq!(get(query).status, 400, "{query}");
    }
    assert_eq!(get(&format!("cursor={cursor}")).status, 400, "of another order");
}

#[test]
fn the_list_has_each_blob_once() {
    let server = TestServer::start(&[]);
    let empty = ask(&server, "GET /v1/blobs", "", b"").json();
    assert_eq!(empty, json!({"blobs": [], "next_cursor": null}));
    let mut ids: Vec<String> =
        (0..7).map(|n| put(&server, "text/plain", format!("blob {n}").as_bytes())).collect();
    ids.sort();
    let page = |query: &str| ask(&server, &format!("GET /v1/blobs?{query}"), "", b"").json();
    let listed = |page: &Value| -> Vec<String> {
        let blobs = page["blobs"].as_array().unwrap().iter();
        blobs.map(|blob| blob["blob_id"].as_str().unwrap().to_owned()).collect()
    };
    let first = page("limit=3");
    assert_eq!(listed(&first), ids[..3]);
    let entry = &first["blobs"][0];
    assert_eq!((&entry["kind"], &entry["size_bytes"]), (&json!("text/plain"), &json!(6)));
    assert!(entry["created_ms"].as_u64() > Some(1_700_000_000_000));
    assert!(entry["last_used_ms"].as_u64() >= entry["created_ms"].as_u64());
    let cursor = first["next_cursor"].as_str().unwrap();
    ask(&server, &format!("DELETE /v1/blobs/{}", ids[2]), "", b"");
    let second = page(&format!("limit=1000&cursor={cursor}"));
    assert_eq!(listed(&second), ids[3..]);
    assert_eq!(second["next_cursor"], Value::Null);
    for query in [
        "limit=0",
        "limit=-1",
        "limit=x",
        "limit=1&limit=2",
        "cursor=x",
        "cursor=../..",
        "cursor=",
        "sort=x",
    ] {
        let reply = ask(&server, &format!("GET /v1/blobs?{query}"), "", b"");
        assert_eq!(reply.status, 400, "{query}: {reply:?}");
    }
}

#[test]
fn a_deleted_blob_is_readable_to_the_run_that_has_it() {
    let server = TestServer::start(&["--workers", "1"]);
    let id = put(&server, "text/plain", b"held");
    let code = "
import time
from runtime import blobs
def main(args):
    print(blobs.write_text('begun'))
    time.sleep(1.5)
    return blobs.read_text(args['id'])
";
    let mark = {
        let scratch = TestServer::shared();
        put(scratch, "text/plain; charset=utf-8", b"begun")
    };
    let client = server.client();
    let asked = id.clone();
    let run = thread::spawn(move || {
        client.run_with(code, json!({"args": {"id": asked}, "input_blobs": [asked]}))
    });
    let plain = put(TestServer::shared(), "text/plain", b"begun");
    eventually(SOON, || {
        [&mark, &plain].iter().any(|id| get(&server, id, "").status == 200).then_some(())
    });
    assert_eq!(ask(&server, &format!("DELETE /v1/blobs/{id}"), "", b"").status, 204);
    assert_eq!(output(&run.join().unwrap())["result"], "held");
    assert_eq!(get(&server, &id, "").status, 404);
    let refused = server
        .client()
        .refusal("run_code", json!({"language": "python", "code": "1", "input_blobs": [id]}));
    assert_eq!(refused.kind, "blob_not_found");
}

#[test]
fn a_large_blob_reaches_a_small_guest() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let size = 192 * MIB;
    let id = put(&server, "application/octet-stream", &vec![1; size]);
    let code = "
def main(args):
    total = 0
    with open('/blobs/' + args['id'], 'rb') as file:
        while piece := file.read(1 << 20):
            total += len(piece)
        file.seek(-3, 2)
        return [total, len(file.read())]
";
    let limits = json!({"memory_bytes": 128 << 20, "timeout_ms": 60_000});
    let params = json!({"args": {"id": id}, "input_blobs": [id], "limits": limits});
    let result = server.client().run_with(code, params);
    assert_eq!(output(&result)["result"], json!([size, 3]));
    assert!(result["memory_peak_bytes"].as_u64().unwrap() < 128 << 20);
}
