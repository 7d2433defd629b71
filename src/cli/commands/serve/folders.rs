//! The folders of a server: checked before it listens, and locked against a second server.
//!
//! INVARIANT(one-server): at most one server uses a data folder. The kernel holds the lock as long
//! as the server's process lives, so a killed server leaves none behind. Other commands do not take
//! it.
//!
//! The folder also has the id of its server. Only the server that holds the lock has the id, so what the
//! database of records knows under this id is of this server, or of a life of it that is over.

use std::error::Error;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, accessat};

use crate::assembly::{self, AssemblyError};
use crate::cli::failed::Failed;
use wardian_config::{CompileMetered, Config};
use wardian_engine::EngineError;
use wardian_engine::code::instrumentation::Variant;
use wardian_stores::blobs::BlobError;
use wardian_stores::records::ServerId;
use wardian_vocabulary::error::CauseChain;
use wardian_vocabulary::files::private_file::{PRIVATE, create_folder, give_to_owner_of};

/// The name of the lock in the data folder.
const LOCK: &str = "lock";

/// The name of the file in the data folder that has the id of its server.
const SERVER: &str = "server-id";

/// Longest text that is read from that file.
const MAX_ID: u64 = 256;

/// Longest process number that is read from a lock.
const MAX_NUMBER: u64 = 16;

/// The lock of a data folder, held until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct DataFolderLock {
    _file: File,
    server: ServerId,
}

impl DataFolderLock {
    /// Makes the folder if it is missing, and locks it.
    ///
    /// # Errors
    ///
    /// Another server uses the folder, or this user cannot write to it.
    pub(crate) fn take(folder: &Path) -> Result<Self, Failed> {
        create_folder(folder).map_err(|fault| unusable_data(folder, &fault))?;
        let path = folder.join(LOCK);
        let unusable = |fault: io::Error| unusable_lock(&path, &fault);
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
        let mut file = options.custom_flags(libc::O_NOFOLLOW).open(&path).map_err(unusable)?;
        give_to_owner_of(folder, &file).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(folder, &mut file)),
            Err(TryLockError::Error(fault)) => return Err(unusable(fault)),
        }
        // The number is for people. A lock without it is a lock as well.
        file.set_len(0)
            .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()))
            .map_err(unusable)?;
        let server = id_of_server(folder).map_err(|fault| unusable_id(folder, &fault))?;
        Ok(Self { _file: file, server })
    }

    /// The id of the server that uses the folder: the same at each start.
    pub(crate) const fn server(&self) -> &ServerId {
        &self.server
    }
}

/// Reads the id of the folder's server, which is made if there is none. The lock must be held.
///
/// # Errors
///
/// The file cannot be used, or has something else in it.
fn id_of_server(folder: &Path) -> io::Result<ServerId> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(PRIVATE);
    let file = options.custom_flags(libc::O_NOFOLLOW).open(folder.join(SERVER))?;
    give_to_owner_of(folder, &file)?;
    let mut text = String::new();
    (&file).take(MAX_ID).read_to_string(&mut text)?;
    // A server that was killed before it had written its id had no runs.
    if text.is_empty() {
        let id = ServerId::generate();
        (&file).write_all(format!("{id}\n").as_bytes())?;
        file.sync_all()?;
        File::open(folder)?.sync_all()?;
        return Ok(id);
    }
    ServerId::parse(text.trim_end()).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn in_use(folder: &Path, file: &mut File) -> Failed {
    let mut number = String::new();
    let read = file.rewind().and_then(|()| file.take(MAX_NUMBER).read_to_string(&mut number));
    let is_number = read.is_ok() && number.parse::<u32>().is_ok();
    let process = if is_number { format!(" (process {number})") } else { String::new() };
    Failed::usage(format!(
        "another server{process} is using the data folder `{}`: stop it, or give this one another \
        folder with `--data-dir` (`data_dir`)",
        folder.display()
    ))
}

/// The lock is there and cannot be opened: another user made it, or it is not a file.
fn unusable_lock(path: &Path, fault: &io::Error) -> Failed {
    let user = rustix::process::geteuid().as_raw();
    Failed::usage(format!(
        "the lock `{}` of the data folder cannot be used: {fault}; it must be a file that user \
        {user} can write to: change its owner, or use another folder with `--data-dir` \
         (`data_dir`)",
        path.display()
    ))
}

/// The id of the server cannot be read or written.
fn unusable_id(folder: &Path, fault: &io::Error) -> Failed {
    Failed::usage(format!(
        "the id of this server, `{}`, cannot be used: {fault}; it must be a file with one line that \
         Wardian wrote and that this user can write to: remove it to get a new id, or use another \
         folder with `--data-dir` (`data_dir`)",
        folder.join(SERVER).display()
    ))
}

fn unusable_data(folder: &Path, fault: &io::Error) -> Failed {
    unusable("data folder", folder, fault, "`--data-dir` (`data_dir`)")
}

