//! The protocol over HTTP: tools, results, progress, cancellation, prompts, resources and tasks.

use std::io::Read as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::speaker::{
    LEGACY, NEWEST, ask, call, get, headers_of, initialize, legacy, open, post, request,
};
use crate::support::{TestServer, eventually};

const TOOLS: [&str; 9] = [
    "list_skills",
    "describe_skill",
    "read_skill_file",
    "execute_skill",
    "run_code",
    "create_blob",
    "read_blob",
    "load_skills_protocol_guide",
    "session",
];

#[test]
fn both_lifecycles_are_spoken() {
    let server = TestServer::shared();
    let found = ask(server, "server/discover", json!({}));
    let versions = found.result()["supportedVersions"].as_array().unwrap().clone();
    assert!(versions.contains(&NEWEST.into()) && versions.contains(&LEGACY.into()), "{versions:?}");
    let first = post(server, "", initialize().to_string().as_bytes());
    assert_eq!(first.result()["protocolVersion"], LEGACY);
    assert_eq!(first.result()["serverInfo"]["name"], "wardian");
    let session = first.header("mcp-session-id").expect("a session").to_owned();
    let headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {LEGACY}\r\n");
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(server, &headers, begun.to_string().as_bytes()).status, 202);
    let list = legacy(1, "tools/list", json!({})).to_string();
    let list = post(server, &headers, list.as_bytes());
    assert_eq!(list.result()["tools"].as_array().unwrap().len(), TOOLS.len());
    assert!(list.header("x-request-id").is_some_and(|id| id.starts_with("req_")));
    // There are no sessions to end, and no stream without a request.
    assert_eq!((get(server, "GET").status, get(server, "DELETE").status), (405, 405));
}

#[test]
fn the_tools_say_what_they_take_and_give() {
    let list = ask(TestServer::shared(), "tools/list", json!({}));
    let tools = list.result()["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>(), TOOLS);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["title"].is_string() && tool["description"].is_string(), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        let reads = !["execute_skill", "run_code", "create_blob", "session"].contains(&name);
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{name}");
    }
}

#[test]
fn a_result_is_there_for_programs_and_for_models() {
    let server = TestServer::shared();
    let code = "def main(args):\n    return {'sum': args['a'] + 1, 'text': 'a \"b\" \\n ü'}";
    let result = call(
        server,
        "run_code",
        json!({"language": "python", "code": code, "entrypoint": "main", "args": {"a": 41}}),
    );
    assert_eq!(result["isError"], false, "{result}");
    let output = &result["structuredContent"]["output"];
    assert_eq!(*output, json!({"sum": 42, "text": "a \"b\" \n ü"}));
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text, result["structuredContent"]);
    let guide = call(server, "load_skills_protocol_guide", json!({}));
    assert!(guide["content"][0]["text"].as_str().unwrap().starts_with("# "));
    assert_eq!(guide["content"][0]["text"], guide["structuredContent"]["content"]);
}

#[test]
fn a_failed_run_and_a_refused_call_are_errors_of_the_tool() {
    let server = TestServer::shared();
    let failed = call(server, "run_code", json!({"language": "python", "code": "1/0"}));
    assert_eq!(failed["isError"], true, "{failed}");
    assert_eq!(failed["structuredContent"]["error"]["type"], "ZeroDivisionError");
    for (tool, arguments) in [
        ("describe_skill", json!({"name": "no.such.skill"})),
        ("run_code", json!({"language": "cobol", "code": ""})),
        ("run_code", json!({"language": "python", "code": "", "limits": {"timeout_ms": 0}})),
        ("list_skills", json!({"limit": 0})),
        ("read_blob", json!({"blob_id": "blob:x"})),
        ("list_skills", json!({"no_such_parameter": 1})),
    ] {
        let refused = call(server, tool, arguments.clone());
        let known = server.client().refusal(tool, arguments);
        assert_eq!(refused["isError"], true, "{refused}");
        assert_eq!(refused["content"][0]["text"], known.message, "{tool}");
        assert_eq!(refused["_meta"]["wardian/error"]["kind"], known.kind, "{tool}");
        assert!(refused.get("structuredContent").is_none(), "{refused}");
    }
    let unknown = ask(server, "tools/call", json!({"name": "no_such_tool", "arguments": {}}));
    assert_eq!(unknown.response()["error"]["code"], -32602, "{unknown:?}");
}

