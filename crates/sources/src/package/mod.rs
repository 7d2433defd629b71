//! Skills as packages: one archive for each version, the same bytes on every machine, and the signature of its publisher.
//!
//! A package is a plain tar: sorted names, no times, no owners, one mode, no folders, no compression. Compressors give
//! other bytes from one version and one processor to the next, and registries compress by themselves.
//!
//! INVARIANT(same-bytes): equal files have one package. INVARIANT(immutable-packages): what was published under a name and
//! a version is never replaced by other bytes.

pub(crate) mod layout;
mod publish;
pub(crate) mod shelf;
pub(crate) mod skill_package;

pub use crate::package::publish::publish;
pub use crate::package::skill_package::{PackagedSkill, Publication, SkillPackage};
