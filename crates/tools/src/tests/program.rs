//! Servers that are programs: a child in Python.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{CredentialTemplate, ToolLimits, ToolServerConfig, ToolSource};
use crate::tests::support::{VALUE, call, catalogue, quick, run, soon, text_of};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::units::ByteCount;

const SERVER: &str = r#"
import json, os, subprocess, sys, time

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def call(id, do):
    if do == "environment":
        return json.dumps(dict(os.environ))
    if do == "place":
        return json.dumps([os.getcwd(), os.getpgid(0) == os.getpid()])
    if do == "child":
        child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return str(child.pid)
    if do == "huge":
        return "x" * 500_000
    if do == "exit":
        os._exit(3)
    if do == "hang":
        time.sleep(1000)
    if do == "wrong":
        send(id=id + 1000, result={"content": [{"type": "text", "text": "stolen"}]})
    if do == "refuse":
        send(id=id, error={"code": -1, "message": "no: the token " + os.environ["TOKEN"]})
    if do == "noise":
        print("no json at all\n[]\n{}", flush=True)
        print("to the log", file=sys.stderr, flush=True)
        send(id="x", method="sampling/createMessage", params={})
        send(method="notifications/tools/list_changed")
    return do

for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message.get("method")
    if method == "initialize":
        send(id=id, result={"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}})
    elif method == "tools/list":
        send(id=id, result={"tools": [{"name": "do", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        text = call(id, message["params"]["arguments"]["do"])
        send(id=id, result={"content": [{"type": "text", "text": text}]})
"#;

fn python(script: &str) -> ToolSource {
    let variable =
        |name: &str, text: &str| (name.to_owned(), CredentialTemplate::parse(text).unwrap());
    ToolSource::Program {
        program: PathBuf::from("/usr/bin/env"),
        arguments: ["python3", "-c", script].map(str::to_owned).into(),
        environment: vec![
            variable("PATH", "/usr/local/bin:/usr/bin:/bin"),
            variable("TOKEN", "is ${TOOL_TOKEN}"),
        ],
        folder: PathBuf::from("/"),
    }
}

async fn done(tools: &crate::RunTools, what: &str) -> Value {
    let answer = call(tools, "s.do", &json!({"do": what})).await;
    let text: String = serde_json::from_str(&text_of(&answer)).unwrap();
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[tokio::test]
async fn a_program_has_its_configured_environment_alone() {
    let catalogue = catalogue(quick(python(SERVER)));
    let tools = run(&catalogue);
    let offered = tools.offered(soon(), &CallMemory::unlimited()).await;
    assert_eq!(offered.tools.len(), 1, "{:?}", offered.unavailable);
    let environment = done(&tools, "environment").await;
    let names: Vec<&str> = environment.as_object().unwrap().keys().map(String::as_str).collect();
    // Python sets the last one by itself.
    assert!(names.iter().all(|name| ["PATH", "TOKEN", "LC_CTYPE"].contains(name)), "{names:?}");
    let token = environment["TOKEN"].as_str().unwrap();
    assert!(token.starts_with("is ***") && !token.contains(VALUE), "{token}");
    assert_eq!(done(&tools, "place").await, json!(["/", true]));
    let refused = call(&tools, "s.do", &json!({"do": "refuse"})).await.unwrap_err().to_string();
    assert!(refused.contains("no: the token is ***") && !refused.contains("hunter2"), "{refused}");
}

#[tokio::test]
async fn noise_and_long_lines_cost_no_more_than_one_call() {
    let config = quick(python(SERVER));
    let bounds = (ByteCount::kibibytes(64), ByteCount::kibibytes(64));
    let limits = ToolLimits { result: bounds.0, listing: bounds.1, ..config.limits };
    let catalogue = catalogue(ToolServerConfig { limits, ..config });
    let tools = run(&catalogue);
    for what in ["noise", "wrong"] {
        assert_eq!(done(&tools, what).await, json!(what));
    }
    let huge = call(&tools, "s.do", &json!({"do": "huge"})).await.unwrap_err().to_string();
    assert!(huge.contains("larger than"), "{huge}");
    assert_eq!(done(&tools, "again").await, json!("again"));
}

#[tokio::test]
async fn a_program_that_ends_starts_again_after_a_pause() {
    let catalogue = catalogue(quick(python(SERVER)));
    let tools = run(&catalogue);
    let ended = call(&tools, "s.do", &json!({"do": "exit"})).await.unwrap_err().to_string();
    assert!(ended.contains("ended the connection"), "{ended}");
    let mut refused = 0;
    loop {
        match call(&tools, "s.do", &json!({"do": "again"})).await {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("starts again in"), "{error}"),
        }
        refused += 1;
        assert!(refused < 80, "it does not start again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_program_that_hangs_is_given_up() {
    let config = quick(python(SERVER));
    let catalogue = catalogue(config.clone());
    assert_eq!(done(&run(&catalogue), "first").await, json!("first"), "it has started");
    let mut hanging = run(&catalogue);
    for _ in 0..3 {
        let arguments = crate::tests::support::raw(&json!({"do": "hang"}));
        let order = crate::ToolCallOrder {
            tool: "s.do",
            arguments: &arguments,
            listed: None,
            approval: None,
            deadline: std::time::Instant::now() + Duration::from_millis(200),
        };
        let late = hanging.call(order, &CallMemory::unlimited()).await.unwrap_err().to_string();
        assert!(late.contains("in time"), "{late}");
        hanging = run(&catalogue);
    }
    let mut tries = 0;
    while call(&hanging, "s.do", &json!({"do": "again"})).await.is_err() {
        tries += 1;
        assert!(tries < 80, "it does not start again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn the_processes_of_a_program_end_with_it() {
    let catalogue = catalogue(quick(python(SERVER)));
    let child = done(&run(&catalogue), "child").await;
    let state = PathBuf::from(format!("/proc/{child}/stat"));
    assert!(std::fs::read_to_string(&state).is_ok());
    drop(catalogue);
    for _ in 0..200 {
        // Nobody may wait for it in a container: then it stays as a zombie.
        let is_alive = std::fs::read_to_string(&state).is_ok_and(|text| !text.contains(") Z "));
        if !is_alive {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("process {child} is still there");
}

#[tokio::test]
async fn a_program_that_cannot_start_is_an_unavailable_server() {
    let mut source = python(SERVER);
    if let ToolSource::Program { program, .. } = &mut source {
        *program = PathBuf::from("/no/such/program");
    }
    let catalogue = catalogue(quick(source));
    let offered = run(&catalogue).offered(soon(), &CallMemory::unlimited()).await;
    let [(_, reason)] = offered.unavailable.as_slice() else { panic!() };
    assert!(reason.contains("cannot be started") && !reason.contains("/no/such"), "{reason}");
    let failing = catalogue_of_failing().await;
    assert!(failing.contains("ended the connection"), "{failing}");
}

async fn catalogue_of_failing() -> String {
    let catalogue = catalogue(quick(python("raise SystemExit('no token')")));
    call(&run(&catalogue), "s.do", &json!({})).await.unwrap_err().to_string()
}
