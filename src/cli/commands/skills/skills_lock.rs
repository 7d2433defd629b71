//! `skills.lock`: the versions and the digests of skills, and the refusal of others.
//!
//! Bundled skills are not part of it: they are part of the program.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::assembly::{self, is_bundled};
use crate::cli::commands::whole_file::write_whole;
use crate::cli::exit_code::Exit;
use crate::cli::failed::Failed;
use crate::cli::terminal::output::{note, print_json, print_line, shown};
use wardian_config::Config;
use wardian_skills::registry::index::Index;
use wardian_vocabulary::ids::{Digest, SkillName, SkillVersion};

/// The format that this version writes. Raise it when an older version would misread a lock.
const FORMAT: u64 = 1;

/// Largest lock that is read, in bytes.
const MAX_LOCK: u64 = 16 << 20;

/// The first line of a lock.
const HEAD: &str = "# Written by `wardian skills lock`. Keep it with the skills.\n";

/// The form of a lock, which is read before the rest.
#[derive(Deserialize)]
struct LockFormat {
    format: u64,
}

/// A lock, as its file has it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLock {
    format: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    skill: Vec<LockedSkill>,
}

/// One skill of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LockedSkill {
    pub(super) name: SkillName,
    pub(super) version: SkillVersion,
    pub(super) digest: Digest,
    /// The trusted key that has signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signer: Option<String>,
    /// Where `wardian skills add` got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<LockedOrigin>,
}

/// Where a skill was got from, without credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LockedOrigin {
    pub(super) source: String,
    /// The branch, tag or version that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<String>,
    /// The commit, or the version and the digest, that it meant.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) revision: String,
    /// The folder of the skill in the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) folder: String,
    /// The registry of a package of npm, if it is not the public one; the address of an object store, if it is not that of
    /// AWS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) registry: Option<String>,
    /// What the operator has granted to a skill that states nothing itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) granted_network: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) granted_secrets: Vec<String>,
}

impl LockedOrigin {
    /// The source as it is printed: a query is for the server alone.
    pub(super) fn place(&self) -> String {
        let is_url = self.source.contains("://");
        let plain = self.source.split('?').next().filter(|_| is_url);
        plain.unwrap_or(&self.source).to_owned()
    }
}

/// The skills that a command may use.
#[derive(Debug)]
pub(crate) struct SkillsLock {
    path: PathBuf,
    skills: BTreeMap<SkillName, LockedSkill>,
}

/// Writes the lock of the skills that a server would serve.
pub(crate) fn lock_skills(config: &Config, path: &Path, as_json: bool) -> Result<Exit, Failed> {
    let index = assembly::open_registry(config)?.current();
    if let Some(rejected) = index.rejected().first() {
        let folder = shown(&rejected.folder);
        return Err(Failed::usage(format!(
            "nothing was locked: folder `{folder}` has errors; see `wardian skills check`"
        )));
    }
    let skills = one_of_each(skills_of(&index)).map_err(|wrong| {
        Failed::usage(format!(
            "nothing was locked: {wrong}; remove one, because a lock file has one version of each \
             skill"
        ))
    })?;
    let held = hold(path)?;
    let skills = with_origins(skills, path);
    let lock = write_lock(path, skills)?;
    drop(held);
    if as_json {
        print_json(&lock);
    } else {
        let (path, count) = (shown(&path.display().to_string()), lock.skill.len());
        let noun = if count == 1 { "skill" } else { "skills" };
        print_line(&format!("{path}: locked {count} {noun}"));
    }
    Ok(Exit::Done)
}

/// The skills with the origins that the lock at `path` has of them. Origins that go are told.
fn with_origins(
    mut skills: BTreeMap<SkillName, LockedSkill>,
    path: &Path,
) -> BTreeMap<SkillName, LockedSkill> {
    // A lock that cannot be read is written anew.
    for (name, locked) in read_entries(path).unwrap_or_default() {
        let Some(origin) = locked.origin else { continue };
        match skills.get_mut(&name) {
            Some(skill) => skill.origin = Some(origin),
            None => note(&format!(
                "`{name}` is not served, so it is no longer in the lock; it came from {}",
                shown(&origin.place())
            )),
        }
    }
    skills
}

