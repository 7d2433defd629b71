//! Worker processes: lost ones are replaced, and none outlives the server.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::support::{Client, SkillFolder, TestServer, Watched, eventually, failed, output};

/// Longer than any worker takes to start, with all processors busy.
const SOON: Duration = Duration::from_secs(60);

/// A server with exactly one worker.
fn one_worker() -> TestServer {
    TestServer::start(&["--workers", "1", "--set", "workers.spares=0"])
}

/// The only worker.
fn worker_of(server: &TestServer) -> Watched {
    eventually(SOON, || server.workers().pop())
}

/// A program that says by a blob that it has begun, and then never ends.
const BEGINS: &str = "
from runtime import blobs

def main(args):
    blobs.write_text(args['mark'])
    while True: pass
";

/// Waits until a run has written the blob with this text.
fn wait_for_mark(client: &Client, mark: &str) {
    // A blob's name follows from its content, so another server can tell it.
    let id = TestServer::shared().client().create_text(mark, "text/plain");
    eventually(SOON, || client.call("read_blob", json!({"blob_id": id})).ok());
}

#[test]
fn a_killed_worker_costs_one_run_and_no_more() {
    let server = one_worker();
    let client = server.client();
    for round in 0..3 {
        let mark = format!("a worker is about to be killed, {round}");
        let lost = thread::scope(|scope| {
            let run = scope.spawn(|| client.run_with(BEGINS, json!({"args": {"mark": mark}})));
            wait_for_mark(&client, &mark);
            worker_of(&server).kill();
            run.join().unwrap()
        });
        let (error_type, message) = failed(&lost);
        assert_eq!(error_type, "SandboxCrash");
        assert!(!message.is_empty());
        assert_eq!(lost["output_blobs"].as_array().unwrap().len(), 1, "{lost}");
        assert_eq!(output(&client.run("def main(args): return 7"))["result"], 7);
    }
    assert_eq!(client.get("/readyz").status, 200);
}

#[test]
fn workers_that_are_killed_while_idle_are_replaced() {
    let server = TestServer::start(&["--workers", "2"]);
    let client = server.client();
    for worker in server.workers() {
        worker.kill();
        assert!(worker.ends_within(SOON));
    }
    for _ in 0..4 {
        assert_eq!(output(&client.run("def main(args): return 7"))["result"], 7);
    }
    eventually(SOON, || (client.get("/readyz").status == 200).then_some(()));
}

#[test]
fn an_aborted_interpreter_does_not_reach_the_next_run() {
    let server = one_worker();
    let client = server.client();
    for code in [
        "import posix\nposix.abort()\n",
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()\n",
        "import os\nos._exit(1)\n",
        "x = []\nwhile True: x.append(bytearray(1 << 20))\n",
    ] {
        assert_eq!(client.run(code)["status"], "failed", "{code}");
        let next = "import pandas as pd\ndef main(args): return int(pd.Series([3, 4]).sum())\n";
        assert_eq!(output(&client.run(next))["result"], 7, "after {code}");
    }
}

#[test]
fn a_client_that_goes_away_stops_its_run() {
    let server = one_worker();
    let client = server.client();
    let mark = "a client is about to go";
    let params = json!({"language": "python", "code": BEGINS, "args": {"mark": mark}, "timeout_ms": 300_000});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params}).to_string();
    let mut connection = server.connect();
    connection.send(format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{call}",
        call.len()
    ));
    wait_for_mark(&client, mark);
    drop(connection);
    // There is one worker, so the next run waits until the endless one is gone.
    assert_eq!(output(&client.run("def main(args): return 7"))["result"], 7);
}

/// Sends a call and leaves before its answer.
fn call_and_leave(server: &TestServer, code: &str, mark: &str, leaves: impl FnOnce()) {
    let params =
        json!({"language": "python", "code": code, "args": {"mark": mark}, "timeout_ms": 300_000});
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params}).to_string();
    let mut connection = server.connect();
    connection.send(format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{call}",
        call.len()
    ));
    leaves();
    drop(connection);
}

