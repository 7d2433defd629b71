//! `wardian mcp`: with workers of its own, and as a bridge to a server.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::speaker::{LEGACY, StdioClient, TWO_LINES, legacy, request};
use crate::support::{Command, TestServer, eventually, returning};

const FOREVER: &str = "import time\nwhile True:\n    time.sleep(0.01)";

fn run(id: impl Into<Value>, code: &str) -> Value {
    let arguments = json!({"language": "python", "code": code});
    legacy(id, "tools/call", json!({"name": "run_code", "arguments": arguments}))
}

/// What a client sees, whichever way its messages take.
fn speaks(arguments: &[&str]) {
    let mut client = StdioClient::initialized(arguments);
    let tools = client.ask(&legacy(1, "tools/list", json!({})));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 9, "{tools}");
    let answer = client.ask(&run("a", "print('\\n{\"jsonrpc\": \"2.0\"}\\n')"));
    let structured = &answer["result"]["structuredContent"];
    assert_eq!(structured["status"], "completed", "{answer}");
    assert!(structured["logs_preview"].as_str().unwrap().contains("jsonrpc"), "{answer}");
    // Each line is a message: a program cannot write one of its own.
    client.send(&run(5, &returning(TWO_LINES)));
    let answer = client.next();
    assert_eq!(answer["id"], 5, "{answer}");
    let output = &answer["result"]["structuredContent"]["output"];
    assert_eq!(output["a"]["result"]["forged"], true, "{answer}");
    let mut progress = run(
        2,
        "import runtime, time\nfor n in range(3):\n    runtime.progress(n, 2)\n    time.sleep(0.06)",
    );
    progress["params"]["_meta"] = json!({"progressToken": 9});
    client.send(&progress);
    let (answer, before) = client.response(&json!(2));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert!(before.len() >= 2, "{before:?}");
    assert!(before.iter().all(|told| told["params"]["progressToken"] == 9), "{before:?}");
    // What is no message is answered, and the next message is read.
    client.send_text("{");
    assert_eq!(client.next()["error"]["code"], -32700);
    client.send_text(r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#);
    assert_eq!(client.next()["error"]["code"], -32600);
    // A run that is given up is not answered, and does not keep others waiting.
    client.send(&run(3, FOREVER));
    std::thread::park_timeout(Duration::from_millis(300));
    client.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}}),
    );
    let answer = client.ask(&run(4, "print(4)"));
    assert_eq!(answer["result"]["structuredContent"]["status"], "completed", "{answer}");
    assert!(client.says_nothing_for(Duration::from_millis(200)));
    assert_eq!(client.end(), 0);
}

#[test]
fn a_client_needs_no_server() {
    speaks(&[]);
}

#[test]
fn a_bridge_hands_on_what_both_say() {
    let server = TestServer::start(&[]);
    let url = format!("http://{}", server.address);
    speaks(&["--server", &url]);
    eventually(Duration::from_secs(20), || {
        let active = server.client().get("/v1/runs/active").json();
        active["runs"].as_array().unwrap().is_empty().then_some(())
    });
}

#[test]
fn the_newest_revision_needs_no_handshake() {
    let server = TestServer::shared();
    let url = format!("http://{}/mcp", server.address);
    for arguments in [&[][..], &["--server", &url]] {
        let mut client = StdioClient::start(arguments);
        let found = client.ask(&request(1, "server/discover", json!({})));
        let versions = found["result"]["supportedVersions"].as_array().unwrap();
        assert!(versions.contains(&LEGACY.into()), "{found}");
        let arguments = json!({"language": "python", "code": "print(1)"});
        let call = request("b", "tools/call", json!({"name": "run_code", "arguments": arguments}));
        assert_eq!(client.ask(&call)["result"]["isError"], false);
        let read = request(
            3,
            "resources/read",
            json!({"uri": "skill://hello.world/hello-world/SKILL.md"}),
        );
        let read = client.ask(&read);
        assert!(
            read["result"]["contents"][0]["text"].as_str().unwrap().starts_with("---"),
            "{read}"
        );
        assert_eq!(client.end(), 0);
    }
}

/// A folder with files of a user, and an empty one where what runs keep is saved.
struct UserFolders {
    files: PathBuf,
    saved: PathBuf,
    _place: tempfile::TempDir,
}

