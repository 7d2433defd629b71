//! `pylock.toml` (PEP 751): the wheels of a skill, by digest.
//!
//! The text depends on its content alone, so that the same lock is the same file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr as _;

use pep440_rs::Version;
use pep508_rs::PackageName;
use serde::Deserialize;

use crate::packages::guest::{GuestPlatform, PackageVersion};
use crate::packages::layer::LayerKey;
use crate::packages::wheel::{WheelError, WheelKind, WheelName};
use wardian_vocabulary::ids::Digest;

/// Longest lock, in bytes.
pub const MAX_LOCK: usize = 1 << 20;

/// Most packages of a lock.
const MAX_PACKAGES: usize = 500;

/// Largest wheel, in bytes.
pub(crate) const MAX_WHEEL: u64 = 64 << 20;

/// The reason why a lock cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The text is not a lock.
    #[error("pylock.toml cannot be read: {0}")]
    Malformed(String),
    /// The lock was made by another program.
    #[error("pylock.toml was not made by `wardian skills deps lock`")]
    Foreign,
    /// A package has no wheel that guests can have.
    #[error("pylock.toml: package `{name}` {problem}")]
    Package {
        /// The package.
        name: String,
        /// The problem.
        problem: String,
    },
    /// A wheel is of the wrong kind.
    #[error("pylock.toml: {0}")]
    Wheel(#[from] WheelError),
}

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lock {
    /// The packages, sorted by name.
    pub packages: Vec<LockedPackage>,
    /// Version of Python that it is for, such as `3.15`.
    pub python: String,
    /// Digest of the requirements that it fulfils.
    pub requirements: Digest,
    /// The packages that it relies on the engine for, sorted.
    pub engine: Vec<PackageVersion>,
    /// The batteries that locked packages require and the list does not name, sorted.
    pub batteries: Vec<PackageVersion>,
}

/// A package with its one wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPackage {
    /// The wheel's name, with the package and its version.
    pub wheel: WheelName,
    /// Where the wheel was found; `None` for a wheel from a folder.
    pub url: Option<String>,
    /// Its length in bytes.
    pub size: u64,
    /// Its digest.
    pub sha256: Digest,
    /// For a wheel that is unpacked in part: its folders, each with its path in the layer. Empty for
    /// a package, of which everything is unpacked.
    pub folders: BTreeMap<String, String>,
}

impl LockedPackage {
    /// True for a wheel that is unpacked in part.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.folders.is_empty()
    }

    /// True if the layer has the package, and not only data of its wheel: metadata of it are there.
    #[must_use]
    pub fn is_package(&self) -> bool {
        !self.is_partial() || self.folders.values().any(|to| to.ends_with(".dist-info"))
    }

    /// Names what the layer has of the wheel.
    fn content(&self) -> Digest {
        if self.folders.is_empty() {
            return self.sha256;
        }
        let lines = self.folders.iter().map(|(from, to)| format!("{from} -> {to}\n"));
        Digest::of(format!("{}\n{}", self.sha256, lines.collect::<String>()).as_bytes())
    }
}

/// The part of PEP 751 that is read. Other tables and keys are for other tools.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    lock_version: String,
    #[serde(default)]
    packages: Vec<FilePackage>,
    tool: Option<Tools>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct FilePackage {
    name: String,
    version: Option<String>,
    #[serde(default)]
    wheels: Vec<FileWheel>,
    sdist: Option<toml::Value>,
    vcs: Option<toml::Value>,
    directory: Option<toml::Value>,
    archive: Option<toml::Value>,
}

