//! Skills that are published as packages, and who has signed them: from the command to a server that serves only those.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use data_encoding::{BASE64, HEXLOWER};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::support::{
    Command, Ended, FixtureServer, SkillFolder, TestServer, contained, eventually,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// A folder in which somebody publishes and installs.
struct User {
    place: Command,
}

impl User {
    fn new() -> Self {
        let place = Command::new();
        for (name, seed) in [("ours", 1), ("theirs", 2)] {
            place.file(&format!("{name}.pem"), private_key(seed));
        }
        Self { place }
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.place.run(arguments)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.place.folder().join(path)
    }

    fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.at(path)).unwrap()
    }

    /// Writes a skill without code.
    fn skill(&self, folder: &str, version: &str, text: &str) {
        let name = folder.rsplit('/').next().unwrap();
        let manifest = format!(
            "name = \"{name}\"\nversion = \"{version}\"\ndescription = \"Says it.\"\nkind = \"instruction\"\n"
        );
        self.place.file(&format!("{folder}/skill.toml"), manifest);
        let document =
            format!("---\nname: Title\nshort_description: Says it.\n---\n\n# Title\n\n{text}\n");
        self.place.file(&format!("{folder}/SKILL.md"), document);
    }

    /// The key of a file as settings and outputs name it.
    fn label(&self, key: &str) -> String {
        self.skill("label/acme.label", "1.0.0", "x");
        let sign = ["skills", "sign", "label/acme.label", "--key", &format!("{key}.pem"), "--json"];
        self.run(&sign).with(0).json()["signer"].as_str().unwrap().to_owned()
    }

    fn publish(&self, folder: &str, target: &str, more: &[&str]) -> Ended {
        self.run(&[&["skills", "publish", folder, target], more].concat())
    }

    fn add(&self, source: &str, more: &[&str]) -> Ended {
        let add = ["skills", "add", source, "--dir", "skills", "--yes"];
        self.run(&[&add[..], more].concat())
    }

    /// Types a command where only skills that `keys` trusts are served.
    fn trusting(&self, keys: &str, arguments: &[&str]) -> Ended {
        let keys = format!("skills.trusted_keys={keys}");
        let settings = ["--set", "skills.require_signatures=true", "--set", &keys];
        let skills = ["--skills", "skills", "--set", "skills.bundled=false"];
        self.run(&[&settings[..], &skills, arguments].concat())
    }

    /// The names of the skills that are served, and what is said of the others.
    fn served(&self, keys: &str) -> (Vec<String>, String) {
        let ended = self.trusting(keys, &["skills", "list", "--json"]).with(0);
        let listed = ended.json();
        let names = listed["skills"].as_array().unwrap().iter();
        let names = names.map(|one| one["name"].as_str().unwrap().to_owned());
        (names.filter(|name| name != "skills.protocol.guide").collect(), ended.stderr)
    }
}

/// A key of Ed25519 in PKCS #8.
fn private_key(seed: u8) -> String {
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let der = BASE64.encode(&[&head[..], &[seed; 32]].concat());
    format!("-----BEGIN PRIVATE KEY-----\n{der}\n-----END PRIVATE KEY-----\n")
}

/// The only package of a version in a folder of packages, and its signatures.
fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|one| one.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_package_has_the_same_bytes_everywhere_and_is_never_replaced() {
    let user = User::new();
    user.skill("one/acme.report", "1.0.0", "x");
    user.place.file("one/acme.report/data/b.txt", "b");
    user.place.file("one/acme.report/data/a.txt", "a");
    // The same files, made in another order, with other rights and times, and with what is no part of a skill.
    user.place.file("two/acme.report/data/a.txt", "a");
    user.place.file("two/acme.report/data/b.txt", "b");
    user.skill("two/acme.report", "1.0.0", "x");
    for hidden in [".git/config", ".env", "data/__pycache__/a.pyc"] {
        user.place.file(&format!("two/acme.report/{hidden}"), "secret");
    }
    let file = fs::File::open(user.at("two/acme.report/SKILL.md")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o700)).unwrap();
    let dry = user.publish("one/acme.report", "packages", &["--dry-run", "--json"]).with(0).json();
    assert!(!user.at("packages").is_dir() && dry["place"].is_null(), "{dry}");
    let first = user.publish("one/acme.report", "packages", &["--json"]).with(0).json();
    let second = user.publish("two/acme.report", "others", &["--json"]).with(0);
    assert!(
        second.stderr.contains("left out: .env, .git/, data/__pycache__/"),
        "{}",
        second.stderr
    );
    let package = user.read("packages/acme.report/1.0.0.tar");
    assert_eq!(package, user.read("others/acme.report/1.0.0.tar"));
    let digest = HEXLOWER.encode(&Sha256::digest(&package));
    assert_eq!((&first["package"], &first["is_new"]), (&json!(digest), &json!(true)));
    assert_eq!(
        (&dry["package"], &second.json()["package"]),
        (&first["package"], &first["package"])
    );
    // The same again, and other content under the same version.
    let again = user.publish("two/acme.report", "packages", &[]).with(0);
    assert!(
        again.stdout.contains("was already published, with the same content"),
        "{}",
        again.stdout
    );
    user.place.file("two/acme.report/data/a.txt", "other");
    let refused = user.publish("two/acme.report", "packages", &[]).with(1);
    let wanted = ["acme.report@1.0.0", "what is published never changes", "a new version"];
    assert!(contained(&refused.stderr, wanted).is_empty(), "{}", refused.stderr);
    assert_eq!(user.read("packages/acme.report/1.0.0.tar"), package);
    assert_eq!(names_in(&user.at("packages/acme.report")), ["1.0.0.tar"]);
}

