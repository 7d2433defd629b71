//! Callers with keys: who is let in, what a scope allows, and that no tenant reaches another's data.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, eventually, failed, output};

/// The scopes of a usual key.
const USUAL: &str = "discover,execute,code,blobs,approve";

/// A server that asks for keys, and the command line on its data folder.
struct Hosted {
    server: TestServer,
    place: Command,
    data: String,
}

impl Hosted {
    fn start() -> Self {
        let place = Command::new();
        let data = place.folder().join("data").to_str().unwrap().to_owned();
        Self { server: serve(Path::new(&data)), place, data }
    }

    /// Makes a key, and waits until the server knows it.
    fn key(&self, tenant: &str, scopes: &str) -> String {
        let key = make_key(&self.place, &self.data, &["--tenant", tenant, "--scopes", scopes]);
        eventually(Duration::from_secs(20), || {
            (self.client(&key).get("/v1/blobs").status != 401).then_some(())
        });
        key
    }

    fn client(&self, key: &str) -> Client {
        self.server.client().with_key(key)
    }
}

fn serve(data: &Path) -> TestServer {
    let skills = crate::support::repository("tests/it/skills");
    let skills = skills.to_str().unwrap();
    TestServer::start_on(
        data,
        &["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false", "--skills", skills],
    )
}

/// Makes a key named `ci`.
fn make_key(place: &Command, data: &str, more: &[&str]) -> String {
    let arguments = [&["--data-dir", data, "keys", "create", "--name", "ci"], more].concat();
    let key = place.run(&arguments).with(0).stdout.trim_end().to_owned();
    assert!(key.starts_with("wardian_") && key.len() == 69, "{key}");
    key
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"list_skills"}"#;

/// A request with these lines in its head.
fn rpc(server: &TestServer, head: &str) -> crate::support::Reply {
    let head = format!("Host: localhost\r\nContent-Type: application/json\r\n{head}");
    server.connect().post(&head, LIST)
}

#[test]
fn only_one_valid_credential_lets_a_caller_in() {
    let hosted = Hosted::start();
    let key = hosted.key("acme", USUAL);
    let other = hosted.key("acme", USUAL);
    let let_in = rpc(&hosted.server, &format!("Authorization: Bearer {key}\r\n"));
    assert_eq!(let_in.status, 200, "{let_in:?}");
    assert!(let_in.json()["result"]["skills"].is_array());
    let unknown = format!("wardian_aaaaaaaa_{}", "a".repeat(52));
    let mixed = format!("{}{}", &key[..17], &other[17..]);
    let mut answers = Vec::new();
    for head in [
        String::new(),
        "Authorization:\r\n".to_owned(),
        "Authorization: Bearer\r\n".to_owned(),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: {key}\r\n"),
        format!("Authorization: bearer {key}\r\n"),
        format!("Authorization: Basic {key}\r\n"),
        format!("Authorization: Bearer  {key}\r\n"),
        format!("Authorization: Bearer {key},{key}\r\n"),
        format!("Authorization: Bearer {key}, Bearer {key}\r\n"),
        format!("Authorization: Bearer {key}\r\nAuthorization: Bearer {key}\r\n"),
        format!("Authorization: Bearer {unknown}\r\nAuthorization: Bearer {key}\r\n"),
        format!("Authorization: Bearer {key}a\r\n"),
        format!("Authorization: Bearer {}\r\n", &key[..68]),
        format!("Authorization: Bearer {}\r\n", key.to_uppercase()),
        format!("Authorization: Bearer {unknown}\r\n"),
        format!("Authorization: Bearer {mixed}\r\n"),
        format!("Authorization: Bearer {}\r\n", "a".repeat(12_000)),
        "Authorization: Bearer \u{e9}\r\n".to_owned(),
        format!("X-Api-Key: {key}\r\n"),
        format!("Cookie: key={key}\r\n"),
        format!("Proxy-Authorization: Bearer {key}\r\n"),
    ] {
        let refused = rpc(&hosted.server, &head);
        assert_eq!(refused.status, 401, "{head:.200}: {refused:?}");
        assert!(refused.header("www-authenticate").starts_with("Bearer realm=\"wardian\""));
        let body = refused.json();
        assert_eq!((&body["id"], &body["error"]["code"]), (&Value::Null, &json!(1001)), "{body}");
        assert_eq!(refused.kind(), "unauthorized");
        answers.push(refused.body);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "the answer tells what is wrong with a credential");
    // A head that is too long is refused before it is read to its end.
    let long = rpc(&hosted.server, &format!("Authorization: Bearer {}\r\n", "a".repeat(17 << 10)));
    assert_eq!(long.status, 431);
}

