//! `wardian mcp --code-mode`: two tools in front of the tools of other servers.

use serde_json::{Value, json};

use crate::mcp::speaker::{StdioClient, legacy};
use crate::support::Command;

/// A server in Python.
const SERVER: &str = r#"
import json, os, sys

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}, "unit": {"type": "string", "default": "eur"}}, "required": ["n"]}
ANY = {"type": "object"}
TOOLS = [
    {"name": "double", "description": "Doubles an invoice.\nAt once.", "inputSchema": NUMBER},
    {"name": "place", "description": "Says where it is.", "inputSchema": ANY},
    {"name": "fail", "inputSchema": ANY},
    {"name": "die", "inputSchema": ANY},
    {"name": "wipe", "inputSchema": ANY, "annotations": {"destructiveHint": True}},
    *({"name": f"many_{n}", "description": "One of many.", "inputSchema": ANY} for n in range(30)),
]

def call(name, arguments):
    if name == "double":
        return {"structuredContent": {"twice": 2 * arguments["n"]}}
    if name == "place":
        known = {name: value for name, value in os.environ.items() if name in ("HOME", "PATH", "TOKEN")}
        return {"structuredContent": {"folder": os.getcwd(), **known, "arguments": sys.argv[1:]}}
    if name == "die":
        os._exit(3)
    return {"isError": True, "content": [{"type": "text", "text": "out of paper"}]}

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

/// A client in front of this server, whose code is in a file of `place`.
fn client(place: &Command, arguments: &[&str]) -> StdioClient {
    let file = place.file("server.py", SERVER);
    let upstream = format!("py=python3 {} 'a b'", file.display());
    StdioClient::initialized(&[&["--code-mode", "--upstream", &upstream][..], arguments].concat())
}

