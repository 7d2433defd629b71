//! Looks at what a skill contains, without running any of it: what its code does, what its text tells
//! a model, and what people do not see of it.
//!
//! The scan informs, for the person who decides about a skill. It is no wall: the sandbox is.
//! [`findings_of`] is a pure function of paths and bytes; [`findings_of_folder`] reads a folder first.
//!
//! INVARIANT(scan-bounds): bytes, tokens, depth and findings are limited, and every part of the scan
//! is linear in what it reads. A scan that left something out says so in [`SkillScan::left_out`], and in
//! [`SkillScan::is_partial`] if that was not looked at.

mod address;
mod binary;
mod decode;
mod excerpt;
mod finding;
mod folder;
mod kinds;
mod paths;
mod python;
mod script;
mod shell;
mod texts;

#[cfg(test)]
mod tests;

pub use crate::scan::finding::{SCAN_RULES, ScanFinding, ScanLevel, ScanRule};
pub use crate::scan::folder::findings_of_folder;
pub use crate::scan::kinds::{SkillScan, findings_of};
