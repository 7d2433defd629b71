//! The choice of native modules by the names of their packages: from the set that was built in, and from wheels in
//! the folder of the lock.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::cache::record::digest_of;
use crate::native::{NativeSet, PinnedModule, UNKNOWN_LICENCE};
use crate::source::native_lock::{
    MAX_WHEEL, NativeLockError, ensure_sound, folder_of, is_module_name,
};
use crate::source::pinned_file::PinnedFile;
use crate::source::wheel_tags::{EXPECTED, WheelTags};
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// Most files of a wheel that is looked through.
const MAX_FILES: usize = 65_536;

/// The packages with native modules that are built in, in their order.
///
/// # Errors
///
/// The set that was built in is malformed.
pub fn standard_packages() -> Result<Vec<String>, NativeLockError> {
    let mut packages: Vec<String> =
        NativeSet::embedded()?.modules.into_iter().map(|module| module.package).collect();
    packages.dedup();
    Ok(packages)
}

/// The set of these packages for this lock: each from its wheel in the folder of the lock, or else from the set that
/// was built in. Which module comes out is not known yet.
///
/// The order of `packages` does not matter: those that are built in come first, in their order, and then the others
/// by their names.
///
/// # Errors
///
/// A package has no native modules here, or its wheel cannot be used.
pub fn choose_set(packages: &[String], lock: &Path) -> Result<NativeSet, NativeLockError> {
    let folder = &folder_of(lock);
    let built_in = NativeSet::embedded()?;
    let wheels = wheels_in(folder)?;
    let place = |name: &str| {
        let first = built_in.modules.iter().position(|one| normalized(&one.package) == name);
        first.unwrap_or(usize::MAX)
    };
    let mut wanted: Vec<String> = packages.iter().map(|one| normalized(one)).collect();
    wanted.sort_by(|one, other| (place(one), one).cmp(&(place(other), other)));
    wanted.dedup();

    let mut modules = Vec::new();
    for name in &wanted {
        match wheels.get(name).map(Vec::as_slice) {
            Some([wheel]) => modules.extend(modules_of(folder, wheel)?),
            Some([wheel, other, ..]) => {
                return Err(refused(wheel, format!("is one of several of this package: {other}")));
            }
            _ => modules.extend(built_in_modules(&built_in, name)?),
        }
    }
    ensure_sound(&modules)?;
    Ok(NativeSet { modules, lock: Some(lock.to_owned()), ..built_in })
}

fn built_in_modules(set: &NativeSet, name: &str) -> Result<Vec<PinnedModule>, NativeLockError> {
    let found = set.modules.iter().filter(|module| normalized(&module.package) == name);
    let found: Vec<_> = found.cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let known = standard_packages()?;
    Err(NativeLockError::Unknown { package: name.to_owned(), known: known.join(", ") })
}

/// The file names of all wheels in the folder, by the names of their packages.
fn wheels_in(folder: &Path) -> Result<BTreeMap<String, Vec<String>>, NativeLockError> {
    let mut wheels = BTreeMap::<String, Vec<String>>::new();
    // A folder that is not there has no wheels: it comes with the lock.
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let unreadable = |cause| NativeLockError::Unreadable {
            problem: "lies in a folder that cannot be read",
            cause,
        };
        let Ok(name) = entry.map_err(unreadable)?.file_name().into_string() else { continue };
        if let Some((package, _)) = name.strip_suffix(".whl").and_then(|name| name.split_once('-'))
        {
            wheels.entry(normalized(package)).or_default().push(name);
        }
    }
    for names in wheels.values_mut() {
        names.sort();
    }
    Ok(wheels)
}

