//! The sandbox with the real engine. The whole memory is compared with the image after every run.
#![expect(clippy::unwrap_used, reason = "a test may panic; that is how it fails")]

#[path = "../it/support/cache.rs"]
#[expect(dead_code, reason = "these tests start no commands")]
mod cache;
mod cells;
mod interrupts;
mod waits;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde_json::value::RawValue;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::Lines;
use wardian_engine::source::fetch::EngineOrigin;
use wardian_engine::{EngineArtifacts, EngineStore};
use wardian_formats::job::attachment::{AttachedName, AttachmentKey};
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::outcome::{RunFailure, RunOutcome};
use wardian_formats::job::{KeepFiles, Program, Setup, Turn};
use wardian_image_builder::ImageStore;
use wardian_images::PackageSet;
use wardian_sandbox::memory::Verify;
use wardian_sandbox::{CodeSpec, ImageSpec, Library, Sandbox, SandboxConfig, Stopwatch};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest, RunId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Gives every blob the name of its content and keeps nothing.
struct Forgetful;

impl Host for Forgetful {
    fn write_blob(&mut self, _kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        Ok(BlobId::of_digest(&Digest::of(content)))
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

/// One sandbox for all tests here: a run compares its whole memory with the image at its end.
static SANDBOX: LazyLock<Mutex<Sandbox>> = LazyLock::new(|| Mutex::new(paranoid_sandbox()));

fn paranoid_sandbox() -> Sandbox {
    let folder = cache::own_cache();
    let origin = EngineOrigin::Registry { python: "python3".into() };
    let progress = Lines::new(std::io::stderr());
    let store = EngineStore::open(&folder, origin, Clock::System).unwrap();
    let engine = Arc::new(store.ensure(Variant::Timed, &progress).unwrap());
    let image = ImageStore::new(&store, &engine).ensure(PackageSet::NONE, &progress).unwrap();
    let library = Library::new(copy(&engine.library.file), engine.mpl_data().unwrap()).unwrap();
    let config = SandboxConfig { verify: Verify::Always, ..SandboxConfig::default() };
    let mut sandbox = Sandbox::new(library, config);
    let (variant, declared_pages) = (Variant::Timed, declared(&engine));
    let native = copy(&engine.native.file);
    let (options, signals) = (variant.into(), engine.signals);
    sandbox.add_code(CodeSpec { options, native, declared_pages, signals }).unwrap();
    let memory = image.content.memory().try_clone_to_owned().unwrap();
    let descriptors = serde_json::from_str(image.content.open_files().get()).unwrap();
    let key = AttachmentKey::shared(AttachedName::Image(base_digest()));
    sandbox.attach_image(key, ImageSpec { memory, descriptors }).unwrap();
    sandbox.start().unwrap();
    sandbox
}

/// What the tests call the base image.
fn base_digest() -> Digest {
    Digest::of(b"base")
}

fn copy(file: &File) -> File {
    OwnedFd::from(file.try_clone().unwrap()).into()
}

fn declared(engine: &EngineArtifacts) -> usize {
    engine.facts.memory_min_pages.try_into().unwrap()
}

fn order(source: &str, limits: RunLimits) -> (Setup, Turn) {
    let (limits, turn_limits) = limits.split();
    let setup = Setup {
        tenant: TenantId::local(),
        image: base_digest(),
        skills: Vec::new(),
        layers: Vec::new(),
        blobs: Vec::new(),
        hides_modules: false,
        environment: BTreeMap::new(),
        reproducible: None,
        counts_fuel: turn_limits.fuel.is_some(),
        limits,
    };
    let turn = Turn {
        id: RunId::generate(),
        program: Program::Code { source: source.to_owned(), file_name: "main.py".to_owned() },
        entrypoint: Some("main".to_owned()),
        args: RawValue::from_string("{}".to_owned()).unwrap(),
        keep_files: KeepFiles::Nothing,
        strict_output: false,
        stream_logs: false,
        profile: None,
        cell: None,
        files: None,
        limits: turn_limits,
    };
    (setup, turn)
}

fn run(source: &str, limits: RunLimits) -> (RunOutcome, Vec<u8>) {
    let (setup, turn) = order(source, limits);
    // As in a worker: the guest's own stack is a part of its thread's.
    std::thread::scope(|scope| {
        let guest = std::thread::Builder::new().stack_size(wardian_worker::GUEST_STACK);
        let running = guest.spawn_scoped(scope, || {
            let mut sandbox = SANDBOX.lock().unwrap();
            let (guest, end) = sandbox.run(setup.into(), &turn, Box::new(Forgetful)).unwrap();
            sandbox.close(guest).unwrap();
            (end.outcome, end.output)
        });
        running.unwrap().join().unwrap()
    })
}

fn end_of(source: &str, limits: RunLimits) -> String {
    let (outcome, _) = run(source, limits);
    let end = outcome.end.as_ref();
    end.err().map_or("completed", RunFailure::error_type).to_owned()
}

const SHORT: RunLimits = RunLimits { wall_time: Duration::from_millis(400), ..RunLimits::DEFAULT };

#[test]
fn a_guest_keeps_its_memory_and_its_files_between_turns_and_not_beyond() {
    let keeps = "import math\ndef main(args):\n    math.kept = [7]\n    \
                 open('kept.txt', 'w').write('seven')\n    return 1";
    let reads = "import math\ndef main(args):\n    \
                 return [math.kept, open('kept.txt').read()]";
    let raises = "def main(args):\n    1 / 0";
    let endless = "def main(args):\n    while True: pass";
    let turn = |source: &str| order(source, SHORT).1;
    std::thread::scope(|scope| {
        let guest = std::thread::Builder::new().stack_size(wardian_worker::GUEST_STACK);
        let running = guest.spawn_scoped(scope, || {
            let mut sandbox = SANDBOX.lock().unwrap();
            let mut guest = sandbox.open(order("", SHORT).0.into()).unwrap();
            for (source, end, output) in [
                (keeps, "completed", "1"),
                (reads, "completed", r#"[[7],"seven"]"#),
                (raises, "ZeroDivisionError", ""),
                (reads, "completed", r#"[[7],"seven"]"#),
                (endless, "Timeout", ""),
            ] {
                let (host, watch) = (Box::new(Forgetful), Stopwatch::start());
                let ended = sandbox.turn(&mut guest, &turn(source), host, watch).unwrap();
                let found =
                    ended.outcome.end.as_ref().err().map_or("completed", RunFailure::error_type);
                let compact: String =
                    String::from_utf8_lossy(&ended.output).split_whitespace().collect();
                assert_eq!((found, compact.as_str()), (end, output), "{source}");
                assert_eq!(ended.can_go_on, end != "Timeout", "{source}");
            }
            let (host, watch) = (Box::new(Forgetful), Stopwatch::start());
            assert!(sandbox.turn(&mut guest, &turn(keeps), host, watch).is_err(), "it was stopped");
            sandbox.close(guest).unwrap();
        });
        running.unwrap().join().unwrap();
    });
    assert_eq!(end_of(reads, SHORT), "AttributeError", "the next guest is a new one");
}

#[test]
fn fresh_memory_after_every_kind_of_end() {
    let large =
        "import numpy as np\ndef main(args):\n    x = np.full(9_000_000, 7.5)\n    return x.sum()";
    for (source, expected) in [
        ("def main(args):\n    return 1", "completed"),
        (large, "completed"),
        ("def main(args):\n    1 / 0", "ZeroDivisionError"),
        ("def main(args):\n    while True: pass", "Timeout"),
        ("import time\ndef main(args):\n    time.sleep(9)", "Timeout"),
        (
            "def main(args):\n    x = []\n    while True: x.append(bytearray(1 << 20))",
            "MemoryLimit",
        ),
        ("import posix\ndef main(args):\n    posix.abort()", "SandboxCrash"),
        ("import os\ndef main(args):\n    os._exit(3)", "SystemExit"),
        ("import sys\ndef main(args):\n    sys.exit(3)", "SystemExit"),
        ("def main(args)\n    pass", "SyntaxError"),
        ("def other(args):\n    pass", "EntrypointNotFound"),
        (
            "def main(args):\n    x, view = {1: 2}, type(type.__dict__)\n    \
             for _ in range(10**6): x = view(x)\n    return x[1]",
            "StackOverflow",
        ),
    ] {
        let limits = if expected == "Timeout" { SHORT } else { RunLimits::DEFAULT };
        assert_eq!(end_of(source, limits), expected, "{source}");
        let next = "def main(args):\n    return sum(range(10))";
        assert_eq!(end_of(next, RunLimits::DEFAULT), "completed", "after {source}");
    }
}

#[test]
fn fresh_state_in_every_run() {
    let mark = "import builtins, json, os, sys, random\n\
        def main(args):\n    \
            found = [hasattr(builtins, 'mark'), 'mark' in os.environ, os.path.exists('mark'),\n        \
            'mark' in sys.modules, json.dumps is None, '/mark' in sys.path]\n    \
            builtins.mark = os.environ['mark'] = 'x'; open('mark', 'w').write('x')\n    \
            sys.modules['mark'] = sys; sys.path.append('/mark'); json.dumps = None\n    \
            return [any(found), random.random(), os.urandom(4).hex()]";
    let mut seen = Vec::new();
    for _ in 0..5 {
        let (_, output) = run(mark, RunLimits::DEFAULT);
        let output: (bool, f64, String) = serde_json::from_slice(&output).unwrap();
        assert!(!output.0, "a mark of an earlier run was found");
        assert!(!seen.contains(&output.2), "randomness repeats");
        seen.push(output.2);
        seen.push(output.1.to_string());
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 10, "randomness repeats");
}

#[test]
fn a_limit_on_memory_is_obeyed_and_reported() {
    let limits = RunLimits { memory: ByteCount::mebibytes(160), ..RunLimits::DEFAULT };
    let (outcome, _) = run("def main(args):\n    return len(bytearray(40 << 20))", limits);
    assert!(outcome.end.is_ok(), "{:?}", outcome.end);
    assert!(outcome.usage.memory_peak <= limits.memory);
    assert_eq!(
        end_of("def main(args):\n    return len(bytearray(150 << 20))", limits),
        "MemoryLimit"
    );
}

#[test]
fn what_is_printed_is_kept_in_order_and_within_its_limit() {
    let limits = RunLimits { logs: ByteCount::kibibytes(64), ..RunLimits::DEFAULT };
    let (outcome, _) = run("def main(args):\n    for i in range(100_000): print(i)", limits);
    let logs = &outcome.logs;
    let text: String = logs.chunks.iter().map(|chunk| chunk.text.as_str()).collect();
    assert!(text.starts_with("0\n1\n2\n") && text.len() <= 64 << 10);
    assert!(logs.dropped > 400_000, "{}", logs.dropped);
}
