//! What a guest mounts, and the names under which it finds it.

use serde::{Deserialize, Serialize};

use wardian_vocabulary::ids::{BlobId, BlobName, Digest, SkillName, SkillVersion, WorkspacePath};
use wardian_vocabulary::units::ByteCount;

/// A skill that a guest mounts.
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

/// A layer of packages that a guest mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerMount {
    /// Names the attached layer.
    pub digest: Digest,
    /// Names the attached bytecode of its modules, if they were compiled. It affects only the speed
    /// of imports.
    pub bytecode: Option<Digest>,
    /// Its place among the packages of the guest.
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

/// A blob that a guest mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobMount {
    /// File name below `/blobs`.
    pub id: BlobId,
    /// MIME type.
    pub kind: String,
    /// Length of the content.
    pub size: ByteCount,
    /// The name by which the program can open it: in its working folder, and below `/blobs`. No two
    /// mounts of a guest have the same.
    #[serde(default)]
    pub name: Option<BlobName>,
    /// Other names by which the program can open it. They are in no listing of a folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<BlobName>,
    /// The paths at which its content is a file of the workspace, which the program may change. Their
    /// bytes are charged from the beginning. A blob with paths has its names below `/blobs` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<WorkspacePath>,
}

impl BlobMount {
    /// All names by which the program can open it, the shown one first.
    pub fn names(&self) -> impl Iterator<Item = &BlobName> {
        self.name.iter().chain(&self.other_names)
    }
}
