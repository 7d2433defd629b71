//! Programs with deep recursion or nesting, in the real engine. They end as in native CPython, or
//! as stated beside them.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may panic; that is how it fails; what stacks took is worth seeing"
)]

#[path = "it/support/cache.rs"]
#[expect(dead_code, reason = "these tests start no commands")]
mod cache;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use wardian_engine::EngineStore;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::Lines;
use wardian_engine::source::fetch::EngineOrigin;
use wardian_formats::job::attachment::{AttachedName, AttachmentKey};
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::outcome::RunFailure;
use wardian_formats::job::{KeepFiles, Program, Setup, Turn};
use wardian_image_builder::ImageStore;
use wardian_images::PackageSet;
use wardian_sandbox::memory::Verify;
use wardian_sandbox::{CodeSpec, ImageSpec, Library, Sandbox, SandboxConfig};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest, RunId, TenantId};
use wardian_vocabulary::units::Fuel;

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

/// The sandboxes of both variants. Every run compares its whole memory with the image at its end.
static TIMED: LazyLock<Mutex<Sandbox>> = LazyLock::new(|| Mutex::new(sandbox(Variant::Timed)));
static METERED: LazyLock<Mutex<Sandbox>> = LazyLock::new(|| Mutex::new(sandbox(Variant::Metered)));

fn sandbox(variant: Variant) -> Sandbox {
    let folder = cache::own_cache();
    let origin = EngineOrigin::Registry { python: "python3".into() };
    let progress = Lines::new(std::io::stderr());
    let store = EngineStore::open(&folder, origin, Clock::System).unwrap();
    let engine = Arc::new(store.ensure(variant, &progress).unwrap());
    let image = ImageStore::new(&store, &engine).ensure(PackageSet::NONE, &progress).unwrap();
    let library = Library::new(copy(&engine.library.file), engine.mpl_data().unwrap()).unwrap();
    let config = SandboxConfig { verify: Verify::Always, ..SandboxConfig::default() };
    let mut sandbox = Sandbox::new(library, config);
    let native = copy(&engine.native.file);
    let declared_pages = engine.facts.memory_min_pages.try_into().unwrap();
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

/// How a run ended, and what its thread kept.
#[derive(Debug)]
struct Ended {
    /// The returned value as JSON, or the type of the error.
    end: String,
    /// Memory behind the thread's stack in bytes, right after the run and after its reset.
    touched: usize,
    kept: usize,
}

fn run(source: &str, variant: Variant) -> Ended {
    let fuel = (variant == Variant::Metered).then_some(Fuel(1 << 50));
    let wall_time = Duration::from_secs(240);
    let (limits, turn_limits) = RunLimits { wall_time, fuel, ..RunLimits::DEFAULT }.split();
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
    let sandbox = if variant == Variant::Metered { &METERED } else { &TIMED };
    // As in a worker: the guest's own stack is a part of its thread's.
    std::thread::scope(|scope| {
        let guest = std::thread::Builder::new().stack_size(wardian_worker::GUEST_STACK);
        let running = guest.spawn_scoped(scope, || {
            let mut sandbox = sandbox.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (guest, ended) = sandbox.run(setup.into(), &turn, Box::new(Forgetful)).unwrap();
            let output = String::from_utf8_lossy(&ended.output).into_owned();
            let failure = ended.outcome.end.as_ref().err();
            let end = failure.map_or(output, |failure| RunFailure::error_type(failure).to_owned());
            let touched = resident_stack();
            sandbox.close(guest).unwrap();
            Ended { end, touched, kept: resident_stack() }
        });
        running.unwrap().join().unwrap()
    })
}

/// Memory behind the mapping in which this thread's frames lie, in bytes.
fn resident_stack() -> usize {
    let marker = 0_u8;
    let here = std::ptr::from_ref(std::hint::black_box(&marker)).addr();
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut inside = false;
    for line in text.lines() {
        let first = line.split(' ').next().unwrap();
        if let Some((from, to)) = first.split_once('-') {
            let address = |hex| usize::from_str_radix(hex, 16).unwrap();
            inside = (address(from)..address(to)).contains(&here);
        } else if inside && let Some(size) = line.strip_prefix("Rss:") {
            return size.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10;
        }
    }
    panic!("this thread has no stack");
}

/// One program of the corpus.
struct Deep {
    name: String,
    /// The end that it has here: that of native CPython, unless another one is stated.
    expected: String,
    source: String,
}

/// Reads `tests/fixtures/depth/<group>.py`: programs below their titles, each with its native end.
fn programs(group: &str) -> Vec<Deep> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/depth");
    let text = std::fs::read_to_string(folder.join(format!("{group}.py"))).unwrap();
    let sections = text.split("#### ").skip(1);
    let programs = sections.map(|section| {
        let (name, source) = section.split_once('\n').unwrap();
        let line = |mark: &str| source.lines().take(2).find_map(|line| line.strip_prefix(mark));
        let here = line("# here: ").map(|end| {
            let (end, reason) = end.split_once(" (").unwrap_or_else(|| panic!("{name}: no reason"));
            assert!(reason.len() > 10 && reason.ends_with(')'), "{name}: {reason}");
            end
        });
        let native = line("# native: ").unwrap_or_else(|| panic!("{name}: no native end"));
        let expected = here.unwrap_or(native).to_owned();
        Deep { name: name.to_owned(), expected, source: source.to_owned() }
    });
    programs.collect()
}

