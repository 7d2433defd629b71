//! Wire types of `load_skills_protocol_guide`.

use serde::{Deserialize, Serialize};

/// The parameters of `load_skills_protocol_guide`: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuideParams {}

/// The result of `load_skills_protocol_guide`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GuideResult {
    /// The guide as Markdown, beginning with a heading.
    pub content: String,
}