/// How runs of callers ended, in order, as the log says. Runs of the self-test are no callers'.
fn ends(server: &TestServer) -> Vec<String> {
    let log = server.log();
    let ends = log.lines().filter_map(|line| line.split_once("` ended: "));
    ends.map(|(_, end)| end.split(" run.id").next().unwrap().to_owned()).collect()
}

#[test]
fn a_client_that_goes_away_while_its_program_waits_costs_no_worker() {
    let server = one_worker();
    let client = server.client();
    let worker = worker_of(&server).id;
    for (number, wait) in [
        "time.sleep(200)",
        "select.select([], [], [], 200)",
        "threading.Event().wait(200)",
        "[time.sleep(0.001) for _ in range(10**6)]",
    ]
    .into_iter()
    .enumerate()
    {
        let code = format!(
            "import select, threading, time\nfrom runtime import blobs\n\n\
             def main(args):\n    blobs.write_text(args['mark'])\n    {wait}\n"
        );
        let mark = format!("a client is about to leave a waiting program, {number}");
        call_and_leave(&server, &code, &mark, || wait_for_mark(&client, &mark));
        assert_eq!(output(&client.run("def main(args): return 7"))["result"], 7, "after {wait}");
        assert_eq!(worker_of(&server).id, worker, "{wait} has cost the worker");
        eventually(SOON, || (ends(&server).len() == 2 * (number + 1)).then_some(()));
        assert_eq!(ends(&server)[2 * number..], ["Cancelled", "completed"], "{wait}");
    }
}

/// Programs that a caller may leave: each marks its beginning in the log of the server by what it
/// does, and all bring blobs that have to be sent to the worker.
const LEFT: [&str; 6] = [
    "import time\ndef main(args):\n    time.sleep(5)\n",
    "def main(args):\n    while True: pass\n",
    "def main(args):\n    print('x' * 500_000)\n    return ['y' * 1_000] * 20_000\n",
    "from runtime import blobs\ndef main(args):\n    for n in range(10**6): blobs.write_bytes(bytes([n % 256]) * 200_000)\n",
    "import pathlib\ndef main(args):\n    for n in range(90): pathlib.Path(f'{n}.png').write_bytes(b'x' * 200_000)\n",
    "import pandas as pd\ndef main(args):\n    return int(pd.DataFrame({'a': range(10**6)}).sort_values('a').sum().iloc[0])\n",
];

/// Each call mounts skills and blobs that the worker does not have yet, so that leaving early is
/// leaving while they are sent.
#[test]
fn a_client_that_leaves_at_any_moment_of_a_run_costs_no_worker() {
    let skills = SkillFolder::new();
    skills.action("acme.large", "1.0.0", "def main(args):\n    return 7\n");
    for number in 0..1_500 {
        skills.file(&format!("acme.large/resources/{}{number}.txt", "n".repeat(60)), "x");
    }
    let server = TestServer::start(&[
        "--workers",
        "1",
        "--set",
        "workers.spares=0",
        "--skills",
        skills.path(),
    ]);
    let client = server.client();
    let worker = worker_of(&server).id;
    let mut blobs = Vec::new();
    for number in 0..160 {
        blobs.push(client.create_text(&format!("blob {number}"), "text/plain"));
    }
    let delays = [0, 1, 2, 3, 5, 8, 12, 18, 25, 35, 50, 80, 120, 200, 400];
    let mut at = 0;
    for (number, code) in LEFT.into_iter().enumerate() {
        for milliseconds in delays {
            let mine: Vec<&String> = (0..40).map(|step| &blobs[(at + step) % 160]).collect();
            at += 40;
            if number == 0 {
                // Its worker is busy with its memory while the next call is sent to it.
                client.run("def main(args): return len(b'x' * (300 << 20))\n");
            }
            let params = json!({"language": "python", "code": code, "timeout_ms": 60_000,
                "input_blobs": mine, "mount_skills": ["acme.large"], "args": {"pad": "p".repeat(2_400_000 - number * 400_000)}});
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
            let call = call.to_string();
            let length = call.len();
            let mut connection = server.connect();
            connection.send(format!(
                "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n{call}"
            ));
            thread::park_timeout(Duration::from_millis(milliseconds));
            drop(connection);
            let params = json!({"input_blobs": mine[..3]});
            let next = "import os\ndef main(args): return len(os.listdir('/blobs'))\n";
            let left = format!("{code:.60} was left after {milliseconds} ms");
            assert_eq!(output(&client.run_with(next, params))["result"], 3, "{left}");
            assert_eq!(worker_of(&server).id, worker, "{left}: {}", server.log());
        }
    }
    assert!(!server.log().contains("lost worker"), "{}", server.log());
}

