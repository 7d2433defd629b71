//! Files of one user: their owner, their rights, and the folders that they lie in.
//!
//! INVARIANT(no-link-is-followed): rights and owners are changed of the file that was opened, and
//! never of one that a link leads to. Root may work in a folder of another user, who can put a link
//! there at any time.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown};
use std::path::Path;

/// Rights of a private file: its owner's alone.
pub const PRIVATE: u32 = 0o600;

/// The folder of a file.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Creates a folder and its parents, as far as they do not exist, and makes them durable.
///
/// # Errors
///
/// A folder cannot be created or made durable.
pub fn create_folder(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let made = match (fs::create_dir(path), parent) {
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            create_folder(parent)?;
            fs::create_dir(path)
        }
        (made, _) => made,
    };
    match made {
        Ok(()) => File::open(folder_of(path))?.sync_all(),
        Err(_) if path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Lets root make a file for a server that runs as another user: the owner of the folder gets it.
///
/// # Errors
///
/// The owner cannot be read or set.
pub fn give_to_owner_of(folder: &Path, file: &File) -> io::Result<()> {
    let (owner, made) = (fs::metadata(folder)?, file.metadata()?);
    if made.uid() == 0 && owner.uid() != 0 {
        fchown(file, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}

/// Bits of a mode that let others than the owner at a file.
const OTHERS: u32 = 0o077;

/// The bit that lets a group read.
const GROUP_READS: u32 = 0o040;

/// Why others than the user of this process have access to a file, if they do.
///
/// A file of root that the process's own group reads is private too: containers have secrets as such files.
///
/// # Errors
///
/// The rights cannot be read.
pub fn exposure(file: &File) -> io::Result<Option<String>> {
    let metadata = file.metadata()?;
    let own = Owner {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    };
    let of_file = Owner { user: metadata.uid(), group: metadata.gid() };
    Ok(exposed(metadata.mode() & 0o7777, of_file, own))
}

/// A user and a group, by their numbers.
#[derive(Clone, Copy)]
struct Owner {
    user: u32,
    group: u32,
}

fn exposed(mode: u32, of_file: Owner, own: Owner) -> Option<String> {
    let is_of_own_group = of_file.user == 0 && of_file.group == own.group && own.group != 0;
    let allowed = if is_of_own_group { GROUP_READS } else { 0 };
    if mode & OTHERS & !allowed != 0 {
        return Some(format!("its mode is {mode:04o} and must be 0600: others have access to it"));
    }
    let is_own = of_file.user == own.user || of_file.user == 0;
    (!is_own).then(|| "it belongs to another user".to_owned())
}

/// Removes the rights of other users on a regular file.
///
/// The file is not opened for reading: closing it would drop the locks that this process has on it.
///
/// # Errors
///
/// The rights cannot be read or set.
pub fn restrict(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let place = options.read(true).custom_flags(libc::O_PATH | libc::O_NOFOLLOW).open(path)?;
    let found = place.metadata()?;
    if found.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is a symbolic link"));
    }
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        // The path of the descriptor, since `fchmod` needs one that can be read or written.
        let path = format!("/proc/self/fd/{}", place.as_raw_fd());
        fs::set_permissions(path, Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn no_link_is_followed_when_rights_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        symlink(&file, &link).unwrap();
        assert!(restrict(&link).unwrap_err().to_string().contains("symbolic link"));
        assert_eq!(mode(&file), 0o644);
        restrict(&file).unwrap();
        assert_eq!(mode(&file), 0o600);
        fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        restrict(&file).unwrap();
        assert_eq!(mode(&file), 0o400, "fewer rights are left as they are");
        assert!(restrict(folder.path()).unwrap_err().to_string().contains("regular file"));
        assert_eq!(restrict(&file.join("none")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn a_file_is_private_if_its_owner_alone_has_it_or_a_container_mounts_it() {
        let (root, own) = (Owner { user: 0, group: 0 }, Owner { user: 1000, group: 1000 });
        let (mounted, other) = (Owner { user: 0, group: 1000 }, Owner { user: 7, group: 1000 });
        for (mode, of_file, user, is_private) in [
            (0o600, own, own, true),
            (0o400, root, own, true),
            (0o440, mounted, own, true),
            (0o640, mounted, own, true),
            (0o660, mounted, own, false),
            (0o444, mounted, own, false),
            (0o440, root, own, false),
            (0o440, root, root, false),
            (0o640, own, own, false),
            (0o600, other, own, false),
            (0o440, other, own, false),
        ] {
            assert_eq!(exposed(mode, of_file, user).is_none(), is_private, "{mode:o}");
        }
    }

    #[test]
    fn folders_are_made_with_their_parents() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        for _ in 0..2 {
            create_folder(&deep).unwrap();
            assert!(deep.is_dir());
        }
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        for wrong in [file.clone(), file.join("a"), "/proc/none/a".into(), "".into()] {
            create_folder(&wrong).unwrap_err();
        }
    }

    #[test]
    fn a_file_of_root_is_given_to_the_owner_of_its_folder() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root can give files away");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(65_532), Some(65_532)).unwrap();
        let (file, elsewhere) = (folder.path().join("file"), tempfile::tempdir().unwrap());
        let owner = |path: &Path| fs::metadata(path).unwrap().uid();
        give_to_owner_of(folder.path(), &File::create(&file).unwrap()).unwrap();
        assert_eq!(owner(&file), 65_532);
        // A file of another user stays with them.
        chown(&file, Some(65_533), None).unwrap();
        give_to_owner_of(folder.path(), &File::open(&file).unwrap()).unwrap();
        assert_eq!(owner(&file), 65_533);
        let own = elsewhere.path().join("file");
        give_to_owner_of(elsewhere.path(), &File::create(&own).unwrap()).unwrap();
        assert_eq!(owner(&own), 0);
    }
}
