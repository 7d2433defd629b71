//! The files of a source, in memory, within bounds.
//!
//! INVARIANT(hostile-trees): a tree has no path that leads out of it, no two paths that some file system takes for
//! one, no file that is a folder too, no links and no special files, whatever an archive or a server sent. What is left
//! out for being a link, a submodule or a pointer is named.

use std::collections::BTreeMap;

use icu_normalizer::ComposingNormalizerBorrowed;

use crate::error::{SourceError, shown};

/// Longest path of a file, in bytes, and longest name in it.
const MAX_PATH: usize = 1_024;
const MAX_NAME: usize = 255;

/// Deepest file: folders above it, and itself.
pub(crate) const MAX_DEPTH: usize = 32;

/// Most files of a source. The skills of the largest published collections have some thousands.
pub(crate) const MAX_FILES: usize = 20_000;

/// Largest file.
pub(crate) const MAX_FILE: u64 = 64 << 20;

/// Most bytes of all files.
pub(crate) const MAX_TOTAL: u64 = 256 << 20;

/// Most notes about what was left out; the rest is counted.
const MAX_NOTES: usize = 50;

/// The beginning of what Git LFS leaves in the place of a file.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The files of a source.
#[derive(Debug, Default)]
pub struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    /// Files and folders as they were spelt, by what a file system may take them for.
    spelt: BTreeMap<String, Spelt>,
    total: u64,
    notes: Vec<String>,
    more_notes: usize,
}

#[derive(Debug)]
struct Spelt {
    path: String,
    is_folder: bool,
}

impl Tree {
    /// The paths and contents of all files, sorted.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, content)| (path.as_str(), content.as_slice()))
    }

    /// What was left out, and why.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.more_notes > 0 {
            notes.push(format!("{} more entries were left out", self.more_notes));
        }
        notes
    }

    /// Refuses a file of `size` bytes before they are read.
    pub(crate) fn check_room(&self, size: u64) -> Result<(), SourceError> {
        if self.files.len() >= MAX_FILES {
            return Err(SourceError::TooLarge(format!("more than {MAX_FILES} files")));
        }
        if size > MAX_FILE {
            return Err(SourceError::TooLarge(format!(
                "a file of more than {} MiB",
                MAX_FILE >> 20
            )));
        }
        if self.total.saturating_add(size) > MAX_TOTAL {
            return Err(SourceError::TooLarge(format!(
                "files of more than {} MiB",
                MAX_TOTAL >> 20
            )));
        }
        Ok(())
    }

    /// The most bytes that the next file may have.
    pub(crate) fn room(&self) -> u64 {
        MAX_TOTAL.saturating_sub(self.total).min(MAX_FILE)
    }

    /// Adds a file.
    pub(crate) fn add(&mut self, path: &str, content: Vec<u8>) -> Result<(), SourceError> {
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.check_room(size)?;
        check_path(path)?;
        self.claim(path, false)?;
        if content.starts_with(LFS_POINTER) {
            self.note(path, "is a pointer of Git LFS: its content was not fetched");
        }
        self.total = self.total.saturating_add(size);
        self.files.insert(path.to_owned(), content);
        Ok(())
    }

    /// Checks the path of a folder.
    pub(crate) fn add_folder(&mut self, path: &str) -> Result<(), SourceError> {
        check_path(path)?;
        if self.spelt.len() > MAX_FILES * 2 {
            return Err(SourceError::TooLarge(format!("more than {MAX_FILES} folders")));
        }
        self.claim(path, true)
    }

    /// Leaves out a link that stays in the tree, and refuses one that does not.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> Result<(), SourceError> {
        check_path(path)?;
        if leads_out(path, target) {
            return Err(SourceError::entry(path, "is a link that leads out of the source"));
        }
        self.note(path, "is a link: it was left out");
        Ok(())
    }

    /// Names an entry that is left out.
    pub(crate) fn note(&mut self, path: &str, why: &str) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(format!("`{}` {why}", shown(path)));
        } else {
            self.more_notes = self.more_notes.saturating_add(1);
        }
    }

    /// Takes a path, and the folders above it, unless another one could be taken for it.
    fn claim(&mut self, path: &str, is_folder: bool) -> Result<(), SourceError> {
        let key = collision_key(path);
        if let Some(there) = self.spelt.get(&key) {
            return match (there.is_folder, is_folder) {
                (true, true) if there.path == path => Ok(()),
                (false, false) if there.path == path => {
                    Err(SourceError::entry(path, "appears twice"))
                }
                (one, other) if one != other => {
                    Err(SourceError::entry(path, "is a file and a folder"))
                }
                _ => Err(SourceError::entry(
                    path,
                    "differs from another path only in case or accents",
                )),
            };
        }
        if let Some((above, _)) = path.rsplit_once('/') {
            self.claim(above, true)?;
        }
        self.spelt.insert(key, Spelt { path: path.to_owned(), is_folder });
        Ok(())
    }
}

