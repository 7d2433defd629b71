//! Blobs that a caller puts at paths of the workspace.

use std::collections::BTreeSet;

use wardian_vocabulary::ids::{BlobId, WorkspacePath};
use wardian_vocabulary::units::ByteCount;

/// Bytes of the workspace that a file or folder takes in addition to its name and content.
pub const WORKSPACE_ENTRY_COST: u64 = 1024;

/// A blob at a path of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedBlob {
    /// The blob.
    pub blob: BlobId,
    /// Its path.
    pub path: WorkspacePath,
}

/// Why files cannot lie in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// Two files have one path.
    #[error("`{path}` is given twice")]
    Twice {
        /// The path.
        path: WorkspacePath,
    },
    /// The path of a file leads through another file.
    #[error("`{path}` lies below `{file}`, which is a file")]
    BelowFile {
        /// The path.
        path: WorkspacePath,
        /// The file.
        file: String,
    },
}

/// Checks that files at these paths can lie in one workspace.
///
/// # Errors
///
/// The first path that is given twice, or that leads through a file.
#[expect(
    single_use_lifetimes,
    reason = "the lifetime of an `impl Trait` in an argument cannot be elided"
)]
pub fn check_placement<'a>(
    paths: impl Iterator<Item = &'a WorkspacePath> + Clone,
) -> Result<(), PlacementError> {
    let mut files = BTreeSet::new();
    for path in paths.clone() {
        if !files.insert(path.as_str()) {
            return Err(PlacementError::Twice { path: path.clone() });
        }
    }
    for path in paths {
        if let Some(file) = path.folders().find(|folder| files.contains(folder)) {
            return Err(PlacementError::BelowFile { path: path.clone(), file: file.to_owned() });
        }
    }
    Ok(())
}

/// What files of these sizes take of an empty workspace: bytes, and entries with those of their folders.
#[must_use]
#[expect(
    single_use_lifetimes,
    reason = "the lifetime of an `impl Trait` in an argument cannot be elided"
)]
pub fn cost_of_placed<'a>(
    files: impl Iterator<Item = (&'a WorkspacePath, ByteCount)>,
) -> (ByteCount, u32) {
    let mut names = BTreeSet::new();
    let mut bytes = 0_u64;
    for (path, size) in files {
        bytes = bytes.saturating_add(size.as_u64());
        names.extend(path.folders());
        names.insert(path.as_str());
    }
    for path in &names {
        let name = path.rsplit('/').next().unwrap_or_default();
        let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
        bytes = bytes.saturating_add(WORKSPACE_ENTRY_COST).saturating_add(length);
    }
    (ByteCount::bytes(bytes), u32::try_from(names.len()).unwrap_or(u32::MAX))
}

/// True for names of files that Python imports.
#[must_use]
pub fn can_be_imported(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| matches!(ending.as_str(), "py" | "pyc" | "pyw" | "so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> Vec<WorkspacePath> {
        texts.iter().map(|text| WorkspacePath::parse(text).unwrap()).collect()
    }

    fn refusal(texts: &[&str]) -> String {
        check_placement(paths(texts).iter()).unwrap_err().to_string()
    }

    #[test]
    fn no_file_hides_another() {
        let fitting = paths(&["a", "b/a", "b/c/a", "b.csv", "B/a"]);
        assert_eq!(check_placement(fitting.iter()), Ok(()));
        assert_eq!(refusal(&["a/b", "c", "a/b"]), "`a/b` is given twice");
        assert_eq!(refusal(&["a/b/c", "a"]), "`a/b/c` lies below `a`, which is a file");
        assert_eq!(refusal(&["a/b", "a/b/c/d"]), "`a/b/c/d` lies below `a/b`, which is a file");
    }

    #[test]
    fn folders_that_files_share_count_once() {
        let paths = paths(&["data/a", "data/b"]);
        let files = paths.iter().zip([ByteCount::bytes(10), ByteCount::bytes(5)]);
        let names = 3 * WORKSPACE_ENTRY_COST + 4 + 1 + 1;
        assert_eq!(cost_of_placed(files), (ByteCount::bytes(15 + names), 3));
        assert_eq!(cost_of_placed(std::iter::empty()), (ByteCount::bytes(0), 0));
    }

    #[test]
    fn names_of_modules_are_known_in_any_case() {
        for name in ["a.py", "A.PY", "a.cpython-313.so", "a.pyc"] {
            assert!(can_be_imported(name), "{name}");
        }
        for name in ["py", "a.py.txt", "a.pyx", ".csv"] {
            assert!(!can_be_imported(name), "{name}");
        }
    }
}
