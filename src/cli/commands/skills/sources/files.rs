//! The files of an installed skill, as they were installed and as they are now.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::commands::whole_file::write_whole;
use crate::cli::failed::Failed;
use wardian_vocabulary::files::regular_file::open_regular;
use wardian_vocabulary::ids::{Digest, SkillName};

/// The hidden folder among the skills with what was installed.
const RECORDS: &str = ".installed";

/// Most entries of a skill's folder, and its deepest one.
const MAX_ENTRIES: usize = 20_000;
const MAX_DEPTH: usize = 32;

/// Largest record, and largest file whose digest is taken.
const MAX_RECORD: u64 = 16 << 20;
const MAX_FILE: u64 = 256 << 20;

/// Digests of files by their paths. What is no file has the digest of nothing.
pub(super) type FileDigests = BTreeMap<String, Digest>;

#[derive(Serialize, Deserialize)]
struct Record {
    files: FileDigests,
}

/// How one list of files differs from an earlier one.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(super) struct FileChanges {
    pub(super) added: Vec<String>,
    pub(super) changed: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl FileChanges {
    pub(super) fn between(before: &FileDigests, after: &FileDigests) -> Self {
        let mut changes = Self::default();
        for (path, digest) in after {
            match before.get(path) {
                None => changes.added.push(path.clone()),
                Some(earlier) if earlier != digest => changes.changed.push(path.clone()),
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|path| !after.contains_key(*path));
        changes.removed = gone.cloned().collect();
        changes
    }

    pub(super) fn are_none(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    /// All paths, each with what happened to it.
    pub(super) fn lines(&self) -> Vec<String> {
        let of = |word: &'static str, paths: &[String]| -> Vec<String> {
            paths.iter().map(|path| format!("{word} {path}")).collect()
        };
        [of("added", &self.added), of("changed", &self.changed), of("removed", &self.removed)]
            .concat()
    }
}

/// The files of a folder as they are now. What Python generates is left out.
pub(super) fn files_now(folder: &Path) -> Result<FileDigests, Failed> {
    let mut found = FileDigests::new();
    let mut pending = vec![(folder.to_owned(), String::new(), 0_usize)];
    while let Some((folder, above, depth)) = pending.pop() {
        let named = |fault: &std::io::Error| Failed::named(folder.display(), fault);
        for entry in fs::read_dir(&folder).map_err(|fault| named(&fault))? {
            let entry = entry.map_err(|fault| named(&fault))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "__pycache__" || name.ends_with(".pyc") {
                continue;
            }
            if found.len() > MAX_ENTRIES || depth > MAX_DEPTH {
                let folder = folder.display();
                return Err(Failed::refused(format!("{folder}: there are too many files")));
            }
            let path = if above.is_empty() { name } else { format!("{above}/{name}") };
            let kind = entry.file_type().map_err(|fault| named(&fault))?;
            if kind.is_dir() {
                pending.push((entry.path(), path, depth.saturating_add(1)));
            } else if kind.is_file() {
                found.insert(path, digest_of(&entry.path())?);
            } else {
                found.insert(path, Digest::of(b""));
            }
        }
    }
    Ok(found)
}

/// A link in the place of a folder, by where it leads. It is itself what an exchange moves.
pub(super) fn link_at(path: &Path) -> Option<FileDigests> {
    let leads_to = fs::read_link(path).ok()?;
    let digest = Digest::of(leads_to.as_os_str().as_encoded_bytes());
    Some(FileDigests::from([("(a link)".to_owned(), digest)]))
}

fn digest_of(path: &Path) -> Result<Digest, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let mut bytes = Vec::new();
    let file = open_regular(path).map_err(|fault| named(&fault))?;
    file.take(MAX_FILE).read_to_end(&mut bytes).map_err(|fault| named(&fault))?;
    Ok(Digest::of(&bytes))
}

fn record_path(dir: &Path, name: &SkillName) -> PathBuf {
    dir.join(RECORDS).join(format!("{name}.json"))
}

/// What was installed as `name`; `None` if that is not known.
pub(super) fn installed(dir: &Path, name: &SkillName) -> Option<FileDigests> {
    let mut text = String::new();
    let file = open_regular(&record_path(dir, name)).ok()?;
    file.take(MAX_RECORD).read_to_string(&mut text).ok()?;
    serde_json::from_str::<Record>(&text).ok().map(|record| record.files)
}

/// True if it is known what was installed as `name`: the skill was added to this folder.
pub(super) fn is_recorded(dir: &Path, name: &SkillName) -> bool {
    record_path(dir, name).symlink_metadata().is_ok()
}

/// The folders beside `dir` that skills were added to.
pub(super) fn added_to_beside(dir: &Path) -> Vec<PathBuf> {
    // A link may be another name of the same folder.
    let place = |folder: &Path| fs::metadata(folder).ok().map(|one| (one.dev(), one.ino()));
    let here = place(dir);
    let beside = dir.parent().and_then(|above| fs::read_dir(above).ok());
    let beside = beside.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let has_records = |folder: &PathBuf| folder.join(RECORDS).is_dir();
    let mut found: Vec<PathBuf> =
        beside.filter(has_records).filter(|folder| place(folder) != here).collect();
    found.sort();
    found
}

/// Keeps what is installed as `name`.
pub(super) fn keep(dir: &Path, name: &SkillName, files: FileDigests) -> Result<(), Failed> {
    let path = record_path(dir, name);
    let folder = dir.join(RECORDS);
    fs::create_dir_all(&folder).map_err(|fault| Failed::named(folder.display(), &fault))?;
    let text = serde_json::to_vec_pretty(&Record { files });
    let text = text.map_err(|fault| Failed::at("write what was installed", &fault))?;
    write_whole(&path, &text)
}

/// Forgets what was installed as `name`.
pub(super) fn forget(dir: &Path, name: &SkillName) -> Result<(), Failed> {
    let path = record_path(dir, name);
    match fs::remove_file(&path) {
        Err(fault) if fault.kind() != std::io::ErrorKind::NotFound => {
            Err(Failed::named(path.display(), &fault))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_by_path() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
        fs::create_dir_all(folder.path().join("a/__pycache__")).unwrap();
        for path in ["SKILL.md", "a/x.py", "a/y.py", "a/__pycache__/x.pyc"] {
            write(path, "1");
        }
        let before = files_now(folder.path()).unwrap();
        assert_eq!(before.keys().collect::<Vec<_>>(), ["SKILL.md", "a/x.py", "a/y.py"]);
        write("SKILL.md", "2");
        write(".env", "secret");
        fs::remove_file(folder.path().join("a/y.py")).unwrap();
        let after = files_now(folder.path()).unwrap();
        let changes = FileChanges::between(&before, &after);
        assert_eq!(changes.lines(), ["added .env", "changed SKILL.md", "removed a/y.py"]);
        assert!(!changes.are_none() && FileChanges::between(&after, &after).are_none());

        let name = SkillName::parse("a.b").unwrap();
        assert!(installed(folder.path(), &name).is_none());
        keep(folder.path(), &name, after.clone()).unwrap();
        assert_eq!(installed(folder.path(), &name), Some(after));
        forget(folder.path(), &name).unwrap();
        forget(folder.path(), &name).unwrap();
        assert!(installed(folder.path(), &name).is_none());
    }
}