/// Checks a path of an archive or a repository. There are at most [`MAX_DEPTH`] names in it.
pub(crate) fn check_path(path: &str) -> Result<(), SourceError> {
    let problem = if path.is_empty() || path.len() > MAX_PATH {
        "has an empty or very long path"
    } else if path.contains('\0') || path.chars().any(char::is_control) {
        "has control characters in its name"
    } else if path.starts_with('/') || path.contains('\\') || has_drive(path) {
        "is not a relative path with `/` between its folders"
    } else if path.split('/').any(|name| matches!(name, "" | "." | "..")) {
        "leads out of the source, or has empty names"
    } else if path.split('/').any(|name| name.len() > MAX_NAME) {
        "has a name of more than 255 bytes"
    } else if path.split('/').count() > MAX_DEPTH {
        "lies too deep"
    } else {
        return Ok(());
    };
    Err(SourceError::entry(path, problem))
}

/// `C:` at the beginning is a drive on some systems.
fn has_drive(path: &str) -> bool {
    let mut characters = path.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.next() == Some(':')
}

/// True if a link at `path` leads out of the tree, by its text alone.
fn leads_out(path: &str, target: &str) -> bool {
    if target.starts_with('/') || target.contains(['\\', '\0']) || has_drive(target) {
        return true;
    }
    let mut depth = path.split('/').count().saturating_sub(1);
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
            _ => depth = depth.saturating_add(1),
        }
    }
    false
}

/// What file systems that know no case, or one spelling of accents, take a path for.
fn collision_key(path: &str) -> String {
    let normalizer = ComposingNormalizerBorrowed::new_nfc();
    let lower = normalizer.normalize(path).to_lowercase();
    normalizer.normalize(&lower).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn added(paths: &[&str]) -> Result<Tree, SourceError> {
        let mut tree = Tree::default();
        paths.iter().try_for_each(|path| tree.add(path, Vec::new()))?;
        Ok(tree)
    }

    #[test]
    fn hostile_trees_are_refused() {
        let (long, deep) = ("a".repeat(256), "a/".repeat(40) + "b");
        for paths in [
            &["../x"][..],
            &["/etc/passwd"],
            &["a/../../x"],
            &["a//b"],
            &["./a"],
            &["a\\b"],
            &["C:x"],
            &["a\0b"],
            &["a\nb"],
            &[""],
            &[&long],
            &[&deep],
            &["a", "a"],
            &["a", "A"],
            &["\u{e9}", "e\u{301}"],
            &["a", "a/b"],
            &["a/b", "a"],
            &["A/x", "a/y"],
        ] {
            assert!(added(paths).is_err(), "{paths:?}");
        }
        assert_eq!(added(&["a/b", "a/c", "b", ".hidden/x"]).unwrap().files().count(), 4);
    }

    #[test]
    fn links_stay_inside_or_are_refused_and_pointers_are_named() {
        let mut tree = Tree::default();
        for (path, target) in
            [("a", "/etc/passwd"), ("a", "../x"), ("a/b", "../../x"), ("a/b", "c/../../../x")]
        {
            assert!(tree.link(path, target).is_err(), "{path} {target}");
        }
        tree.link("a/b/c", "../../d").unwrap();
        tree.add("big", b"version https://git-lfs.github.com/spec/v1\noid".to_vec()).unwrap();
        let notes = tree.notes().join("\n");
        assert!(notes.contains("`a/b/c` is a link") && notes.contains("Git LFS"), "{notes}");
    }

    #[test]
    fn bounds_hold() {
        let tree = Tree::default();
        assert!(tree.check_room(MAX_FILE).is_ok() && tree.check_room(MAX_FILE + 1).is_err());
        let full = Tree { total: MAX_TOTAL, ..Tree::default() };
        assert!(full.check_room(0).is_ok() && full.check_room(1).is_err() && full.room() == 0);
    }

    proptest! {
        /// Whatever is accepted stays below the folder that it is written to.
        #[test]
        fn accepted_paths_stay_inside(path in "[a./\\\\:A\u{0}]{0,12}") {
            if check_path(&path).is_ok() {
                let joined = std::path::Path::new("root").join(&path);
                let is_plain = |one: std::path::Component<'_>| matches!(one, std::path::Component::Normal(_));
                prop_assert!(joined.starts_with("root") && joined.components().all(is_plain));
            }
        }
    }
}