#[test]
fn authenticated_first_before_anything_of_a_body_is_read() {
    let hosted = Hosted::start();
    for path in ["POST /rpc", "PUT /v1/blobs"] {
        let mut connection = hosted.server.connect();
        // Ten gigabytes are announced and not one byte is sent.
        connection.send(format!(
            "{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: 10000000000\r\n\r\n"
        ));
        let refused = connection.reply();
        assert_eq!((refused.status, refused.header("connection")), (401, "close"), "{path}");
    }
    // `100 Continue` would ask for the body.
    let mut connection = hosted.server.connect();
    connection.send(
        "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\
         Expect: 100-continue\r\n\r\n",
    );
    assert_eq!(connection.reply().status, 401);
}

#[test]
fn every_path_but_five_needs_a_key() {
    let hosted = Hosted::start();
    let anybody = hosted.server.client();
    for path in ["/healthz", "/readyz", "/version", "/tools", "/openrpc.json"] {
        assert_eq!(anybody.get(path).status, 200, "{path}");
    }
    let id = format!("blob:{}", "a".repeat(52));
    for path in [
        "/rpc",
        "/v1/blobs",
        &format!("/v1/blobs/{id}"),
        "/v1/anything",
        "/",
        "/nothing",
        "/healthz/",
        "/%68ealthz",
        "/tools/../v1/blobs",
    ] {
        assert_eq!(anybody.get(path).status, 401, "{path}");
    }
    let warnings = anybody.get("/readyz").json();
    assert!(!warnings.to_string().contains("other machines"), "{warnings}");
}

/// The eight methods with parameters that are good, and the scope that each needs.
fn calls(blob: &str) -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("list_skills", json!({}), "discover"),
        ("describe_skill", json!({"name": "acme.echo"}), "discover"),
        ("read_skill_file", json!({"name": "acme.echo", "path": "SKILL.md"}), "discover"),
        ("load_skills_protocol_guide", json!({}), "discover"),
        ("execute_skill", json!({"name": "acme.echo", "args": {}}), "execute"),
        ("run_code", json!({"language": "python", "code": "print(1)"}), "code"),
        ("create_blob", json!({"content": "x", "kind": "text/plain"}), "blobs"),
        ("read_blob", json!({"blob_id": blob}), "blobs"),
    ]
}

#[test]
fn python_files_for_a_script_need_the_scope_of_code() {
    let skills = crate::support::SkillFolder::new();
    skills.file("acme.lint/SKILL.md", "---\nname: lint\ndescription: Lints.\n---\n\n# Lint\n");
    skills.file("acme.lint/scripts/a.py", "import sys\nprint(len(open(sys.argv[1]).read()))\n");
    let place = Command::new();
    let data = place.folder().join("data").to_str().unwrap().to_owned();
    let settings = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let arguments = [&settings[..], &["--skills", skills.path()]].concat();
    let hosted = Hosted { server: TestServer::start_on(Path::new(&data), &arguments), place, data };
    let owner = hosted.client(&hosted.key("acme", USUAL));
    let blob = owner.create_text("x = 1\n", "text/x-python");
    let params = json!({
        "name": "lint", "script": "scripts/a.py", "argv": ["in.py"],
        "input_blobs": [{"blob": blob, "path": "in.py"}],
    });
    assert_eq!(owner.call("execute_skill", params.clone()).unwrap()["stdout"], "6\n");
    let executor = hosted.client(&hosted.key("acme", "execute,blobs"));
    let refused = executor.refusal("execute_skill", params);
    assert!(refused.message.contains("the key lacks the scope `code`"), "{refused:?}");
    assert!(refused.message.contains("`in.py.txt`"), "{refused:?}");
}

