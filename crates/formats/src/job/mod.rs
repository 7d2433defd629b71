//! Messages between the gateway and its workers: plain values, with descriptors next to them.
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

use crate::job::limits::RunLimits;
pub use crate::job::limits::{KeepBounds, KeepFiles};
use crate::job::profile::ProfileOrder;
pub use crate::job::reproducible::{FuelRules, Reproducible};
use wardian_vocabulary::ids::{BlobId, BlobName, Digest, RunId, SkillName, SkillVersion, TenantId};
use wardian_vocabulary::secret_text::SecretText;
use wardian_vocabulary::units::ByteCount;

/// A complete order to run one program; nothing is looked up later.
#[derive(Serialize, Deserialize)]
pub struct RunSpec {
    /// Identifies the run in logs, results and `runtime.run.id`.
    pub run_id: RunId,
    /// The tenant that the program runs for.
    pub tenant: TenantId,
    /// The program.
    pub program: Program,
    /// Function to call with `args`. Without it, `main` is called if the program defines it.
    pub entrypoint: Option<String>,
    /// The arguments, as the text of a JSON object.
    pub args: Box<RawValue>,
    /// Skills to mount under `/skills`, each attached to the worker before.
    pub skills: Vec<SkillMount>,
    /// Blobs to mount under `/blobs`, each attached to the worker before.
    pub blobs: Vec<BlobMount>,
    /// Layers of packages to mount, attached before. Earlier ones are searched first.
    pub layers: Vec<LayerMount>,
    /// The image that the run begins as, attached to the worker before. It affects the speed of a
    /// run and never its result.
    pub image: Digest,
    /// Environment variables beyond the fixed ones: declared secrets and nothing else.
    pub environment: BTreeMap<String, SecretText>,
    /// Files of the workspace to be stored as blobs after the run.
    pub keep_files: KeepFiles,
    /// True if the program must return JSON data; otherwise values of other types are converted.
    pub strict_output: bool,
    /// True if the worker sends the program's output while it is printed. The outcome holds the
    /// output in either case.
    pub stream_logs: bool,
    /// The inputs of time and randomness; `None` for those of the machine.
    pub reproducible: Option<Reproducible>,
    /// Whether and how the run is profiled. It must have a limit on fuel then.
    pub profile: Option<ProfileOrder>,
    /// Ceilings on this run.
    pub limits: RunLimits,
}

/// Prints identifiers only: source, arguments and environment never reach a log.
impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("run_id", &self.run_id)
            .field("tenant", &self.tenant)
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
        /// The name of one of [`RunSpec::skills`].
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
