//! Memory images: interpreters that have imported what most programs need, kept as files.
//!
//! An image is made by running the guest's own Python once on the engine's cold memory. It takes
//! seconds and no compilation, so a changed guest package or another set of imports is cheap.
//! Images lie in the engine's cache, under a key of everything that decides their content.
//!
//! The base image has the common standard library, NumPy and pandas. Other packages take long to
//! import; for runs that use them there are images that hold them too: one for each set of
//! [groups of packages](Needs), made when it is first needed. Every run could begin as the base
//! image: which one it begins as decides how fast it is and nothing else.
//!
//! INVARIANT(image-key): an image made from another engine, another guest package or for other
//! needs has another key.
//!
//! # The hash secret
//!
//! Python's string hashes cannot change once strings were hashed, so their secret is part of an
//! image. The engine ignores its environment and would take a secret that everybody knows, with
//! which collisions can be prepared; so the secret is put in place before the interpreter starts.
//!
//! INVARIANT(hash-secret): it is drawn at random, once for all images in a cache: every deployment
//! has its own, and a program sees the same hashes whichever image it begins as. A running server
//! draws it anew after `images.max_age` and makes all images again, one after another.

mod imports;
mod locking;
mod needs;
mod secret;
mod source;
mod stock;
mod usage;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::to_raw_value;

use crate::engine::cache::{Area, CheckedFile, Shelf};
use crate::engine::progress::{Progress, Running, Step};
use crate::engine::{CStack, EngineArtifacts, EngineError, EngineStore, HashSecretPlace};
use crate::ids::Digest;
use crate::job::image::ImageContent;
use crate::job::limits::RunLimits;
use crate::sandbox::ambient::AmbientMode;
use crate::sandbox::memory::MemoryImage;
use crate::sandbox::vfs::ImageDescriptors;
use crate::sandbox::{CodeSpec, ImageSpec, Library, Preset, SandboxError, WarmUp, warm_up};
use crate::units::ByteCount;

use crate::images::secret::HASH_SECRET;

pub use crate::images::needs::{Needs, UnknownGroup};
pub use crate::images::stock::{ImageStock, Maker, StockReport, StockRules};
pub use crate::images::usage::Usage;

/// Part of every key. Raise it when images are made or read in another way.
const FORMAT: u32 = 5;

/// Name of the memory in the cache.
const MEMORY: &str = "memory.img";
/// What the record of an image calls its name.
const PROFILE: &str = "profile";
/// Name of the list of open files in the cache.
const DESCRIPTORS: &str = "open-files";

/// Longest list of open files that is read.
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// Variables that the interpreter starts with. Time zones come from the library, not from a
/// folder that is not there.
const ENVIRONMENT: &[(&str, &str)] = &[("PYTHONTZPATH", "")];

/// Largest memory of an image: no interpreter that is made ready may grow beyond it.
pub const LARGEST_IMAGE: ByteCount = ByteCount::mebibytes(512);

/// What making an image may cost: far more than it does.
const LIMITS: RunLimits =
    RunLimits { wall_time: Duration::from_secs(300), memory: LARGEST_IMAGE, ..RunLimits::DEFAULT };

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The cache or the engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The interpreter could not be warmed up, or memory is short.
    #[error("the image `{name}` cannot be made")]
    Sandbox {
        /// Which image.
        name: String,
        /// Why.
        #[source]
        cause: SandboxError,
    },
    /// The cache could not be read or written.
    #[error("the image `{name}` cannot be kept in the cache")]
    Storage {
        /// Which image.
        name: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
}

/// An image that is ready to be handed to workers.
#[derive(Debug)]
pub struct Image {
    /// What it holds beyond the base.
    pub needs: Needs,
    /// What workers get.
    pub content: Arc<ImageContent>,
    /// Memory that it takes on this machine, however many workers use it.
    pub resident: ByteCount,
}

