//! The file of the database: private, and owned by the owner of its folder.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::Path;

/// Rights of the file: its owner's alone. The files that SQLite makes beside it have the same.
const PRIVATE: u32 = 0o600;

/// Creates the file if it does not exist, and removes the rights of other users on it.
///
/// A file that exists is not opened: closing it would drop the locks that SQLite has on it in this
/// process.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    match OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path) {
        Ok(file) => {
            give_to_owner_of(folder, &file, path)?;
            return File::open(folder)?.sync_all();
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

/// Lets root make the file for a server that runs as another user: the owner of the folder gets it.
fn give_to_owner_of(folder: &Path, file: &File, path: &Path) -> io::Result<()> {
    let (owner, made) = (fs::metadata(folder)?, file.metadata()?);
    if made.uid() == 0 && owner.uid() != 0 {
        chown(path, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}
