//! The cases of a skill: their file, and what is wrong in them.

pub(super) mod case_file;
pub(super) mod patterns;
