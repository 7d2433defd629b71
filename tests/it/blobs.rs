//! Blobs over the protocol: storing, reading, parts, and quotas.

use serde_json::{Value, json};

use crate::support::{Client, Command, SkillFolder, TestServer, output};

fn client() -> Client {
    TestServer::shared().client()
}

/// A part of a blob.
fn read(client: &Client, id: &str, mode: &str, max_bytes: u64) -> Value {
    client.call("read_blob", json!({"blob_id": id, "mode": mode, "max_bytes": max_bytes})).unwrap()
}

#[test]
fn every_byte_comes_back_and_reaches_python() {
    let client = client();
    let all: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let binary = client.create_bytes(&all, "application/octet-stream");
    let text = client.create_text("Grüße\r\n\0 😀", "text/plain; charset=utf-8");
    assert_eq!(client.read_bytes(&binary), all);
    assert_eq!(client.read_bytes(&text), "Grüße\r\n\0 😀".as_bytes());
    let code = "
from runtime import blobs
def main(args):
    data = blobs.read_bytes(args['binary'])
    return [data == bytes(range(256)) * 273 + bytes(range(112)), blobs.read_text(args['text'])]
";
    let params = json!({"args": {"binary": binary, "text": text}, "input_blobs": [binary, text]});
    let result = client.run_with(code, params);
    assert_eq!(output(&result)["result"], json!([true, "Grüße\r\n\0 😀"]));
}

#[test]
fn without_an_encoding_the_kind_decides() {
    let client = client();
    for (kind, content, expected) in [
        ("text/plain", "aGFsbG8=", "aGFsbG8="),
        ("application/json", "{}", "{}"),
        ("image/svg+xml", "<svg/>", "<svg/>"),
        ("image/png", "aGFsbG8=", "hallo"),
        ("application/octet-stream", "aGFsbG8=", "hallo"),
    ] {
        let created =
            client.call("create_blob", json!({"content": content, "kind": kind})).unwrap();
        let id = created["blob_id"].as_str().unwrap();
        assert_eq!(client.read_bytes(id), expected.as_bytes(), "{kind}");
        assert_eq!(created["size_bytes"], expected.len(), "{kind}");
    }
}

#[test]
fn what_cannot_be_a_blob_is_refused_and_the_parameter_named() {
    for (params, parameter) in [
        (json!({"content": "aGFsbG8", "kind": "image/png"}), "content"),
        (json!({"content": "aGFs bG8=", "kind": "image/png"}), "content"),
        (json!({"content": "aGFsbG9=", "kind": "image/png"}), "content"),
        (json!({"content": 7, "kind": "text/plain"}), "content"),
        (json!({"kind": "text/plain"}), "content"),
        (json!({"content": "x"}), "kind"),
        (json!({"content": "x", "kind": ""}), "kind"),
        (json!({"content": "x", "kind": "text"}), "kind"),
        (json!({"content": "x", "kind": "text/plain\r\nX: y"}), "kind"),
        (json!({"content": "x", "kind": format!("text/{}", "x".repeat(130))}), "kind"),
        (json!({"content": "x", "kind": "text/plain", "encoding": "latin-1"}), "encoding"),
        (json!({"content": "x", "kind": "text/plain", "ttl": 5}), "ttl"),
    ] {
        let shown = params.to_string();
        let refused = client().refusal("create_blob", params);
        assert_eq!(refused.kind, "invalid_params", "{shown}: {refused:?}");
        let named = refused.data["parameter"] == parameter || refused.message.contains(parameter);
        assert!(named, "{shown}: {refused:?}");
    }
}

/// Bytes of memory that a process has ever had at once.
fn peak_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

#[test]
fn blobs_that_a_run_writes_are_memory_within_its_limits() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let code = "
import os
from runtime import blobs

def main(args):
    with open('/workspace/full', 'wb') as file:
        for _ in range(200):
            file.write(bytes(1 << 20))
    ids = [blobs.write_bytes(b'%02d' % number * (5 << 20)) for number in range(args['blobs'])]
    return sum(os.path.exists(blobs.path(id)) and len(blobs.read_bytes(id)) for id in ids[:3])
