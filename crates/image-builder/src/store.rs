//! The images on the disk: found by their keys, made if they are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::to_raw_value;

use crate::batteries::Batteries;
use crate::error::ImageError;
use crate::key::{ImageOrigin, key};
use crate::secret::{self, HASH_SECRET, MASTER, MASTER_SIZE};
use crate::{locking, source};
use wardian_engine::cache::entry::{Area, CacheEntry};
use wardian_engine::cache::file::CheckedFile;
use wardian_engine::progress::{Progress, Running, Step};
use wardian_engine::{EngineArtifacts, EngineStore, HashSecretPlace};
use wardian_formats::job::image::ImageContent;
use wardian_formats::job::layer::LayerContent;
use wardian_formats::job::limits::RunLimits;
use wardian_images::{Image, ImageFault, ImageUsage, KeptImage, KeptImages, PackageSet};
use wardian_sandbox::clock_and_random::ClockAndRandomMode;
use wardian_sandbox::memory::MemoryImage;
use wardian_sandbox::vfs::ImageDescriptors;
use wardian_sandbox::{CodeSpec, ImageSpec, Library, Preset, SandboxError, WarmUp, warm_up};
use wardian_vocabulary::ids::{Digest, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Name of the memory in the cache.
const MEMORY: &str = "memory.img";
/// The key of an image's name in its record.
const PROFILE: &str = "profile";
/// Name of the list of open files in the cache.
const DESCRIPTORS: &str = "open-files";

/// Longest list of open files that is read.
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// Variables that the interpreter starts with. An empty `PYTHONTZPATH` makes it read time zones
/// from its library, because the sandbox has no folder with them.
const ENVIRONMENT: &[(&str, &str)] = &[("PYTHONTZPATH", "")];

/// The clock and the randomness that the image of reproducible runs is made with. The time is the
/// first of January 2026.
const REPRODUCIBLE: ClockAndRandomMode =
    ClockAndRandomMode::Seeded { seed: [0; 32], realtime: Duration::from_secs(1_767_225_600) };

/// Largest memory of an image: no interpreter that is made ready may grow beyond it.
pub const LARGEST_IMAGE: ByteCount = ByteCount::mebibytes(512);

/// Limits for making an image, far above its usual cost.
const LIMITS: RunLimits =
    RunLimits { wall_time: Duration::from_secs(300), memory: LARGEST_IMAGE, ..RunLimits::DEFAULT };

/// The images of one engine on the disk.
#[derive(Debug)]
pub struct ImageStore {
    engine: EngineStore,
    artifacts: Arc<EngineArtifacts>,
    /// The tenant whose images these are; `None` for those that tenants share.
    tenant: Option<TenantId>,
    /// Tenants whose base images are not removed.
    spared: Vec<TenantId>,
    /// Without them, images have no groups of batteries.
    batteries: Option<Arc<dyn Batteries>>,
}

impl ImageStore {
    /// The images that are made from `artifacts`, kept in the cache of `engine`.
    #[must_use]
    pub fn new(engine: &EngineStore, artifacts: &Arc<EngineArtifacts>) -> Self {
        let (engine, artifacts) = (engine.clone(), Arc::clone(artifacts));
        Self { engine, artifacts, tenant: None, spared: Vec::new(), batteries: None }
    }

    /// The same images, and those with groups of batteries.
    #[must_use]
    pub fn with_batteries(self, batteries: Arc<dyn Batteries>) -> Self {
        Self { batteries: Some(batteries), ..self }
    }

    /// The images of one tenant, which have a hash secret of their own.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> Self {
        let (tenant, batteries) = (Some(tenant.clone()), self.batteries.clone());
        Self { tenant, batteries, ..Self::new(&self.engine, &self.artifacts) }
    }

    /// The same images. The base images of `tenants` are spared when images are removed.
    #[must_use]
    pub fn sparing(self, tenants: &[TenantId]) -> Self {
        Self { spared: tenants.to_vec(), ..self }
    }

    /// Names what decides the content of images, except for their hash secrets and the choice of their
    /// packages. A guest that began as an image can go on as long as this is the same.
    #[must_use]
    pub fn version(&self) -> Digest {
        let all = self.possible(PackageSet::ALL);
        key(&self.origin(all), Digest::of(b"any"), &source::text(all))
    }

    /// True if the image for `packages` is in the cache.
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub fn has(&self, packages: PackageSet) -> Result<bool, ImageError> {
        Ok(self.entry(packages)?.find_record(MEMORY)?.is_some())
    }

    /// The image for `packages`, made now if it is not in the cache. It has no groups of batteries if
    /// this store has [none](Self::with_batteries).
    ///
    /// # Errors
    ///
    /// The interpreter cannot be warmed up, the batteries are not on this machine, or the cache fails.
    pub fn ensure(
        &self,
        packages: PackageSet,
        progress: &dyn Progress,
    ) -> Result<Image, ImageError> {
        let packages = self.possible(packages);
        let entry = self.entry(packages)?;
        if let Some(image) = find(&entry, packages)? {
            return Ok(image);
        }
        let lock = entry.lock(|| ())?;
        if let Some(image) = find(&entry, packages)? {
            return Ok(image);
        }
        let running = Running::begin(progress, Step::WarmUp, None);
        let storage = |cause| ImageError::Storage { name: packages.to_string(), cause };
        let failed = |cause| ImageError::Sandbox { name: packages.to_string(), cause };
        let batteries = self.batteries_for(packages)?;
        let secret = self.hash_secret(packages)?;
        let order = self.order(packages, &secret, batteries).map_err(failed)?;
        let warmed = warm_up(order).map_err(failed)?;
        let made_from = BTreeMap::from([
            (PROFILE.to_owned(), packages.to_string()),
            ("native".to_owned(), self.artifacts.native.digest().to_string()),
            ("cold_image".to_owned(), self.artifacts.cold_image.digest().to_string()),
        ]);
        let mut draft = lock.draft(DESCRIPTORS)?;
        let descriptors =
            serde_json::to_vec(warmed.descriptors()).map_err(|e| storage(e.into()))?;
        draft.write_all(&descriptors).map_err(storage)?;
        draft.commit("files that are open in a memory image", made_from.clone())?;
        let mut draft = lock.draft(MEMORY)?;
        draft.write_sparse(warmed.memory())?;
        let made = draft.commit("a memory image", made_from)?;
        running.finish();
        load(packages, made, warmed.descriptors())
    }

    /// The folder in which the image for `packages` lies or would lie.
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub fn folder(&self, packages: PackageSet) -> Result<PathBuf, ImageError> {
        Ok(self.entry(packages)?.path().to_owned())
    }

    /// The image in an entry, if it fits this version of the program.
    fn made_on(&self, entry: &CacheEntry) -> Option<KeptImage> {
        let record = entry.find_record(MEMORY).ok().flatten()?;
        let packages: PackageSet = record.made_from.get(PROFILE)?.parse().ok()?;
        let is_ours = self.folder(packages).ok()? == entry.path();
        let size = entry.size().ok()?;
        is_ours.then(|| KeptImage { packages, size, usage: ImageUsage::read(entry.path()) })
    }

    /// The cache entry of the image for `packages`.
    fn entry(&self, packages: PackageSet) -> Result<CacheEntry, ImageError> {
        let packages = self.possible(packages);
        let secret = Digest::of(&self.hash_secret(packages)?);
        let key = key(&self.origin(packages), secret, &source::text(packages));
        Ok(self.engine.cache().entry(Area::Images, &key))
    }

    /// The packages that images of this store can have.
    fn possible(&self, packages: PackageSet) -> PackageSet {
        match self.batteries {
            Some(_) => packages,
            None => packages.without(PackageSet::OF_BATTERIES),
        }
    }

    /// The batteries of which the image for `packages` has some.
    fn batteries_of(&self, packages: PackageSet) -> Option<&dyn Batteries> {
        let has_some = packages.shared_with(PackageSet::OF_BATTERIES) > 0;
        self.batteries.as_deref().filter(|_| has_some)
    }

    /// The layer of the batteries and its bytecode, to make the image for `packages`.
    fn batteries_for(
        &self,
        packages: PackageSet,
    ) -> Result<Option<(LayerContent, Option<LayerContent>)>, ImageError> {
        let Some(batteries) = self.batteries_of(packages) else { return Ok(None) };
        let name = packages.to_string();
        match batteries.open() {
            // As in a reproducible run, bytecode of this machine decides nothing.
            Ok(Some((content, _))) if packages.is_reproducible() => Ok(Some((content, None))),
            Ok(Some(found)) => Ok(Some(found)),
            Ok(None) => Err(ImageError::NoBatteries { name }),
            Err(cause) => Err(ImageError::Storage { name, cause }),
        }
    }

    /// The inputs of images besides their source.
    fn origin(&self, packages: PackageSet) -> ImageOrigin {
        let EngineArtifacts { key, cold_image, library, c_stack, .. } = &*self.artifacts;
        ImageOrigin {
            module: key.module,
            transform: key.transform,
            cold_image: cold_image.digest(),
            library: library.digest(),
            c_stack: *c_stack,
            batteries: self.batteries_of(packages).map(Batteries::digest),
        }
    }

    /// The secret of Python's hashes in the image for `packages`: that of this cache, drawn now if
    /// there is none, one that follows from it, or the fixed one of reproducible runs.
    fn hash_secret(&self, packages: PackageSet) -> Result<Vec<u8>, ImageError> {
        let size = self.artifacts.hash_secret.size_bytes;
        if packages.is_reproducible() {
            return Ok(secret::fixed(size));
        }
        let shared = secret::current(&self.secret_entry(), size)?;
        let Some(tenant) = &self.tenant else { return Ok(shared) };
        let entry = self.engine.cache().entry(Area::Images, &Digest::of(MASTER.as_bytes()));
        let master = secret::current(&entry, MASTER_SIZE)?;
        Ok(secret::of_tenant(&master, &shared, tenant, size))
    }

    fn secret_entry(&self) -> CacheEntry {
        self.engine.cache().entry(Area::Images, &Digest::of(HASH_SECRET.as_bytes()))
    }

    /// The order to make the image for `packages`.
    fn order(
        &self,
        packages: PackageSet,
        secret: &[u8],
        batteries: Option<(LayerContent, Option<LayerContent>)>,
    ) -> Result<WarmUp<'_>, SandboxError> {
        let system = |cause| SandboxError::System { what: "open the engine's files", cause };
        let artifacts = &*self.artifacts;
        let code = CodeSpec {
            options: artifacts.key.options(),
            native: artifacts.native.file.try_clone().map_err(system)?,
            declared_pages: usize::try_from(artifacts.facts.memory_min_pages).unwrap_or(usize::MAX),
            signals: artifacts.signals,
        };
        let descriptors = ImageDescriptors::default();
        let start =
            ImageSpec { memory: MemoryImage::seal(artifacts.cold_image.content())?, descriptors };
        let library = artifacts.library.file.try_clone().map_err(system)?;
        Ok(WarmUp {
            code,
            start,
            library: Library::new(library, artifacts.mpl_data()?)?,
            batteries,
            presets: presets(artifacts.hash_secret, secret)
                .into_iter()
                .chain(locking::presets())
                .collect(),
            c_stack: artifacts.c_stack,
            sqlite: artifacts.sqlite,
            environment: ENVIRONMENT,
            sources: vec![source::text(packages)],
            limits: LIMITS,
            clock_and_random: if packages.is_reproducible() {
                REPRODUCIBLE
            } else {
                ClockAndRandomMode::Live
            },
        })
    }
}

