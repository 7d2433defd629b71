//! `describe_skill`: what a skill says of itself.

use crate::protocol::discovery::{
    DescribeDetail, DescribeSkillParams, DescribeSkillResult, DescribedSkill,
};
use crate::service::{Service, ServiceError};

impl Service {
    /// Returns a skill's manifest and, as asked for, its documentation.
    ///
    /// # Errors
    ///
    /// No such skill or version.
    pub async fn describe_skill(
        &self,
        params: DescribeSkillParams,
    ) -> Result<DescribeSkillResult, ServiceError> {
        let snapshot = self.find_skill(&params.name, params.version.as_deref()).await?;
        let frontmatter = || snapshot.document().frontmatter_json().to_owned();
        let content = match params.detail {
            DescribeDetail::Manifest | DescribeDetail::Summary => None,
            DescribeDetail::Full => Some(snapshot.document_text().to_owned()),
        };
        Ok(DescribeSkillResult {
            skill: DescribedSkill {
                manifest: snapshot.manifest().json().to_owned(),
                skill_md_frontmatter: match params.detail {
                    DescribeDetail::Manifest => None,
                    DescribeDetail::Summary | DescribeDetail::Full => Some(frontmatter()),
                },
                skill_md_content: content,
            },
        })
    }
}