/// Runs programs and panics with a list of those that ended otherwise.
fn check(programs: &[Deep], variant: Variant) {
    assert!(!programs.is_empty());
    let mut wrong = Vec::new();
    for program in programs {
        let Ended { end, touched, kept } = run(&program.source, variant);
        println!("{touched:>10} {kept:>8} {variant} {}: {end}", program.name);
        let is_same = match (
            serde_json::from_str::<Value>(&end),
            serde_json::from_str::<Value>(&program.expected),
        ) {
            (Ok(found), Ok(expected)) => found == expected,
            _ => end == program.expected,
        };
        if !is_same {
            wrong.push(format!("{}: {end} instead of {}", program.name, program.expected));
        }
        if kept > KEPT {
            wrong.push(format!("{}: keeps {kept} bytes of stack", program.name));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Most memory that a thread's stack may keep after a run: 1 MiB, and what lies above the run.
const KEPT: usize = 3 << 20;

#[test]
fn ordinary_programs_go_as_deep_as_natively() {
    check(&programs("ordinary"), Variant::Timed);
}

#[test]
fn deep_structures_are_freed() {
    check(&programs("freed"), Variant::Timed);
}

#[test]
fn too_deep_is_an_error_that_python_can_catch() {
    check(&programs("too_deep"), Variant::Timed);
}

/// Every fifth program, and those that used most native stack per byte of shadow stack.
#[test]
fn metered_code_goes_as_deep() {
    let mut chosen = Vec::new();
    for group in ["ordinary", "freed", "too_deep"] {
        let often =
            ["endless lru_cache", "endless metaclass", "JSON of", "hash of tuples", "equal"];
        let picks = |(at, program): &(usize, Deep)| {
            at % 5 == 0 || often.iter().any(|name| program.name.contains(name))
        };
        chosen.extend(programs(group).into_iter().enumerate().filter(picks).map(|(_, one)| one));
    }
    check(&chosen, Variant::Metered);
}

#[test]
fn a_deep_run_leaves_no_stack_behind() {
    let deep = "import sys\nfrom functools import cache\n@cache\ndef down(n): return down(n + 1)\n\
        def main(args):\n    sys.setrecursionlimit(10**6)\n    try: down(0)\n    except RecursionError: return 1";
    let Ended { end, touched, kept } = run(deep, Variant::Timed);
    assert_eq!(end, "1");
    assert!(touched > 20 << 20, "the run was not deep: {touched}");
    assert!(kept < KEPT, "{kept}");
}