/// An image on the disk.
#[derive(Debug, Clone, Copy)]
pub struct Made {
    /// What it holds beyond the base.
    pub needs: Needs,
    /// Disk space that it takes.
    pub size: ByteCount,
    /// How it was used.
    pub usage: Usage,
}

/// The images of one engine on the disk.
#[derive(Debug)]
pub struct ImageStore<'a> {
    engine: &'a EngineStore,
    artifacts: &'a EngineArtifacts,
}

impl<'a> ImageStore<'a> {
    /// The images that are made from `artifacts`, kept in the cache of `engine`.
    #[must_use]
    pub const fn new(engine: &'a EngineStore, artifacts: &'a EngineArtifacts) -> Self {
        Self { engine, artifacts }
    }

    /// The image for `needs`, if it was made before. Takes as long as copying its memory.
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub fn find(&self, needs: Needs) -> Result<Option<Image>, ImageError> {
        find(&self.shelf(&source::text(needs))?, needs)
    }

    /// The image for `needs`, made now if it is not in the cache.
    ///
    /// # Errors
    ///
    /// The interpreter cannot be warmed up, or the cache fails.
    pub fn ensure(&self, needs: Needs, progress: &dyn Progress) -> Result<Image, ImageError> {
        let source = source::text(needs);
        let shelf = self.shelf(&source)?;
        if let Some(image) = find(&shelf, needs)? {
            return Ok(image);
        }
        let lock = shelf.lock(|| ())?;
        if let Some(image) = find(&shelf, needs)? {
            return Ok(image);
        }
        let running = Running::begin(progress, Step::WarmUp, None);
        let storage = |cause| ImageError::Storage { name: needs.to_string(), cause };
        let failed = |cause| ImageError::Sandbox { name: needs.to_string(), cause };
        let order = self.order(source, &self.hash_secret()?).map_err(failed)?;
        let warmed = warm_up(order).map_err(failed)?;
        let made_from = BTreeMap::from([
            (PROFILE.to_owned(), needs.to_string()),
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
        load(needs, made, warmed.descriptors())
    }

    /// The folder in which the image for `needs` lies or would lie.
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub fn folder(&self, needs: Needs) -> Result<PathBuf, ImageError> {
        Ok(self.shelf(&source::text(needs))?.path().to_owned())
    }

    /// The images on the disk that this program would use.
    ///
    /// # Errors
    ///
    /// The cache cannot be read.
    pub fn made(&self) -> Result<Vec<Made>, ImageError> {
        let shelves = self.engine.cache().shelves(Area::Images)?;
        Ok(shelves.iter().filter_map(|shelf| self.made_on(shelf)).collect())
    }

    /// Removes images from the disk until they take no more than `limit`: first those of other
    /// versions of this program, then those that were not used for longest. Never those in
    /// `used`. Returns the bytes that were freed.
    ///
    /// # Errors
    ///
    /// The cache cannot be changed, or somebody is adding to it.
    pub fn shrink(
        &self,
        limit: ByteCount,
        used: &BTreeSet<Needs>,
    ) -> Result<ByteCount, ImageError> {
        let cache = self.engine.cache();
        let mut total = 0_u64;
        let mut doomed = Vec::new();
        for shelf in cache.shelves(Area::Images)? {
            if shelf.find_record(MEMORY)?.is_none() {
                continue;
            }
            let size = shelf.size()?.as_u64();
            total = total.saturating_add(size);
            let made = self.made_on(&shelf);
            if made.as_ref().is_none_or(|made| !used.contains(&made.needs)) {
                let last_used = made.map(|made| made.usage.last_used_unix_seconds);
                doomed.push((last_used, size, shelf));
            }
        }
        doomed.sort_unstable_by_key(|(last_used, size, _)| (*last_used, *size));
        let mut surplus = Vec::new();
        for (_, size, shelf) in doomed {
            if total <= limit.as_u64() {
                break;
            }
            total = total.saturating_sub(size);
            surplus.push(shelf);
        }
        if surplus.is_empty() { Ok(ByteCount::default()) } else { Ok(cache.remove(&surplus)?) }
    }

    /// What lies on a shelf, if this program would use it.
    fn made_on(&self, shelf: &Shelf) -> Option<Made> {
        let record = shelf.find_record(MEMORY).ok().flatten()?;
        let needs: Needs = record.made_from.get(PROFILE)?.parse().ok()?;
        let is_ours = self.folder(needs).ok()? == shelf.path();
        let size = shelf.size().ok()?;
        is_ours.then(|| Made { needs, size, usage: Usage::read(shelf.path()) })
    }

    /// Where the image lies that is made from `source`.
    fn shelf(&self, source: &str) -> Result<Shelf, ImageError> {
        let secret = Digest::of(&self.hash_secret()?);
        let key = key(&self.origin(), secret, source);
        Ok(self.engine.cache().shelf(Area::Images, &key))
    }

    /// What images are made from, beside their source.
    fn origin(&self) -> Origin {
        let EngineArtifacts { key, cold_image, library, c_stack, .. } = self.artifacts;
        Origin {
            module: key.module,
            transform: key.transform,
            cold_image: cold_image.digest(),
            library: library.digest(),
            c_stack: *c_stack,
        }
    }

    /// The secret of Python's hashes in this cache, drawn now if there is none.
    fn hash_secret(&self) -> Result<Vec<u8>, ImageError> {
        secret::current(&self.secret_shelf(), self.artifacts.hash_secret.size_bytes)
    }

    fn secret_shelf(&self) -> Shelf {
        self.engine.cache().shelf(Area::Images, &Digest::of(HASH_SECRET.as_bytes()))
    }

    /// Draws another secret if the one of this cache was drawn before `oldest`, a time since the
    /// Unix epoch. True if it did: then no image on the disk is [current](Self::is_current).
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub fn renew_secret(&self, oldest: Duration) -> Result<bool, ImageError> {
        secret::renew(&self.secret_shelf(), self.artifacts.hash_secret.size_bytes, oldest)
    }

    /// True if the image for `needs` with that digest is the one that lies on the disk for the
    /// secret of this time.
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub fn is_current(&self, needs: Needs, digest: Digest) -> Result<bool, ImageError> {
        let record = self.shelf(&source::text(needs))?.find_record(MEMORY)?;
        Ok(record.is_some_and(|record| record.sha256 == digest))
    }

    /// What has to be done to make an image from `source`.
    fn order(&self, source: String, secret: &[u8]) -> Result<WarmUp<'a>, SandboxError> {
        let system = |cause| SandboxError::System { what: "open the engine's files", cause };
        let artifacts = self.artifacts;
        let code = CodeSpec {
            variant: artifacts.variant,
            native: artifacts.native.file.try_clone().map_err(system)?,
            declared_pages: usize::try_from(artifacts.facts.memory_min_pages).unwrap_or(usize::MAX),
        };
        let descriptors = ImageDescriptors::default();
        let start =
            ImageSpec { memory: MemoryImage::seal(artifacts.cold_image.content())?, descriptors };
        let library = artifacts.library.file.try_clone().map_err(system)?;
        Ok(WarmUp {
            code,
            start,
            library: Library::new(library, artifacts.mpl_data()?)?,
            presets: presets(artifacts.hash_secret, secret)
                .into_iter()
                .chain(locking::presets())
                .collect(),
            c_stack: artifacts.c_stack,
            environment: ENVIRONMENT,
            sources: vec![source],
            limits: LIMITS,
            ambient: AmbientMode::Live,
        })
    }
}

/// The parts of the engine that decide what an image holds. An image is a state of the code's own
/// memory and imports modules of the library, so it goes with no other code and no other library.
#[derive(Debug, Clone, Copy)]
struct Origin {
    /// Digest of the patched module.
    module: Digest,
    /// Version of the transform that made the code.
    transform: u32,
    cold_image: Digest,
    library: Digest,
    c_stack: CStack,
}

/// Names an image. The native code is not part of it: both variants compute the same.
fn key(origin: &Origin, secret: Digest, source: &str) -> Digest {
    let Origin { module, transform, cold_image, library, c_stack } = origin;
    let CStack { base, size_bytes } = c_stack;
    let source = Digest::of(source.as_bytes());
    let words = locking::key();
    let parts = format!(
        "{FORMAT} {module} {transform} {cold_image} {library} {base} {size_bytes} {secret} {words}{source}"
    );
    Digest::of(parts.as_bytes())
}

/// What stands in memory before the interpreter starts: the secret, and that it is set.
fn presets(place: HashSecretPlace, secret: &[u8]) -> Vec<Preset> {
    vec![
        Preset { address: place.address, before: vec![0; secret.len()], after: secret.to_vec() },
        Preset { address: place.is_set_address, before: vec![0], after: vec![1] },
    ]
}

/// The image on a shelf, if it is whole.
fn find(shelf: &Shelf, needs: Needs) -> Result<Option<Image>, ImageError> {
    let Some(memory) = shelf.open_checked(MEMORY, None)? else { return Ok(None) };
    let Some(descriptors) = shelf.open_checked(DESCRIPTORS, None)? else { return Ok(None) };
    let storage = |cause| ImageError::Storage { name: needs.to_string(), cause };
    let mut text = String::new();
    let mut limited = descriptors.file.take(MAX_DESCRIPTORS);
    limited.read_to_string(&mut text).map_err(storage)?;
    let descriptors = serde_json::from_str(&text).map_err(|error| storage(error.into()))?;
    load(needs, memory, &descriptors).map(Some)
}

/// Copies an image into a sealed memory file.
fn load(
    needs: Needs,
    memory: CheckedFile,
    descriptors: &ImageDescriptors,
) -> Result<Image, ImageError> {
    let (digest, length) = (memory.digest(), memory.size());
    let storage = |cause| ImageError::Storage { name: needs.to_string(), cause };
    let open_files = to_raw_value(descriptors).map_err(|error| storage(error.into()))?;
    let sealed = MemoryImage::seal(memory.file)
        .map_err(|cause| ImageError::Sandbox { name: needs.to_string(), cause: cause.into() })?;
    let blocks = rustix::fs::fstat(&sealed).map_err(|errno| storage(errno.into()))?.st_blocks;
    let resident = u64::try_from(blocks).unwrap_or(0).saturating_mul(512);
    let content =
        Arc::new(ImageContent::new(needs.to_string(), digest, (sealed, length), open_files));
    Ok(Image { needs, content, resident: ByteCount::bytes(resident) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_secret_stands_in_memory_before_the_start() {
        let place =
            HashSecretPlace { address: 8, size_bytes: ByteCount::bytes(24), is_set_address: 40 };
        let [secret, flag] = presets(place, &[7; 24]).try_into().unwrap();
        assert_eq!((secret.address, secret.before, secret.after), (8, vec![0; 24], vec![7; 24]));
        assert_eq!((flag.address, flag.before, flag.after), (40, vec![0], vec![1]));
    }

    #[test]
    fn image_key_follows_code_library_secret_and_source() {
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        let c_stack = CStack { base: 1, size_bytes: 2 };
        let origin = Origin { module: one, transform: 1, cold_image: one, library: one, c_stack };
        let none = source::text(Needs::NONE);
        let base = key(&origin, one, &none);
        assert_eq!(base, key(&origin, one, &source::text(Needs::NONE)));
        let others = [
            Origin { module: two, ..origin },
            Origin { transform: 2, ..origin },
            Origin { cold_image: two, ..origin },
            Origin { library: two, ..origin },
            Origin { c_stack: CStack { base: 2, ..c_stack }, ..origin },
            Origin { c_stack: CStack { size_bytes: 1, ..c_stack }, ..origin },
        ];
        for other in others {
            assert_ne!(base, key(&other, one, &none), "{other:?}");
        }
        assert_ne!(base, key(&origin, two, &none));
        assert_ne!(base, key(&origin, one, &source::text(Needs::ALL)));
    }
}
