//! The checked manifest.

use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::skill::manifest::inputs::declared::Inputs;
use crate::skill::manifest::permissions::Permissions;
use crate::skill::manifest::runtime::RuntimeSection;
use wardian_vocabulary::ids::{SkillName, SkillVersion};

/// Longest `skill.toml`, in bytes.
pub const MAX_MANIFEST: usize = 64 << 10;

/// Longest description, in characters: short enough for a list of many skills.
pub const MAX_DESCRIPTION: usize = 1_024;

/// Most tags.
pub const MAX_TAGS: usize = 32;

/// The kinds of skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillKind {
    /// A skill with an entrypoint or scripts, which can be executed.
    Action,
    /// A skill without code, which can only be read.
    Instruction,
}

impl SkillKind {
    /// The word in a manifest.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Instruction => "instruction",
        }
    }
}

impl fmt::Display for SkillKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A checked `skill.toml`.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The skill's name.
    pub name: SkillName,
    /// The skill's version.
    pub version: SkillVersion,
    /// The skill's purpose in one line.
    pub description: String,
    /// The kind of the skill.
    pub kind: SkillKind,
    /// The group that the skill belongs to; spelt like a skill's name.
    pub namespace: Option<String>,
    /// The skill's tags.
    pub tags: Vec<String>,
    /// The runtime. An action without one has scripts.
    pub runtime: Option<RuntimeSection>,
    /// The permissions that the skill asks for.
    pub permissions: Permissions,
    /// The arguments of the skill.
    pub inputs: Inputs,
    pub(crate) json: Box<RawValue>,
}

impl Manifest {
    /// The manifest as JSON with all keys: known keys in the order of the protocol's documents, all
    /// others in the author's order.
    #[must_use]
    pub fn json(&self) -> &RawValue {
        &self.json
    }
}
