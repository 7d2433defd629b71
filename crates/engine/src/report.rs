//! Reports, checks and cleans up the cache.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Serialize;

use crate::cache::entry::{Area, CacheEntry, Finding};
use crate::cache::file::storage;
use crate::cache::manifest::EngineManifest;
use crate::code::compile::{TargetCpu, WASMTIME_VERSION};
use crate::code::instrumentation::Variant;
use crate::code::polls::Interruption;
use crate::code::split_data::TRANSFORM_VERSION;
use crate::error::EngineError;
use crate::progress::{Progress, Running, Step};
use crate::store::{CODE_MODULE, COLD, EngineStore, ModuleFacts, native_name, open_pinned};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The pinned engine and its state on this machine.
#[derive(Debug, Clone, Serialize)]
pub struct EngineReport {
    /// Name of the package that it comes in.
    pub package: String,
    /// Version of that package.
    pub version: String,
    /// Digest of the package's archive.
    pub sha256: Digest,
    /// Version of wasmtime.
    pub wasmtime: &'static str,
    /// Version of the transform.
    pub transform: u32,
    /// The way in which guests are stopped.
    pub interruption: Interruption,
    /// The instructions that the code may use.
    pub cpu: TargetCpu,
    /// Numbers of the module.
    pub facts: ModuleFacts,
    /// The native modules of packages.
    pub native: NativeReport,
    /// The folder of the cache.
    pub cache_folder: PathBuf,
    /// The variants that are compiled.
    pub variants: Vec<VariantReport>,
    /// Python and its packages; `None` until the engine is installed.
    pub contents: Option<EngineManifest>,
    /// The files in the cache.
    pub files: Vec<FileReport>,
}

/// The native modules of an engine.
#[derive(Debug, Clone, Serialize)]
pub struct NativeReport {
    /// The operator's lock that names them; `None` for the set that is built in.
    pub lock: Option<PathBuf>,
    /// Digest of the engine's module with them.
    pub module: Digest,
    /// In the order in which they are merged.
    pub modules: Vec<NativeModuleReport>,
}

/// A native module of an engine.
#[derive(Debug, Clone, Serialize)]
pub struct NativeModuleReport {
    /// The name under which Python imports it.
    pub name: String,
    /// Its package.
    pub package: String,
    /// The version of its package.
    pub version: String,
    /// Digest of its wheel.
    pub wheel_sha256: Digest,
}

/// One variant of the native code.
#[derive(Debug, Clone, Serialize)]
pub struct VariantReport {
    /// The variant.
    pub variant: Variant,
    /// Digest of everything that decides its code.
    pub key: Digest,
    /// True if it is compiled.
    pub is_ready: bool,
}

/// One file in the cache.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// The path.
    pub path: PathBuf,
    /// A description for people.
    pub what: String,
    /// Digest that its content should have.
    pub sha256: Digest,
    /// Length that its content should have.
    pub size_bytes: ByteCount,
    /// Its origin: names and digests or versions.
    pub made_from: BTreeMap<String, String>,
    /// The time at which it was made, in seconds since the Unix epoch.
    pub created_unix_seconds: u64,
    /// True if this program would use it with its present configuration. This module knows nothing
    /// of images, so they always count as used.
    pub is_used: bool,
}

/// The result of a full check of one file.
#[derive(Debug, Clone, Serialize)]
pub struct VerifiedFile {
    /// The path.
    pub path: PathBuf,
    /// A description for people.
    pub what: Option<String>,
    /// The state of its content.
    pub finding: Finding,
}

/// The part of the cache to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanUp {
    /// Everything that this program would not use: leftovers of older versions and other settings.
    Unused,
    /// All of it.
    Everything,
}

/// The removed part of the cache.
#[derive(Debug, Clone, Serialize)]
pub struct Removed {
    /// Folders that are gone.
    pub folders: Vec<PathBuf>,
    /// Bytes on the disk that are free again.
    pub freed_bytes: ByteCount,
}

impl EngineStore {
    /// Describes the engine and what is in the cache, from the records.
    ///
    /// # Errors
    ///
    /// The cache cannot be read.
    pub fn report(&self) -> Result<EngineReport, EngineError> {
        let mut variants = Vec::new();
        for variant in Variant::ALL {
            let (key, is_ready) = (self.key(variant)?.digest(), self.is_ready(variant)?);
            variants.push(VariantReport { variant, key, is_ready });
        }
        let manifest = open_pinned(&self.engine_entry(), &self.pin.files.manifest)?;
        let contents = match manifest {
            Some(found) => {
                let read = EngineManifest::read(&found.file);
                Some(read.map_err(storage("read", &found.path))?)
            }
            None => None,
        };
        let mut files = Vec::new();
        for (entry, is_used) in self.entries()? {
            for name in entry.names()? {
                // A file without a readable record is damaged; `verify` reports it.
                let Some(record) = entry.find_record(&name)? else { continue };
                files.push(FileReport {
                    path: entry.path().join(&name),
                    what: record.what,
                    sha256: record.sha256,
                    size_bytes: record.size_bytes,
                    made_from: record.made_from,
                    created_unix_seconds: record.created_unix_seconds,
                    is_used,
                });
            }
        }
        Ok(EngineReport {
            package: self.pin.package.clone(),
            version: self.pin.version.clone(),
            sha256: self.pin.wheel.sha256,
            wasmtime: WASMTIME_VERSION,
            transform: TRANSFORM_VERSION,
            interruption: self.interruption,
            cpu: self.cpu,
            facts: self.facts(),
            native: self.native_report(),
            cache_folder: self.cache.path().to_owned(),
            variants,
            contents,
            files,
        })
    }