fn write_lock(
    path: &Path,
    skills: BTreeMap<SkillName, LockedSkill>,
) -> Result<WrittenLock, Failed> {
    let lock = WrittenLock { format: FORMAT, skill: skills.into_values().collect() };
    let text = toml::to_string(&lock).map_err(|fault| Failed::at("write the lock", &fault))?;
    write_whole(path, format!("{HEAD}{text}").as_bytes())?;
    Ok(lock)
}

/// The skills of the lock at `path`; none if there is no such file.
pub(super) fn read_entries(path: &Path) -> Result<BTreeMap<SkillName, LockedSkill>, Failed> {
    match path.try_exists() {
        Ok(false) => Ok(BTreeMap::new()),
        _ => Ok(SkillsLock::read(path)?.skills),
    }
}

/// Changes the entry of one skill in the lock at `path`, as it is now: commands for other folders of skills write it,
/// too. Returns all entries.
pub(super) fn change_entry(
    path: &Path,
    name: &SkillName,
    entry: Option<LockedSkill>,
) -> Result<BTreeMap<SkillName, LockedSkill>, Failed> {
    let _held = hold(path)?;
    let mut skills = read_entries(path)?;
    skills.remove(name);
    skills.extend(entry.map(|entry| (name.clone(), entry)));
    write_lock(path, skills.clone())?;
    Ok(skills)
}

/// Waits until no other command changes the lock at `path`. It cannot be held itself, because each change puts another
/// file in its place.
fn hold(path: &Path) -> Result<File, Failed> {
    let named = |fault: &std::io::Error| Failed::named(path.display(), fault);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    let place = path.with_file_name(name);
    let held = File::options().create(true).truncate(false).write(true).open(place);
    let held = held.map_err(|fault| named(&fault))?;
    held.lock().map_err(|fault| named(&fault))?;
    Ok(held)
}

/// The skills of a text that may be a lock of Wardian.
pub(super) fn entries_in(text: &str) -> Result<BTreeMap<SkillName, LockedSkill>, String> {
    parse(text)
}

/// The skills of an index that are not part of the program.
fn skills_of(index: &Index) -> Vec<LockedSkill> {
    let is_own = |name: &SkillName| !is_bundled(name.as_str()) || index.replaced().contains(name);
    let own = index.snapshots().filter(|skill| is_own(skill.name()));
    let locked = own.map(|skill| LockedSkill {
        name: skill.name().clone(),
        version: skill.version().clone(),
        digest: skill.digest(),
        signer: skill.signer().map(|signer| signer.key.clone()),
        origin: None,
    });
    locked.collect()
}

/// Skills by their names, or the reason why that cannot be.
fn one_of_each(skills: Vec<LockedSkill>) -> Result<BTreeMap<SkillName, LockedSkill>, String> {
    let mut found: BTreeMap<SkillName, LockedSkill> = BTreeMap::new();
    for skill in skills {
        if let Some(other) = found.get(&skill.name) {
            let LockedSkill { name, version, .. } = &skill;
            return Err(format!("`{name}` appears twice, as {} and {version}", other.version));
        }
        found.insert(skill.name.clone(), skill);
    }
    Ok(found)
}

impl SkillsLock {
    /// Reads a lock.
    pub(crate) fn read(path: &Path) -> Result<Self, Failed> {
        let shown_path = shown(&path.display().to_string());
        let named = |fault: &std::io::Error| Failed::named(&shown_path, fault);
        let mut text = String::new();
        let file = File::open(path).map_err(|fault| named(&fault))?;
        file.take(MAX_LOCK.saturating_add(1))
            .read_to_string(&mut text)
            .map_err(|fault| named(&fault))?;
        let skills = parse(&text).map_err(|wrong| {
            Failed::usage(format!("{shown_path}: {wrong}; `wardian skills lock` rewrites it"))
        })?;
        Ok(Self { path: path.to_owned(), skills })
    }

    /// Reads the lock that a command names, if it names one.
    pub(crate) fn read_named(path: Option<&PathBuf>) -> Result<Option<Self>, Failed> {
        path.map(|path| Self::read(path)).transpose()
    }

    /// Refuses skills of an index that are not as locked.
    pub(crate) fn check(&self, index: &Index) -> Result<(), Failed> {
        let found = skills_of(index);
        for skill in &found {
            self.check_one(&skill.name, &skill.version, skill.digest)?;
        }
        let is_there = |name: &SkillName| found.iter().any(|skill| skill.name == *name);
        match self.skills.values().find(|locked| !is_there(&locked.name)) {
            Some(LockedSkill { name, version, .. }) => {
                Err(self
                    .drift(&format!("`{name}` {version} is in the lock file but does not exist")))
            }
            None => Ok(()),
        }
    }