impl KeptImages for ImageStore {
    fn find(&self, packages: PackageSet) -> Result<Option<Image>, ImageFault> {
        Ok(find(&self.entry(packages)?, packages)?)
    }

    fn list(&self) -> Result<Vec<KeptImage>, ImageFault> {
        let entries = self.engine.cache().entries(Area::Images)?;
        Ok(entries.iter().filter_map(|entry| self.made_on(entry)).collect())
    }

    fn shrink(
        &self,
        limit: ByteCount,
        used: &BTreeSet<PackageSet>,
    ) -> Result<ByteCount, ImageFault> {
        let cache = self.engine.cache();
        let spared =
            self.spared.iter().map(|tenant| self.of_tenant(tenant).folder(PackageSet::NONE));
        let spared = spared.collect::<Result<BTreeSet<PathBuf>, _>>()?;
        let mut total = 0_u64;
        let mut doomed = Vec::new();
        for entry in cache.entries(Area::Images)? {
            if entry.find_record(MEMORY)?.is_none() {
                continue;
            }
            let size = entry.size()?.as_u64();
            total = total.saturating_add(size);
            let made = self.made_on(&entry);
            if spared.contains(entry.path()) {
                continue;
            }
            if made.as_ref().is_none_or(|made| !used.contains(&made.packages)) {
                let last_used = made.map(|made| made.usage.last_used_unix_seconds);
                doomed.push((last_used, size, entry));
            }
        }
        doomed.sort_unstable_by_key(|(last_used, size, _)| (*last_used, *size));
        let mut surplus = Vec::new();
        for (_, size, entry) in doomed {
            if total <= limit.as_u64() {
                break;
            }
            total = total.saturating_sub(size);
            surplus.push(entry);
        }
        if surplus.is_empty() { Ok(ByteCount::default()) } else { Ok(cache.remove(&surplus)?) }
    }

