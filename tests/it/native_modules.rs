//! Native modules that are merged into the engine: the table of addresses, the pinned set, and what runs
//! and sessions do with them. Programs that use them are in `tests/fixtures`, in the folders `native`.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use wardian_engine::native::NativeSet;
use wardian_engine::source::pin::EnginePin;
use wasmparser::{Parser, Payload, ValidPayload, Validator, WasmFeatures};

use crate::packages::batteries;
use crate::support::cache::own_cache;
use crate::support::{Client, Command, SkillFolder, TestServer, eventually, failed, output};

const PATIENCE: Duration = Duration::from_secs(60);

/// The folder of what is built in.
fn native_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("wasm/native")
}

/// The engine's file of this name, from the cache.
fn engine_file(name: &str) -> Vec<u8> {
    let entries = fs::read_dir(own_cache().join("engine")).unwrap();
    let found = entries.filter_map(|entry| fs::read(entry.unwrap().path().join(name)).ok());
    found.last().unwrap_or_else(|| panic!("no {name} in the cache"))
}

/// Checks everything of a module but the code of its first functions.
fn ensure_valid_after(module: &[u8], known: usize) {
    let features = WasmFeatures::WASM2 | WasmFeatures::EXCEPTIONS;
    let mut validator = Validator::new_with_features(features);
    let mut functions = 0;
    for payload in Parser::new(0).parse_all(module) {
        if let ValidPayload::Func(function, body) = validator.payload(&payload.unwrap()).unwrap() {
            functions += 1;
            if functions > known {
                function.into_validator(Default::default()).validate(&body).unwrap();
            }
        }
    }
    assert!(functions > known, "{functions}");
}

/// How many functions a module defines.
fn functions_of(module: &[u8]) -> usize {
    let payloads = Parser::new(0).parse_all(module).map(Result::unwrap);
    payloads.filter(|payload| matches!(payload, Payload::CodeSectionEntry(_))).count()
}

#[test]
fn the_table_of_addresses_is_that_of_the_engine() {
    let script = fs::read_to_string(native_folder().join("addresses.py")).unwrap();
    let place = Command::new();
    place.file("addresses.py", script);
    let printed = place.run(&["run", "addresses.py"]).with(0).stdout;
    let table = fs::read_to_string(native_folder().join("addresses.tsv")).unwrap();
    assert_eq!(printed, table, "`wasm/native/addresses.tsv` is for another engine");
}

#[test]
fn the_pinned_set_merges_into_the_engine() {
    let set = NativeSet::embedded().unwrap();
    let files: Vec<_> = set.modules.iter().map(|one| engine_file(one.file.name())).collect();
    let patched = EnginePin::embedded().unwrap().patched(&engine_file("python.wasm")).unwrap();
    let merged = set.merge(&patched, &files).unwrap();
    ensure_valid_after(&merged, functions_of(&patched));
    let mut named: Vec<_> = set.modules.iter().map(|module| format!("{}:", module.name)).collect();
    named.push("wardian_prepare_native".to_owned());
    for name in named {
        let is_there = merged.windows(name.len()).any(|bytes| bytes == name.as_bytes());
        assert!(is_there, "no function is called `{name}`");
    }
}

/// A session in which native modules are loaded.
fn session_with_modules(client: &Client) -> String {
    let code = "import collections, itertools, pydantic, jiter, msgpack, orjson, rpds\n\
                validate = pydantic.TypeAdapter(int).validator.validate_python\nx = 1";
    let first = client.run_with(code, json!({"session": "new"}));
    output(&first);
    first["session"]["id"].as_str().unwrap().to_owned()
}

/// A skill as they are written, with the three packages that its kind uses most.
const ORDERS: &str = "import jsonschema, orjson, pydantic

class Order(pydantic.BaseModel):
    name: str
    counts: list[int] = []

SCHEMA = {'type': 'object', 'properties': {'counts': {'type': 'array', 'maxItems': 3}}}

def main(args):
    order = Order.model_validate(args)
    jsonschema.validate(order.model_dump(), SCHEMA)
    return orjson.dumps(order.model_dump(), option=orjson.OPT_SORT_KEYS).decode()
";

/// Where nothing has to be imported any more, the fuel of a run is a small part of what the imports cost.
const FUEL: u64 = 100_000_000;

