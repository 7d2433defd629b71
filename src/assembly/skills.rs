//! Opens the skills: those of the operator's folders, and those that are part of the program.

use std::path::PathBuf;
use std::sync::Arc;

use crate::assembly::error::AssemblyError;
use wardian_config::Config;
use wardian_formats::skill::GUIDE_NAME;
use wardian_skills::registry::cursor::CursorKey;
use wardian_skills::registry::publishing::{PublishBounds, PublishedStore};
use wardian_skills::registry::{BuiltIn, Registry, RegistryConfig, Watching};
use wardian_stores::tenants::{OwnSecrets, SecretPurpose, SharedSecrets as _};

/// A skill's name and its files: paths and contents.
type BundledSkill = (&'static str, &'static [(&'static str, &'static [u8])]);

/// Skills that are part of the program, with their files.
const BUNDLED: &[BundledSkill] = include!(concat!(env!("OUT_DIR"), "/bundled_skills.rs"));

/// True for the name of a skill that is part of the program.
#[must_use]
pub fn is_bundled(name: &str) -> bool {
    BUNDLED.iter().any(|(bundled, _)| *bundled == name)
}

/// Whether changes of skills are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillsRead {
    /// Changes are followed for as long as the process lives.
    Followed,
    /// The skills are read once.
    Once,
}

/// Reads all skills as they are now. The guide is always among them.
///
/// # Errors
///
/// A folder of skills cannot be read.
pub fn open_registry(config: &Config) -> Result<Registry, AssemblyError> {
    let (settings, built_in) = registry_settings(config, SkillsRead::Once)?;
    Ok(Registry::open(settings, &built_in)?)
}

/// The folder of the skills that callers have published.
pub(super) fn published_skills(config: &Config) -> PathBuf {
    config.data_dir.join("published")
}

/// The folder of skills that is made if it does not exist.
pub(super) fn own_skills(config: &Config) -> PathBuf {
    config.data_dir.join("skills")
}

/// Opens the skills that callers have published, if they may publish any.
pub(super) fn open_published(
    config: &Config,
) -> Result<Option<Arc<PublishedStore>>, AssemblyError> {
    let bounds = PublishBounds {
        folders: config.tenant_skills.max_folders,
        bytes: config.tenant_skills.max_size,
    };
    let open = || PublishedStore::open(published_skills(config), bounds).map(Arc::new);
    let opened = config.skills.publishing.then(open).transpose();
    opened.map_err(|cause| AssemblyError::System { what: "read the published skills", cause })
}

pub(super) fn registry_settings(
    config: &Config,
    read: SkillsRead,
) -> Result<(RegistryConfig, Vec<BuiltIn>), AssemblyError> {
    let own = own_skills(config);
    for root in config.skills.roots.iter().filter(|root| **root == own) {
        std::fs::create_dir_all(root)
            .map_err(|cause| AssemblyError::System { what: "create the skills folder", cause })?;
    }
    let secrets = OwnSecrets::generate();
    let cursor_key = secrets.and_then(|secrets| secrets.secret(SecretPurpose::Cursors));
    let cursor_key = cursor_key
        .map(CursorKey::from_bytes)
        .map_err(|cause| AssemblyError::System { what: "provide random bytes", cause })?;
    let settings = RegistryConfig {
        roots: config.skills.roots.clone(),
        tenants: config.tenant_skills.clone(),
        published: config.skills.publishing.then(|| published_skills(config)),
        watching: Watching {
            max_folders: config.skills.max_folders,
            max_watches: config.skills.max_watches,
        },
        is_followed: read == SkillsRead::Followed,
        cursor_key,
    };
    let built_in = BUNDLED
        .iter()
        .filter(|(name, _)| config.skills.bundled || *name == GUIDE_NAME)
        .map(|(name, files)| BuiltIn { name, files })
        .collect();
    Ok((settings, built_in))
}