";
    let client = server.client();
    let worker = || server.workers().pop().unwrap().id;
    let (before, peaks) = (
        worker(),
        [0, 24].map(|blobs| {
            let ended = client.run_with(code, json!({"args": {"blobs": blobs}}));
            assert_eq!(
                output(&ended)["result"],
                blobs.min(3) * (10 << 20),
                "they can be read back"
            );
            peak_of(worker())
        }),
    );
    assert_eq!(worker(), before);
    // The free part of the first run's workspace, and the bytes that are being copied.
    let [without, with] = peaks;
    assert!(with < without + (56 << 20) + (40 << 20), "{without} bytes, then {with}");
}

#[test]
fn an_id_follows_from_content_and_kind() {
    let client = client();
    let one = client.create_text("same content", "text/plain");
    assert_eq!(one, client.create_bytes(b"same content", "text/plain"));
    assert_ne!(one, client.create_text("same content", "text/csv"));
    assert_ne!(one, client.create_text("other content", "text/plain"));
}

#[test]
fn parts_of_a_text_are_cut_between_characters() {
    let client = client();
    let id = client.create_text(&"aé€😀".repeat(100), "text/plain");
    let whole = "aé€😀".repeat(100);
    for max_bytes in 1..=40_u64 {
        for mode in ["sample_head", "sample_tail", "full"] {
            let part = read(&client, &id, mode, max_bytes);
            let content = part["content"].as_str().unwrap();
            let size = u64::try_from(content.len()).unwrap();
            assert!(size <= max_bytes && size + 3 >= max_bytes, "{mode} {max_bytes}: {part}");
            let is_there = if mode == "sample_tail" {
                whole.ends_with(content)
            } else {
                whole.starts_with(content)
            };
            assert!(is_there, "{mode} {max_bytes}: {part}");
            assert_eq!((&part["truncated"], &part["size_bytes"]), (&json!(true), &json!(1_000)));
        }
    }
    for mode in ["sample_head", "sample_tail", "full"] {
        let part = read(&client, &id, mode, 1_000);
        assert_eq!((&part["content"], &part["truncated"]), (&json!(whole), &json!(false)));
    }
}

#[test]
fn parts_of_bytes_come_as_base64() {
    let client = client();
    let bytes: Vec<u8> = (0..=255).rev().cycle().take(4_950).collect();
    let id = client.create_bytes(&bytes, "application/octet-stream");
    for (mode, expected) in [("sample_head", &bytes[..7]), ("sample_tail", &bytes[4_943..])] {
        let part = read(&client, &id, mode, 7);
        let content = part["content"].as_str().unwrap();
        assert_eq!(data_encoding::BASE64.decode(content.as_bytes()).unwrap(), expected, "{mode}");
        assert_eq!((&part["encoding"], &part["size_bytes"]), (&json!("base64"), &json!(4_950)));
    }
    let usual = client.call("read_blob", json!({"blob_id": id})).unwrap();
    let content = usual["content"].as_str().unwrap();
    assert_eq!(data_encoding::BASE64.decode(content.as_bytes()).unwrap(), &bytes[..2_000]);
}

#[test]
fn a_part_beyond_the_range_and_an_id_that_is_none_are_refused() {
    let client = client();
    let id = client.create_text("x", "text/plain");
    for (params, kind) in [
        (json!({"blob_id": id, "max_bytes": 0}), "invalid_params"),
        (json!({"blob_id": id, "max_bytes": 1_048_577}), "invalid_params"),
        (json!({"blob_id": id, "mode": "middle"}), "invalid_params"),
        (json!({"blob_id": "blob:../../etc/passwd"}), "blob_not_found"),
        (json!({"blob_id": id.to_uppercase()}), "blob_not_found"),
        (json!({"blob_id": format!("blob:{}", "a".repeat(52))}), "blob_not_found"),
    ] {
        let shown = params.to_string();
        assert_eq!(client.refusal("read_blob", params).kind, kind, "{shown}");
    }
}

