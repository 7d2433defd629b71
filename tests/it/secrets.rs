//! Secrets of skills: where they come from, who gets them, and everything that must not show them.
//!
//! Servers of the world are reached as in the tests of the network, through an operator's proxy.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::network::{Authority, through_proxy};
use crate::support::{Command, SkillFolder, TestServer, eventually, failed, output};

const ALPHA: &str = "alpha-8f3c1e-canary-77d0";
const BETA: &str = "beta-41aa9c-canary-02b5f6";

/// Writes a skill whose section `[permissions]` has these lines.
fn permitted(skills: &SkillFolder, name: &str, permissions: &str, source: &str) {
    skills.action(name, "1.0.0", source);
    let manifest = fs::read_to_string(skills.at(&format!("{name}/skill.toml"))).unwrap();
    let manifest = format!("{manifest}\n[permissions]\n{permissions}\n");
    skills.file(&format!("{name}/skill.toml"), manifest);
}

/// A server that serves one skill, with these secrets in its environment.
fn serving(
    permissions: &str,
    source: &str,
    environment: &[(&str, &str)],
) -> (TestServer, SkillFolder) {
    let skills = SkillFolder::new();
    permitted(&skills, "acme.keys", permissions, source);
    let server = TestServer::start_in(&["--skills", skills.path()], environment);
    (server, skills)
}

fn fingerprint(value: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(value))
}

const BOTH: [(&str, &str); 2] =
    [("WARDIAN_SECRET_ALPHA_KEY", ALPHA), ("WARDIAN_SECRET_BETA_KEY", BETA)];

#[test]
fn declared_only_is_what_a_skill_gets() {
    let source = r#"
import gc, hashlib, os, sys
import runtime
from runtime import secrets

def main(args):
    value = os.environ["ALPHA_KEY"]
    assert secrets.get("ALPHA_KEY") == value and secrets.names() == ["ALPHA_KEY"]
    try:
        secrets.get("BETA_KEY")
    except runtime.SecretNotDeclared as error:
        refused = str(error)
    mark = "".join(("beta", "-41aa"))
    found, known, left = [], set(), list(sys.modules.values()) + gc.get_objects()
    while left and len(known) < 200_000:
        thing = left.pop()
        if id(thing) not in known:
            known.add(id(thing))
            if isinstance(thing, (str, bytes)) and mark in str(thing) and "9c" in str(thing):
                found.append(thing)
            left.extend(gc.get_referents(thing))
    return {
        "hash": hashlib.sha256(value.encode()).hexdigest(),
        "names": sorted(name for name in os.environ if "KEY" in name or "WARDIAN" in name),
        "refused": refused, "seen": len(found), "looked": len(known),
    }
"#;
    let (server, _skills) = serving("secrets = [\"ALPHA_KEY\"]", source, &BOTH);
    let client = server.client();
    for _ in 0..2 {
        let result = client.execute("acme.keys", json!({}));
        let found = output(&result);
        assert_eq!(found["hash"], fingerprint(ALPHA));
        assert_eq!(found["names"], json!(["ALPHA_KEY"]));
        assert_eq!(found["seen"], 0, "{found}");
        assert!(found["looked"].as_u64().unwrap() > 10_000, "{found}");
        let refused = found["refused"].as_str().unwrap();
        assert!(refused.contains("add `secrets = [\"BETA_KEY\"]`"), "{refused}");
    }
    // Code that came with a call has no secrets, also not those of skills that it mounts and calls.
    let code = r#"
import os
def main(args):
    from runtime import secrets
    import skills.acme.keys as keys
    out = {"env": [name for name in os.environ if "KEY" in name], "names": secrets.names()}
    try:
        keys.main({})
    except KeyError as error:
        out["called"] = str(error)
    try:
        secrets.get("ALPHA_KEY")
    except LookupError as error:
        out["asked"] = str(error)
    return out
"#;
    let result =
        client.run_with(code, json!({"mount_skills": ["acme.keys"], "entrypoint": "main"}));
    let found = output(&result);
    assert_eq!((&found["env"], &found["names"]), (&json!([]), &json!([])));
    assert_eq!(found["called"], "'ALPHA_KEY'");
    assert!(found["asked"].as_str().unwrap().contains("has no secrets"), "{found}");
}

