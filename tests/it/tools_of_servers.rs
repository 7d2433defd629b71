//! Tools of the operator's servers, through `wardian tools`: Wardian's own server of the protocol over HTTP and as a
//! program, a program in Python, and an API.

use serde_json::{Value, json};

use crate::network::through_proxy;
use crate::support::{Command, TestServer};

/// A server in Python, with a tool that needs an approval.
const SERVER: &str = r#"
import json, os, sys

TOOLS = [
    {"name": "echo", "description": "Gives its arguments back.", "inputSchema": {"type": "object"}},
    {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}},
    {"name": "fail", "inputSchema": {"type": "object"}},
    {"name": "token", "inputSchema": {"type": "object"}},
]

def call(name, arguments):
    if name == "fail":
        return {"isError": True, "content": [{"type": "text", "text": "out of paper"}]}
    if name == "token":
        return {"content": [{"type": "text", "text": "it is " + os.environ["TOKEN"]}]}
    return {"structuredContent": {"done": name, "with": arguments}}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {})
    result = {
        "initialize": lambda: {"protocolVersion": params["protocolVersion"], "capabilities": {}},
        "tools/list": lambda: {"tools": TOOLS},
        "tools/call": lambda: call(params["name"], params["arguments"]),
    }.get(method)
    if result and "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result()}), flush=True)
"#;

/// A command whose configuration has this text.
fn command(config: &str) -> (Command, String) {
    let command = Command::new().set("WARDIAN_SECRET_SERVICE_TOKEN", "hunter2-and-more");
    command.file("server.py", SERVER);
    let config = config.replace("FOLDER", command.folder().to_str().unwrap());
    let file = command.file("tools.toml", config).to_str().unwrap().to_owned();
    (command, file)
}

const PYTHON: &str = r#"
[tools.py]
command = ["/usr/bin/env", "python3", "FOLDER/server.py"]
environment = { PATH = "/usr/local/bin:/usr/bin:/bin", TOKEN = "${SERVICE_TOKEN}" }
deny = ["hidden_*"]
"#;

fn names(listed: &Value) -> Vec<&str> {
    listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn a_program_offers_its_tools() {
    let (command, config) = command(PYTHON);
    let run = |arguments: &[&str]| {
        command.run(&[&["--config", &config, "tools"][..], arguments].concat())
    };
    let listed = run(&["list", "--json"]).with(0).json();
    assert_eq!(names(&listed), ["py.echo", "py.fail", "py.token", "py.wipe"]);
    assert_eq!(listed["tools"][3]["needs_approval"], true);
    assert_eq!(listed["unavailable"], json!([]));
    let table = run(&["list"]).with(0).stdout;
    assert!(table.contains("py.echo") && table.contains("Gives its arguments back."), "{table}");

    let echoed = run(&["call", "py.echo", "{\"n\": 1.50}"]).with(0).json();
    assert_eq!(echoed, json!({"done": "echo", "with": {"n": 1.5}}));
    let failed = run(&["call", "py.fail"]).with(1);
    assert_eq!(failed.json(), "out of paper");
    let token = run(&["call", "py.token"]).with(0).stdout;
    assert!(token.contains("it is ****") && !token.contains("hunter2"), "{token}");

    let refused = run(&["call", "py.wipe"]).with(2);
    assert!(refused.stderr.contains("add `--approve`"), "{}", refused.stderr);
    run(&["call", "py.wipe", "--approve"]).with(0);
    for (arguments, expected) in [
        (&["call", "py.none"][..], "there is no tool `py.none`"),
        (&["call", "xx.echo"][..], "there is no tool `xx.echo`"),
        (&["call", "py.hidden_one"][..], "there is no tool `py.hidden_one`"),
        (&["call", "py.echo", "[]"][..], "must be an object"),
        (&["call", "py.echo", "{"][..], "the arguments are no JSON"),
    ] {
        let refused = run(arguments).with(2).stderr;
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn wardian_is_a_server_of_tools_over_http() {
    let server = TestServer::start(&["--set", "http.allowed_hosts=wardian.example.com"]);
    let port = server.address.rsplit(':').next().unwrap();
    let text = format!(
        "[tools.other]\nmcp = \"http://wardian.example.com:{port}/mcp\"\n\
         [tools.wrong]\nmcp = \"http://wardian.example.com:{port}/none\"\n"
    );
    let (command, config) = command(&text);
    let run = |arguments: &[&str]| {
        let flags = ["--config", &config];
        command.run(&[&flags[..], &through_proxy(), &["tools"][..], arguments].concat())
    };
    let listed = run(&["list", "--json"]).with(3).json();
    assert!(names(&listed).contains(&"other.list_skills"), "{listed}");
    assert_eq!(listed["unavailable"][0]["server"], "wrong");
    let code = json!({"language": "python", "code": "6 * 7"}).to_string();
    let answer = run(&["call", "other.run_code", &code, "--approve"]).with(0).json();
    assert_eq!(answer["output"]["result"], 42, "{answer}");
}

#[test]
fn a_server_on_a_private_address_is_not_reached_without_the_operators_word() {
    let server = TestServer::start(&[]);
    let port = server.address.rsplit(':').next().unwrap();
    let text = format!("[tools.x]\nmcp = \"http://localhost.localdomain:{port}/mcp\"\n");
    let (command, config) = command(&text);
    let listed = command.run(&["--config", &config, "tools", "list", "--json"]).with(3).json();
    assert_eq!(listed["tools"], json!([]));
    let fault = listed["unavailable"][0]["fault"].as_str().unwrap();
    assert!(fault.contains("cannot be reached"), "{fault}");
}