#[test]
fn what_should_not_be_published_is_refused_by_its_name() {
    let user = User::new();
    user.skill("acme.report", "1.0.0", "x");
    user.place.file("acme.report/prod.env", "TOKEN=1");
    user.place.file("acme.report/data/server.pem", private_key(3));
    let refused = user.publish("acme.report", "packages", &[]).with(1).stderr;
    let wanted =
        ["nothing was published", "`prod.env` has the name", "`data/server.pem` has a private key"];
    assert!(contained(&refused, wanted).is_empty(), "{refused}");
    let one = user.publish("acme.report", "packages", &["--allow", "prod.env"]).with(1).stderr;
    assert!(one.contains("server.pem") && !one.contains("prod.env"), "{one}");
    user.publish("acme.report", "packages", &["--allow", "nothing"]).with(2);
    let both = ["--allow", "prod.env", "--allow", "data/server.pem"];
    user.publish("acme.report", "packages", &both).with(0);
    user.place.file("acme.broken/SKILL.md", "no frontmatter");
    user.place.file("acme.broken/skill.toml", "name = 1");
    user.publish("acme.broken", "packages", &[]).with(1);
    for (target, expected) in [
        ("gs://bucket/x", "is no place to publish to"),
        ("s3://Bucket/x", "names no place in an object store"),
        ("https://a.example/x", "is no place to publish to"),
        ("oci://h", "oci://"),
    ] {
        let wrong = user.publish("acme.report", target, &both).with(2).stderr;
        assert!(wrong.contains(expected), "{wrong}");
    }
    let nowhere = user.run(&["skills", "publish", "acme.report"]).with(2).stderr;
    assert!(nowhere.contains("name where the skill goes"), "{nowhere}");
}

#[test]
fn the_latest_packages_of_a_folder_are_installed_pinned_and_updated() {
    let user = User::new();
    for (name, version) in
        [("acme.report", "1.0.0"), ("acme.report", "1.1.0"), ("acme.notes", "0.1.0")]
    {
        let folder = format!("v{version}/{name}");
        user.skill(&folder, version, version);
        user.publish(&folder, "packages", &["--sign", "ours.pem"]).with(0);
    }
    user.skill("beta/acme.report", "2.0.0-beta.1", "beta");
    user.publish("beta/acme.report", "packages", &[]).with(0);
    let listed = user.run(&["skills", "add", "./packages", "--list", "--json"]).with(0).json();
    assert_eq!(listed["skills"][1]["version"], "1.1.0", "{listed}");
    user.add("./packages", &["--all"]).with(0);
    let lock = String::from_utf8(user.read("skills.lock")).unwrap();
    assert!(
        contained(&lock, ["packages/acme.report\"", "revision = \"1.1.0 sha256:"]).is_empty(),
        "{lock}"
    );
    user.run(&["skills", "outdated", "--dir", "skills"]).with(0);
    user.skill("v1.2.0/acme.report", "1.2.0", "newer");
    user.publish("v1.2.0/acme.report", "packages", &[]).with(0);
    user.run(&["skills", "outdated", "--dir", "skills"]).with(1);
    // A lock is installed as it is, whatever is newer.
    let from_lock =
        ["skills", "add", "--from-lock", "skills.lock", "--dir", "other/skills", "--yes"];
    user.run(&from_lock).with(0);
    let manifest = String::from_utf8(user.read("other/skills/acme.report/skill.toml")).unwrap();
    assert!(manifest.contains("1.1.0"), "{manifest}");
    fs::copy(user.at("skills.lock"), user.at("old.lock")).unwrap();
    user.run(&["skills", "update", "--dir", "skills", "--yes"]).with(0);
    // Somebody takes the new version away: what is older is not an update.
    fs::remove_file(user.at("packages/acme.report/1.2.0.tar")).unwrap();
    let older = user.run(&["skills", "update", "--dir", "skills", "--yes"]).with(1).stderr;
    assert!(older.contains("has 1.1.0, which is older than 1.2.0"), "{older}");
    // A package that was changed is not what the lock has.
    let bytes = user.read("packages/acme.report/1.1.0.tar");
    user.place.file("packages/acme.report/1.1.0.tar", [&bytes[..], &[0; 512]].concat());
    let from_lock = ["skills", "add", "--from-lock", "old.lock", "--dir", "other/skills", "--yes"];
    let other = user.run(&from_lock).with(2).stderr;
    assert!(other.contains("is not what was promised"), "{other}");
}