/// The text of a tool's answer, and whether it is an error.
fn answer(client: &mut StdioClient, tool: &str, arguments: Value) -> (String, bool) {
    let message = legacy("t", "tools/call", json!({"name": tool, "arguments": arguments}));
    let answer = client.ask(&message);
    let result = &answer["result"];
    assert!(result.get("structuredContent").is_none(), "{answer}");
    let texts = result["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let texts: Vec<&str> = texts.iter().filter_map(|one| one["text"].as_str()).collect();
    (texts.join("\n"), result["isError"] == true)
}

fn ran(client: &mut StdioClient, code: &str) -> Value {
    let (text, _) = answer(client, "run_code", json!({"code": code}));
    serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {text}"))
}

fn found(client: &mut StdioClient, arguments: Value) -> String {
    let (text, is_error) = answer(client, "search_tools", arguments);
    assert!(!is_error, "{text}");
    text
}

#[test]
fn two_tools_stand_for_all_tools_of_the_servers() {
    let place = Command::new();
    let mut client = client(&place, &[]);
    let listed = client.ask(&legacy(1, "tools/list", json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["search_tools", "run_code"]);
    let described = tools[1]["description"].as_str().unwrap();
    assert!(described.ends_with("Servers: py."), "{described}");

    let invoice = found(&mut client, json!({"query": "invoices"}));
    assert_eq!(invoice, "await tools.py.double(n: int, unit: str = 'eur')  # Doubles an invoice.");
    // Programs find the same.
    let own = ran(&mut client, "import tools\n[one['call'] for one in tools.search('invoices')]");
    assert_eq!(own["output"]["result"][0], invoice.split("  #").next().unwrap());
    let all = found(&mut client, json!({}));
    assert_eq!(all.lines().count(), 11, "{all}");
    assert!(all.ends_with("(25 more: search with other words, or with a `limit`)"), "{all}");
    let many = found(&mut client, json!({"query": "many", "limit": 100}));
    assert_eq!(many.lines().count(), 30, "{many}");
    let none = found(&mut client, json!({"query": "xyzzy"}));
    assert_eq!(none, "No tool has these words. There are 35 tools of: py.");
    let wrong = answer(&mut client, "search_tools", json!({"words": "a"}));
    assert!(wrong.1 && wrong.0.contains("`query`"), "{wrong:?}");

    for other in ["execute_skill", "session", "read_blob", "py.double"] {
        let call = json!({"name": other, "arguments": {}});
        let refused = client.ask(&legacy(2, "tools/call", call));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert_eq!(client.end(), 0);
}

#[test]
fn code_calls_the_tools_and_its_results_stay_in_the_program() {
    let place = Command::new();
    let mut client = client(&place, &[]);
    let code = "import asyncio, tools\nfrom tools import py\n\
                rows = await asyncio.gather(*(py.double(n=n) for n in range(40)))\n\
                print('rows', len(rows))\nsum(row['twice'] for row in rows)";
    let (text, is_error) = answer(&mut client, "run_code", json!({"code": code}));
    assert_eq!(
        text,
        r#"{"status":"completed","output":{"result":1560},"logs_preview":"rows 40\n"}"#
    );
    assert!(!is_error);
    let seen = ran(&mut client, "from tools import py\nawait py.place()");
    let seen = &seen["output"];
    assert_eq!(seen["arguments"], json!(["a b"]));
    assert!(seen["PATH"].is_string() && seen["folder"] != "/", "{seen}");

    let caught = "import tools\nfrom tools import py\nsaid = []\n\
                  async def t(name, arguments={}):\n    \
                  try:\n        said.append(await tools.call(name, arguments))\n    \
                  except tools.ToolError as e:\n        said.append(str(e))\n\
                  await t('py.fail')\nawait t('py.wipe')\nawait t('py.none')\nawait t('py.double', {'n': 'x'})\nsaid";
    let said = ran(&mut client, caught);
    let said: Vec<&str> = said["output"]["result"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    assert!(said[0].contains("out of paper"), "{said:?}");
    assert!(said[1].contains("needs the approval"), "{said:?}");
    assert!(said[2].contains("py.none"), "{said:?}");
    assert!(said[3].contains("`arguments.n` must be an integer"), "{said:?}");
    let (text, is_error) =
        answer(&mut client, "run_code", json!({"code": "from tools import py\nawait py.fail()"}));
    assert!(is_error && text.contains(r#""type":"ToolError""#) && text.contains("out of paper"));

    // Variables stay in a session.
    let (text, _) = answer(
        &mut client,
        "run_code",
        json!({"code": "from tools import py\nx = await py.double(n=4)", "session": "new"}),
    );
    let first: Value = serde_json::from_str(&text).unwrap();
    let next = json!({"code": "x['twice']", "session": first["session"]["id"]});
    let (text, _) = answer(&mut client, "run_code", next);
    assert!(text.contains(r#"{"result":8}"#), "{text}");
    assert_eq!(client.end(), 0);
}

#[test]
fn a_server_that_dies_costs_its_call_and_starts_again() {
    let place = Command::new();
    let mut client = client(&place, &[]);
    let (text, is_error) =
        answer(&mut client, "run_code", json!({"code": "from tools import py\nawait py.die()"}));
    assert!(is_error && text.contains(r#""type":"ToolError""#), "{text}");
    let again = "from tools import py\n(await py.double(n=4))['twice']";
    let works = crate::support::eventually(crate::mcp::speaker::PATIENCE, || {
        let (text, is_error) = answer(&mut client, "run_code", json!({"code": again}));
        (!is_error).then_some(text)
    });
    assert!(works.contains(r#"{"result":8}"#), "{works}");
}

#[test]
fn the_configuration_bounds_what_code_may_call() {
    let place = Command::new();
    let file = place.file("server.py", SERVER);
    let config = format!(
        "[tools.some]\ncommand = [\"/usr/bin/env\", \"python3\", {file:?}]\n\
         environment = {{ PATH = \"/usr/local/bin:/usr/bin:/bin\" }}\n\
         allow = [\"double\", \"place\", \"fail\"]\ndeny = [\"fail\"]\napprove = [\"place\"]\n\
         [tools.one]\ncommand = [\"/usr/bin/env\", \"python3\", {file:?}]\n\
         environment = {{ PATH = \"/usr/local/bin:/usr/bin:/bin\" }}\ncode = [\"double\"]\n\
         [tools.broken]\ncommand = [\"/nowhere/server\"]\n\
         [tools.others]\ncommand = [\"/nowhere/server\"]\ntenants = [\"acme\"]\n"
    );
    let config = place.file("tools.toml", config);
    let mut client =
        StdioClient::initialized(&["--config", config.to_str().unwrap(), "--code-mode"]);
    let listed = client.ask(&legacy(1, "tools/list", json!({})));
    let described = listed["result"]["tools"][1]["description"].as_str().unwrap();
    assert!(described.ends_with("Servers: broken, one, some."), "{described}");
    let all = found(&mut client, json!({}));
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), 4, "{all}");
    assert!(lines[0].starts_with("await tools.one.double("), "{all}");
    assert!(lines[1].starts_with("await tools.some.double("), "{all}");
    assert!(lines[2].starts_with("await tools.some.place("), "{all}");
    assert!(lines[3].starts_with("The server `broken` lists no tools: "), "{all}");
    for (tool, expected) in [
        ("some.place", "needs the approval"),
        ("some.fail", "some.fail"),
        ("one.place", "one.place"),
        ("others.double", "others.double"),
    ] {
        let code = format!("import tools\nawait tools.call('{tool}')");
        let (text, is_error) = answer(&mut client, "run_code", json!({"code": code}));
        assert!(is_error && text.contains("ToolError") && text.contains(expected), "{text}");
    }
}

#[test]
fn servers_are_read_from_the_file_of_a_client() {
    let place = Command::new();
    let server = place.file("server.py", SERVER);
    let entry =
        json!({"command": "python3", "args": [server], "env": {"TOKEN": "t"}, "cwd": "/tmp"});
    let file = json!({"mcpServers": {"My_Py": entry, "off": {"command": "x", "disabled": true}}});
    let file = place.file("mcp.json", file.to_string());
    let file = file.to_str().unwrap();
    let approved = ["--approve", "my-py.w*"];
    let mut client =
        StdioClient::initialized(&[&["--code-mode", "--upstreams", file][..], &approved].concat());
    let seen = ran(&mut client, "from tools import my_py\nawait my_py.place()");
    assert_eq!(
        (&seen["output"]["folder"], &seen["output"]["TOKEN"]),
        (&json!("/tmp"), &json!("t"))
    );
    let (text, _) = answer(
        &mut client,
        "run_code",
        json!({"code": "from tools import my_py\nawait my_py.wipe()"}),
    );
    assert!(text.contains("out of paper"), "the server has it: {text}");
    client.wait_for_log("`My_Py` of");
}

#[test]
fn wrong_options_say_what_is_expected() {
    let command = Command::new();
    for (arguments, expected) in [
        (&["--code-mode"][..], "needs servers of tools: name some with `--upstream NAME=SERVER`"),
        (&["--upstream", "a=env"], "--code-mode"),
        (&["--code-mode", "--upstream", "a"], "must be NAME=COMMAND or NAME=URL, such as"),
        (
            &["--code-mode", "--upstream", "a=no-such"],
            "no program `no-such` in the folders of PATH",
        ),
        (&["--code-mode", "--upstream", "a=env", "--files", "."], "cannot be used with"),
        (&["--code-mode", "--upstreams", "none.json"], "none.json"),
        (&["--code-mode", "--upstream", "a=env", "--approve", "b.*"], "a server that is not there"),
        (&["--code-mode", "--upstream", "a=env", "--approve", "b"], "such as `github.search_*`"),
        (
            &["--code-mode", "--upstream", "a=env", "--set", "sessions.enabled=false"],
            "set `sessions.enabled`",
        ),
    ] {
        let ended = command.run(&[&["mcp"], arguments].concat()).with(2);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
    }
}
