//! Programs that execute skills, each in a sandbox of its own.

use serde_json::{Value, json};

use crate::support::{Client, SkillFolder, TestServer, failed, output};

/// Skills that call each other, and some that do not.
fn skills() -> SkillFolder {
    let skills = SkillFolder::new();
    let double = "def main(args):\n    print('doubles')\n    return {'twice': 2 * args['n']}";
    skills.action("acme.double", "1.0.0", double);
    skills.action("acme.fails", "1.0.0", "def main(args):\n    raise ValueError('no paper')");
    skills.action("other.secret", "1.0.0", "def main(args):\n    return {'a': 1}");
    let long = "def main(args):\n    return {'text': 'x' * 9_000, 'ok': 1}";
    skills.action("acme.long", "1.0.0", long);
    let file = "from pathlib import Path\ndef main(args):\n    Path('a.txt').write_text('x')\n    return {}";
    skills.action("acme.file", "1.0.0", file);
    let asks = "def main(args):\n    from tools import f\n    return f.sync()";
    skills.action("acme.asks", "1.0.0", asks);
    // Each executes the next one, and says how it ends.
    let deeper = "async def main(args):\n    try:\n        import tools\n        \
                  found = await tools.execute_skill('acme.deeper', n=args['n'] + 1)\n    \
                  except Exception as error:\n        found = str(error)\n    \
                  return {'n': args['n'], 'found': found}";
    skills.action("acme.deeper", "1.0.0", deeper);
    let manifest = std::fs::read_to_string(skills.at("acme.deeper/skill.toml")).unwrap();
    let grants = "\n[permissions]\nskills = [\"acme.d*\"]\n";
    skills.file("acme.deeper/skill.toml", manifest + grants);
    skills
}

fn value(client: &Client, code: &str) -> Value {
    let ended = client.run(code);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    output(&ended)["result"].clone()
}

fn record(client: &Client, id: &Value) -> Value {
    client.get(&format!("/v1/runs/{}?wait_ms=9000", id.as_str().unwrap())).json()
}

#[test]
fn a_program_executes_skills_that_the_operator_names() {
    let skills = skills();
    // One worker: whoever waits has to leave it to the others.
    let server = TestServer::start(&[
        "--skills",
        skills.path(),
        "--set",
        "skills.from_code=acme.*",
        "--set",
        "workers.count=1",
    ]);
    let client = server.client();
    let ended = client.run("import tools\nawait tools.execute_skill('acme.double', n=21)");
    assert_eq!(output(&ended)["twice"], 42, "{ended:#}");
    let calls = record(&client, &ended["run_id"])["tool_calls"].clone();
    assert_eq!(
        (&calls[0]["tool"], &calls[0]["end"]),
        (&json!("execute_skill"), &json!("answered"))
    );
    let child = record(&client, &calls[0]["run_id"]);
    assert!(child.to_string().contains("acme.double"), "{child:#}");
    // Where the program cannot await, many at once, and with all of their results.
    let held = "import tools\ndef f(n):\n    return tools.execute_skill.sync('acme.double', n=n)['twice']\nf(1) + f(2)";
    assert_eq!(value(&client, held), 6);
    let many = "import asyncio, tools\n\
                rows = await asyncio.gather(*(tools.execute_skill('acme.double', n=n) for n in range(12)))\n\
                sum(row['twice'] for row in rows)";
    assert_eq!(value(&client, many), 132);
    let whole = "import tools\nx = await tools.call('execute_skill', {'name': 'acme.file@1.0.0'})\n\
                 y = await tools.call('execute_skill', {'name': 'acme.double', 'args': {'n': 1}})\n\
                 [x['output'], [f['path'] for f in x['files']], y['logs_preview'], y['run_id'][:4]]";
    assert_eq!(value(&client, whole), json!([{}, ["a.txt"], "doubles\n", "run_"]));
    let long =
        "import tools\nx = await tools.execute_skill('acme.long')\n[len(x['text']), x['ok']]";
    assert_eq!(value(&client, long), json!([9_000, 1]), "it is not cut");
    let found =
        "import tools\n[tools.list('execute')[0]['call'], tools.search('skill')[0]['name']]";
    let call = "await tools.execute_skill(name, **args)";
    assert_eq!(value(&client, found), json!([call, "execute_skill"]));
}

#[test]
fn what_a_program_may_not_execute_is_like_what_does_not_exist() {
    let skills = skills();
    let server =
        TestServer::start(&["--skills", skills.path(), "--set", "skills.from_code=acme.*"]);
    let client = server.client();
    let caught = |call: &str| {
        let code = format!(
            "import tools\ntry:\n    x = {call}\nexcept tools.ToolError as e:\n    x = str(e)\nx"
        );
        value(&client, &code).as_str().unwrap().to_owned()
    };
    assert_eq!(
        caught("await tools.execute_skill('other.secret')"),
        "no skill is called `other.secret`"
    );
    assert_eq!(caught("await tools.execute_skill('acme.none')"), "no skill is called `acme.none`");
    assert_eq!(caught("await tools.execute_skill('acme.fails')"), "ValueError: no paper");
    let misfit = caught("await tools.execute_skill('acme.double')");
    assert!(misfit.starts_with("KeyError"), "{misfit}");
    let version = caught("await tools.execute_skill('acme.double@9.0.0', n=1)");
    assert!(version.contains("has no version 9.0.0"), "{version}");
    let more = caught("await tools.call('execute_skill', {'name': 'acme.double', 'detach': True})");
    assert!(more.contains("detach"), "{more}");
    let asks = caught("await tools.execute_skill('acme.asks')");
    assert!(asks.contains("tools"), "{asks}");
    // Only so deep, and a server that allows none has none.
    let deep = client.run("import tools\nawait tools.execute_skill('acme.deeper', n=1)");
    let deep = output(&deep);
    assert_eq!((&deep["n"], &deep["found"]["n"]), (&json!(1), &json!(2)), "{deep:#}");
    let end = deep["found"]["found"].as_str().unwrap();
    assert!(end.contains("No module named 'tools'"), "{deep:#}");
    let alone = client.execute("acme.deeper", json!({"n": 1}));
    let last = &output(&alone)["found"]["found"];
    assert_eq!((&last["n"], last["found"].is_string()), (&json!(3), true), "{alone:#}");
    let plain = TestServer::shared().client();
    let none = plain.run("import tools\nawait tools.execute_skill('hello.world')");
    assert_eq!(failed(&none).0, "ModuleNotFoundError", "{none:#}");
}
