//! Installs the pinned files of native modules into the cache: one file of each wheel.
//!
//! Wheels that were built from source distributions are part of the program. The others come from where the
//! engine comes from: from a package registry, through the user's own package client, or from the folder that
//! has the engine's wheel. What [`fetch`](crate::source::fetch) promises of
//! pinned bytes holds here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::Path;
use std::process::Command;

use zip::ZipArchive;

use crate::cache::entry::{CacheEntry, CacheEntryLock};
use crate::cache::file::{open_existing, storage};
use crate::cache::record::digest_of;
use crate::error::{EngineError, PathFault};
use crate::native::{NativeSet, PinnedModule};
use crate::progress::{Progress, Running, Step};
use crate::source::fetch::{
    EngineOrigin, damaged, download_folder, ensure_digest, find_in, pip_arguments, run, store,
    unusable,
};
use crate::source::native_lock;
use crate::source::pinned_file::PinnedFile;
use crate::source::wheel_tags::WheelTags;

/// Puts the files of all modules on the entry. Those that `near` has, the entry of another set, are copied.
///
/// # Errors
///
/// The origin does not have their wheels, has others, or the cache cannot be written to.
pub(crate) fn install(
    set: &NativeSet,
    origin: &EngineOrigin,
    near: &CacheEntry,
    entry: &CacheEntryLock<'_>,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let running = Running::begin(progress, Step::Modules, None);
    let mut missing = Vec::new();
    for module in from_lock(set, entry)? {
        let PinnedModule { file, .. } = module;
        let is_there = near.find_record(file.name())?.is_some_and(|one| one.sha256 == file.sha256);
        let found =
            if is_there { near.open_checked(file.name(), Some(&file.sha256))? } else { None };
        match found {
            Some(found) => store(file, &mut found.content(), entry, &mut |_| ())?,
            None => missing.push(module),
        }
    }
    match origin {
        _ if missing.is_empty() => {}
        EngineOrigin::Registry { python } => {
            let folder = download_folder(entry)?;
            if missing.iter().any(|module| module.shipped().is_none()) {
                download(&missing, python, folder.path())?;
            }
            from_folder(&missing, folder.path(), entry)?;
        }
        EngineOrigin::Path(path) => from_folder(&missing, folder_of(path), entry)?,
    }
    running.finish();
    Ok(())
}

/// Takes modules out of wheels that lie beside the operator's lock. Returns the others.
fn from_lock<'a>(
    set: &'a NativeSet,
    entry: &CacheEntryLock<'_>,
) -> Result<Vec<&'a PinnedModule>, EngineError> {
    let folder = set.lock.as_deref().map(native_lock::folder_of);
    let mut missing = Vec::new();
    for module in &set.modules {
        let place = folder.as_ref().map(|folder| folder.join(module.wheel.name()));
        let opened = match &place {
            Some(place) => {
                open_existing(place).map_err(|cause| unusable(UNREADABLE, place, cause))?
            }
            None => None,
        };
        match opened {
            Some(wheel) => from_wheel(module, &wheel, entry)?,
            None => missing.push(module),
        }
    }
    Ok(missing)
}

/// The folder itself, or the folder of the engine's wheel.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !path.is_dir() => parent,
        _ => path,
    }
}

/// Lets the package client fetch the wheels of `modules` into an empty folder.
fn download(modules: &[&PinnedModule], python: &Path, folder: &Path) -> Result<(), EngineError> {
    let requirements = folder.join("requirements.txt");
    for (tags, lines) in published(modules) {
        fs::write(&requirements, lines).map_err(storage("write to", &requirements))?;
        let mut command = Command::new(python);
        // As for the engine's wheel: a folder of this program.
        command.args(pip_arguments(&requirements, folder)).args(tags.options());
        command.current_dir(folder);
        run(command)?;
    }
    Ok(())
}

/// What the package client is asked for, by tags: it takes wheels for one platform at a time.
fn published<'a>(modules: &[&'a PinnedModule]) -> BTreeMap<WheelTags<'a>, String> {
    let mut asked = BTreeMap::<_, String>::new();
    for module in modules.iter().filter(|module| module.shipped().is_none()) {
        if let Some((.., tags)) = WheelTags::parse(module.wheel.name()) {
            asked.entry(tags).or_default().push_str(&format!("{}\n", module.requirement()));
        }
    }
    asked
}

