//! The packages that a skill needs before it can run: from its `requirements.txt` and its lock.

use pep508_rs::{PackageName, Requirement};

use crate::packages::guest::{GuestPlatform, PackageVersion};
use crate::packages::layer::LayerKey;
use crate::packages::lock::{Lock, LockError};
use crate::packages::requirements::{Requirements, RequirementsError, admits};

/// The packages that a skill needs beyond those that every run has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillNeeds {
    /// None.
    Nothing,
    /// Some of the batteries.
    Batteries,
    /// Those of a layer.
    Layer {
        /// Names the layer.
        key: LayerKey,
        /// Its packages.
        packages: Vec<PackageVersion>,
        /// True if it needs some of the batteries as well.
        with_batteries: bool,
    },
    /// It cannot be known, so the skill cannot run.
    Unknown(NeedsError),
}

/// The reason why a skill's packages are not known. The text is for callers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedsError {
    /// The list cannot be read.
    #[error("{0}")]
    Requirements(#[from] RequirementsError),
    /// The lock cannot be used.
    #[error("{0}; lock again with `wardian skills deps lock FOLDER`")]
    Lock(#[from] LockError),
    /// A requirement is not fulfilled by what every run has, and there is no lock.
    #[error(
        "requirements.txt needs {requirement}, but code/pylock.toml does not exist: `wardian \
        skills deps lock FOLDER` creates it"
    )]
    NotLocked {
        /// The first such requirement.
        requirement: String,
    },
    /// The list has changed since it was locked.
    #[error(
        "requirements.txt has changed since it was locked: `wardian skills deps lock FOLDER` locks it again"
    )]
    Stale,
    /// The lock is for another engine.
    #[error(
        "code/pylock.toml is for another engine ({difference}): lock again with `wardian skills deps lock FOLDER`"
    )]
    OtherEngine {
        /// The first difference.
        difference: String,
    },
}

impl SkillNeeds {
    /// The needs of a skill with these files. `batteries` are locked for every run, and may be
    /// missing on this machine.
    #[must_use]
    pub fn of(
        requirements: Option<&[u8]>,
        lock: Option<&[u8]>,
        guest: &GuestPlatform,
        batteries: &Lock,
    ) -> Self {
        Self::find(requirements, lock, guest, batteries).unwrap_or_else(Self::Unknown)
    }

    fn find(
        requirements: Option<&[u8]>,
        lock: Option<&[u8]>,
        guest: &GuestPlatform,
        batteries: &Lock,
    ) -> Result<Self, NeedsError> {
        let Some(requirements) = requirements else { return Ok(Self::Nothing) };
        let requirements = Requirements::parse(requirements)?;
        let Some(lock) = lock else {
            return without_lock(&requirements, guest, batteries);
        };
        let lock = Lock::parse(lock)?;
        if lock.requirements != requirements.digest() {
            return Err(NeedsError::Stale);
        }
        if let Some(difference) = lock.outdated(guest) {
            return Err(NeedsError::OtherEngine { difference });
        }
        let packages = lock.packages.iter().map(|one| PackageVersion {
            name: one.wheel.package.clone(),
            version: one.wheel.version.clone(),
        });
        let with_batteries = relies_on_batteries(&requirements, &lock, guest, batteries)?;
        Ok(match lock.layer() {
            Some(key) => Self::Layer { key, packages: packages.collect(), with_batteries },
            None if with_batteries => Self::Batteries,
            None => Self::Nothing,
        })
    }
}

/// True if a locked package requires a battery, if a requirement is neither locked nor part of the engine and a
/// battery fulfils it, or if files of something in the engine are among the batteries.
fn relies_on_batteries(
    requirements: &Requirements,
    lock: &Lock,
    guest: &GuestPlatform,
    batteries: &Lock,
) -> Result<bool, NeedsError> {
    for battery in &lock.batteries {
        let mut packages = batteries.packages.iter().filter(|one| one.is_package());
        let here = packages.find(|one| one.wheel.package == battery.name);
        let here = here.map(|one| &one.wheel.version);
        if here != Some(&battery.version) {
            let here = here.map_or("none".to_owned(), ToString::to_string);
            let difference = format!("it was made with the battery {battery}, but there is {here}");
            return Err(NeedsError::OtherEngine { difference });
        }
    }
    let has_files = |name: &PackageName| {
        batteries.packages.iter().any(|one| one.is_package() && one.wheel.package == *name)
    };
    let mut relies =
        !lock.batteries.is_empty() || lock.engine.iter().any(|one| has_files(&one.name));
    for requirement in requirements.that_apply(guest.markers()) {
        let is_locked = lock.packages.iter().any(|one| one.wheel.package == requirement.name);
        if is_locked || guest.version_of(&requirement.name).is_some() {
            continue;
        }
        if !is_battery(requirement, batteries) {
            let difference = format!("no battery fulfils `{requirement}`");
            return Err(NeedsError::OtherEngine { difference });
        }
        relies = true;
    }
    Ok(relies)
}

