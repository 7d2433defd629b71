//! Tenants with workers of their own, through the real program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::support::{Client, Command, TestServer, eventually, output};

/// A server with keys, and a client of each of its tenants.
struct Hosted {
    server: TestServer,
    clients: Vec<Client>,
    /// Holds the data folder.
    _place: Command,
}

fn hosted(tenants: usize, settings: &[&str]) -> Hosted {
    let place = Command::new();
    let data = place.folder().join("data").to_str().unwrap().to_owned();
    let keys: Vec<String> = (0..tenants)
        .map(|number| {
            let tenant = format!("tenant-{number}");
            let create =
                ["--data-dir", &data, "keys", "create", "--name", "ci", "--tenant", &tenant];
            place.run(&create).with(0).stdout.trim_end().to_owned()
        })
        .collect();
    let usual = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let settings: Vec<String> =
        settings.iter().flat_map(|setting| ["--set".to_owned(), (*setting).to_owned()]).collect();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = TestServer::start_on(Path::new(&data), &[&usual, settings.as_slice()].concat());
    let clients = keys.iter().map(|key| server.client().with_key(key)).collect();
    Hosted { server, clients, _place: place }
}

/// The value of a field in a line of the log.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let value = line.split_once(&format!(" {name}="))?.1;
    value.split_whitespace().next()
}

#[test]
fn no_process_serves_two_tenants_over_many_changes_with_crashes_and_timeouts() {
    const TENANTS: usize = 5;
    let Hosted { server, clients, _place } =
        hosted(TENANTS, &["workers.count=2", "workers.spares=1"]);
    thread::scope(|scope| {
        for (number, client) in clients.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..16 {
                    let (code, limits) = match (round + number) % 4 {
                        0 => ("while True:\n    pass\n", json!({"limits": {"timeout_ms": 30}})),
                        1 => ("import time\ntime.sleep(0.03)\n1", json!({})),
                        _ => ("sum(range(1000))", json!({})),
                    };
                    let result = client.run_with(code, limits);
                    assert!(result["run_id"].is_string(), "{result}");
                }
            });
        }
        // Some workers are lost in the middle of their runs.
        for _ in 0..6 {
            thread::park_timeout(Duration::from_millis(150));
            let template = template_of(&server);
            let workers = server.workers();
            let worker = workers.iter().find(|worker| Some(worker.id) != template);
            if let Some(worker) = worker {
                worker.kill();
            }
        }
    });
    let log = eventually(Duration::from_secs(10), || {
        let log = server.log();
        (log.matches(" ended: ").count() >= TENANTS * 16).then_some(log)
    });
    let mut processes: BTreeMap<&str, &str> = BTreeMap::new();
    let mut served: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in log.lines() {
        let Some(worker) = field(line, "worker.id") else { continue };
        if let Some(process) = field(line, "process") {
            processes.insert(worker, process);
        } else if let Some(tenant) = field(line, "tenant.id") {
            served.entry(processes[worker]).or_default().insert(tenant);
        }
    }
    let runs_of: BTreeSet<&str> = served.values().flatten().copied().collect();
    assert_eq!(runs_of.len(), TENANTS, "{served:?}\n{log}");
    assert!(served.len() > 2 * TENANTS, "tenants did not change:\n{log}");
    for (process, tenants) in &served {
        assert_eq!(tenants.len(), 1, "process {process} has served {tenants:?}");
    }
    assert!(log.contains("workers are forked from a template"), "{log}");
}

/// The process that workers are forked from.
fn template_of(server: &TestServer) -> Option<u32> {
    let is_template = |id: &u32| {
        // A forked worker has the command line of its template, and soon more threads.
        fs::read_dir(format!("/proc/{id}/task")).is_ok_and(|tasks| tasks.count() == 1)
    };
    server.workers().iter().map(|process| process.id).filter(is_template).min()
}

#[test]
fn workers_go_on_without_their_template_and_new_tenants_come_in() {
    let Hosted { server, clients, _place } = hosted(3, &["workers.count=1", "workers.spares=1"]);
    let run = |client: &Client| output(&client.run("1 + 1"))["result"].clone();
    assert_eq!(run(&clients[0]), 2);
    let template = eventually(Duration::from_secs(10), || template_of(&server));
    let before: Vec<_> = server.workers().into_iter().filter(|one| one.id == template).collect();
    before[0].kill();
    for client in clients.iter().chain(&clients) {
        assert_eq!(run(client), 2, "{}", server.log());
    }
    let next = eventually(Duration::from_secs(10), || template_of(&server));
    assert_ne!(next, template);
    assert!(fs::metadata(format!("/proc/{template}")).is_err(), "it is a zombie");
}

