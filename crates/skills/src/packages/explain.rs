//! Explains a choice of pip: why a requirement cannot be fulfilled, and why an older version was
//! chosen.

use std::collections::{BTreeMap, BTreeSet};

use pep440_rs::Version;
use pep508_rs::{PackageName, Requirement};

use crate::packages::batteries;
use crate::packages::guest::{GuestPlatform, PackageVersion};
use crate::packages::pip::{
    Offer, OfferKind, PipLog, PythonError, conflict_in, download_fault, error_lines, missing_in,
};
use crate::packages::requirements::{admits, parse_requirement};
use crate::packages::resolve_error::ResolveError;
use crate::packages::wheel::WheelName;

/// Most versions that a message lists.
const MAX_VERSIONS: usize = 6;

const NATIVE_ONLY: &str = "has only wheels with native code, or for other versions of Python, which \
     guests cannot load: require another version or another package";
const SOURCE_ONLY: &str = "has only source distributions, which would have to be built: build a \
     wheel with `pip wheel`, and lock with `--from` if it is pure Python";
const YANKED: &str = "was withdrawn by its author: require another version, or exactly this one";
const UNKNOWN: &str = "is unknown, or has no such version";
const CHECK_NAME: &str = "check the name, and the registry in pip's settings";

/// The requirements of the list and of chosen packages, by the package that they name.
pub(super) type Demands = BTreeMap<PackageName, Vec<Requirement>>;

/// Finds the cause of a failure in the words of pip.
pub(super) fn explained(error: PythonError, guest: &GuestPlatform, log: &PipLog) -> ResolveError {
    let PythonError::Failed { said } = &error else { return error.into() };
    if let Some((requirement, by)) = missing_in(said) {
        if let Some(version) = guest.version_of(&requirement.name) {
            let package =
                PackageVersion { name: requirement.name.clone(), version: version.clone() };
            return ResolveError::EngineConflict {
                packages: package.to_string(),
                said: cause_in(said),
            };
        }
        // A registry that did not answer may have the package.
        if let Some(fault) = log.faults().first() {
            return fault.clone().into();
        }
        let offers = log.offers(&requirement.name);
        if offers.is_empty() && !log.is_complete_for(&requirement.name) {
            return PythonError::Failed { said: error_lines(said) }.into();
        }
        let problem = problem_with(&requirement, &offers);
        return ResolveError::NoWheel { requirement: requirement.to_string(), by, problem };
    }
    if said.contains("ResolutionImpossible") || said.contains("conflicting dependencies") {
        let engine = guest
            .packages()
            .iter()
            .filter(|(name, version)| said.contains(&format!("(constraint) {name}=={version}")));
        let engine: Vec<String> =
            engine.map(|(name, version)| format!("{name} {version}")).collect();
        if !engine.is_empty() {
            let said = cause_in(said);
            return ResolveError::EngineConflict { packages: engine.join(", "), said };
        }
        let unfulfilled = unfulfilled_in(said, guest, log);
        return match (unfulfilled, log.faults().first()) {
            (Some(_), Some(fault)) => fault.clone().into(),
            (Some(unfulfilled), None) => unfulfilled,
            (None, _) => ResolveError::Conflict { said: cause_in(said) },
        };
    }
    match download_fault(said) {
        Some(fault) => fault.into(),
        None => PythonError::Failed { said: error_lines(said) }.into(),
    }
}

/// The first requirement of a conflict that no wheel fulfils. pip calls it a conflict between all
/// versions of the package that has the requirement.
fn unfulfilled_in(said: &str, guest: &GuestPlatform, log: &PipLog) -> Option<ResolveError> {
    conflict_in(said).into_iter().find_map(|(requirement, by)| {
        let name = &requirement.name;
        if guest.version_of(name).is_some() {
            return None;
        }
        let offers = log.offers(name);
        let is_known = !offers.is_empty() || log.has_searched(name);
        let is_fulfilled = offers
            .iter()
            .any(|offer| offer.kind == OfferKind::Usable && admits(&requirement, &offer.version));
        (is_known && !is_fulfilled).then(|| ResolveError::NoWheel {
            problem: problem_with(&requirement, &offers),
            requirement: requirement.to_string(),
            by,
        })
    })
}

