//! An engine for tests: built like the real one, compiled in milliseconds.

use std::fs::{self, OpenOptions};
use std::io::{Cursor, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::abi::{HeapPlace, ModuleAbi, RandomPlace, SignalPlaces};
use crate::native::{MergeError, MergedModule, NativeSet, PinnedModule};
use crate::patches::Patches;
use crate::progress::{Progress, Step, StepEnd, StepReport};
use crate::source::fetch::EngineOrigin;
use crate::source::pin::{
    CStack, EnginePin, HashSecretPlace, PatchedModule, PinnedExport, PinnedFiles,
};
use crate::source::pinned_file::PinnedFile;
use crate::store::EngineStore;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

const MODULE: &str = r#"(module
    (import "host" "call" (func (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (table 2 funcref)
    (global (mut i32) (i32.const 0))
    (func $__wasilibc_reset_preopens)
    (func $dlmalloc
        (drop (i32.load offset=2048 (i32.const 0)))
        (drop (i32.load offset=2052 (i32.const 0)))
        (drop (i32.load offset=2056 (i32.const 0)))
        (drop (i32.load offset=2060 (i32.const 0)))
        (drop (i32.load offset=2064 (i32.const 0)))
        (drop (i32.load offset=2068 (i32.const 0)))
        (drop (i32.load offset=2072 (i32.const 0)))
        (drop (i32.load offset=2076 (i32.const 0)))
        (drop (i32.load offset=2080 (i32.const 0)))
        (drop (i32.load offset=2084 (i32.const 0)))
        (drop (i32.load offset=2352 (i32.const 0)))
        (drop (i32.load offset=2496 (i32.const 0))))
    (func $sqlite3_randomness
        (i32.store offset=4096 (i32.const 0) (i32.const 0))
        (drop (i32.load offset=4096 (i32.const 0))))
    (func $PyErr_SetInterruptEx (param i32) (result i32)
        (i32.store offset=128 (i32.shl (local.get 0) (i32.const 3)) (i32.const 1))
        (i32.store (i32.const 648) (i32.const 1))
        (call $_PyEval_SignalReceived)
        (i32.const 0))
    (func $_PyEval_SignalReceived (local i32)
        (local.set 0 (i32.load (i32.const 652)))
        (i32.store offset=12 (local.get 0)
            (i32.or (i32.load offset=12 (local.get 0)) (i32.const 2))))
    (func (export "_initialize"))
    (data (i32.const 16) "hello"))"#;

/// A native module as Emscripten's linker writes it: 64 bytes of memory and two slots.
const NATIVE: &str = r#"(module
    (@custom "dylink.0" (before first) "\01\04\40\02\02\00")
    (import "env" "memory" (memory 1))
    (import "env" "__indirect_function_table" (table 1 funcref))
    (import "env" "__memory_base" (global i32))
    (func (export "PyInit__mod") (result i32) (i32.const 0)))"#;

/// Where the functions above note signals.
const SIGNALS: SignalPlaces = SignalPlaces {
    handlers: 128,
    handler_size: 8,
    any_tripped: 648,
    main_thread: 652,
    breaker_offset: 12,
    breaker_bit: 2,
};

/// Where `dlmalloc` reads above.
const HEAP: HeapPlace = HeapPlace { state: 2048 };

/// What `sqlite3_randomness` resets above.
const SQLITE: RandomPlace = RandomPlace { random_state: 4096 };

/// A pin, the wheel that it names, and a folder for the cache. Dropping it removes all files.
#[derive(Debug)]
pub(super) struct TinyEngine {
    pub(super) pin: EnginePin,
    pub(super) library: Vec<u8>,
    /// The native module; empty for none.
    pub(super) native: Vec<u8>,
    folder: TempDir,
}

impl TinyEngine {
    /// The time of the clock.
    pub(super) const NOW: Duration = Duration::from_secs(1_700_000_000);

    pub(super) fn new() -> Self {
        Self::of(MODULE)
    }

    /// The same with a native module, whose wheel lies beside that of the engine.
    pub(super) fn with_a_native_module() -> Self {
        let added = "(table 2 2 funcref)
            (elem (i32.const 1) func $PyImport_AppendInittab)
            (func $PyImport_AppendInittab (param i32 i32) (result i32) (i32.const 0))";
        let module = MODULE.replace("(table 2 funcref)", added);
        let mut tiny = Self::of(&module.replace("(global (mut", "(global $__stack_pointer (mut"));
        tiny.native = wat::parse_str(NATIVE).unwrap();
        let wheel = archive(&[("pkg/_mod.so", &tiny.native)]);
        fs::write(tiny.native_wheel(), &wheel).unwrap();
        let pinned = |path: &str, content: &[u8]| {
            let (sha256, size_bytes) = (Digest::of(content), ByteCount::from(content.len()));
            PinnedFile { path: path.to_owned(), sha256, size_bytes }
        };
        let native = PinnedModule {
            package: "pkg".to_owned(),
            version: "1".to_owned(),
            name: "pkg._mod".to_owned(),
            licence: "MIT".to_owned(),
            sdist: None,
            wheel: pinned("pkg-1-cp314-cp314-tiny.whl", &wheel),
            file: pinned("pkg/_mod.so", &tiny.native),
        };
        let mut set = NativeSet {
            merged_module: MergedModule { sha256: tiny.pin.patched_module.sha256, numbers: None },
            modules: vec![native],
            shims: Vec::new(),
            lock: None,
        };
        let module = fs::read(tiny.unpacked().join(&tiny.pin.files.module.path)).unwrap();
        let patched = tiny.pin.patched(&module).unwrap();
        let merged = set.merge(&patched, std::slice::from_ref(&tiny.native)).unwrap_err();
        let MergeError::Result { found, .. } = merged else { panic!("{merged}") };
        set.merged_module.sha256 = found;
        tiny.pin.natives = Some(set);
        let export =
            PinnedExport { symbol: "wardian_prepare_native".into(), signature: "() -> i32".into() };
        tiny.pin.added_exports.insert("prepare_native".into(), export);
        let abi = &mut tiny.pin.abi;
        (abi.memory_min_pages, abi.table_elements, abi.data_segments) = (2, 5, 2);
        tiny
    }

    fn of(module: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let module_bytes = wat::parse_str(module).unwrap();
        let mpl_data = archive(&[("matplotlibrc", b"")]);
        let library = archive(&[("os.py", b"pass"), ("matplotlib/mpl-data.zip", &mpl_data)]);
        let manifest = b"python 3.15.0\npackage numpy 2.5.2\n".to_vec();
        let licences = b"as you like it".to_vec();
        let files = [
            ("tiny/artifacts/python.wasm", &module_bytes),
            ("tiny/artifacts/python-stdlib.zip", &library),
            ("tiny/artifacts/MANIFEST", &manifest),
            ("tiny-1.dist-info/licenses/LICENSE", &licences),
        ];
        let mut packed = files.map(|(path, content)| (path, content.as_slice())).to_vec();
        packed.push(("tiny/__init__.py", b"never unpacked"));
        let wheel = archive(&packed);
        fs::write(folder.path().join("tiny-1-py3-none-any.whl"), &wheel).unwrap();
        for (path, content) in files {
            let path = folder.path().join("unpacked").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let [module, library_file, manifest, licences] = files.map(|(path, content)| {
            let (sha256, size_bytes) = (Digest::of(content), ByteCount::from(content.len()));
            PinnedFile { path: path.to_owned(), sha256, size_bytes }
        });
        let (patches, patched) = Self::patches(&module_bytes);
        let pin = EnginePin {
            package: "tiny".to_owned(),
            version: "1".to_owned(),
            wheel: PinnedFile {
                path: "tiny-1-py3-none-any.whl".to_owned(),
                sha256: Digest::of(&wheel),
                size_bytes: ByteCount::from(wheel.len()),
            },
            files: PinnedFiles { module, library: library_file, manifest, licences },
            patched_module: PatchedModule { sha256: Digest::of(&patched) },
            patches,
            natives: None,
            added_exports: [(
                "reset_preopens".into(),
                PinnedExport {
                    symbol: "__wasilibc_reset_preopens".into(),
                    signature: "() -> ()".into(),
                },
            )]
            .into(),
            c_stack: CStack { base: 1024, size_bytes: 1024 },
            signals: SIGNALS,
            heap: HEAP,
            sqlite: SQLITE,
            hash_secret: HashSecretPlace {
                address: 0,
                size_bytes: ByteCount::bytes(24),
                is_set_address: 24,
            },
            abi: abi(),
        };
        Self { pin, library, native: Vec::new(), folder }
    }

    /// A table that changes `hello` to `hullo`, and the patched module.
    pub(super) fn patches(module: &[u8]) -> (Patches, Vec<u8>) {
        let place = module.windows(5).position(|bytes| bytes == b"hello").unwrap();
        let (input, offset) = (Digest::of(module), place + 1);
        let table = format!("input\t{input}\n-\t0x{offset:x}\t65\t75\twhy\n");
        let mut patched = module.to_vec();
        patched[offset] = b'u';
        (Patches::parse(&[("tiny.tsv", &table)]).unwrap(), patched)
    }

    /// The wheel.
    pub(super) fn wheel(&self) -> PathBuf {
        self.folder.path().join(&self.pin.wheel.path)
    }

    /// The wheel of the native module.
    pub(super) fn native_wheel(&self) -> PathBuf {
        self.folder.path().join("pkg-1-cp314-cp314-tiny.whl")
    }

    /// A folder with the wheel in it.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The wheel, unpacked.
    pub(super) fn unpacked(&self) -> PathBuf {
        self.folder.path().join("unpacked")
    }

    /// A store that takes the engine from the wheel.
    pub(super) fn store(&self) -> EngineStore {
        self.store_from(EngineOrigin::Path(self.wheel()))
    }

    pub(super) fn store_from(&self, origin: EngineOrigin) -> EngineStore {
        let cache = self.folder.path().join("cache");
        let clock = Clock::Fixed(Self::NOW);
        EngineStore::with_pin(self.pin.clone(), &cache, origin, clock).unwrap()
    }

    /// Changes a byte in the middle of a file.
    pub(super) fn flip_a_byte(path: &Path) {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let place = file.metadata().unwrap().len() / 2;
        let mut byte = [0];
        file.read_exact_at(&mut byte, place).unwrap();
        byte[0] ^= 1;
        file.write_all_at(&byte, place).unwrap();
        Self::age(path);
    }

    /// Waits until the file's time of change differs from that of files written before. It has a
    /// resolution of some milliseconds, and tests are faster.
    pub(super) fn age(path: &Path) {
        let changed = || {
            let metadata = fs::metadata(path).unwrap();
            (metadata.ctime(), metadata.ctime_nsec())
        };
        let (before, permissions) = (changed(), fs::metadata(path).unwrap().permissions());
        while changed() == before {
            fs::set_permissions(path, permissions.clone()).unwrap();
        }
    }
}

fn abi() -> ModuleAbi {
    let call = [("call".to_owned(), "(i32, i32, i32, i32) -> i32".to_owned())];
    ModuleAbi {
        memory_min_pages: 1,
        table_elements: 2,
        data_segments: 1,
        mutable_globals: 1,
        exports: [("memory", "memory"), ("_initialize", "() -> ()")]
            .map(|(name, of)| (name.to_owned(), of.to_owned()))
            .into(),
        imports: [("host".to_owned(), call.into())].into(),
    }
}

pub(super) fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Notes which steps begin.
#[derive(Debug, Default)]
pub(super) struct Recorder(Mutex<Vec<Step>>);

impl Recorder {
    pub(super) fn take(&self) -> Vec<Step> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Progress for Recorder {
    fn begin(&self, report: &StepReport) {
        self.0.lock().push(report.step);
    }
    fn advance(&self, _report: &StepReport) {}
    fn end(&self, _step: Step, _ending: StepEnd) {}
}
