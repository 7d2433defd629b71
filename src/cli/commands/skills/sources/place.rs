//! The folder that skills are installed into, and the lock beside it.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cli::commands::skills::skills_lock::{LockedSkill, read_entries, write_entries};
use crate::cli::failed::Failed;
use wardian_config::Config;
use wardian_vocabulary::ids::SkillName;

/// The name of the lock.
const LOCK: &str = "skills.lock";

/// A folder of skills that no other command changes meanwhile.
#[derive(Debug)]
pub(super) struct InstallPlace {
    pub(super) dir: PathBuf,
    lock: PathBuf,
    pub(super) entries: BTreeMap<SkillName, LockedSkill>,
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
        let lock = dir.parent().unwrap_or(&dir).join(LOCK);
        let entries = read_entries(&lock)?;
        Ok(Self { dir, lock, entries, _held: held })
    }

    pub(super) fn lock_path(&self) -> &Path {
        &self.lock
    }

    pub(super) fn folder(&self, name: &SkillName) -> PathBuf {
        self.dir.join(name.as_str())
    }

    /// A hidden folder on the same file system, which no server reads and which goes with the command.
    pub(super) fn staging(&self) -> Result<TempDir, Failed> {
        let made = tempfile::Builder::new().prefix(".adding-").tempdir_in(&self.dir);
        made.map_err(|fault| Failed::named(self.dir.display(), &fault))
    }

    /// Writes the lock with these entries.
    pub(super) fn write(&mut self) -> Result<(), Failed> {
        write_entries(&self.lock, &self.entries)
    }

    /// The names of skills that were added, of those that the user names; all if he names none.
    pub(super) fn added(&self, names: &[String]) -> Result<Vec<SkillName>, Failed> {
        let is_added = |entry: &&LockedSkill| entry.origin.is_some();
        if names.is_empty() {
            let all = self.entries.values().filter(is_added);
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
            found.push(name);
        }
        Ok(found)
    }
}
