//! What is in the cache: for people who look, check or clean up.

use std::path::PathBuf;

use serde::Serialize;

use crate::engine::EngineError;
use crate::engine::cache::{Area, Finding, Shelf, storage};
use crate::engine::compile::{Variant, WASMTIME_VERSION};
use crate::engine::hollow::TRANSFORM_VERSION;
use crate::engine::manifest::EngineManifest;
use crate::engine::progress::{Progress, Running, Step};
use crate::engine::record::Record;
use crate::engine::store::{EngineStore, ModuleFacts, open_pinned};
use crate::ids::Digest;
use crate::units::ByteCount;

/// The engine as this program knows it and as this machine has it.
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
    /// Numbers of the module.
    pub facts: ModuleFacts,
    /// Where everything lies.
    pub cache_folder: PathBuf,
    /// Which variants could run at once.
    pub variants: Vec<VariantReport>,
    /// Python and its packages; `None` until the engine is installed.
    pub contents: Option<EngineManifest>,
    /// The files in the cache.
    pub files: Vec<FileReport>,
}

/// One variant of the native code.
#[derive(Debug, Clone, Serialize)]
pub struct VariantReport {
    /// Which one.
    pub variant: Variant,
    /// Digest of everything that decides what its code looks like.
    pub key: Digest,
    /// True if it could run at once.
    pub is_ready: bool,
}

/// One file in the cache.
#[derive(Debug, Clone, Serialize)]
pub struct FileReport {
    /// Where it lies.
    pub path: PathBuf,
    /// Its record; `None` if that cannot be read, and then the file is made again when needed.
    pub record: Option<Record>,
    /// True if this program, as it is configured now, would use it. Images are for others to
    /// judge and always count as used.
    pub is_used: bool,
}

/// What a full check found about one file.
#[derive(Debug, Clone, Serialize)]
pub struct VerifiedFile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it is.
    pub what: Option<String>,
    /// Whether its content is right.
    pub finding: Finding,
}

/// What to remove from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanUp {
    /// Whatever this program would not use: leftovers of older versions and other settings.
    Unused,
    /// All of it.
    Everything,
}

/// What was removed from the cache.
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
        let manifest = open_pinned(&self.engine_shelf(), &self.pin.files.manifest)?;
        let contents = match manifest {
            Some(found) => {
                let read = EngineManifest::read(&found.file);
                Some(read.map_err(storage("read", &found.path))?)
            }
            None => None,
        };
        let mut files = Vec::new();
        for (shelf, is_used) in self.shelves()? {
            for name in shelf.names()? {
                let (path, record) = (shelf.path().join(&name), shelf.find_record(&name)?);
                files.push(FileReport { path, record, is_used });
            }
        }
        Ok(EngineReport {
            package: self.pin.package.clone(),
            version: self.pin.version.clone(),
            sha256: self.pin.wheel.sha256,
            wasmtime: WASMTIME_VERSION,
            transform: TRANSFORM_VERSION,
            facts: self.facts(),
            cache_folder: self.cache.path().to_owned(),
            variants,
            contents,
            files,
        })
    }

    /// Reads every file in the cache and compares it with its record, and the engine's own files
    /// with the pin.
    ///
    /// # Errors
    ///
    /// The cache cannot be read. A damaged file is a finding, not an error.
    pub fn verify(&self, progress: &dyn Progress) -> Result<Vec<VerifiedFile>, EngineError> {
        let pinned_shelf = self.engine_shelf();
        let mut files = Vec::new();
        for (shelf, _) in self.shelves()? {
            for name in shelf.names()? {
                let record = shelf.find_record(&name)?;
                let total = record.as_ref().map(|record| record.size_bytes);
                let pinned = self.pin.files.all().into_iter().find(|file| file.name() == name);
                let pinned = pinned.filter(|_| shelf.path() == pinned_shelf.path()).map(|file| file.sha256);
                let running = Running::begin(progress, Step::Verify, total);
                let finding = shelf.verify(&name, pinned.as_ref(), |done| running.advance(done))?;
                running.finish();
                let what = record.map(|record| record.what);
                files.push(VerifiedFile { path: shelf.path().join(&name), what, finding });
            }
        }
        Ok(files)
    }

    /// Removes files from the cache. What a running server has open stays usable for it.
    ///
    /// # Errors
    ///
    /// Another process is adding to the cache, or a file cannot be removed.
    pub fn clean(&self, what: CleanUp) -> Result<Removed, EngineError> {
        let shelves = self.shelves()?.into_iter();
        let doomed = shelves.filter(|(_, is_used)| !is_used || what == CleanUp::Everything);
        let doomed = doomed.map(|(shelf, _)| shelf).collect::<Vec<_>>();
        let freed_bytes = self.cache.remove(&doomed)?;
        let folders = doomed.iter().map(|shelf| shelf.path().to_owned()).collect();
        Ok(Removed { folders, freed_bytes })
    }

    /// All shelves in the cache, and whether they are used.
    fn shelves(&self) -> Result<Vec<(Shelf, bool)>, EngineError> {
        let mut used = vec![self.engine_shelf(), self.apart_shelf()];
        for variant in Variant::ALL {
            used.push(self.native_shelf(&self.key(variant)?));
        }
        let mut shelves = Vec::new();
        for area in Area::ALL {
            for shelf in self.cache.shelves(area)? {
                let is_named = used.iter().any(|used| used.path() == shelf.path());
                let is_used = area == Area::Images || is_named;
                shelves.push((shelf, is_used));
            }
        }
        Ok(shelves)
    }
}
