//! The checked manifest.

use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::ids::{SkillName, SkillVersion};
use crate::skill::manifest::inputs::Inputs;
use crate::skill::manifest::permissions::Permissions;
use crate::skill::manifest::runtime::RuntimeSection;

/// Longest `skill.toml`, in bytes.
pub const MAX_MANIFEST: usize = 64 << 10;

/// Longest description, in characters: what a list of many skills can afford to show.
pub const MAX_DESCRIPTION: usize = 1_024;

/// Most tags.
pub const MAX_TAGS: usize = 32;

/// The kinds of skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillKind {
    /// It has code and can be executed.
    Action,
    /// It is documentation, to be read.
    Instruction,
}

impl SkillKind {
    /// The word that stands in a manifest.
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
    /// One line that says what it does.
    pub description: String,
    /// Says if it can be executed.
    pub kind: SkillKind,
    /// The group it belongs to; spelt like a skill's name.
    pub namespace: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Its runtime; present exactly if it is an action.
    pub runtime: Option<RuntimeSection>,
    /// Its permissions beyond computing.
    pub permissions: Permissions,
    /// The arguments it takes.
    pub inputs: Inputs,
    pub(crate) json: Box<RawValue>,
}

impl Manifest {
    /// The manifest as JSON: everything its author wrote, known keys in the order of the
    /// protocol's documents, all others in the author's.
    #[must_use]
    pub fn json(&self) -> &RawValue {
        &self.json
    }
}