#[test]
fn a_secret_that_cannot_be_used_is_an_error_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let skills = SkillFolder::new();
    let source = "from runtime import blobs\ndef main(args):\n    blobs.write_text('ran')\n";
    let wide = "secrets = [\"GONE_KEY\", \"LOST_KEY\"]";
    permitted(&skills, "acme.gone", wide, source);
    let bad: [(&str, &[u8], &str); 5] = [
        ("EMPTY_KEY", b"\n", "it is empty"),
        ("BINARY_KEY", b"binary-canary\xff\xfe", "it is not text in UTF-8"),
        ("ZERO_KEY", b"zero-canary\0", "it has a zero byte"),
        ("LARGE_KEY", &[b'k'; 1 << 20], "it is larger than 32 KiB"),
        ("FOLDER_KEY", b"", "the provider `folder` failed"),
    ];
    for (name, content, _) in bad {
        let path = folder.path().join(name);
        match name {
            "FOLDER_KEY" => fs::create_dir(path).unwrap(),
            _ => fs::write(path, content).unwrap(),
        }
        let skill = format!("acme.{}", name.to_lowercase().replace("_key", ""));
        permitted(&skills, &skill, &format!("secrets = [\"{name}\"]"), source);
    }
    fs::write(folder.path().join("LINES_KEY"), "line-one\nline-two\n").unwrap();
    let lines = "import os\ndef main(args):\n    return os.environ['LINES_KEY'].count('\\n')\n";
    permitted(&skills, "acme.lines", "secrets = [\"LINES_KEY\"]", lines);
    let setting = format!("secrets.folders={}", folder.path().display());
    let server = TestServer::start(&["--skills", skills.path(), "--set", &setting]);
    let client = server.client();

    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "execute_skill", "params": {"name": "acme.gone"},
    });
    let answer = client.post(request.to_string());
    let (code, kind, _) = answer.error();
    assert_eq!((answer.status, code, kind.as_str()), (424, 1006, "secret_unavailable"));
    let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    let expected = "skill `acme.gone` cannot run here: the server has no secret `GONE_KEY`, \
        `LOST_KEY`; it searched `environment`, `folder`";
    assert_eq!(message, expected);
    for (name, _, reason) in bad {
        let skill = format!("acme.{}", name.to_lowercase().replace("_key", ""));
        let refused = client.refusal("execute_skill", json!({"name": skill}));
        assert_eq!(refused.kind, "secret_unavailable");
        let told = &refused.message;
        assert!(told.contains(&format!("`{name}`")) && told.contains(reason), "{told}");
        assert!(
            !told.contains("canary") && !told.contains(folder.path().to_str().unwrap()),
            "{told}"
        );
    }
    // The operator reads where.
    server.wait_for_log(folder.path().to_str().unwrap());
    let log = server.log();
    assert!(!log.contains("canary") && !log.contains("kkkkkk"), "{log}");
    assert_eq!(output(&client.execute("acme.lines", json!({})))["result"], 1);
    let stored = fs::read_dir(server.data_dir().join("blobs/tenants")).map_or(0, Iterator::count);
    assert_eq!(stored, 0, "no program began");
}

#[test]
fn a_change_is_seen_by_the_next_run_from_every_place() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for version in ["..1", "..2"] {
        fs::create_dir(at(version)).unwrap();
        fs::write(at(version).join("MOUNTED_KEY"), format!("mounted-value-{version}")).unwrap();
    }
    symlink("..1", at("..data")).unwrap();
    symlink("..data/MOUNTED_KEY", at("MOUNTED_KEY")).unwrap();
    let file = folder.path().join("secrets.toml");
    let write = |text: &str| {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    };
    write("FILED_KEY = \"filed-value-1\"\n");
    let printed = at("printed");
    fs::write(&printed, "printed-value-1").unwrap();
    let skills = SkillFolder::new();
    let source = "import hashlib, os\ndef main(args):\n    return [hashlib.sha256(os.environ[name]\
        .encode()).hexdigest() for name in ('MOUNTED_KEY', 'FILED_KEY', 'PRINTED_KEY')]\n";
    let all = "secrets = [\"MOUNTED_KEY\", \"FILED_KEY\", \"PRINTED_KEY\"]";
    permitted(&skills, "acme.keys", all, source);
    let script = format!(
        "if [ \"$1\" = PRINTED_KEY ] && [ -z \"$WARDIAN_SECRET_BETA_KEY\" ]; then cat {}; fi",
        printed.display()
    );
    let config = at("wardian.toml");
    let text = format!(
        "[secrets]\nfolders = [{:?}]\nfile = {file:?}\ncommand = [\"/bin/sh\", \"-c\", {script:?}, \
        \"sh\"]\ncommand_max_age = 0\n",
        folder.path()
    );
    fs::write(&config, text).unwrap();
    let arguments = ["--skills", skills.path(), "--config", config.to_str().unwrap()];
    let server = TestServer::start_in(&arguments, &BOTH);
    let client = server.client();
    let seen = || output(&client.execute("acme.keys", json!({})))["result"].clone();
    let of = |values: [&str; 3]| json!(values.map(fingerprint));
    assert_eq!(seen(), of(["mounted-value-..1", "filed-value-1", "printed-value-1"]));
    symlink("..2", at("..next")).unwrap();
    fs::rename(at("..next"), at("..data")).unwrap();
    assert_eq!(seen(), of(["mounted-value-..2", "filed-value-1", "printed-value-1"]));
    write("FILED_KEY = \"filed-value-2\"\n");
    fs::write(&printed, "printed-value-2").unwrap();
    assert_eq!(seen(), of(["mounted-value-..2", "filed-value-2", "printed-value-2"]));
    fs::remove_file(at("MOUNTED_KEY")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let refused = client.refusal("execute_skill", json!({"name": "acme.keys"}));
    assert_eq!(refused.kind, "secret_unavailable", "what is gone is gone: {refused:?}");
    server.wait_for_log("its mode is 0644 and must be 0600");
}