/// INVARIANT(signed-only)
#[test]
fn signed_only_by_a_trusted_key_for_their_names_are_skills_served() {
    let user = User::new();
    let (ours, theirs) = (user.label("ours"), user.label("theirs"));
    for (folder, key) in
        [("acme.report", "ours"), ("acme.foreign", "theirs"), ("beta.tool", "theirs")]
    {
        user.skill(folder, "1.0.0", "x");
        user.publish(folder, "packages", &["--sign", &format!("{key}.pem")]).with(0);
    }
    user.add("./packages", &["--all"]).with(0);
    user.skill("skills/acme.unsigned", "1.0.0", "x");
    let keys = format!("acme.*={ours},beta.*={ours};{theirs}");
    let (names, told) = user.served(&keys);
    assert_eq!(names, ["acme.report", "beta.tool"], "{told}");
    let wanted = [
        "not served: acme.foreign: ",
        "is signed by the key ",
        "not served: acme.unsigned: ",
        "is not signed, and `skills.require_signatures` is true",
    ];
    assert!(contained(&told, wanted).is_empty(), "{told}");
    // Without the setting all are served.
    let all = user.run(&["--skills", "skills", "skills", "list"]).with(0).stdout;
    assert!(contained(&all, ["acme.foreign", "acme.unsigned"]).is_empty(), "{all}");

    let verified = user.trusting(&keys, &["skills", "verify", "--json"]).with(1).json();
    let by = |name: &str| {
        let mut all = verified["skills"].as_array().unwrap().iter();
        all.find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!(
        (&by("acme.report")["signer"], &by("beta.tool")["signer"]),
        (&json!(ours), &json!(theirs))
    );
    assert_eq!(by("acme.unsigned")["fault"], "is not signed");
    user.trusting(&keys, &["skills", "verify", "acme.report", "beta.tool"]).with(0);
    user.trusting(&keys, &["skills", "verify", "acme.none"]).with(2);
    let check = user.trusting(&keys, &["skills", "check", "skills/acme.unsigned"]).with(1);
    assert!(check.stderr.contains("is not signed"), "{}", check.stderr);
    let check = user.trusting(&keys, &["skills", "check", "skills/acme.report"]).with(0);
    assert!(check.stdout.contains(&format!("signed by {ours}")), "{}", check.stdout);

    attacked(&user, &keys);
}

/// What somebody may do who can write to the folder of skills, and has no key.
fn attacked(user: &User, keys: &str) {
    let signature = "skills/acme.report/.signatures.json";
    let (good, document) = (user.read(signature), user.read("skills/acme.report/SKILL.md"));
    let refused = |expected: &str| {
        let (names, told) = user.served(keys);
        assert!(!names.contains(&"acme.report".to_owned()) && told.contains(expected), "{told}");
    };
    user.place.file("skills/acme.report/SKILL.md", [&document[..], b"more"].concat());
    refused("has other files than those that were signed");
    user.place.file("skills/acme.report/SKILL.md", &document);
    user.place.file("skills/acme.report/more.md", "added");
    refused("has other files than those that were signed");
    fs::remove_file(user.at("skills/acme.report/more.md")).unwrap();
    assert!(user.served(keys).0.contains(&"acme.report".to_owned()));
    // An envelope that is changed, none, or one that is too large.
    let mut envelope: Value = serde_json::from_slice(&good).unwrap();
    let payload = envelope["envelopes"][0]["payload"].as_str().unwrap();
    let payload = BASE64.decode(payload.as_bytes()).unwrap();
    let claim = String::from_utf8(payload).unwrap().replace("1.0.0", "1.0.1");
    envelope["envelopes"][0]["payload"] = json!(BASE64.encode(claim.as_bytes()));
    user.place.file(signature, envelope.to_string());
    refused("has a signature that was changed");
    user.place.file(signature, "{");
    refused("has signatures that cannot be read");
    user.place.file(signature, vec![b' '; 300 << 10]);
    refused("has signatures that cannot be read");
    fs::remove_file(user.at(signature)).unwrap();
    std::os::unix::fs::symlink(user.at("ours.pem"), user.at(signature)).unwrap();
    refused("has signatures that cannot be read");
    fs::remove_file(user.at(signature)).unwrap();
    refused("is not signed");
    // The signature of an earlier version, and that of another skill.
    user.skill("skills/acme.report", "1.1.0", "x");
    user.place.file(signature, &good);
    refused("has a signature for acme.report@1.0.0, not for itself");
    user.skill("skills/acme.report", "1.0.0", "x");
    user.place.file(signature, user.read("skills/beta.tool/.signatures.json"));
    refused("is signed by the key");
    user.place.file(signature, &good);
    assert!(user.served(keys).0.contains(&"acme.report".to_owned()));
}

#[test]
fn skills_that_are_not_signed_are_not_installed_where_signatures_are_required() {
    let user = User::new();
    let keys = format!("acme.*={}", user.label("ours"));
    user.skill("v1/acme.report", "1.0.0", "x");
    user.publish("v1/acme.report", "packages", &["--sign", "theirs.pem"]).with(0);
    let add = ["skills", "add", "./packages", "--dir", "skills", "--yes"];
    let refused = user.trusting(&keys, &add).with(1).stderr;
    let wanted =
        ["not installed: `acme.report`", "is signed by the key", "skills.require_signatures"];
    assert!(contained(&refused, wanted).is_empty(), "{refused}");
    // A second signature of the same package is added to the first.
    let signed = user.publish("v1/acme.report", "packages", &["--sign", "ours.pem"]).with(0);
    assert!(
        signed.stdout.contains("was already published, and is now signed by"),
        "{}",
        signed.stdout
    );
    assert_eq!(names_in(&user.at("packages/acme.report")).len(), 3);
    let added = user.trusting(&keys, &add).with(0).stdout;
    assert!(added.contains("signed by: ed25519:"), "{added}");
    let lock = String::from_utf8(user.read("skills.lock")).unwrap();
    assert!(lock.contains("signer = \"ed25519:"), "{lock}");
    assert_eq!(user.served(&keys).0, ["acme.report"]);
    // A signature of another package is left out.
    user.skill("v2/acme.report", "2.0.0", "x");
    user.publish("v2/acme.report", "packages", &[]).with(0);
    let shelf = user.at("packages/acme.report");
    let old = names_in(&shelf).into_iter().find(|name| name.ends_with(".json")).unwrap();
    fs::copy(shelf.join(&old), shelf.join(old.replace("1.0.0", "2.0.0"))).unwrap();
    let replayed = user.trusting(&keys, &add).with(1).stderr;
    let wanted = ["a signature of another package was left out", "is not signed"];
    assert!(contained(&replayed, wanted).is_empty(), "{replayed}");
    // Signed in its folder, and taken along from there.
    user.run(&["skills", "sign", "v2/acme.report", "--key", "ours.pem"]).with(0);
    let add = ["skills", "add", "./v2", "--dir", "skills", "--yes", "--force"];
    user.trusting(&keys, &add).with(0);
    assert_eq!(user.served(&keys).0, ["acme.report"]);
}

#[test]
fn signatures_of_a_folder_are_published_with_it_if_they_are_for_it() {
    let user = User::new();
    let keys = format!("acme.*={}", user.label("ours"));
    user.skill("v1/acme.report", "1.0.0", "x");
    user.run(&["skills", "sign", "v1/acme.report", "--key", "ours.pem"]).with(0);
    let first = user.publish("v1/acme.report", "packages", &[]).with(0).stdout;
    assert!(first.contains("was published, signed in its folder"), "{first}");
    assert_eq!(names_in(&user.at("packages/acme.report")).len(), 2);
    let again = user.publish("v1/acme.report", "packages", &["--json"]).with(0).json();
    assert_eq!(
        (&again["folder_signatures"], &again["is_signature_new"]),
        (&json!(1), &json!(false))
    );
    let add = ["skills", "add", "./packages", "--dir", "skills", "--yes"];
    user.trusting(&keys, &add).with(0);
    assert_eq!(user.served(&keys).0, ["acme.report"]);
    // They are no longer for it.
    user.skill("v1/acme.report", "1.1.0", "x");
    let changed = user.publish("v1/acme.report", "packages", &[]).with(0).stderr;
    assert!(
        changed.contains("1 of the signatures in `.signatures.json` were left out"),
        "{changed}"
    );
    assert_eq!(names_in(&user.at("packages/acme.report")).len(), 3);
    // What is no file of signatures is not read, whatever it leads to.
    let place = user.at("v1/acme.report/.signatures.json");
    fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &place).unwrap();
    for command in [
        &["skills", "sign", "v1/acme.report", "--key", "ours.pem"][..],
        &["skills", "publish", "v1/acme.report", "packages"],
    ] {
        let refused = user.run(command).with(2).stderr;
        assert!(refused.contains("is no file of at most"), "{refused}");
    }
}