#[test]
fn progress_is_told_to_a_client_that_asks_for_it() {
    let code = "import runtime, time\nfor n in range(1, 4):\n    runtime.progress(n, 3, f'step {n}')\n    time.sleep(0.06)\nprint('done')";
    let arguments = json!({"language": "python", "code": code});
    let params =
        json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": "tok"}});
    let answer = ask(TestServer::shared(), "tools/call", params);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let progress: Vec<&Value> =
        answer.messages.iter().filter(|m| m["method"] == "notifications/progress").collect();
    assert!(progress.len() >= 3, "{answer:?}");
    let mut last = -1.0;
    for message in progress {
        assert_eq!(message["params"]["progressToken"], "tok");
        let now = message["params"]["progress"].as_f64().unwrap();
        assert!(now > last, "{answer:?}");
        last = now;
    }
    assert!(answer.body.contains("step 2"), "{answer:?}");
    assert_eq!(answer.result()["structuredContent"]["status"], "completed");
}

/// The number of runs that go on.
fn active(server: &TestServer) -> usize {
    server.client().get("/v1/runs/active").json()["runs"].as_array().unwrap().len()
}

const FOREVER: &str = "import time\nwhile True:\n    time.sleep(0.01)";

#[test]
fn a_client_that_leaves_cancels_its_run() {
    let server = TestServer::start(&[]);
    let params = json!({"name": "run_code", "arguments": {"language": "python", "code": FOREVER}});
    for progress in [json!({}), json!({"progressToken": 1})] {
        let mut params = params.clone();
        params["_meta"] = progress;
        let message = request(1, "tools/call", params);
        let stream = open(&server, &headers_of(&message), message.to_string().as_bytes());
        eventually(Duration::from_secs(20), || (active(&server) == 1).then_some(()));
        drop(stream);
        eventually(Duration::from_secs(20), || (active(&server) == 0).then_some(()));
    }
}

#[test]
fn a_request_is_given_up_by_a_notification_of_its_session_alone() {
    let server = TestServer::start(&[]);
    let headers =
        |session: &str| format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: {LEGACY}\r\n");
    let arguments = json!({"language": "python", "code": FOREVER});
    let call = legacy(7, "tools/call", json!({"name": "run_code", "arguments": arguments}));
    let mut stream = open(&server, &headers("one"), call.to_string().as_bytes());
    eventually(Duration::from_secs(20), || (active(&server) == 1).then_some(()));
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    let give_up =
        |session: &str| post(&server, &headers(session), cancelled.to_string().as_bytes());
    assert_eq!(give_up("other").status, 202);
    assert_eq!(active(&server), 1, "another session gives up nothing");
    assert_eq!(give_up("one").status, 202);
    let began = Instant::now();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("cancelled") && began.elapsed() < Duration::from_secs(10), "{answer}");
    eventually(Duration::from_secs(20), || (active(&server) == 0).then_some(()));
}