/// The modules in a wheel, as a lock pins them.
fn modules_of(folder: &Path, name: &str) -> Result<Vec<PinnedModule>, NativeLockError> {
    let (package, version) = ensure_tags(name)?;
    let failed = |cause: &dyn std::fmt::Display| refused(name, format!("cannot be read: {cause}"));
    let wheel = File::open(folder.join(name)).map_err(|cause| failed(&cause))?;
    let metadata = wheel.metadata().map_err(|cause| failed(&cause))?;
    if !metadata.is_file() || metadata.len() > MAX_WHEEL.as_u64() {
        return Err(refused(name, "is not a regular file of at most 256 MiB".to_owned()));
    }
    let (sha256, size_bytes) = digest_of(&wheel, |_| ()).map_err(|cause| failed(&cause))?;
    let pinned = PinnedFile { path: name.to_owned(), sha256, size_bytes };

    let no_wheel = |cause: ZipError| refused(name, format!("is not a wheel: {cause}"));
    let mut archive = ZipArchive::new(BufReader::new(wheel)).map_err(no_wheel)?;
    if archive.len() > MAX_FILES {
        return Err(refused(name, format!("has more than {MAX_FILES} files")));
    }
    let mut paths = Vec::new();
    for path in archive.file_names() {
        let path = path.map_err(no_wheel)?;
        if path.ends_with(".so") {
            paths.push(path.into_owned());
        }
    }
    paths.sort();
    let mut modules = Vec::new();
    for path in paths {
        let module = name_of(&path)
            .ok_or_else(|| refused(name, format!("has `{path}`, which is not a Python module")))?;
        let member = archive.by_name(&path).map_err(no_wheel)?;
        let mut content = Vec::new();
        let limit = MAX_WHEEL.as_u64();
        let read = member.take(limit.saturating_add(1)).read_to_end(&mut content);
        read.map_err(|cause| failed(&cause))?;
        let size_bytes = ByteCount::from(content.len());
        if size_bytes > MAX_WHEEL {
            return Err(refused(name, format!("has `{path}`, which is larger than 256 MiB")));
        }
        let file = PinnedFile { path, sha256: Digest::of(&content), size_bytes };
        let (package, version) = (package.clone(), version.clone());
        modules.push(PinnedModule {
            package,
            version,
            name: module,
            licence: UNKNOWN_LICENCE.to_owned(),
            sdist: None,
            wheel: pinned.clone(),
            file,
        });
    }
    if modules.is_empty() {
        let why = "has no native modules: a skill locks it as it is (`wardian skills deps lock`)";
        return Err(refused(name, why.to_owned()));
    }
    Ok(modules)
}

/// Checks that a wheel is for a platform whose modules can be merged; the name and the version of its package.
fn ensure_tags(wheel: &str) -> Result<(String, String), NativeLockError> {
    let Some((package, version, tags)) = WheelTags::parse(wheel) else {
        return Err(refused(wheel, "has a file name that no wheel has".to_owned()));
    };
    if !tags.can_be_merged() {
        let WheelTags { interpreter, abi, platform } = tags;
        let problem = format!(
            "is for `{interpreter}-{abi}-{platform}`, and modules for `{EXPECTED}` can be merged"
        );
        return Err(refused(wheel, problem));
    }
    Ok((package.replace('_', "-"), version.to_owned()))
}

/// The name under which Python imports the file of a wheel: `pkg/_mod.cpython-314-wasm32-emscripten.so`.
fn name_of(path: &str) -> Option<String> {
    let (folders, file) = path.rsplit_once('/')?;
    let (stem, _) = file.split_once('.')?;
    if folders.contains('.') {
        return None;
    }
    let name = format!("{}.{stem}", folders.replace('/', "."));
    is_module_name(&name).then_some(name)
}

fn refused(wheel: &str, problem: String) -> NativeLockError {
    NativeLockError::Wheel { wheel: wheel.to_owned(), problem }
}