fn from_folder(
    modules: &[&PinnedModule],
    folder: &Path,
    entry: &CacheEntryLock<'_>,
) -> Result<(), EngineError> {
    for module in modules {
        if let Some(wheel) = module.shipped() {
            from_archive(module, Cursor::new(wheel), entry)?;
            continue;
        }
        let place = folder.join(module.wheel.name());
        let opened = open_existing(&place).map_err(|cause| unusable(UNREADABLE, &place, cause))?;
        match opened {
            Some(wheel) => from_wheel(module, &wheel, entry)?,
            None => from_unpacked(module, folder, entry)?,
        }
    }
    Ok(())
}

const UNREADABLE: &str = "cannot be read";

/// Takes the module out of its wheel, after the digest of the whole wheel was checked.
fn from_wheel(
    module: &PinnedModule,
    wheel: &File,
    entry: &CacheEntryLock<'_>,
) -> Result<(), EngineError> {
    let pinned = &module.wheel;
    ensure_size(pinned, wheel)?;
    let (found, _) =
        digest_of(wheel, |_| ()).map_err(|cause| damaged(pinned.name(), UNREADABLE, cause))?;
    ensure_digest(pinned, found)?;
    from_archive(module, BufReader::new(wheel), entry)
}

/// Takes the module out of an archive. Its digest is checked.
fn from_archive(
    module: &PinnedModule,
    archive: impl Read + Seek,
    entry: &CacheEntryLock<'_>,
) -> Result<(), EngineError> {
    let PinnedModule { wheel: pinned, file, .. } = module;
    let unreadable = |cause: zip::result::ZipError| {
        damaged(pinned.name(), "is not a wheel", io::Error::from(cause))
    };
    let mut archive = ZipArchive::new(archive).map_err(unreadable)?;
    let mut member = archive.by_name(&file.path).map_err(unreadable)?;
    store(file, &mut member, entry, &mut |_| ())
}

/// Another length is another file, and need not be read.
fn ensure_size(pinned: &PinnedFile, wheel: &File) -> Result<(), EngineError> {
    let name = pinned.name();
    let length = wheel.metadata().map_err(|cause| damaged(name, UNREADABLE, cause))?.len();
    if length == pinned.size_bytes.as_u64() {
        return Ok(());
    }
    let cause = io::Error::other(format!("{length} bytes instead of {}", pinned.size_bytes));
    Err(damaged(name, "is not the pinned one", cause))
}

