//! Skills of tenants over the shared ones: who sees which, and that nobody can name those of others.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, SkillFolder, TestServer, eventually, output};

/// Far longer than a change takes to show, on a machine that does many other things.
const PATIENCE: Duration = Duration::from_secs(60);

const SERVERS: &str = "servers-7c1d90-canary-31";
const BETAS: &str = "betas-20b4fe-canary-88c1";

/// A skill that says whose it is.
fn saying(whose: &str) -> String {
    format!("WHOSE = {whose:?}\n\ndef main(args):\n    return WHOSE\n")
}

/// A server with keys, shared skills, and skills of `acme` and `beta`. `gamma` has none.
struct Hosted {
    server: TestServer,
    place: Command,
    shared: SkillFolder,
    acme: SkillFolder,
    beta: SkillFolder,
}

impl Hosted {
    fn start(more: &[&str]) -> Self {
        let [shared, acme, beta] = [(); 3].map(|()| SkillFolder::new());
        shared.action("shared.tool", "1.0.0", &saying("everybody"));
        shared.action("shared.tool@3.0.0", "3.0.0", &saying("everybody, lately"));
        shared.instruction("shared.notes", "1.0.0");
        acme.action("shared.tool", "2.0.0", &saying("acme"));
        acme.action("zulu.hidden", "1.0.0", &saying("acme's own"));
        acme.file("zulu.hidden/code/part.py", "PART = 'acme'\n");
        beta.action("beta.private", "1.0.0", &saying("beta's own"));
        // The same skill, byte for byte.
        acme.action("twin.tool", "1.0.0", &saying("twins"));
        beta.action("twin.tool", "1.0.0", &saying("twins"));
        let place = Command::new();
        let config = settings(&place, &[("acme", acme.path()), ("beta", beta.path())]);
        let usual = ["--config", &config, "--skills", shared.path(), "--set", "auth.mode=keys"];
        let data = place.folder().join("data");
        let unlocked = ["--set", "workers.require_lockdown=false", "--set", "skills.bundled=false"];
        let server = TestServer::start_on(&data, &[&usual[..], &unlocked, more].concat());
        Self { server, place, shared, acme, beta }
    }

    fn client(&self, tenant: &str) -> Client {
        let data = self.server.data_dir().to_str().unwrap();
        let create = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "ci"];
        let key = self.place.run(&create).with(0).stdout.trim_end().to_owned();
        let client = self.server.client().with_key(&key);
        eventually(PATIENCE, || (client.get("/v1/blobs").status != 401).then_some(()));
        client
    }
}

/// Writes the configuration with the folders of tenants. Returns its path.
fn settings(place: &Command, tenants: &[(&str, &str)]) -> String {
    let lines = tenants.iter().map(|(tenant, path)| format!("{tenant} = [{path:?}]\n"));
    let file = place.file("new.toml", format!("[tenants.skills]\n{}", lines.collect::<String>()));
    let config = place.folder().join("wardian.toml");
    fs::rename(file, &config).unwrap();
    config.to_str().unwrap().to_owned()
}

fn names(client: &Client) -> Vec<String> {
    let listed = client.call("list_skills", json!({"limit": 500})).unwrap();
    let skills = listed["skills"].as_array().unwrap().iter();
    let named = |skill: &Value, key: &str| skill[key].as_str().unwrap().to_owned();
    let names = skills.map(|skill| format!("{} {}", named(skill, "name"), named(skill, "version")));
    names.filter(|name| !name.starts_with("skills.protocol.guide")).collect()
}

fn says(client: &Client, skill: &str) -> Value {
    output(&client.execute(skill, json!({})))["result"].clone()
}

/// Every call that can name a skill, as beginnings and ends around the name.
fn calls(name: &str) -> Vec<(&'static str, Value)> {
    let code = "def main(args):\n    return 1\n";
    let versioned = format!("{name}@1.0.0");
    vec![
        ("describe_skill", json!({"name": name})),
        ("describe_skill", json!({"name": name, "version": "1.0.0", "detail": "full"})),
        ("read_skill_file", json!({"name": name, "path": "SKILL.md"})),
        ("read_skill_file", json!({"name": name, "path": "code/part.py", "version": "1.0.0"})),
        ("execute_skill", json!({"name": name, "args": {}})),
        ("execute_skill", json!({"name": name, "args": {}, "version": "1.0.0", "detach": true})),
        ("execute_skill", json!({"name": name, "args": {}, "reproducible": true})),
        ("run_code", json!({"language": "python", "code": code, "mount_skills": [name]})),
        ("run_code", json!({"language": "python", "code": code, "mount_skills": [versioned]})),
        ("list_skills", json!({"namespace": name})),
        ("list_skills", json!({"namespace": name.split('.').next().unwrap()})),
    ]
}