#[test]
fn a_version_that_only_the_folder_has_is_neither_signed_nor_published() {
    let user = User::new();
    let document = "---\nname: pdf\ndescription: Reads it.\n---\nText.\n";
    user.place.file("pdf@2.0.0/SKILL.md", document);
    for command in [
        &["skills", "sign", "pdf@2.0.0", "--key", "ours.pem"][..],
        &["skills", "publish", "pdf@2.0.0", "packages"],
    ] {
        let refused = user.run(command).with(1).stderr;
        assert!(refused.contains("the version 2.0.0 is only in the name"), "{refused}");
    }
    assert!(!user.at("packages").is_dir() && !user.at("pdf@2.0.0/.signatures.json").is_file());
    let stated =
        "---\nname: pdf\ndescription: Reads it.\nmetadata:\n  version: \"2.0.0\"\n---\nText.\n";
    user.place.file("pdf@2.0.0/SKILL.md", stated);
    user.place.file("pdf@2.0.0/a:b", "x");
    let refused = user.publish("pdf@2.0.0", "packages", &[]).with(1).stderr;
    assert!(refused.contains("`wardian skills add` could not install the package"), "{refused}");
    fs::remove_file(user.at("pdf@2.0.0/a:b")).unwrap();
    user.run(&["skills", "sign", "pdf@2.0.0", "--key", "ours.pem"]).with(0);
    user.publish("pdf@2.0.0", "packages", &[]).with(0);
    assert_eq!(names_in(&user.at("packages/pdf")).len(), 2);
}

#[test]
fn skills_are_tested_without_signatures_and_verified_with_all_folders() {
    let user = User::new();
    let keys = format!("acme.*={}", user.label("ours"));
    let code = "def main(args):\n    return {'one': 1}\n";
    user.place.file("acme.one/code/main.py", code);
    user.place.file("acme.one/SKILL.md", "---\nname: One\nshort_description: One.\n---\n\n# One\n");
    let manifest = "name = \"acme.one\"\nversion = \"0.1.0\"\ndescription = \"One.\"\n\
        kind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\n\
        export = \"main\"\n";
    user.place.file("acme.one/skill.toml", manifest);
    let case = r#"{"args": {}, "expect": {"status": "completed", "output": {"one": 1}}}"#;
    user.place.file("acme.one/resources/tests/good.json", case);
    user.place.file("skills/.keep", "");
    let tested = user.trusting(&keys, &["test", "acme.one"]).with(0);
    assert!(tested.stdout.contains("1 passed, 0 failed"), "{}", tested.stdout);
    // It is not served, though.
    user.skill("skills/acme.report", "1.0.0", "x");
    assert_eq!(user.served(&keys).0, [""; 0]);
    user.run(&["skills", "sign", "skills/acme.report", "--key", "ours.pem"]).with(0);
    user.trusting(&keys, &["skills", "verify"]).with(0);
    // A folder that is not valid has no signature that could be verified.
    user.place.file("skills/acme.broken/skill.toml", "name = 1");
    let broken = user.trusting(&keys, &["skills", "verify", "--json"]).with(1).json();
    assert_eq!(broken["invalid"], json!(["acme.broken"]), "{broken}");
    user.trusting(&keys, &["skills", "verify", "acme.report"]).with(0);
    user.trusting(&keys, &["skills", "verify", "acme.broken"]).with(1);
}

#[test]
fn keys_that_cannot_be_used_stop_the_command() {
    let user = User::new();
    user.place.file("bad.pub", "no key");
    for (keys, expected) in [
        ("acme.*=missing.pub", "missing.pub: "),
        ("acme.*=bad.pub", "bad.pub: the key cannot be used"),
        ("acme.*=ed25519:AAAA", "skills.trusted_keys"),
    ] {
        user.place.file("skills/.keep", "");
        let told = user.trusting(keys, &["skills", "list"]).with(2).stderr;
        assert!(told.contains(expected), "{told}");
    }
}

/// What a server says of an executed skill: its result, and its record.
fn executed(client: &crate::support::Client, name: &str) -> Value {
    let result = client.call("execute_skill", json!({"name": name, "args": {}})).unwrap();
    let id = result["run_id"].as_str().unwrap().to_owned();
    let record = eventually(PATIENCE, || {
        let answer = client.get(&format!("/v1/runs/{id}"));
        (answer.status == 200).then(|| answer.json())
    });
    record["skill"].clone()
}

#[test]
fn a_package_under_another_name_or_version_is_not_installed() {
    let user = User::new();
    user.skill("acme.report", "1.0.0", "x");
    user.publish("acme.report", "packages", &["--sign", "ours.pem"]).with(0);
    let refused = |expected: &str| {
        let told = user.add("./packages", &[]).with(1).stderr;
        let wanted = ["not installed: `acme.report`", expected, "and has acme.report@1.0.0"];
        assert!(contained(&told, wanted).is_empty(), "{told}");
    };
    let package = |version: &str| user.at(&format!("packages/acme.report/{version}.tar"));
    fs::rename(package("1.0.0"), package("2.0.0")).unwrap();
    refused("was published as acme.report@2.0.0");
    fs::rename(package("2.0.0"), package("1.0.0")).unwrap();
    fs::rename(user.at("packages/acme.report"), user.at("packages/acme.other")).unwrap();
    refused("was published as acme.other@1.0.0");
}