    fn native_report(&self) -> NativeReport {
        let natives = self.pin.natives.as_ref();
        let modules = natives.iter().flat_map(|set| &set.modules);
        let modules = modules.map(|module| NativeModuleReport {
            name: module.name.clone(),
            package: module.package.clone(),
            version: module.version.clone(),
            wheel_sha256: module.wheel.sha256,
        });
        NativeReport {
            lock: natives.and_then(|set| set.lock.clone()),
            module: self.pin.compiled_module(),
            modules: modules.collect(),
        }
    }

    /// Reads every file in the cache and compares it with its record, and the engine's own files
    /// with the pin.
    ///
    /// # Errors
    ///
    /// The cache cannot be read. A damaged file is a finding, not an error.
    pub fn verify(&self, progress: &dyn Progress) -> Result<Vec<VerifiedFile>, EngineError> {
        let pinned_entry = self.engine_entry();
        let expected = self.expected()?;
        let mut recorded = Vec::new();
        let mut total = 0_u64;
        for entry in self.entries_to_verify(&expected)? {
            let mut names: BTreeSet<String> = entry.names()?.into_iter().collect();
            // An expected file counts as missing even if its record is gone too.
            let here = expected.iter().filter(|(one, _)| one.path() == entry.path());
            names.extend(here.map(|(_, name)| name.clone()));
            for name in names {
                let record = entry.find_record(&name)?;
                let size = record.as_ref().map_or(0, |record| record.size_bytes.as_u64());
                total = total.saturating_add(size);
                recorded.push((entry.clone(), name, record));
            }
        }
        let running = Running::begin(progress, Step::Verify, Some(total));
        let mut files = Vec::new();
        let mut before = 0_u64;
        for (entry, name, record) in recorded {
            let pinned = self.pin.files.all().into_iter().find(|file| file.name() == name);
            let pinned = pinned.filter(|_| entry.path() == pinned_entry.path());
            let pinned = pinned.map(|file| file.sha256);
            let mut here = 0;
            let finding = entry.verify(&name, pinned.as_ref(), |done| {
                here = done.as_u64();
                running.advance(before.saturating_add(here));
            })?;
            before = before.saturating_add(here);
            let what = record.map(|record| record.what);
            files.push(VerifiedFile { path: entry.path().join(&name), what, finding });
        }
        running.finish();
        Ok(files)
    }

    /// The files that runs need, each with its entry; empty if nothing was installed.
    fn expected(&self) -> Result<Vec<(CacheEntry, String)>, EngineError> {
        if self.entries()?.is_empty() {
            return Ok(Vec::new());
        }
        let (engine, split) = (self.engine_entry(), self.split_entry());
        let native = self.native_entry(&self.key(Variant::Timed)?);
        let pinned = self.pin.files.all().into_iter();
        let mut expected: Vec<_> =
            pinned.map(|file| (engine.clone(), file.name().to_owned())).collect();
        expected.extend([CODE_MODULE, COLD].map(|name| (split.clone(), name.to_owned())));
        expected.push((native, native_name(Variant::Timed)));
        Ok(expected)
    }

    /// The present entries, and the expected ones that are missing.
    fn entries_to_verify(
        &self,
        expected: &[(CacheEntry, String)],
    ) -> Result<Vec<CacheEntry>, EngineError> {
        let mut entries: Vec<CacheEntry> =
            self.entries()?.into_iter().map(|(entry, _)| entry).collect();
        for (entry, _) in expected {
            if !entries.iter().any(|one| one.path() == entry.path()) {
                entries.push(entry.clone());
            }
        }
        Ok(entries)
    }

    /// Removes files from the cache. Files that a running server has open stay usable for it.
    ///
    /// # Errors
    ///
    /// Another process is adding to the cache, or a file cannot be removed.
    pub fn clean(&self, what: CleanUp) -> Result<Removed, EngineError> {
        let entries = self.entries()?.into_iter();
        let doomed = entries.filter(|(_, is_used)| !is_used || what == CleanUp::Everything);
        let doomed = doomed.map(|(entry, _)| entry).collect::<Vec<_>>();
        let freed_bytes = self.cache.remove(&doomed)?;
        let folders = doomed.iter().map(|entry| entry.path().to_owned()).collect();
        Ok(Removed { folders, freed_bytes })
    }