#[derive(Deserialize)]
struct FileWheel {
    name: Option<String>,
    url: Option<String>,
    path: Option<String>,
    size: Option<u64>,
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Tools {
    wardian: Option<Own>,
}

#[derive(Deserialize)]
struct Own {
    python: String,
    requirements: String,
    #[serde(default)]
    engine: Vec<String>,
    #[serde(default)]
    batteries: Vec<String>,
}

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    ///
    /// The text is not a lock of this program, or locks something else than wheels of pure Python.
    pub fn parse(bytes: &[u8]) -> Result<Self, LockError> {
        let malformed = |problem: &str| LockError::Malformed(problem.to_owned());
        if bytes.len() > MAX_LOCK {
            return Err(malformed("it has more than 1 MiB"));
        }
        let text = std::str::from_utf8(bytes).map_err(|_invalid| malformed("it is not UTF-8"))?;
        let file: File = toml::from_str(text).map_err(|error| malformed(error.message()))?;
        if file.lock_version.split('.').next() != Some("1") {
            return Err(malformed("it has an unknown `lock-version`"));
        }
        let own = file.tool.and_then(|tools| tools.wardian).ok_or(LockError::Foreign)?;
        if file.packages.len() > MAX_PACKAGES {
            return Err(malformed("it has more than 500 packages"));
        }
        let digest = own.requirements.strip_prefix("sha256:").map(Digest::parse);
        let requirements = digest.and_then(Result::ok);
        let requirements =
            requirements.ok_or_else(|| malformed("`requirements` is not a digest"))?;
        let mut packages = file.packages.into_iter().map(locked).collect::<Result<Vec<_>, _>>()?;
        packages.sort_by(|one, other| one.wheel.package.cmp(&other.wheel.package));
        let twice = packages.windows(2).find_map(|pair| match pair {
            [one, other] if one.wheel.package == other.wheel.package => Some(&one.wheel.package),
            _ => None,
        });
        if let Some(name) = twice {
            let problem = "is listed twice".to_owned();
            return Err(LockError::Package { name: name.to_string(), problem });
        }
        let engine = versions(&own.engine);
        let engine = engine.ok_or_else(|| malformed("`engine` is not a list of versions"))?;
        let batteries = versions(&own.batteries);
        let batteries =
            batteries.ok_or_else(|| malformed("`batteries` is not a list of versions"))?;
        Ok(Self { packages, python: own.python, requirements, engine, batteries })
    }

    /// The text of the lock.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::from(
            "# Made by `wardian skills deps lock` from requirements.txt. Lock again rather than edit.\n\
             lock-version = \"1.0\"\ncreated-by = \"wardian\"\n",
        );
        // Writing to a string cannot fail.
        let mut line = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").unwrap_or_default();
        line(format_args!("requires-python = \"=={}.*\"", self.python));
        line(format_args!("environments = [\"sys_platform == 'wasi'\"]"));
        for LockedPackage { wheel, url, size, sha256, .. } in &self.packages {
            line(format_args!("\n[[packages]]\nname = \"{}\"", wheel.package));
            line(format_args!("version = \"{}\"\n\n[[packages.wheels]]", wheel.version));
            line(format_args!("name = \"{}\"", wheel.as_str()));
            match url {
                Some(url) => line(format_args!("url = {}", toml::Value::from(url.as_str()))),
                None => line(format_args!("path = \"{}\"", wheel.as_str())),
            }
            line(format_args!("size = {size}\nhashes = {{ sha256 = \"{sha256}\" }}"));
        }
        line(format_args!("\n[tool.wardian]\npython = \"{}\"", self.python));
        line(format_args!("requirements = \"sha256:{}\"", self.requirements));
        line(format_args!("# Packages that the engine contains."));
        line(format_args!("engine = [{}]", list_of(&self.engine)));
        if !self.batteries.is_empty() {
            line(format_args!("# Batteries that locked packages require."));
            line(format_args!("batteries = [{}]", list_of(&self.batteries)));
        }
        text
    }

    /// Names the layer of the locked wheels; `None` if the engine has all that is needed.
    #[must_use]
    pub fn layer(&self) -> Option<LayerKey> {
        let wheels = self.packages.iter().map(LockedPackage::content);
        (!self.packages.is_empty()).then(|| LayerKey::of(wheels))
    }

    /// The first difference between the engine that the lock was made for and `guest`.
    #[must_use]
    pub(crate) fn outdated(&self, guest: &GuestPlatform) -> Option<String> {
        if self.python != guest.python_version() {
            let here = guest.python_version();
            return Some(format!("it is for Python {}, but the engine has {here}", self.python));
        }
        let other =
            self.engine.iter().find(|one| guest.version_of(&one.name) != Some(&one.version));
        if let Some(package) = other {
            let here = guest.version_of(&package.name);
            let here = here.map_or("none".to_owned(), ToString::to_string);
            return Some(format!("it was made with {package}, but the engine has {here}"));
        }
        let doubled =
            self.packages.iter().find(|one| guest.version_of(&one.wheel.package).is_some());
        doubled.map(|one| format!("it locks `{}`, which the engine contains", one.wheel.package))
    }
}

