//! Runs that record what they exchange with the network, and their repetitions without one.

use std::fs;

use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::network::{Authority, Site, granted, through_proxy};
use crate::packages::batteries;
use crate::support::{Command, Ended, SkillFolder, contained};

/// Commands with engines of their own are slow on a busy machine.
const PATIENT: [&str; 2] = ["--timeout-ms", "300000"];

const RECORDED: [&str; 4] = ["--reproducible", "--record", "run.json", "--record-network"];

fn said(ended: &Ended, expected: &[&str]) {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    let missing = contained(&all, expected.iter().copied());
    assert!(missing.is_empty(), "{missing:?} in {all}");
}

fn read(place: &Command, file: &str) -> Value {
    serde_json::from_slice(&fs::read(place.folder().join(file)).unwrap()).unwrap()
}

/// The setting that grants code the site.
fn code_may_reach(site: &str) -> String {
    format!("network.code={site}")
}

/// Records a run of `source` that may reach `site`.
fn record(place: &Command, site: &str, source: &str, args: &Value) -> Ended {
    place.file("main.py", source);
    let (granted, args) = (code_may_reach(site), args.to_string());
    let run = ["run", "main.py", "--set", &granted, "--args", &args];
    place.run(&[&run[..], &through_proxy(), &RECORDED, &PATIENT].concat())
}

/// The exchanges of the network record of `run.json`.
fn exchanges(place: &Command) -> Vec<Value> {
    let events = read(place, "run.json.network")["events"].as_array().unwrap().clone();
    events.iter().filter_map(|event| event.get("exchange").cloned()).collect()
}

/// Libraries of each kind: blocking, with a pool, asynchronous, and the package of the runtime.
const LIBRARIES: &str = r#"
import asyncio, http.client, json, random, time, urllib.request
from urllib.parse import urlsplit
import httpx, requests
from runtime import http as simple

def main(args):
    url = args["url"]
    began = time.time()
    with urllib.request.urlopen(url + "/hello", timeout=5) as answer:
        print("urllib", answer.read(), answer.headers["Content-Type"])
    link = http.client.HTTPConnection("site.test", urlsplit(url).port)
    for _ in range(2):
        link.request("GET", "/bytes/300000")
        print("http.client", len(link.getresponse().read()))
    link.request("HEAD", "/hello")
    print("HEAD", link.getresponse().getheader("Content-Length"))
    with requests.Session() as session:
        print("requests", session.get(url + "/redirect?to=/hello", timeout=3).text)
        print(session.post(url + "/echo?a=1", json={"x": random.random()}).json()["body"])
        print(session.get(url + "/none").status_code)
    print("runtime", simple.get(url + "/hello").text)

    async def fetch(client, number):
        await asyncio.sleep(random.random())
        answer = await client.get(f"{url}/slow/{300 - 60 * number}")
        print("httpx", number, answer.text, round(time.time() - began, 6))
        return number

    async def several():
        async with httpx.AsyncClient(timeout=0.2) as client:
            return await asyncio.gather(*(fetch(client, number) for number in range(4)))

    print(asyncio.run(several()))
    return {"took": time.time() - began}
"#;

#[test]
fn a_run_with_a_recorded_network_repeats_without_one() {
    batteries();
    let (place, site) = (Command::new(), Site::start());
    let args = json!({"url": site.url("")});
    let ended = record(&place, &site.url(""), LIBRARIES, &args).with(0);
    said(&ended, &["urllib b'hello' text/plain", "http.client 300000", "HEAD 5", "requests hello"]);
    said(&ended, &["runtime hello", "404", "httpx 3 late", "recorded as run.json.network"]);
    let (first, sent) = (read(&place, "run.json"), site.requests().len());
    assert_eq!(sent, exchanges(&place).len(), "{:?}", site.requests());
    // Without the proxy, without the rule, and without the server.
    for _ in 0..2 {
        assert_eq!(place.run(&["verify", "run.json"]).with(0).stdout, "identical\n");
    }
    assert_eq!(site.requests().len(), sent, "a repetition reaches no server");
    // The answers come at other times, and the run is the same.
    record(&place, &site.url(""), LIBRARIES, &args).with(0);
    assert_eq!(read(&place, "run.json"), first);
    assert_eq!(site.requests().len(), 2 * sent);
    // From a bundle alone.
    place.run(&["bundle", "run.json", "-o", "run.tar"]).with(0);
    fs::remove_file(place.folder().join("run.json.network")).unwrap();
    assert_eq!(place.run(&["verify", "run.tar"]).with(0).stdout, "identical\n");
    let ended = place.run(&["verify", "run.json"]).with(2);
    said(&ended, &["the blob `blob:", "application/vnd.wardian.network+json", "`--blobs`"]);
}

#[test]
fn a_skill_records_its_hosts_with_tls_and_without_what_proves_who_asks() {
    let (place, authority, skills) = (Command::new(), Authority::new(), SkillFolder::new());
    let site = Site::encrypted(&authority);
    let source = r#"
import urllib.request

def main(args):
    headers = {"Authorization": "Bearer hunter2-hunter2"}
    request = urllib.request.Request(args["url"] + "/hello", headers=headers)
    answers = [urllib.request.urlopen(request).read().decode()]
    for url in [args["url"].replace("site.test", "other.test"), "https://example.invalid/"]:
        try:
            urllib.request.urlopen(url)
        except OSError as error:
            answers.append(str(error))
    return answers
"#;
    granted(&skills, "acme.caller", &[site.secure_url("")], source);
    let file = format!("network.ca_file={}", authority.path());
    let args = json!({"url": site.secure_url("")}).to_string();
    let exec = ["exec", "acme.caller", "--skills", skills.path(), "--set", &file, "--args", &args];
    let ended = place.run(&[&exec[..], &through_proxy(), &RECORDED, &PATIENT].concat()).with(0);
    said(&ended, &["hello", "network = ["]);
    let text = fs::read_to_string(place.folder().join("run.json.network")).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    drop(site);
    let verify = ["verify", "run.json", "--skills", skills.path()];
    assert_eq!(place.run(&verify).with(0).stdout, "identical\n");
}

