//! `list_skills`: which skills there are, page by page.

use crate::protocol::discovery::{
    ListDetail, ListSkillsParams, ListSkillsResult, ListedKind, ListedSkill, SkillSummary,
};
use crate::service::{Service, ServiceError};
use crate::skill::manifest::{Manifest, SkillKind};

impl Service {
    /// Returns a page of the latest versions of all skills, sorted by name.
    ///
    /// # Errors
    ///
    /// A cursor that is not from here.
    pub async fn list_skills(
        &self,
        params: ListSkillsParams,
    ) -> Result<ListSkillsResult, ServiceError> {
        let index = self.skills().await?;
        let namespace = params.namespace.as_deref();
        let page = index.list(namespace, params.limit, params.cursor.as_deref())?;
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