    /// All entries in the cache, each with true if this program uses it.
    fn entries(&self) -> Result<Vec<(CacheEntry, bool)>, EngineError> {
        let mut used = vec![self.engine_entry(), self.modules_entry(), self.split_entry()];
        for variant in Variant::ALL {
            used.push(self.native_entry(&self.key(variant)?));
        }
        let mut entries = Vec::new();
        for area in Area::ALL {
            for entry in self.cache.entries(area)? {
                let is_named = used.iter().any(|used| used.path() == entry.path());
                let is_used = area == Area::Images || is_named;
                entries.push((entry, is_used));
            }
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::progress::Silent;
    use crate::tiny::TinyEngine;

    #[test]
    fn a_report_lists_present_and_missing_parts() {
        let tiny = TinyEngine::new();
        let store = tiny.store();
        let empty = store.report().unwrap();
        assert!(empty.contents.is_none() && empty.files.is_empty());
        assert!(empty.variants.iter().all(|variant| !variant.is_ready));

        store.ensure(Variant::Metered, &Silent).unwrap();
        let full = store.report().unwrap();
        assert_eq!(full.contents.as_ref().unwrap().packages[0].name, "numpy");
        let ready = full.variants.iter().filter(|variant| variant.is_ready);
        assert_eq!(ready.map(|variant| variant.variant).collect::<Vec<_>>(), [Variant::Metered]);
        assert_eq!(full.files.len(), 7);
        assert!(full.files.iter().all(|file| file.is_used));
        let native = full.files.iter().find(|file| file.path.ends_with("metered.cwasm")).unwrap();
        assert_eq!(native.made_from["wasmtime"], WASMTIME_VERSION);
        assert_eq!(native.created_unix_seconds, TinyEngine::NOW.as_secs());
        assert!(serde_json::to_string(&full).is_ok());
    }

    #[test]
    fn verify_reads_every_file_and_ignores_earlier_checks() {
        let tiny = TinyEngine::new();
        let store = tiny.store();
        store.ensure(Variant::Timed, &Silent).unwrap();
        let good = store.verify(&Silent).unwrap();
        assert_eq!(good.len(), 7);
        assert!(good.iter().all(|file| file.finding == Finding::Good));

        let library = store.engine_entry().path().join("python-stdlib.zip");
        let cold = store.split_entry().path().join("cold.img");
        let hollow = store.split_entry().path().join("hollow.wasm");
        let module = store.engine_entry().path().join("python.wasm");
        let native = store.native_entry(&store.key(Variant::Timed).unwrap());
        for path in [module.clone(), module.with_extension("wasm.json")] {
            fs::remove_file(path).unwrap();
        }
        fs::remove_dir_all(native.path()).unwrap();
        TinyEngine::flip_a_byte(&library);
        fs::remove_file(&cold).unwrap();
        fs::write(hollow.with_extension("wasm.json"), "{}").unwrap();
        let bad = store.verify(&Silent).unwrap().into_iter();
        let bad = bad.filter(|file| file.finding != Finding::Good);
        let mut bad = bad.map(|file| (file.path, file.finding)).collect::<Vec<_>>();
        bad.sort_by(|one, other| one.0.cmp(&other.0));
        let mut expected = vec![
            (cold, Finding::Missing),
            (hollow, Finding::Damaged),
            (library, Finding::Damaged),
            (module, Finding::Missing),
            (native.path().join(native_name(Variant::Timed)), Finding::Missing),
        ];
        expected.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(bad, expected);
    }

    #[test]
    fn cleaning_keeps_used_files_unless_everything_is_removed() {
        let tiny = TinyEngine::new();
        let store = tiny.store();
        store.ensure(Variant::Timed, &Silent).unwrap();
        let old = store.cache().entry(Area::Native, &Digest::of(b"an older version"));
        let image = store.cache().entry(Area::Images, &Digest::of(b"an image"));
        for entry in [&old, &image] {
            let lock = entry.lock(|| {}).unwrap();
            let mut draft = lock.draft("file").unwrap();
            draft.write_sparse(&[7; 10_000]).unwrap();
            drop(draft.commit("a file", BTreeMap::new()).unwrap());
        }

        let removed = store.clean(CleanUp::Unused).unwrap();
        assert_eq!(removed.folders, [old.path()]);
        assert!(removed.freed_bytes >= ByteCount::bytes(10_000));
        assert!(store.is_ready(Variant::Timed).unwrap() && image.path().try_exists().unwrap());

        let open = store.ensure(Variant::Timed, &Silent).unwrap();
        assert_eq!(store.clean(CleanUp::Everything).unwrap().folders.len(), 4);
        assert!(store.report().unwrap().files.is_empty());
        assert!(!open.mpl_data().unwrap().is_empty(), "an open file was lost");
        store.ensure(Variant::Timed, &Silent).unwrap();
    }
}