/// Has the kernel refuse the worker more private memory than it has now, less `bytes`.
fn take_memory_from(worker: &Watched, bytes: u64) {
    let most = worker.memory("VmData") - bytes;
    // As the worker's own user: root in a container need not have the right to do so.
    let said = said_of(worker, "status", "Uid:");
    let user: u32 = said.split(' ').next().unwrap().parse().unwrap();
    let said = said_of(worker, "status", "Gid:");
    let group: u32 = said.split(' ').next().unwrap().parse().unwrap();
    let mut command = std::process::Command::new("prlimit");
    command.args([format!("--pid={}", worker.id), format!("--data={most}:{most}")]);
    if rustix::process::geteuid().is_root() {
        command.uid(user).gid(group);
    }
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
}

/// A run makes its memory larger and touches none of it. A paranoid worker has to open that memory
/// again to look at it, which the kernel refuses: so the reset fails as it would for want of
/// memory.
#[test]
fn a_worker_whose_memory_cannot_be_restored_ends_and_no_run_is_lost() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0", "--paranoid"]);
    let client = server.client();
    let code = "
import time
import numpy as np
from runtime import blobs

def main(args):
    held = np.empty(200 << 20, np.uint8)
    blobs.write_text(args['mark'])
    time.sleep(0.5)
    return held.size
";
    for round in 0..4 {
        output(&client.run("def main(args): return 1"));
        let worker = worker_of(&server);
        let mark = format!("a worker is about to lose its memory, {round}");
        let spoiled = thread::scope(|scope| {
            let run = scope.spawn(|| client.run_with(code, json!({"args": {"mark": mark}})));
            wait_for_mark(&client, &mark);
            take_memory_from(&worker, 100 << 20);
            run.join().unwrap()
        });
        assert_eq!(output(&spoiled)["result"], 200 << 20, "it has its answer");
        // At once, so that the worker may have the order already when it finds out; and later.
        thread::park_timeout(Duration::from_millis([0, 0, 5, 100][round]));
        for _ in 0..3 {
            assert_eq!(output(&client.run("def main(args): return 7"))["result"], 7);
        }
        assert!(worker.ends_within(SOON), "it goes on with memory that was not restored");
        assert_ne!(worker_of(&server).id, worker.id);
    }
    assert!(!server.log().contains("SandboxCrash"), "{}", server.log());
}

