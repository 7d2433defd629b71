//! Skills that are published in object stores and installed from there: from a store that checks signatures and conditions,
//! and from stores that misbehave.

use std::fs;

use data_encoding::BASE64;
use serde_json::json;

use crate::support::{Command, Ended, ObjectStore, contained};

/// What nothing may show: credentials of the tests, and signatures made with them.
const SECRETS: [&str; 7] = [
    "very/secret+key",
    "AKIDTESTS",
    "temporary-secret",
    "temporary-token",
    "ASIATEMPORARY",
    "web-token",
    "Signature=",
];

/// A folder to type commands in, whose environment leads to the store. Without a key requests are not signed.
fn visitor_of(store: &ObjectStore) -> User {
    let place = Command::new().set("AWS_ENDPOINT_URL", store.address()).set("AWS_REGION", "eu-1");
    place.file("ours.pem", private_key(1));
    User { place }
}

fn user_of(store: &ObjectStore) -> User {
    let User { place } = visitor_of(store);
    let place =
        place.set("AWS_ACCESS_KEY_ID", "AKIDTESTS").set("AWS_SECRET_ACCESS_KEY", "very/secret+key");
    User { place }
}

/// A key of Ed25519 in PKCS #8.
fn private_key(seed: u8) -> String {
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    let der = BASE64.encode(&[&head[..], &[seed; 32]].concat());
    format!("-----BEGIN PRIVATE KEY-----\n{der}\n-----END PRIVATE KEY-----\n")
}

struct User {
    place: Command,
}

impl User {
    /// Runs a command, and looks for credentials in all that it says.
    fn run(&self, arguments: &[&str]) -> Ended {
        let ended = self.place.run(arguments);
        for secret in SECRETS {
            assert!(!ended.stdout.contains(secret), "{secret}: {}", ended.stdout);
            assert!(!ended.stderr.contains(secret), "{secret}: {}", ended.stderr);
        }
        ended
    }

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

    fn publish(&self, folder: &str, target: &str, more: &[&str]) -> Ended {
        let publish = ["skills", "publish", folder, target, "--allow-private"];
        self.run(&[&publish[..], more].concat())
    }

    fn add(&self, source: &str, more: &[&str]) -> Ended {
        let add = ["skills", "add", source, "--allow-private", "--dir", "skills", "--yes"];
        self.run(&[&add[..], more].concat())
    }

    /// `outdated` or `update`.
    fn look(&self, command: &str, more: &[&str]) -> Ended {
        let look = ["skills", command, "--allow-private", "--dir", "skills"];
        self.run(&[&look[..], more].concat())
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.place.folder().join("skills.lock")).unwrap()
    }

    fn version(&self, name: &str) -> String {
        let manifest = self.place.folder().join(format!("skills/{name}/skill.toml"));
        let manifest = fs::read_to_string(manifest).unwrap();
        manifest.lines().find(|line| line.starts_with("version")).unwrap().to_owned()
    }
}

#[test]
fn a_package_is_published_once_in_an_object_store() {
    let store = ObjectStore::start();
    store.object("skills/x");
    let user = user_of(&store);
    let at = "s3://skills/team/v1";
    user.skill("one/acme.report", "1.0.0-rc.1", "x");
    let dry = user.publish("one/acme.report", at, &["--dry-run", "--json"]).with(0).json();
    assert!(dry["place"].is_null() && store.log().is_empty(), "{dry}");
    let sign = ["--sign", "ours.pem", "--json"];
    let first = user.publish("one/acme.report", at, &sign).with(0).json();
    assert_eq!((&first["is_new"], &first["is_signature_new"]), (&json!(true), &json!(true)));
    assert_eq!(first["place"], "s3://skills/team/v1/acme.report/1.0.0-rc.1.tar");
    let again = user.publish("one/acme.report", at, &sign).with(0).json();
    assert_eq!((&again["is_new"], &again["is_signature_new"]), (&json!(false), &json!(false)));
    assert_eq!(store.names("skills/team/v1"), [".wardian-packages", "acme.report"]);
    assert_eq!(store.names("skills/team/v1/acme.report").len(), 2);
    // The same bytes as in a folder.
    user.run(&["skills", "publish", "one/acme.report", "packages"]).with(0);
    let package = fs::read(store.object("skills/team/v1/acme.report/1.0.0-rc.1.tar")).unwrap();
    let in_folder = user.place.folder().join("packages/acme.report/1.0.0-rc.1.tar");
    assert_eq!(package, fs::read(in_folder).unwrap());
    // What looks like a secret is named, and nothing is sent.
    let before = store.log().len();
    user.place.file("two/acme.report/prod.env", "TOKEN=1");
    user.skill("two/acme.report", "2.0.0", "x");
    let refused = user.publish("two/acme.report", at, &[]).with(1).stderr;
    assert!(refused.contains("`prod.env` has the name"), "{refused}");
    assert_eq!(store.log().len(), before);
    // Other content under the same version.
    user.skill("one/acme.report", "1.0.0-rc.1", "other");
    let taken = user.publish("one/acme.report", at, &[]).with(1).stderr;
    let wanted = ["acme.report@1.0.0-rc.1", "what is published never changes", "a new version"];
    assert!(contained(&taken, wanted).is_empty(), "{taken}");
    assert_eq!(
        fs::read(store.object("skills/team/v1/acme.report/1.0.0-rc.1.tar")).unwrap(),
        package
    );
    // Each object was written under the condition that there is none.
    let log = store.log();
    let puts = log.lines().filter(|line| line.starts_with("PUT "));
    assert!(
        puts.clone().count() >= 3 && puts.clone().all(|line| line.contains(" * AWS4-")),
        "{log}"
    );
}