impl UserFolders {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let [files, saved] = ["data", "out"].map(|name| place.path().join(name));
        fs::create_dir_all(files.join("deep")).unwrap();
        fs::create_dir(&saved).unwrap();
        fs::write(files.join("sales of é.csv"), "a,b\n1,2\n").unwrap();
        fs::write(files.join("deep/x.bin"), b"\xff\0").unwrap();
        fs::write(files.join(".env"), "KEY=hunter2").unwrap();
        fs::write(place.path().join("outside"), "hunter2").unwrap();
        symlink(place.path().join("outside"), files.join("link")).unwrap();
        Self { files, saved, _place: place }
    }

    fn client(&self) -> StdioClient {
        let [files, saved] = [&self.files, &self.saved].map(|folder| folder.to_str().unwrap());
        StdioClient::initialized(&["--files", files, "--out", saved])
    }
}

#[test]
fn files_of_the_user_are_described_and_read_as_resources() {
    let folders = UserFolders::new();
    let mut client = folders.client();
    let tools = client.ask(&legacy(1, "tools/list", json!({})));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let run_code = tools.iter().find(|tool| tool["name"] == "run_code").unwrap();
    let described = run_code["description"].as_str().unwrap();
    assert!(described.contains("`file:sales of é.csv`"), "{described}");
    assert!(described.contains("saved in the user's folder"), "{described}");
    assert!(!described.contains(".env") && !described.contains("link"), "{described}");
    assert!(run_code["inputSchema"]["properties"]["detach"].is_null(), "{run_code}");
    let listed = client.ask(&legacy(2, "resources/list", json!({})));
    let listed = listed["result"]["resources"].as_array().unwrap();
    let uris: Vec<&str> = listed.iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris[..2], ["file:deep/x.bin", "file:sales%20of%20%C3%A9.csv"], "{uris:?}");
    assert!(uris[2].starts_with("skill://"), "{uris:?}");
    let read = |uri: &str| legacy(3, "resources/read", json!({"uri": uri}));
    let text = client.ask(&read(uris[1]));
    assert_eq!(text["result"]["contents"][0]["text"], "a,b\n1,2\n", "{text}");
    assert_eq!(client.ask(&read(uris[0]))["result"]["contents"][0]["blob"], "/wA=");
    for uri in
        ["file:.env", "file:link", "file:../outside", "file:%2e%2e/outside", "file:///etc/passwd"]
    {
        let refused = client.ask(&read(uri));
        assert_eq!(refused["error"]["code"], -32002, "{uri}: {refused}");
        assert!(!refused.to_string().contains("hunter2"), "{refused}");
    }
    let templates = client.ask(&legacy(4, "resources/templates/list", json!({})));
    assert!(templates.to_string().contains("file:{+path}"), "{templates}");
    assert_eq!(client.end(), 0);
}

