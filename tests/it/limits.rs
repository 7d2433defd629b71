//! The limits of a run: obeyed and exceeded, set and refused.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, failed, output};

fn client() -> Client {
    TestServer::shared().client()
}

/// The message of a run that was stopped after so many milliseconds.
fn timed_out(limit: u64) -> String {
    format!(
        "the run was stopped after its limit of {limit} ms: a call asks for more with \
         `timeout_ms`, up to the operator's `limits.max.timeout`"
    )
}

/// Programs that only a deadline ends.
const ENDLESS: [(&str, &str); 9] = [
    ("spinning", "while True: pass\n"),
    ("sleeping", "import time\ntime.sleep(3600)\n"),
    (
        "catching everything",
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
    ),
    ("in C", "sum(range(10 ** 15))\n"),
    ("in a regular expression", "import re\nre.match('(a+)+$', 'a' * 64 + 'b')\n"),
    ("in numpy", "import numpy as np\nx = np.ones((600, 600))\nwhile True: x = x @ x / 600\n"),
    ("in asyncio", "import asyncio\nasyncio.run(asyncio.sleep(3600))\n"),
    ("waiting for a thread", "import threading\nthreading.Event().wait(3600)\n"),
    ("printing", "while True: print('x' * 1000)\n"),
];

#[test]
fn a_program_without_end_is_stopped_when_its_time_is_over() {
    let client = client();
    for (name, code) in ENDLESS {
        let start = Instant::now();
        let result = client.run_with(code, json!({"timeout_ms": 400}));
        let message = timed_out(400);
        let expected = ("Timeout", message.as_str());
        assert_eq!(failed(&result), expected, "{name}");
        let duration = result["duration_ms"].as_u64().unwrap();
        assert!((400..5_000).contains(&duration), "{name} took {duration} ms");
        assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
    }
    assert_eq!(output(&client.run("def main(args): return 1"))["result"], 1);
}

#[test]
fn a_program_without_end_in_its_last_words_is_stopped() {
    let code = "import atexit, time\natexit.register(time.sleep, 3600)\ndef main(args): return 1\n";
    assert_eq!(failed(&client().run_with(code, json!({"timeout_ms": 300}))).0, "Timeout");
    let code = "class A:\n    def __str__(self):\n        while True: pass\ndef main(args): raise ValueError(A())\n";
    assert_eq!(failed(&client().run_with(code, json!({"timeout_ms": 300}))).0, "Timeout");
}

#[test]
fn a_timeout_may_stand_in_three_places() {
    let client = client();
    let spin = "while True: pass\n";
    for params in [
        json!({"timeout_ms": 200}),
        json!({"limits": {"timeout_ms": 200}}),
        json!({"timeout_ms": 200, "limits": {"timeout_ms": 200}}),
        json!({"timeout_ms": 200.0}),
    ] {
        let result = client.run_with(spin, params.clone());
        assert_eq!(failed(&result).1, timed_out(200), "{params}");
    }
    let differ =
        json!({"language": "python", "code": spin, "timeout_ms": 1, "limits": {"timeout_ms": 2}});
    let error = client.refusal("run_code", differ);
    assert_eq!(error.kind, "invalid_params");
    assert!(error.message.contains("`limits.timeout_ms` differ"), "{}", error.message);
    for params in [
        json!({"name": "acme.echo", "timeout_ms": 30_000}),
        json!({"name": "acme.echo", "limits": {"timeout_ms": 30_000}}),
    ] {
        output(&client.call("execute_skill", params).unwrap());
    }
}

