//! The Model Context Protocol, as its clients speak it: over HTTP, and over the standard input and
//! output of `wardian mcp`.

mod code_mode;
mod hostile;
mod http;
mod session_tool;
mod skills;
pub(crate) mod speaker;
mod stdio;
