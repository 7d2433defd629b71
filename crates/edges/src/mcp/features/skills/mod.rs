//! Skills over MCP: the list, skills as tools, their addresses.

pub(crate) mod list;
pub(crate) mod skill_tools;
pub(crate) mod skill_uri;