#[test]
fn own_skills_are_seen_and_run_by_their_tenant_alone() {
    let hosted = Hosted::start(&[]);
    let [acme, beta, gamma, local] =
        ["acme", "beta", "gamma", "local"].map(|tenant| hosted.client(tenant));
    let shared = ["shared.notes 1.0.0", "shared.tool 3.0.0"];
    let own = ["shared.notes 1.0.0", "shared.tool 2.0.0", "twin.tool 1.0.0", "zulu.hidden 1.0.0"];
    assert_eq!(names(&acme), own);
    assert_eq!(names(&beta), [&["beta.private 1.0.0"], &shared[..], &["twin.tool 1.0.0"]].concat());
    assert_eq!(
        (names(&gamma), names(&local)),
        (shared.map(String::from).into(), shared.map(String::from).into())
    );
    // Alternating, so that workers, contents and bytecode change hands.
    for _ in 0..2 {
        for (client, whose) in [
            (&acme, "acme"),
            (&beta, "everybody, lately"),
            (&gamma, "everybody, lately"),
            (&local, "everybody, lately"),
        ] {
            assert_eq!(says(client, "shared.tool"), whose);
        }
        assert_eq!(says(&acme, "zulu.hidden"), "acme's own");
        assert_eq!(
            (says(&acme, "twin.tool"), says(&beta, "twin.tool")),
            (json!("twins"), json!("twins"))
        );
    }
    // A version that only the shared skill has is hidden as well.
    let hidden = acme.refusal("describe_skill", json!({"name": "shared.tool", "version": "3.0.0"}));
    assert_eq!(hidden.kind, "version_not_found");
    assert!(hidden.message.ends_with("it has `2.0.0`"), "{}", hidden.message);
    let read = json!({"name": "zulu.hidden", "path": "code/part.py"});
    assert_eq!(acme.call("read_skill_file", read).unwrap()["content"], "PART = 'acme'\n");
    // Code mounts what its tenant sees.
    let code = "import os\n\ndef main(args):\n    from pathlib import Path\n    \
        found = [p for p in Path('/skills').rglob('main.py')]\n    return [p.read_text() for p in found]\n";
    for (client, whose) in [(&acme, "acme"), (&gamma, "everybody, lately")] {
        let result = client.run_with(code, json!({"mount_skills": ["shared.tool"]}));
        let source = output(&result)["result"][0].as_str().unwrap();
        assert!(source.contains(&format!("{whose:?}")), "{source}");
    }
    // The guide is one for all.
    let guide = |client: &Client| client.call("load_skills_protocol_guide", json!({})).unwrap();
    assert_eq!(guide(&acme), guide(&gamma));
}

#[test]
fn own_skills_of_a_tenant_are_answered_to_others_like_ones_that_do_not_exist() {
    let hosted = Hosted::start(&["--admin-listen", "127.0.0.1:0"]);
    // The skill is there, and was used.
    assert_eq!(says(&hosted.client("acme"), "zulu.hidden"), "acme's own");
    let (hidden, unknown) = ("zulu.hidden", "zulu.hiddex");
    for tenant in ["beta", "gamma", "local"] {
        let client = hosted.client(tenant);
        for ((method, named), (_, other)) in calls(hidden).into_iter().zip(calls(unknown)) {
            let answer = |params: Value| {
                let request =
                    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
                let answer = client.post(request.to_string());
                let text = String::from_utf8(answer.body.clone()).unwrap();
                (answer.status, answer.header("content-length").to_owned(), text)
            };
            let (status, length, text) = answer(named.clone());
            let expected = answer(other);
            let text = text.replace(hidden, unknown);
            assert_eq!((status, length, text), expected, "{tenant} {method} {named}");
        }
        // Nothing is suggested from the skills of others.
        let near = client.refusal("describe_skill", json!({"name": "zulu.hiddenn"}));
        assert!(!near.message.contains("did you mean"), "{}", near.message);
    }
    let near = hosted.client("acme").refusal("describe_skill", json!({"name": "zulu.hiddenn"}));
    assert!(near.message.contains("did you mean `zulu.hidden`?"), "{}", near.message);
    // Pages of one tenant lead no other anywhere.
    let (acme, gamma) = (hosted.client("acme"), hosted.client("gamma"));
    let page = |client: &Client, cursor: &str| {
        client.call("list_skills", json!({"limit": 1, "cursor": cursor}))
    };
    let first = acme.call("list_skills", json!({"limit": 1})).unwrap();
    let cursor = first["next_cursor"].as_str().unwrap();
    assert!(page(&acme, cursor).is_ok());
    let (foreign, made_up) = (page(&gamma, cursor).unwrap_err(), page(&gamma, "AAAA").unwrap_err());
    assert_eq!((foreign.code, foreign.message), (made_up.code, made_up.message));
}