#[test]
fn a_key_can_do_what_its_scopes_say_and_nothing_else() {
    let hosted = Hosted::start();
    let owner = hosted.client(&hosted.key("acme", USUAL));
    let blob = owner.create_text("of acme", "text/plain");
    for (method, params, _) in calls(&blob) {
        owner.call(method, params).unwrap_or_else(|error| panic!("{method}: {error:?}"));
    }
    for scope in ["discover", "execute", "code", "blobs", "admin"] {
        let key = hosted.key("acme", scope);
        let client = hosted.client(&key);
        for (method, params, needed) in calls(&blob) {
            let called = client.call(method, params.clone());
            if scope == needed {
                assert!(called.is_ok(), "{method} with `{scope}`: {called:?}");
                continue;
            }
            let error = called.unwrap_err();
            assert_eq!((error.code, error.kind.as_str()), (1002, "forbidden"), "{method}");
            assert_eq!(error.message, format!("the caller lacks the scope `{needed}`"));
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            assert_eq!(client.post(call.to_string()).status, 403, "{method}");
        }
        let has_blobs = scope == "blobs";
        for path in ["/v1/blobs", &format!("/v1/blobs/{blob}")] {
            let status = client.get(path).status;
            assert_eq!(status, if has_blobs { 200 } else { 403 }, "{path} with `{scope}`");
        }
        let malformed = client.get("/v1/blobs/%ff");
        assert_eq!(malformed.status, if has_blobs { 404 } else { 403 }, "with `{scope}`");
        let kind = if has_blobs { "blob_not_found" } else { "forbidden" };
        assert_eq!(malformed.error().1, kind);
        let id = format!("/v1/blobs/{blob}");
        for (request, path) in [
            ("DELETE", id.clone()),
            ("HEAD", id.clone()),
            ("POST", format!("{id}/verify")),
            ("PUT", "/v1/blobs".to_owned()),
        ] {
            if has_blobs {
                continue;
            }
            let mut connection = hosted.server.connect();
            connection.send(format!(
                "{request} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\
                 Authorization: Bearer {key}\r\n\r\n"
            ));
            assert_eq!(connection.head().status, 403, "{request} with `{scope}`");
        }
    }
    assert_eq!(owner.read_bytes(&blob), b"of acme");
}

#[test]
fn no_scope_is_reached_through_another() {
    let hosted = Hosted::start();
    let owner = hosted.client(&hosted.key("acme", USUAL));
    let blob = owner.create_text("of acme", "text/plain");
    // Code reads the blobs that its call names, and the files of the skills that it mounts.
    let coder = hosted.client(&hosted.key("acme", "code"));
    let named = json!({"language": "python", "code": "1", "input_blobs": [blob]});
    assert!(coder.refusal("run_code", named.clone()).message.contains("`blobs`"));
    let mounted = json!({"language": "python", "code": "1", "mount_skills": ["acme.echo"]});
    assert!(coder.refusal("run_code", mounted.clone()).message.contains("`discover`"));
    let executor = hosted.client(&hosted.key("acme", "execute"));
    let named_for_skill = json!({"name": "acme.echo", "args": {}, "input_blobs": [blob]});
    assert!(executor.refusal("execute_skill", named_for_skill).message.contains("`blobs`"));
    let both = hosted.client(&hosted.key("acme", "code,blobs,discover"));
    both.call("run_code", named).unwrap();
    both.call("run_code", mounted).unwrap();
    // Each call of a batch is checked by itself, and a notification executes nothing.
    let batch = format!(
        r#"[{LIST},{{"jsonrpc":"2.0","id":2,"method":"run_code","params":{{"language":"python","code":"1"}}}}]"#
    );
    let answers = coder.post(batch).json();
    assert_eq!(answers[0]["error"]["code"], 1002, "{answers}");
    assert_eq!(answers[1]["result"]["status"], "completed", "{answers}");
}

/// Revokes a key, and waits until the server knows it.
fn revoke(hosted: &Hosted, key: &str) {
    hosted.place.run(&["--data-dir", &hosted.data, "keys", "revoke", &key[8..16]]).with(0);
    let client = hosted.client(key);
    eventually(Duration::from_secs(20), || (client.get("/v1/blobs").status == 401).then_some(()));
}

#[test]
fn revoked_in_between_means_that_the_rest_of_a_batch_is_refused() {
    let hosted = Hosted::start();
    let (key, other) = (hosted.key("acme", USUAL), hosted.key("acme", USUAL));
    let code = "import time\nfrom runtime import blobs\nblobs.write_text('begun')\ntime.sleep(8)\n";
    let params = json!({"language": "python", "code": code});
    let first = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
    let store = json!({"content": "after the end", "kind": "text/plain"});
    let second = json!({"jsonrpc": "2.0", "id": 2, "method": "create_blob", "params": store});
    let batch = json!([first, second]).to_string();
    let mut connection = hosted.server.connect();
    connection.send(format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {key}\r\nContent-Length: {}\r\n\r\n{batch}",
        batch.len()
    ));
    let client = hosted.client(&other);
    let blobs = || client.get("/v1/blobs").json()["blobs"].as_array().unwrap().len();
    eventually(Duration::from_secs(20), || (blobs() == 1).then_some(()));
    revoke(&hosted, &key);
    let answers = connection.reply().json();
    assert_eq!(answers[0]["result"]["status"], "completed", "it had begun: {answers}");
    assert_eq!(answers[1]["error"]["data"]["kind"], "unauthorized", "{answers}");
    assert_eq!(blobs(), 1, "the second call was executed");
}

