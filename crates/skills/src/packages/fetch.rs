//! Gets wheels: from a registry through pip, which knows the mirror, the proxy and the certificates
//! of this machine, or from a folder. Both are believed nothing: sizes and digests are checked here.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::packages::guest::{GuestPlatform, PackageVersion};
use crate::packages::layer::{LayerDraft, LayerError};
use crate::packages::lock::{LockedPackage, MAX_WHEEL};
use crate::packages::pip::{
    PipLog, PythonError, RegistryFault, download_fault, error_lines, mismatch_in, missing_in, pip,
    pip_for_native,
};
use crate::packages::resolve::{ChosenWheel, WheelSource};
use crate::packages::wheel::{NativeTags, WheelError, WheelLimits, WheelName, shipped, unpack};
use wardian_vocabulary::files::regular_file::open_now;
use wardian_vocabulary::ids::Digest;

/// The reason why wheels are not available.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A wheel is not in the folder.
    #[error("the folder has no `{file}`: fetch it on a machine with a network (`pip download`)")]
    NotInFolder {
        /// The wheel.
        file: String,
    },
    /// A wheel was locked from a folder, so no registry has it.
    #[error("`{file}` was locked from a folder: sync with `--from` and a folder that contains it")]
    OnlyInFolder {
        /// The wheel.
        file: String,
    },
    /// A wheel is not the locked one.
    #[error("`{file}` is not the locked one: its SHA-256 is {found}, the lock has {locked}")]
    Digest {
        /// The wheel.
        file: String,
        /// The digest in the lock.
        locked: Digest,
        /// The digest of the file.
        found: Digest,
    },
    /// A wheel has another length than the locked one, or is too large.
    #[error("`{file}` is not the locked one: it has {found} bytes, the lock {locked}")]
    Size {
        /// The wheel.
        file: String,
        /// The length in the lock.
        locked: u64,
        /// The length of the file.
        found: u64,
    },
    /// The registry does not have a wheel any more.
    #[error(
        "the registry no longer has `{file}`: lock again, or sync with `--from` and a \
        folder that contains it"
    )]
    NotInRegistry {
        /// The wheel.
        file: String,
    },
    /// The registry cannot be asked.
    #[error(transparent)]
    Registry(#[from] RegistryFault),
    /// pip cannot be run.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// A wheel must not be unpacked.
    #[error(transparent)]
    Wheel(#[from] WheelError),
    /// The wheels make no layer.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// A file cannot be read or written.
    #[error("a file cannot be read or written")]
    File(#[from] io::Error),
}

/// Gets the wheels that pip chose, and locks them.
///
/// # Errors
///
/// A wheel is not available, or must not be unpacked.
pub fn lock_wheels(
    wheels: &[ChosenWheel],
    guest: &GuestPlatform,
    python: &Path,
    source: WheelSource<'_>,
    advanced: &dyn Fn(&WheelName),
) -> Result<(Vec<LockedPackage>, LayerDraft), FetchError> {
    let wanted: Vec<Wanted<'_>> = wheels
        .iter()
        .map(|one| Wanted { name: &one.name, sha256: one.sha256, size: None, folders: None })
        .collect();
    let (sizes, draft) = fetch(&wanted, guest, python, source, advanced)?;
    let locked = wheels.iter().map(|wheel| LockedPackage {
        wheel: wheel.name.clone(),
        url: wheel.url.clone(),
        size: sizes.get(wheel.name.as_str()).copied().unwrap_or_default(),
        sha256: wheel.sha256,
        folders: BTreeMap::new(),
    });
    Ok((locked.collect(), draft))
}

/// Gets locked wheels.
///
/// # Errors
///
/// A wheel is not available, is another one, or must not be unpacked.
pub fn sync_wheels(
    packages: &[LockedPackage],
    guest: &GuestPlatform,
    python: &Path,
    source: WheelSource<'_>,
    advanced: &dyn Fn(&WheelName),
) -> Result<LayerDraft, FetchError> {
    if let WheelSource::Registry = source {
        let only = packages.iter().find(|one| one.url.is_none());
        if let Some(only) = only {
            return Err(FetchError::OnlyInFolder { file: only.wheel.as_str().to_owned() });
        }
    }
    let wanted: Vec<Wanted<'_>> = packages
        .iter()
        .map(|one| Wanted {
            name: &one.wheel,
            sha256: one.sha256,
            size: Some(one.size),
            folders: one.is_partial().then_some(&one.folders),
        })
        .collect();
    Ok(fetch(&wanted, guest, python, source, advanced)?.1)
}

/// A wheel with the digest that it must have.
struct Wanted<'a> {
    name: &'a WheelName,
    sha256: Digest,
    size: Option<u64>,
    /// The folders to unpack, with their paths in the layer; `None` for all.
    folders: Option<&'a BTreeMap<String, String>>,
}

fn fetch(
    wanted: &[Wanted<'_>],
    guest: &GuestPlatform,
    python: &Path,
    source: WheelSource<'_>,
    advanced: &dyn Fn(&WheelName),
) -> Result<(BTreeMap<String, u64>, LayerDraft), FetchError> {
    let scratch;
    let folder = match source {
        WheelSource::Folder(folder) => folder,
        WheelSource::Registry => {
            scratch = tempfile::Builder::new().prefix("wardian-sync-").tempdir()?;
            download(wanted, guest, python, scratch.path())?;
            scratch.path()
        }
    };
    let (mut sizes, mut draft) = (BTreeMap::new(), LayerDraft::default());
    for wheel in wanted {
        advanced(wheel.name);
        let bytes = read(wheel, folder)?;
        let mut unpacked = unpack(wheel.name, &bytes, &WheelLimits::DEFAULT)?;
        if let Some(folders) = wheel.folders {
            unpacked.keep_only(folders);
        }
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        sizes.insert(wheel.name.as_str().to_owned(), size);
        let WheelName { package, version, .. } = wheel.name.clone();
        draft.add(PackageVersion { name: package, version }, unpacked)?;
    }
    Ok((sizes, draft))
}

/// Lets pip fetch the wheels into an empty folder. It gets the digests too. One call of pip is for one
/// platform.
fn download(
    wanted: &[Wanted<'_>],
    guest: &GuestPlatform,
    python: &Path,
    folder: &Path,
) -> Result<(), FetchError> {
    let (mut pure, mut native) = (Vec::new(), Vec::<(&NativeTags, Vec<&Wanted<'_>>)>::new());
    for wheel in wanted.iter().filter(|wheel| shipped(wheel.name).is_none()) {
        match wheel.name.native() {
            None => pure.push(wheel),
            Some(tags) => match native.iter_mut().find(|(known, _)| *known == tags) {
                Some((_, wheels)) => wheels.push(wheel),
                None => native.push((tags, vec![wheel])),
            },
        }
    }
    if !pure.is_empty() {
        download_with(&pure, folder, &|arguments| pip(guest, python, arguments, folder))?;
    }
    for (tags, wheels) in native {
        let run = |arguments: &[&OsStr]| pip_for_native(guest, tags, python, arguments, folder);
        download_with(&wheels, folder, &run)?;
    }
    Ok(())
}

/// Lets one call of pip fetch wheels.
fn download_with(
    wanted: &[&Wanted<'_>],
    folder: &Path,
    run: &dyn Fn(&[&OsStr]) -> Result<(), PythonError>,
) -> Result<(), FetchError> {
    let lines = wanted.iter().map(|Wanted { name, sha256, .. }| {
        format!("{}=={} --hash=sha256:{sha256}\n", name.package, name.version)
    });
    fs::write(folder.join("requirements.txt"), lines.collect::<String>())?;
    let arguments: Vec<&OsStr> = "download --no-deps --require-hashes --ignore-requires-python \
         -r requirements.txt --dest ."
        .split_ascii_whitespace()
        .map(OsStr::new)
        .collect();
    match run(&arguments) {
        Err(PythonError::Failed { said }) => {
            Err(refused(&said, wanted, PipLog::read(folder).faults()))
        }
        ended => Ok(ended?),
    }
}

/// Finds the cause of a failed download in the words of pip.
fn refused(said: &str, wanted: &[&Wanted<'_>], faults: &[RegistryFault]) -> FetchError {
    let file = |one: &Wanted<'_>| one.name.as_str().to_owned();
    if let Some((locked, found)) = mismatch_in(said)
        && let Some(one) = wanted.iter().find(|one| one.sha256 == locked)
    {
        return FetchError::Digest { file: file(one), locked, found };
    }
    let missing = missing_in(said);
    // A registry that did not answer may have the wheel that no other has.
    let fault = faults.first().filter(|_| missing.is_some()).cloned();
    if let Some(fault) = fault.or_else(|| download_fault(said)) {
        return fault.into();
    }
    let missing =
        missing.and_then(|missing| wanted.iter().find(|one| one.name.package == missing.0.name));
    match missing {
        Some(one) => FetchError::NotInRegistry { file: file(one) },
        None => PythonError::Failed { said: error_lines(said) }.into(),
    }
}

/// Reads a wheel and checks that it is the wanted one.
fn read(wanted: &Wanted<'_>, folder: &Path) -> Result<Vec<u8>, FetchError> {
    if let Some(content) = shipped(wanted.name) {
        return checked(wanted, content.to_vec());
    }
    let file = wanted.name.as_str().to_owned();
    // A pipe of that name would be waited for.
    let opened = match open_now(&folder.join(&file)) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(FetchError::NotInFolder { file });
        }
        Err(error) => return Err(error.into()),
    };
    let metadata = opened.metadata()?;
    if !metadata.is_file() {
        return Err(FetchError::NotInFolder { file });
    }
    let (found, locked) = (metadata.len(), wanted.size.unwrap_or(metadata.len()));
    if found != locked || found > MAX_WHEEL {
        return Err(FetchError::Size { file, locked: locked.min(MAX_WHEEL), found });
    }
    let mut bytes = Vec::new();
    opened.take(MAX_WHEEL).read_to_end(&mut bytes)?;
    checked(wanted, bytes)
}

/// The content of a wheel, once its digest is the wanted one.
fn checked(wanted: &Wanted<'_>, bytes: Vec<u8>) -> Result<Vec<u8>, FetchError> {
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    let found = Digest::from_bytes(digest);
    if found != wanted.sha256 {
        let file = wanted.name.as_str().to_owned();
        return Err(FetchError::Digest { file, locked: wanted.sha256, found });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::guest::testing::guest;

    #[test]
    fn wheels_of_the_program_are_not_fetched() {
        let lock = crate::packages::batteries::lock().unwrap();
        let wheels = lock.packages.into_iter().filter(|one| shipped(&one.wheel).is_some());
        let mut wheels: Vec<_> = wheels.collect();
        assert_eq!(wheels.len(), 2);
        let (empty, python) = (tempfile::tempdir().unwrap(), Path::new("/nowhere/python"));
        for source in [WheelSource::Registry, WheelSource::Folder(empty.path())] {
            sync_wheels(&wheels, &guest(), python, source, &|_| ()).unwrap();
        }
        wheels[0].sha256 = Digest::of(b"another");
        let error = sync_wheels(&wheels, &guest(), python, WheelSource::Registry, &|_| ());
        assert!(matches!(error, Err(FetchError::Digest { .. })), "{error:?}");
    }

    #[test]
    fn the_words_of_pip_become_the_documented_messages() {
        let name = WheelName::parse("a_b-1.0-py3-none-any.whl").unwrap();
        let (locked, found) = (Digest::of(b"a"), Digest::of(b"b"));
        let wanted = Wanted { name: &name, sha256: locked, size: None, folders: None };
        let other = format!(
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have updated the package versions, please update the hashes.\n    a-b==1.0 from x:\n        Expected sha256 {locked}\n             Got        {found}"
        );
        let missing = "ERROR: Could not find a version that satisfies the requirement a-b==1.0 (from versions: none)\nERROR: No matching distribution found for a-b==1.0";
        let fault = RegistryFault { registry: "https://x".into(), problem: "fails: 500".into() };
        let said =
            |said: &str, faults: &[RegistryFault]| refused(said, &[&wanted], faults).to_string();
        assert_eq!(
            said(&other, &[]),
            format!(
                "`a_b-1.0-py3-none-any.whl` is not the locked one: its SHA-256 is {found}, the lock has {locked}"
            )
        );
        assert_eq!(
            said(missing, &[]),
            "the registry no longer has `a_b-1.0-py3-none-any.whl`: lock again, or sync \
            with `--from` and a folder that contains it"
        );
        assert_eq!(said(missing, &[fault]), "the registry https://x fails: 500");
        assert_eq!(said("ERROR: no space", &[]), "pip failed: ERROR: no space");
    }
}
