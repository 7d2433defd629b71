//! Manifests: a `skill.toml`, or the frontmatter of an agent skill that has none.

mod agent_form;
pub(crate) mod fields;
pub(crate) mod fit;
mod input_schema;
pub mod inputs;
mod model;
pub mod permissions;
pub mod runtime;
pub mod secret_hosts;
pub mod secret_name;
pub mod shape;
mod toml_form;
pub mod url_pattern;

pub(crate) use crate::skill::manifest::agent_form::manifest as agent_manifest;
pub use crate::skill::manifest::model::{
    MAX_DESCRIPTION, MAX_MANIFEST, MAX_TAGS, Manifest, SkillKind,
};
pub(crate) use crate::skill::manifest::toml_form::{ParsedManifest, parse, read_tags};
