//! The key of a result: everything that decides it.
//!
//! INVARIANT(result-key): a result with another ingredient has another key.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::assembly::{self, Runtime};
use crate::cli::commands::skill_cases::case_file::files_of;
use crate::cli::commands::skill_cases::skill_tests::{SkillCase, SkillTests};
use crate::cli::commands::test::notebook::notebook_tests::NotebookTests;
use crate::cli::commands::test::plan::{FileTests, TestSession, Unit};
use crate::cli::commands::test::project::hashed;
use crate::cli::failed::Failed;
use wardian_config::Config;
use wardian_images::PackageSet;

/// Part of every key. Raise it when results are made or kept in another way.
const FORMAT: u32 = 1;

/// This program.
const PROGRAM: &str = "/proc/self/exe";

/// Bytes that are hashed at one time.
const PIECE: usize = 1 << 20;

/// Everything that decides the result of a unit.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Ingredients {
    format: u32,
    /// Version of Wardian.
    version: String,
    /// Digest of this program: the gateway, the worker, and the Python that runs inside.
    program: String,
    /// Digest of the engine's package.
    engine: String,
    wasmtime: String,
    /// Digest of the memory that runs begin as.
    image: String,
    /// The packages of all runs, if they exist.
    batteries: String,
    limits: String,
    timeout_ms: u64,
    /// What a run may reach, as far as it holds for recorded answers too, and how much of it.
    network: String,
    /// Largest blob, and the most of all blobs.
    blobs: String,
    /// Seed and epoch.
    inputs: String,
    /// A case or a file.
    kind: &'static str,
    /// The name of the case, or the path of the file in its project.
    unit: String,
    /// The folder of the skill, or the file, as they are shown.
    shown: String,
    keyword: String,
    places: String,
    /// Name and version of the skill that is executed or mounted.
    skill: String,
    /// Digest of all of its files.
    skill_digest: String,
    /// Names its packages.
    layer: String,
    /// Digest of the text of the case.
    case: String,
    /// Digests of the files that the case names.
    case_files: String,
    /// Digest of the files of the project.
    common: String,
    /// Digest of the file with the tests, and of those that it names.
    own: String,
}

impl Ingredients {
    /// The ingredients that all units of a command share.
    pub(crate) fn of_all(
        config: &Config,
        runtime: &Runtime,
        session: &TestSession,
    ) -> Result<Self, Failed> {
        let engine = assembly::open_engine(config)?.report()?;
        let unusable =
            |fault: &(dyn std::error::Error + 'static)| Failed::at("load an image", fault);
        runtime.images.load_if_made(PackageSet::REPRODUCIBLE).map_err(|fault| unusable(&*fault))?;
        let image =
            runtime.images.reproducible(PackageSet::NONE).map_err(|fault| unusable(&fault))?;
        let batteries = assembly::batteries(config)?;
        Ok(Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program: digest_of_program()?,
            engine: format!("{} {} {}", engine.package, engine.version, engine.sha256),
            wasmtime: format!("{} {}", engine.wasmtime, engine.transform),
            image: image.digest().to_string(),
            batteries: if batteries.is_there {
                format!("{:?}", batteries.packages)
            } else {
                String::new()
            },
            limits: format!("{:?}", config.limits.default),
            timeout_ms: session.options.timeout_ms.unwrap_or_default(),
            network: network_of(config),
            blobs: format!("{:?}", (config.blobs.max_size, config.blobs.quota)),
            inputs: format!("{:?}", session.options.reproducible),
            kind: "",
            unit: String::new(),
            shown: String::new(),
            keyword: String::new(),
            places: String::new(),
            skill: String::new(),
            skill_digest: String::new(),
            layer: String::new(),
            case: String::new(),
            case_files: String::new(),
            common: String::new(),
            own: String::new(),
        })
    }

    /// The key of the bytecode of pytest: what it is made from, and none of what concerns tests only.
    pub(crate) fn key_of_bytecode(&self) -> Option<String> {
        Self {
            kind: "bytecode",
            limits: String::new(),
            timeout_ms: 0,
            network: String::new(),
            blobs: String::new(),
            inputs: String::new(),
            ..self.clone()
        }
        .hashed()
    }

    /// The key of a unit. `None` if a file that it needs cannot be read.
    pub(crate) fn key(&self, session: &TestSession, unit: &Unit) -> Option<String> {
        let own = match unit {
            Unit::Case { skill, case } => {
                self.of_case(session, session.plan.skills.get(*skill)?, *case)?
            }
            Unit::File(file) => self.of_file(session, file),
            Unit::Notebook(notebook) => self.of_notebook(session, notebook),
        };
        own.hashed()
    }

    fn of_case(&self, session: &TestSession, skill: &SkillTests, case: usize) -> Option<Self> {
        let SkillCase { name, digest, case } = skill.cases.get(case)?;
        let mut files = Vec::new();
        for path in files_of(case).into_iter().collect::<BTreeSet<_>>() {
            files.push((path, hashed(skill.file_of_case(path).ok()?)));
        }
        let folder = skill.folder.strip_prefix(&session.plan.here).unwrap_or(&skill.folder);
        Some(Self {
            kind: "case",
            unit: name.clone(),
            shown: folder.display().to_string(),
            case: digest.to_string(),
            case_files: format!("{files:?}"),
            ..self.with_skill(skill)
        })
    }