/// The versions of a list, sorted.
fn versions(texts: &[String]) -> Option<Vec<PackageVersion>> {
    let mut found = texts.iter().map(|text| pinned(text)).collect::<Option<Vec<_>>>()?;
    found.sort();
    Some(found)
}

/// The members of a list of versions.
fn list_of(packages: &[PackageVersion]) -> String {
    let texts: Vec<String> =
        packages.iter().map(|one| format!("\"{}=={}\"", one.name, one.version)).collect();
    texts.join(", ")
}

fn pinned(text: &str) -> Option<PackageVersion> {
    let (name, version) = text.split_once("==")?;
    let (name, version) = (PackageName::from_str(name).ok()?, Version::from_str(version).ok()?);
    Some(PackageVersion { name, version })
}

fn locked(package: FilePackage) -> Result<LockedPackage, LockError> {
    let FilePackage { name, version, wheels, sdist, vcs, directory, archive } = package;
    let shown: String = name.chars().take(80).collect::<String>().escape_debug().to_string();
    let refuse =
        |problem: &str| LockError::Package { name: shown.clone(), problem: problem.to_owned() };
    if vcs.is_some() || directory.is_some() || archive.is_some() {
        return Err(refuse("is locked as sources, which would have to be built"));
    }
    let named: Vec<(String, FileWheel)> = wheels
        .into_iter()
        .map(|wheel| {
            let place = wheel.path.as_deref().or(wheel.url.as_deref()).unwrap_or_default();
            let last = place.split(['#', '?']).next().and_then(|place| place.rsplit('/').next());
            let file = wheel.name.clone().or_else(|| last.map(str::to_owned)).unwrap_or_default();
            (file, wheel)
        })
        .collect();
    if named.is_empty() {
        let problem = if sdist.is_some() {
            "has only a source distribution, which would have to be built"
        } else {
            "has no wheel"
        };
        return Err(refuse(problem));
    }
    let pure = named.iter().position(|(file, _)| WheelKind::of(file) == WheelKind::Pure);
    let Some((file, wheel)) = named.into_iter().nth(pure.unwrap_or_default()) else {
        return Err(refuse("has no wheel"));
    };
    let parsed = WheelName::parse(&file)?;
    let right = PackageName::from_str(&name).is_ok_and(|name| name == parsed.package)
        && version
            .is_none_or(|text| Version::from_str(&text).is_ok_and(|one| one == parsed.version));
    if !right {
        return Err(refuse("has the wheel of another package or version"));
    }
    let sha256 = wheel.hashes.get("sha256").and_then(|text| Digest::parse(text).ok());
    let sha256 = sha256.ok_or_else(|| refuse("has no SHA-256 of its wheel"))?;
    let size = wheel.size.ok_or_else(|| refuse("has no size of its wheel"))?;
    if size > MAX_WHEEL {
        return Err(refuse("has a wheel of more than 64 MiB"));
    }
    Ok(LockedPackage { wheel: parsed, url: wheel.url, size, sha256, folders: BTreeMap::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::guest::testing::guest;

    fn lock() -> Lock {
        let package = |file: &str, url: Option<&str>| LockedPackage {
            wheel: WheelName::parse(file).unwrap(),
            url: url.map(str::to_owned),
            size: 7,
            sha256: Digest::of(file.as_bytes()),
            folders: BTreeMap::new(),
        };
        let version = Version::from_str("2.5.2").unwrap();
        Lock {
            packages: vec![
                package(
                    "a_b-1.0-py3-none-any.whl",
                    Some("https://example.com/a_b-1.0-py3-none-any.whl"),
                ),
                package("c-2-py3-none-any.whl", None),
            ],
            python: "3.15".to_owned(),
            requirements: Digest::of(b"requirements"),
            engine: vec![PackageVersion { name: PackageName::from_str("numpy").unwrap(), version }],
            batteries: Vec::new(),
        }
    }

    #[test]
    fn a_lock_reads_back_and_is_the_same_text_again() {
        let text = lock().to_text();
        let read = Lock::parse(text.as_bytes()).unwrap();
        assert_eq!(read, lock());
        assert!(!text.contains("batteries"), "{text}");
        let relying = Lock { batteries: lock().engine, ..lock() };
        let text_of_relying = relying.to_text();
        assert!(text_of_relying.contains("batteries = [\"numpy==2.5.2\"]\n"), "{text_of_relying}");
        assert_eq!(Lock::parse(text_of_relying.as_bytes()).unwrap(), relying);
        assert_eq!(read.to_text(), text);
        let empty = Lock { packages: Vec::new(), ..lock() };
        assert_eq!(Lock::parse(empty.to_text().as_bytes()).unwrap().layer(), None);
    }

    #[test]
    fn a_part_of_a_wheel_makes_another_layer_than_the_whole() {
        let whole = lock();
        let mut data = lock();
        data.packages[1].folders.insert("c/data".to_owned(), "c-data".to_owned());
        assert!(data.packages[1].is_partial() && !whole.packages[1].is_partial());
        assert_ne!(data.layer(), whole.layer());
        let mut elsewhere = data.clone();
        elsewhere.packages[1].folders.insert("c/data".to_owned(), "other".to_owned());
        assert_ne!(elsewhere.layer(), data.layer());
    }

    #[test]
    fn another_engine_makes_a_lock_outdated() {
        let guest = guest();
        assert_eq!(lock().outdated(&guest), None);
        let with = |change: &dyn Fn(&mut Lock)| {
            let mut lock = lock();
            change(&mut lock);
            lock.outdated(&guest).unwrap()
        };
        assert!(with(&|lock| lock.python = "3.14".into()).contains("Python 3.14"));
        let numpy = with(&|lock| lock.engine[0].version = Version::from_str("2.4.0").unwrap());
        assert_eq!(numpy, "it was made with numpy 2.4.0, but the engine has 2.5.2");
        let gone = with(&|lock| lock.engine[0].name = PackageName::from_str("scipy").unwrap());
        assert!(gone.ends_with("the engine has none"), "{gone}");
        let name = WheelName::parse("PyYAML-6-py3-none-any.whl").unwrap();
        assert!(with(&|lock| lock.packages[0].wheel = name.clone()).contains("locks `pyyaml`"));
    }

    #[test]
    fn locks_of_anything_else_than_pure_wheels_are_refused() {
        let text = lock().to_text();
        let change = |from: &str, to: &str| {
            assert!(text.contains(from), "{from}");
            Lock::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
        };
        for (from, to, expected) in [
            ("[tool.wardian]", "[tool.other]", "was not made by"),
            ("\"1.0\"\ncreated", "\"2.0\"\ncreated", "unknown `lock-version`"),
            (
                "name = \"a_b-1.0-py3-none-any.whl\"",
                "name = \"a_b-1.0-cp315-cp315-linux_x86_64.whl\"",
                "has native code",
            ),
            (
                "name = \"a_b-1.0-py3-none-any.whl\"",
                "name = \"a_b-1.0.tar.gz\"",
                "is a source distribution",
            ),
            (
                "name = \"a_b-1.0-py3-none-any.whl\"",
                "name = \"../a_b-1.0-py3-none-any.whl\"",
                "is not a wheel",
            ),
            (
                "name = \"a_b-1.0-py3-none-any.whl\"",
                "name = \"x-1.0-py3-none-any.whl\"",
                "the wheel of another package",
            ),
            (
                "\nversion = \"1.0\"",
                "\nversion = \"1.1\"",
                "the wheel of another package or version",
            ),
            ("hashes = { sha256", "hashes = { md5", "no SHA-256"),
            ("size = 7", "size = 99999999999", "more than 64 MiB"),
            ("size = 7", "", "no size"),
            ("name = \"c\"", "name = \"a-b\"", "the wheel of another package"),
            ("[[packages.wheels]]", "[packages.sdist]", "has only a source distribution"),
            ("[[packages.wheels]]", "[packages.vcs]", "is locked as sources"),
            ("sha256:", "md5:", "`requirements` is not a digest"),
        ] {
            let error = change(from, to);
            assert!(error.contains(expected), "{from} -> {to}: {error}");
        }
        assert!(Lock::parse(&vec![b'#'; MAX_LOCK + 1]).is_err());
        assert!(Lock::parse(b"\xff").is_err() && Lock::parse(b"").is_err());
    }
}
