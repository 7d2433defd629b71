//! Chooses versions with pip, for the platform of guests.
//!
//! pip's report mode states which wheel it would install for each package, and installs nothing.
//! The engine's packages are given to pip as empty wheels, and their versions as constraints: so
//! pip chooses versions that fit the engine, or says which do not.
//!
//! # Why the answer is checked again
//!
//! pip knows nothing of guests: the values of markers are put into it from outside (`pip.py`), which
//! a later version of pip may undo. So the result is walked from the requirements once more, with
//! the markers of guests. A package that is missing then, or does not fit, is an error and not a
//! lock that is subtly wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::str::FromStr as _;

use pep440_rs::Version;
use pep508_rs::{ExtraName, PackageName, Requirement};
use serde::Deserialize;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::packages::explain::{Demands, explained, passed_over};
use crate::packages::guest::{GuestPlatform, PackageVersion};
use crate::packages::pip::{PipLog, pip, without_credentials};
use crate::packages::requirements::{Requirements, admits, parse_requirement};
use crate::packages::resolve_error::ResolveError;
use crate::packages::wheel::WheelName;
use wardian_vocabulary::ids::Digest;

/// Most remarks about newer versions.
const MAX_NOTES: usize = 5;

/// Longest report that is read.
const MAX_REPORT: u64 = 64 << 20;

/// Where wheels are looked for.
#[derive(Debug, Clone, Copy)]
pub enum WheelSource<'a> {
    /// The registry that pip is set up with.
    Registry,
    /// A folder with wheels, and no network.
    Folder(&'a Path),
}

/// The chosen packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The wheels, sorted by package.
    pub wheels: Vec<ChosenWheel>,
    /// The packages of the engine that are required, sorted.
    pub engine: Vec<PackageVersion>,
    /// Remarks for the user: newer versions that were passed over, and why.
    pub notes: Vec<String>,
}

/// A wheel that pip chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenWheel {
    /// Its name.
    pub name: WheelName,
    /// Its address; `None` for one from a folder.
    pub url: Option<String>,
    /// Its digest.
    pub sha256: Digest,
}

/// Chooses versions for `requirements`.
///
/// # Errors
///
/// They cannot be fulfilled with wheels of pure Python and the engine's packages, or Python with
/// pip is missing.
pub fn resolve(
    requirements: &Requirements,
    guest: &GuestPlatform,
    python: &Path,
    source: WheelSource<'_>,
) -> Result<Resolution, ResolveError> {
    let roots: Vec<&Requirement> = requirements.that_apply(guest.markers()).collect();
    for root in &roots {
        let version = guest.version_of(&root.name);
        if let Some(version) = version.filter(|version| !admits(root, version)) {
            let package = PackageVersion { name: root.name.clone(), version: version.clone() };
            return Err(ResolveError::ExcludesEngine { requirement: root.to_string(), package });
        }
    }
    let is_provided = |root: &&Requirement| guest.version_of(&root.name).is_some();
    if roots.iter().all(is_provided) {
        return Ok(walk(&roots, &BTreeMap::new(), guest)?.0);
    }
    let scratch = tempfile::Builder::new().prefix("wardian-lock-").tempdir()?;
    let report = scratch.path().join("report.json");
    ask_pip(&roots, guest, python, source, scratch.path())?;
    let mut text = String::new();
    fs::File::open(&report)?.take(MAX_REPORT).read_to_string(&mut text)?;
    let report: Report =
        serde_json::from_str(&text).map_err(|error| ResolveError::Report(error.to_string()))?;
    let installed = report.install.into_iter().map(|one| {
        let name = PackageName::from_str(&one.metadata.name);
        name.map(|name| (name, one)).map_err(|error| ResolveError::Report(error.to_string()))
    });
    let (mut resolution, demands) = walk(&roots, &installed.collect::<Result<_, _>>()?, guest)?;
    let log = PipLog::read(scratch.path());
    let newer = passed_over(resolution.wheels.iter().map(|wheel| &wheel.name), &demands, &log);
    let why = |wanted: &Requirement| {
        let scratch = tempfile::Builder::new().prefix("wardian-lock-").tempdir().ok()?;
        let roots: Vec<&Requirement> = roots.iter().copied().chain([wanted]).collect();
        let refused = ask_pip(&roots, guest, python, source, scratch.path()).err()?;
        refused.is_about_packages().then(|| refused.to_string())
    };
    // Each remark may take a call of pip, and each call may take minutes.
    resolution.notes = newer.iter().take(MAX_NOTES).filter_map(|newer| newer.note(&why)).collect();
    resolution.notes.extend(log.faults().iter().map(ToString::to_string));
    Ok(resolution)
}