    fn renew_secret(&self, oldest: Duration) -> Result<bool, ImageFault> {
        if self.tenant.is_some() {
            // Theirs follow from the shared one.
            return Ok(false);
        }
        let size = self.artifacts.hash_secret.size_bytes;
        Ok(secret::renew(&self.secret_entry(), size, oldest)?)
    }

    fn is_current(&self, packages: PackageSet, digest: Digest) -> Result<bool, ImageFault> {
        let record = self.entry(packages)?.find_record(MEMORY)?;
        Ok(record.is_some_and(|record| record.sha256 == digest))
    }

    fn note_use(&self, packages: PackageSet, more: u64, now: Duration) {
        let Ok(folder) = self.folder(packages) else { return };
        let before = ImageUsage::read(&folder);
        let usage = ImageUsage {
            hits: before.hits.saturating_add(more),
            last_used_unix_seconds: now.as_secs(),
        };
        // A read-only cache is fine: the next start only orders its images less well.
        usage.write(&folder).ok();
    }
}

/// Values that are put into memory before the interpreter starts: the secret, and a mark that it is
/// set.
fn presets(place: HashSecretPlace, secret: &[u8]) -> Vec<Preset> {
    vec![
        Preset { address: place.address, before: vec![0; secret.len()], after: secret.to_vec() },
        Preset { address: place.is_set_address, before: vec![0], after: vec![1] },
    ]
}

