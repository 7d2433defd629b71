//! The folder that skills are installed into, and the lock beside it.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::commands::skills::skills_lock::{LockedSkill, change_entry, read_entries};
use crate::cli::commands::skills::sources::files::{
    added_to_beside, files_now, installed, is_recorded,
};
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, shown};
use wardian_config::Config;
use wardian_vocabulary::ids::SkillName;

/// The name of the lock.
const LOCK: &str = "skills.lock";

/// How the hidden folders of commands begin.
const STAGING: &str = ".adding-";

/// How the name of a folder begins that is set aside there for a moment. No name of a skill does.
pub(super) const ASIDE: &str = ".before-";

/// A folder of skills that no other command changes meanwhile.
#[derive(Debug)]
pub(super) struct InstallPlace {
    pub(super) dir: PathBuf,
    lock: PathBuf,
    pub(super) entries: BTreeMap<SkillName, LockedSkill>,
    /// Other folders whose skills the lock has.
    beside: Vec<PathBuf>,
    /// Held until the command ends.
    _held: File,
}

impl InstallPlace {
    /// Opens the folder that the user names, or the first of the configuration, and makes it if it is not there.
    pub(super) fn open(config: &Config, dir: Option<&Path>) -> Result<Self, Failed> {
        let dir = dir.or_else(|| config.skills.roots.first().map(PathBuf::as_path));
        let dir = dir.ok_or_else(|| {
            Failed::usage("there is no folder of skills: name one with `--dir` (`skills.roots`)")
        })?;
        let named = |fault: &std::io::Error| Failed::named(dir.display(), fault);
        let dir = std::path::absolute(dir).map_err(|fault| named(&fault))?;
        fs::create_dir_all(&dir).map_err(|fault| named(&fault))?;
        let held = File::open(&dir).map_err(|fault| named(&fault))?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let dir = dir.display();
                return Err(Failed::refused(format!("{dir}: another command changes its skills")));
            }
            Err(TryLockError::Error(fault)) => return Err(named(&fault)),
        }
        clear_interrupted(&dir)?;
        let lock = dir.parent().unwrap_or(&dir).join(LOCK);
        let entries = read_entries(&lock)?;
        let beside = added_to_beside(&dir);
        Ok(Self { dir, lock, entries, beside, _held: held })
    }

    pub(super) fn lock_path(&self) -> &Path {
        &self.lock
    }

    pub(super) fn folder(&self, name: &SkillName) -> PathBuf {
        self.dir.join(name.as_str())
    }

    /// The other folder that the entry of a skill in the lock is for; `None` if it is for this one, or for none.
    fn elsewhere(&self, name: &SkillName) -> Option<&Path> {
        if !self.entries.contains_key(name) {
            return None;
        }
        elsewhere(&self.dir, &self.beside, name)
    }

    /// Refuses a skill whose name the lock has for another folder: it has one entry for each name.
    pub(super) fn ensure_free(&self, name: &SkillName) -> Result<(), Failed> {
        let Some(other) = self.elsewhere(name) else { return Ok(()) };
        let (lock, other) = (self.lock.display().to_string(), other.display().to_string());
        let (lock, other) = (shown(&lock), shown(&other));
        Err(Failed::refused(format!(
            "`{name}` is pinned in {lock} for the folder {other}: remove it there first (`wardian skills remove \
             {name} --dir {other}`), or choose a folder that is not beside it, which has a lock of its own"
        )))
    }

    /// A hidden folder on the same file system, which no server reads and which goes with the command.
    pub(super) fn staging(&self) -> Result<TempDir, Failed> {
        let made = tempfile::Builder::new().prefix(STAGING).tempdir_in(&self.dir);
        made.map_err(|fault| Failed::named(self.dir.display(), &fault))
    }

    /// Writes the entry of a skill into the lock, or takes it out. Entries of others stay as they are now.
    pub(super) fn write(&mut self, name: &SkillName) -> Result<(), Failed> {
        let entry = self.entries.get(name).cloned();
        self.entries = change_entry(&self.lock, name, entry)?;
        Ok(())
    }

    /// The names of skills that were added to this folder, of those that the user names; all if he names none.
    pub(super) fn added(&self, names: &[String]) -> Result<Vec<SkillName>, Failed> {
        let is_added = |entry: &&LockedSkill| entry.origin.is_some();
        let is_here = |entry: &&LockedSkill| self.elsewhere(&entry.name).is_none();
        if names.is_empty() {
            let all = self.entries.values().filter(is_added).filter(is_here);
            return Ok(all.map(|entry| entry.name.clone()).collect());
        }
        let mut found = Vec::new();
        for name in names {
            let name = SkillName::parse(name)?;
            if self.entries.get(&name).filter(is_added).is_none() {
                let lock = self.lock.display();
                return Err(Failed::usage(format!(
                    "`{name}` was not installed by `wardian skills add` ({lock} does not have it)"
                )));
            }
            if let Some(other) = self.elsewhere(&name) {
                let other = shown(&other.display().to_string());
                return Err(Failed::usage(format!(
                    "`{name}` was installed into another folder: name it with `--dir {other}`"
                )));
            }
            found.push(name);
        }
        Ok(found)
    }
}

