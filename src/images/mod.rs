//! Memory images: interpreters that have imported what most programs need, kept as files.
//!
//! An image is made by running the guest's own Python once on the engine's cold memory. It takes
//! seconds and no compilation, so a changed guest package or another set of imports is cheap.
//! Images lie in the engine's cache, under a key of everything that decides their content.
//!
//! INVARIANT(image-key): an image made from another engine, another guest package or another
//! profile has another key.
//!
//! # The hash secret
//!
//! Python's string hashes cannot change once strings were hashed, so their secret is part of an
//! image. The engine ignores its environment and would take a secret that everybody knows, with
//! which collisions can be prepared; so the secret is put in place before the interpreter starts.
//!
//! INVARIANT(hash-secret): it is drawn at random when an image is made; every deployment has its
//! own.

mod source;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::clock::Clock;
use crate::engine::cache::{Area, CheckedFile, Shelf};
use crate::engine::progress::{Progress, Running, Step};
use crate::engine::{EngineArtifacts, EngineError, EngineStore, HashSecretPlace};
use crate::ids::Digest;
use crate::job::limits::RunLimits;
use crate::sandbox::ambient::{Ambient, AmbientMode};
use crate::sandbox::memory::MemoryImage;
use crate::sandbox::vfs::ImageDescriptors;
use crate::sandbox::{ImageSpec, Library, Preset, SandboxError, WarmUp, warm_up};
use crate::units::ByteCount;

pub use crate::images::source::Profile;

/// Part of every key. Raise it when images are made or read in another way.
const FORMAT: u32 = 3;

/// Name of the memory in the cache.
const MEMORY: &str = "memory.img";
/// Name of the list of open files in the cache.
const DESCRIPTORS: &str = "open-files";

/// Longest list of open files that is read.
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// Variables that the interpreter starts with. Time zones come from the library, not from a
/// folder that is not there.
const ENVIRONMENT: &[(&str, &str)] = &[("PYTHONTZPATH", "")];

/// What making an image may cost: far more than it does.
const LIMITS: RunLimits = RunLimits {
    wall_time: Duration::from_secs(300),
    memory: ByteCount::mebibytes(2048),
    ..RunLimits::DEFAULT
};

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

/// An image that is ready to be loaded by workers.
#[derive(Debug)]
pub struct Image {
    /// Its profile's name.
    pub name: String,
    /// Its memory, sealed.
    pub memory: OwnedFd,
    /// Length of its memory: no guest can live in less.
    pub length: ByteCount,
    /// The files that are open in it.
    pub descriptors: ImageDescriptors,
    /// Digest of the memory, which names the image in records.
    pub digest: Digest,
}

/// The images of one engine.
#[derive(Debug)]
pub struct ImageStore<'a> {
    engine: &'a EngineStore,
}

impl<'a> ImageStore<'a> {
    /// The images that are made from `engine`, kept in its cache.
    #[must_use]
    pub const fn new(engine: &'a EngineStore) -> Self {
        Self { engine }
    }

