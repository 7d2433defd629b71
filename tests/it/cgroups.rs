//! Cgroups of workers, through the real program, in a cgroup that the test makes for the server.
//!
//! Only root can make one everywhere, and a system may have its controllers in version 1. What
//! cannot be tested on a machine is printed, and the refusal is tested in its place.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::support::{Command, TestServer, Watched, eventually, output};

const PATIENCE: Duration = Duration::from_secs(120);

/// A cgroup for one server, removed at the end.
struct Ground {
    folder: PathBuf,
    /// Holds the data folders of servers.
    place: Command,
}

impl Ground {
    /// Makes the cgroup right below the root of all.
    fn new() -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut folders = mounts.lines().filter_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[2] == "cgroup2").then(|| fields[1])
        });
        let top = Path::new(folders.next().ok_or("there are no cgroups of version 2")?);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = top.join(format!("wardian-it-{}-{number}", std::process::id()));
        fs::create_dir(&folder).map_err(|fault| format!("no cgroup can be made: {fault}"))?;
        Ok(Self { folder, place: Command::new() })
    }

    /// As [`new`](Self::new), with all controllers.
    fn with_controllers() -> Result<Self, String> {
        let ground = Self::new()?;
        let there = ground.read("cgroup.controllers");
        let there: Vec<&str> = there.split(' ').collect();
        match ["memory", "pids", "cpu"].iter().find(|one| !there.contains(one)) {
            Some(missing) => Err(format!("version 2 has no controller `{missing}` here")),
            None => Ok(ground),
        }
    }

    fn start(&self, arguments: &[&str]) -> TestServer {
        self.start_in(&self.folder, arguments)
    }

    fn start_in(&self, cgroup: &Path, arguments: &[&str]) -> TestServer {
        let data = self.place.folder().join("data");
        let usual = ["--set", "workers.fork=true", "--set", "images.on_need=false"];
        TestServer::start_within(cgroup, &data, &[&usual, arguments].concat())
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).unwrap().trim().to_owned()
    }

    fn children(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(&self.folder).unwrap().map(Result::unwrap);
        let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    fn of_kind(&self, kind: &str) -> BTreeSet<String> {
        self.children().into_iter().filter(|name| name.starts_with(kind)).collect()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        for child in self.children() {
            fs::write(self.folder.join(&child).join("cgroup.kill"), "1").ok();
            eventually(PATIENCE, || fs::remove_dir(self.folder.join(&child)).ok());
        }
        eventually(PATIENCE, || fs::remove_dir(&self.folder).ok());
    }
}

/// The name of the cgroup that a process is in.
fn cgroup_of(process: &Watched) -> String {
    let text = fs::read_to_string(format!("/proc/{}/cgroup", process.id)).unwrap();
    let path = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap();
    path.rsplit_once('/').unwrap().1.to_owned()
}

fn open_files(process: &Watched) -> usize {
    fs::read_dir(format!("/proc/{}/fd", process.id)).unwrap().count()
}

#[test]
fn where_no_cgroups_can_be_had_the_server_says_so_once_and_serves() {
    // The test itself is in its cgroup.
    let server = TestServer::start(&[]);
    let log = server.log();
    assert_eq!(log.matches("workers have no cgroups").count(), 1, "{log}");
    assert!(log.contains("`Delegate=memory pids cpu`"), "{log}");
    assert_eq!(output(&server.client().run("1 + 1"))["result"], 2);
    let server = TestServer::start(&["--set", "workers.cgroups=off"]);
    assert!(!server.log().contains("cgroup"), "{}", server.log());
}

#[test]
fn cgroups_that_are_required_and_cannot_be_had_stop_the_start() {
    let place = Command::new();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--set", "workers.cgroups=require"];
    let ended = place.run(&serve).with(2);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("`workers.cgroups` is \"require\""), "{}", ended.stderr);
    assert!(ended.stderr.contains("`Delegate=memory pids cpu`"), "{}", ended.stderr);
    assert!(!place.folder().join("data").try_exists().unwrap(), "something was changed");
    let ended = place.run(&["serve", "--set", "workers.cgroups=yes"]).with(2);
    let says = "`workers.cgroups` on the command line must be \"auto\", \"require\" or \"off\"";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
}

#[test]
fn the_doctor_says_whether_workers_get_cgroups_and_what_to_do() {
    let place = Command::new();
    for (setting, state, code) in
        [("auto", "degraded", 0), ("require", "bad", 3), ("off", "good", 0)]
    {
        let setting = format!("workers.cgroups={setting}");
        let told = place.run(&["doctor", "--json", "--set", &setting]).with(code).json();
        let all = told.as_array().unwrap();
        let found = all.iter().find(|one| one["what"] == "cgroups").unwrap();
        assert_eq!(found["state"], state, "{found}");
        if state != "good" {
            assert!(
                found["says"].as_str().unwrap().contains("gives its workers no cgroups"),
                "{found}"
            );
            assert!(found["advice"].as_str().unwrap().contains("Delegate="), "{found}");
        }
    }
}