#[test]
fn revoked_in_between_means_that_an_upload_is_not_stored() {
    let hosted = Hosted::start();
    let (key, other) = (hosted.key("acme", USUAL), hosted.key("acme", USUAL));
    for head in ["PUT /v1/blobs", "POST /rpc"] {
        let key = if head.starts_with("PUT") { &key } else { &hosted.key("acme", USUAL) };
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "create_blob",
            "params": {"content": "too late", "kind": "text/plain"}})
        .to_string();
        let mut connection = hosted.server.connect();
        connection.send(format!(
            "{head} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Authorization: Bearer {key}\r\nContent-Length: {}\r\n\r\n{}",
            call.len(),
            &call[..10]
        ));
        revoke(&hosted, key);
        let refused = connection.send(&call[10..]).reply();
        assert_eq!((refused.status, refused.kind().as_str()), (401, "unauthorized"), "{head}");
        assert!(refused.header("www-authenticate").starts_with("Bearer "), "{head}");
        let left = hosted.client(&other).get("/v1/blobs").json();
        assert_eq!(left["blobs"], json!([]), "{head}");
    }
}

#[test]
fn a_revoked_key_stops_working_while_the_server_runs() {
    let hosted = Hosted::start();
    let key = hosted.key("acme", USUAL);
    let client = hosted.client(&key);
    assert_eq!(client.get("/v1/blobs").status, 200);
    let prefix = &key[8..16];
    let revoked = hosted.place.run(&["--data-dir", &hosted.data, "keys", "revoke", prefix]);
    assert_eq!(revoked.with(0).stdout, format!("revoked {prefix}\n"));
    let began = Instant::now();
    let refused = eventually(Duration::from_secs(10), || {
        let answer = client.get("/v1/blobs");
        (answer.status == 401).then_some(answer)
    });
    // It is a second on a machine that has nothing else to do.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let unknown = hosted.client(&format!("wardian_aaaaaaaa_{}", "a".repeat(52)));
    assert_eq!(refused.body, unknown.get("/v1/blobs").body, "the answer tells them apart");
    let again = hosted.place.run(&["--data-dir", &hosted.data, "keys", "revoke", &key]);
    assert_eq!(again.with(0).stdout, format!("{prefix} was already revoked\n"));
}

#[test]
fn a_key_ends_by_itself_and_its_last_use_is_kept() {
    let place = Command::new();
    let data = place.folder().join("data").to_str().unwrap().to_owned();
    let short = make_key(&place, &data, &["--tenant", "acme", "--expires", "3 s"]);
    let long = make_key(&place, &data, &["--tenant", "acme", "--expires", "90d"]);
    let unused = make_key(&place, &data, &["--tenant", "acme"]);
    {
        let server = serve(Path::new(&data));
        assert_eq!(server.client().with_key(&long).get("/v1/blobs").status, 200);
        eventually(Duration::from_secs(20), || {
            (server.client().with_key(&short).get("/v1/blobs").status == 401).then_some(())
        });
    }
    let keys = place.run(&["--data-dir", &data, "keys", "list", "--json"]).with(0).json();
    let of = |key: &str| {
        let keys = keys.as_array().unwrap();
        keys.iter().find(|listed| listed["prefix"] == key[8..16]).unwrap().clone()
    };
    assert_eq!(
        (of(&short)["state"].clone(), of(&long)["state"].clone()),
        ("expired".into(), "valid".into())
    );
    assert!(of(&long)["last_used_ms"].as_u64() >= of(&long)["created_ms"].as_u64());
    assert_eq!(of(&unused)["last_used_ms"], Value::Null);
    let span =
        of(&long)["expires_ms"].as_u64().unwrap() - of(&long)["created_ms"].as_u64().unwrap();
    assert_eq!(span, 90 * 86_400_000);
}