#[test]
fn limits_beyond_the_operators_are_refused_with_the_range() {
    let client = client();
    for (limit, wrong) in [
        ("timeout_ms", vec![json!(300_001), json!(u64::MAX)]),
        ("memory_bytes", vec![json!(1), json!(1 << 20), json!(1_u64 << 40)]),
        ("workspace_bytes", vec![json!(1), json!(1_u64 << 40)]),
        ("host_calls", vec![json!(10_001), json!(u64::MAX)]),
    ] {
        for value in wrong {
            let mut limits = json!({});
            limits[limit] = value.clone();
            let params = json!({"language": "python", "code": "", "limits": limits});
            let error = client.refusal("run_code", params);
            let parameter = format!("limits.{limit}");
            assert_eq!((error.code, error.kind.as_str()), (-32602, "invalid_params"));
            assert_eq!(error.data["parameter"], parameter.as_str(), "{error:?}");
            assert!(error.message.contains(" between "), "{}", error.message);
            assert!(error.message.ends_with(&format!("got {value}")), "{}", error.message);
        }
    }
}

#[test]
fn memory_beyond_the_limit_is_refused() {
    let client = client();
    for (name, code) in [
        ("at once", "def main(args):\n    return len(bytearray(1 << 30))\n"),
        (
            "bit by bit",
            "def main(args):\n    x = []\n    while True: x.append(bytearray(1 << 20))\n",
        ),
        (
            "in numpy",
            "import numpy as np\ndef main(args):\n    return float(np.ones(1 << 26).sum())\n",
        ),
        ("as text", "def main(args):\n    x = 'x' * 1000\n    while True: x += x\n"),
        ("as a number", "def main(args):\n    return (1 << (1 << 33)) > 0\n"),
    ] {
        let result = client.run(code);
        assert_eq!(failed(&result), ("MemoryLimit", &*needs_more_than("512 MiB")), "{name}");
        assert!(result["memory_peak_bytes"].as_u64().unwrap() <= 512 << 20, "{name}");
    }
    assert_eq!(output(&client.run("def main(args): return 1"))["result"], 1);
}

/// The sentence of a run that needed more memory.
fn needs_more_than(limit: &str) -> String {
    format!(
        "the run needed more than its limit of {limit} of memory: a call asks for more with \
         `limits.memory_bytes`, up to the operator's `limits.max.memory`; a session does so in the call that \
         begins it"
    )
}

#[test]
fn a_program_can_survive_the_refusal_of_memory() {
    let code = "
def main(args):
    try:
        bytearray(1 << 30)
    except MemoryError:
        return len(bytearray(100 << 20))
";
    let result = client().run(code);
    assert_eq!(output(&result)["result"], 100 << 20);
    assert!(result["memory_peak_bytes"].as_u64().unwrap() > 100 << 20);
}

#[test]
fn a_request_can_lower_the_memory() {
    let code = "def main(args):\n    return len(bytearray(100 << 20))\n";
    let result = client().run_with(code, json!({"limits": {"memory_bytes": 128 << 20}}));
    assert_eq!(failed(&result), ("MemoryLimit", &*needs_more_than("128 MiB")));
    assert_eq!(output(&client().run(code))["result"], 100 << 20);
}

#[test]
fn a_memory_error_of_the_programs_own_is_its_own() {
    let result = client().run("def main(args):\n    raise MemoryError('mine')\n");
    assert_eq!(failed(&result), ("MemoryError", "mine"));
}

#[test]
fn the_workspace_holds_what_it_may_and_no_more() {
    let code = "
import errno, os

def main(args):
    with open('large', 'wb', buffering=0) as file:
        written = 0
        try:
            while True: written += file.write(bytes(1 << 20))
        except OSError as error:
            reason = errno.errorcode[error.errno]
    os.remove('large')
    with open('again', 'wb') as file:
        file.write(bytes(4 << 20))
    return {'written': written, 'reason': reason}
";
    let result = client().run_with(code, json!({"limits": {"workspace_bytes": 8 << 20}}));
    assert_eq!(output(&result)["reason"], "ENOSPC");
    let written = output(&result)["written"].as_u64().unwrap();
    // What it takes to keep a file is part of what it costs.
    assert!((8 * 1024 - 16..=8 * 1024).contains(&(written >> 10)), "{written}");
}

