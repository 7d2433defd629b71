//! The file of the database: private, and owned by the owner of its folder.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::Path;

/// Rights of the file: its owner's alone. The files that SQLite makes beside it have the same.
const PRIVATE: u32 = 0o600;

/// Creates the file if it does not exist, and removes the rights of other users on it.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(PRIVATE).custom_flags(libc::O_NONBLOCK);
    let file = match options.clone().create_new(true).open(path) {
        Ok(file) => {
            give_to_owner_of(folder, &file, path)?;
            File::open(folder)?.sync_all()?;
            file
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path)?,
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(PRIVATE))?;
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