#[test]
fn every_run_is_one_line_of_the_log_whatever_its_end() {
    let server = TestServer::start(&[
        "--workers",
        "1",
        "--set",
        "workers.spares=0",
        "--set",
        "workers.queue=1",
    ]);
    let client = server.client();
    let mut expected = Vec::new();
    assert_eq!(client.run("def main(args): return 7")["status"], "completed");
    expected.push("completed");
    assert_eq!(client.run("def main(args): 1 / 0")["status"], "failed");
    expected.push("ZeroDivisionError");

    // One runs, one waits, one is refused; then the client of the one that waits leaves, and the
    // worker of the one that runs is killed.
    let mark = "a run that keeps others waiting";
    thread::scope(|scope| {
        let busy = scope.spawn(|| client.run_with(BEGINS, json!({"args": {"mark": mark}})));
        wait_for_mark(&client, mark);
        call_and_leave(&server, "def main(args): return 7", "", || {
            // Long enough to be read and to wait: the queue has room for one.
            thread::park_timeout(Duration::from_secs(1));
            client.call("run_code", json!({"language": "python", "code": "x"})).unwrap_err();
        });
        expected.push("refused: every worker is busy and too many runs are waiting");
        expected.push("Cancelled");
        eventually(SOON, || (ends(&server).len() == expected.len()).then_some(()));
        worker_of(&server).kill();
        assert_eq!(failed(&busy.join().unwrap()).0, "SandboxCrash");
        expected.push("SandboxCrash");
    });
    eventually(SOON, || (ends(&server).len() == expected.len()).then_some(()));
    assert_eq!(ends(&server), expected);

    // The server stops while one runs.
    let mark = "a run that outlasts its server";
    call_and_leave(&server, BEGINS, mark, || {
        wait_for_mark(&client, mark);
        server.process().terminate();
        server.process().terminate();
        server.wait();
    });
    expected.push("Cancelled");
    eventually(SOON, || (ends(&server).len() == expected.len()).then_some(()));
    assert_eq!(ends(&server), expected);
}

#[test]
fn workers_do_not_outlive_a_server_that_is_killed() {
    let server = TestServer::start(&["--workers", "2"]);
    let workers = server.workers();
    assert!(workers.len() >= 2, "{workers:?}");
    server.process().kill();
    assert!(!server.wait().success());
    for worker in workers {
        assert!(worker.ends_within(SOON), "worker {} is left", worker.id);
    }
}

#[test]
fn guests_run_beside_each_other() {
    let server = TestServer::start(&["--workers", "2"]);
    let client = server.client();
    let code = "
import time
from runtime import blobs

def main(args):
    blobs.write_text(args['mine'])
    while True:
        time.sleep(0.01)
";
    let (one, other) = ("one runs beside the other", "the other runs beside the one");
    thread::scope(|scope| {
        for mark in [one, other] {
            let client = &client;
            let params = json!({"args": {"mine": mark}, "timeout_ms": 20_000});
            scope.spawn(move || client.run_with(code, params));
        }
        wait_for_mark(&client, one);
        wait_for_mark(&client, other);
        // Both have begun and none can have ended.
        for worker in server.workers() {
            worker.kill();
        }
    });
}

