//! Finds the skills and blobs that a call names.

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::protocol::params_error::ParamsError;
use wardian_skills::registry::{RegistryError, SeenSkill, SkillView};
use wardian_vocabulary::ids::{BlobId, Digest, SkillName, SkillVersion};

impl Discovery {
    /// Returns the skills that the caller's tenant sees. Never waits for a disk.
    pub fn skills(&self, caller: &Caller) -> SkillView {
        self.registry.seen_by(&caller.tenant)
    }

    /// Finds a skill by the name and version of a call. Each of them may be followed by `#` and the
    /// digest that the skill must have, and the name by `@` and the version.
    pub(crate) fn find_skill(
        &self,
        caller: &Caller,
        name: &str,
        version: Option<&str>,
    ) -> Result<SeenSkill, ServiceError> {
        let (whole, digest) = match version.unwrap_or(name).split_once('#') {
            Some((whole, digest)) => (whole, Some(Digest::parse(digest)?)),
            None => (version.unwrap_or(name), None),
        };
        let (name, version) = match version {
            Some(_) => (name, Some(whole)),
            None => whole.split_once('@').map_or((whole, None), |(name, at)| (name, Some(at))),
        };
        let name = SkillName::parse(name)?;
        let version = version.map(SkillVersion::parse).transpose()?;
        let seen = self.skills(caller).find(&name, version.as_ref())?;
        let found = &seen.snapshot;
        match digest {
            Some(expected) if expected != found.digest() => Err(RegistryError::OtherContent {
                skill: format!("`{}` {}", found.name(), found.version()),
                expected: expected.to_string(),
                found: found.digest().to_string(),
            }
            .into()),
            _ => Ok(seen),
        }
    }
}

/// Parses the ids of the blobs that a call mounts. An id that appears twice is refused.
pub(crate) fn blob_ids(texts: &[String]) -> Result<Vec<BlobId>, ServiceError> {
    let mut ids: Vec<BlobId> = Vec::with_capacity(texts.len());
    for text in texts {
        let Ok(id) = BlobId::parse(text) else {
            return Err(ServiceError::NoSuchBlob { id: text.clone() });
        };
        if ids.contains(&id) {
            return Err(duplicate("input_blobs", text));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// The refusal of a list that names the same twice.
pub(crate) fn duplicate(parameter: &str, name: &str) -> ServiceError {
    ParamsError::wrong(parameter, "a list without repetitions", format!("`{name}` twice")).into()
}
