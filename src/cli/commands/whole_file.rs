//! Writes files that a reader sees whole, or as they were before.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::cli::failed::Failed;

/// Writes a file next to its place, and moves it there.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mode = std::fs::metadata(path).map_or(0o644, |there| there.permissions().mode() & 0o777);
    let mut file = NamedTempFile::new_in(folder).map_err(|fault| named(&fault))?;
    file.write_all(content)
        .and_then(|()| file.as_file().set_permissions(Permissions::from_mode(mode)))
        .map_err(|fault| named(&fault))?;
    file.persist(path).map(drop).map_err(|fault| named(&fault.error))
}