#[test]
fn many_callers_at_once_get_their_own_answers() {
    let client = TestServer::shared().client();
    thread::scope(|scope| {
        let callers: Vec<_> = (0..8)
            .map(|caller: u64| {
                let client = client.clone();
                scope.spawn(move || {
                    for round in 0..10 {
                        let number = caller * 100 + round;
                        let code = "import random\ndef main(args):\n    return {'n': args['n'], 'r': random.random()}\n";
                        let result = client.run_with(code, json!({"args": {"n": number}}));
                        assert_eq!(output(&result)["n"], number);
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.join().unwrap();
        }
    });
}

/// A field of a file of the process in `/proc`, with single spaces.
fn said_of(worker: &Watched, file: &str, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{}/{file}", worker.id)).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let words: Vec<&str> = line.unwrap_or_else(|| panic!("no {name}")).split_whitespace().collect();
    words.join(" ")
}

fn machine_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
    let kibibytes: u64 = line.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    kibibytes << 10
}

#[test]
fn a_worker_that_runs_guests_has_given_up_everything_else() {
    let server = TestServer::start(&["--workers", "2"]);
    output(&server.client().run("def main(args): return 1"));
    let told = server.client().get("/version").json()["sandbox"]["huge_pages"].clone();
    for worker in server.workers() {
        let has_huge_pages = said_of(&worker, "status", "THP_enabled:");
        assert_eq!((told.as_str(), has_huge_pages.as_str()), (Some("off"), "0"));
        for id in ["Uid:", "Gid:"] {
            let ids = said_of(&worker, "status", id);
            assert!(ids.split(' ').all(|id| id != "0"), "{id} {ids}");
        }
        for (name, expected) in [
            ("Groups:", ""),
            ("CapInh:", "0000000000000000"),
            ("CapPrm:", "0000000000000000"),
            ("CapEff:", "0000000000000000"),
            ("CapAmb:", "0000000000000000"),
            ("NoNewPrivs:", "1"),
            // A filter, and not the mode that would only allow four calls.
            ("Seccomp:", "2"),
        ] {
            assert_eq!(said_of(&worker, "status", name), expected, "{name}");
        }
        for (name, expected) in [
            ("Max core file size", "0 0 bytes"),
            ("Max processes", "0 0 processes"),
            ("Max open files", "896 896 files"),
            ("Max file size", "536870912 536870912 bytes"),
        ] {
            assert_eq!(said_of(&worker, "limits", name), expected, "{name}");
        }
        // No more than half of the machine, or than a worker needs in any case.
        let data = said_of(&worker, "limits", "Max data size");
        let most: u64 = data.split(' ').next().unwrap().parse().unwrap();
        assert!(most <= (machine_memory() / 2).max(14 << 30), "{data}");
        let process = format!("/proc/{}", worker.id);
        for thread in fs::read_dir(format!("{process}/task")).unwrap() {
            let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
            assert!(status.contains("\nSeccomp:\t2\n"), "a thread without a filter: {status}");
        }
        let first_to_go = fs::read_to_string(format!("{process}/oom_score_adj")).unwrap();
        assert_eq!(first_to_go.trim(), "500");
        // The kernel gives to root what belongs to a process that cannot be dumped.
        assert_eq!(fs::metadata(format!("{process}/fd")).unwrap().uid(), 0);
        check_descriptors(&process);
    }
}

/// Checks what is open; only root may look.
fn check_descriptors(process: &str) {
    let opened = match fs::read_dir(format!("{process}/fd")) {
        Err(fault) if fault.kind() == ErrorKind::PermissionDenied => return,
        opened => opened.unwrap(),
    };
    let opened: Vec<String> = opened
        .map(|entry| {
            let entry = entry.unwrap();
            let target = fs::read_link(entry.path()).unwrap().display().to_string();
            if target.contains("/layers/") {
                let number = entry.file_name().to_str().unwrap().to_owned();
                let info = fs::read_to_string(format!("{process}/fdinfo/{number}")).unwrap();
                let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
                assert!(flags.ends_with('0'), "{target} can be written: {flags}");
            }
            target
        })
        .collect();
    let count = |what: &str| opened.iter().filter(|target| target.contains(what)).count();
    for (what, least, most) in [
        ("/dev/null", 1, 1),
        ("pipe:", 1, 1),
        ("socket:", 1, 1),
        ("/pagemap", 0, 1),
        ("python-stdlib.zip", 1, 1),
        // The batteries, and what was compiled of them.
        (".layer", 0, 1),
        (".bytecode", 0, 1),
        // One that has not run anything yet has no image.
        ("/memfd:wardian-image (deleted)", 0, 8),
    ] {
        assert!((least..=most).contains(&count(what)), "{what}: {opened:?}");
    }
    let known =
        ["/dev/null", "pipe:", "socket:", "/pagemap", "python-stdlib.zip", "/memfd:", "/layers/"];
    let strangers =
        opened.iter().filter(|target| !known.iter().any(|known| target.contains(known)));
    assert_eq!(strangers.count(), 0, "{opened:?}");
    for place in ["cwd", "root"] {
        assert_eq!(fs::read_link(format!("{process}/{place}")).unwrap().to_str(), Some("/"));
    }
    assert_eq!(fs::read(format!("{process}/environ")).unwrap(), b"");
}
