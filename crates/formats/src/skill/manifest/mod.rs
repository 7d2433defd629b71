//! Manifests: a `skill.toml`, or the frontmatter of an agent skill that has none.

mod agent_form;
pub mod fields;
pub mod inputs;
mod model;
pub mod permissions;
pub mod runtime;
pub mod secret_hosts;
pub mod secret_name;
mod toml_form;
pub mod tool_pattern;
pub mod url_pattern;

pub(crate) use crate::skill::manifest::agent_form::manifest as agent_manifest;
pub use crate::skill::manifest::model::{MAX_DESCRIPTION, MAX_MANIFEST};
pub use crate::skill::manifest::model::{MAX_TAGS, Manifest, SkillKind};
pub use crate::skill::manifest::toml_form::parse;
pub(crate) use crate::skill::manifest::toml_form::{ParsedManifest, read_tags};