#[test]
fn own_skills_get_the_secrets_of_their_tenant_and_none_of_the_server() {
    let place = Command::new();
    place.file("mount/ALPHA_KEY", SERVERS);
    place.file("mount/tenants/beta/ALPHA_KEY", BETAS);
    let folders = format!("secrets.folders={}", place.folder().join("mount").display());
    let hosted = Hosted::start(&["--set", &folders]);
    let source =
        "from runtime import secrets\n\ndef main(args):\n    return secrets.get('ALPHA_KEY')[:5]\n";
    for folder in [&hosted.shared, &hosted.acme, &hosted.beta] {
        let name = if std::ptr::eq(folder, &hosted.shared) { "keys.shared" } else { "keys.own" };
        // A folder that is moved into place is never seen by halves.
        folder.action(&format!(".{name}"), "1.0.0", source);
        let manifest = folder.at(&format!(".{name}/skill.toml"));
        let text = fs::read_to_string(&manifest).unwrap().replace(&format!(".{name}"), name);
        fs::write(&manifest, text + "\n[permissions]\nsecrets = [\"ALPHA_KEY\"]\n").unwrap();
        fs::rename(folder.at(&format!(".{name}")), folder.at(name)).unwrap();
    }
    let (acme, beta) = (hosted.client("acme"), hosted.client("beta"));
    let sees =
        |client: &Client, name: &str| client.call("describe_skill", json!({"name": name})).ok();
    for (client, name) in [(&acme, "keys.own"), (&beta, "keys.own"), (&acme, "keys.shared")] {
        eventually(PATIENCE, || sees(client, name));
    }
    // The operator's skill has the operator's secret; the tenant's has what the tenant has.
    assert_eq!(says(&acme, "keys.shared"), "serve");
    assert_eq!(
        (says(&beta, "keys.shared"), says(&beta, "keys.own")),
        (json!("betas"), json!("betas"))
    );
    let refused = acme.refusal("execute_skill", json!({"name": "keys.own", "args": {}}));
    assert_eq!(refused.kind, "secret_unavailable");
    // The same answer as if the server had none.
    fs::remove_file(place.folder().join("mount/ALPHA_KEY")).unwrap();
    let without = acme.refusal("execute_skill", json!({"name": "keys.own", "args": {}}));
    assert_eq!(without.message, refused.message);
}

#[test]
fn own_skills_follow_their_folders_and_the_settings_of_a_running_server() {
    let hosted = Hosted::start(&[]);
    let [acme, beta, gamma] = ["acme", "beta", "gamma"].map(|tenant| hosted.client(tenant));
    assert_eq!(says(&acme, "shared.tool"), "acme");
    hosted.acme.remove("shared.tool");
    eventually(PATIENCE, || (says(&acme, "shared.tool") == "everybody, lately").then_some(()));
    hosted.beta.action("shared.tool", "1.0.0", &saying("beta"));
    eventually(PATIENCE, || (says(&beta, "shared.tool") == "beta").then_some(()));
    assert_eq!(says(&acme, "shared.tool"), "everybody, lately");
    // Settings that cannot be used change nothing.
    let inside = hosted.shared.at("shared.tool");
    for (path, why) in [
        ("/nonexistent/skills", "a folder of skills of the tenant `gamma` cannot be read: "),
        (inside.to_str().unwrap(), "a folder of `skills.roots` for all tenants: separate them"),
    ] {
        settings(&hosted.place, &[("gamma", path)]);
        let line = hosted.server.wait_for_log(why);
        assert!(line.contains("the configuration is kept"), "{line}");
    }
    assert_eq!(says(&acme, "zulu.hidden"), "acme's own");
    // `acme` loses its folder, `gamma` gets it, and `beta` keeps its own.
    settings(&hosted.place, &[("gamma", hosted.acme.path()), ("beta", hosted.beta.path())]);
    hosted.server.process().hang_up();
    eventually(PATIENCE, || {
        gamma.call("execute_skill", json!({"name": "zulu.hidden", "args": {}})).ok()
    });
    let unknown = acme.refusal("execute_skill", json!({"name": "zulu.hidden", "args": {}}));
    assert_eq!(
        (unknown.kind.as_str(), says(&beta, "shared.tool")),
        ("skill_not_found", json!("beta"))
    );
    // Changes are followed in the new place.
    hosted.acme.action("later.tool", "1.0.0", &saying("later"));
    eventually(PATIENCE, || {
        gamma.call("execute_skill", json!({"name": "later.tool", "args": {}})).ok()
    });
    assert_eq!(
        acme.refusal("describe_skill", json!({"name": "later.tool"})).kind,
        "skill_not_found"
    );
}

