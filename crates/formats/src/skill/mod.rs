//! Skills: `skill.toml` and `SKILL.md` parsed, checked, and checked against each other.
//!
//! This module knows no disk, no other versions and no runs. It takes names and bytes, and returns
//! a [`Skill`] or its diagnostics.
//!
//! INVARIANT(checked-skill): code that holds a [`Skill`] may rely on the rules of both formats and
//! on the rules between them: its names are safe, and an action's entrypoint is one of its files. An action
//! without one has scripts.

pub mod arguments;
mod check;
pub mod diagnostic;
pub mod document;
mod folder_name;
mod json_equality;
pub mod manifest;
mod package;
pub mod path;
mod python;
pub mod scripts;
pub mod similar;
mod source;
pub mod text;
#[cfg(test)]
mod yaml_reference_tests;

pub use crate::skill::check::check;
pub use crate::skill::package::{
    CheckReport, DOCUMENT_FILE, Files, GUIDE_NAME, MANIFEST_FILE, Skill, SkillOrigin,
};
