//! `describe_skill`: a skill's manifest and document.

use serde_json::value::to_raw_value;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::protocol::methods::discovery::{
    DescribeDetail, DescribeSkillParams, DescribeSkillResult, DescribedScript, DescribedSkill,
    MAX_DESCRIBED_SCRIPTS,
};
use wardian_formats::skill::manifest::SkillKind;
use wardian_formats::skill::scripts::Script;
use wardian_skills::registry::folders::snapshot::Snapshot;

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
                let has_entrypoint = snapshot.manifest().runtime.is_some();
                (Some(document.to_owned()), has_entrypoint.then_some(schema))
            }
        };
        let (scripts, scripts_total) = match params.detail {
            DescribeDetail::Full => described_scripts(&snapshot),
            DescribeDetail::Manifest | DescribeDetail::Summary => (Vec::new(), None),
        };
        let signer = snapshot.signer().filter(|_| params.detail == DescribeDetail::Full);
        Ok(DescribeSkillResult {
            skill: DescribedSkill {
                manifest: manifest.to_owned(),
                skill_md_frontmatter: match params.detail {
                    DescribeDetail::Manifest => None,
                    DescribeDetail::Summary | DescribeDetail::Full => Some(frontmatter()),
                },
                skill_md_content: content,
                input_schema: schema,
                scripts,
                scripts_total,
                signer: signer.map(|signer| signer.key.clone()),
            },
        })
    }
}

/// The first scripts of a skill, and the number of all if there are more.
fn described_scripts(snapshot: &Snapshot) -> (Vec<DescribedScript>, Option<u64>) {
    if snapshot.manifest().kind != SkillKind::Action {
        return (Vec::new(), None);
    }
    let described =
        |script: Script<'_>| DescribedScript { path: script.path.to_owned(), help: script.help };
    let mut all = snapshot.scripts();
    let first: Vec<_> = all.by_ref().take(MAX_DESCRIBED_SCRIPTS).map(described).collect();
    let more = u64::try_from(all.count()).unwrap_or(u64::MAX);
    let listed = u64::try_from(first.len()).unwrap_or(u64::MAX);
    (first, (more > 0).then(|| listed.saturating_add(more)))
}
