//! `list_skills`: the skills that the caller's tenant sees, page by page.

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::protocol::methods::discovery::{
    ListDetail, ListSkillsParams, ListSkillsResult, ListedKind, ListedSkill, SkillSummary,
};
use wardian_formats::skill::manifest::{Manifest, SkillKind};

impl Discovery {
    /// Returns a page of the latest versions of all skills, sorted by name.
    ///
    /// # Errors
    ///
    /// A cursor that this server did not make.
    pub fn list_skills(
        &self,
        caller: &Caller,
        params: &ListSkillsParams,
    ) -> Result<ListSkillsResult, ServiceError> {
        let namespace = params.namespace.as_deref();
        let page = self.skills(caller).list(namespace, params.limit, params.cursor.as_deref())?;
        let sizes = page.skills.iter().map(|skill| size_listed(skill.manifest()));
        caller.memory.reserve(sizes.sum::<usize>().into())?;
        let listed = |manifest: &Manifest| ListedSkill {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            summary: match params.detail {
                ListDetail::Names => None,
                ListDetail::Summary => Some(summary(manifest)),
            },
        };
        let skills = page.skills.iter().map(|skill| listed(skill.manifest())).collect();
        Ok(ListSkillsResult { skills, next_cursor: page.next_cursor })
    }
}

/// An upper bound of the bytes that a skill takes in a list.
fn size_listed(manifest: &Manifest) -> usize {
    let namespace = manifest.namespace.as_ref().map_or(0, String::len);
    let tags: usize = manifest.tags.iter().map(|tag| tag.len().saturating_add(32)).sum();
    let texts = [manifest.description.len(), namespace, tags, size_of::<ListedSkill>(), 256];
    texts.into_iter().sum()
}

fn summary(manifest: &Manifest) -> SkillSummary {
    SkillSummary {
        description: manifest.description.clone(),
        namespace: manifest.namespace.clone(),
        kind: match manifest.kind {
            SkillKind::Action => ListedKind::Action,
            SkillKind::Instruction => ListedKind::Instruction,
        },
        tags: manifest.tags.clone(),
    }
}