#[test]
fn a_file_full_of_signatures_takes_no_more() {
    let user = User::new();
    user.skill("acme.report", "1.0.0", "x");
    let sign = |key: &str| user.run(&["skills", "sign", "acme.report", "--key", key]);
    sign("ours.pem").with(0);
    let file = "acme.report/.signatures.json";
    let signed: Value = serde_json::from_slice(&user.read(file)).unwrap();
    let junk = (0..16).map(|one| {
        let mut envelope = signed["envelopes"][0].clone();
        envelope["signatures"][0]["keyid"] = json!(format!("{one:064x}"));
        envelope
    });
    let junk: Vec<Value> = junk.collect();
    user.place.file(file, json!({ "envelopes": junk }).to_string());
    let full = sign("ours.pem").with(1);
    let wanted = ["as many signatures as it may have", "remove the file"];
    assert!(contained(&full.stderr, wanted).is_empty(), "{}", full.stderr);
    assert_eq!(full.stdout, "");
}

/// A server that serves signed skills only: shared ones, and those of the tenant `acme`. And a key of that tenant.
fn signed_server(user: &User, shared: &SkillFolder, acme: &SkillFolder) -> (TestServer, String) {
    let code = "def main(args):\n    return 1\n";
    for (folder, name, key) in [
        (shared, "acme.good", "ours.pem"),
        (shared, "acme.bad", "theirs.pem"),
        (acme, "acme.own", "ours.pem"),
        (acme, "acme.wrong", "theirs.pem"),
    ] {
        folder.action(name, "1.0.0", code);
        let path = format!("{}/{name}", folder.path());
        user.run(&["skills", "sign", &path, "--key", key]).with(0);
    }
    let config = format!(
        "[skills]\nrequire_signatures = true\ntrusted_keys = {{ \"acme.*\" = \"{}\" }}\n\
         [tenants.skills]\nacme = [{:?}]\n",
        user.label("ours"),
        acme.path()
    );
    let config = user.place.file("wardian.toml", config);
    let data = user.at("data");
    let settings = ["--config", config.to_str().unwrap(), "--skills", shared.path()];
    let keys = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let server = TestServer::start_on(&data, &[&settings[..], &keys].concat());
    let create = ["--data-dir", data.to_str().unwrap(), "keys", "create", "--tenant", "acme"];
    let more = ["--name", "ci", "--scopes", "discover,execute,blobs,publish"];
    let key = user.run(&[&create[..], &more].concat()).with(0).stdout.trim_end().to_owned();
    (server, key)
}

#[test]
fn a_server_serves_signed_skills_names_the_signer_and_tells_of_the_others() {
    let user = User::new();
    let ours = user.label("ours");
    let [shared, acme] = [(); 2].map(|()| SkillFolder::new());
    let (server, key) = signed_server(&user, &shared, &acme);
    let client = server.client().with_key(&key);
    eventually(PATIENCE, || (client.get("/v1/caller").status != 401).then_some(()));
    let described =
        |name: &str| client.call("describe_skill", json!({"name": name, "detail": "full"})).ok();
    for name in ["acme.good", "acme.own"] {
        assert_eq!(described(name).unwrap()["skill"]["signer"], json!(ours));
        assert_eq!(executed(&client, name)["signer"], json!(ours), "{name}");
    }
    for name in ["acme.bad", "acme.wrong"] {
        assert!(described(name).is_none(), "{name}");
    }
    let log = server.log();
    let wanted =
        ["`acme.bad@1.0.0` is signed by the key", "of the tenant `acme`", "which is not trusted"];
    assert!(contained(&log, wanted).is_empty(), "{log}");
    // A file that is changed while the server runs, and signed again.
    let folder = format!("{}/acme.good", shared.path());
    let code = "def main(args):\n    return 2\n";
    fs::write(Path::new(&folder).join("code/main.py"), code).unwrap();
    eventually(PATIENCE, || described("acme.good").is_none().then_some(()));
    user.run(&["skills", "sign", &folder, "--key", "ours.pem"]).with(0);
    eventually(PATIENCE, || described("acme.good"));
    // What callers publish follows the same rule.
    user.skill("acme.says", "1.0.0", "x");
    let url = format!("http://{}", server.address);
    let place = Command::new().set("WARDIAN_API_KEY", key);
    let folder = user.at("acme.says");
    let publish = ["skills", "publish", folder.to_str().unwrap(), "--server", &url];
    let refused = place.run(&publish).with(1).stderr;
    assert!(refused.contains("is not signed"), "{refused}");
    let key = user.at("ours.pem");
    place.run(&[&publish[..], &["--sign", key.to_str().unwrap()]].concat()).with(0);
    assert!(!folder.join(".signatures.json").try_exists().unwrap(), "the folder stays as it is");
    assert_eq!(described("acme.says").unwrap()["skill"]["signer"], json!(ours));
}

/// A registry on loopback, until it is dropped.
struct OciRegistry(FixtureServer);

impl OciRegistry {
    /// The registry that comes with the tests.
    fn of_tests() -> Self {
        Self(FixtureServer::start("tests/sources/servers.py"))
    }

