//! Messages between the gateway and its workers: plain values, with descriptors beside them.
//! Descriptors cannot leave a machine, so a worker is always on the same machine as its gateway.
//!
//! Knows nothing of JSON-RPC, processes or wasm: values, their checks and their bytes. Only
//! [`socket`] touches the operating system, because both ends move frames in the same way.

pub mod attachment;
pub mod frame;
pub mod host;
pub mod image;
pub mod layer;
pub mod limits;
pub mod message;
pub mod network;
pub mod outcome;
pub mod profile;
mod reproducible;
pub mod socket;
pub mod template;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use crate::job::limits::{KeepBounds, KeepFiles, SetupLimits, TurnLimits};
use crate::job::profile::ProfileOrder;
pub use crate::job::reproducible::{FuelRules, Reproducible};
use wardian_vocabulary::ids::{BlobId, BlobName, Digest, RunId, SkillName, SkillVersion, TenantId};
use wardian_vocabulary::secret_text::SecretText;
use wardian_vocabulary::units::ByteCount;

/// The lasting half of an order: what a guest is made with, before it runs anything.
///
/// It decides everything that one turn leaves to the next: the memory and the files, where the
/// guest's clocks and its randomness begin, and how its code is compiled. A session keeps one guest
/// for many [turns](Turn); a run is a guest with a single turn. Nothing is looked up later.
#[derive(Serialize, Deserialize)]
pub struct Setup {
    /// The tenant that the guest belongs to, for its whole life.
    pub tenant: TenantId,
    /// The image that the guest begins as, attached to the worker before. It affects the speed of
    /// its turns and never their results.
    pub image: Digest,
    /// Skills to mount under `/skills`, each attached to the worker before.
    pub skills: Vec<SkillMount>,
    /// Layers of packages to mount, attached before. Earlier ones are searched first.
    pub layers: Vec<LayerMount>,
    /// Blobs to mount under `/blobs`, each attached to the worker before.
    pub blobs: Vec<BlobMount>,
    /// True if blobs that Python would import are left out of the working folder. Whoever calls a
    /// skill chooses names and contents of blobs, and must not choose code that the skill imports.
    pub hides_modules: bool,
    /// Environment variables beyond the fixed ones: declared secrets and nothing else.
    pub environment: BTreeMap<String, SecretText>,
    /// The inputs of time and randomness; `None` for those of the machine. They belong to the guest
    /// and not to a turn, because clocks and generators go on from one turn to the next.
    pub reproducible: Option<Reproducible>,
    /// True if the guest's code counts fuel. Code is chosen when the guest is made, so each turn of
    /// such a guest has a limit on fuel, and no turn of another. Reproducible guests need it.
    pub counts_fuel: bool,
    /// Ceilings on what lasts: memory and files.
    pub limits: SetupLimits,
}

/// Prints identifiers only: the environment never reaches a log.
impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("tenant", &self.tenant)
            .field("image", &self.image)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The passing half of an order: one program for a guest that was made by a [`Setup`].
///
/// Time, fuel, the log and host calls are limited here because each turn has its own; they begin
/// anew with the next one.
#[derive(Serialize, Deserialize)]
pub struct Turn {
    /// Identifies the turn in logs, results and `runtime.run.id`.
    pub id: RunId,
    /// The program.
    pub program: Program,
    /// Function to call with `args`. Without it, `main` is called if the program defines it.
    pub entrypoint: Option<String>,
    /// The arguments, as the text of a JSON object.
    pub args: Box<RawValue>,
    /// Files of the workspace to be stored as blobs after the turn.
    pub keep_files: KeepFiles,
    /// True if the program must return JSON data; otherwise values of other types are converted.
    pub strict_output: bool,
    /// True if the worker sends the program's output while it is printed. The outcome holds the
    /// output in either case.
    pub stream_logs: bool,
    /// Whether and how the turn is profiled. It must have a limit on fuel then.
    pub profile: Option<ProfileOrder>,
    /// Ceilings on this turn.
    pub limits: TurnLimits,
}

/// Prints identifiers only: source and arguments never reach a log.
impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("id", &self.id)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The Python to run.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// Source text that came with the request.
    Code {
        /// The text of the module.
        source: String,
        /// File name for tracebacks, such as `main.py`.
        file_name: String,
    },
    /// The entrypoint of a mounted skill.
    Skill {
        /// The name of one of [`Setup::skills`].
        name: SkillName,
    },
}

/// Prints the kind of program and never its source, which must not reach a log.
impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code { file_name, .. } => {
                f.debug_struct("Code").field("file_name", file_name).finish_non_exhaustive()
            }
            Self::Skill { name } => f.debug_struct("Skill").field("name", name).finish(),
        }
    }
}

/// A skill that a run mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillMount {
    /// Folder below `/skills`, and dotted module path below `skills`.
    pub name: SkillName,
    /// The version that is mounted.
    pub version: SkillVersion,
    /// Digest of the snapshot: names the attached content.
    pub digest: Digest,
    /// The entry point of its code; `None` for a skill without code.
    pub entrypoint: Option<Entrypoint>,
    /// Names the attached bytecode of its Python files, if they were compiled. Attached like a
    /// skill. It affects only the speed of the import.
    pub bytecode: Option<Digest>,
}

/// A layer of packages that a run mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerMount {
    /// Names the attached layer.
    pub digest: Digest,
    /// Names the attached bytecode of its modules, if they were compiled. It affects only the speed
    /// of imports.
    pub bytecode: Option<Digest>,
    /// Its place among the packages of the run.
    pub place: LayerPlace,
}

/// The place of a layer among the packages of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerPlace {
    /// The packages of mounted skills: searched behind those of the engine.
    Skill,
    /// The batteries: searched behind those of skills.
    Batteries,
}

/// The entry point of a skill's code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entrypoint {
    /// Path of the module below the skill's root, such as `code/main.py`.
    pub path: String,
    /// Function in it.
    pub export: String,
}

/// A blob that a run mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobMount {
    /// File name below `/blobs`.
    pub id: BlobId,
    /// MIME type.
    pub kind: String,
    /// Length of the content.
    pub size: ByteCount,
    /// The name by which the program can open it: in its working folder, and below `/blobs`. No two
    /// mounts of a run have the same.
    #[serde(default)]
    pub name: Option<BlobName>,
    /// Other names by which the program can open it. They are in no listing of a folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<BlobName>,
}

impl BlobMount {
    /// All names by which the program can open it, the shown one first.
    pub fn names(&self) -> impl Iterator<Item = &BlobName> {
        self.name.iter().chain(&self.other_names)
    }
}
