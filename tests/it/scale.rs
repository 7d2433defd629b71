//! Thousands of skills and blobs: changes appear quickly, and calls do not wait.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use data_encoding::BASE32_NOPAD;
use serde_json::{Value, json};

use crate::support::{Client, SkillFolder, TestServer, Watched, eventually};

/// A change shows in less than a second; five times that on a machine that does many other things.
const SHOWN: Duration = Duration::from_secs(5);

fn mass(count: usize) -> SkillFolder {
    let folder = SkillFolder::new();
    for number in 0..count {
        folder.instruction(&name(number), "1.0.0");
    }
    folder
}

fn name(number: usize) -> String {
    format!("mass.group{}.skill{number}", number % 50)
}

/// How many skills a list has, page by page.
fn listed(client: &Client, namespace: &str) -> usize {
    let (mut count, mut params) = (0, json!({"namespace": namespace, "limit": 500}));
    loop {
        let page = client.call("list_skills", params.clone()).unwrap();
        count += page["skills"].as_array().unwrap().len();
        match &page["next_cursor"] {
            Value::Null => return count,
            cursor => params["cursor"] = cursor.clone(),
        }
    }
}

fn version(client: &Client, name: &str) -> Option<String> {
    let found = client.call("describe_skill", json!({"name": name})).ok()?;
    found["skill"]["manifest"]["version"].as_str().map(str::to_owned)
}

struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Processor time of the gateway, in ticks of ten milliseconds.
fn ticks(process: &Watched) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id)).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[test]
fn thousands_of_skills_are_served_followed_and_cost_nothing_while_idle() {
    let skills = mass(3_000);
    let server = TestServer::start(&["--skills", skills.path(), "--workers", "1"]);
    let client = server.client();
    assert_eq!(listed(&client, "mass"), 3_000);
    assert_eq!(listed(&client, "mass.group7"), 60);

    // Not a line for each.
    let log = server.log();
    assert!(log.lines().filter(|line| line.contains("serving `")).count() <= 20, "{log}");
    assert!(log.contains(" more skills"), "{log}");

    // A change right after the start, a new skill and one that goes.
    skills.instruction(&name(2_999), "1.1.0").instruction("mass.new.one", "1.0.0");
    skills.remove(&name(0));
    eventually(SHOWN, || {
        let changed = version(&client, &name(2_999))? == "1.1.0";
        let is_gone = version(&client, &name(0)).is_none();
        (changed && is_gone && version(&client, "mass.new.one").is_some()).then_some(())
    });

    // An unknown name still says what may be meant.
    let unknown = format!("{}x", name(1_234));
    let refused = client.call("describe_skill", json!({"name": unknown})).unwrap_err();
    assert!(format!("{refused:?}").contains(&name(1_234)), "{refused:?}");

    // Folders that changed just before they were read are read once more, then there is silence.
    eventually(Duration::from_secs(60), || {
        let before = ticks(server.process());
        thread::park_timeout(Duration::from_secs(2));
        (ticks(server.process()) - before <= 10).then_some(())
    });
}

#[test]
fn calls_are_answered_while_thousands_of_skills_change() {
    let skills = mass(1_000);
    let server = TestServer::start(&["--skills", skills.path(), "--workers", "1"]);
    let client = server.client();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (skills, is_done) = (&skills, &is_done);
        // Also if an assertion fails: the scope waits for its thread.
        let _ended = SetOnDrop(is_done);
        scope.spawn(move || {
            let turns = (1..).take_while(|_| !is_done.load(Ordering::Relaxed));
            for turn in turns {
                let number = turn % 999;
                let description = format!("# {turn}\n");
                let path = format!("{}/res/{}.md", name(number), turn % 3);
                skills.file(&path, description);
            }
        });
        // Every call is answered from an index that is whole.
        let started = Instant::now();
        let mut answers = 0;
        while started.elapsed() < Duration::from_secs(4) || answers < 20 {
            assert_eq!(listed(&client, "mass"), 1_000);
            answers += 1;
        }
        // One change among the others is not lost among them.
        skills.instruction(&name(999), "1.1.0");
        eventually(SHOWN * 4, || (version(&client, &name(999))? == "1.1.0").then_some(()));
    });
}

#[test]
fn folders_beyond_the_bound_are_left_out_with_a_warning() {
    let skills = mass(150);
    let arguments =
        ["--skills", skills.path(), "--set", "skills.max_folders=100", "--workers", "1"];
    let server = TestServer::start(&arguments);
    let client = server.client();
    assert_eq!(listed(&client, "mass"), 100);
    server.wait_for_log("root 1 has more than 100 folders: at least 50 are left out");
    // Known ones keep their place; room that is made is taken.
    skills.instruction("a.first", "1.0.0");
    let served = client.call("list_skills", json!({"namespace": "mass", "limit": 1})).unwrap();
    let first = served["skills"][0]["name"].as_str().unwrap().to_owned();
    skills.remove(&first);
    eventually(SHOWN * 2, || version(&client, "a.first"));
    assert_eq!(listed(&client, "mass"), 99);
}

#[test]
fn without_watches_changes_show_all_the_same() {
    let skills = mass(20);
    let arguments = ["--skills", skills.path(), "--set", "skills.max_watches=5", "--workers", "1"];
    let server = TestServer::start(&arguments);
    let client = server.client();
    server.wait_for_log("are noticed late");
    skills.instruction(&name(19), "1.1.0").instruction("mass.new", "1.0.0");
    eventually(SHOWN * 4, || {
        let changed = version(&client, &name(19))? == "1.1.0";
        (changed && version(&client, "mass.new").is_some()).then_some(())
    });
}

/// Files that are blobs by their name and size.
fn store_blobs(data: &Path, count: u32, size: usize) {
    let folder = data.join("blobs/tenants/local");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..count {
        let digest: Vec<u8> = number.to_le_bytes().repeat(8);
        let letters = BASE32_NOPAD.encode(&digest).to_ascii_lowercase();
        fs::write(folder.join(letters), vec![0; size]).unwrap();
    }
}

#[test]
fn a_start_with_thousands_of_blobs_keeps_the_quota() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // 5.2 MiB of content: a trailer takes 192 bytes of each file.
    store_blobs(&data, 3_000, 2_000);
    let create = |client: &Client, kilobytes: usize| {
        let content = "x".repeat(kilobytes << 10);
        client.call("create_blob", json!({"content": content, "kind": "text/plain"}))
    };
    {
        let set = ["--set", "blobs.quota=3000 KiB", "--set", "blobs.max_size=1 MiB"];
        let server = TestServer::start_on(&data, &set);
        let refused = create(&server.client(), 1).unwrap_err();
        assert!(format!("{refused:?}").contains("quota"), "{refused:?}");
    }
    // Room for one blob of 512 KiB, not for a second: what was there counts as what came.
    let set = ["--set", "blobs.quota=5900 KiB", "--set", "blobs.max_size=1 MiB"];
    let server = TestServer::start_on(&data, &set);
    let client = server.client();
    assert!(create(&client, 512).is_ok());
    let refused = create(&client, 513).unwrap_err();
    assert!(format!("{refused:?}").contains("quota"), "{refused:?}");
}