/// Everything about a process that its lock-down decides. None if it has ended meanwhile.
fn rights(process: u32) -> Option<Vec<String>> {
    let read = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).ok();
    let status = read("status")?;
    let kept = ["Uid", "Gid", "Groups", "Threads", "Cap", "NoNewPrivs", "Seccomp:", "THP_enabled"];
    let lines = status.lines().filter(|line| kept.iter().any(|name| line.starts_with(name)));
    let mut rights: Vec<String> = lines.map(str::to_owned).collect();
    for name in ["limits", "oom_score_adj", "environ"] {
        rights.push(read(name)?);
    }
    let mut open = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/fd")).ok()? {
        let target = fs::read_link(entry.ok()?.path()).ok()?;
        let own = target.to_string_lossy().replace(&format!("/{process}/"), "/self/");
        open.push(own.split_once(':').map_or(own.as_str(), |(kind, _)| kind).to_owned());
    }
    open.sort();
    rights.extend(open);
    let stat = read("stat")?;
    let numbers: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    rights.push(format!("in a group of its own: {}", numbers[2] == process.to_string()));
    Some(rights)
}

#[test]
fn forked_workers_have_the_rights_of_workers_that_were_started_by_themselves() {
    let of = |fork: &str| {
        let setting = format!("workers.fork={fork}");
        let hosted = hosted(1, &["workers.count=1", "workers.spares=0", &setting]);
        let run = |code: &str| output(&hosted.clients[0].run(code))["result"].clone();
        assert_eq!(run("1 + 1"), 2);
        let template = template_of(&hosted.server);
        assert_eq!(template.is_some(), fork == "true", "{}", hosted.server.log());
        eventually(Duration::from_secs(10), || {
            let workers = hosted.server.workers();
            workers.iter().find(|one| Some(one.id) != template).and_then(|one| rights(one.id))
        })
    };
    assert_eq!(of("true"), of("false"));
}

/// Counts `marker` in the memory of a process that can be written to.
fn copies_in(process: u32, marker: &[u8]) -> usize {
    const STEP: usize = 1 << 20;
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let memory = File::open(format!("/proc/{process}/mem")).unwrap();
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        let (mut at, to) = (number(from), number(to));
        let mut bytes = vec![0; STEP];
        while at < to {
            let length = STEP.min(to - at);
            let read = memory.read_at(&mut bytes[..length], u64::try_from(at).unwrap());
            let read = read.unwrap_or(0);
            let starts = memchr_all(&bytes[..read], marker[0]);
            found += starts.filter(|start| bytes[*start..read].starts_with(marker)).count();
            at += length;
        }
    }
    found
}

fn memchr_all(bytes: &[u8], first: u8) -> impl Iterator<Item = usize> {
    bytes.iter().enumerate().filter(move |(_, byte)| **byte == first).map(|(at, _)| at)
}

/// Needs root, as tests of the lock-down do: nobody else may read the memory of a worker.
#[test]
fn wiped_when_freed_is_everything_that_a_run_leaves_in_its_worker() {
    for isolation in ["process", "shared"] {
        let settings = ["workers.count=1", "workers.spares=0", "images.on_need=false"];
        let isolation_setting = format!("tenants.isolation={isolation}");
        let settings = [&settings[..], &[isolation_setting.as_str()]].concat();
        let Hosted { server, clients, _place } = hosted(1, &settings);
        let marker = |what: &str| format!("{what}-{:08x}-of-a-run", std::process::id());
        let (code, argument, made) = (marker("code"), marker("args"), format!("{:08x}-made", 77));
        let source = format!(
            "import sys\ndef main(args):\n    # {code}\n    made = f'{{77:08x}}' + '-made'\n    \
             print(args['text'] * 50, made)\n    \
             open('/workspace/file', 'w').write(made * 3000 + args['text'])\n    \
             return [made, args['text']] * 100\n"
        );
        let client = &clients[0];
        let worker = || {
            let template = template_of(&server);
            server.workers().into_iter().find(|one| Some(one.id) != template).unwrap().id
        };
        client.run_with(&source, json!({"args": {"text": argument}}));
        client.run("1");
        let worker = worker();
        let marks = [code, argument, made];
        let left = || marks.each_ref().map(|mark| copies_in(worker, mark.as_bytes()));
        // The worker cleans up after it has answered.
        let clean = || (left() == [0; 3]).then_some(());
        let mut attempts = 0;
        while clean().is_none() {
            attempts += 1;
            assert!(attempts < 20, "{isolation}: {:?} copies of {marks:?}", left());
            thread::park_timeout(Duration::from_millis(50));
        }
        // The search finds what is there: a run in progress.
        let (seen, ()) = thread::scope(|scope| {
            let busy = format!("import time\ntime.sleep(3)\n'{}'", marks[0]);
            let running = scope.spawn(move || drop(client.run(&busy)));
            let seen = eventually(Duration::from_secs(3), || {
                (copies_in(worker, marks[0].as_bytes()) > 0).then_some(true)
            });
            (seen, running.join().unwrap())
        });
        assert!(seen);
    }
}