#[test]
fn nothing_of_one_tenant_can_be_named_by_another() {
    let hosted = Hosted::start();
    let acme = hosted.client(&hosted.key("acme", USUAL));
    let beta_key = hosted.key("beta", USUAL);
    let beta = hosted.client(&beta_key);
    let id = acme.create_text("of acme alone", "text/plain");
    // The id of a blob that nobody has.
    let nobody = format!("blob:{}", "a".repeat(52));
    let said = |client: &Client, method: &str, params: &Value, id: &str| {
        let params: Value = serde_json::from_str(&params.to_string().replace("ID", id)).unwrap();
        let refused = client.refusal(method, params);
        (refused.code, refused.kind, refused.message.replace(id, "ID"))
    };
    for (method, params) in [
        ("read_blob", json!({"blob_id": "ID"})),
        ("read_blob", json!({"blob_id": "ID", "mode": "full"})),
        ("run_code", json!({"language": "python", "code": "1", "input_blobs": ["ID"]})),
        ("execute_skill", json!({"name": "acme.echo", "args": {}, "input_blobs": ["ID"]})),
    ] {
        let foreign = said(&beta, method, &params, &id);
        assert_eq!(foreign, said(&beta, method, &params, &nobody), "{method}");
        assert_eq!(foreign.1, "blob_not_found", "{method}");
    }
    for (verb, rest) in
        [("GET", ""), ("HEAD", ""), ("DELETE", ""), ("POST", "/verify?damaged=delete")]
    {
        let ask = |id: &str| {
            let mut connection = hosted.server.connect();
            connection.send(format!(
                "{verb} /v1/blobs/{id}{rest} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\
                 Authorization: Bearer {beta_key}\r\n\r\n"
            ));
            let reply = if verb == "HEAD" { connection.head() } else { connection.reply() };
            (reply.status, String::from_utf8(reply.body).unwrap().replace(id, "ID"))
        };
        let foreign = ask(&id);
        assert_eq!((foreign.0, &foreign), (404, &ask(&nobody)), "{verb}");
    }
    assert_eq!(acme.read_bytes(&id), b"of acme alone", "it was removed");
}

/// Ids that are nearly another tenant's, paths that try to leave the own folder, lists and cursors.
#[test]
fn no_other_name_leads_to_a_blob_of_another_tenant() {
    let hosted = Hosted::start();
    let acme = hosted.client(&hosted.key("acme", USUAL));
    let beta = hosted.client(&hosted.key("beta", USUAL));
    let id = acme.create_text("of acme alone", "text/plain");
    let letters = &id["blob:".len()..];
    for wrong in [
        format!("{id} "),
        format!("{id}/"),
        format!("{id}\0"),
        format!("{id}%00"),
        format!("blob:{id}"),
        format!("blob:../acme/{letters}"),
        format!("blob:..%2facme%2f{letters}"),
        format!("../acme/{letters}"),
        format!("acme/{letters}"),
        id.to_uppercase(),
        "blob:*".to_owned(),
        id[..id.len() - 1].to_owned(),
    ] {
        let refused = beta.refusal("read_blob", json!({"blob_id": wrong}));
        assert_eq!(refused.kind, "blob_not_found", "{wrong:?}");
    }
    // A run of one tenant sees no blob of another, whatever path it tries.
    let look = format!(
        "import os\nfound = []\nfor path in ['/blobs/{id}', '/blobs/{letters}', '/blobs']:\n    \
         try:\n        found.append(os.listdir(path) if os.path.isdir(path) else open(path).read())\n    \
         except OSError:\n        pass\nprint(found)"
    );
    let ran = beta.run(&look);
    assert!(!ran.to_string().contains("of acme alone"), "{ran}");
    let own = beta.create_text("of beta", "text/plain");
    let listed = |path: &str| beta.get(path).json()["blobs"].to_string();
    assert!(listed("/v1/blobs").contains(&own) && !listed("/v1/blobs").contains(&id));
    let foreign_cursor = beta.get(&format!("/v1/blobs?cursor={letters}"));
    assert_eq!(foreign_cursor.status, 200);
    assert!(!String::from_utf8(foreign_cursor.body).unwrap().contains(&id));
    assert_eq!(acme.read_bytes(&id), b"of acme alone", "it was removed");
}

