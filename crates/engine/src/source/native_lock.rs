//! The lock of native modules: the set that an operator has chosen, in a file of theirs.
//!
//! It has the form of `wasm/native/native.toml`, and the numbers of the merged module besides. Whoever may write to
//! this file decides which native code runs inside of the sandbox; no run and no client can name another one.
//!
//! INVARIANT(locked-set): an engine with the modules of a lock is used only if the merge gives the module of this
//! digest, so equal locks are equal engines on every machine.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::NamedTempFile;
use wardian_vocabulary::units::ByteCount;

use crate::native::{MergeError, NativeSet, PinnedModule};
use crate::source::wheel_tags::WheelTags;

/// Longest lock that is read. A module takes some 500 bytes.
const MAX_LOCK: u64 = 256 << 10;

/// Most modules of one engine. Each of them is compiled with it.
pub(crate) const MAX_MODULES: usize = 64;

/// The most of each wheel and of each module in it.
pub(crate) const MAX_WHEEL: ByteCount = ByteCount::mebibytes(256);

/// Above the text of a lock.
const HEADER: &str = "# The native modules of an engine. Written by `wardian engine build`; the setting \
    `engine.native` names this file.\n\n";

/// Errors of choosing native modules, and of their lock.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NativeLockError {
    /// The lock cannot be read.
    #[error("the lock of native modules {problem}")]
    Unreadable {
        /// The problem.
        problem: &'static str,
        /// The system's error.
        #[source]
        cause: io::Error,
    },
    /// The file is not a lock.
    #[error(
        "the lock of native modules is malformed; `wardian engine build --with …` writes a new one"
    )]
    Malformed(#[source] Box<toml::de::Error>),
    /// The lock cannot be written.
    #[error("the lock of native modules cannot be written")]
    Unwritable(#[source] io::Error),
    /// The text of a lock cannot be made.
    #[error("the lock of native modules cannot be written")]
    Text(#[source] Box<toml::ser::Error>),
    /// The lock is for another engine.
    #[error("the lock of native modules is for {0}; `wardian engine build` writes it again")]
    Foreign(&'static str),
    /// A module of the lock cannot be used.
    #[error("the native module `{module}` {problem}")]
    Module {
        /// The name under which it is imported.
        module: String,
        /// The problem.
        problem: &'static str,
    },
    /// There are too many modules.
    #[error("an engine has at most {MAX_MODULES} native modules")]
    TooMany,
    /// Nobody knows this package.
    #[error(
        "no native modules exist for `{package}`: this version has those of {known}, and no wheel of it lies in the \
         folder of the lock"
    )]
    Unknown {
        /// The package.
        package: String,
        /// The packages of the set that was built in.
        known: String,
    },
    /// A wheel cannot be used.
    #[error("the wheel `{wheel}` {problem}")]
    Wheel {
        /// Its file name.
        wheel: String,
        /// The problem.
        problem: String,
    },
    /// The set that was built in is malformed.
    #[error(transparent)]
    Embedded(Box<MergeError>),
}

impl From<MergeError> for NativeLockError {
    fn from(error: MergeError) -> Self {
        Self::Embedded(Box::new(error))
    }
}

/// Reads and checks the lock at `path`.
///
/// # Errors
///
/// The file cannot be read, is not a lock, or is for another version of this program.
pub fn load_lock(path: &Path) -> Result<NativeSet, NativeLockError> {
    let set: NativeSet = read_lock(path)?;
    let built_in = NativeSet::embedded()?;
    if set.merged_module.numbers.is_none() {
        return Err(NativeLockError::Foreign("no engine: it lacks `merged_module.numbers`"));
    }
    ensure_sound(&set.modules)?;
    Ok(NativeSet { shims: built_in.shims, lock: Some(path.to_owned()), ..set })
}

/// The packages of the lock at `path`, which another version may have written.
///
/// # Errors
///
/// The file cannot be read, or is not a lock.
pub fn packages_of_lock(path: &Path) -> Result<Vec<String>, NativeLockError> {
    let lock: NamedPackages = read_lock(path)?;
    let packages: BTreeSet<_> = lock.modules.into_iter().map(|module| module.package).collect();
    Ok(packages.into_iter().collect())
}

/// What the locks of all versions have.
#[derive(Deserialize)]
struct NamedPackages {
    modules: Vec<NamedPackage>,
}

#[derive(Deserialize)]
struct NamedPackage {
    package: String,
}

/// Writes the lock to `path`, all at once.
///
/// # Errors
///
/// The folder cannot be written to.
pub fn save_lock(set: &NativeSet, path: &Path) -> Result<(), NativeLockError> {
    let text = toml::to_string(set).map_err(|error| NativeLockError::Text(Box::new(error)))?;
    let text = format!("{HEADER}{text}");
    let fault = NativeLockError::Unwritable;
    let folder = folder_of(path);
    fs::create_dir_all(&folder).map_err(fault)?;
    let mut file = NamedTempFile::new_in(&folder).map_err(fault)?;
    file.write_all(text.as_bytes()).map_err(fault)?;
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(fault)?;
    file.as_file().sync_all().map_err(fault)?;
    file.persist(path).map_err(|error| fault(error.error))?;
    Ok(())
}

/// The folder of a lock, in which its own wheels lie.
#[must_use]
pub fn folder_of(lock: &Path) -> PathBuf {
    match lock.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn read_lock<T: DeserializeOwned>(path: &Path) -> Result<T, NativeLockError> {
    let unreadable = |problem, cause| NativeLockError::Unreadable { problem, cause };
    let is_file = fs::metadata(path).map(|found| found.is_file());
    if !is_file.map_err(|cause| unreadable("cannot be read", cause))? {
        return Err(unreadable("is not a regular file", io::ErrorKind::InvalidInput.into()));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(|cause| unreadable("cannot be read", cause))?;
    let read = file.take(MAX_LOCK).read_to_string(&mut text);
    let read = read.map_err(|cause| unreadable("cannot be read", cause))?;
    if u64::try_from(read).is_ok_and(|read| read == MAX_LOCK) {
        return Err(unreadable("is too long", io::ErrorKind::FileTooLarge.into()));
    }
    toml::from_str(&text).map_err(|error| NativeLockError::Malformed(Box::new(error)))
}

/// Checks the texts of modules, which become paths and arguments, and that no two are in each other's way.
pub(crate) fn ensure_sound(modules: &[PinnedModule]) -> Result<(), NativeLockError> {
    if modules.len() > MAX_MODULES {
        return Err(NativeLockError::TooMany);
    }
    let (mut names, mut files) = (BTreeSet::new(), BTreeSet::new());
    for module in modules {
        let refused =
            |problem| Err(NativeLockError::Module { module: module.name.clone(), problem });
        if !is_module_name(&module.name) {
            return refused("has a name that Python cannot import");
        }
        if !is_plain(&module.package) || !is_plain(&module.version) {
            return refused(
                "is of a package whose name or version has other signs than wheels have",
            );
        }
        if !is_plain(module.wheel.name()) || module.wheel.path.contains('/') {
            return refused("is of a wheel whose file name has other signs than wheels have");
        }
        if WheelTags::parse(module.wheel.name()).is_none() {
            return refused("is of a wheel whose file name does not say what it was made for");
        }
        if module.wheel.size_bytes > MAX_WHEEL || module.file.size_bytes > MAX_WHEEL {
            return refused("is larger than 256 MiB");
        }
        if !names.insert(&module.name) {
            return refused("is listed twice");
        }
        if !files.insert(module.file.name()) {
            return refused("has a file of the same name as another module");
        }
    }
    Ok(())
}

/// Dotted identifiers: a module at the top would hide one of Python's own.
pub(crate) fn is_module_name(name: &str) -> bool {
    let is_identifier = |part: &str| {
        part.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '_')
            && part.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_')
    };
    name.len() <= 200 && name.contains('.') && name.split('.').all(is_identifier)
}

/// The signs of names, versions and file names of wheels. None of them begins an option or leaves a folder.
fn is_plain(text: &str) -> bool {
    text.starts_with(|sign: char| sign.is_ascii_alphanumeric())
        && text.len() <= 250
        && text.chars().all(|sign| sign.is_ascii_alphanumeric() || "._-+!".contains(sign))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::native::MergedNumbers;

    fn set() -> NativeSet {
        let mut set = NativeSet::embedded().unwrap();
        let numbers = MergedNumbers { memory_min_pages: 1, table_elements: 2, data_segments: 3 };
        set.merged_module.numbers = Some(numbers);
        set
    }

    /// A change of a lock, and a part of the error about it.
    type Case<'a> = (&'a dyn Fn(&mut NativeSet), &'a str);

    fn refusal(change: impl Fn(&mut NativeSet)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut set) = (folder.path().join("native.toml"), set());
        change(&mut set);
        save_lock(&set, &path).unwrap();
        load_lock(&path).unwrap_err().to_string()
    }

    #[test]
    fn a_lock_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/native.toml");
        save_lock(&set(), &path).unwrap();
        let read = load_lock(&path).unwrap();
        assert_eq!(read.lock.as_deref(), Some(path.as_path()));
        assert_eq!((read.merged_module, &read.shims), (set().merged_module, &set().shims));
        assert_eq!(
            packages_of_lock(&path).unwrap(),
            ["jiter", "msgpack", "orjson", "pydantic-core", "rpds-py"]
        );
        let text = fs::read_to_string(&path).unwrap();
        let older = folder.path().join("older.toml");
        fs::write(&older, format!("platform = \"pyemscripten_2026_0_wasm32\"\n{text}")).unwrap();
        assert!(matches!(load_lock(&older), Err(NativeLockError::Malformed(_))));
        assert_eq!(packages_of_lock(&older).unwrap(), packages_of_lock(&path).unwrap());
        let again = folder.path().join("again.toml");
        save_lock(&read, &again).unwrap();
        assert_eq!(fs::read(&path).unwrap(), fs::read(&again).unwrap());
        save_lock(&NativeSet { modules: Vec::new(), ..set() }, &path).unwrap();
        assert!(load_lock(&path).unwrap().modules.is_empty());
    }

    #[test]
    fn what_a_lock_cannot_hold_is_refused_by_name() {
        let wheel = "msgpack-1 --pre.whl";
        let cases: [Case<'_>; 9] = [
            (&|set| set.merged_module.numbers = None, "lacks `merged_module.numbers`"),
            (&|set| set.modules[0].name = "sys".to_owned(), "`sys` has a name"),
            (&|set| set.modules[0].name = "a.b/../c".to_owned(), "has a name"),
            (&|set| set.modules[0].version = "1 --pre".to_owned(), "name or version"),
            (&|set| set.modules[0].package = "-r".to_owned(), "name or version"),
            (&|set| set.modules[0].wheel.path = wheel.to_owned(), "whose file name"),
            (&|set| set.modules[0].wheel.path = "msgpack-1.whl".to_owned(), "was made for"),
            (&|set| set.modules[1] = set.modules[0].clone(), "is listed twice"),
            (&|set| set.modules[1].file = set.modules[0].file.clone(), "the same name as another"),
        ];
        for (change, expected) in cases {
            let error = refusal(change);
            assert!(error.contains(expected), "{error}");
        }
        let many = |set: &mut NativeSet| set.modules = vec![set.modules[0].clone(); 65];
        assert_eq!(refusal(many), "an engine has at most 64 native modules");
    }

    #[test]
    fn what_is_no_lock_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("native.toml");
        for (content, expected) in
            [("modules = 1", "is malformed"), (&"#\n".repeat(200_000), "is too long")]
        {
            fs::write(&path, content).unwrap();
            let error = load_lock(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = load_lock(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("is not a regular file"), "{error}");
        let error = load_lock(&folder.path().join("missing")).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }
}