    /// The reference implementation, as Debian packages it; `None` if it is not on this machine.
    fn of_distribution() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let config = format!(
            "version: 0.1\nlog: {{level: info, formatter: json}}\n\
             storage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n",
            folder.path().join("store").display()
        );
        fs::write(folder.path().join("config.yml"), config).unwrap();
        let mut child = std::process::Command::new("docker-registry")
            .arg("serve")
            .arg(folder.path().join("config.yml"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .ok()?;
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let rest = line.split("listening on 127.0.0.1:").nth(1)?;
            Some(rest.chars().take_while(char::is_ascii_digit).collect::<String>())
        });
        // Its log would fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self(FixtureServer::of(folder, child, port.unwrap())))
    }

    fn at(&self, repository: &str) -> String {
        format!("oci://http:localhost:{}/{repository}", self.0.port)
    }

    /// Sends a request as other clients of registries do.
    fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut stream =
            std::net::TcpStream::connect(format!("127.0.0.1:{}", self.0.port)).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost:{}\r\nconnection: close\r\naccept: {kind}\r\n\
             authorization: Bearer pull\r\n\
             content-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            self.0.port,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let text = String::from_utf8_lossy(&answer);
        let status = text.split(' ').nth(1).unwrap().parse().unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        if text.to_ascii_lowercase().contains("\r\nlocation: ") && status == 202 {
            let location = text.lines().find_map(|line| line.split_once("ocation: ")).unwrap().1;
            return (status, location.trim().as_bytes().to_vec());
        }
        (status, answer[end + 4..].to_vec())
    }

    fn blob(&self, repository: &str, content: &[u8]) -> Value {
        let digest = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(content)));
        let begin = format!("/v2/{repository}/blobs/uploads/");
        let (_, location) = self.send("POST", &begin, "text/plain", b"");
        let location = String::from_utf8(location).unwrap();
        let path = location
            .split_once("://")
            .map_or(location.as_str(), |(_, rest)| &rest[rest.find('/').unwrap()..]);
        let joint = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{joint}digest={digest}");
        assert_eq!(self.send("PUT", &path, "application/octet-stream", content).0, 201);
        json!({"mediaType": "application/octet-stream", "digest": digest, "size": content.len()})
    }

    fn put_manifest(&self, repository: &str, tag: &str, manifest: &[u8]) {
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let path = format!("/v2/{repository}/manifests/{tag}");
        assert_eq!(self.send("PUT", &path, kind, manifest).0, 201);
    }

    /// Signs an artifact as `cosign sign --key` does. Returns the public key.
    fn cosign(&self, repository: &str, digest: &str) -> String {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let der = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, der.as_ref(), &random).unwrap();
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": format!("localhost/{repository}")},
                "image": {"docker-manifest-digest": digest},
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = payload.to_string();
        let signature = pair.sign(&random, payload.as_bytes()).unwrap();
        let mut layer = self.blob(repository, payload.as_bytes());
        layer["mediaType"] = json!("application/vnd.dev.cosign.simplesigning.v1+json");
        layer["annotations"] =
            json!({"dev.cosignproject.cosign/signature": BASE64.encode(signature.as_ref())});
        let mut config = self.blob(repository, b"{\"rootfs\":{}}");
        config["mediaType"] = json!("application/vnd.oci.image.config.v1+json");
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": config, "layers": [layer],
        });
        let tag = format!("{}.sig", digest.replace(':', "-"));
        self.put_manifest(repository, &tag, manifest.to_string().as_bytes());
        public_pem(&pair)
    }

    /// Signs an artifact as versions of cosign from 3 on do, without a transparency log. Returns the public key.
    fn cosign_bundle(&self, repository: &str, digest: &str, predicate: &str) -> String {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let der = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(kind, der.as_ref(), &random).unwrap();
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"digest": {"sha256": digest.strip_prefix("sha256:").unwrap()}, "annotations": {}}],
            "predicateType": predicate,
            "predicate": {},
        });
        let (statement, payload) = (statement.to_string(), "application/vnd.in-toto+json");
        let covered = format!("DSSEv1 28 {payload} {} {statement}", statement.len());
        let signature = pair.sign(&random, covered.as_bytes()).unwrap();
        let bundle = "application/vnd.dev.sigstore.bundle.v0.3+json";
        let text = json!({
            "mediaType": bundle,
            "verificationMaterial": {"publicKey": {"hint": "x"}, "tlogEntries": []},
            "dsseEnvelope": {
                "payload": BASE64.encode(statement.as_bytes()),
                "payloadType": payload,
                "signatures": [{"sig": BASE64.encode(signature.as_ref())}],
            },
        });
        let mut layer = self.blob(repository, text.to_string().as_bytes());
        layer["mediaType"] = json!(bundle);
        let mut config = self.blob(repository, b"{}");
        config["mediaType"] = json!("application/vnd.oci.empty.v1+json");
        let kind = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2, "mediaType": kind, "artifactType": bundle, "config": config, "layers": [layer],
        });
        let manifest = manifest.to_string();
        let own = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(manifest.as_bytes())));
        self.put_manifest(repository, &own, manifest.as_bytes());
        // Neither registry of the tests lists what refers to an artifact, so clients keep the list.
        let tag = digest.replace(':', "-");
        let list = "application/vnd.oci.image.index.v1+json";
        let (status, known) =
            self.send("GET", &format!("/v2/{repository}/manifests/{tag}"), list, b"");
        let mut index: Value = match status {
            200 => serde_json::from_slice(&known).unwrap(),
            _ => json!({"schemaVersion": 2, "mediaType": list, "manifests": []}),
        };
        index["manifests"].as_array_mut().unwrap().push(json!({
            "mediaType": kind, "digest": own, "size": manifest.len(), "artifactType": bundle,
        }));
        let path = format!("/v2/{repository}/manifests/{tag}");
        assert_eq!(self.send("PUT", &path, list, index.to_string().as_bytes()).0, 201);
        public_pem(&pair)
    }
}