#[test]
fn an_id_does_not_tell_whether_a_content_is_stored() {
    let hosted = Hosted::start();
    let (acme, beta) = (hosted.key("acme", USUAL), hosted.key("beta", USUAL));
    let of = |key: &str| hosted.client(key).create_text("known to all", "text/plain");
    let local = TestServer::shared().client().create_text("known to all", "text/plain");
    let (of_acme, of_beta) = (of(&acme), of(&beta));
    assert_eq!(of_acme, of(&acme), "one content of a tenant has one id");
    assert_ne!(of_acme, of_beta);
    assert!(of_acme != local && of_beta != local);
    // Storing what another tenant has is answered as new.
    let put = |key: &str| {
        let mut connection = hosted.server.connect();
        connection.send(format!(
            "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n\
             Authorization: Bearer {key}\r\nContent-Length: 9\r\n\r\n"
        ));
        connection.send("streamed!").reply().status
    };
    assert_eq!((put(&acme), put(&acme), put(&beta)), (201, 200, 201));
    // The keys of the ids are in the database, which only the server's user can read.
    for file in ["wardian.db", "wardian.db-wal"] {
        let mode = fs::metadata(Path::new(&hosted.data).join(file)).unwrap().mode();
        assert_eq!(mode & 0o077, 0, "{file}");
    }
    assert!(!Path::new(&hosted.data).join("blobs/keys").try_exists().unwrap());
    // The tenant `local` has no key: its ids are the same wherever its data is.
    let Hosted { server, place, data } = hosted;
    drop(server);
    place.file("known.txt", "known to all");
    let put = ["--data-dir", &data, "blobs", "put", "known.txt", "--kind", "text/plain"];
    assert_eq!(place.run(&put).with(0).stdout.trim(), local);
}

#[test]
fn tenants_keep_their_blobs_over_a_restart() {
    let place = Command::new();
    let data = place.folder().join("data").to_str().unwrap().to_owned();
    let key = make_key(&place, &data, &["--tenant", "acme"]);
    let id = {
        let server = serve(Path::new(&data));
        server.client().with_key(&key).create_text("kept", "text/plain")
    };
    let server = serve(Path::new(&data));
    let client = server.client().with_key(&key);
    assert_eq!(client.read_bytes(&id), b"kept");
    assert_eq!(client.create_text("kept", "text/plain"), id);
    drop(server);
    let scrubbed = place.run(&["--data-dir", &data, "blobs", "scrub"]).with(0);
    assert!(!scrubbed.stdout.contains("damaged:"), "{}", scrubbed.stdout);
}

#[test]
fn a_quota_is_that_of_one_tenant() {
    let place = Command::new();
    let data = place.folder().join("data").to_str().unwrap().to_owned();
    let (acme, beta) = (
        make_key(&place, &data, &["--tenant", "acme"]),
        make_key(&place, &data, &["--tenant", "beta"]),
    );
    let server = TestServer::start_on(
        Path::new(&data),
        &[
            "--set",
            "auth.mode=keys",
            "--set",
            "workers.require_lockdown=false",
            "--set",
            "blobs.quota=1000",
        ],
    );
    let (acme, beta) = (server.client().with_key(&acme), server.client().with_key(&beta));
    acme.create_text(&"a".repeat(900), "text/plain");
    let params = json!({"content": "b".repeat(200), "kind": "text/plain"});
    assert_eq!(acme.refusal("create_blob", params.clone()).kind, "quota_exceeded");
    beta.call("create_blob", params).unwrap();
}

#[test]
fn a_run_of_a_tenant_stores_its_outputs_with_the_tenant() {
    let hosted = Hosted::start();
    let acme = hosted.client(&hosted.key("acme", USUAL));
    let beta = hosted.client(&hosted.key("beta", USUAL));
    let code = "import runtime\nprint(runtime.blobs.write_text('made', kind='text/plain'))";
    let ran = acme.run(code);
    assert_eq!(ran["status"], "completed", "{ran}");
    let id = ran["output_blobs"][0]["blob_id"].as_str().or(ran["output_blobs"][0].as_str());
    let id = id.unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(acme.read_bytes(id), b"made");
    assert_eq!(beta.refusal("read_blob", json!({"blob_id": id})).kind, "blob_not_found");
    let (kind, _) = failed_or_none(&beta.run("raise ValueError('x')"));
    assert_eq!(kind, "ValueError");
    assert_eq!(output(&beta.run("1 + 1")), &json!({"result": 2}));
}

fn failed_or_none(result: &Value) -> (String, String) {
    let (kind, message) = failed(result);
    (kind.to_owned(), message.to_owned())
}

