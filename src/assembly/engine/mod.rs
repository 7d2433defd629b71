//! The engine and its images on disk: opens the cache, and fills it before the first call.

pub(super) mod files;
pub(super) mod image_store;

use std::path::Path;
use std::sync::Arc;

use crate::assembly::engine::image_store::image_store;
use crate::assembly::error::AssemblyError;
use wardian_config::Config;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::{Progress, Silent};
use wardian_engine::source::fetch::EngineOrigin;
use wardian_engine::source::native_choice::choose_set;
use wardian_engine::source::native_lock::{load_lock, save_lock};
use wardian_engine::{EngineError, EngineStore};
use wardian_image_builder::ImageStore;
use wardian_images::{KeptImage, KeptImages as _, PackageSet};
use wardian_vocabulary::clock::Clock;

/// Whether the metered code is compiled too, which takes minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeteredCode {
    /// It is used if it was compiled before.
    IfThere,
    /// It is compiled if necessary.
    Wanted,
}

/// Opens the engine's cache; nothing is fetched or compiled yet.
///
/// # Errors
///
/// The cache folder cannot be used, or the lock of native modules.
pub fn open_engine(config: &Config) -> Result<EngineStore, AssemblyError> {
    let store = open_standard_engine(config)?;
    let Some(lock) = &config.engine.native else { return Ok(store) };
    let natives = load_lock(lock).map_err(EngineError::from)?;
    Ok(store.with_natives(natives))
}

/// Merges the native modules of `packages` into the engine's module and writes them into `lock`. The modules come
/// from wheels in the folder of the lock, or are those that are built in.
///
/// # Errors
///
/// A package has no native modules here, or they cannot be merged.
pub fn lock_natives(
    config: &Config,
    packages: &[String],
    lock: &Path,
    progress: &dyn Progress,
) -> Result<(), AssemblyError> {
    let chosen = choose_set(packages, lock).map_err(EngineError::from)?;
    let measured = open_standard_engine(config)?.with_natives(chosen).measured_natives(progress)?;
    Ok(save_lock(&measured, lock).map_err(EngineError::from)?)
}

/// The engine with the modules that are built in.
fn open_standard_engine(config: &Config) -> Result<EngineStore, AssemblyError> {
    let origin = match &config.engine.source {
        Some(path) => EngineOrigin::Path(path.clone()),
        None => EngineOrigin::Registry { python: config.engine.python.clone() },
    };
    let store = EngineStore::open(&config.cache_dir, origin, Clock::System)?;
    Ok(store.stopped_by(config.engine.interruption).for_cpu(config.engine.cpu))
}

/// Fetches and compiles the engine and makes images, unless they are in the cache. An image that
/// cannot be made keeps none of the others from being made. Those with batteries are left out.
///
/// # Errors
///
/// The engine cannot be fetched or compiled here, or an image cannot be made.
pub fn install_engine(
    config: &Config,
    metered: MeteredCode,
    images: &[PackageSet],
    progress: &dyn Progress,
) -> Result<(), AssemblyError> {
    let engine = open_engine(config)?;
    let artifacts = Arc::new(engine.ensure(Variant::Timed, progress)?);
    let store = image_store(config, &engine, &artifacts)?;
    let wanted = [&PackageSet::NONE].into_iter().chain(&config.images.profiles).chain(images);
    let wanted = wanted.filter(|packages| !has_batteries(packages));
    let ensure = |store: &ImageStore, packages| store.ensure(packages, progress).map(drop);
    let mut made: Vec<_> = wanted.map(|packages| ensure(&store, *packages)).collect();
    let tenants = config.images.tenants.iter().map(|tenant| store.of_tenant(tenant));
    made.extend(tenants.map(|store| ensure(&store, PackageSet::NONE)));
    if metered == MeteredCode::Wanted {
        engine.ensure(Variant::Metered, progress)?;
    }
    Ok(made.into_iter().collect::<Result<(), _>>()?)
}

/// Makes those of the configured and of these images that have batteries, unless they are in the cache.
///
/// # Errors
///
/// The batteries are not on this machine, or an image cannot be made.
pub fn install_images_with_batteries(
    config: &Config,
    images: &[PackageSet],
    progress: &dyn Progress,
) -> Result<(), AssemblyError> {
    let wanted = config.images.profiles.iter().chain(images);
    let wanted: Vec<_> = wanted.filter(|packages| has_batteries(packages)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let engine = open_engine(config)?;
    let artifacts = Arc::new(engine.ensure(Variant::Timed, progress)?);
    let store = image_store(config, &engine, &artifacts)?;
    let made: Vec<_> =
        wanted.into_iter().map(|packages| store.ensure(*packages, progress).map(drop)).collect();
    Ok(made.into_iter().collect::<Result<(), _>>()?)
}

fn has_batteries(packages: &PackageSet) -> bool {
    packages.shared_with(PackageSet::OF_BATTERIES) > 0
}

/// True if the images of tenants are in the cache, as is the engine.
///
/// # Errors
///
/// The cache cannot be read.
pub fn has_images_of_tenants(config: &Config) -> Result<bool, AssemblyError> {
    if config.images.tenants.is_empty() {
        return Ok(true);
    }
    let engine = open_engine(config)?;
    let store = image_store(config, &engine, &Arc::new(engine.ensure(Variant::Timed, &Silent)?))?;
    for tenant in &config.images.tenants {
        if !store.of_tenant(tenant).has(PackageSet::NONE)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The images on the disk that this program would use.
///
/// # Errors
///
/// The engine is not installed, or the cache cannot be read.
pub fn images_made(config: &Config) -> Result<Vec<KeptImage>, AssemblyError> {
    let engine = open_engine(config)?;
    if !engine.is_ready(Variant::Timed)? {
        return Ok(Vec::new());
    }
    let artifacts = Arc::new(engine.ensure(Variant::Timed, &Silent)?);
    image_store(config, &engine, &artifacts)?.list().map_err(AssemblyError::ImageCache)
}