#[test]
fn images_among_the_blobs_are_shown() {
    let code = "import runtime, struct, zlib\n\
        def chunk(kind, data):\n    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))\n\
        png = b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', 1, 1, 8, 2, 0, 0, 0)) + chunk(b'IDAT', zlib.compress(b'\\0\\xff\\0\\0')) + chunk(b'IEND', b'')\n\
        runtime.blobs.write_bytes(png, kind='image/png')\n\
        runtime.blobs.write_bytes(b'x' * 10, kind='text/plain')\n\
        runtime.blobs.write_bytes(b'<script>', kind='image/png')\n\
        runtime.blobs.write_bytes(b'\\0' * (2 << 20), kind='image/png')\n";
    let result =
        call(TestServer::shared(), "run_code", json!({"language": "python", "code": code}));
    let contents = result["content"].as_array().unwrap();
    assert_eq!(
        result["structuredContent"]["output_blobs"].as_array().unwrap().len(),
        4,
        "{result}"
    );
    assert_eq!(contents.len(), 2, "the small image is shown: {result}");
    assert_eq!(
        (&contents[1]["type"], &contents[1]["mimeType"]),
        (&json!("image"), &json!("image/png"))
    );
    assert!(contents[1]["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
}

#[test]
fn files_of_a_run_are_links_with_names() {
    let server = TestServer::shared();
    let code = "import os\nos.mkdir('out')\nopen('report.xlsx', 'w').write('1')\nopen('out/\"a\\n.csv', 'w').write('2')\nopen('.hidden', 'w').write('3')\n";
    let result = call(server, "run_code", json!({"language": "python", "code": code}));
    let links: Vec<&Value> = result["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["type"] == "resource_link")
        .collect();
    let found: Vec<_> = links.iter().map(|link| (&link["name"], &link["size"])).collect();
    assert_eq!(found, [(&json!("report.xlsx"), &json!(1)), (&json!("\"a\n.csv"), &json!(1))]);
    assert!(links[0]["mimeType"].as_str().unwrap().ends_with("spreadsheetml.sheet"), "{result}");
    let read = ask(server, "resources/read", json!({"uri": links[0]["uri"]}));
    assert_eq!(read.result()["contents"][0]["text"], "1");
    let listed = ask(server, "resources/list", json!({"cursor": "blobs:"}));
    let listed = listed.result()["resources"].as_array().unwrap().clone();
    let of_report = listed.iter().find(|one| one["uri"] == links[0]["uri"]);
    assert!(of_report.is_none_or(|one| one["name"] == "report.xlsx"), "{of_report:?}");
    let nothing = call(server, "run_code", json!({"language": "python", "code": "1"}));
    assert_eq!(nothing["content"].as_array().unwrap().len(), 1);
}

#[test]
fn the_guide_is_a_prompt() {
    let server = TestServer::shared();
    let list = ask(server, "prompts/list", json!({}));
    assert_eq!(list.result()["prompts"][0]["name"], "guide");
    let prompt = ask(server, "prompts/get", json!({"name": "guide"}));
    let text = prompt.result()["messages"][0]["content"]["text"].as_str().unwrap().to_owned();
    let guide = call(server, "load_skills_protocol_guide", json!({}));
    assert_eq!(guide["content"][0]["text"], text.as_str());
    let unknown = ask(server, "prompts/get", json!({"name": "other"}));
    assert_eq!(unknown.response()["error"]["code"], -32602);
}

#[test]
fn blobs_are_resources() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let text = client.create_text("a \"b\"\n", "text/plain");
    let bytes = client.create_bytes(&[0, 255, 1], "application/octet-stream");
    let read = |uri: &str| ask(&server, "resources/read", json!({"uri": uri}));
    let found = read(&text).result()["contents"][0].clone();
    assert_eq!((&found["text"], &found["mimeType"]), (&json!("a \"b\"\n"), &json!("text/plain")));
    assert_eq!(read(&bytes).result()["contents"][0]["blob"], "AP8B");
    let large = client.create_bytes(&vec![b'x'; (4 << 20) + 1], "text/plain");
    assert_eq!(read(&large).response()["error"]["data"]["kind"], "too_large");
    for unknown in ["blob:x", "file:///etc/passwd", "skill://no.such/no-such/SKILL.md"] {
        assert_eq!(read(unknown).response()["error"]["code"], -32602, "{unknown}");
    }
    // Pages of skills come first, then those of blobs.
    let (mut uris, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let params = cursor.map_or(json!({}), |cursor| json!({"cursor": cursor}));
        let page = ask(&server, "resources/list", params);
        let resources = page.result()["resources"].as_array().unwrap();
        uris.extend(resources.iter().map(|found| found["uri"].as_str().unwrap().to_owned()));
        cursor = page.result()["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    assert!(uris.contains(&text) && uris.contains(&bytes), "{uris:?}");
    assert!(uris.contains(&"skill://hello.world/hello-world/SKILL.md".to_owned()), "{uris:?}");
    let templates = ask(&server, "resources/templates/list", json!({}));
    assert_eq!(templates.result()["resourceTemplates"].as_array().unwrap().len(), 2);
}

#[test]
fn a_detached_run_is_a_task_for_a_client_that_knows_tasks() {
    let server = TestServer::shared();
    let knows = json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let arguments = json!({"language": "python", "code": "def main(args):\n    return {'n': 7}", "entrypoint": "main", "detach": true});
    let params = json!({"name": "run_code", "arguments": arguments, "_meta": knows});
    let begun = ask(server, "tools/call", params);
    assert_eq!(begun.result()["resultType"], "task", "{begun:?}");
    let id = begun.result()["taskId"].as_str().unwrap().to_owned();
    let done = eventually(Duration::from_secs(30), || {
        let task = ask(server, "tasks/get", json!({"taskId": id, "_meta": knows}));
        let task = task.result().clone();
        (task["status"] != "working").then_some(task)
    });
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(done["result"]["structuredContent"]["output"], json!({"n": 7}), "{done}");
    // Without the capability the run is named, and the client asks over HTTP.
    let named = call(server, "run_code", arguments);
    assert!(named["structuredContent"]["run_id"].as_str().unwrap().starts_with("run_"), "{named}");
    let unknown = ask(server, "tasks/get", json!({"taskId": "run_x", "_meta": knows}));
    assert_eq!(unknown.response()["error"]["code"], -32602);
}

#[test]
fn a_task_is_cancelled() {
    let server = TestServer::start(&[]);
    let knows = json!({"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
    let arguments = json!({"language": "python", "code": FOREVER, "detach": true});
    let params = json!({"name": "run_code", "arguments": arguments, "_meta": knows});
    let begun = ask(&server, "tools/call", params);
    let id = begun.result()["taskId"].as_str().unwrap().to_owned();
    let params = json!({"taskId": id, "_meta": knows});
    assert!(ask(&server, "tasks/cancel", params.clone()).response().get("error").is_none());
    eventually(Duration::from_secs(20), || {
        let task = ask(&server, "tasks/get", params.clone());
        (task.result()["status"] == "cancelled").then_some(())
    });
}
