//! Skills as packages: published in registries and folders, signed, and checked.

pub(crate) mod args;
mod folder_signatures;
mod left_out;
mod publish_package;
mod secret_files;
mod sign_skill;
mod verify_skills;

pub(crate) use crate::cli::commands::skills::packages::folder_signatures::signatures_at;
pub(crate) use crate::cli::commands::skills::packages::publish_package::publish_package;
pub(crate) use crate::cli::commands::skills::packages::secret_files::ensure_no_secrets;
pub(crate) use crate::cli::commands::skills::packages::sign_skill::{sign_skill, signed_with};
pub(crate) use crate::cli::commands::skills::packages::verify_skills::verify_skills;
