//! Programs in the sandbox of this process, with the real engine.
#![expect(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

#[path = "../examples/pandas.rs"]
#[expect(dead_code, reason = "the example's own `main` needs an argument")]
mod pandas;

use std::fs::DirBuilder;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use wardian_embedded::{
    ByteCount, EmbeddedError, Engine, Fuel, Image, Outcome, PackageSet, RunFailure, RunLimits,
    Sandbox,
};

/// A cache with the compiled engine of whoever runs the tests, and nothing else of theirs.
fn cache() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for area in ["engine", "native"] {
        let users = dirs::cache_dir().unwrap().join("wardian").join(area);
        DirBuilder::new().recursive(true).mode(0o700).create(&users).unwrap();
        symlink(users, folder.path().join(area)).unwrap();
    }
    folder
}

/// One engine and its base image for all tests.
fn engine() -> &'static (Engine, Image) {
    static ENGINE: OnceLock<(Engine, Image)> = OnceLock::new();
    ENGINE.get_or_init(|| {
        // What is loaded needs the cache no longer.
        let cache = cache();
        let engine = Engine::open(cache.path(), |_| ()).unwrap();
        let engine = engine.with_metering().unwrap();
        let image = Image::with(&engine, PackageSet::NONE).unwrap();
        (engine, image)
    })
}

fn sandbox_with(limits: RunLimits) -> Sandbox {
    let (engine, image) = engine();
    Sandbox::new(engine, image, limits).unwrap()
}

fn sandbox() -> Sandbox {
    sandbox_with(RunLimits::DEFAULT)
}

fn value_of(outcome: &Outcome) -> Value {
    assert_eq!(outcome.error(), None);
    serde_json::from_str(outcome.value().unwrap()).unwrap()
}

