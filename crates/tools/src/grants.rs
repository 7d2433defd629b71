//! The tools that a run is granted.

use crate::server::ToolServer;
use wardian_formats::skill::manifest::tool_pattern::ToolPattern;

/// The tools that a run is granted, among those that the operator offers to its tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolGrants {
    /// Those of the manifest of its skill: `[permissions] tools`.
    Skill(Vec<ToolPattern>),
    /// Those that the operator lets code of a call use.
    Code,
    /// All of them: the operator looks.
    Operator,
}

impl ToolGrants {
    /// True if a tool of this server is granted, if there is one of this name.
    pub(crate) fn include(&self, server: (&str, &ToolServer), tool: &str) -> bool {
        match self {
            Self::Skill(patterns) => patterns.iter().any(|one| one.grants(server.0, tool)),
            Self::Code => server.1.is_for_code(tool),
            Self::Operator => true,
        }
    }
}