#[test]
fn skills_of_an_object_store_are_installed_pinned_and_updated() {
    let store = ObjectStore::start();
    store.object("skills/x");
    let user = user_of(&store);
    // More names and versions than a page of the store's lists has.
    let versions = [("acme.report", "1.0.0"), ("acme.report", "1.1.0"), ("acme.notes", "0.1.0")];
    for (name, version) in versions.into_iter().chain([("acme.a", "0.1.0"), ("acme.b", "0.1.0")]) {
        let folder = format!("v{version}/{name}");
        user.skill(&folder, version, version);
        user.publish(&folder, "s3://skills/team", &["--sign", "ours.pem"]).with(0);
    }
    user.skill("beta/acme.report", "2.0.0-beta.1", "beta");
    user.publish("beta/acme.report", "s3://skills/team", &[]).with(0);
    let list = ["skills", "add", "s3://skills/team", "--allow-private", "--list", "--json"];
    let listed = user.run(&list).with(0).json();
    let found = listed["skills"].as_array().unwrap().iter();
    let found: Vec<String> =
        found.map(|one| format!("{}@{}", one["name"], one["version"])).collect();
    assert_eq!(found.len(), 4, "{listed}");
    assert!(found.contains(&"\"acme.report\"@\"1.1.0\"".to_owned()), "{listed}");
    let choose = user.add("s3://skills/team", &[]).with(2).stderr;
    assert!(choose.contains("the source has 4 skills"), "{choose}");
    user.add("s3://skills/team/", &["--skill", "acme.report", "--skill", "acme.notes"]).with(0);
    let lock = user.lock();
    let address = format!("registry = \"{}\"", store.address());
    let wanted = ["\"s3://skills/team/acme.report\"", "\"1.1.0 sha256:", address.as_str()];
    assert!(contained(&lock, wanted).is_empty(), "{lock}");
    user.look("outdated", &[]).with(0);
    user.skill("v1.2.0/acme.report", "1.2.0", "newer");
    user.publish("v1.2.0/acme.report", "s3://skills/team", &[]).with(0);
    let outdated = user.look("outdated", &[]).with(1).stdout;
    assert!(outdated.contains("1.2.0") && !outdated.contains("acme.notes"), "{outdated}");
    // A lock is installed as it is, whatever is newer.
    let from_lock = ["skills", "add", "--from-lock", "skills.lock", "--allow-private", "--yes"];
    user.run(&[&from_lock[..], &["--dir", "other/skills"]].concat()).with(0);
    let manifest = user.place.folder().join("other/skills/acme.report/skill.toml");
    assert!(fs::read_to_string(manifest).unwrap().contains("1.1.0"));
    fs::copy(user.place.folder().join("skills.lock"), user.place.folder().join("old.lock"))
        .unwrap();
    user.look("update", &["--yes"]).with(0);
    assert_eq!(user.version("acme.report"), "version = \"1.2.0\"");
    // Somebody takes the new version away: what is older is not an update.
    fs::remove_file(store.object("skills/team/acme.report/1.2.0.tar")).unwrap();
    let older = user.look("update", &["--yes"]).with(1).stderr;
    assert!(older.contains("has 1.1.0, which is older than 1.2.0"), "{older}");
    // A package that was changed is not what the lock has.
    let place = store.object("skills/team/acme.report/1.1.0.tar");
    let bytes = fs::read(&place).unwrap();
    fs::write(&place, [&bytes[..], &[0; 512]].concat()).unwrap();
    let from_lock = ["skills", "add", "--from-lock", "old.lock", "--allow-private", "--yes"];
    let other = user.run(&[&from_lock[..], &["--dir", "third/skills"]].concat()).with(2).stderr;
    assert!(other.contains("is not what was promised"), "{other}");
}

