//! The file of the database: private, and owned by the owner of its folder.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use wardian_vocabulary::files::private_file::{
    PRIVATE, create_folder, folder_of, give_to_owner_of, restrict,
};

/// Creates the file if it does not exist, and removes the rights of other users on it. The files
/// that SQLite makes next to it have the same owner and rights.
///
/// A file that exists is not opened: closing it would drop the locks that SQLite has on it in this
/// process. A link is refused, because root may have to change the rights of the file.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    let folder = folder_of(path);
    create_folder(folder)?;
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path) {
        Ok(file) => {
            give_to_owner_of(folder, &file)?;
            File::open(folder)?.sync_all()
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => restrict(path),
        Err(error) => Err(error),
    }
}

/// The write-ahead log of the file at `path`, which exists while a connection is open.
pub(super) fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Makes the changes in this log survive a loss of power. No transaction waits meanwhile, as each would for
/// one that is synced. SQLite itself syncs what it folds into the file.
///
/// SQLite has no locks on its log that closing another descriptor would drop.
pub(super) fn sync_log(log: &Path) -> io::Result<()> {
    File::open(log)?.sync_data()
}
