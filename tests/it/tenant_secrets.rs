//! Secrets of tenants: whose value a run gets, and that it sees nothing of another tenant's.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{Client, Command, SkillFolder, TestServer, eventually, output};

const SERVERS: &str = "servers-5d0a77-canary-19";
const ACMES: &str = "acmes-8f3c1e-canary-77d0";
const BETAS: &str = "betas-41aa9c-canary-02b5f6";

const SOURCE: &str = r#"
import hashlib, os
from runtime import secrets

def main(args):
    value = secrets.get("ALPHA_KEY")
    print("value", value)
    print("guess", args.get("guess", ""))
    return {"hash": hashlib.sha256(value.encode()).hexdigest(),
            "names": sorted(name for name in os.environ if "KEY" in name or "TENANT" in name)}
"#;

fn fingerprint(value: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(value))
}

/// A server with keys, whose one skill declares one secret.
struct Hosted {
    server: TestServer,
    place: Command,
    _skills: SkillFolder,
}

impl Hosted {
    fn start(place: Command, settings: &[String]) -> Self {
        let skills = SkillFolder::new();
        skills.action("acme.keys", "1.0.0", SOURCE);
        let manifest = fs::read_to_string(skills.at("acme.keys/skill.toml")).unwrap();
        let manifest = format!("{manifest}\n[permissions]\nsecrets = [\"ALPHA_KEY\"]\n");
        skills.file("acme.keys/skill.toml", manifest);
        let mut flags = vec!["--skills", skills.path()];
        let usual = ["auth.mode=keys", "workers.require_lockdown=false"];
        let settings = usual.into_iter().chain(settings.iter().map(String::as_str));
        flags.extend(settings.flat_map(|setting| ["--set", setting]));
        let server = TestServer::start_on(&place.folder().join("data"), &flags);
        Self { server, place, _skills: skills }
    }

    fn client(&self, tenant: &str) -> Client {
        let data = self.server.data_dir().to_str().unwrap();
        let create = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "ci"];
        let key = self.place.run(&create).with(0).stdout.trim_end().to_owned();
        let client = self.server.client().with_key(&key);
        let patience = Duration::from_secs(60);
        eventually(patience, || (client.get("/v1/blobs").status != 401).then_some(()));
        client
    }
}

fn executed(client: &Client, guess: &str) -> Value {
    client.execute("acme.keys", json!({"guess": guess}))
}

fn private(place: &Command, text: &str) -> PathBuf {
    let file = place.file("secrets.toml", text);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file
}

#[test]
fn a_run_gets_the_secret_of_its_tenant_and_sees_none_of_another() {
    let place = Command::new();
    place.file("mount/ALPHA_KEY", SERVERS);
    place.file("mount/tenants/acme/ALPHA_KEY", ACMES);
    let file = private(&place, &format!("[tenants.beta]\nALPHA_KEY = \"{BETAS}\"\n"));
    let folders = format!("secrets.folders={}", place.folder().join("mount").display());
    let hosted = Hosted::start(place, &[folders, format!("secrets.file={}", file.display())]);
    let tenants = [("acme", ACMES), ("beta", BETAS), ("gamma", SERVERS), ("local", SERVERS)];
    let clients: Vec<_> =
        tenants.iter().map(|(tenant, value)| (hosted.client(tenant), *value)).collect();
    // Alternating, so that workers and caches change hands.
    for _ in 0..2 {
        for (client, own) in &clients {
            for (_, guess) in tenants {
                let result = executed(client, guess);
                let found = output(&result);
                assert_eq!(found["hash"], fingerprint(own), "{found}");
                assert_eq!(found["names"], json!(["ALPHA_KEY"]));
                let text = result.to_string();
                assert!(!text.contains(own), "its own value is not covered: {text}");
                // What is covered tells nobody whether he has guessed another tenant's value.
                assert_eq!(text.contains(guess), guess != *own, "{text}");
            }
        }
    }
    // A change counts from the next run on, for its tenant alone.
    hosted.place.file("mount/tenants/acme/ALPHA_KEY", "rotated-8f3c1e-canary");
    let hashes: Vec<_> =
        clients.iter().map(|(client, _)| output(&executed(client, ""))["hash"].clone()).collect();
    let expected = ["rotated-8f3c1e-canary", BETAS, SERVERS, SERVERS].map(fingerprint);
    assert_eq!(hashes, expected);
    let log = hosted.server.log();
    assert!([SERVERS, ACMES, BETAS].iter().all(|value| !log.contains(value)), "{log}");
    let folders = format!("secrets.folders={}", hosted.place.folder().join("mount").display());
    let list = |more: &[&str]| {
        let first = ["--set", &folders, "secrets", "list", "--json"];
        let listed = hosted.place.run(&[&first[..], more].concat());
        listed.with(0).json()["secrets"][0]["provider"].clone()
    };
    assert_eq!(list(&["--tenant", "acme"]), "tenant folder");
    assert_eq!((list(&["--tenant", "gamma"]), list(&[])), (json!("folder"), json!("folder")));
    hosted.place.run(&["secrets", "list", "--tenant", "../acme"]).with(2);
}

#[test]
fn secrets_of_the_server_are_not_shared_unless_the_operator_wants_it() {
    let place = Command::new();
    place.file("mount/ALPHA_KEY", SERVERS);
    // The command gives `acme` a value and nobody else.
    let script = "case $WARDIAN_TENANT in acme) printf %s \"$0-$1\";; esac";
    let command = format!("secrets.tenant_command=/bin/sh,-c,{script},{{tenant}},{{name}}");
    let folders = format!("secrets.folders={}", place.folder().join("mount").display());
    let apart = "secrets.share_with_tenants=false".to_owned();
    let hosted = Hosted::start(place, &[folders, apart, command]);
    let found = executed(&hosted.client("acme"), "");
    assert_eq!(output(&found)["hash"], fingerprint("acme-ALPHA_KEY"));
    let refused =
        hosted.client("beta").refusal("execute_skill", json!({"name": "acme.keys", "args": {}}));
    assert_eq!((refused.code, refused.kind.as_str()), (1006, "secret_unavailable"));
    let looked = "it searched `tenant folder`, `tenant command`";
    assert!(refused.message.contains(looked), "{}", refused.message);
    // The same answer as for a secret that nobody has.
    fs::remove_file(hosted.place.folder().join("mount/ALPHA_KEY")).unwrap();
    let nobodys =
        hosted.client("beta").refusal("execute_skill", json!({"name": "acme.keys", "args": {}}));
    assert_eq!(nobodys.message, refused.message);
    // The tenant of the server itself has its secrets.
    hosted.place.file("mount/ALPHA_KEY", SERVERS);
    let found = executed(&hosted.client("local"), "");
    assert_eq!(output(&found)["hash"], fingerprint(SERVERS));
}