    /// The image of `profile`, made now if it is not in the cache.
    ///
    /// # Errors
    ///
    /// The interpreter cannot be warmed up, or the cache fails.
    pub fn ensure(
        &self,
        profile: &Profile,
        artifacts: &EngineArtifacts,
        progress: &dyn Progress,
    ) -> Result<Image, ImageError> {
        let source = profile.source();
        let shelf = self.shelf(artifacts, &source);
        if let Some(image) = find(&shelf, profile)? {
            return Ok(image);
        }
        let lock = shelf.lock(|| ())?;
        if let Some(image) = find(&shelf, profile)? {
            return Ok(image);
        }
        let running = Running::begin(progress, Step::WarmUp, None);
        let storage = |cause| ImageError::Storage { name: profile.name().to_owned(), cause };
        let failed = |cause| ImageError::Sandbox { name: profile.name().to_owned(), cause };
        let order = order(profile, artifacts, source).map_err(failed)?;
        let warmed = warm_up(order).map_err(failed)?;
        let made_from = BTreeMap::from([
            ("profile".to_owned(), profile.name().to_owned()),
            ("native".to_owned(), artifacts.native.digest().to_string()),
            ("cold_image".to_owned(), artifacts.cold_image.digest().to_string()),
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
        load(profile, made, warmed.descriptors().clone())
    }

    /// Where an image of this source lies.
    fn shelf(&self, artifacts: &EngineArtifacts, source: &str) -> Shelf {
        self.engine.cache().shelf(Area::Images, &key(artifacts.cold_image.digest(), source))
    }
}

/// Names an image. The native code is not part of it: both variants compute the same.
fn key(cold_image: Digest, source: &str) -> Digest {
    let source = Digest::of(source.as_bytes());
    Digest::of(format!("{FORMAT} {cold_image} {source}").as_bytes())
}

fn order<'a>(
    profile: &Profile,
    artifacts: &EngineArtifacts,
    source: String,
) -> Result<WarmUp<'a>, SandboxError> {
    let system = |cause| SandboxError::System { what: "open the engine's files", cause };
    let cold = artifacts.cold_image.file.try_clone().map_err(system)?;
    let start = ImageSpec {
        name: profile.name().to_owned(),
        variant: artifacts.variant,
        native: artifacts.native.file.try_clone().map_err(system)?,
        memory: MemoryImage::seal(cold)?,
        descriptors: ImageDescriptors::default(),
        declared_pages: usize::try_from(artifacts.facts.memory_min_pages).unwrap_or(usize::MAX),
    };
    let library = artifacts.library.file.try_clone().map_err(system)?;
    Ok(WarmUp {
        start,
        library: Library::new(library, artifacts.mpl_data()?)?,
        presets: new_hash_secret(artifacts.hash_secret)?.into(),
        environment: ENVIRONMENT,
        sources: vec![source],
        limits: LIMITS,
        ambient: AmbientMode::Live,
    })
}

/// Draws a secret, and says that it is set.
fn new_hash_secret(place: HashSecretPlace) -> Result<[Preset; 2], SandboxError> {
    let mut secret = vec![0; place.size_bytes.as_usize()];
    Ambient::new(AmbientMode::Live, Clock::System)
        .fill(&mut secret)
        .map_err(|cause| SandboxError::System { what: "draw a secret", cause })?;
    Ok([
        Preset { address: place.address, bytes: secret },
        Preset { address: place.is_set_address, bytes: vec![1] },
    ])
}

/// The image on a shelf, if it is whole.
fn find(shelf: &Shelf, profile: &Profile) -> Result<Option<Image>, ImageError> {
    let Some(memory) = shelf.open_checked(MEMORY, None)? else { return Ok(None) };
    let Some(descriptors) = shelf.open_checked(DESCRIPTORS, None)? else { return Ok(None) };
    let storage = |cause| ImageError::Storage { name: profile.name().to_owned(), cause };
    let mut text = String::new();
    let mut limited = descriptors.file.take(MAX_DESCRIPTORS);
    limited.read_to_string(&mut text).map_err(storage)?;
    let descriptors = serde_json::from_str(&text).map_err(|error| storage(error.into()))?;
    load(profile, memory, descriptors).map(Some)
}

/// Copies an image into a sealed memory file.
fn load(
    profile: &Profile,
    memory: CheckedFile,
    descriptors: ImageDescriptors,
) -> Result<Image, ImageError> {
    let (digest, length) = (memory.digest(), memory.size());
    let name = profile.name().to_owned();
    let sealed = MemoryImage::seal(memory.file)
        .map_err(|cause| ImageError::Sandbox { name: name.clone(), cause: cause.into() })?;
    Ok(Image { name, memory: sealed, length, descriptors, digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_secret_is_drawn_anew_for_each_image() {
        let place =
            HashSecretPlace { address: 8, size_bytes: ByteCount::bytes(24), is_set_address: 40 };
        let ([one, flag], [other, _]) =
            (new_hash_secret(place).unwrap(), new_hash_secret(place).unwrap());
        assert_eq!((one.address, one.bytes.len()), (8, 24));
        assert_eq!((flag.address, flag.bytes), (40, vec![1]));
        assert_ne!(one.bytes, other.bytes);
    }

    #[test]
    fn image_key_follows_the_engine_and_the_source() {
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        assert_eq!(key(one, "import json"), key(one, "import json"));
        assert_ne!(key(one, "import json"), key(two, "import json"));
        assert_ne!(key(one, "import json"), key(one, "import csv"));
        assert_ne!(key(one, &Profile::base().source()), key(one, ""));
    }
}
