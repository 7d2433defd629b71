//! Wire types of `load_skills_protocol_guide`.

use serde::{Deserialize, Serialize};

/// What a caller sends to `load_skills_protocol_guide`: nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuideParams {}

/// What `load_skills_protocol_guide` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GuideResult {
    /// The guide as Markdown, beginning with a heading.
    pub content: String,
}