/// The text of the log where the states of sessions are read again, because no worker has kept them.
const RESUMED: &str = "goes on from";

#[test]
fn sessions_of_one_tenant_share_processes_and_those_of_two_never_do() {
    const SESSIONS: usize = 12;
    let settings = ["workers.count=2", "workers.spares=1", "log.level=debug"];
    let Hosted { server, clients, _place } = hosted(2, &settings);
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        for (tenant, client) in clients.iter().enumerate() {
            let first =
                client.run_with(&format!("x = [{number}, {tenant}]"), json!({"session": "new"}));
            assert_eq!(first["session"]["state"], "kept", "{first}");
            sessions.push((client, first["session"]["id"].clone(), json!([number, tenant])));
        }
    }
    let all_go_on = || {
        for (client, id, expected) in &sessions {
            let next = client.run_with("x", json!({"session": id}));
            assert_eq!(output(&next)["result"], *expected);
        }
    };
    all_go_on();
    let log = server.log();
    assert!(!log.contains(RESUMED), "a session was not kept:\n{log}");
    let workers: BTreeSet<&str> = log
        .lines()
        .filter(|line| field(line, "tenant.id").is_some())
        .filter_map(|line| field(line, "worker.id"))
        .collect();
    assert!(workers.len() <= 4, "{} processes for {} sessions", workers.len(), sessions.len());
    for worker in workers {
        let lines = log.lines().filter(|line| field(line, "worker.id") == Some(worker));
        let tenants: BTreeSet<&str> = lines.filter_map(|line| field(line, "tenant.id")).collect();
        assert_eq!(tenants.len(), 1, "worker {worker} has served {tenants:?}");
    }
    // Their end costs each of their sessions the way from its last checkpoint, and nothing else.
    let template = template_of(&server);
    let workers = server.workers();
    for worker in workers.iter().filter(|worker| Some(worker.id) != template) {
        worker.kill();
        assert!(worker.ends_within(Duration::from_secs(10)));
    }
    all_go_on();
    assert!(server.log().contains(RESUMED));
}

/// Runs the cells of a session, each of which adds to a list that nobody else knows.
fn go_on(client: &Client, name: &str, pauses: impl Iterator<Item = f64>) {
    let first = client.run_with("x = []", json!({"session": "new"}));
    let id = &first["session"]["id"];
    let mut expected = Vec::new();
    for pause in pauses {
        let text = format!("{name}.{}", expected.len());
        let code = format!("import time\ntime.sleep({pause})\nx.append('{text}')\nx");
        let next = client.run_with(&code, json!({"session": id}));
        expected.push(text);
        assert_eq!(output(&next)["result"], json!(expected));
    }
}

#[test]
fn sessions_that_go_on_at_once_have_their_own_states() {
    let Hosted { server, clients, _place } = hosted(2, &["workers.count=2", "sessions.warm=9"]);
    thread::scope(|scope| {
        for (tenant, client) in clients.iter().enumerate() {
            for number in 0..6 {
                let pause = move |round: i32| if (round + number) % 3 == 0 { 0.06 } else { 0.0 };
                let name = format!("{tenant}.{number}");
                scope.spawn(move || go_on(client, &name, (0..8).map(pause)));
            }
        }
    });
    assert!(!server.log().contains("lost worker"), "{}", server.log());
}
