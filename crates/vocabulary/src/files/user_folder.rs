//! A folder of the user's, in which files are opened and made by names that come from elsewhere.
//!
//! INVARIANT(stays-in-folder): the kernel resolves every name below the open folder, follows no link
//! and refuses `..`. What is opened is a regular file, so no pipe or device is waited for.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Longest name of a file, in bytes.
const MAX_NAME: usize = 1_024;

/// Folders that are looked into below each other.
const MAX_DEPTH: usize = 8;

/// Entries that one list looks at: more would keep its caller waiting.
const MAX_VISITED: usize = 20_000;

/// Numbers that are tried for the name of a new file.
const MAX_NUMBER: u32 = 1_000;

/// Links are not followed at all: one inside the folder could name a hidden file.
const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// The reason why a file was not opened. Names no path of the host.
#[derive(Debug, thiserror::Error)]
pub enum UserFileError {
    /// The name cannot be that of a file in the folder.
    #[error("name a file by its path below the folder, without `..`, links and hidden parts")]
    Name,
    /// Nothing has this name.
    #[error("the file does not exist")]
    Missing,
    /// A folder, a pipe, a device.
    #[error("it is not a regular file")]
    NotRegular,
    /// The system refused.
    #[error("it cannot be used: {0}")]
    System(#[from] io::Error),
}

/// A file in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    /// Its path below the folder.
    pub name: String,
    /// Its length in bytes.
    pub size: u64,
}

/// An open folder.
#[derive(Debug)]
pub struct UserFolder {
    folder: OwnedFd,
    path: PathBuf,
}

impl UserFolder {
    /// Opens a folder, which is followed if it is a link: its user has named it.
    ///
    /// # Errors
    ///
    /// There is no folder, or the kernel cannot resolve names below it (it is older than 5.6).
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        rustix::fs::openat2(&folder, ".", flags, Mode::empty(), BENEATH)?;
        Ok(Self { folder, path: std::path::absolute(path)? })
    }

    /// The path of the folder, for its user.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// There is no regular file of this name in the folder.
    pub fn file(&self, name: &str) -> Result<File, UserFileError> {
        if !is_fine(name) {
            return Err(UserFileError::Name);
        }
        // Opening a device can have side effects, so the kind is looked at first.
        let found = rustix::fs::openat2(
            &self.folder,
            name,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            BENEATH,
        )
        .map_err(fault_of)?;
        ensure_regular(&found)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = rustix::fs::openat2(&self.folder, name, flags, Mode::empty(), BENEATH)
            .map_err(fault_of)?;
        ensure_regular(&file)?;
        Ok(File::from(file))
    }

    /// The files in the folder and below it, by name, at most `most`. Hidden ones, links, and names
    /// that are not UTF-8 or have control characters are left out.
    pub fn list(&self, most: usize) -> Vec<UserFile> {
        let (mut files, mut visited) = (Vec::new(), 0_usize);
        let mut folders = vec![(String::new(), 0_usize)];
        while let Some((folder, depth)) = folders.pop() {
            let at = if folder.is_empty() { "." } else { folder.as_str() };
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
            let opened = rustix::fs::openat2(&self.folder, at, flags, Mode::empty(), BENEATH);
            let Ok(open) = opened else { continue };
            let Ok(entries) = Dir::read_from(&open) else { continue };
            for entry in entries.filter_map(Result::ok) {
                visited = visited.saturating_add(1);
                if visited > MAX_VISITED {
                    break;
                }
                let Ok(name) = entry.file_name().to_str() else { continue };
                let path = if folder.is_empty() { name.into() } else { format!("{folder}/{name}") };
                if !is_fine(&path) {
                    continue;
                }
                let found = rustix::fs::statat(open.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW);
                let Ok(found) = found else { continue };
                match FileType::from_raw_mode(found.st_mode) {
                    FileType::RegularFile => {
                        let size = u64::try_from(found.st_size).unwrap_or(0);
                        files.push(UserFile { name: path, size });
                    }
                    FileType::Directory if depth < MAX_DEPTH => {
                        folders.push((path, depth.saturating_add(1)));
                    }
                    _ => {}
                }
            }
        }
        files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        files.truncate(most);
        files
    }

    /// Makes a new file right in the folder: `name`, or `name (2)` and so on if there is one. Returns
    /// its name, too.
    ///
    /// # Errors
    ///
    /// The system refuses, or there are already too many files with this name.
    pub fn create(&self, name: &str) -> Result<(File, String), UserFileError> {
        let name = fitting(name);
        let (stem, extension) = match name.rsplit_once('.') {
            Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
            _ => (name.as_str(), String::new()),
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        for number in 1..=MAX_NUMBER {
            let name = match number {
                1 => name.clone(),
                _ => format!("{stem} ({number}){extension}"),
            };
            let mode = Mode::from_raw_mode(0o644);
            match rustix::fs::openat2(&self.folder, name.as_str(), flags, mode, BENEATH) {
                Ok(file) => return Ok((File::from(file), name)),
                Err(Errno::EXIST | Errno::LOOP) => {}
                Err(fault) => return Err(fault_of(fault)),
            }
        }
        let message = format!("there are already {MAX_NUMBER} files with this name");
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message).into())
    }

    /// Removes a file that [`Self::create`] has made and that cannot be completed.
    pub fn discard(&self, name: &str) {
        // If it cannot be removed either, an incomplete file stays: its user was told.
        rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()).ok();
    }
}