#[test]
fn commands_show_the_skills_of_tenants_and_refuse_wrong_folders() {
    let place = Command::new();
    let [shared, acme] = [(); 2].map(|()| SkillFolder::new());
    shared.action("shared.tool", "1.0.0", &saying("everybody"));
    acme.action("shared.tool", "2.0.0", &saying("acme"));
    acme.file("broken.tool/skill.toml", "broken");
    let folders = |path: &str| format!("tenants.skills=acme={path}");
    let run = |path: &str, command: &[&str]| {
        let first = ["--skills", shared.path(), "--set", &folders(path)];
        place.run(&[&first[..], command].concat())
    };
    let listed = run(acme.path(), &["skills", "list", "--tenant", "acme", "--namespace", "shared"]);
    let listed = listed.with(0);
    assert!(
        listed.stdout.contains("2.0.0") && !listed.stdout.contains("1.0.0"),
        "{}",
        listed.stdout
    );
    assert!(listed.stderr.contains("not served: broken.tool"), "{}", listed.stderr);
    for tenant in [&[][..], &["--tenant", "beta"]] {
        let list = ["skills", "list", "--namespace", "shared"];
        let listed = run(acme.path(), &[&list[..], tenant].concat()).with(0);
        assert!(listed.stdout.contains("1.0.0") && !listed.stderr.contains("broken"), "{listed:?}");
    }
    let file = ["skills", "show", "shared.tool", "--tenant", "acme", "--file", "code/main.py"];
    assert_eq!(run(acme.path(), &file).with(0).stdout, saying("acme"));
    run(acme.path(), &["skills", "list", "--tenant", "../acme"]).with(2);
    // The local user sees the skills of no tenant.
    let ran = run(acme.path(), &["exec", "shared.tool"]).with(0);
    assert!(ran.stdout.contains("\"everybody\""), "{}", ran.stdout);
    let above = shared.at("..");
    for (path, why) in [
        (
            "/nonexistent/skills",
            "a folder of skills of the tenant `acme` cannot be read: /nonexistent",
        ),
        (shared.path(), "which is a folder of `skills.roots` for all tenants: separate them"),
        (
            above.to_str().unwrap(),
            "which is a folder of `skills.roots` for all tenants: separate them",
        ),
    ] {
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["skills", "list"]] {
            let refused = run(path, command).with(2);
            assert!(refused.stderr.contains(why), "{}", refused.stderr);
            assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
        }
    }
}

/// A skill with the modules of another tenant's folder cannot be reached by a link either.
#[test]
fn links_in_the_folder_of_a_tenant_lead_nowhere() {
    let hosted = Hosted::start(&[]);
    let gamma = SkillFolder::new();
    std::os::unix::fs::symlink(hosted.acme.at("zulu.hidden"), gamma.at("zulu.hidden")).unwrap();
    gamma.action("linking.tool", "1.0.0", &saying("gamma"));
    let stolen = hosted.acme.at("zulu.hidden/code/part.py");
    std::os::unix::fs::symlink(stolen, gamma.at("linking.tool/code/part.py")).unwrap();
    gamma.action("plain.tool", "1.0.0", &saying("gamma"));
    settings(&hosted.place, &[("acme", hosted.acme.path()), ("gamma", gamma.path())]);
    let client = hosted.client("gamma");
    eventually(PATIENCE, || {
        client.call("execute_skill", json!({"name": "plain.tool", "args": {}})).ok()
    });
    for name in ["zulu.hidden", "linking.tool"] {
        assert_eq!(client.refusal("describe_skill", json!({"name": name})).kind, "skill_not_found");
    }
}

/// Whoever calls a shared skill first has it compiled, for all.
#[test]
fn a_tenant_at_its_limits_does_not_delay_a_shared_skill_for_others() {
    let more = ["--workers", "2", "--set", "tenants.running=1", "--set", "limits.timeout=2 min"];
    let hosted = Hosted::start(&more);
    let (gamma, delta) = (hosted.client("gamma"), hosted.client("delta"));
    let begun = gamma.run_with("import time\ntime.sleep(100)", json!({"detach": true}));
    let path = format!("/v1/runs/{}", begun["run_id"].as_str().unwrap());
    let status = || gamma.get(&path).json()["status"].as_str().unwrap().to_owned();
    eventually(PATIENCE, || (status() == "running").then_some(()));
    let call = json!({"name": "shared.tool", "args": {}, "detach": true});
    let waiting = gamma.call("execute_skill", call).unwrap();
    assert_eq!(says(&delta, "shared.tool"), "everybody, lately");
    assert_eq!(status(), "running", "the other tenant has waited for it");
    let path = format!("/v1/runs/{}", waiting["run_id"].as_str().unwrap());
    assert_eq!(gamma.get(&path).json()["status"], "queued");
    gamma.post_to(&format!("{path}/cancel"));
    gamma.post_to(&format!("/v1/runs/{}/cancel", begun["run_id"].as_str().unwrap()));
}
