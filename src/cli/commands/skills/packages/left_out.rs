//! The files in a skill's folder that are no part of it.

use std::fs;
use std::path::Path;

use crate::cli::failed::Failed;
use wardian_formats::provenance::skill_signature::SIGNATURES_FILE;
use wardian_formats::skill::path::is_left_out;

/// Most names that are listed.
const MAX_NAMES: usize = 50;

/// Most entries that are looked at, and the deepest folder.
const MAX_ENTRIES: usize = 10_000;
const MAX_DEPTH: usize = 32;

/// The paths of hidden and generated files and folders, sorted. What is in such a folder is not listed.
pub(crate) fn left_out(folder: &Path) -> Result<Vec<String>, Failed> {
    let (mut found, mut count) = (Vec::new(), 0_usize);
    let mut pending = vec![(folder.to_owned(), String::new(), 0_usize)];
    while let Some((folder, above, depth)) = pending.pop() {
        let named = |fault: &std::io::Error| Failed::named(folder.display(), fault);
        for entry in fs::read_dir(&folder).map_err(|fault| named(&fault))? {
            let entry = entry.map_err(|fault| named(&fault))?;
            count = count.saturating_add(1);
            if count > MAX_ENTRIES || depth > MAX_DEPTH {
                return Ok(found);
            }
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{above}{name}");
            let is_folder = entry.file_type().map_err(|fault| named(&fault))?.is_dir();
            let end = if is_folder { "/" } else { "" };
            if is_left_out(&name) {
                found.push(format!("{path}{end}"));
            } else if is_folder {
                pending.push((entry.path(), format!("{path}/"), depth.saturating_add(1)));
            }
        }
    }
    found.retain(|path| path != SIGNATURES_FILE);
    found.sort();
    found.truncate(MAX_NAMES);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_generated_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        for path in
            [".git/config", "code/__pycache__/x.pyc", "code/main.py", ".env", SIGNATURES_FILE]
        {
            let place = folder.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, "x").unwrap();
        }
        assert_eq!(left_out(folder.path()).unwrap(), [".env", ".git/", "code/__pycache__/"]);
    }
}