#[test]
fn an_error_of_a_full_workspace_names_the_limit_and_what_raises_it() {
    let large = "open('large', 'wb').write(bytes(9 << 20))";
    let pandas = "import pandas as pd
pd.DataFrame({'a': ['text' * 1000] * 4000}).to_csv('large.csv')";
    for code in [large, pandas] {
        let result = client().run_with(code, json!({"limits": {"workspace_bytes": 8 << 20}}));
        let (class, message) = failed(&result);
        assert_eq!(class, "OSError", "{code}");
        let expected = "(the files of this run may have 8 MiB in all: a call asks for more with \
            `limits.workspace_bytes`, up to the operator's `limits.max.workspace`; a session does so in the call \
            that begins it)";
        assert!(message.starts_with("[Errno 28] No space left on device"), "{message}");
        assert!(message.ends_with(expected), "{message}");
    }
    let result = client().run("for n in range(20_000): open(f'{n}', 'w').close()");
    let (class, message) = failed(&result);
    assert_eq!(class, "OSError");
    let expected = "(a run may have 10,000 files and folders: the operator raises that with \
        `limits.workspace_entries` and `limits.max.workspace_entries`)";
    assert!(message.ends_with(expected), "{message}");
    // A program that makes up the error is not told of a limit that it has not reached.
    let result = client().run("raise OSError(28, 'mine')");
    assert_eq!(failed(&result), ("OSError", "[Errno 28] mine"));
}

#[test]
fn entries_and_open_files_are_counted() {
    let code = "
import errno, os

def until_refused(action):
    count = 0
    try:
        while True:
            action(count)
            count += 1
    except OSError as error:
        return [count, errno.errorcode[error.errno]]

def main(args):
    keep = []
    files = until_refused(lambda n: keep.append(open('/workspace/one', 'w')))
    for file in keep: file.close()
    entries = until_refused(lambda n: os.mkdir(f'folder{n}'))
    return {'files': files, 'entries': entries}
";
    let result = client().run(code);
    let (files, entries) = (&output(&result)["files"], &output(&result)["entries"]);
    assert_eq!(files[1], "EMFILE");
    assert!((200..=256).contains(&files[0].as_u64().unwrap()), "{files}");
    assert_eq!(entries[1], "ENOSPC");
    assert!((9_990..=10_000).contains(&entries[0].as_u64().unwrap()), "{entries}");
}

#[test]
fn calls_of_the_host_are_counted() {
    let code = "
from runtime import blobs, HostCallLimit, Refused

def main(args):
    for n in range(100):
        try:
            blobs.write_text(f'{n}')
        except HostCallLimit as refused:
            assert isinstance(refused, Refused)
            return [n, str(refused)]
";
    let result = client().run_with(code, json!({"limits": {"host_calls": 10}}));
    let answer = &output(&result)["result"];
    assert!((5..=10).contains(&answer[0].as_u64().unwrap()), "{answer}");
    assert!(answer[1].as_str().unwrap().contains("10"), "{answer}");
    let uncaught = "from runtime import blobs\ndef main(args):\n    for n in range(100): blobs.write_text(f'{n}')\n";
    let result = client().run_with(uncaught, json!({"limits": {"host_calls": 10}}));
    assert_eq!(failed(&result).0, "HostCallLimit");
}

#[test]
fn fuel_is_counted_exactly_where_the_engine_can() {
    let client = client();
    let info = Command::new().run(&["engine", "info", "--json"]).with(0).json();
    let variants = info["variants"].as_array().unwrap();
    let metered = variants.iter().find(|variant| variant["variant"] == "metered").unwrap();
    let spin =
        json!({"language": "python", "code": "while True: pass", "limits": {"fuel": 50_000_000}});
    if metered["is_ready"] == false {
        // The code that counts is compiled on demand.
        assert_eq!(client.refusal("run_code", spin).kind, "overloaded");
        return;
    }
    let stopped = client.call("run_code", spin).unwrap();
    let expected = ("FuelExhausted", "the run used up its budget of 50000000 units of fuel");
    assert_eq!(failed(&stopped), expected);
    let fuel_of = |count: u32| {
        let code = format!("def main(args):\n    for _ in range({count}): pass\n    return 1\n");
        let result = client.run_with(&code, json!({"limits": {"fuel": 1_000_000_000}}));
        assert_eq!(output(&result)["result"], 1);
        result["fuel"].as_u64().unwrap()
    };
    let (short, long) = (fuel_of(1_000), fuel_of(100_000));
    assert!(short > 100_000 && long > short + 1_000_000, "{short} and {long}");
    let too_little = json!({"language": "python", "code": "", "limits": {"fuel": 1}});
    assert_eq!(client.refusal("run_code", too_little).data["parameter"], "limits.fuel");
}

