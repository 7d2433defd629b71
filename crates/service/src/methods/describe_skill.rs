//! `describe_skill`: a skill's manifest and document.

use serde_json::value::to_raw_value;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::protocol::methods::discovery::{
    DescribeDetail, DescribeSkillParams, DescribeSkillResult, DescribedSkill,
};

impl Discovery {
    /// Returns a skill's manifest and, as asked for, its documentation.
    ///
    /// # Errors
    ///
    /// No such skill or version.
    pub fn describe_skill(
        &self,
        caller: &Caller,
        params: &DescribeSkillParams,
    ) -> Result<DescribeSkillResult, ServiceError> {
        let seen = self.find_skill(caller, &params.name, params.version.as_deref())?;
        let snapshot = seen.snapshot;
        let (manifest, document) = (snapshot.manifest().json(), snapshot.document_text());
        let size = manifest.get().len().saturating_add(document.len().saturating_mul(2));
        caller.memory.reserve(size.into())?;
        let frontmatter = || snapshot.document().frontmatter_json().to_owned();
        let (content, schema) = match params.detail {
            DescribeDetail::Manifest | DescribeDetail::Summary => (None, None),
            DescribeDetail::Full => {
                let schema = to_raw_value(&snapshot.manifest().inputs.json_schema());
                let schema = schema.map_err(ServiceError::Unserialisable)?;
                let is_action = snapshot.manifest().runtime.is_some();
                (Some(document.to_owned()), is_action.then_some(schema))
            }
        };
        Ok(DescribeSkillResult {
            skill: DescribedSkill {
                manifest: manifest.to_owned(),
                skill_md_frontmatter: match params.detail {
                    DescribeDetail::Manifest => None,
                    DescribeDetail::Summary | DescribeDetail::Full => Some(frontmatter()),
                },
                skill_md_content: content,
                input_schema: schema,
            },
        })
    }
}