#[test]
fn a_failure_of_the_network_repeats_and_a_stream_without_an_end_is_refused() {
    let (place, site) = (Command::new(), Site::start());
    let source = r#"
import socket, urllib.request

def main(args):
    answers = []
    for url in args["urls"]:
        try:
            answers.append(urllib.request.urlopen(url, timeout=60).read().decode())
        except OSError as error:
            answers.append(f"{type(error).__name__}: {error}")
    link = socket.create_connection(("site.test", args["port"]), timeout=7)
    try:
        answers.append(str(link.recv(10)))
    except OSError as error:
        answers.append(f"{type(error).__name__}: {error}")
    return answers
"#;
    let (url, port) = (site.url(""), site.port());
    let urls = [format!("{url}/hello"), "http://site.test:1/".to_owned()];
    let ended = record(&place, &url, source, &json!({"urls": urls, "port": port})).with(0);
    said(&ended, &["hello", "nothing grants", "TimeoutError"]);
    assert_eq!(place.run(&["verify", "run.json"]).with(0).stdout, "identical\n");
}

#[test]
fn records_that_were_changed_or_lack_a_request_are_refused_or_differ() {
    let (place, site) = (Command::new(), Site::start());
    let source = "import urllib.request\ndef main(args):\n    \
        return [urllib.request.urlopen(args['url'] + p).read().decode() for p in ('/hello', '/x')]\n";
    let source = source.replace("'/x'", "'/echo?b=2'");
    record(&place, &site.url(""), &source, &json!({"url": site.url("")})).with(0);
    let good = fs::read_to_string(place.folder().join("run.json.network")).unwrap();
    let record_text = fs::read_to_string(place.folder().join("run.json")).unwrap();
    // The record names another content.
    place.file("run.json.network", good.replace("hello", "hullo"));
    said(&place.run(&["verify", "run.json"]).with(2), &["the blob `blob:", "is in none"]);
    // A record and a network record that fit each other, made by somebody else.
    let verify = |network: &str| {
        let mut record: Value = serde_json::from_str(&record_text).unwrap();
        record["inputs"]["network"]["id"] = json!(id_of(network));
        record["inputs"]["network"]["size_bytes"] = json!(network.len());
        place.file("run.json", record.to_string());
        place.file("run.json.network", network);
        place.run(&["verify", "run.json"])
    };
    assert_eq!(verify(&good).with(0).stdout, "identical\n");
    let ended = verify(&good.replace("{\"text\":\"hello\"}", "{\"text\":\"hullo\"}")).with(1);
    said(&ended, &["different\n", "hullo"]);
    let mut document: Value = serde_json::from_str(&good).unwrap();
    let events = document["events"].as_array_mut().unwrap();
    let last = events.pop().unwrap();
    let lacking = document.to_string();
    let url = last["exchange"]["request"]["url"].as_str().unwrap_or("the connection").to_owned();
    let ended = verify(&lacking).with(1);
    said(
        &ended,
        &["different\n", "network: ", "was not recorded; at this point the record has nothing"],
    );
    said(&ended, &[&url]);
    let mut more: Value = serde_json::from_str(&good).unwrap();
    more["events"].as_array_mut().unwrap().push(last);
    said(&verify(&more.to_string()).with(1), &["was recorded, but not requested"]);
    let mut swapped: Value = serde_json::from_str(&good).unwrap();
    swapped["events"].as_array_mut().unwrap().reverse();
    said(&verify(&swapped.to_string()).with(1), &["was not recorded"]);
    for (bad, told) in [
        (good.replace("\"format_version\":1", "\"format_version\":2"), "another format"),
        (good.replace("\"granted\":true", "\"granted\": true"), "canonical form"),
        (good.replace("\"status\":200", "\"status\":101"), "a status is out of its bounds"),
        ("[]".to_owned(), "network record"),
    ] {
        let ended = verify(&bad).with(2);
        said(&ended, &[told]);
        assert_eq!(ended.stdout, "");
    }
}

/// The id of a network record.
fn id_of(text: &str) -> String {
    let kind = "application/vnd.wardian.network+json";
    let length = [u8::try_from(kind.len()).unwrap()];
    let bytes = [b"wardian blob 1\0", &length[..], kind.as_bytes(), text.as_bytes()].concat();
    format!("blob:{}", BASE32_NOPAD.encode(&Sha256::digest(bytes)).to_lowercase())
}

#[test]
fn a_network_is_recorded_with_a_record_only() {
    let place = Command::new();
    let run = ["run", "-c", "1", "--reproducible", "--record-network"];
    said(&place.run(&run).with(2), &["--record <FILE>"]);
    // Without a grant the record says so, and the run repeats.
    let code = "import urllib.request\ntry:\n    urllib.request.urlopen('https://a.example/')\n\
        except OSError as error:\n    print(error)";
    let run = ["run", "-c", code];
    let ended = place.run(&[&run[..], &RECORDED, &PATIENT].concat()).with(0);
    said(&ended, &["there is no network in the sandbox"]);
    let granted = ["verify", "run.json", "--set", "network.code=https://a.example"];
    assert_eq!(place.run(&granted).with(0).stdout, "identical\n");
}