/// Takes the module from a folder with unpacked wheels.
fn from_unpacked(
    module: &PinnedModule,
    folder: &Path,
    entry: &CacheEntryLock<'_>,
) -> Result<(), EngineError> {
    let Some(mut content) = find_in(folder, &module.file)? else {
        let place = folder.join(module.wheel.name());
        let cause = io::ErrorKind::NotFound.into();
        return Err(EngineError::Origin {
            problem: "lacks the wheel of a native module, which belongs beside the engine's",
            cause: PathFault::new(&place, cause),
        });
    };
    store(&module.file, &mut content, entry, &mut |_| ())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::progress::Silent;
    use crate::source::native_choice::choose_set;
    use crate::source::native_lock::{load_lock, save_lock};
    use crate::tiny::{Recorder, TinyEngine};

    /// Installs into an empty cache and returns the names of the installed files.
    fn try_install(tiny: &TinyEngine, path: PathBuf) -> Result<Vec<String>, EngineError> {
        let entry = tiny.store().modules_entry();
        let lock = entry.lock(|| {}).unwrap();
        let set = tiny.pin.natives.as_ref().unwrap();
        let near = tiny.store().split_entry();
        install(set, &EngineOrigin::Path(path), &near, &lock, &Silent)?;
        Ok(entry.names().unwrap())
    }

    #[test]
    fn modules_come_from_the_folder_of_the_engine() {
        for of in [TinyEngine::wheel, |tiny: &TinyEngine| tiny.folder().to_owned()] {
            let tiny = TinyEngine::with_a_native_module();
            assert_eq!(try_install(&tiny, of(&tiny)).unwrap(), ["_mod.so"]);
        }
        let tiny = TinyEngine::with_a_native_module();
        let unpacked = tiny.unpacked();
        let error = try_install(&tiny, unpacked.clone()).unwrap_err();
        assert!(error.to_string().contains("lacks the wheel of a native module"), "{error}");
        let named = std::error::Error::source(&error).unwrap().to_string();
        assert!(named.contains("pkg-1-cp314-cp314-tiny.whl"), "{named}");
        fs::create_dir(unpacked.join("pkg")).unwrap();
        fs::write(unpacked.join("pkg/_mod.so"), &tiny.native).unwrap();
        assert_eq!(try_install(&tiny, unpacked).unwrap(), ["_mod.so"]);
    }

    #[test]
    fn other_wheels_and_other_files_than_the_pinned_ones_are_refused() {
        let tiny = TinyEngine::with_a_native_module();
        TinyEngine::flip_a_byte(&tiny.native_wheel());
        let error = try_install(&tiny, tiny.wheel()).unwrap_err();
        assert!(matches!(error, EngineError::WrongDigest { .. }), "{error}");
        let longer = [fs::read(tiny.native_wheel()).unwrap(), vec![0]].concat();
        fs::write(tiny.native_wheel(), longer).unwrap();
        let error = try_install(&tiny, tiny.wheel()).unwrap_err().to_string();
        assert_eq!(error, "`pkg-1-cp314-cp314-tiny.whl` is not the pinned one");

        // The wheel is the pinned one, and has another module than the set says.
        let mut tiny = TinyEngine::with_a_native_module();
        let set = tiny.pin.natives.as_mut().unwrap();
        set.modules[0].file.sha256 = wardian_vocabulary::ids::Digest::of(b"another");
        let error = try_install(&tiny, tiny.wheel()).unwrap_err();
        assert!(matches!(error, EngineError::WrongDigest { .. }), "{error}");
        tiny.pin.natives.as_mut().unwrap().modules[0].file.path = "pkg/_none.so".to_owned();
        let error = try_install(&tiny, tiny.wheel()).unwrap_err().to_string();
        assert_eq!(error, "`pkg-1-cp314-cp314-tiny.whl` is not a wheel");
    }

    #[test]
    fn the_package_client_is_asked_for_the_platform_of_each_wheel() {
        let set = NativeSet::embedded().unwrap();
        let asked = published(&set.modules.iter().collect::<Vec<_>>());
        let [older, newer] = asked.into_iter().collect::<Vec<_>>().try_into().unwrap();
        let options = older.0.options().join(" ".as_ref()).into_string().unwrap();
        let expected = "--implementation cp --platform pyemscripten_2026_0_wasm32 \
                        --python-version 3.14 --abi cp314";
        assert_eq!(options, expected);
        assert_eq!((older.1.lines().count(), newer.1.lines().count()), (2, 1));
        let pinned = format!("msgpack==1.2.4 --hash=sha256:{}\n", set.modules[0].wheel.sha256);
        assert!(newer.1.starts_with(&pinned), "{}", newer.1);
    }

    /// The set of the tiny engine as a lock in a folder of its own, with the wheel beside it.
    fn locked(tiny: &TinyEngine, folder: &Path) -> NativeSet {
        let wheel = "pkg-1-cp314-cp314-pyemscripten_2026_0_wasm32.whl";
        fs::copy(tiny.native_wheel(), folder.join(wheel)).unwrap();
        let lock = folder.join("native.toml");
        let chosen = choose_set(&["pkg".to_owned()], &lock).unwrap();
        // The tiny engine lacks what the shims need.
        NativeSet { shims: Vec::new(), ..chosen }
    }

    #[test]
    fn a_locked_set_is_an_engine_of_its_own() {
        let variant = crate::code::instrumentation::Variant::Timed;
        let tiny = TinyEngine::with_a_native_module();
        let folder = tempfile::tempdir().unwrap();
        let set = locked(&tiny, folder.path());
        let measured = tiny.store().with_natives(set).measured_natives(&Silent).unwrap();
        // The same module under the same name, so the same engine, whoever has chosen it.
        assert_eq!(measured.merged_module.sha256, tiny.pin.compiled_module());
        let lock = measured.lock.clone().unwrap();
        save_lock(&measured, &lock).unwrap();
        let read = || NativeSet { shims: Vec::new(), ..load_lock(&lock).unwrap() };
        let store = tiny.store().with_natives(read());
        let artifacts = store.ensure(variant, &Silent).unwrap();
        assert_eq!(artifacts.facts.memory_min_pages, 2);
        let report = store.report().unwrap().native;
        assert_eq!(
            (report.lock.as_ref(), report.modules[0].package.as_str()),
            (Some(&lock), "pkg")
        );

        // An engine without modules is another one, with numbers of its own.
        let none = NativeSet { modules: Vec::new(), ..measured.clone() };
        let none = tiny.store().with_natives(none).measured_natives(&Silent).unwrap();
        assert_ne!(none.merged_module.sha256, measured.merged_module.sha256);
        let other = tiny.store().with_natives(none).ensure(variant, &Silent).unwrap();
        assert_ne!(other.key.module, artifacts.key.module);
        assert_ne!(other.native.path, artifacts.native.path);
        assert_eq!(other.facts.memory_min_pages, 1);
        assert!(store.is_ready(variant).unwrap(), "both stay in the cache");
    }

    #[test]
    fn a_lock_that_was_changed_is_refused_with_what_to_do() {
        let variant = crate::code::instrumentation::Variant::Timed;
        let tiny = TinyEngine::with_a_native_module();
        let folder = tempfile::tempdir().unwrap();
        let set = locked(&tiny, folder.path());
        let measured = tiny.store().with_natives(set).measured_natives(&Silent).unwrap();
        let ensure = |set: NativeSet| tiny.store().with_natives(set).ensure(variant, &Silent);

        let mut other = measured.clone();
        other.merged_module.sha256 = wardian_vocabulary::ids::Digest::of(b"another");
        let error = ensure(other).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("`wardian engine build` writes it again"), "{cause}");

        let mut other = measured.clone();
        other.merged_module.numbers.as_mut().unwrap().table_elements = 4;
        let error = ensure(other).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("5 table elements instead of 4"), "{cause}");

        // Neither beside the lock nor beside the engine.
        let wheel = measured.modules[0].wheel.name().to_owned();
        fs::remove_file(folder.path().join(wheel)).unwrap();
        fs::remove_dir_all(tiny.store().modules_entry().path()).ok();
        let mut other = measured;
        other.modules[0].file.sha256 = wardian_vocabulary::ids::Digest::of(b"new");
        let error = ensure(other).unwrap_err().to_string();
        assert!(error.contains("lacks the wheel of a native module"), "{error}");
    }

    #[test]
    fn a_native_module_is_part_of_the_compiled_engine() {
        let tiny = TinyEngine::with_a_native_module();
        let steps = Recorder::default();
        let variant = crate::code::instrumentation::Variant::Timed;
        let artifacts = tiny.store().ensure(variant, &steps).unwrap();
        assert!(steps.take().contains(&Step::Modules));
        assert_eq!(artifacts.key.module, tiny.pin.compiled_module());
        assert_ne!(artifacts.key.module, tiny.pin.patched_module.sha256);
        assert_eq!(artifacts.facts.memory_min_pages, 2);
        let engine = crate::code::compile::start(variant).unwrap();
        let module = crate::code::compile::load(&engine, artifacts.native.file).unwrap();
        assert!(module.exports().any(|export| export.name() == "prepare_native"));

        // Damaged files of modules are fetched again, but only for an engine that has to be merged.
        let entry = tiny.store().modules_entry();
        TinyEngine::flip_a_byte(&entry.path().join("_mod.so"));
        tiny.store().ensure(variant, &steps).unwrap();
        assert_eq!(steps.take(), []);
        TinyEngine::flip_a_byte(&artifacts.cold_image.path);
        tiny.store().ensure(variant, &steps).unwrap();
        assert_eq!(steps.take(), [Step::Modules, Step::Separate]);
    }
}