#[test]
fn signatures_and_single_packages_of_an_object_store() {
    let store = ObjectStore::start();
    store.object("skills/x");
    let user = user_of(&store);
    user.skill("acme.report", "1.0.0", "x");
    user.publish("acme.report", "s3://skills", &[]).with(0);
    let sign = ["skills", "sign", "acme.report", "--key", "ours.pem", "--json"];
    let label = user.run(&sign).with(0).json()["signer"].as_str().unwrap().to_owned();
    fs::remove_file(user.place.folder().join("acme.report/.signatures.json")).unwrap();
    let trusting = |source: &str| {
        let keys = format!("skills.trusted_keys=acme.*={label}");
        let settings = ["--set", "skills.require_signatures=true", "--set", &keys];
        let add = ["skills", "add", source, "--allow-private", "--dir", "skills", "--yes"];
        user.run(&[&settings[..], &add].concat())
    };
    for source in ["s3://skills", "s3://skills/acme.report", "s3://skills/acme.report/1.0.0.tar"] {
        let unsigned = trusting(source).with(1).stderr;
        assert!(unsigned.contains("is not signed"), "{unsigned}");
    }
    let signed = user.publish("acme.report", "s3://skills", &["--sign", "ours.pem"]).with(0).stdout;
    assert!(signed.contains("was already published, and is now signed by"), "{signed}");
    // What lies beside it and is no signature is named.
    fs::write(store.object("skills/acme.report/1.0.0.0123456789abcdef.dsse.json"), "{}").unwrap();
    let added = trusting("s3://skills/acme.report/1.0.0.tar").with(0);
    assert!(added.stdout.contains("signed by: ed25519:"), "{}", added.stdout);
    assert!(added.stderr.contains("a signature was left out"), "{}", added.stderr);
    assert!(user.lock().contains("\"s3://skills/acme.report/1.0.0.tar\""), "{}", user.lock());
    // A package under another name.
    fs::rename(store.object("skills/acme.report"), store.object("skills/acme.other")).unwrap();
    let renamed = user.add("s3://skills", &["--force"]).with(1).stderr;
    assert!(renamed.contains("was published as acme.other@1.0.0"), "{renamed}");
    for (source, expected) in [
        ("s3://skills/nothing", "there are no packages below"),
        ("s3://skills/acme.other/9.0.0.tar", "does not exist (404"),
        ("s3://nowhere/x", "does not exist (404, NoSuchBucket)"),
        ("s3://AKIDTESTS:very@skills/x", "names no place in an object store"),
    ] {
        let refused = user.add(source, &[]).with(2).stderr;
        assert!(refused.contains(expected), "{source}: {refused}");
    }
}

#[test]
fn a_store_that_replaces_or_changes_packages_is_refused() {
    let store = ObjectStore::start();
    for bucket in ["careless/x", "wrong/x", "racing/x", "bare/x", "busy/x"] {
        store.object(bucket);
    }
    let user = user_of(&store);
    user.skill("acme.report", "1.0.0", "x");
    let careless = user.publish("acme.report", "s3://careless/p", &[]).with(2).stderr;
    assert!(careless.contains("takes no heed of `If-None-Match`"), "{careless}");
    assert_eq!(store.names("careless/p"), [".wardian-packages"]);
    let wrong = user.publish("acme.report", "s3://wrong/p", &[]).with(2).stderr;
    assert!(wrong.contains("is not what was written just now"), "{wrong}");
    let racing = user.publish("acme.report", "s3://racing/p", &[]).with(1).stderr;
    assert!(racing.contains("what is published never changes"), "{racing}");
    assert_eq!(fs::read(store.object("racing/p/acme.report/1.0.0.tar")).unwrap(), b"other");
    // Missing lengths and tags are no fault, and a busy store is asked again.
    for bucket in ["s3://bare/p", "s3://busy/p"] {
        user.publish("acme.report", bucket, &["--sign", "ours.pem"]).with(0);
        user.add(bucket, &["--force"]).with(0);
    }
}