/// True for a path below a folder none of whose parts is hidden.
fn is_fine(name: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.');
    name.len() <= MAX_NAME && !name.contains(char::is_control) && name.split('/').all(is_part)
}

/// The last part of a name, so that it can be that of a new file.
fn fitting(name: &str) -> String {
    const LONGEST: usize = 200;
    let last = name.rsplit('/').next().unwrap_or_default().trim_start_matches('.');
    let last: String = last.chars().filter(|letter| !letter.is_control()).collect();
    let start = last.len().saturating_sub(LONGEST);
    let kept = last.get(last.ceil_char_boundary(start)..).unwrap_or_default();
    let kept = kept.trim_start_matches('.');
    if kept.is_empty() { "file".to_owned() } else { kept.to_owned() }
}

fn ensure_regular(file: &OwnedFd) -> Result<(), UserFileError> {
    let found = rustix::fs::fstat(file).map_err(fault_of)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(UserFileError::NotRegular),
    }
}

fn fault_of(fault: Errno) -> UserFileError {
    match fault {
        Errno::NOENT | Errno::NOTDIR => UserFileError::Missing,
        Errno::LOOP | Errno::XDEV => UserFileError::Name,
        other => UserFileError::System(other.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read as _, Write as _};
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, mkfifoat};

    use super::*;

    /// INVARIANT(stays-in-folder)
    #[test]
    fn stays_in_folder_and_opens_nothing_but_regular_files() {
        let place = tempfile::tempdir().unwrap();
        let inside = place.path().join("inside");
        fs::create_dir_all(inside.join("deep/.git")).unwrap();
        fs::write(place.path().join("secret"), "secret").unwrap();
        for name in ["a b.csv", "deep/é.txt", ".env", "deep/.git/config"] {
            fs::write(inside.join(name), name).unwrap();
        }
        symlink("../secret", inside.join("link")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink(".env", inside.join("env")).unwrap();
        symlink(place.path().join("secret"), inside.join("absolute")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        mkfifoat(CWD, inside.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
        let _socket = UnixListener::bind(inside.join("socket")).unwrap();
        let folder = UserFolder::open(&inside).unwrap();
        for name in ["a b.csv", "deep/é.txt"] {
            let mut text = String::new();
            folder.file(name).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, name);
        }
        for name in [
            "../secret",
            "/etc/passwd",
            "deep/../../secret",
            "./a b.csv",
            "",
            "deep//é.txt",
            ".env",
            "deep/.git/config",
            "link",
            "up/secret",
            "env",
            "absolute",
            "loop",
            "a\0b",
            "..",
            ".",
            "deep/",
            "/",
            "a\nb",
        ] {
            let told = folder.file(name).unwrap_err();
            assert!(matches!(told, UserFileError::Name), "{name:?}: {told:?}");
        }
        assert!(matches!(folder.file(&"a".repeat(2_000)), Err(UserFileError::Name)));
        for name in ["none", "a b.csv/x", "deep/none"] {
            assert!(matches!(folder.file(name), Err(UserFileError::Missing)), "{name}");
        }
        for name in ["pipe", "deep", "socket"] {
            assert!(matches!(folder.file(name), Err(UserFileError::NotRegular)), "{name}");
        }
        let listed: Vec<String> = folder.list(10).into_iter().map(|file| file.name).collect();
        assert_eq!(listed, ["a b.csv", "deep/é.txt"]);
        assert_eq!(folder.list(1).len(), 1);
        assert!(UserFolder::open(&inside.join("a b.csv")).is_err(), "a file is not a folder");
    }

    #[test]
    fn a_new_file_replaces_none() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("x.csv"), "mine").unwrap();
        symlink("/nowhere/x", place.path().join("l.csv")).unwrap();
        let folder = UserFolder::open(place.path()).unwrap();
        for (asked, made) in [
            ("x.csv", "x (2).csv"),
            ("x.csv", "x (3).csv"),
            ("l.csv", "l (2).csv"),
            ("deep/y", "y"),
            ("../../y", "y (2)"),
            (".bashrc", "bashrc"),
            ("", "file"),
            ("..", "file (2)"),
            ("a\n/\u{7}b", "b"),
        ] {
            let (mut file, name) = folder.create(asked).unwrap();
            file.write_all(b"new").unwrap();
            assert_eq!(name, made);
        }
        assert_eq!(fs::read_to_string(place.path().join("x.csv")).unwrap(), "mine");
        let (_, name) = folder.create(&format!("{}.parquet", "é".repeat(500))).unwrap();
        assert!(name.ends_with(".parquet") && name.len() <= 200, "{name}");
        folder.discard(&name);
        assert!(folder.list(100).iter().all(|file| file.name != name));
    }
}
