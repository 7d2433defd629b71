//! Commits, tags and trees, as far as the files of one commit need them.

use gix_hash::{Kind as HashKind, ObjectId};

use crate::error::SourceError;
use crate::git::pack::{Kind, Objects};
use crate::tree::{MAX_DEPTH, check_path};

/// Most entries of a commit, in all its folders. Few folders can name each other so often that they are endless.
const MAX_ENTRIES: usize = 400_000;

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Link,
    Submodule,
}

/// An entry of a commit with its whole path.
#[derive(Debug)]
pub(super) struct TreeEntry {
    pub(super) path: String,
    pub(super) kind: EntryKind,
    pub(super) id: ObjectId,
}

fn damaged(problem: &str) -> SourceError {
    SourceError::damaged("the repository", problem)
}

/// The tree that a commit has.
pub(super) fn tree_of_commit(content: &[u8], hash: HashKind) -> Result<ObjectId, SourceError> {
    let id = content.strip_prefix(b"tree ").and_then(|rest| rest.get(..hash.len_in_hex()));
    let id = id.and_then(|hex| ObjectId::from_hex(hex).ok());
    id.ok_or_else(|| damaged("a commit has no tree"))
}

/// The object that an annotated tag points to.
pub(super) fn target_of_tag(content: &[u8]) -> Result<ObjectId, SourceError> {
    let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let id = line.strip_prefix(b"object ").and_then(|hex| ObjectId::from_hex(hex).ok());
    id.ok_or_else(|| damaged("a tag has no target"))
}

/// All files, links and submodules below a tree.
pub(super) fn list_tree(
    root: ObjectId,
    objects: &Objects,
    hash: HashKind,
) -> Result<Vec<TreeEntry>, SourceError> {
    let mut listed = Vec::new();
    let mut pending = vec![(String::new(), root)];
    let mut count = 0_usize;
    while let Some((above, id)) = pending.pop() {
        let tree = objects.found(&id).filter(|found| found.kind == Kind::Tree);
        let tree = tree.ok_or_else(|| damaged("a folder is missing"))?;
        let mut rest = &*tree.content;
        while !rest.is_empty() {
            let (mode, name, id, after) =
                next_entry(rest, hash).ok_or_else(|| damaged("a folder cannot be read"))?;
            rest = after;
            count = count.saturating_add(1);
            let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
            if name.eq_ignore_ascii_case(".git") || name.contains('/') {
                return Err(SourceError::entry(&path, "has a name that no repository may have"));
            }
            check_path(&path)?;
            let depth = path.split('/').count();
            if count > MAX_ENTRIES || depth > MAX_DEPTH {
                return Err(SourceError::TooLarge("the commit has too many files".to_owned()));
            }
            let kind = match mode {
                0o40_000 => {
                    pending.push((path, id));
                    continue;
                }
                0o100_644 | 0o100_755 | 0o100_664 => EntryKind::File,
                0o120_000 => EntryKind::Link,
                0o160_000 => EntryKind::Submodule,
                _ => return Err(SourceError::entry(&path, "is a special file")),
            };
            listed.push(TreeEntry { path, kind, id });
        }
    }
    Ok(listed)
}

/// Mode, name and id of the first entry, and what follows it.
fn next_entry(bytes: &[u8], hash: HashKind) -> Option<(u32, &str, ObjectId, &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    let mode = std::str::from_utf8(bytes.get(..space)?).ok()?;
    let mode = u32::from_str_radix(mode, 8).ok()?;
    let rest = bytes.get(space.checked_add(1)?..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(rest.get(..end)?).ok()?;
    let rest = rest.get(end.checked_add(1)?..)?;
    let (id, rest) = rest.split_at_checked(hash.len_in_bytes())?;
    let id = gix_hash::oid::try_from_bytes(id).ok()?.to_owned();
    Some((mode, name, id, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 20] = [7; 20];

    fn entry(mode: &str, name: &str) -> Vec<u8> {
        [mode.as_bytes(), b" ", name.as_bytes(), b"\0", &ID].concat()
    }

    #[test]
    fn entries_are_read_and_never_beyond_the_end() {
        let whole = [entry("100644", "a"), entry("40000", "b")].concat();
        let (mode, name, _, rest) = next_entry(&whole, HashKind::Sha1).unwrap();
        assert_eq!((mode, name, rest.len()), (0o100_644, "a", entry("40000", "b").len()));
        let one = entry("100644", "abc");
        for end in 0..one.len() {
            assert!(next_entry(&one[..end], HashKind::Sha1).is_none(), "{end}");
        }
    }

    #[test]
    fn commits_and_tags_name_what_they_point_to() {
        let hex = "07".repeat(20);
        let commit = format!("tree {hex}\nparent x\n");
        assert_eq!(tree_of_commit(commit.as_bytes(), HashKind::Sha1).unwrap().as_slice(), ID);
        let tag = format!("object {hex}\ntype commit\n");
        assert_eq!(target_of_tag(tag.as_bytes()).unwrap().as_slice(), ID);
        assert!(tree_of_commit(b"tree 07", HashKind::Sha1).is_err() && target_of_tag(b"").is_err());
    }

    #[test]
    fn hostile_folders_are_refused() {
        for (mode, name) in [
            ("100644", ".git"),
            ("100644", ".GIT"),
            ("100644", ".."),
            ("100644", "a/b"),
            ("010000", "p"),
            ("20000", "d"),
        ] {
            let mut objects = Objects::default();
            let root = objects.add(Kind::Tree, entry(mode, name), HashKind::Sha1).unwrap();
            assert!(list_tree(root, &objects, HashKind::Sha1).is_err(), "{mode} {name}");
        }
    }

    #[test]
    fn folders_that_multiply_are_stopped() {
        let mut objects = Objects::default();
        let mut below = objects.add(Kind::Tree, entry("100644", "f"), HashKind::Sha1).unwrap();
        for _ in 0..20 {
            let mut tree = Vec::new();
            for name in ["a", "b", "c", "d"] {
                tree.extend_from_slice(format!("40000 {name}\0").as_bytes());
                tree.extend_from_slice(below.as_slice());
            }
            below = objects.add(Kind::Tree, tree, HashKind::Sha1).unwrap();
        }
        assert!(matches!(
            list_tree(below, &objects, HashKind::Sha1),
            Err(SourceError::TooLarge(_))
        ));
    }
}