#[test]
fn a_server_without_keys_or_proxy_listens_on_loopback_only() {
    let place = Command::new();
    for address in ["0.0.0.0:0", "[::]:0"] {
        let ended = place.run(&["serve", "--listen", address]).with(2);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(
            ended.stderr.contains("`auth.mode`") && ended.stderr.contains("wardian keys create")
        );
        assert!(!place.folder().join("data").try_exists().unwrap(), "something was made");
    }
    let wrong = place.run(&["serve", "--set", "auth.mode=none"]).with(2);
    assert!(
        wrong.stderr.contains(r#"must be "open", "keys", "jwt" or "proxy""#),
        "{}",
        wrong.stderr
    );
    let more = ["--set", "auth.mode=proxy", "--set", "workers.require_lockdown=false"];
    let server = TestServer::start(&[&more[..], &["--listen", "0.0.0.0:0"]].concat());
    let port = server.address.rsplit_once(':').unwrap().1;
    let client = Client::new(format!("http://127.0.0.1:{port}"));
    assert!(client.call("list_skills", json!({})).is_ok());
    let warnings = client.get("/readyz").json()["warnings"].to_string();
    assert!(warnings.contains("other machines can reach this server"), "{warnings}");
}

#[test]
fn a_database_that_cannot_be_used_is_one_line_and_exit_code_2() {
    let place = Command::new();
    let data = place.folder().join("data");
    let data_dir = data.to_str().unwrap();
    let refuses = |data_dir: &str, text: &str| {
        for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["keys", "list"]] {
            let arguments = [&["--data-dir", data_dir], command].concat();
            let ended = place.run(&arguments).with(2);
            let errors: Vec<&str> =
                ended.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!(errors.len(), 1, "{}", ended.stderr);
            assert!(errors[0].contains(text), "{}", ended.stderr);
            assert_eq!(ended.stdout, "");
        }
    };
    make_key(&place, data_dir, &["--tenant", "acme"]);
    let path = data.join("wardian.db");
    let good = fs::read(&path).unwrap();
    fs::write(&path, "this file is no database at all, whatever its name says").unwrap();
    refuses(data_dir, "is damaged or not a database");
    let mut torn = good.clone();
    torn[200..4_000].fill(0x5a);
    fs::write(&path, &torn).unwrap();
    refuses(data_dir, "is damaged or not a database");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refuses(data_dir, "cannot be used");
    refuses("/dev/null", "cannot be used");
    refuses("/proc/wardian", "/proc/wardian");
}

#[test]
fn wrong_orders_for_keys_change_nothing() {
    let place = Command::new();
    let data = place.folder().join("data").to_str().unwrap().to_owned();
    let key = make_key(&place, &data, &["--tenant", "acme"]);
    let keys = |more: &[&str]| place.run(&[&["--data-dir", &data, "keys"], more].concat());
    for wrong in [
        &["create", "--tenant", "../x", "--name", "ci"][..],
        &["create", "--tenant", "ACME", "--name", "ci"],
        &["create", "--tenant", "", "--name", "ci"],
        &["create", "--tenant", "acme", "--name", ""],
        &["create", "--tenant", "acme", "--name", "a\nb"],
        &["create", "--tenant", "acme"],
        &["create", "--tenant", "acme", "--name", "ci", "--scopes", ""],
        &["create", "--tenant", "acme", "--name", "ci", "--scopes", "all"],
        &["create", "--tenant", "acme", "--name", "ci", "--expires", "soon"],
        &["create", "--tenant", "acme", "--name", "ci", "--expires", "0d"],
        &["create", "--tenant", "acme", "--name", "ci", "--expires", "-1d"],
        &["create", "--tenant", "acme", "--name", "ci", "--expires", "99999999999999999999d"],
        &["create", "--tenant", "acme", "--name", "ci", "--expires", "213503982334d"],
        &["revoke"],
        &["revoke", "aaaaaaaa"],
        &["revoke", &key[8..16], "aaaaaaaa"],
        &["revoke", "../../x"],
        &["revoke", "' OR 1=1"],
    ] {
        let ended = keys(wrong).with(2);
        assert_eq!(ended.stdout, "", "{wrong:?}");
    }
    let listed = keys(&["list", "--json"]).with(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed[0]["state"], &listed[0]["scopes"]),
        (&json!("valid"), &json!(["discover", "execute", "code", "blobs", "approve"]))
    );
    let shown = keys(&["list"]).with(0).stdout;
    assert!(shown.contains(&key[8..16]) && !shown.contains(&key[17..]), "{shown}");
}