#[test]
fn hostile_stores_are_bounded_and_learn_nothing() {
    let store = ObjectStore::start();
    let user = user_of(&store);
    user.skill("acme.report", "1.0.0", "x");
    for (bucket, expected) in [
        ("elsewhere", "redirects to another place (307, TemporaryRedirect), which is not followed"),
        ("region", "the bucket is in the region `eu-west-1`"),
        ("chatty", "refuses the credentials of the environment (403)"),
        ("pages", "too large"),
        ("nonsense", "does not answer as an object store does"),
    ] {
        let source = format!("s3://{bucket}/p");
        let refused = user.add(&source, &[]).with(2).stderr;
        assert!(refused.contains(expected), "{bucket}: {refused}");
        assert!(!refused.contains("elsewhere.example"), "{refused}");
    }
    for (bucket, code) in [("elsewhere", 2), ("region", 2), ("chatty", 2), ("endless", 1)] {
        user.publish("acme.report", &format!("s3://{bucket}/p"), &[]).with(code);
    }
    store.object("endless-signature/x");
    user.publish("acme.report", "s3://endless-signature/p", &[]).with(0);
    let name = "endless-signature/p/acme.report/1.0.0.0123456789abcdef.dsse.json";
    fs::write(store.object(name), "{}").unwrap();
    let noted = user.add("s3://endless-signature/p", &[]).with(0).stderr;
    assert!(noted.contains("a signature was left out: the source is too large"), "{noted}");
    let private = ["skills", "add", "s3://skills/p", "--dir", "skills", "--yes"];
    let refused = user.run(&private).with(2).stderr;
    assert!(refused.contains("--allow-private"), "{refused}");
}

/// INVARIANT(store-credentials-stay)
#[test]
fn store_credentials_stay_with_the_store_that_the_environment_names() {
    let store = ObjectStore::start();
    for bucket in ["skills/x", "public/x"] {
        store.object(bucket);
    }
    let user = user_of(&store);
    user.skill("acme.report", "1.0.0", "x");
    user.publish("acme.report", "s3://public/p", &[]).with(0);
    // Nobody: not signed.
    let visitor = visitor_of(&store);
    visitor.add("s3://public/p", &[]).with(0);
    let asked = visitor.add("s3://skills/p", &[]).with(2).stderr;
    assert!(asked.contains("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{asked}");
    // A wrong key, and half of one.
    let User { place } = visitor_of(&store);
    let half = User { place: place.set("AWS_ACCESS_KEY_ID", "AKIDTESTS") };
    let refused = half.add("s3://public/p", &[]).with(2).stderr;
    assert!(refused.contains("only one is set"), "{refused}");
    let wrong = User { place: half.place.set("AWS_SECRET_ACCESS_KEY", "wrong") };
    let refused = wrong.add("s3://skills/p", &[]).with(2).stderr;
    assert!(refused.contains("(403, SignatureDoesNotMatch)"), "{refused}");
    // A role that is taken on with a token in a file.
    let User { place } = visitor_of(&store);
    let token = place.file("identity", "web-token").display().to_string();
    let place = place
        .set("AWS_WEB_IDENTITY_TOKEN_FILE", token)
        .set("AWS_ROLE_ARN", "arn:aws:iam::1:role/x");
    let role = User { place };
    role.skill("acme.report", "1.0.0", "x");
    role.publish("acme.report", "s3://skills/p", &[]).with(0);
    assert!(store.log().contains("Credential=ASIATEMPORARY/"));
    role.place.file("identity", "web-token-of-another");
    let refused = role.publish("acme.report", "s3://skills/p", &[]).with(2).stderr;
    assert!(refused.contains("400, InvalidIdentityToken"), "{refused}");
    // The lock names a store; another one is not asked, and the lock's is not by its word.
    user.add("s3://public/p", &[]).with(0);
    let other = ObjectStore::start();
    let User { place } = user_of(&other);
    place.file("skills.lock", user.lock());
    let elsewhere = User { place };
    let from_lock =
        ["skills", "add", "--from-lock", "skills.lock", "--allow-private", "--dir", "s", "--yes"];
    let refused = elsewhere.run(&from_lock).with(2).stderr;
    let wanted = ["AWS_ENDPOINT_URL leads to the store", &store.address(), &other.address()];
    assert!(contained(&refused, wanted).is_empty(), "{refused}");
    assert_eq!(other.log(), "");
    // Tokens of sources are no credentials of stores.
    user.place.file("token", "x");
    let refused = user.add("s3://public/p", &["--token-file", "token"]).with(2).stderr;
    assert!(refused.contains("an object store takes no token"), "{refused}");
}
