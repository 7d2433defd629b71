//! `load_skills_protocol_guide`: the guide to the other seven tools.

use crate::error::ServiceError;
use crate::start::Discovery;
use wardian_formats::protocol::methods::bootstrap::GuideResult;
use wardian_formats::skill::GUIDE_NAME;
use wardian_vocabulary::ids::SkillName;

impl Discovery {
    /// Returns the guide: the built-in skill's SKILL.md without its frontmatter.
    ///
    /// # Errors
    ///
    /// None, as long as the program was built with the guide.
    pub fn guide(&self) -> Result<GuideResult, ServiceError> {
        let index = self.registry.current();
        let snapshot = index.find(&SkillName::parse(GUIDE_NAME)?, None)?;
        Ok(GuideResult { content: snapshot.document_body().to_owned() })
    }
}