#[test]
fn a_look_at_keys_makes_none_and_no_place_for_them() {
    let place = Command::new();
    let data = place.folder().join("data");
    let keys = |more: &[&str]| {
        place.run(&[&["--data-dir", data.to_str().unwrap(), "keys"], more].concat())
    };
    assert!(keys(&["list"]).with(2).stderr.contains("give the data folder of a server"));
    assert!(!data.try_exists().unwrap());
    fs::create_dir(&data).unwrap();
    assert_eq!(keys(&["list"]).with(0).stdout, "there are no keys\n");
    assert!(
        keys(&["revoke", "aaaaaaaa"]).with(2).stderr.contains("the key `aaaaaaaa` does not exist")
    );
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[test]
fn the_command_line_sends_a_key_that_is_on_no_command_line() {
    let hosted = Hosted::start();
    let key = hosted.key("acme", USUAL);
    let url = format!("http://{}", hosted.server.address);
    let place = Command::new();
    let content = place.file("content.txt", vec![7; 300_000]);
    let content = content.to_str().unwrap();
    let key_file = place.file("key", format!("{key}\n"));
    let key_file = key_file.to_str().unwrap();
    let at = ["--server", &url];
    let refused = place.run(&[&["blobs", "put", content], &at[..]].concat()).with(2);
    assert!(refused.stderr.contains("a valid key is required"), "{}", refused.stderr);
    let with_file = [&at[..], &["--key-file", key_file]].concat();
    let put = |place: &Command, at: &[&str]| {
        let stored = place.run(&[&["blobs", "put", content], at].concat()).with(0);
        stored.stdout.trim_end().to_owned()
    };
    let id = put(&place, &with_file);
    let in_environment = Command::new().set("WARDIAN_API_KEY", &key);
    assert_eq!(put(&in_environment, &at), id);
    let got = place.run(&[&["blobs", "get", &id], &with_file[..]].concat()).with(0);
    assert_eq!(got.bytes, vec![7; 300_000]);
    let listed = place.run(&[&["blobs", "list"], &with_file[..]].concat()).with(0);
    assert!(listed.stdout.contains(&id));
    let scrubbed = place.run(&[&["blobs", "scrub"], &with_file[..]].concat()).with(0);
    assert!(!scrubbed.stdout.is_empty());
    place.run(&[&["blobs", "delete", &id], &with_file[..]].concat()).with(0);
    let empty = place.file("empty", "");
    for wrong in [empty.to_str().unwrap(), "/nowhere"] {
        place.run(&[&["blobs", "list"], &at[..], &["--key-file", wrong]].concat()).with(2);
    }
    let mut file = fs::OpenOptions::new().append(true).open(key_file).unwrap();
    file.write_all(b"another\n").unwrap();
    place.run(&[&["blobs", "list"], &with_file[..]].concat()).with(2);
    fs::set_permissions(key_file, fs::Permissions::from_mode(0o600)).unwrap();
}

/// Makes a key with a command that is killed as soon as it has printed it.
fn make_key_and_die(place: &Command, data: &str) -> String {
    let create = ["--data-dir", data, "keys", "create", "--name", "ci", "--tenant", "acme"];
    let mut command = place.process(&create).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(command.stdout.take().unwrap()).read_line(&mut line).unwrap();
    command.kill().unwrap();
    command.wait().unwrap();
    line.trim_end().to_owned()
}

/// Keys that were printed are there after the server is killed, and after the command is that made
/// them.
#[test]
fn no_key_is_lost_when_the_server_is_killed() {
    let place = Command::new();
    let data = place.folder().join("data").to_str().unwrap().to_owned();
    let mut keys = vec![make_key(&place, &data, &["--tenant", "acme"])];
    for _ in 0..3 {
        let server = serve(Path::new(&data));
        keys.push(make_key(&place, &data, &["--tenant", "acme"]));
        keys.push(make_key_and_die(&place, &data));
        for key in &keys {
            eventually(Duration::from_secs(20), || {
                (server.client().with_key(key).get("/v1/blobs").status == 200).then_some(())
            });
        }
        server.process().kill();
        server.wait();
    }
    let listed = place.run(&["--data-dir", &data, "keys", "list", "--json"]).with(0).json();
    assert_eq!(listed.as_array().unwrap().len(), keys.len());
}