#[test]
fn the_example_runs_pandas() {
    assert_eq!(pandas::amounts(cache().path()).unwrap(), r#"{"Oslo":8,"Rome":4}"#);
}

#[test]
fn a_program_returns_its_value_and_its_output() {
    let code = "import sys\ndef main(args):\n    print('seen', args['n'])\n    \
                print('odd', file=sys.stderr)\n    return {'twice': 2 * args['n']}";
    let outcome = sandbox().run(code, &json!({ "n": 21 })).unwrap();
    assert_eq!(outcome.value(), Some(r#"{"twice":42}"#));
    assert_eq!((outcome.stdout().as_str(), outcome.stderr().as_str()), ("seen 21\n", "odd\n"));
    let usage = outcome.usage;
    assert!(usage.wall_time > Duration::ZERO && usage.cpu_time > Some(Duration::ZERO));
    assert!(usage.memory_peak > ByteCount::mebibytes(32), "{usage:?}");
    let last_expression = sandbox().run("x = 40\nx + 2", &json!({})).unwrap();
    assert_eq!(last_expression.value(), Some("42"));
}

#[test]
fn a_program_that_fails_costs_itself_only() {
    let memory = ByteCount::mebibytes(160);
    let mut sandbox = sandbox_with(RunLimits { memory, ..RunLimits::DEFAULT });
    let too_deep =
        "x, view = {1: 2}, type(type.__dict__)\nfor _ in range(10**6): x = view(x)\nx[1]";
    for (code, expected) in [
        ("def main(args):\n    return 1 / 0", "ZeroDivisionError"),
        ("x = []\nwhile True: x.append(bytearray(1 << 20))", "MemoryLimit"),
        ("import posix; posix.abort()", "SandboxCrash"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("def main(args)\n    pass", "SyntaxError"),
        (too_deep, "StackOverflow"),
    ] {
        let outcome = sandbox.run(code, &json!({})).unwrap();
        assert_eq!(outcome.error().map(RunFailure::error_type), Some(expected), "{code}");
        let next = sandbox.run("6 * 7", &json!({})).unwrap();
        assert_eq!(next.value(), Some("42"), "after {code}");
    }
    let raised = sandbox.run("def main(args):\n    return 1 / 0", &json!({})).unwrap();
    let traceback = raised.error().unwrap().traceback().unwrap();
    assert!(traceback.contains(r#"File "main.py", line 2, in main"#), "{traceback}");
}

#[test]
fn time_ends_a_program_at_its_limit() {
    let wall_time = Duration::from_millis(200);
    let mut sandbox = sandbox_with(RunLimits { wall_time, ..RunLimits::DEFAULT });
    for code in ["while True: pass", "import time; time.sleep(9)"] {
        let outcome = sandbox.run(code, &json!({})).unwrap();
        assert!(matches!(outcome.error(), Some(RunFailure::Timeout { .. })), "{outcome:?}");
        assert!(outcome.usage.wall_time < Duration::from_secs(9), "{outcome:?}");
    }
}

#[test]
fn fuel_ends_a_program_at_its_limit() {
    let mut sandbox =
        sandbox_with(RunLimits { fuel: Some(Fuel(2_000_000_000)), ..RunLimits::DEFAULT });
    let outcome = sandbox.run("while True: pass", &json!({})).unwrap();
    assert!(matches!(outcome.error(), Some(RunFailure::FuelExhausted { .. })), "{outcome:?}");
    let outcome = sandbox.run("1", &json!({})).unwrap();
    assert!(outcome.usage.fuel > Some(Fuel(1_000)), "{outcome:?}");
}

#[test]
fn strangers_to_this_machine_have_none_of_its_files_and_no_network() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "of the host").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let code = r#"
import os, pathlib, socket, subprocess

def attempt(act):
    try:
        return repr(act())
    except BaseException as error:
        return type(error).__name__

def main(args):
    return {
        "host": [attempt(lambda: open(path).read()) for path in args["paths"]],
        "up": attempt(lambda: open("../../../../" + args["paths"][0]).read()),
        "root": sorted(os.listdir("/")),
        "connect": attempt(lambda: socket.create_connection(("127.0.0.1", args["port"]), 2)),
        "resolve": attempt(lambda: socket.getaddrinfo("example.com", 80)),
        "process": attempt(lambda: subprocess.run(["/bin/true"])),
        "environment": sorted(os.environ),
    }
"#;
    let paths = [secret.to_str().unwrap(), "/etc/passwd", "/proc/self/environ"];
    let port = listener.local_addr().unwrap().port();
    let outcome = sandbox().run(code, &json!({ "paths": paths, "port": port })).unwrap();
    let seen = value_of(&outcome);
    let host = seen["host"].as_array().unwrap();
    assert!(host.len() == 3 && host.iter().all(|end| end == "FileNotFoundError"), "{seen}");
    assert_eq!(seen["up"], "FileNotFoundError");
    assert!(!seen["root"].as_array().unwrap().contains(&json!("home")), "{seen}");
    assert!(seen["connect"].as_str().unwrap().ends_with("Error"), "{seen}");
    assert!(seen["resolve"].as_str().unwrap().ends_with("rror"), "{seen}");
    assert!(!seen["environment"].to_string().contains("CARGO"), "{seen}");
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn strangers_to_each_other_are_two_runs_of_one_sandbox() {
    let mark = "import builtins, json, os, sys, random\n\
        def main(args):\n    \
            found = [hasattr(builtins, 'mark'), 'mark' in os.environ, os.path.exists('mark'),\n        \
            'mark' in sys.modules, json.dumps is None, '/mark' in sys.path]\n    \
            builtins.mark = os.environ['mark'] = 'x'; open('mark', 'w').write('x')\n    \
            sys.modules['mark'] = sys; sys.path.append('/mark'); json.dumps = None\n    \
            return [any(found), random.random(), os.urandom(8).hex()]";
    let mut sandbox = sandbox();
    let seen: Vec<Value> =
        (0..3).map(|_| value_of(&sandbox.run(mark, &json!({})).unwrap())).collect();
    assert!(seen.iter().all(|one| one[0] == false), "a mark of an earlier run was found: {seen:?}");
    assert!(seen[0][1] != seen[1][1] && seen[1][2] != seen[2][2], "randomness repeats: {seen:?}");
}

#[test]
fn files_and_blobs_come_out() {
    let mut sandbox =
        sandbox_with(RunLimits { host_bytes: ByteCount::mebibytes(1), ..RunLimits::DEFAULT });
    let code = "import os\nfrom runtime import blobs\n\
        os.mkdir('out')\nopen('out/a.csv', 'w').write('x,y\\n1,2\\n')\n\
        open('large.bin', 'wb').write(bytes(2 << 20))\n\
        blobs.write_bytes(b'kept', 'text/plain')";
    let outcome = sandbox.run(code, &json!({})).unwrap();
    let id = value_of(&outcome);
    let stored = outcome.blobs.iter().find(|(known, _)| id.as_str() == Some(known.as_str()));
    assert_eq!(stored.unwrap().1.as_ref(), b"kept", "{id}");
    let files: Vec<_> =
        outcome.files.iter().map(|file| (file.path.as_str(), file.kind.as_str())).collect();
    assert_eq!(files, [("out/a.csv", "text/csv")]);
    assert_eq!(outcome.files[0].content.as_ref(), b"x,y\n1,2\n");
    let lost = &outcome.lost_files[0];
    assert_eq!((lost.path.as_str(), lost.size), ("large.bin", ByteCount::mebibytes(2)));
    assert!(lost.reason.contains("limit"), "{}", lost.reason);
    let next = sandbox.run("1", &json!({})).unwrap();
    assert!(next.files.is_empty() && next.lost_files.is_empty() && next.blobs.is_empty());
}

#[test]
fn sandboxes_run_side_by_side() {
    std::thread::scope(|scope| {
        let run = |number: u64| {
            let mut sandbox = sandbox();
            let code = "import numpy as np\ndef main(args):\n    \
                        return int(np.arange(args['n'], dtype=np.int64).sum())";
            (0..5)
                .map(|_| value_of(&sandbox.run(code, &json!({ "n": number })).unwrap()))
                .max_by_key(Value::as_u64)
        };
        let [one, two] = [1_000, 2_000].map(|number| scope.spawn(move || run(number)));
        assert_eq!(one.join().unwrap(), Some(json!(499_500)));
        assert_eq!(two.join().unwrap(), Some(json!(1_999_000)));
    });
}

#[test]
fn what_cannot_work_is_refused_before_it_begins() {
    let (engine, image) = engine();
    let small = RunLimits { memory: ByteCount::mebibytes(1), ..RunLimits::DEFAULT };
    let refused = Sandbox::new(engine, image, small).unwrap_err();
    assert!(matches!(refused, EmbeddedError::Limit { limit: "memory", .. }), "{refused}");
    let refused = Image::with(engine, PackageSet::REPRODUCIBLE).unwrap_err();
    assert!(matches!(refused, EmbeddedError::PublicSecret), "{refused}");
    let refused = sandbox().run("1", &json!([])).unwrap_err();
    assert!(matches!(refused, EmbeddedError::Arguments), "{refused}");

    let folder = tempfile::tempdir().unwrap();
    let (cache, wheel) = (folder.path().join("cache"), folder.path().join("no.whl"));
    let refused = Engine::open_offline(cache, wheel, |_| ()).unwrap_err();
    assert!(matches!(refused, EmbeddedError::Engine(_)), "{refused}");
    assert!(refused.to_string().starts_with("the given wheel or folder"), "{refused}");
}