/// The public key of a pair, as cosign writes it.
fn public_pem(pair: &EcdsaKeyPair) -> String {
    let prefix = "3059301306072a8648ce3d020106082a8648ce3d030107034200";
    let prefix = HEXLOWER.decode(prefix.as_bytes()).unwrap();
    let der = BASE64.encode(&[&prefix[..], pair.public_key().as_ref()].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n")
}

/// Publishes, installs and attacks in a registry.
fn in_registry(registry: &OciRegistry) {
    let user = User::new();
    published_once(registry, &user);
    installed_if_signed(registry, &user);
    bundles_of_cosign_are_read(registry, &user);
    moved_tags_are_noticed(registry, &user);
    versions_stay_whatever_the_tag(registry, &user);
}

/// Installs a tag where only our key is trusted.
fn add_from(registry: &OciRegistry, user: &User, tag: &str) -> Ended {
    let keys = format!("acme.*={}", user.label("ours"));
    let source = format!("{}:{tag}", registry.at("acme/report"));
    let add = ["skills", "add", &source, "--allow-private", "--dir", "skills", "--yes", "--json"];
    user.trusting(&keys, &add)
}

fn published_once(registry: &OciRegistry, user: &User) {
    let (at, private) = (registry.at("acme/report"), "--allow-private");
    user.skill("v1/acme.report", "1.0.0", "x");
    let first = user
        .publish("v1/acme.report", &at, &[private, "--sign", "ours.pem", "--json"])
        .with(0)
        .json();
    assert_eq!((&first["is_new"], &first["is_signature_new"]), (&json!(true), &json!(true)));
    let place = first["place"].as_str().unwrap();
    assert!(place.contains("/acme/report:1.0.0@sha256:"), "{place}");
    let again = user
        .publish("v1/acme.report", &at, &[private, "--sign", "ours.pem", "--json"])
        .with(0)
        .json();
    assert_eq!((&again["is_new"], &again["is_signature_new"]), (&json!(false), &json!(false)));
    user.skill("changed/acme.report", "1.0.0", "y");
    let taken = user.publish("changed/acme.report", &at, &[private]).with(1).stderr;
    assert!(taken.contains("what is published never changes"), "{taken}");
    // Two keys for one package.
    user.publish("v1/acme.report", &at, &[private, "--sign", "theirs.pem"]).with(0);
}

fn installed_if_signed(registry: &OciRegistry, user: &User) {
    let (ours, private) = (user.label("ours"), "--allow-private");
    let (keys, at) = (format!("acme.*={ours}"), registry.at("acme/report"));
    let added = add_from(registry, user, "1.0.0").with(0).json();
    assert_eq!(added["skills"][0]["signer"], json!(ours), "{added}");
    assert_eq!(user.served(&keys).0, ["acme.report"]);

    user.skill("v2/acme.report", "2.0.0", "unsigned");
    let second = user.publish("v2/acme.report", &at, &[private, "--json"]).with(0).json();
    let unsigned = add_from(registry, user, "2.0.0").with(1).stderr;
    assert!(unsigned.contains("is not signed"), "{unsigned}");
    // Cosign signs it: its key is trusted or not.
    let digest = second["place"].as_str().unwrap().split_once('@').unwrap().1.to_owned();
    let pem = registry.cosign("acme/report", &digest);
    let foreign = add_from(registry, user, "2.0.0").with(1).stderr;
    assert!(foreign.contains("a key of cosign, which is not trusted"), "{foreign}");
    user.place.file("cosign.pub", &pem);
    let trusting = format!("acme.*={ours};cosign.pub");
    let source = format!("{at}:2.0.0");
    let more = ["skills", "add", &source, private, "--dir", "skills", "--yes", "--json"];
    let added = user.trusting(&trusting, &more).with(0).json();
    assert!(added["skills"][0]["signer"].as_str().unwrap().starts_with("ecdsa-p256:"), "{added}");
    let verified = user.trusting(&trusting, &["skills", "verify", "--json"]).with(0).json();
    assert_eq!(verified["skills"][0]["form"], "cosign", "{verified}");
    assert_eq!(user.served(&keys).0, [""; 0], "the key of cosign is trusted no more");
}

/// Newer versions of cosign write bundles. A statement of another kind says something else of the artifact.
fn bundles_of_cosign_are_read(registry: &OciRegistry, user: &User) {
    let (at, private) = (registry.at("acme/bundled"), "--allow-private");
    user.skill("b1/acme.bundled", "1.0.0", "x");
    let done = user.publish("b1/acme.bundled", &at, &[private, "--json"]).with(0).json();
    let digest = done["place"].as_str().unwrap().split_once('@').unwrap().1.to_owned();
    let built = registry.cosign_bundle("acme/bundled", &digest, "https://slsa.dev/provenance/v1");
    user.place.file("built.pub", &built);
    let source = format!("{at}:1.0.0");
    let add = ["skills", "add", &source, private, "--dir", "bundled", "--yes", "--json"];
    let refused = user.trusting("acme.*=built.pub", &add).with(1).stderr;
    assert!(refused.contains("is not of its format"), "{refused}");
    let signed =
        registry.cosign_bundle("acme/bundled", &digest, "https://sigstore.dev/cosign/sign/v1");
    user.place.file("signed.pub", &signed);
    let added = user.trusting("acme.*=signed.pub", &add).with(0).json();
    assert!(added["skills"][0]["signer"].as_str().unwrap().starts_with("ecdsa-p256:"), "{added}");
    let settings = ["--set", "skills.trusted_keys=acme.*=signed.pub", "--skills", "bundled"];
    let verify = ["--set", "skills.bundled=false", "skills", "verify", "--json"];
    let verified = user.run(&[&settings[..], &verify].concat()).with(0).json();
    assert_eq!(verified["skills"][0]["form"], "cosign", "{verified}");
}

fn moved_tags_are_noticed(registry: &OciRegistry, user: &User) {
    let (ours, private) = (user.label("ours"), "--allow-private");
    let (keys, at) = (format!("acme.*={ours}"), registry.at("acme/report"));
    // A tag that somebody moves to the version before, which is signed.
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let (status, old) = registry.send("GET", "/v2/acme/report/manifests/1.0.0", kind, b"");
    assert_eq!(status, 200);
    registry.put_manifest("acme/report", "2.0.0", &old);
    let moved = add_from(registry, user, "2.0.0").with(2).stderr;
    assert!(moved.contains("its tag is 2.0.0, but its manifest has the version 1.0.0"), "{moved}");
    user.skill("v3/acme.report", "3.0.0", "next");
    user.publish("v3/acme.report", &format!("{at}:stable"), &[private, "--sign", "ours.pem"])
        .with(0);
    user.trusting(
        &keys,
        &["skills", "add", &format!("{at}:stable"), private, "--dir", "skills", "--yes", "--force"],
    )
    .with(0);
    registry.put_manifest("acme/report", "stable", &old);
    let update = ["skills", "update", private, "--dir", "skills", "--yes"];
    let older = user.trusting(&keys, &update).with(1).stderr;
    assert!(older.contains("has 1.0.0, which is older than 3.0.0"), "{older}");
    // Signatures that are damaged make a package an unsigned one.
    user.skill("v4/acme.report", "4.0.0", "last");
    user.publish("v4/acme.report", &at, &[private, "--sign", "theirs.pem"]).with(0);
    let damaged = add_from(registry, user, "4.0.0").with(1).stderr;
    assert!(damaged.contains("which is not trusted"), "{damaged}");
}

/// A version is under its own tag, and other tags lead to versions.
fn versions_stay_whatever_the_tag(registry: &OciRegistry, user: &User) {
    let (at, private) = (registry.at("acme/tags"), "--allow-private");
    let [latest, stable, wrong] = ["latest", "stable", "9.9.9"].map(|tag| format!("{at}:{tag}"));
    user.skill("t1/acme.tags", "0.1.0", "x");
    user.publish("t1/acme.tags", &latest, &[private]).with(0);
    user.skill("t2/acme.tags", "0.1.0", "other");
    for target in [&at, &latest, &stable] {
        let taken = user.publish("t2/acme.tags", target, &[private]).with(1).stderr;
        assert!(taken.contains("`acme.tags@0.1.0` is there already"), "{target}: {taken}");
    }
    user.skill("t3/acme.tags", "0.2.0", "x");
    let moved = user.publish("t3/acme.tags", &latest, &[private, "--json"]).with(0);
    assert_eq!(moved.json()["moved_from"], "0.1.0", "{}", moved.stdout);
    assert!(moved.stderr.contains("it led to 0.1.0, and leads to 0.2.0 now"), "{}", moved.stderr);
    let refused = user.publish("t3/acme.tags", &wrong, &[private]).with(2).stderr;
    assert!(refused.contains("is that of another version than 0.2.0"), "{refused}");
    user.skill("t4/acme.other", "0.3.0", "x");
    let refused = user.publish("t4/acme.other", &latest, &[private]).with(1).stderr;
    assert!(refused.contains("is no version of `acme.other`"), "{refused}");
    let first = format!("{at}:0.1.0");
    let add = ["skills", "add", &first, private, "--dir", "tags/skills", "--yes"];
    user.run(&add).with(0);
}

/// Somebody lists other things before the signature: digests that are paths, of nothing, and of no manifest.
fn damaged_referrers_hide_no_signature(registry: &OciRegistry, user: &User) {
    let (at, private) = (registry.at("acme/junk"), "--allow-private");
    user.skill("junk/acme.junk", "1.0.0", "x");
    let sign = [private, "--sign", "ours.pem", "--json"];
    let done = user.publish("junk/acme.junk", &at, &sign).with(0).json();
    let digest = done["place"].as_str().unwrap().split_once('@').unwrap().1.to_owned();
    let tag = digest.replace(':', "-");
    let kind = "application/vnd.oci.image.index.v1+json";
    let path = format!("/v2/acme/junk/manifests/{tag}");
    let (status, index) = registry.send("GET", &path, kind, b"");
    assert_eq!(status, 200);
    registry.put_manifest("acme/junk", "broken", b"{");
    let broken = format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(b"{")));
    let nothing = format!("sha256:{}", "0".repeat(64));
    let mut index: Value = serde_json::from_slice(&index).unwrap();
    let all = index["manifests"].as_array_mut().unwrap();
    for wrong in ["../../../issue?x=", &nothing, &broken] {
        let mut junk = all[0].clone();
        junk["digest"] = json!(wrong);
        all.insert(0, junk);
    }
    registry.put_manifest("acme/junk", &tag, index.to_string().as_bytes());
    let ours = user.label("ours");
    let source = format!("{at}:1.0.0");
    let add = ["skills", "add", &source, private, "--dir", "skills", "--yes", "--json"];
    let added = user.trusting(&format!("acme.*={ours}"), &add).with(0);
    assert_eq!(added.json()["skills"][0]["signer"], json!(ours), "{}", added.stdout);
    let wanted = ["its digest is not one of SHA-256", "the manifest is damaged"];
    assert!(contained(&added.stderr, wanted).is_empty(), "{}", added.stderr);
    let log = fs::read_to_string(registry.0.folder.path().join("log")).unwrap();
    assert!(!log.contains("issue?x="), "{log}");
}