/// A server of the world that tells what it got.
struct Origin {
    port: u16,
    /// Head and body of each request.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Origin {
    /// Serves `site.test`, encrypted if there is an authority. Its answers show `value`.
    fn start(authority: Option<&Authority>, value: &'static str) -> Self {
        let tls = authority.map(|authority| authority.server("site.test"));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, seen, tls) = (stream.unwrap(), Arc::clone(&seen), tls.clone());
                thread::spawn(move || match tls {
                    None => serve(stream, value, &seen),
                    Some(tls) => {
                        let session = rustls::ServerConnection::new(tls).unwrap();
                        serve(rustls::StreamOwned::new(session, stream), value, &seen);
                    }
                });
            }
        });
        Self { port, requests }
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://site.test:{}", self.port)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

/// Answers one request after another.
fn serve(mut stream: impl Read + Write, value: &str, seen: &Mutex<Vec<String>>) {
    loop {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let lower = head.to_lowercase();
        let length = lower
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        seen.lock().unwrap().push(head.clone() + &String::from_utf8_lossy(&body));
        let path = head.split(' ').nth(1).unwrap();
        let fixed = |fields: &str, text: &str| {
            format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{text}", text.len())
        };
        let answer = match path.split('?').next().unwrap() {
            "/echo" => fixed("", &format!("<{value}>")),
            "/encoded" => {
                let basic = BASE64.encode(format!("user:{value}").as_bytes());
                let text = json!({"basic": basic, "hex": HEXLOWER.encode(value.as_bytes())});
                fixed("", &text.to_string())
            }
            "/headers" => format!(
                "HTTP/1.1 200 {value}\r\nX-Echo: {value}; {basic}\r\n\
                 Content-Length: 2\r\n\r\nok",
                basic = BASE64.encode(value.as_bytes())
            ),
            "/pieces" => {
                let mut text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned();
                for piece in format!("start {value} end").as_bytes().chunks(5) {
                    let piece = String::from_utf8(piece.to_vec()).unwrap();
                    text += &format!("{:x}\r\n{piece}\r\n", piece.len());
                    stream.write_all(text.as_bytes()).unwrap();
                    stream.flush().unwrap();
                    text.clear();
                    thread::park_timeout(Duration::from_millis(20));
                }
                "0\r\n\r\n".to_owned()
            }
            "/redirect" => {
                let to = path.split_once("to=").unwrap().1;
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
            }
            _ => fixed("", "ok"),
        };
        if stream.write_all(answer.as_bytes()).and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

/// Calls the URLs of `args` in several ways, with the key in many places.
const CALLER: &str = r#"
import base64, http.client, json, os, urllib.request
from urllib.parse import quote_plus, urlsplit
from runtime import http as simple, secrets

def main(args):
    key = os.environ["ACME_KEY"]
    assert secrets.get("ACME_KEY") == key
    seen = {}
    for name, path in args["calls"].items():
        url = args[path[0]] + path[1].replace("KEY", key)
        headers = {}
        body = None
        if name.startswith("basic"):
            token = base64.b64encode(f"{key}:".encode()).decode()
            headers["Authorization"] = f"Basic {token}"
        elif name.startswith("body"):
            body = json.dumps({"key": key, "form": "k=" + quote_plus(key)}).encode()
        else:
            headers["Authorization"] = f"Bearer {key}"
            headers["X-Api-Key"] = key
        if name == "range":
            headers["Range"] = "bytes=0-5"
        request = urllib.request.Request(url, body, headers)
        with urllib.request.urlopen(request) as answer:
            seen[name] = [answer.read().decode(), str(answer.headers), answer.reason]
    return {"key": "/".join(key), "seen": seen}
"#;

const VALUE: &str = "sk_live_51Hx7AbCdEf/9GhIj+KlMn==";

/// The key as the program saw it: it was returned with slashes, so that nothing covered it.
fn key_of(result: &Value) -> String {
    let spread = output(result)["key"].as_str().unwrap();
    spread.chars().step_by(2).collect()
}

struct World {
    authority: Authority,
    named: Origin,
    other: Origin,
    clear: Origin,
}

impl World {
    fn new() -> Self {
        let authority = Authority::new();
        let named = Origin::start(Some(&authority), VALUE);
        let other = Origin::start(Some(&authority), VALUE);
        Self { named, other, clear: Origin::start(None, VALUE), authority }
    }

    fn server(&self, skills: &SkillFolder, arguments: &[&str]) -> TestServer {
        let ca = format!("network.ca_file={}", self.authority.path());
        let own = ["--skills", skills.path(), "--set", &ca];
        let arguments = [&through_proxy()[..], &own, arguments].concat();
        TestServer::start_in(&arguments, &[("WARDIAN_SECRET_ACME_KEY", VALUE)])
    }

    fn network(&self) -> String {
        let urls = [self.named.url("https"), self.other.url("https"), self.clear.url("http")];
        format!("network = {urls:?}\n")
    }

    fn call(&self, server: &TestServer, calls: Value) -> Value {
        let args = json!({
            "named": self.named.url("https"), "other": self.other.url("https"),
            "clear": self.clear.url("http"), "calls": calls,
        });
        server.client().execute("acme.caller", args)
    }
}

#[test]
fn a_brokered_secret_reaches_the_named_host_and_nothing_else() {
    let world = World::new();
    let skills = SkillFolder::new();
    let hosts = format!("secret_hosts = {{ ACME_KEY = [\"{}\"] }}", world.named.url("https"));
    let permissions = format!("{}secrets = [\"ACME_KEY\"]\n{hosts}", world.network());
    permitted(&skills, "acme.caller", &permissions, CALLER);
    let server = world.server(&skills, &[]);

    let calls = json!({
        "bearer": ["named", "/ok"], "basic": ["named", "/ok"], "body": ["named", "/ok"],
        "url": ["named", "/ok?key=KEY"],
        "other": ["other", "/ok"], "basic other": ["other", "/ok"], "body other": ["other", "/ok"],
        "clear": ["clear", "/ok"], "basic clear": ["clear", "/ok"],
    });
    let result = world.call(&server, calls);
    let key = key_of(&result);
    assert!(key != VALUE && key.len() == VALUE.len() && key.starts_with("sk_live_"), "{key}");
    let [basic, bearer, body, url] = world.named.take().try_into().unwrap();
    assert!(bearer.contains(&format!("Bearer {VALUE}\r\n")), "{bearer}");
    assert!(bearer.to_lowercase().contains(&format!("x-api-key: {}", VALUE.to_lowercase())));
    let encoded = BASE64.encode(format!("{VALUE}:").as_bytes());
    assert!(basic.contains(&format!("Basic {encoded}\r\n")), "{basic}");
    assert!(body.contains(&key) && !body.contains(VALUE), "bodies were not asked for: {body}");
    assert!(url.contains(&format!("/ok?key={key} ")), "a URL never has the value: {url}");
    for request in world.other.take().into_iter().chain(world.clear.take()) {
        assert!(!request.contains(VALUE) && !request.contains(&encoded), "{request}");
        assert!(!request.contains("7AbCdEf"), "{request}");
    }
    let again = key_of(&world.call(&server, json!({})));
    assert_ne!(again, key, "each run has a placeholder of its own");
    assert!(!server.log().contains("7AbCdEf"), "{}", server.log());

    // A redirect is a request of its own, which is checked like the first.
    for to in [world.other.url("https"), world.clear.url("http")] {
        let calls = json!({"redirected": ["named", format!("/redirect?to={to}/ok")]});
        output(&world.call(&server, calls));
        assert!(world.named.take()[0].contains(VALUE));
        for request in world.other.take().into_iter().chain(world.clear.take()) {
            assert!(!request.contains("7AbCdEf"), "{request}");
        }
    }
}

#[test]
fn a_response_that_shows_the_value_shows_the_placeholder() {
    let world = World::new();
    let skills = SkillFolder::new();
    let hosts = format!("secret_hosts = {{ ACME_KEY = [\"{}\"] }}", world.named.url("https"));
    permitted(&skills, "acme.caller", &(world.network() + &hosts), CALLER);
    let server = world.server(&skills, &[]);
    let calls = json!({
        "echo": ["named", "/echo"], "pieces": ["named", "/pieces"],
        "headers": ["named", "/headers"], "encoded": ["named", "/encoded"],
        "range": ["named", "/echo"],
    });
    let result = world.call(&server, calls);
    let key = key_of(&result);
    let seen = &output(&result)["seen"];
    assert!(!result.to_string().contains("7AbCdEf"), "{result:#}");
    assert_eq!(seen["echo"][0], format!("<{key}>"));
    assert_eq!(seen["pieces"][0], format!("start {key} end"));
    let encoded: Value = serde_json::from_str(seen["encoded"][0].as_str().unwrap()).unwrap();
    let basic = BASE64.decode(encoded["basic"].as_str().unwrap().as_bytes()).unwrap();
    let basic = String::from_utf8_lossy(&basic).into_owned();
    assert!(basic.starts_with("user:") && !basic.contains("7AbCdEf"), "{basic}");
    assert_eq!(encoded["hex"], HEXLOWER.encode(key.as_bytes()));
    let headers = seen["headers"].to_string();
    assert!(headers.contains(&key) && !headers.to_lowercase().contains("7abcdef"), "{headers}");
    let asked = world.named.take();
    let asks_plain = |head: &String| head.to_lowercase().contains("accept-encoding: identity\r\n");
    assert!(asked.iter().all(asks_plain), "{asked:?}");
    assert!(!asked.iter().any(|head| head.to_lowercase().contains("range:")), "{asked:?}");
}

#[test]
fn bodies_get_the_value_where_the_manifest_asks_for_it() {
    let world = World::new();
    let skills = SkillFolder::new();
    let hosts = format!(
        "secret_hosts = {{ ACME_KEY = {{ hosts = [\"{}\"], in_body = true }} }}",
        world.named.url("https")
    );
    permitted(&skills, "acme.caller", &(world.network() + &hosts), CALLER);
    let server = world.server(&skills, &[]);
    let calls = json!({"body": ["named", "/ok"], "body other": ["other", "/ok"]});
    output(&world.call(&server, calls));
    let sent = world.named.take().remove(0);
    let body: Value = serde_json::from_str(sent.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(body["key"], VALUE);
    assert_eq!(body["form"], "k=sk_live_51Hx7AbCdEf%2F9GhIj%2BKlMn%3D%3D");
    assert!(!world.other.take().remove(0).contains("7AbCdEf"));
}

#[test]
fn the_operator_can_broker_what_a_manifest_does_not() {
    let world = World::new();
    let skills = SkillFolder::new();
    let permissions = world.network() + "secrets = [\"ACME_KEY\"]";
    permitted(&skills, "acme.caller", &permissions, CALLER);
    let setting = format!("secrets.hosts=ACME_KEY={}", world.named.url("https"));
    let server = world.server(&skills, &["--set", &setting]);
    let result = world.call(&server, json!({"a": ["named", "/ok"], "b": ["other", "/ok"]}));
    assert_ne!(key_of(&result), VALUE);
    assert!(world.named.take()[0].contains(VALUE) && !world.other.take()[0].contains("7AbCdEf"));
    // A manifest cannot widen what the operator says.
    let hosts = format!("\nsecret_hosts = {{ ACME_KEY = [\"{}\"] }}", world.other.url("https"));
    permitted(&skills, "acme.caller", &(permissions + &hosts), CALLER);
    eventually(Duration::from_secs(20), || {
        let result = world.call(&server, json!({"a": ["named", "/ok"], "b": ["other", "/ok"]}));
        assert_ne!(key_of(&result), VALUE);
        assert!(!world.other.take()[0].contains("7AbCdEf"));
        (!world.named.take()[0].contains(VALUE)).then_some(())
    });
}

/// Shows its key in every way.
const CARELESS: &str = r#"
import base64, os, sys, urllib.parse
from runtime import blobs, log

def main(args):
    key = os.environ["ALPHA_KEY"]
    sys.stdout.write("split " + key[:9])
    sys.stdout.flush()
    print("aside", file=sys.stderr)
    print(key[9:])
    print("b64", base64.b64encode(("x" + key).encode()).decode())
    print("quoted", urllib.parse.quote("/" + key + "é"))
    log.info("logged " + key)
    blob = blobs.write_text("a,b\n" + key + ",1\n" * 30_000 + key, kind="text/csv")
    data = blobs.write_bytes(key.encode(), kind="application/octet-stream")
    with open("/workspace/" + key + ".txt", "w") as file:
        file.write(key)
    if args.get("fail"):
        raise type(os.environ["WORD_KEY"], (Exception,), {})(f"the key is {key}")
    number = int(os.environ["NUMBER_KEY"])
    return {
        "summary": "it is " + key, "value": key, "nested": [{key: [number, -number, 1234567]}],
        "text": blob, "data": data, "escaped": "line\n" + key + "\u0001",
    }
"#;

#[test]
fn values_that_turn_up_all_the_same_are_covered() {
    const ALL: &str = "secrets = [\"ALPHA_KEY\", \"NUMBER_KEY\", \"WORD_KEY\"]";
    let skills = SkillFolder::new();
    permitted(&skills, "acme.keys", ALL, CARELESS);
    let environment = [
        BOTH[0],
        ("WARDIAN_SECRET_NUMBER_KEY", "90817263"),
        ("WARDIAN_SECRET_WORD_KEY", "Word_8f3c1e_canary"),
    ];
    let server = TestServer::start_in(&["--skills", skills.path()], &environment);
    let client = server.client();
    let call = |args: Value| {
        client.call("execute_skill", json!({"name": "acme.keys", "args": args, "keep_files": true}))
    };
    let result = call(json!({})).unwrap();
    let text = result.to_string();
    let core = "8f3c1e-canary";
    let core64 = BASE64.encode(b"alpha-8f3c1e-canary");
    for hidden in [core, &core64[4..20], "90817263"] {
        assert!(!text.contains(hidden), "{hidden} in {result:#}");
    }
    let shown = output(&result);
    let stars = "*".repeat(ALPHA.len());
    assert_eq!(
        (&result["summary"], &shown["value"]),
        (&json!(format!("it is {stars}")), &json!(stars))
    );
    assert_eq!(shown["nested"][0][&stars], json!(["******", "*******", 1_234_567]));
    assert_eq!(shown["escaped"], format!("line\n{stars}\u{1}"));
    let logs = result["logs_preview"].as_str().unwrap();
    assert!(
        logs.contains("split *********") && logs.contains(&format!("logged {stars}")),
        "{logs}"
    );
    let csv = client.read_bytes(shown["text"].as_str().unwrap());
    let csv = String::from_utf8(csv).unwrap();
    assert!(!csv.contains(core) && csv.starts_with(&format!("a,b\n{stars},1\n")), "{csv:.80}");
    assert!(csv.ends_with(&stars) && csv.len() == 4 + 2 * ALPHA.len() + 90_000, "{}", csv.len());
    let data = client.read_bytes(shown["data"].as_str().unwrap());
    assert_eq!(data, ALPHA.as_bytes(), "only text is covered");

    let result = call(json!({"fail": true})).unwrap();
    assert_eq!(failed(&result), ("Exception", format!("the key is {stars}").as_str()));
    server.wait_for_log("ended: Exception");
    for text in [result.to_string(), server.log()] {
        assert!(!text.contains("8f3c1e"), "{text}");
    }
}

/// All files below a folder.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files_of(&path) } else { vec![path] }).collect()
}

/// Prints, stores and returns its keys, and ends in several ways.
const LOUD: &str = r#"
import os
def main(args):
    values = [os.environ[name] for name in ("ENV_KEY", "FOLDER_KEY", "FILE_KEY")]
    print(*values)
    open("/workspace/kept.txt", "w").write(" ".join(values))
    if args.get("end") == "raise":
        raise ValueError(values)
    if args.get("end") == "crash":
        import sys
        sys.setrecursionlimit(10**9)
        def deep(n): return deep(n + 1)
        deep(0)
    if args.get("end") == "wait":
        import time
        time.sleep(60)
    return values
"#;

/// What others can see of the processes of a server.
fn seen_of_processes(server: &TestServer) -> Vec<String> {
    let read = |id: u32, name: &str| fs::read(format!("/proc/{id}/{name}")).unwrap_or_default();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let mut seen = vec![text(read(server.process().id, "cmdline"))];
    for worker in server.workers() {
        seen.push(text(read(worker.id, "cmdline")));
        // A worker that was locked down shows no environment. One that shows it has none.
        assert_eq!(read(worker.id, "environ"), b"");
        let limits = text(read(worker.id, "limits"));
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().collect::<Vec<_>>()[4..6], ["0", "0"], "{core}");
    }
    seen
}

/// Searches the stored blobs, and the images that were made since `started`.
fn search_files(server: &TestServer, config: &Value, started: SystemTime, wanted: &[u8]) {
    let settings = config["settings"].as_array().unwrap();
    let cache = settings.iter().find(|setting| setting["key"] == "cache_dir").unwrap();
    let images = files_of(&Path::new(cache["value"].as_str().unwrap()).join("images"));
    let is_new = |path: &PathBuf| {
        fs::metadata(path).and_then(|data| data.modified()).is_ok_and(|at| at >= started)
    };
    let stored = files_of(server.data_dir());
    assert!(stored.len() > 1, "the kept files are stored: {stored:?}");
    for path in stored.into_iter().chain(images.into_iter().filter(is_new)) {
        let content = fs::read(&path).unwrap_or_default();
        let found = content.windows(wanted.len()).any(|part| part == wanted);
        assert!(!found, "{}", path.display());
    }
}

#[test]
fn no_canary_is_found_anywhere() {
    let (folder, place) = (tempfile::tempdir().unwrap(), Command::new());
    fs::write(folder.path().join("FOLDER_KEY"), "folder-canary-5b1e77").unwrap();
    let started = fs::metadata(folder.path()).unwrap().modified().unwrap();
    let file = place.file("secrets.toml", "FILE_KEY = \"file-canary-5b1e77\"\n");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let skills = SkillFolder::new();
    let all = "secrets = [\"ENV_KEY\", \"FOLDER_KEY\", \"FILE_KEY\"]";
    permitted(&skills, "acme.keys", all, LOUD);
    let folders = format!("secrets.folders={}", folder.path().display());
    let files = format!("secrets.file={}", file.display());
    let settings = ["--skills", skills.path(), "--set", &folders, "--set", &files];
    let arguments = [&settings[..], &["--log-level", "trace", "--set", "workers.count=1"]].concat();
    let environment = [("WARDIAN_SECRET_ENV_KEY", "env-canary-5b1e77")];
    let server = TestServer::start_in(&arguments, &environment);
    let client = server.client();
    let mut texts = Vec::new();
    for end in ["return", "raise", "crash"] {
        let call = json!({"name": "acme.keys", "args": {"end": end}, "keep_files": true});
        texts.push(client.call("execute_skill", call).unwrap().to_string());
    }
    let call = json!({"name": "acme.keys", "args": {"end": "wait"}, "timeout_ms": 500});
    texts.push(client.call("execute_skill", call).unwrap().to_string());
    texts.push(client.refusal("execute_skill", json!({"name": "acme.keys", "args": 7})).message);
    for path in ["/version", "/healthz", "/readyz", "/tools", "/metrics"] {
        texts.push(String::from_utf8_lossy(&client.get(path).body).into_owned());
    }
    texts.push(client.call("describe_skill", json!({"name": "acme.keys"})).unwrap().to_string());
    texts.extend(seen_of_processes(&server));

    let place = place.set("WARDIAN_SECRET_ENV_KEY", "env-canary-5b1e77");
    let typed = |words: &[&str]| {
        let ended = place.run(&[&settings[..], words].concat());
        ended.stdout + &ended.stderr
    };
    let config = typed(&["config", "--json"]);
    texts.extend([typed(&["config"]), typed(&["config", "--explain"]), config.clone()]);
    texts.extend([typed(&["secrets", "list"]), typed(&["secrets", "list", "--json"])]);
    texts.push(typed(&["exec", "acme.keys", "--args", "{\"end\": \"return\"}"]));
    texts.push(typed(&["exec", "acme.keys", "--args", "{\"end\": \"raise\"}", "--json"]));
    server.wait_for_log("ended: Timeout");
    texts.push(server.log());
    for text in &texts {
        assert!(!text.contains("canary-5b1e77"), "{text}");
    }
    assert!(texts.iter().any(|text| text.contains("FOLDER_KEY")), "nothing was listed");

    let config: Value = serde_json::from_str(&config).unwrap();
    search_files(&server, &config, started, b"canary-5b1e77");
}

#[test]
fn the_command_line_hands_secrets_out_and_lists_their_names() {
    let place = Command::new();
    let skills = SkillFolder::new();
    let source = "import hashlib, os, sys\ndef main(args):\n    key = os.environ['ALPHA_KEY']\n    \
        print(key[:7], end='', flush=True)\n    print(key[7:])\n    \
        return hashlib.sha256(key.encode()).hexdigest()\n";
    permitted(&skills, "acme.keys", "secrets = [\"ALPHA_KEY\"]", source);
    let exec = ["--skills", skills.path(), "exec", "acme.keys"];
    let missing = place.run(&exec).with(2);
    assert!(missing.stderr.contains("the server has no secret `ALPHA_KEY`"), "{}", missing.stderr);
    let checked = place.run(&["skills", "check", skills.at("acme.keys").to_str().unwrap()]).with(0);
    assert!(checked.stderr.contains("does not list ALPHA_KEY"), "{}", checked.stderr);
    let path = skills.at("acme.keys");
    let json = place.run(&["skills", "check", path.to_str().unwrap(), "--json"]).with(0).json();
    assert_eq!(json[0]["secrets_missing"], json!(["ALPHA_KEY"]));

    let place = place.set("WARDIAN_SECRET_ALPHA_KEY", ALPHA).set("WARDIAN_SECRET_PIN", "1234");
    let ran = place.run(&exec).with(0);
    assert!(ran.stdout.starts_with(&"*".repeat(ALPHA.len())), "{}", ran.stdout);
    assert!(ran.stdout.contains(&fingerprint(ALPHA)), "{}", ran.stdout);
    let json = place.run(&["skills", "check", path.to_str().unwrap(), "--json"]).with(0).json();
    assert_eq!(json[0].get("secrets_missing"), None);
    let hosts = "secrets.hosts=ALPHA_KEY=https://api.acme.com";
    let listed = place.run(&["--set", hosts, "secrets", "list"]).with(0);
    assert!(listed.stdout.contains("ALPHA_KEY") && listed.stdout.contains("https://api.acme.com"));
    assert!(listed.stderr.contains("`PIN` has less than 6 bytes"), "{}", listed.stderr);
    let listed = place.run(&["--set", hosts, "secrets", "list", "--json"]).with(0).json();
    let alpha = json!({
        "name": "ALPHA_KEY", "provider": "environment", "hosts": ["https://api.acme.com"],
        "masked": true, "fault": null,
    });
    assert_eq!(listed["secrets"][0], alpha);
    let file = place.file("open.toml", format!("A_KEY = \"{BETA}\"\n"));
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let setting = format!("secrets.file={}", file.display());
    let listed = place.run(&["--set", &setting, "secrets", "list"]).with(3);
    assert!(listed.stderr.contains("its mode is 0644 and must be 0600"), "{}", listed.stderr);
    let odd = place.set("WARDIAN_SECRET_LD_PRELOAD", BETA).run(&["secrets", "list"]).with(0);
    let told = "`WARDIAN_SECRET_LD_PRELOAD` is not a setting and has no effect";
    assert!(odd.stderr.contains(told) && !odd.stderr.contains(BETA), "{}", odd.stderr);
}

#[test]
fn manifests_that_ask_for_too_much_are_not_served() {
    let skills = SkillFolder::new();
    for (at, permissions) in [
        "secrets = [\"*\"]",
        "secrets = [\"LD_PRELOAD\"]",
        "secrets = [\"PATH\"]",
        "secrets = [\"WARDIAN_DATA_DIR\"]",
        "secret_hosts = { PYTHONPATH = [\"https://api.acme.com\"] }",
        "secret_hosts = { ACME_KEY = [\"https://*\"] }",
        "secret_hosts = { ACME_KEY = [\"https://10.0.0.1\"] }",
        "secret_hosts = { ACME_KEY = [] }",
        "secret_hosts = { ACME_KEY = \"https://api.acme.com\" }",
        "secret_hosts = [\"ACME_KEY\"]",
    ]
    .into_iter()
    .enumerate()
    {
        permitted(&skills, &format!("acme.bad{at}"), permissions, "def main(args): ...\n");
    }
    permitted(&skills, "acme.good", "secrets = [\"ACME_KEY\"]", "def main(args): ...\n");
    let place = Command::new();
    let listed = place.run(&["--skills", skills.path(), "skills", "list", "--json"]).with(0).json();
    let names: Vec<_> =
        listed["skills"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
    let ours: Vec<_> =
        names.into_iter().filter(|name| name.as_str().unwrap().starts_with("acme")).collect();
    assert_eq!(ours, ["acme.good"]);
}