#[test]
fn an_empty_blob_is_a_blob() {
    let client = client();
    let id = client.create_text("", "text/plain");
    let part = read(&client, &id, "full", 1);
    assert_eq!((&part["content"], &part["size_bytes"]), (&json!(""), &json!(0)));
    assert_eq!(part["truncated"], false);
}

#[test]
fn the_store_takes_what_it_may_and_no_more() {
    let server =
        TestServer::start(&["--set", "blobs.quota=1 MiB", "--set", "blobs.max_size=400 KiB"]);
    let client = server.client();
    let content = |letter: &str| letter.repeat(390 << 10);
    let create = |letter: &str| {
        client.call("create_blob", json!({"content": content(letter), "kind": "text/plain"}))
    };
    let first = create("a").unwrap();
    create("b").unwrap();
    assert_eq!(create("a").unwrap(), first, "what is there takes no further room");

    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "create_blob",
        "params": {"content": content("c"), "kind": "text/plain"},
    });
    let full = client.post(body.to_string());
    let (code, kind, _) = full.error();
    assert_eq!((full.status, code, kind.as_str()), (429, 1005, "quota_exceeded"));

    let large = json!({"content": "d".repeat(401 << 10), "kind": "text/plain"});
    assert_eq!(client.refusal("create_blob", large).kind, "too_large");

    let result = client.run(
        "from runtime import blobs, QuotaExceeded\ndef main(args):\n    try:\n        \
         blobs.write_text('e' * (390 << 10))\n    except QuotaExceeded:\n        return 'full'\n",
    );
    assert_eq!(output(&result)["result"], "full");
    assert_eq!(client.create_text("small", "text/plain").len(), 57, "there is room for this");
}

#[test]
fn blobs_outlive_their_server_and_serve_the_command_line() {
    let place = Command::new();
    let data = place.folder().join("data");
    let first = TestServer::start_on(&data, &[]);
    let id = first.client().create_bytes(b"\x00kept\xff", "application/octet-stream");
    let in_use = place.run(&["blobs", "delete", &id]).with(2);
    assert!(in_use.stderr.contains("a server is using the blob store"), "{}", in_use.stderr);
    assert_eq!(place.run(&["blobs", "get", &id]).with(0).bytes, b"\x00kept\xff", "beside a server");
    drop(first);

    assert_eq!(place.run(&["blobs", "get", &id]).with(0).bytes, b"\x00kept\xff");
    let second = TestServer::start_on(&data, &[]);
    assert_eq!(second.data_dir(), data);
    assert_eq!(second.client().read_bytes(&id), b"\x00kept\xff");
}

#[test]
fn a_run_gets_all_blobs_and_skills_that_a_call_may_name() {
    let skills = SkillFolder::new();
    for number in 0..64 {
        skills.action(&format!("many.s{number}"), "1.0.0", "def main(args):\n    return 7\n");
    }
    let server = TestServer::start(&["--workers", "1", "--skills", skills.path()]);
    let client = server.client();
    let mounts: Vec<String> = (0..64).map(|number| format!("many.s{number}")).collect();
    let ids = |set: usize| -> Vec<String> {
        (0..256).map(|n| client.create_text(&format!("{set} {n}"), "text/plain")).collect()
    };
    let code = "
import os
from runtime import blobs
def main(args):
    read = {blobs.read_text(id) for id in args['ids']}
    return [len(read), len(os.listdir('/skills'))]
";
    let workers = |server: &TestServer| {
        let mut ids: Vec<u32> = server.workers().iter().map(|worker| worker.id).collect();
        ids.sort_unstable();
        ids
    };
    let before = workers(&server);
    for set in 0..3 {
        let ids = ids(set);
        let params = json!({"args": {"ids": ids}, "input_blobs": ids, "mount_skills": mounts});
        let result = client.run_with(code, params);
        let counts: Vec<u64> = serde_json::from_value(output(&result)["result"].clone()).unwrap();
        assert_eq!(counts, [256, 64], "set {set}");
    }
    assert_eq!(workers(&server), before, "a worker was lost:\n{}", server.log());
}