/// The first of the folders `beside` that a skill was added to which was not added to `dir`.
fn elsewhere<'b>(dir: &Path, beside: &'b [PathBuf], name: &SkillName) -> Option<&'b Path> {
    if is_recorded(dir, name) {
        return None;
    }
    beside.iter().map(PathBuf::as_path).find(|other| is_recorded(other, name))
}

/// Removes what interrupted commands have left. The folder of skills is held, so none of them is still at work.
fn clear_interrupted(dir: &Path) -> Result<(), Failed> {
    for left in folders_in(dir)? {
        let name = left.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(STAGING) {
            put_back(dir, &left)?;
            fs::remove_dir_all(&left).map_err(|fault| Failed::named(left.display(), &fault))?;
        }
    }
    Ok(())
}

/// Puts skills back that a command had taken out of their places when it ended. Downloads are not put there: nobody may
/// have agreed to them.
fn put_back(dir: &Path, left: &Path) -> Result<(), Failed> {
    // Sorted, so what was set aside comes before what should have taken its place.
    for folder in folders_in(left)? {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let set_aside = name.strip_prefix(ASIDE);
        let Ok(name) = SkillName::parse(set_aside.unwrap_or(&name)) else { continue };
        let target = dir.join(name.as_str());
        let is_installed = || {
            let record = installed(dir, &name);
            record.is_some_and(|record| files_now(&folder).is_ok_and(|files| files == record))
        };
        let is_missing = target.symlink_metadata().is_err();
        if is_missing && (set_aside.is_some() || is_installed()) {
            fs::rename(&folder, &target)
                .map_err(|fault| Failed::named(target.display(), &fault))?;
            note(&format!("note: `{name}` was put back: a command was interrupted"));
        }
    }
    Ok(())
}

/// The folders in a folder, sorted. Links are none.
fn folders_in(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let named = |fault: &std::io::Error| Failed::named(folder.display(), fault);
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|fault| named(&fault))? {
        let entry = entry.map_err(|fault| named(&fault))?;
        if entry.file_type().map_err(|fault| named(&fault))?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::skills::sources::files::{FileDigests, keep};

    #[test]
    fn a_skill_is_elsewhere_if_it_was_added_to_another_folder_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
        let [pdf, docx, none] = ["pdf", "docx", "none"].map(|name| SkillName::parse(name).unwrap());
        for (dir, name) in [(&one, &pdf), (&one, &docx), (&two, &docx)] {
            keep(dir, name, FileDigests::new()).unwrap();
        }
        fs::create_dir(folder.path().join("three")).unwrap();
        let beside = added_to_beside(&two);
        assert_eq!(beside, [one.as_path()]);
        assert_eq!(elsewhere(&two, &beside, &pdf), Some(one.as_path()));
        assert_eq!(elsewhere(&two, &beside, &docx), None);
        assert_eq!(elsewhere(&two, &beside, &none), None);
    }

    #[test]
    fn what_interrupted_commands_left_is_put_back_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let write = |path: &str, text: &str| {
            fs::create_dir_all(at(path)).unwrap();
            fs::write(at(path).join("SKILL.md"), text).unwrap();
        };
        let read = |path: &str| fs::read_to_string(at(path).join("SKILL.md")).unwrap();
        for name in ["pdf", "docx", "new"] {
            write(name, "installed");
            let name = SkillName::parse(name).unwrap();
            keep(folder.path(), &name, files_now(&at(name.as_str())).unwrap()).unwrap();
        }
        // One was taken out, one was being exchanged, one was downloaded again after the user had removed it.
        fs::create_dir_all(at(".adding-1")).unwrap();
        fs::rename(at("pdf"), at(".adding-1/pdf")).unwrap();
        fs::rename(at("docx"), at(".adding-1/.before-docx")).unwrap();
        write(".adding-1/docx", "download");
        fs::remove_dir_all(at("new")).unwrap();
        write(".adding-2/new", "download");
        clear_interrupted(folder.path()).unwrap();
        assert_eq!((read("pdf").as_str(), read("docx").as_str()), ("installed", "installed"));
        for path in [".adding-1", ".adding-2", "new"] {
            assert!(at(path).symlink_metadata().is_err(), "{path}");
        }
    }
}
