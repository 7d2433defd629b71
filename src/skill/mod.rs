//! What a skill is: `skill.toml` and `SKILL.md` parsed, checked, and checked against each other.
//!
//! Knows nothing of disks, of versions side by side or of runs: it is given names and bytes and
//! gives a [`Skill`], or everything that is wrong with it.
//!
//! INVARIANT(checked-skill): whoever holds a [`Skill`] may rely on the rules of both formats and
//! on the rules between them: its names are safe, and an action's entrypoint is one of its files.

pub mod arguments;
pub mod diagnostic;
pub mod document;
pub mod inputs;
pub mod manifest;
pub mod path;
pub mod permissions;
pub mod runtime;
mod same;
pub mod similar;
pub mod url_pattern;

mod agent_form;
mod check;
mod fields;
mod from_toml;
mod from_yaml;
mod node;
mod python;
pub(crate) mod text;
mod toml_brackets;
#[cfg(test)]
mod yaml_reference_tests;

use std::collections::BTreeMap;

pub use check::check;

use crate::skill::diagnostic::Diagnostic;
use crate::skill::document::Document;
use crate::skill::manifest::Manifest;

/// Name of the manifest in a skill's folder.
pub const MANIFEST_FILE: &str = "skill.toml";

/// Name of the document in a skill's folder.
pub const DOCUMENT_FILE: &str = "SKILL.md";

/// The skill that explains the protocol. It is part of the server, and nobody else may use its
/// name.
pub const GUIDE_NAME: &str = "skills.protocol.guide";

/// A checked skill, without its files.
#[derive(Debug, Clone)]
pub struct Skill {
    /// What its manifest says, or what its document stands in for.
    pub manifest: Manifest,
    /// What its document says.
    pub document: Document,
}

/// A skill's files: paths below its folder, each with its content.
pub type Files<'f> = BTreeMap<&'f str, &'f [u8]>;

/// Where a skill comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A folder of the operator's.
    Folder,
    /// The server itself, which alone may use reserved names.
    BuiltIn,
}

/// The outcome of [`check()`].
#[derive(Debug)]
pub struct Checked {
    /// The skill, if there are no errors.
    pub skill: Option<Skill>,
    /// Errors and warnings: first of the document, then of the manifest, by line.
    pub diagnostics: Vec<Diagnostic>,
}
