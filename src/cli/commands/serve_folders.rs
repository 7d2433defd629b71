//! The folders of a server: checked before it listens, and locked against a second server.
//!
//! INVARIANT(one-server): at most one server uses a data folder. The kernel holds the lock as long
//! as the server's process lives, so a killed server leaves none behind. Other commands do not take
//! it.

use std::error::Error;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::assembly::{self, AssemblyError};
use crate::blobs::BlobError;
use crate::cli::failed::Failed;
use crate::config::{CompileMetered, Config};
use crate::engine::EngineError;
use crate::engine::code::compile::Variant;
use crate::error::CauseChain;

/// The name of the lock in the data folder.
const LOCK: &str = "lock";

/// Longest process number that is read from a lock.
const MAX_NUMBER: u64 = 16;

/// The lock of a data folder, held until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct DataFolderLock {
    _file: File,
}

impl DataFolderLock {
    /// Makes the folder if it is missing, and locks it.
    ///
    /// # Errors
    ///
    /// Another server uses the folder, or this user cannot write to it.
    pub(crate) fn take(folder: &Path) -> Result<Self, Failed> {
        let unusable =
            |fault: io::Error| unusable("data folder", folder, &fault, "`--data-dir` (`data_dir`)");
        fs::create_dir_all(folder).map_err(unusable)?;
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join(LOCK))
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(folder, &mut file)),
            Err(TryLockError::Error(fault)) => return Err(unusable(fault)),
        }
        // The number is for people. A lock without it is a lock as well.
        file.set_len(0)
            .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()))
            .map_err(unusable)?;
        Ok(Self { _file: file })
    }
}

fn in_use(folder: &Path, file: &mut File) -> Failed {
    let mut number = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_NUMBER).read_to_string(&mut number));
    let is_number = read.is_ok() && number.parse::<u32>().is_ok();
    let process = if is_number { format!(" (process {number})") } else { String::new() };
    Failed::usage(format!(
        "another server{process} is using the data folder `{}`: stop it, or give this one a folder \
         of its own with `--data-dir` (`data_dir`)",
        folder.display()
    ))
}

/// A folder that this user cannot use; `setting` names another one.
fn unusable(what: &str, folder: &Path, fault: &(dyn Error + 'static), setting: &str) -> Failed {
    let user = rustix::process::geteuid().as_raw();
    Failed::usage(format!(
        "the {what} `{}` cannot be used: {}; it must be a folder that user {user} can write to: \
         change that, or name another folder with {setting}",
        folder.display(),
        CauseChain(fault)
    ))
}

/// Checks everything that a server needs of the disk, before it listens.
///
/// # Errors
///
/// A folder cannot be used, or fuel has to be counted and cannot be.
pub(crate) fn check_folders(config: &Config) -> Result<(), Failed> {
    let folder = &config.blobs.folder;
    match assembly::open_blobs(config) {
        Ok(store) => drop(store),
        Err(AssemblyError::Blobs(error @ BlobError::Storage { .. })) => {
            return Err(unusable("blob store", folder, &error, "`blobs.folder`"));
        }
        Err(error) => return Err(error.into()),
    }
    let engine = match assembly::open_engine(config) {
        Ok(engine) => engine,
        Err(AssemblyError::Engine(
            error @ (EngineError::CacheFolder { .. } | EngineError::Storage { .. }),
        )) => {
            let setting = "`--cache-dir` (`cache_dir`)";
            return Err(unusable("cache folder", &config.cache_dir, &error, setting));
        }
        Err(error) => return Err(error.into()),
    };
    let own = config.data_dir.join("skills");
    for root in config.skills.roots.iter().filter(|root| **root != own) {
        fs::read_dir(root).map_err(|fault| {
            Failed::usage(format!(
                "the folder of skills `{}` cannot be read: {fault}; make the folder, or name \
                 others with `--skills` (`skills.roots`)",
                root.display()
            ))
        })?;
    }
    let is_counted = config.limits.default.fuel.is_some();
    let compiles = config.engine.compile_metered == CompileMetered::OnDemand;
    if is_counted && !compiles && !engine.is_ready(Variant::Metered)? {
        return Err(Failed::usage(
            "`limits.fuel` is set, the engine's code that counts fuel is not installed, and \
             `engine.compile_metered` is \"never\": run `wardian engine install --metered`, or \
             leave one of the settings out",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit_code::Exit;

    #[test]
    fn one_server_has_the_folder_until_it_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        let held = DataFolderLock::take(&data).unwrap();
        for _ in 0..2 {
            let refused = DataFolderLock::take(&data).unwrap_err();
            assert_eq!(refused.exit, Exit::WrongUsage);
            let process = format!("(process {})", std::process::id());
            assert!(refused.to_string().contains(&process), "{refused}");
        }
        drop(held);
        drop(DataFolderLock::take(&data).unwrap());
    }

    #[test]
    fn a_lock_with_anything_in_it_can_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LOCK), [0xff; 100]).unwrap();
        let held = DataFolderLock::take(folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join(LOCK)).unwrap();
        assert_eq!(text, std::process::id().to_string());
        fs::write(folder.path().join(LOCK), [0xff; 100]).unwrap();
        let refused = DataFolderLock::take(folder.path()).unwrap_err();
        assert!(refused.to_string().starts_with("another server is using"), "{refused}");
        drop(held);
    }

    #[test]
    fn a_folder_that_cannot_be_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for place in [file.clone(), file.join("below"), "/proc/no/folder".into()] {
            let refused = DataFolderLock::take(&place).unwrap_err();
            assert_eq!(refused.exit, Exit::WrongUsage);
            assert!(refused.to_string().contains(&place.display().to_string()), "{refused}");
        }
    }
}