/// The name of a package as registries compare it.
fn normalized(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let parts = lower.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiny::archive;

    const TAGS: &str = "cp314-cp314-pyemscripten_2026_0_wasm32";

    fn names(set: &NativeSet) -> Vec<&str> {
        set.modules.iter().map(|module| module.name.as_str()).collect()
    }

    fn chosen(packages: &[&str], folder: &Path) -> Result<NativeSet, NativeLockError> {
        let packages: Vec<String> = packages.iter().map(|one| (*one).to_owned()).collect();
        choose_set(&packages, &folder.join("native.toml"))
    }

    #[test]
    fn packages_of_the_built_in_set_are_chosen_by_name_in_any_order() {
        let nowhere = Path::new("/nonexistent");
        let set = chosen(&["Pydantic_Core", "msgpack", "pydantic-core"], nowhere).unwrap();
        assert_eq!(names(&set), ["msgpack._cmsgpack", "pydantic_core._pydantic_core"]);
        assert!(chosen(&[], nowhere).unwrap().modules.is_empty());
        let error = chosen(&["numpy"], nowhere).unwrap_err().to_string();
        assert!(error.starts_with("no native modules exist for `numpy`: this version has"));
        assert!(error.contains("msgpack"), "{error}");
    }

    #[test]
    fn wheels_beside_the_lock_come_first_and_are_pinned() {
        let folder = tempfile::tempdir().unwrap();
        let (own, newer) = (format!("own_fast-1.0-{TAGS}.whl"), format!("jiter-9.0-{TAGS}.whl"));
        let files = [
            ("own_fast/__init__.py", &b"pass"[..]),
            ("own_fast/_two.cpython-314-wasm32-emscripten.so", b"two"),
            ("own_fast/_one.cpython-314-wasm32-emscripten.so", b"one"),
        ];
        fs::write(folder.path().join(&own), archive(&files)).unwrap();
        fs::write(folder.path().join(newer), archive(&[("jiter/jiter.so", b"newer")])).unwrap();
        let set = chosen(&["own-fast", "jiter", "msgpack"], folder.path()).unwrap();
        let expected = ["msgpack._cmsgpack", "jiter.jiter", "own_fast._one", "own_fast._two"];
        assert_eq!(names(&set), expected);
        assert_eq!(set.modules[1].version, "9.0");
        let one = &set.modules[2];
        assert_eq!((one.package.as_str(), one.wheel.path.as_str()), ("own-fast", own.as_str()));
        assert_eq!(one.file.sha256, Digest::of(b"one"));
        let bytes = fs::read(folder.path().join(&own)).unwrap();
        assert_eq!(one.wheel.sha256, Digest::of(&bytes));
    }

    #[test]
    fn wheels_that_cannot_be_merged_are_refused_with_the_reason() {
        let native: &[u8] = &archive(&[("own/_mod.so", b"x")]);
        let cases: &[(&str, &[u8], &str)] = &[
            ("own-1-cp313-cp313-manylinux_2_28_x86_64.whl", native, "is for `cp313-cp313-many"),
            ("own-1-cp315-cp315-wasi_wasm32.whl", native, "is for `cp315"),
            ("own-1.whl", native, "a file name that no wheel has"),
            (&format!("own-1-{TAGS}.whl"), b"no archive", "is not a wheel"),
            (&format!("own-1-{TAGS}.whl"), &archive(&[("own/a.py", b"")]), "no native modules"),
            (
                &format!("own-1-{TAGS}.whl"),
                &archive(&[("own.libs/a.so", b"")]),
                "not a Python module",
            ),
            (&format!("own-1-{TAGS}.whl"), &archive(&[("mod.so", b"")]), "not a Python module"),
        ];
        for (name, content, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), content).unwrap();
            let error = chosen(&["own"], folder.path()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        for version in ["1", "2"] {
            fs::write(folder.path().join(format!("own-{version}-{TAGS}.whl")), native).unwrap();
        }
        let error = chosen(&["own"], folder.path()).unwrap_err().to_string();
        assert!(error.contains("is one of several"), "{error}");
    }
}