#[test]
fn a_cgroup_without_controllers_is_left_as_it_is() {
    let ground = match Ground::new() {
        Ok(ground) => ground,
        Err(why) => return println!("NOT TESTED: {why}"),
    };
    let there = ground.read("cgroup.controllers");
    if ["memory", "pids", "cpu"].iter().any(|one| there.split(' ').any(|found| found == *one)) {
        return println!("NOT TESTED: version 2 has the controllers {there}");
    }
    let server = ground.start(&[]);
    server.wait_for_log("has none of the controllers memory, pids and cpu");
    assert_eq!(output(&server.client().run("1 + 1"))["result"], 2);
    assert_eq!(ground.children(), BTreeSet::new());
    assert!(ground.read("cgroup.procs").lines().any(|id| id == server.process().id.to_string()));
}

#[test]
fn each_worker_has_a_cgroup_of_its_own_that_goes_with_it() {
    let ground = match Ground::with_controllers() {
        Ok(ground) => ground,
        Err(why) => return println!("NOT TESTED: {why}"),
    };
    let server = ground.start(&["--set", "workers.count=2", "--set", "workers.cgroups=require"]);
    let line = server.wait_for_log("each worker has its own cgroup");
    assert!(line.contains("memory, pids, cpu"), "{line}");
    assert_eq!(cgroup_of(server.process()), "gateway");
    assert_eq!(ground.read("cgroup.procs"), "");
    let client = server.client();
    assert_eq!(output(&client.run("1 + 1"))["result"], 2);
    let all: Vec<String> = server.workers().iter().map(cgroup_of).collect();
    let names: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!((all.len(), names.len()), (4, 4), "{all:?}");
    let mut expected = names.clone();
    expected.extend(["gateway", "wardian-background"].map(str::to_owned));
    assert_eq!(ground.children(), expected);
    assert_eq!(
        (ground.of_kind("wardian-worker-").len(), ground.of_kind("wardian-template-").len()),
        (3, 1)
    );
    for name in &names {
        let read = |file: &str| ground.read(&format!("{name}/{file}"));
        assert_eq!(read("memory.max").parse::<u64>().unwrap() >> 20, 3_194);
        assert_eq!((read("memory.oom.group"), read("pids.max")), ("1".into(), "16".into()));
        assert_eq!(read("cpu.weight"), "100");
    }
    // A lost worker takes its cgroup along, and nothing grows.
    let lose = || {
        let before = ground.of_kind("wardian-worker-");
        let lost = server.workers().into_iter().find(|one| before.contains(&cgroup_of(one)));
        let lost = lost.unwrap();
        let name = cgroup_of(&lost);
        lost.kill();
        eventually(PATIENCE, || {
            let now = ground.of_kind("wardian-worker-");
            (now.len() == 3 && !now.contains(&name)).then_some(())
        });
        assert_eq!(output(&client.run("1 + 1"))["result"], 2);
    };
    lose();
    let before = open_files(server.process());
    (0..6).for_each(|_| lose());
    let after = open_files(server.process());
    assert!(after <= before + 2, "open files: {before}, then {after}");
    drop(server);
    assert_eq!(ground.children(), BTreeSet::new());
}

#[test]
fn a_worker_that_takes_more_than_its_cgroup_may_ends_as_memory_limit() {
    let ground = match Ground::with_controllers() {
        Ok(ground) => ground,
        Err(why) => return println!("NOT TESTED: {why}"),
    };
    let server = ground.start(&["--set", "workers.spares=0", "--set", "workers.count=1"]);
    let client = server.client();
    assert_eq!(output(&client.run("1 + 1"))["result"], 2);
    let worker = ground.of_kind("wardian-worker-").pop_first().unwrap();
    let taken: u64 = ground.read(&format!("{worker}/memory.current")).parse().unwrap();
    let limit = taken + (24 << 20);
    fs::write(ground.folder.join(&worker).join("memory.max"), limit.to_string()).unwrap();
    let fill = |size: u64| {
        let code = format!("def main(args):\n    return len(bytearray({size}))");
        client.run_with(&code, json!({"limits": {"timeout_ms": 280_000}}))
    };
    // A run that stays below it is as before.
    assert_eq!(output(&fill(1 << 20))["result"], 1 << 20);
    let result = fill(64 << 20);
    assert_eq!(result["error"]["type"], "MemoryLimit", "{result}");
    server.wait_for_log("because memory was short");
    // The next worker has the usual limit.
    assert_eq!(output(&fill(64 << 20))["result"], 64 << 20);
    assert!(!ground.of_kind("wardian-worker-").contains(&worker));
}

#[test]
fn what_a_killed_server_leaves_is_removed_by_the_next_one() {
    let ground = match Ground::with_controllers() {
        Ok(ground) => ground,
        Err(why) => return println!("NOT TESTED: {why}"),
    };
    let two = ["--set", "workers.count=2"];
    let server = ground.start(&two);
    assert_eq!(output(&server.client().run("1 + 1"))["result"], 2);
    let left = ground.of_kind("wardian-worker-");
    server.process().kill();
    server.wait();
    assert_eq!(ground.of_kind("wardian-worker-"), left, "somebody else has removed them");
    // As systemd does with `DelegateSubgroup=gateway`.
    let server = ground.start_in(&ground.folder.join("gateway"), &two);
    assert_eq!(output(&server.client().run("1 + 1"))["result"], 2);
    assert_eq!(ground.of_kind("wardian-worker-").len(), 3);
    assert_eq!(cgroup_of(server.process()), "gateway");
    drop(server);
    assert_eq!(ground.children(), BTreeSet::from(["gateway".to_owned()]));
}