    /// Refuses one skill that is not as locked.
    pub(crate) fn check_one(
        &self,
        name: &SkillName,
        version: &SkillVersion,
        digest: Digest,
    ) -> Result<(), Failed> {
        let Some(locked) = self.skills.get(name) else {
            return Err(self.drift(&format!("`{name}` {version} is not in the lock file")));
        };
        if locked.version != *version {
            let expected = &locked.version;
            return Err(self.drift(&format!("`{name}` is locked as {expected}, found {version}")));
        }
        if locked.digest != digest {
            let expected = locked.digest;
            return Err(self.drift(&format!(
                "`{name}` {version} is locked with the digest {expected}, found {digest}"
            )));
        }
        Ok(())
    }

    fn drift(&self, what: &str) -> Failed {
        let path = shown(&self.path.display().to_string());
        Failed::usage(format!("{what} ({path}); `wardian skills lock` accepts it"))
    }
}

/// Reads the text of a lock. An error is one line.
fn parse(text: &str) -> Result<BTreeMap<SkillName, LockedSkill>, String> {
    if u64::try_from(text.len()).is_ok_and(|size| size > MAX_LOCK) {
        return Err(format!("is longer than {} MiB", MAX_LOCK >> 20));
    }
    let wrong = |fault: &toml::de::Error| {
        let at = fault.span().and_then(|span| text.get(..span.start));
        let line = at.map(|before| before.split('\n').count());
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", shown(fault.message()))
    };
    let LockFormat { format } = toml::from_str(text).map_err(|fault| wrong(&fault))?;
    if format != FORMAT {
        return Err(format!(
            "has format {format}, but this version of Wardian reads format {FORMAT}"
        ));
    }
    let lock: WrittenLock = toml::from_str(text).map_err(|fault| wrong(&fault))?;
    one_of_each(lock.skill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_several_commands_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("skills.lock");
        let names: Vec<SkillName> =
            ["a", "b", "c", "d"].iter().map(|name| SkillName::parse(name).unwrap()).collect();
        let entry = |name: &SkillName| LockedSkill {
            name: name.clone(),
            version: SkillVersion::parse("1.0.0").unwrap(),
            digest: Digest::of(b""),
            signer: None,
            origin: None,
        };
        let (at, made) = (&path, &entry);
        std::thread::scope(|scope| {
            for name in &names {
                scope.spawn(move || change_entry(at, name, Some(made(name))).unwrap());
            }
        });
        assert_eq!(read_entries(&path).unwrap().into_keys().collect::<Vec<_>>(), names);
        let left = change_entry(&path, &names[1], None).unwrap();
        assert_eq!(left.len(), 3);
        assert_eq!(read_entries(&path).unwrap(), left);
    }

    #[test]
    fn what_is_wrong_with_a_lock_is_told_in_a_line() {
        let digest = "0".repeat(64);
        let skill = |name: &str, version: &str| {
            format!(
                "[[skill]]\nname = \"{name}\"\nversion = \"{version}\"\ndigest = \"{digest}\"\n"
            )
        };
        let good = format!("{HEAD}format = 1\n{}{}", skill("a", "1.0.0"), skill("b", "1.0.0"));
        assert_eq!(parse(&good).unwrap().len(), 2);
        assert_eq!(parse("format = 1").unwrap().len(), 0);
        for (text, expected) in [
            (String::new(), "missing field `format`"),
            ("format = 2\nnew = 1".to_owned(), "has format 2, but this version"),
            ("format = 1\nnew = 1".to_owned(), "line 2: unknown field `new`"),
            ("format = ".to_owned(), "line 1: "),
            (good.replace(&digest, "00"), "digest must be 64 lowercase"),
            (good.replace("\"b\"", "\"../b\""), "skill name"),
            (good.replace("\"1.0.0\"", "\"1\""), "version"),
            (format!("{good}{}", skill("a", "2.0.0")), "`a` appears twice, as 1.0.0 and 2.0.0"),
        ] {
            let wrong = parse(&text).unwrap_err();
            assert!(wrong.contains(expected), "{text}: {wrong}");
            assert!(!wrong.contains('\n'), "{wrong}");
        }
    }
}
