//! The packages of guests: the platform that they are for, and the layers on this machine.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Serialize;

use crate::assembly::engine::{MeteredCode, open_engine};
use crate::assembly::error::{AssemblyError, ProvisionError};
use crate::assembly::skills::open_registry;
use wardian_config::Config;
use wardian_engine::EngineArtifacts;
use wardian_engine::cache::manifest::EngineManifest;
use wardian_engine::code::instrumentation::Variant;
use wardian_engine::progress::Silent;
use wardian_engine::report::CleanUp;
use wardian_formats::job::layer::LayerContent;
use wardian_service::PackageAccess;
use wardian_skills::packages::fetch::sync_wheels;
use wardian_skills::packages::layer::LayerKey;
use wardian_skills::packages::lock::Lock;
use wardian_skills::packages::resolve::WheelSource;
use wardian_skills::packages::wheel::WheelName;
use wardian_skills::packages::{GuestPlatform, LayerStore, SkillLists, SkillNeeds, batteries};
use wardian_skills::registry::folders::snapshot::Snapshot;
use wardian_vocabulary::units::ByteCount;

/// The layers in the cache of this machine.
#[must_use]
pub fn layer_store(config: &Config) -> LayerStore {
    LayerStore::new(&config.cache_dir)
}

/// The platform of the engine's guests; `None` if the engine is not installed.
///
/// # Errors
///
/// The cache cannot be read.
pub fn guest_of(config: &Config) -> Result<Option<GuestPlatform>, AssemblyError> {
    let contents = open_engine(config)?.report()?.contents;
    contents.as_ref().map(guest).transpose()
}

fn guest(manifest: &EngineManifest) -> Result<GuestPlatform, AssemblyError> {
    let packages = manifest.packages.iter();
    let packages = packages.map(|one| (one.name.as_str(), one.version.as_str()));
    // The native modules of packages were merged into the engine, so no other versions fit it.
    Ok(GuestPlatform::new(&manifest.python, packages)?.with_packages(&batteries::native()?))
}

/// The packages of runs.
pub(super) fn package_access(
    config: &Config,
    engine: &EngineArtifacts,
) -> Result<PackageAccess, AssemblyError> {
    let guest = guest(&engine.manifest)?;
    let (store, library) = (layer_store(config), engine.library.digest());
    Ok(PackageAccess::new(store, guest, library, batteries::lock()?))
}

/// The layers of this machine that skills need.
///
/// # Errors
///
/// The cache cannot be read.
pub fn layers_of(
    config: &Config,
    skills: &[Arc<Snapshot>],
) -> Result<Vec<(LayerKey, LayerContent)>, AssemblyError> {
    let (store, batteries) = (layer_store(config), batteries::lock()?);
    let Some(guest) = guest_of(config)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for skill in skills {
        let needs = SkillLists::of(skill.contents()).needs(&guest, &batteries);
        if let SkillNeeds::Layer { key, .. } = needs
            && let Some(layer) = store.open(key)?
        {
            found.push((key, layer.content));
        }
    }
    Ok(found)
}

/// The batteries of this version, and their state.
#[derive(Debug, Clone, Serialize)]
pub struct BatteriesReport {
    /// True if they are on this machine.
    pub is_there: bool,
    /// Names and versions.
    pub packages: Vec<(String, String)>,
}

/// Describes the batteries.
///
/// # Errors
///
/// The built-in lock is malformed.
pub fn batteries(config: &Config) -> Result<BatteriesReport, AssemblyError> {
    let lock = batteries::lock()?;
    let is_there = lock.layer().is_none_or(|key| layer_store(config).has(key));
    let packages = lock.packages.iter().filter(|one| one.is_package());
    let wheels = packages.map(|one| &one.wheel);
    let packages = wheels.map(|wheel| (wheel.package.to_string(), wheel.version.to_string()));
    let mut packages: Vec<(String, String)> = packages.collect();
    packages.sort();
    Ok(BatteriesReport { is_there, packages })
}

/// True if the batteries were compiled, or are missing.
///
/// # Errors
///
/// The cache cannot be read.
pub fn batteries_are_compiled(config: &Config) -> Result<bool, AssemblyError> {
    let (store, lock, engine) = (layer_store(config), batteries::lock()?, open_engine(config)?);
    let Some(key) = lock.layer() else { return Ok(true) };
    let Some(layer) = store.open(key)? else { return Ok(true) };
    if !engine.is_ready(Variant::Timed)? {
        return Ok(true);
    }
    let library = engine.ensure(Variant::Timed, &Silent)?.library.digest();
    Ok(store.open_bytecode(layer.content.digest, library)?.is_some())
}

/// Removes layers: those that neither the batteries nor a configured skill use, or all of them.
/// Returns the freed bytes.
///
/// # Errors
///
/// A skill or a layer cannot be read, or a file cannot be removed.
pub fn clean_layers(config: &Config, what: CleanUp) -> Result<ByteCount, AssemblyError> {
    let mut used = HashSet::new();
    if what == CleanUp::Unused {
        used.extend(batteries::lock()?.layer());
        for snapshot in open_registry(config)?.all() {
            let lists = SkillLists::of(snapshot.contents());
            let lock = lists.lock().and_then(|text| Lock::parse(text).ok());
            used.extend(lock.and_then(|lock| lock.layer()));
        }
    }
    Ok(layer_store(config).clean(&used)?)
}

/// Fetches the batteries, unless they exist. Returns true if they were fetched.
///
/// # Errors
///
/// They cannot be fetched or kept.
pub fn install_batteries(
    config: &Config,
    source: WheelSource<'_>,
    advanced: &dyn Fn(&WheelName),
) -> Result<bool, AssemblyError> {
    let (store, lock) = (layer_store(config), batteries::lock()?);
    let Some(key) = lock.layer() else { return Ok(false) };
    if store.has(key) && store.open(key)?.is_some() {
        return Ok(false);
    }
    let Some(guest) = guest_of(config)? else { return Ok(false) };
    let draft = sync_wheels(&lock.packages, &guest, &config.engine.python, source, advanced)?;
    store.keep(key, &draft)?;
    Ok(true)
}

/// Opens the batteries. Fetches them first if fuel is counted from the start and they are missing.
pub(super) fn open_batteries(
    config: &Config,
    packages: &PackageAccess,
    metered: MeteredCode,
) -> Result<(), ProvisionError> {
    if !packages.open_batteries()? && metered == MeteredCode::Wanted {
        install_batteries(config, wheel_source(config), &|_| ())?;
        packages.open_batteries()?;
    }
    Ok(())
}

/// Where the packages of an installation come from.
#[must_use]
pub fn wheel_source(config: &Config) -> WheelSource<'_> {
    match &config.engine.source {
        None => WheelSource::Registry,
        Some(path) if path.is_dir() => WheelSource::Folder(path),
        Some(path) => WheelSource::Folder(path.parent().unwrap_or(path)),
    }
}