#[test]
fn a_skill_with_models_and_schemas_begins_where_they_are_imported_reproducibly_too() {
    batteries();
    let skills = SkillFolder::new();
    skills.action("acme.orders", "1.0.0", ORDERS);
    let images = "images.profiles=pydantic,reproducible+pydantic";
    let server = ["--skills", skills.path(), "--set", "log.level=debug", "--set", images];
    let server = TestServer::start(&server);
    for image in ["pydantic", "reproducible+pydantic"] {
        server.wait_for_log(&format!("the image `{image}` is ready"));
    }
    let client = server.client();
    let args = json!({"name": "plums", "counts": ["1", 2]});
    let expected = json!(r#"{"counts":[1,2],"name":"plums"}"#);
    let order = json!({"name": "acme.orders", "args": args});
    let begun_as = |result: &Value, image: &str| {
        let run = result["run_id"].as_str().unwrap();
        server.wait_for_log(&format!("run `{run}` started from the image `{image}`"));
    };
    let usual = client.call("execute_skill", order.clone()).unwrap();
    assert_eq!(output(&usual)["result"], expected);
    begun_as(&usual, "pydantic");

    let mut again = order.clone();
    again["reproducible"] = true.into();
    let [first, second] = [(); 2].map(|()| client.call("execute_skill", again.clone()).unwrap());
    begun_as(&first, "reproducible+pydantic");
    assert_eq!(output(&first)["result"], expected);
    assert_eq!(first["fuel"], second["fuel"]);
    assert!(first["fuel"].as_u64() < Some(FUEL), "{first:#}");
    // A command makes the image itself.
    let (text, skills) = (args.to_string(), skills.path());
    let place = Command::new();
    let run = ["--skills", skills, "exec", "acme.orders", "--args", &text, "--json"];
    let run = [&run[..], &["--reproducible"]].concat();
    let here = place.run(&run).with(0).json();
    assert_eq!([&here["output"], &here["fuel"]], [&first["output"], &first["fuel"]], "{here:#}");

    // Sessions import once.
    for reproducible in [false, true] {
        let code = format!("{ORDERS}\nmain({args})");
        let params = json!({"session": "new", "reproducible": reproducible});
        let session = client.run_with(&code, params);
        assert_eq!(output(&session)["result"], expected, "{session:#}");
        let id = session["session"]["id"].as_str().unwrap();
        let next = client.run_with("main({'name': 'figs'})", json!({"session": id}));
        assert_eq!(output(&next)["result"], json!(r#"{"counts":[],"name":"figs"}"#));
        client.delete(&format!("/v1/sessions/{id}"));
    }
}

#[test]
fn an_interrupt_ends_a_loop_in_native_code() {
    let client = TestServer::shared().client();
    let id = session_with_modules(&client);
    let (other, session) = (client.clone(), json!({"session": id}));
    let code = "x = 2\nwhile True:\n    collections.deque(\n        \
                map(validate, itertools.repeat('12', 10_000)), maxlen=0)";
    let running = thread::spawn(move || other.run_with(code, session));
    let path = |more: &str| format!("/v1/sessions/{id}{more}");
    eventually(PATIENCE, || {
        let cells = client.get(&path("/cells?after=1")).json();
        (cells["cells"][0]["state"] == "running").then_some(())
    });
    // The cell has begun its loop by then, on any machine that can run the tests.
    thread::park_timeout(Duration::from_secs(1));
    let answer = client.post_json(&path("/interrupt"), &json!({}));
    assert_eq!(answer.json()["interrupted"], true);
    let interrupted = running.join().unwrap();
    assert_eq!(failed(&interrupted).0, "KeyboardInterrupt", "{interrupted:#}");
    let next = client.run_with("[x, validate('3')]", json!({"session": id}));
    assert_eq!(output(&next)["result"], json!([2, 3]));
    client.delete(&path(""));
}

#[test]
fn a_time_limit_within_a_callback_of_native_code_is_a_time_limit() {
    let client = TestServer::shared().client();
    let id = session_with_modules(&client);
    let define = "def forever(value):\n    while True: pass\nx = 0";
    output(&client.run_with(define, json!({"session": id})));
    for call in [
        "orjson.dumps(object(), default=forever)",
        "pydantic_core.to_json(object(), fallback=forever)",
        "msgpack.packb(object(), default=forever)",
        "pydantic.TypeAdapter(typing.Annotated[int, pydantic.BeforeValidator(forever)]).validate_python(1)",
    ] {
        let code = format!("import pydantic_core, typing\nx += 1\n{call}");
        let ended = client.run_with(&code, json!({"session": id, "timeout_ms": 400}));
        assert_eq!(failed(&ended).0, "Timeout", "{call}: {ended:#}");
        assert_eq!(ended["session"]["state"], "kept", "{call}: {ended:#}");
        assert!(ended["error"]["traceback"].is_string(), "{call}: {ended:#}");
    }
    assert_eq!(output(&client.run_with("x", json!({"session": id})))["result"], 4);
    client.delete(&format!("/v1/sessions/{id}"));
}

#[test]
fn a_session_with_native_modules_continues_from_its_checkpoint() {
    let client = TestServer::shared().client();
    let id = session_with_modules(&client);
    let cell = |code: &str| client.run_with(code, json!({"session": id}));
    output(&cell(
        "class M(pydantic.BaseModel):\n    n: int\nm = M(n='1')\n\
                  d = rpds.HashTrieMap({'a': 1})",
    ));
    // A cell that does not end rolls the session back to the memory of its checkpoint.
    let stubborn = "m = None\ncollections.deque(map(validate, itertools.repeat('1')), maxlen=0)";
    let ended = client.run_with(stubborn, json!({"session": id, "timeout_ms": 500}));
    assert_eq!(failed(&ended).0, "Timeout", "{ended:#}");
    assert_eq!(ended["session"]["state"], "rolled_back", "{ended:#}");
    let code = "try:\n    M(n='x')\nexcept pydantic.ValidationError as error:\n    kind = error.errors()[0]['type']\n\
                [m.n, M.model_validate_json('{\"n\": 2}').n, kind, msgpack.unpackb(msgpack.packb([1])), jiter.from_json(b'[2]'),\n  \
                orjson.loads(orjson.dumps({'a': 0.5})), sorted(d.insert('b', 2))]";
    let next = cell(code);
    assert_eq!(
        output(&next)["result"],
        json!([1, 2, "int_parsing", [1], [2], {"a": 0.5}, ["a", "b"]])
    );
    client.delete(&format!("/v1/sessions/{id}"));
}

#[test]
fn memory_that_native_code_may_not_have_ends_its_own_run() {
    let client = TestServer::shared().client();
    let limits = json!({"memory_bytes": 160 << 20, "timeout_ms": 60_000});
    for step in [
        "msgpack.packb(v)",
        "pydantic_core.to_json(v)",
        "orjson.loads(b'[' + b'\"abc\",' * 20_000_000 + b'1]')",
        "rpds.List(range(30_000_000))",
        "jiter.from_json(b'[' + b'[1],' * 20_000_000 + b'1]')",
        "pydantic.TypeAdapter(list).validate_json(b'[' + b'\"abc\",' * 20_000_000 + b'1]')",
    ] {
        let code = format!(
            "import jiter, msgpack, orjson, pydantic, pydantic_core, rpds\nv = 'x' * 1000\n\
             for _ in range(24):\n    v = [v, v]\n{step}\n1"
        );
        let ended = client.run_with(&code, json!({"limits": limits}));
        let kind = failed(&ended).0;
        assert!(["MemoryLimit", "MemoryError"].contains(&kind), "{step}: {ended:#}");
    }
}

#[test]
fn lists_of_packages_get_native_ones_of_the_set_alone() {
    let place = Command::new();
    let list = |text: &str| place.file("acme.tool/code/requirements.txt", text);
    list("jiter\nmsgpack>=1\norjson\npydantic-core==2.50.5\nrpds-py\n");
    let locked = place.run(&["skills", "deps", "lock", "acme.tool", "--from", "."]).with(0);
    assert!(locked.stdout.contains("pydantic-core 2.50.5 (of the engine)"), "{}", locked.stdout);
    let lock = fs::read_to_string(place.folder().join("acme.tool/code/pylock.toml")).unwrap();
    assert!(
        lock.contains(
            "\"jiter==0.19.0\", \"msgpack==1.2.4\", \"orjson==3.13.0\", \
             \"pydantic-core==2.50.5\", \"rpds-py==2026.9.1\""
        ),
        "{lock}"
    );
    list("pydantic-core<2\n");
    let refused = place.run(&["skills", "deps", "lock", "acme.tool", "--from", "."]).with(1);
    let expected =
        "`pydantic-core<2` excludes the engine's pydantic-core 2.50.5, which cannot be replaced";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);
}
