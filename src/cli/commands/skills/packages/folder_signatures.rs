//! The signatures that lie in the folder of a skill.

use std::path::Path;

use crate::cli::failed::Failed;
use wardian_formats::provenance::skill_signature::SkillSignatures;
use wardian_skills::registry::signatures_in;

/// The signatures in the file of a skill's folder; `None` if there is no file.
pub(crate) fn signatures_at(path: &Path) -> Result<Option<SkillSignatures>, Failed> {
    signatures_in(path.parent().unwrap_or(path))
        .map_err(|fault| Failed::named(path.display(), &fault).harmless())
}