#[test]
fn a_registry_takes_packages_and_signatures_once() {
    let registry = OciRegistry::of_tests();
    in_registry(&registry);
    damaged_referrers_hide_no_signature(&registry, &User::new());
    assert!(registry.0.folder.path().is_dir());
}

#[test]
fn the_registry_of_distribution_does_too() {
    match OciRegistry::of_distribution() {
        Some(registry) => in_registry(&registry),
        // Past the harness, which keeps what a test prints unless the test fails.
        None => std::io::stderr()
            .write_all(b"\nSKIPPED: there is no docker-registry (Debian's package of that name)\n")
            .unwrap(),
    }
}

#[test]
fn credentials_of_a_registry_are_sent_to_it_alone() {
    let registry = OciRegistry::of_tests();
    let user = User::new();
    user.skill("acme.report", "1.0.0", "x");
    user.place.file("token", "token:secret\n");
    let at = registry.at("acme/report");
    user.publish("acme.report", &at, &["--allow-private", "--token-file", "token"]).with(0);
    let refused = user.publish("acme.report", &at, &[]).with(2).stderr;
    assert!(refused.contains("--allow-private"), "{refused}");
    let log = fs::read_to_string(registry.0.folder.path().join("log")).unwrap();
    assert!(log.contains("PUT /v2/acme/report/manifests/1.0.0"), "{log}");
    let of_token: Vec<&str> = log.lines().filter(|line| line.contains("Basic")).collect();
    assert!(!of_token.is_empty(), "{log}");
    assert!(of_token.iter().all(|line| line.starts_with("GET /issue?")), "{log}");
    assert!(log.contains("scope=repository:acme/report:pull,push"), "{log}");
}