/// A folder that this user cannot use; `setting` names another one.
fn unusable(what: &str, folder: &Path, fault: &(dyn Error + 'static), setting: &str) -> Failed {
    let user = rustix::process::geteuid().as_raw();
    Failed::usage(format!(
        "the {what} `{}` cannot be used: {}; it must be a folder that user {user} can write to: \
        change that, or use another folder with {setting}",
        folder.display(),
        CauseChain(fault)
    ))
}

/// Checks what a server needs of the disk, before anything is changed there.
///
/// # Errors
///
/// A folder cannot be used, or fuel has to be counted and cannot be.
pub(crate) fn check_unchanged(config: &Config) -> Result<(), Failed> {
    let (blobs, cache) = (&config.blobs.folder, &config.cache_dir);
    can_be_used(&config.data_dir).map_err(|fault| unusable_data(&config.data_dir, &fault))?;
    can_be_used(blobs).map_err(|fault| unusable_blobs(blobs, &fault))?;
    can_be_used(cache).map_err(|fault| unusable_cache(cache, &fault))?;
    let is_counted = config.limits.default.fuel.is_some();
    if !is_counted || config.engine.compile_metered == CompileMetered::OnDemand {
        return Ok(());
    }
    let is_there = cache.try_exists().map_err(|fault| unusable_cache(cache, &fault))?;
    if !is_there || !assembly::open_engine(config)?.is_ready(Variant::Metered)? {
        return Err(Failed::usage(
            "`limits.fuel` is set, the metered code is not installed, and \
            `engine.compile_metered` is \"never\": run `wardian engine install --metered`, or \
            remove one of the settings",
        ));
    }
    Ok(())
}

/// Checks that no keys of the data folder would be hidden by a database elsewhere: with them its blobs and
/// sessions would be lost.
///
/// # Errors
///
/// The data folder has a database of its own.
pub(crate) fn check_own_database(config: &Config) -> Result<(), Failed> {
    let own = assembly::database_path(config);
    if config.database.url_file.is_none() || !own.try_exists().unwrap_or(true) {
        return Ok(());
    }
    Err(Failed::usage(format!(
        "`database.url_file` is set, and the data folder has keys of its own (`{}`), without which its \
        blobs and sessions cannot be used: give this server an empty data folder with `--data-dir` \
        (`data_dir`), or remove the setting",
        own.display()
    )))
}

/// Checks that a folder can be written to, or can be made.
fn can_be_used(folder: &Path) -> io::Result<()> {
    match fs::metadata(folder) {
        Ok(found) if !found.is_dir() => Err(io::ErrorKind::NotADirectory.into()),
        Ok(_) => Ok(accessat(CWD, folder, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)?),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
            parent.map_or(Err(fault), can_be_used)
        }
        Err(fault) => Err(fault),
    }
}

/// Opens the folders besides the data folder, which are made if they are missing.
///
/// # Errors
///
/// A folder cannot be used, or another server uses it.
pub(crate) fn open_folders(config: &Config) -> Result<(), Failed> {
    match config.blobs.store.is_none().then(|| assembly::open_blobs(config)).transpose() {
        Ok(store) => drop(store),
        Err(AssemblyError::Blobs(error @ BlobError::Storage { .. })) => {
            return Err(unusable_blobs(&config.blobs.folder, &error));
        }
        Err(error) => return Err(error.into()),
    }
    match assembly::open_engine(config) {
        Ok(_) => Ok(()),
        Err(AssemblyError::Engine(
            error @ (EngineError::CacheFolder { .. } | EngineError::Storage { .. }),
        )) => Err(unusable_cache(&config.cache_dir, &error)),
        Err(error) => Err(error.into()),
    }
}

fn unusable_blobs(folder: &Path, fault: &(dyn Error + 'static)) -> Failed {
    unusable("blob store", folder, fault, "`blobs.folder`")
}

fn unusable_cache(folder: &Path, fault: &(dyn Error + 'static)) -> Failed {
    unusable("cache folder", folder, fault, "`--cache-dir` (`cache_dir`)")
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

    /// The id tells which runs in the database are of this server.
    #[test]
    fn a_folder_keeps_the_id_of_its_server() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let id_of = |folder: &Path| DataFolderLock::take(folder).unwrap().server().clone();
        let id = id_of(one.path());
        assert_eq!(id_of(one.path()), id);
        assert_ne!(id_of(other.path()), id);
        // A kill right after the file was made.
        let file = one.path().join(SERVER);
        fs::write(&file, "").unwrap();
        let new = id_of(one.path());
        assert_ne!(new, id);
        assert_eq!(id_of(one.path()), new);
        for broken in ["something else\n", &"srv_0".repeat(1_000)] {
            fs::write(&file, broken).unwrap();
            let refused = DataFolderLock::take(one.path()).unwrap_err();
            assert_eq!(refused.exit, Exit::WrongUsage);
            assert!(refused.to_string().contains("server-id"), "{refused}");
            assert_eq!(fs::read_to_string(&file).unwrap(), broken, "it is left alone");
        }
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
    fn a_lock_that_is_a_link_is_refused_with_its_name_and_its_target_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (data, target) = (folder.path().join("data"), folder.path().join("target"));
        fs::create_dir(&data).unwrap();
        fs::write(&target, "content").unwrap();
        std::os::unix::fs::symlink(&target, data.join(LOCK)).unwrap();
        let refused = DataFolderLock::take(&data).unwrap_err();
        assert!(refused.to_string().contains("data/lock` of the data folder"), "{refused}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "content");
    }

    #[test]
    fn a_server_of_root_leaves_a_lock_that_the_owner_of_the_folder_can_take() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can give files away");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(65_532), Some(65_532)).unwrap();
        drop(DataFolderLock::take(folder.path()).unwrap());
        assert_eq!(fs::metadata(folder.path().join(LOCK)).unwrap().uid(), 65_532);
    }

    #[test]
    fn a_folder_is_checked_without_being_made() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        can_be_used(&deep).unwrap();
        assert!(!folder.path().join("a").try_exists().unwrap());
        fs::write(folder.path().join("file"), "").unwrap();
        for wrong in ["file", "file/below"] {
            can_be_used(&folder.path().join(wrong)).unwrap_err();
        }
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
