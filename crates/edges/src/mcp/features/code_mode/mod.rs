//! Code mode: two tools, one that finds the tools of servers and one that runs code which calls them.
//!
//! What they find and call is what programs find and call: a search is a small program, so it ranks and signs as
//! `tools.search` does, and knows what code may call.

mod answers;
mod tools;

pub(crate) use crate::mcp::features::code_mode::answers::answer;
pub use crate::mcp::features::code_mode::tools::CodeMode;
pub(crate) use crate::mcp::features::code_mode::tools::{CodeTool, INSTRUCTIONS};