    fn of_file(&self, session: &TestSession, file: &FileTests) -> Self {
        let skill = file.skill.and_then(|number| session.plan.skills.get(number));
        let base = skill.map_or_else(|| self.clone(), |skill| self.with_skill(skill));
        Self {
            kind: "file",
            unit: file.path.clone(),
            shown: file.shown.clone(),
            keyword: file.keyword.clone(),
            places: format!("{:?}", file.places),
            common: file.common.digest.clone(),
            own: file.own.digest.clone(),
            ..base
        }
    }

    fn of_notebook(&self, session: &TestSession, tests: &NotebookTests) -> Self {
        let skill = tests.skill.and_then(|number| session.plan.skills.get(number));
        let base = skill.map_or_else(|| self.clone(), |skill| self.with_skill(skill));
        Self {
            kind: "notebook",
            unit: tests.path.clone(),
            shown: tests.shown.clone(),
            places: format!("{:?}", tests.places),
            common: tests.files.digest.clone(),
            own: hashed(tests.notebook.text.as_bytes()),
            ..base
        }
    }

    fn with_skill(&self, skill: &SkillTests) -> Self {
        Self {
            skill: format!("{}@{}", skill.name, skill.version),
            skill_digest: skill.digest.to_string(),
            layer: skill.layer.clone(),
            ..self.clone()
        }
    }

    fn hashed(&self) -> Option<String> {
        serde_json::to_vec(self).ok().map(|text| hashed(&text))
    }
}

/// The settings of the network that also hold where answers are recorded. The others say how servers
/// are reached, which no test does.
fn network_of(config: &Config) -> String {
    let network = &config.network;
    let egress = &network.egress;
    let connections = (egress.max_open_connections, egress.most_of_tenant);
    let reach = (egress.is_enabled, &egress.denied, &egress.private_ranges, &network.code);
    format!("{:?}", (reach, egress.allows_unverified, connections, egress.limits))
}

/// The digest of this program, which is large.
fn digest_of_program() -> Result<String, Failed> {
    let named = |fault: &std::io::Error| Failed::named(PROGRAM, fault);
    let mut file = File::open(PROGRAM).map_err(|fault| named(&fault))?;
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        let count = file.read(&mut piece).map_err(|fault| named(&fault))?;
        match piece.get(..count).filter(|read| !read.is_empty()) {
            Some(read) => hash.update(read),
            None => return Ok(data_encoding::HEXLOWER.encode(&hash.finalize())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    type Change = fn(&mut Ingredients);

    #[test]
    fn result_key_follows_each_ingredient_alone() {
        let base = Ingredients::default();
        let Value::Object(members) = serde_json::to_value(&base).unwrap() else { panic!() };
        let changed: [(&str, Change); 24] = [
            ("format", |one| one.format = 2),
            ("version", |one| one.version.push('x')),
            ("program", |one| one.program.push('x')),
            ("engine", |one| one.engine.push('x')),
            ("wasmtime", |one| one.wasmtime.push('x')),
            ("image", |one| one.image.push('x')),
            ("batteries", |one| one.batteries.push('x')),
            ("limits", |one| one.limits.push('x')),
            ("timeout_ms", |one| one.timeout_ms = 1),
            ("network", |one| one.network.push('x')),
            ("blobs", |one| one.blobs.push('x')),
            ("inputs", |one| one.inputs.push('x')),
            ("kind", |one| one.kind = "case"),
            ("shown", |one| one.shown.push('x')),
            ("unit", |one| one.unit.push('x')),
            ("keyword", |one| one.keyword.push('x')),
            ("places", |one| one.places.push('x')),
            ("skill", |one| one.skill.push('x')),
            ("skill_digest", |one| one.skill_digest.push('x')),
            ("layer", |one| one.layer.push('x')),
            ("case", |one| one.case.push('x')),
            ("case_files", |one| one.case_files.push('x')),
            ("common", |one| one.common.push('x')),
            ("own", |one| one.own.push('x')),
        ];
        let names: BTreeSet<&str> = changed.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, members.keys().map(String::as_str).collect(), "each one is tried");
        let mut keys = BTreeSet::from([base.hashed().unwrap()]);
        for (name, change) in changed {
            let mut other = base.clone();
            change(&mut other);
            assert!(keys.insert(other.hashed().unwrap()), "{name} changes nothing");
        }
    }

    #[test]
    fn result_key_of_bytecode_follows_what_it_is_made_from() {
        let key = |change: Change| {
            let mut one = Ingredients::default();
            change(&mut one);
            one.key_of_bytecode().unwrap()
        };
        let base = key(|_| {});
        let made_from: [Change; 6] = [
            |one| one.version.push('x'),
            |one| one.program.push('x'),
            |one| one.engine.push('x'),
            |one| one.wasmtime.push('x'),
            |one| one.image.push('x'),
            |one| one.batteries.push('x'),
        ];
        assert!(made_from.into_iter().all(|change| key(change) != base));
        let of_tests: [Change; 5] = [
            |one| one.limits.push('x'),
            |one| one.timeout_ms = 1,
            |one| one.network.push('x'),
            |one| one.blobs.push('x'),
            |one| one.inputs.push('x'),
        ];
        assert!(of_tests.into_iter().all(|change| key(change) == base));
    }

    #[test]
    fn result_key_keeps_names_and_folders_apart() {
        let key = |unit: &str, shown: &str| {
            let (unit, shown) = (unit.to_owned(), shown.to_owned());
            Ingredients { kind: "case", unit, shown, ..Ingredients::default() }.hashed().unwrap()
        };
        assert_ne!(key("a b", "c"), key("a", "b c"));
    }
}