/// The native packages that guests have, as the end of a sentence.
fn known_native() -> String {
    let known = batteries::native().unwrap_or_default();
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    format!("; the engine has the native code of {}", known.join(", "))
}

/// The reason why no file of a package fulfils a requirement.
fn problem_with(requirement: &Requirement, offers: &[Offer]) -> String {
    let has = |kind: OfferKind| {
        offers.iter().any(|offer| offer.kind == kind && admits(requirement, &offer.version))
    };
    if has(OfferKind::Native) {
        return format!("{NATIVE_ONLY}{}", known_native());
    }
    if has(OfferKind::Source) {
        return SOURCE_ONLY.to_owned();
    }
    if has(OfferKind::Yanked) {
        return YANKED.to_owned();
    }
    let versions: BTreeSet<&Version> = offers.iter().map(|offer| &offer.version).collect();
    let newest: Vec<String> =
        versions.iter().rev().take(MAX_VERSIONS).map(ToString::to_string).collect();
    match newest.as_slice() {
        [] => format!("{UNKNOWN}: {CHECK_NAME}"),
        [one] => format!("{UNKNOWN}: there is {one}"),
        some if some.len() == versions.len() => format!("{UNKNOWN}: there are {}", some.join(", ")),
        some => format!("{UNKNOWN}: the newest are {}", some.join(", ")),
    }
}

/// The lines of pip that state the cause.
fn cause_in(said: &str) -> String {
    let lines = said.lines().map(str::trim);
    let is_cause = |line: &&str| {
        ["depends on", "user requested", "The conflict is", "Could not find"]
            .iter()
            .any(|word| line.contains(word))
    };
    let lines: Vec<String> = lines
        .filter(is_cause)
        .take(12)
        .map(|line| format!("  {}", line.trim_start_matches("ERROR: ")))
        .collect();
    lines.join("\n")
}

/// A version that is newer than the chosen one, and that no requirement excludes.
pub(super) struct Newer<'a> {
    chosen: &'a WheelName,
    offer: Offer,
}

/// The newest versions of packages that pip passed over.
pub(super) fn passed_over<'a>(
    chosen: impl Iterator<Item = &'a WheelName>,
    demands: &Demands,
    log: &PipLog,
) -> Vec<Newer<'a>> {
    let newer = |chosen: &'a WheelName| {
        let demands = demands.get(&chosen.package).map_or(&[][..], Vec::as_slice);
        let mut offers = log.offers(&chosen.package);
        offers.retain(|offer| {
            offer.kind != OfferKind::Yanked
                && offer.version > chosen.version
                && (!offer.version.any_prerelease() || chosen.version.any_prerelease())
                && demands.iter().all(|demand| admits(demand, &offer.version))
        });
        // A version with a wheel for guests counts as such, whatever else it has.
        let rank = |offer: &Offer| match offer.kind {
            OfferKind::Usable => 2,
            OfferKind::Native => 1,
            OfferKind::Source | OfferKind::Yanked => 0,
        };
        let newest = offers
            .into_iter()
            .max_by(|one, other| one.version.cmp(&other.version).then(rank(one).cmp(&rank(other))));
        newest.map(|offer| Newer { chosen, offer })
    };
    chosen.filter_map(newer).collect()
}

