//! Opens the skills: those of the operator's folders, and those that are part of the program.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::assembly::error::AssemblyError;
use wardian_config::{Config, TrustedKey};
use wardian_formats::provenance::skill_signature::SkillKey;
use wardian_formats::skill::GUIDE_NAME;
use wardian_skills::registry::cursor::CursorKey;
use wardian_skills::registry::publishing::{PublishBounds, PublishedStore};
use wardian_skills::registry::{
    BuiltIn, Registry, RegistryConfig, SkillTrust, TrustRule, Watching,
};
use wardian_stores::tenants::{OwnSecrets, SecretPurpose, SharedSecrets as _};
use wardian_vocabulary::files::regular_file::open_regular;

/// Largest file with a key that is read, in bytes.
const MAX_KEY: u64 = 64 << 10;

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

/// Reads the keys that are trusted to sign skills.
///
/// # Errors
///
/// A file with a key cannot be read, or has none.
pub fn open_trust(config: &Config) -> Result<Arc<SkillTrust>, AssemblyError> {
    let mut rules = Vec::new();
    for (pattern, keys) in &config.skills.trusted_keys {
        let keys = keys.iter().map(|key| match key {
            TrustedKey::Inline(key) => Ok(key.clone()),
            TrustedKey::File(path) => key_in(path),
        });
        let keys = keys.collect::<Result<Vec<_>, AssemblyError>>()?;
        rules.push(TrustRule { pattern: pattern.clone(), keys });
    }
    Ok(Arc::new(SkillTrust { is_required: config.skills.require_signatures, rules }))
}

fn key_in(path: &Path) -> Result<SkillKey, AssemblyError> {
    let named = |why: String| AssemblyError::TrustedKey { path: path.to_owned(), why };
    let mut pem = String::new();
    let file = open_regular(path).map_err(|fault| named(fault.to_string()))?;
    let read = file.take(MAX_KEY).read_to_string(&mut pem);
    read.map_err(|fault| named(fault.to_string()))?;
    SkillKey::read(&pem).map_err(|fault| named(fault.to_string()))
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
    let trust = open_trust(config)?;
    let open = || PublishedStore::open(published_skills(config), bounds, trust).map(Arc::new);
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
        trust: open_trust(config)?,
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