#[test]
fn files_of_the_user_are_mounted_and_what_runs_keep_is_saved() {
    let folders = UserFolders::new();
    let mut client = folders.client();
    let mut call = |id: i32, code: &str, more: Value| {
        let mut arguments = json!({"language": "python", "code": code});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = client.ask(&legacy(
            id,
            "tools/call",
            json!({"name": "run_code", "arguments": arguments}),
        ));
        answer["result"].clone()
    };
    let mounted = json!({"input_blobs": ["file:sales of é.csv"], "args": {"f": "file:sales of é.csv"},
        "keep_files": ["*.txt"]});
    let code = "def main(args):\n    text = open('/blobs/' + args['f']).read()\n    \
                open('copy.txt', 'w').write(text)\n    return text";
    for (id, name) in [(5, "copy.txt"), (6, "copy (2).txt")] {
        let answer = call(id, code, mounted.clone());
        assert_eq!(answer["structuredContent"]["output"]["result"], "a,b\n1,2\n", "{answer}");
        let told = answer["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
        assert_eq!(told, format!("Saved in {}: {name}.", folders.saved.display()));
        assert_eq!(fs::read_to_string(folders.saved.join(name)).unwrap(), "a,b\n1,2\n");
    }
    fs::write(folders.files.join("copy.csv"), "a,b\n1,2\n").unwrap();
    let equal = json!({"input_blobs": ["file:sales of é.csv", "file:copy.csv"],
        "args": {"files": ["file:copy.csv", "file:sales of é.csv"]}, "keep_files": false});
    let code = "def main(args):\n    one, other = args['files']\n    \
                texts = [open(path).read() for path in ('copy.csv', 'sales of é.csv')]\n    \
                return [one == other, *texts]";
    let answer = call(10, code, equal);
    let expected = json!([true, "a,b\n1,2\n", "a,b\n1,2\n"]);
    assert_eq!(answer["structuredContent"]["output"]["result"], expected, "{answer}");
    let repeated = call(11, "1", json!({"input_blobs": ["file:copy.csv", "file:copy.csv"]}));
    assert!(repeated["content"][0]["text"].as_str().unwrap().contains("repeats"), "{repeated}");
    fs::remove_file(folders.files.join("copy.csv")).unwrap();
    let missing = call(7, "1", json!({"input_blobs": ["file:seles.csv"]}));
    assert_eq!(missing["isError"], true, "{missing}");
    let told = missing["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("has no such file; it has `file:deep/x.bin`"), "{told}");
    let hidden = call(8, "1", json!({"input_blobs": ["file:.env"]}));
    assert!(hidden["content"][0]["text"].as_str().unwrap().contains("hidden parts"), "{hidden}");
    let detached = call(9, "1", json!({"detach": true}));
    let told = detached["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("omitted, because this server keeps no records"), "{told}");
    assert_eq!(client.end(), 0);
}

#[test]
fn blobs_without_a_name_are_saved_under_what_their_program_calls_them() {
    let folders = UserFolders::new();
    let mut client = folders.client();
    let code = "from runtime import blobs\nimport base64\n\
                png = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==')\n\
                blobs.write_text('a,b\\n', kind='text/csv')\n\
                {'histogram': blobs.write_bytes(png, kind='image/png'), 'pages': \
                [blobs.write_text(f'page {n}') for n in (1, 2)], 'own': blobs.write_text('x', name='n.md')}";
    let mut call = |id: i32, code: &str| {
        let arguments = json!({"language": "python", "code": code});
        let params = json!({"name": "run_code", "arguments": arguments});
        let answer = client.ask(&legacy(id, "tools/call", params))["result"].clone();
        answer["content"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap().to_owned()
    };
    let told = call(5, code);
    let names = "table.csv, histogram.png, pages.txt, pages (2).txt, n.md";
    assert_eq!(told, format!("Saved in {}: {names}.", folders.saved.display()));
    assert_eq!(fs::read_to_string(folders.saved.join("pages (2).txt")).unwrap(), "page 2");
    let told = call(6, "list(range(100_000))");
    assert_eq!(told, format!("Saved in {}: output.json.", folders.saved.display()));
    assert_eq!(client.end(), 0);
}

#[test]
fn the_folder_for_what_runs_keep_is_made() {
    let folders = UserFolders::new();
    let made = folders.saved.join("new/deep");
    let mut client = StdioClient::initialized(&["--out", made.to_str().unwrap()]);
    let arguments = json!({"language": "python", "code": "open('a.txt', 'w').write('x')",
        "keep_files": ["*.txt"]});
    let params = json!({"name": "run_code", "arguments": arguments});
    let answer = client.ask(&legacy(5, "tools/call", params));
    assert!(answer.to_string().contains("new/deep: a.txt."), "{answer}");
    assert_eq!(fs::read_to_string(made.join("a.txt")).unwrap(), "x");
    assert_eq!(client.end(), 0);
    let place = Command::new();
    place.file("taken", "mine");
    let refused = place.run(&["mcp", "--out", "taken"]).with(2).stderr;
    assert!(refused.contains("`--out` must be a folder, and `taken` is not one"), "{refused}");
    let refused = place.run(&["mcp", "--out", "taken/below"]).with(2).stderr;
    assert!(refused.contains("the folder `taken/below` cannot be created"), "{refused}");
}

#[test]
fn files_of_two_folders_with_one_name_are_both_used() {
    let folders = UserFolders::new();
    let other = folders.saved.join("more");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("sales of é.csv"), "other").unwrap();
    let [files, more] = [&folders.files, &other].map(|folder| folder.to_str().unwrap());
    let mut client = StdioClient::initialized(&["--files", files, "--files", more]);
    client.wait_for_log("`file:more/sales of é.csv` the other");
    let listed = client.ask(&legacy(2, "resources/list", json!({})));
    let uri = "file:more/sales%20of%20%C3%A9.csv";
    assert!(listed.to_string().contains(uri), "{listed}");
    let read = client.ask(&legacy(3, "resources/read", json!({"uri": uri})));
    assert_eq!(read["result"]["contents"][0]["text"], "other", "{read}");
    let arguments = json!({"language": "python", "code": "open('/blobs/' + args['f']).read()",
        "input_blobs": ["file:more/sales of é.csv"], "args": {"f": "file:more/sales of é.csv"}});
    let params = json!({"name": "run_code", "arguments": arguments});
    let answer = client.ask(&legacy(4, "tools/call", params));
    assert_eq!(answer["result"]["structuredContent"]["output"]["result"], "other", "{answer}");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_file_that_is_not_listed_in_input_blobs_is_advised() {
    let folders = UserFolders::new();
    let mut client = folders.client();
    let mut call = |id: i32, tool: &str, arguments: Value| {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = client.ask(&legacy(id, "tools/call", params));
        answer["result"].clone()
    };
    let skill = |blobs: Value| {
        json!({"name": "data.csv.profile", "args": {"csv_blob": "file:sales of é.csv"},
            "input_blobs": blobs})
    };
    let refused = call(5, "execute_skill", skill(json!([])));
    let told = refused["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("list `file:sales of é.csv` in `input_blobs` as well"), "{told}");
    let done = call(6, "execute_skill", skill(json!(["file:sales of é.csv"])));
    assert_eq!(done["isError"], false, "{done}");
    let bare = json!({"language": "python", "code": "1", "input_blobs": ["sales of é.csv"]});
    let refused = call(7, "run_code", bare);
    let told = refused["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("did you mean `file:sales of é.csv`"), "{told}");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_bridge_has_no_files_of_the_user_and_a_folder_that_is_not_there_is_refused() {
    let folders = UserFolders::new();
    let files = folders.files.to_str().unwrap();
    let place = Command::new();
    let both = ["mcp", "--server", "http://127.0.0.1:1", "--files", files];
    assert!(place.run(&both).with(2).stderr.contains("cannot be used with"));
    let none = place.run(&["mcp", "--files", "/none/at/all"]).with(2).stderr;
    assert!(none.contains("the folder `/none/at/all` cannot be opened"), "{none}");
}

#[test]
fn images_are_made_for_the_runs_of_a_client() {
    let mut client = StdioClient::initialized(&["--set", "log.level=debug"]);
    let code = "import PIL.Image\nPIL.Image.new('L', (1, 1)).size";
    assert_eq!(client.ask(&run(1, code))["result"]["isError"], false);
    client.wait_for_log("the image `pillow` is ready");
    assert_eq!(client.ask(&run(2, code))["result"]["isError"], false);
    client.wait_for_log("started from the image `pillow`");
}

#[test]
fn a_message_is_bounded() {
    let mut client = StdioClient::initialized(&["--set", "http.max_body=64KiB"]);
    client.send(&run(1, &"#".repeat(65 << 10)));
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["data"]["kind"]),
        (&Value::Null, &json!("too_large"))
    );
    let answer = client.ask(&run(2, &"#".repeat(60 << 10)));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn a_bridge_says_why_it_has_no_answer() {
    let mut client = StdioClient::start(&["--server", "http://127.0.0.1:1"]);
    let answer = client.ask(&legacy(1, "tools/list", json!({})));
    assert!(answer["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{answer}");
    drop(client);
    // Servers that refuse a request before they read it do not know its id.
    let server = TestServer::shared();
    let elsewhere = format!("http://{}/elsewhere", server.address);
    let mut client = StdioClient::start(&["--server", &elsewhere]);
    let answer = client.ask(&legacy("a", "initialize", json!({})));
    assert_eq!((&answer["id"], answer["error"].is_object()), (&json!("a"), true), "{answer}");
    drop(client);
    let place = Command::new();
    assert!(place.run(&["mcp", "--server", "localhost"]).with(2).stderr.contains("must be a URL"));
}