/// The image in an entry, if it is complete.
fn find(entry: &CacheEntry, packages: PackageSet) -> Result<Option<Image>, ImageError> {
    let Some(memory) = entry.open_checked(MEMORY, None)? else { return Ok(None) };
    let Some(descriptors) = entry.open_checked(DESCRIPTORS, None)? else { return Ok(None) };
    let storage = |cause| ImageError::Storage { name: packages.to_string(), cause };
    let mut text = String::new();
    let mut limited = descriptors.file.take(MAX_DESCRIPTORS);
    limited.read_to_string(&mut text).map_err(storage)?;
    let descriptors = serde_json::from_str(&text).map_err(|error| storage(error.into()))?;
    load(packages, memory, &descriptors).map(Some)
}

/// Copies an image into a sealed memory file.
fn load(
    packages: PackageSet,
    memory: CheckedFile,
    descriptors: &ImageDescriptors,
) -> Result<Image, ImageError> {
    let (digest, length) = (memory.digest(), memory.size());
    let storage = |cause| ImageError::Storage { name: packages.to_string(), cause };
    let open_files = to_raw_value(descriptors).map_err(|error| storage(error.into()))?;
    let sealed = MemoryImage::seal(memory.file)
        .map_err(|cause| ImageError::Sandbox { name: packages.to_string(), cause: cause.into() })?;
    let blocks = rustix::fs::fstat(&sealed).map_err(|errno| storage(errno.into()))?.st_blocks;
    let resident = u64::try_from(blocks).unwrap_or(0).saturating_mul(512);
    let content =
        Arc::new(ImageContent::new(packages.to_string(), digest, (sealed, length), open_files));
    Ok(Image { packages, content, resident: ByteCount::bytes(resident) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_secret_is_in_memory_before_the_start() {
        let place =
            HashSecretPlace { address: 8, size_bytes: ByteCount::bytes(24), is_set_address: 40 };
        let [secret, flag] = presets(place, &[7; 24]).try_into().unwrap();
        assert_eq!((secret.address, secret.before, secret.after), (8, vec![0; 24], vec![7; 24]));
        assert_eq!((flag.address, flag.before, flag.after), (40, vec![0], vec![1]));
    }
}