/// Lets pip choose versions, and finds the cause if it cannot.
fn ask_pip(
    roots: &[&Requirement],
    guest: &GuestPlatform,
    python: &Path,
    source: WheelSource<'_>,
    scratch: &Path,
) -> Result<(), ResolveError> {
    let lines: Vec<String> = roots
        .iter()
        .map(|root| {
            let mut plain = (*root).clone();
            plain.marker = pep508_rs::MarkerTree::TRUE;
            plain.to_string()
        })
        .collect();
    fs::write(scratch.join("requirements.txt"), lines.join("\n") + "\n")?;
    let engine: Vec<String> =
        guest.packages().iter().map(|(name, version)| format!("{name}=={version}")).collect();
    fs::write(scratch.join("engine.txt"), engine.join("\n") + "\n")?;
    let engine = scratch.join("engine");
    fs::create_dir(&engine)?;
    for (name, version) in guest.packages() {
        write_stub(&engine, name, version)?;
    }
    let mut arguments: Vec<&OsStr> = "install --dry-run --ignore-installed --report report.json \
         --target target -r requirements.txt -c engine.txt --find-links engine"
        .split_ascii_whitespace()
        .map(OsStr::new)
        .collect();
    if let WheelSource::Folder(folder) = source {
        arguments.extend([
            OsStr::new("--no-index"),
            OsStr::new("--find-links"),
            folder.as_os_str(),
        ]);
    }
    pip(guest, python, &arguments, scratch)
        .map_err(|error| explained(error, guest, &PipLog::read(scratch)))
}

/// Writes an empty wheel in the name of a package of the engine. Its build number lets pip prefer
/// it to a wheel of the same version in a registry.
fn write_stub(folder: &Path, name: &PackageName, version: &Version) -> io::Result<()> {
    let stem = format!("{}-{version}", name.as_dist_info_name());
    let file = fs::File::create(folder.join(format!("{stem}-99999999-py3-none-any.whl")))?;
    let mut wheel = ZipWriter::new(file);
    let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
    let kind = "Wheel-Version: 1.0\nGenerator: wardian\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    for (path, text) in [("METADATA", metadata.as_str()), ("WHEEL", kind), ("RECORD", "")] {
        wheel.start_file(format!("{stem}.dist-info/{path}"), SimpleFileOptions::default())?;
        wheel.write_all(text.as_bytes())?;
    }
    wheel.finish()?;
    Ok(())
}

/// pip's report, as far as it is used.
#[derive(Deserialize)]
struct Report {
    install: Vec<Installed>,
}

#[derive(Deserialize)]
struct Installed {
    metadata: Metadata,
    download_info: DownloadInfo,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
    #[serde(default)]
    requires_dist: Vec<String>,
}

#[derive(Deserialize)]
struct DownloadInfo {
    url: String,
    archive_info: Option<ArchiveInfo>,
}

#[derive(Deserialize)]
struct ArchiveInfo {
    #[serde(default)]
    hashes: BTreeMap<String, String>,
}

/// Walks from the requirements to all packages that guests need, and checks that each was chosen.
fn walk(
    roots: &[&Requirement],
    installed: &BTreeMap<PackageName, Installed>,
    guest: &GuestPlatform,
) -> Result<(Resolution, Demands), ResolveError> {
    let mut demands = Demands::new();
    let mut open: Vec<(Requirement, String)> =
        roots.iter().map(|root| ((*root).clone(), "requirements.txt".to_owned())).collect();
    let mut seen: BTreeSet<(PackageName, Vec<ExtraName>)> = BTreeSet::new();
    let (mut wheels, mut engine) = (BTreeMap::new(), BTreeSet::new());
    while let Some((requirement, by)) = open.pop() {
        let incomplete = |requirement: &Requirement, by: &str| ResolveError::Incomplete {
            requirement: requirement.to_string(),
            by: by.to_owned(),
        };
        if let Some(version) = guest.version_of(&requirement.name) {
            let package =
                PackageVersion { name: requirement.name.clone(), version: version.clone() };
            if !admits(&requirement, version) {
                return Err(ResolveError::EngineConflict {
                    packages: package.to_string(),
                    said: format!("`{by}` requires `{requirement}`"),
                });
            }
            engine.insert(package);
            continue;
        }
        let chosen = installed.get(&requirement.name);
        let chosen = chosen.ok_or_else(|| incomplete(&requirement, &by))?;
        let version = Version::from_str(&chosen.metadata.version)
            .map_err(|error| ResolveError::Report(error.to_string()))?;
        if !admits(&requirement, &version) {
            return Err(incomplete(&requirement, &by));
        }
        demands.entry(requirement.name.clone()).or_default().push(requirement.clone());
        let mut extras = requirement.extras.clone();
        extras.sort();
        if !seen.insert((requirement.name.clone(), extras.clone())) {
            continue;
        }
        for line in &chosen.metadata.requires_dist {
            let next = parse_requirement(line).map_err(|problem| {
                ResolveError::Report(format!("`{}` requires {line:?}: {problem}", requirement.name))
            })?;
            if next.evaluate_markers(guest.markers(), &extras) {
                open.push((next, requirement.name.to_string()));
            }
        }
        wheels.insert(requirement.name.clone(), chosen_wheel(chosen)?);
    }
    let (wheels, engine) = (wheels.into_values().collect(), engine.into_iter().collect());
    Ok((Resolution { wheels, engine, notes: Vec::new() }, demands))
}

