//! Folders on this machine as sources. Links are not followed.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::error::SourceError;
use crate::tree::{MAX_DEPTH, MAX_FILES, Tree};
use wardian_vocabulary::files::regular_file::open_regular;

/// Folders that hold no skills, and are often huge.
const LEFT_OUT: [&str; 5] = [".git", "node_modules", "__pycache__", ".venv", "target"];

/// Reads all files of a folder.
pub(crate) fn read_folder(folder: &Path, tree: &mut Tree) -> Result<(), SourceError> {
    let mut entries = 0;
    read_below(folder, "", 0, &mut entries, tree)
}

fn read_below(
    folder: &Path,
    above: &str,
    depth: usize,
    entries: &mut usize,
    tree: &mut Tree,
) -> Result<(), SourceError> {
    let named = |path: &Path, cause| SourceError::File { path: path.display().to_string(), cause };
    for entry in fs::read_dir(folder).map_err(|cause| named(folder, cause))? {
        let entry = entry.map_err(|cause| named(folder, cause))?;
        *entries = entries.saturating_add(1);
        if *entries > MAX_FILES * 4 || depth > MAX_DEPTH {
            return Err(SourceError::TooLarge(format!("more than {MAX_FILES} files, or too deep")));
        }
        let Ok(name) = entry.file_name().into_string() else {
            return Err(SourceError::entry(&entry.file_name().to_string_lossy(), "is not UTF-8"));
        };
        if LEFT_OUT.contains(&name.as_str()) {
            continue;
        }
        let path = if above.is_empty() { name } else { format!("{above}/{name}") };
        let place = entry.path();
        let kind = entry.file_type().map_err(|cause| named(&place, cause))?;
        if kind.is_symlink() {
            tree.note(&path, "is a link: it was left out");
        } else if kind.is_dir() {
            read_below(&place, &path, depth.saturating_add(1), entries, tree)?;
        } else if kind.is_file() {
            tree.add(&path, read_file(&place, tree.room())?)?;
        } else {
            tree.note(&path, "is a special file: it was left out");
        }
    }
    Ok(())
}

/// Reads a file of at most `most` bytes, and one more to notice that it is larger.
pub(crate) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, SourceError> {
    let named = |cause| SourceError::File { path: path.display().to_string(), cause };
    let file = open_regular(path).map_err(named)?;
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content).map_err(named)?;
    Ok(content)
}
