//! Sandboxes with the real engine, and guests in them that take one program after another.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::Lines;
use wardian_engine::source::fetch::EngineOrigin;
use wardian_engine::{EngineArtifacts, EngineStore};
use wardian_formats::job::attachment::{AttachedName, AttachmentKey};
use wardian_formats::job::host::{Host, IsCancelled};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::session::checkpoint::PackFacts;
use wardian_formats::job::{FuelRules, KeepFiles, Program, Reproducible, Setup, Turn};
use wardian_image_builder::ImageStore;
use wardian_images::PackageSet;
use wardian_sandbox::clock_and_random::ClockAndRandomMode;
use wardian_sandbox::memory::Verify;
use wardian_sandbox::{
    CodeSpec, ImageSpec, Library, OpenGuest, PackError, Sandbox, SandboxConfig, SandboxError,
    Stopwatch, TurnEnd,
};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest, RunId, TenantId};
use wardian_vocabulary::units::{ByteCount, Fuel};

/// Gives every blob the name of its content and keeps nothing.
pub(super) struct Forgetful;

impl Host for Forgetful {
    fn write_blob(&mut self, _kind: &str, content: &[u8]) -> Result<BlobId, Refusal> {
        Ok(BlobId::of_digest(&Digest::of(content)))
    }

    fn is_cancelled(&self) -> IsCancelled {
        Box::new(|| false)
    }
}

/// The engine, and the image that all guests begin as.
struct Engine {
    timed: Arc<EngineArtifacts>,
    store: EngineStore,
    memory: OwnedFd,
    descriptors: String,
}

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let origin = EngineOrigin::Registry { python: "python3".into() };
    let progress = Lines::new(std::io::stderr());
    let store = EngineStore::open(&super::cache::own_cache(), origin, Clock::System).unwrap();
    let timed = Arc::new(store.ensure(Variant::Timed, &progress).unwrap());
    let image = ImageStore::new(&store, &timed).ensure(PackageSet::NONE, &progress).unwrap();
    let memory = image.content.memory().try_clone_to_owned().unwrap();
    let descriptors = image.content.open_files().get().to_owned();
    Engine { timed, store, memory, descriptors }
});

/// A sandbox of its own, as another worker has it.
pub(super) fn sandbox(mode: ClockAndRandomMode, variant: Variant) -> Sandbox {
    let engine = &*ENGINE;
    let metered;
    let artifacts = match variant {
        Variant::Timed => &engine.timed,
        Variant::Metered => {
            metered = engine.store.ensure(variant, &Lines::new(std::io::stderr())).unwrap();
            &metered
        }
    };
    let library =
        Library::new(copy(&artifacts.library.file), artifacts.mpl_data().unwrap()).unwrap();
    let config = SandboxConfig {
        verify: Verify::Always,
        clock_and_random: mode,
        c_stack: Some(artifacts.c_stack),
        heap: Some(artifacts.heap),
        ..SandboxConfig::default()
    };
    let mut sandbox = Sandbox::new(library, config);
    let declared_pages = artifacts.facts.memory_min_pages.try_into().unwrap();
    let native = copy(&artifacts.native.file);
    let (options, signals) = (variant.into(), artifacts.signals);
    sandbox.add_code(CodeSpec { options, native, declared_pages, signals }).unwrap();
    for digest in [base(), other()] {
        let key = AttachmentKey::shared(AttachedName::Image(digest));
        let memory = engine.memory.try_clone().unwrap();
        let descriptors = serde_json::from_str(&engine.descriptors).unwrap();
        sandbox.attach_image(key, ImageSpec { memory, descriptors }).unwrap();
    }
    sandbox.start().unwrap();
    sandbox
}

fn copy(file: &File) -> File {
    OwnedFd::from(file.try_clone().unwrap()).into()
}

/// Time and randomness that are the same in every guest, so that two can be compared.
pub(super) const SEEDED: ClockAndRandomMode =
    ClockAndRandomMode::Seeded { seed: [7; 32], realtime: Duration::from_secs(1_700_000_000) };

/// What the tests call the image.
pub(super) fn base() -> Digest {
    Digest::of(b"base")
}

/// The same image under another name.
pub(super) fn other() -> Digest {
    Digest::of(b"other")
}

/// The order for a guest.
pub(super) fn setup() -> Setup {
    Setup {
        tenant: TenantId::local(),
        image: base(),
        skills: Vec::new(),
        layers: Vec::new(),
        blobs: Vec::new(),
        hides_modules: false,
        environment: BTreeMap::new(),
        reproducible: None,
        counts_fuel: false,
        limits: RunLimits::DEFAULT.split().0,
    }
}

/// The order for a guest that sees nothing of its machine.
pub(super) fn reproducible() -> Setup {
    let epoch = Duration::from_secs(1_700_000_000);
    let reproducible = Reproducible { seed: 5, epoch, fuel_rules: FuelRules::PRESENT };
    Setup { reproducible: Some(reproducible), counts_fuel: true, ..setup() }
}