impl Newer<'_> {
    /// A remark for the user. `why` says why pip does not choose what fulfils a requirement.
    pub(super) fn note(&self, why: &dyn Fn(&Requirement) -> Option<String>) -> Option<String> {
        let (name, older) = (&self.chosen.package, &self.chosen.version);
        let newer = &self.offer.version;
        let reason = match self.offer.kind {
            OfferKind::Native => {
                "it has only wheels with native code, or for other versions of Python".to_owned()
            }
            OfferKind::Source => "it has only a source distribution".to_owned(),
            OfferKind::Yanked => return None,
            OfferKind::Usable => why(&parse_requirement(&format!("{name}=={newer}")).ok()?)?,
        };
        Some(format!("{name} {newer} was passed over for {older}: {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::str::FromStr as _;

    use super::*;
    use crate::packages::guest::testing::guest;

    /// A log in which pip was offered these files; those with a `+` it could use.
    fn log(files: &[&str]) -> PipLog {
        let folder = tempfile::tempdir().unwrap();
        let line = |file: &&str| match file.strip_prefix('+') {
            Some(file) => format!("  Found link https://x.example/{file} (from x), version: 1\n"),
            None => match file.strip_prefix('-') {
                Some(file) => format!(
                    "  Skipping link: yanked for reason: bad: https://x.example/{file} (from x)\n"
                ),
                None => format!(
                    "  Skipping link: none of the wheel's tags (x): https://x.example/{file} (from x)\n"
                ),
            },
        };
        let searched = |name: &str| format!("1 location(s) to search for versions of {name}:\n");
        let searched = ["typo", "source", "plain"].into_iter().map(searched);
        let text: String = files.iter().map(line).chain(searched).collect();
        std::fs::write(folder.path().join("pip.log"), text).unwrap();
        PipLog::read(folder.path())
    }

    fn explain(said: &str, files: &[&str]) -> String {
        let error = PythonError::Failed { said: said.to_owned() };
        explained(error, &guest(), &log(files)).to_string()
    }

    const FILES: [&str; 10] = [
        "-withdrawn-2-py3-none-any.whl",
        "native-1-cp315-cp315-linux_x86_64.whl",
        "native-0.9.tar.gz",
        "source-1.tar.gz",
        "+plain-0.4.0-py3-none-any.whl",
        "plain-0.4.0.tar.gz",
        "+plain-0.5.1-py3-none-any.whl",
        "plain-0.6-py3-none-any.whl",
        "newer-2.tar.gz",
        "+newer-1-py3-none-any.whl",
    ];

    fn none(name: &str) -> String {
        let said = format!(
            "ERROR: Could not find a version that satisfies the requirement {name} (from versions: none)\nERROR: No matching distribution found for {name}"
        );
        explain(&said, &FILES)
    }

    #[test]
    fn a_requirement_without_a_wheel_says_what_there_is() {
        assert!(none("native>=1").starts_with("package `native>=1` has only wheels with native"));
        let known = "the engine has the native code of jiter 0.19.0, msgpack 1.2.4, orjson 3.13.0, \
                     pydantic-core 2.50.5, rpds-py 2026.9.1";
        assert!(none("native>=1").ends_with(known), "{}", none("native>=1"));
        assert!(none("native<1").contains("`native<1` has only source distributions"));
        assert!(none("source").contains("`source` has only source distributions"));
        assert!(none("plain>=0.6").contains("or for other versions of Python"));
        assert!(none("newer>=2").contains("`newer>=2` has only source distributions"));
        assert!(
            none("typo").starts_with("package `typo` is unknown, or has no such version: check")
        );
        assert!(
            none("withdrawn>1").starts_with("package `withdrawn>1` was withdrawn by its author")
        );
        assert!(none("unread").starts_with("pip failed: ERROR: Could not find a version"));
        for (requirement, versions) in [
            ("plain>=77", "there are 0.6, 0.5.1, 0.4.0"),
            ("source==7", "there is 1"),
            ("native==7", "there are 1, 0.9"),
        ] {
            let expected =
                format!("package `{requirement}` is unknown, or has no such version: {versions}");
            assert_eq!(none(requirement), expected);
        }
        assert!(none("numpy<2").contains("a version of numpy 2.5.2 other than"));
        let many: Vec<String> = (1..20).map(|n| format!("+many-{n}-py3-none-any.whl")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let said = "ERROR: No matching distribution found for many==99";
        let found = explain(said, &many);
        assert!(found.ends_with("the newest are 19, 18, 17, 16, 15, 14"), "{found}");
    }

    #[test]
    fn a_conflict_names_the_package_that_has_no_wheel() {
        let conflict = |lines: &str| {
            let said = format!(
                "ERROR: Cannot install -r requirements.txt (line 1) because these package versions have conflicting dependencies.\n\nThe conflict is caused by:\n{lines}\n\nERROR: ResolutionImpossible: for help"
            );
            explain(&said, &FILES)
        };
        let engine = conflict(
            "    a 1 depends on numpy<2\n    The user requested (constraint) numpy==2.5.2",
        );
        assert!(engine.contains("version of numpy 2.5.2 other than the engine's:\n"), "{engine}");
        assert!(engine.contains("  a 1 depends on numpy<2"), "{engine}");
        let real = conflict("    a 1 depends on c<2\n    b 1 depends on c>2");
        assert!(real.starts_with("the requirements contradict"), "{real}");
        assert!(!real.contains("requirements.txt (line"), "{real}");
        let source = conflict("    a 2 depends on source>=1\n    a 1 depends on source>=1");
        assert!(
            source.starts_with("package `source>=1`, which a 2 requires, has only source dist"),
            "{source}"
        );
        let version = conflict("    a 2 depends on plain>=5");
        assert!(version.contains("which a 2 requires, is unknown, or has no such version: there"));
        let real = conflict("    a 2 depends on plain>=0.5\n    The user requested plain<0.5");
        assert!(real.starts_with("the requirements contradict"), "{real}");
    }

    #[test]
    fn a_registry_that_does_not_answer_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let text = "Could not fetch URL https://x.example/simple/a/: 401 Client Error: Unauthorized for url: x - skipping\n";
        std::fs::write(folder.path().join("pip.log"), text).unwrap();
        let log = PipLog::read(folder.path());
        let explain = |said: &str| {
            let error = PythonError::Failed { said: said.to_owned() };
            explained(error, &guest(), &log)
        };
        let fault = explain("ERROR: No matching distribution found for a");
        assert!(!fault.is_about_packages());
        let expected =
            "the registry https://x.example/simple refuses the request: 401 Unauthorized; pip's";
        assert!(fault.to_string().starts_with(expected), "{fault}");
        let failed = explained(
            PythonError::Failed { said: "ERROR: no space".into() },
            &guest(),
            &PipLog::read(Path::new("/no/such/folder")),
        );
        assert_eq!(failed.to_string(), "pip failed: ERROR: no space");
    }

    #[test]
    fn newer_versions_that_were_passed_over_are_noted() {
        let wheel = |file: &str| WheelName::parse(file).unwrap();
        let chosen = [
            wheel("plain-0.4.0-py3-none-any.whl"),
            wheel("newer-1-py3-none-any.whl"),
            wheel("capped-1-py3-none-any.whl"),
            wheel("final-1-py3-none-any.whl"),
        ];
        let files = [
            "+plain-0.4.0-py3-none-any.whl",
            "+plain-0.5.1-py3-none-any.whl",
            "plain-0.5.1.tar.gz",
            "newer-2.tar.gz",
            "+capped-2-py3-none-any.whl",
            "+final-2rc1-py3-none-any.whl",
            "-final-3-py3-none-any.whl",
        ];
        let capped = PackageName::from_str("capped").unwrap();
        let demands = Demands::from([(capped, vec!["capped<2".parse().unwrap()])]);
        let newer = passed_over(chosen.iter(), &demands, &log(&files));
        let why = |wanted: &Requirement| Some(format!("because of {wanted}"));
        let notes: Vec<String> = newer.iter().filter_map(|one| one.note(&why)).collect();
        let expected = [
            "plain 0.5.1 was passed over for 0.4.0: because of plain==0.5.1",
            "newer 2 was passed over for 1: it has only a source distribution",
        ];
        assert_eq!(notes, expected);
        assert_eq!(newer[0].note(&|_| None), None);
    }
}