#[test]
fn an_operator_sets_the_defaults_and_the_ceilings() {
    let settings = [
        "--set",
        "limits.timeout=500 ms",
        "--set",
        "limits.max.timeout=1 s",
        "--set",
        "limits.memory=128 MiB",
        "--set",
        "limits.max.memory=256 MiB",
        "--set",
        "limits.logs=1 KiB",
        "--workers",
        "1",
    ];
    let server = TestServer::start(&settings);
    let client = server.client();
    let spin = client.run("while True: pass\n");
    assert_eq!(failed(&spin).1, timed_out(500));
    let params = json!({"language": "python", "code": "", "timeout_ms": 1_001});
    assert!(client.refusal("run_code", params).message.contains("between 1 and 1000, got 1001"));
    let hungry = "def main(args):\n    return len(bytearray(100 << 20))\n";
    assert_eq!(failed(&client.run(hungry)).0, "MemoryLimit");
    let more = client.run_with(hungry, json!({"limits": {"memory_bytes": 256 << 20}}));
    assert_eq!(output(&more)["result"], 100 << 20);
    let chatty = client.run("def main(args):\n    print('x' * 5000)\n");
    // What is kept, and the end behind what is lost.
    let preview = chatty["logs_preview"].as_str().unwrap();
    assert!(preview.len() <= 2_048 && preview.contains(" bytes left out]"), "{chatty}");
    assert_eq!(chatty["logs_truncated"], true);
}

#[test]
fn runs_beyond_the_queue_are_refused_and_told_when_to_come_back() {
    let settings = ["--workers", "1", "--set", "workers.queue=1", "--set", "workers.spares=0"];
    let server = TestServer::start(&settings);
    let client = server.client();
    let sleep = "import time\ntime.sleep(2)\ndef main(args): return 1\n";
    let answers: Vec<_> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let params = json!({"language": "python", "code": sleep});
                    let call =
                        json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
                    client.post(call.to_string())
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 503).collect();
    assert_eq!(answers.len() - refused.len(), 2, "one runs and one waits");
    for answer in refused {
        assert_eq!(answer.error(), (1004, "overloaded".to_owned(), json!(1)));
        assert!(answer.header("retry-after").parse::<u32>().unwrap() >= 1);
        let retry = &answer.json()["error"]["data"]["retry_after_ms"];
        assert!(retry.as_u64().unwrap() >= 100, "{retry}");
    }
    assert_eq!(output(&client.run("def main(args): return 1"))["result"], 1);
}

#[test]
fn a_run_that_waits_too_long_for_a_worker_is_refused() {
    let settings =
        ["--workers", "1", "--set", "workers.queue_wait=100 ms", "--set", "workers.spares=0"];
    let server = TestServer::start(&settings);
    let client = server.client();
    let spin = json!({"timeout_ms": 3_000});
    let answers: Vec<Value> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut params = spin.clone();
                    params["language"] = "python".into();
                    params["code"] = "while True: pass".into();
                    match client.call("run_code", params) {
                        Ok(result) => json!(failed(&result).0),
                        Err(error) => json!(error.kind),
                    }
                })
            })
            .collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert!(
        answers.contains(&json!("Timeout")) && answers.contains(&json!("overloaded")),
        "{answers:?}"
    );
}