/// Runs what it is given in one namespace, which the guest keeps from turn to turn.
const RUNNER: &str = "
import sys, types
def main(args):
    kept = sys.modules.get('kept')
    if kept is None:
        kept = sys.modules['kept'] = types.ModuleType('kept')
    code, value = args['code'], args['value']
    exec(compile(code, '<cell>', 'exec'), kept.__dict__)
    return repr(eval(value, kept.__dict__))
";

/// A turn that runs statements and answers with the text of an expression.
pub(super) fn turn(code: &str, value: &str, fuel: Option<Fuel>) -> Turn {
    let args = json!({ "code": code, "value": value }).to_string();
    let (_, limits) = RunLimits { fuel, ..RunLimits::DEFAULT }.split();
    Turn {
        id: RunId::of_seed(3),
        program: Program::Code { source: RUNNER.to_owned(), file_name: "main.py".to_owned() },
        entrypoint: Some("main".to_owned()),
        args: RawValue::from_string(args).unwrap(),
        keep_files: KeepFiles::Nothing,
        strict_output: false,
        stream_logs: false,
        profile: None,
        cell: None,
        files: None,
        limits,
    }
}

/// A guest in one of two sandboxes, and its packs.
pub(super) struct Parked {
    pub(super) guest: Option<OpenGuest>,
    pub(super) packs: Vec<Vec<u8>>,
    pub(super) facts: Vec<PackFacts>,
    setup: Arc<Setup>,
}

impl Parked {
    pub(super) fn open(sandbox: &mut Sandbox, setup: &Arc<Setup>) -> Self {
        let guest = Some(sandbox.open(Arc::clone(setup)).unwrap());
        Self { guest, packs: Vec::new(), facts: Vec::new(), setup: Arc::clone(setup) }
    }

    /// The text that a turn answers with, or the name of its failure.
    pub(super) fn run(&mut self, sandbox: &Sandbox, turn: &Turn) -> String {
        self.end_of(sandbox, turn).0
    }

    /// As [`run`](Self::run), and the whole end.
    pub(super) fn end_of(&mut self, sandbox: &Sandbox, turn: &Turn) -> (String, TurnEnd) {
        let guest = self.guest.as_mut().unwrap();
        let end = sandbox.turn(guest, turn, Box::new(Forgetful), Stopwatch::start()).unwrap();
        let text = match &end.outcome.end {
            Ok(()) => serde_json::from_slice::<String>(&end.output).unwrap(),
            Err(failure) => failure.to_string(),
        };
        (text, end)
    }

    /// Makes a checkpoint, and forgets the chain that it does not continue.
    pub(super) fn checkpoint(&mut self, sandbox: &Sandbox) -> PackFacts {
        let pack = sandbox.checkpoint(self.guest.as_mut().unwrap()).unwrap();
        if pack.facts.is_whole() {
            self.packs.clear();
            self.facts.clear();
        }
        self.packs.push(pack.bytes);
        self.facts.push(pack.facts);
        pack.facts
    }

    /// The guest is gone, as if its worker had ended.
    pub(super) fn lose(&mut self, sandbox: &Sandbox) {
        sandbox.close(self.guest.take().unwrap()).unwrap();
    }

    /// Makes the guest of its packs again, in any sandbox.
    pub(super) fn resume(&mut self, sandbox: &mut Sandbox) {
        let packs: Vec<&[u8]> = self.packs.iter().map(Vec::as_slice).collect();
        self.guest = Some(sandbox.resume(Arc::clone(&self.setup), &packs).unwrap());
    }

    /// Gives its memory to `look`.
    pub(super) fn memory(&self) -> &[u8] {
        self.guest.as_ref().unwrap().memory()
    }
}

/// The reason why packs were refused.
pub(super) fn refusal(sandbox: &mut Sandbox, setup: Setup, packs: &[&[u8]]) -> PackError {
    match sandbox.resume(Arc::new(setup), packs) {
        Err(SandboxError::Pack(refused)) => refused,
        Err(other) => panic!("a fault: {other}"),
        Ok(_) => panic!("the packs were taken"),
    }
}

/// Two sandboxes with seeded clocks. Each test takes both.
static SANDBOXES: LazyLock<Mutex<[Sandbox; 2]>> =
    LazyLock::new(|| Mutex::new([(); 2].map(|()| sandbox(SEEDED, Variant::Timed))));

/// Does `work` on a thread with room for a guest's stack, as a worker's.
pub(super) fn with_sandboxes(work: impl FnOnce(&mut [Sandbox; 2]) + Send) {
    on_guest_thread(|| {
        let mut sandboxes = SANDBOXES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        work(&mut sandboxes);
    });
}

/// As [`with_sandboxes`], without them.
pub(super) fn on_guest_thread(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let guest = std::thread::Builder::new().stack_size(wardian_worker::GUEST_STACK);
        let ended = guest.spawn_scoped(scope, work).unwrap().join();
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
}

/// The first place at which two memories differ.
pub(super) fn difference(one: &[u8], other: &[u8]) -> Option<usize> {
    if one.len() != other.len() {
        return Some(one.len().min(other.len()));
    }
    if one == other { None } else { one.iter().zip(other).position(|(one, other)| one != other) }
}

/// A limit on memory below what guests usually have.
pub(super) fn with_memory(limit: ByteCount) -> Setup {
    let mut setup = setup();
    setup.limits.memory = limit;
    setup
}
