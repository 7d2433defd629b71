//! `load_skills_protocol_guide`: the guide to the other seven tools.

use crate::ids::SkillName;
use crate::protocol::methods::bootstrap::GuideResult;
use crate::service::error::ServiceError;
use crate::service::start::Discovery;
use crate::skill::GUIDE_NAME;

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