/// True if a battery fulfils a requirement.
fn is_battery(requirement: &Requirement, batteries: &Lock) -> bool {
    let packages = batteries.packages.iter().filter(|one| one.is_package());
    packages
        .map(|one| &one.wheel)
        .any(|wheel| wheel.package == requirement.name && admits(requirement, &wheel.version))
}

/// The needs of a skill without a lock: what every run has must fulfil all requirements.
fn without_lock(
    requirements: &Requirements,
    guest: &GuestPlatform,
    batteries: &Lock,
) -> Result<SkillNeeds, NeedsError> {
    let mut needs = SkillNeeds::Nothing;
    for requirement in requirements.that_apply(guest.markers()) {
        let not_locked = || NeedsError::NotLocked { requirement: format!("`{requirement}`") };
        if let Some(version) = guest.version_of(&requirement.name) {
            if !admits(requirement, version) {
                return Err(not_locked());
            }
            // Python files of the engine's native packages are among the batteries.
            if is_battery(requirement, batteries) {
                needs = SkillNeeds::Batteries;
            }
            continue;
        }
        if !is_battery(requirement, batteries) {
            return Err(not_locked());
        }
        needs = SkillNeeds::Batteries;
    }
    Ok(needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::guest::testing::guest;
    use crate::packages::lock::LockedPackage;
    use crate::packages::wheel::WheelName;
    use wardian_vocabulary::ids::Digest;

    fn needs(requirements: &str, lock: Option<&Lock>) -> SkillNeeds {
        let lock = lock.map(Lock::to_text);
        let batteries = lock_for("", &["idna-3.10-py3-none-any.whl"]);
        let lock = lock.as_ref().map(String::as_bytes);
        SkillNeeds::of(Some(requirements.as_bytes()), lock, &guest(), &batteries)
    }

    fn lock_for(requirements: &str, wheels: &[&str]) -> Lock {
        let locked = |file: &&str| LockedPackage {
            wheel: WheelName::parse(file).unwrap(),
            url: None,
            size: 1,
            sha256: Digest::of(file.as_bytes()),
            folders: std::collections::BTreeMap::new(),
        };
        Lock {
            packages: wheels.iter().map(locked).collect(),
            python: "3.15".to_owned(),
            requirements: Requirements::parse(requirements.as_bytes()).unwrap().digest(),
            engine: Vec::new(),
            batteries: Vec::new(),
        }
    }

    fn problem(needs: SkillNeeds) -> String {
        match needs {
            SkillNeeds::Unknown(error) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_every_run_has_needs_no_lock() {
        let none = lock_for("", &[]);
        assert_eq!(SkillNeeds::of(None, None, &guest(), &none), SkillNeeds::Nothing);
        assert_eq!(needs("numpy>=2\nidna", None), SkillNeeds::Batteries);
        for text in ["", "numpy>=2", "tool; sys_platform == 'win32'"] {
            assert_eq!(needs(text, None), SkillNeeds::Nothing, "{text}");
        }
        for text in ["tool>=1", "numpy<2", "idna>=4"] {
            let problem = problem(needs(text, None));
            assert!(
                problem.contains(&format!("needs `{text}`")) && problem.contains("deps lock"),
                "{problem}"
            );
        }
        assert!(problem(needs("-r x", None)).starts_with("requirements.txt, line 1"));
    }

    #[test]
    fn a_lock_names_a_layer_as_long_as_it_fits() {
        let lock = lock_for("tool", &["tool-1-py3-none-any.whl"]);
        let SkillNeeds::Layer { key, packages, with_batteries } =
            needs("tool # comment", Some(&lock))
        else {
            panic!("no layer");
        };
        assert!(!with_batteries);
        assert_eq!((Some(key), packages[0].to_string()), (lock.layer(), "tool 1".to_owned()));
        assert_eq!(needs("numpy", Some(&lock_for("numpy", &[]))), SkillNeeds::Nothing);
        assert_eq!(needs("tool>=1", Some(&lock)), SkillNeeds::Unknown(NeedsError::Stale));
        let other = Lock { python: "3.14".to_owned(), ..lock };
        assert!(problem(needs("tool", Some(&other))).contains("it is for Python 3.14"));
        let malformed = SkillNeeds::of(Some(b"tool"), Some(b"x"), &guest(), &lock_for("", &[]));
        assert!(problem(malformed).contains("pylock.toml cannot be read"));
    }

    #[test]
    fn native_packages_are_of_the_engine_and_their_files_are_batteries() {
        let batteries = crate::packages::batteries::lock().unwrap();
        let native = crate::packages::batteries::native().unwrap();
        let guest = guest().with_packages(&native);
        let needs = |list: &str, lock: Option<&Lock>| {
            let lock = lock.map(Lock::to_text);
            let lock = lock.as_ref().map(String::as_bytes);
            SkillNeeds::of(Some(list.as_bytes()), lock, &guest, &batteries)
        };
        assert_eq!(
            needs("pydantic\nmsgpack>=1\njiter\norjson\nrpds-py", None),
            SkillNeeds::Batteries
        );
        assert!(problem(needs("pydantic-core<2", None)).contains("deps lock"));
        let locked = Lock { engine: native.clone(), ..lock_for("msgpack", &[]) };
        assert_eq!(needs("msgpack", Some(&locked)), SkillNeeds::Batteries);
        let above = Lock { engine: native, ..lock_for("tool", &["tool-1-py3-none-any.whl"]) };
        let found = needs("tool", Some(&above));
        assert!(matches!(found, SkillNeeds::Layer { with_batteries: true, .. }), "{found:?}");
        let own = lock_for("msgpack", &["msgpack-1.0-py3-none-any.whl"]);
        let refused = problem(needs("msgpack", Some(&own)));
        assert!(refused.contains("it locks `msgpack`, which the engine contains"), "{refused}");
    }

    #[test]
    fn batteries_that_are_unpacked_in_part_count_as_packages() {
        let batteries = crate::packages::batteries::lock().unwrap();
        let needs = |list: &str, lock: Option<&Lock>| {
            let lock = lock.map(Lock::to_text);
            let lock = lock.as_ref().map(String::as_bytes);
            SkillNeeds::of(Some(list.as_bytes()), lock, &guest(), &batteries)
        };
        let list = "pdfplumber\nmarkitdown[pdf]\nlifelines\npdfminer.six\nplotly";
        assert_eq!(needs(list, None), SkillNeeds::Batteries);
        for other in ["pdfplumber<0.5", "llama-index-core"] {
            assert!(problem(needs(other, None)).contains("deps lock"), "{other}");
        }
        let (alone, both) = (lock_for("pdfplumber", &[]), "pdfplumber\ntool");
        assert_eq!(needs("pdfplumber", Some(&alone)), SkillNeeds::Batteries);
        let locked = lock_for(both, &["tool-1-py3-none-any.whl"]);
        let found = needs(both, Some(&locked));
        assert!(matches!(found, SkillNeeds::Layer { with_batteries: true, .. }), "{found:?}");
        let wheel = &batteries.packages.iter().find(|one| one.is_package()).unwrap().wheel;
        let mut battery =
            PackageVersion { name: wheel.package.clone(), version: wheel.version.clone() };
        let tool = lock_for("tool", &["tool-1-py3-none-any.whl"]);
        let relying = Lock { batteries: vec![battery.clone()], ..tool.clone() };
        let found = needs("tool", Some(&relying));
        assert!(matches!(found, SkillNeeds::Layer { with_batteries: true, .. }), "{found:?}");
        battery.version = "0.0.1".parse().unwrap();
        let other = problem(needs("tool", Some(&Lock { batteries: vec![battery], ..tool })));
        assert!(other.contains("0.0.1, but there is"), "{other}");
        let lacks = problem(needs("gone>=1", Some(&lock_for("gone>=1", &[]))));
        assert!(lacks.contains("no battery fulfils `gone>=1`"), "{lacks}");
    }
}
