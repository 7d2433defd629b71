//! A skill as a whole: its files, its manifest and its document.

use std::collections::BTreeMap;

use crate::skill::diagnostic::Diagnostic;
use crate::skill::document::Document;
use crate::skill::manifest::Manifest;

/// Name of the manifest in a skill's folder.
pub const MANIFEST_FILE: &str = "skill.toml";

/// Name of the document in a skill's folder.
pub const DOCUMENT_FILE: &str = "SKILL.md";

/// The skill that explains the protocol. It is part of the server, and no other skill may use its
/// name.
pub const GUIDE_NAME: &str = "skills.protocol.guide";

/// A checked skill, without its files.
#[derive(Debug, Clone)]
pub struct Skill {
    /// Its manifest, or the one made from its document.
    pub manifest: Manifest,
    /// Its document.
    pub document: Document,
}

/// A skill's files: paths below its folder, each with its content.
pub type Files<'f> = BTreeMap<&'f str, &'f [u8]>;

/// The origin of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillOrigin {
    /// A folder of the operator.
    Folder,
    /// The server itself, which alone may use reserved names.
    BuiltIn,
}

/// The outcome of [`check()`](crate::skill::check::check).
#[derive(Debug)]
pub struct CheckReport {
    /// The skill, if there are no errors.
    pub skill: Option<Skill>,
    /// Errors and warnings: first of the document, then of the manifest, by line.
    pub diagnostics: Vec<Diagnostic>,
}