fn chosen_wheel(chosen: &Installed) -> Result<ChosenWheel, ResolveError> {
    let DownloadInfo { url, archive_info } = &chosen.download_info;
    let file = url.split(['#', '?']).next().and_then(|place| place.rsplit('/').next());
    let name = WheelName::parse(&file.unwrap_or_default().replace("%2B", "+"))?;
    let hashes = archive_info.as_ref().map(|info| &info.hashes);
    let sha256 = hashes.and_then(|hashes| hashes.get("sha256"));
    let sha256 = sha256.and_then(|text| Digest::parse(text).ok());
    let sha256 = sha256
        .ok_or_else(|| ResolveError::Report(format!("it has no SHA-256 of `{}`", name.as_str())))?;
    // Everybody who may read the skill reads its lock. Whatever stands behind the path may be a token.
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    let url = (!url.starts_with("file:")).then(|| without_credentials(plain));
    Ok(ChosenWheel { name, url, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::guest::testing::guest;

    fn installed(list: &[(&str, &str, &[&str])]) -> BTreeMap<PackageName, Installed> {
        let one = |(name, version, requires): &(&str, &str, &[&str])| {
            let metadata = Metadata {
                name: (*name).to_owned(),
                version: (*version).to_owned(),
                requires_dist: requires.iter().map(|line| (*line).to_owned()).collect(),
            };
            let sha256 = Digest::of(name.as_bytes()).to_string();
            let download_info = DownloadInfo {
                url: format!("https://example.com/x/{name}-{version}-py3-none-any.whl"),
                archive_info: Some(ArchiveInfo { hashes: [("sha256".to_owned(), sha256)].into() }),
            };
            (PackageName::from_str(name).unwrap(), Installed { metadata, download_info })
        };
        list.iter().map(one).collect()
    }

    fn walked(roots: &str, list: &[(&str, &str, &[&str])]) -> Result<Vec<String>, String> {
        let requirements = Requirements::parse(roots.as_bytes()).unwrap();
        let guest = guest();
        let roots: Vec<&Requirement> = requirements.that_apply(guest.markers()).collect();
        let (resolution, _) = walk(&roots, &installed(list), &guest).map_err(|e| e.to_string())?;
        let mut names: Vec<String> =
            resolution.wheels.iter().map(|wheel| wheel.name.package.to_string()).collect();
        names.extend(resolution.engine.iter().map(ToString::to_string));
        Ok(names)
    }

    #[test]
    fn only_what_guests_need_is_locked() {
        // A pip that evaluates markers of its own platform would choose `c`, too.
        let list: &[(&str, &str, &[&str])] = &[
            ("a", "1", &["b>=1", "c; sys_platform == 'linux'", "numpy>=2", "d; extra == 'x'"]),
            ("b", "1.5", &["a"]),
            ("c", "1", &[]),
            ("d", "1", &[]),
        ];
        assert_eq!(walked("a", list).unwrap(), ["a", "b", "numpy 2.5.2"]);
        assert_eq!(
            walked("a[x]\nz; os_name == 'nt'", list).unwrap(),
            ["a", "b", "d", "numpy 2.5.2"]
        );
    }

    #[test]
    fn a_wrong_choice_is_noticed() {
        let list: &[(&str, &str, &[&str])] = &[("a", "1", &["b>=2"]), ("b", "1.5", &[])];
        assert!(walked("a", list).unwrap_err().contains("pip chose no `b>=2`, which `a` requires"));
        let list: &[(&str, &str, &[&str])] = &[("a", "1", &["c; sys_platform == 'wasi'"])];
        assert!(walked("a", list).unwrap_err().contains("pip chose no `c"));
        let list: &[(&str, &str, &[&str])] = &[("a", "1", &["numpy<2"])];
        let error = walked("a", list).unwrap_err();
        assert!(
            error.contains("a version of numpy 2.5.2 other than")
                && error.contains("`a` requires `numpy<2`"),
            "{error}"
        );
    }

    #[test]
    fn requirements_that_exclude_the_engine_are_refused_without_pip() {
        let resolved = |text: &str| {
            let requirements = Requirements::parse(text.as_bytes()).unwrap();
            resolve(&requirements, &guest(), Path::new("/no/python"), WheelSource::Registry)
        };
        let error = resolved("NumPy<2").unwrap_err().to_string();
        assert!(error.starts_with("`numpy<2` excludes the engine's numpy 2.5.2"), "{error}");
        let engine = resolved("numpy>=2\nPyYAML").unwrap();
        assert_eq!((engine.wheels.len(), engine.engine.len()), (0, 2));
    }
}
