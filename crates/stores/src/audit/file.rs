//! The file of the audit log. Lines are only ever appended.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::audit::event::AuditEvent;
use wardian_vocabulary::clock::Clock;

/// Rights of a file that is made: its owner writes, its group may read.
const RIGHTS: u32 = 0o640;

/// An open file.
#[derive(Debug)]
pub(super) struct AuditFile {
    path: PathBuf,
    /// None if the last attempt to open it failed.
    file: Option<File>,
    /// True if the last write ended within a line.
    is_torn: bool,
}

impl AuditFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = Some(open(path)?);
        Ok(Self { path: path.to_owned(), file, is_torn: false })
    }

    /// Opens the path again: another program may have renamed the file.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        self.file = None;
        self.is_torn = false;
        self.file = Some(open(&self.path)?);
        Ok(())
    }

    /// Appends a line.
    pub(super) fn write(&mut self, line: &str) -> io::Result<()> {
        if self.file.is_none() {
            self.reopen()?;
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        let text = match self.is_torn {
            // What follows a line that was cut short begins a separate line.
            true => format!("\n{line}"),
            false => line.to_owned(),
        };
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    rest = rest.get(count..).unwrap_or_default();
                    self.is_torn = !rest.is_empty();
                }
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }
}

/// Opens the file. A pipe that nobody reads is an error and not waited for; a line that is written to
/// one waits for its reader.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(RIGHTS).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
    Ok(file)
}

/// Appends one event to the file of a server, which may be running.
///
/// # Errors
///
/// The file cannot be opened or written to.
pub fn append(path: &Path, event: &AuditEvent<'_>) -> io::Result<()> {
    let line = event.line(Clock::System.now()).map_err(io::Error::other)?;
    AuditFile::open(path)?.write(&line)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::audit::AuditKind;

    #[test]
    fn lines_are_appended_also_after_the_file_was_renamed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        fs::write(&path, "before\n").unwrap();
        let mut file = AuditFile::open(&path).unwrap();
        file.write("one\n").unwrap();
        fs::rename(&path, folder.path().join("audit.log.1")).unwrap();
        file.write("two\n").unwrap();
        file.reopen().unwrap();
        file.write("three\n").unwrap();
        append(&path, &AuditEvent::new(AuditKind::KeyCreated)).unwrap();
        let old = fs::read_to_string(folder.path().join("audit.log.1")).unwrap();
        assert_eq!(old, "before\none\ntwo\n");
        let new = fs::read_to_string(&path).unwrap();
        assert!(new.starts_with("three\n{") && new.lines().count() == 2, "{new}");
    }

    #[test]
    fn a_line_that_was_cut_short_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = AuditFile::open(&path).unwrap();
        file.write("{\"cut").unwrap();
        file.is_torn = true;
        file.write("{}\n").unwrap();
        file.write("{}\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"cut\n{}\n{}\n");
    }

    #[test]
    fn a_full_disk_is_an_error() {
        assert!(AuditFile::open(Path::new("/dev/full")).unwrap().write("{}\n").is_err());
        for wrong in ["/proc", "/none/audit.log"] {
            assert!(AuditFile::open(Path::new(wrong)).is_err(), "{wrong}");
        }
    }
}
