//! Tools of servers that the operator has configured: MCP servers, and APIs that an OpenAPI document describes.
//!
//! ```text
//! RunTools (grants, counts, approvals) -> server (listing, share of tenants)
//!       -> mcp (web | program), openapi -> web_client (egress) | a child process
//! ```
//!
//! | part            | purpose                                                                  |
//! | --------------- | ------------------------------------------------------------------------ |
//! | `catalogue`     | the servers of a gateway, and what a run sees of them: [`RunTools`]      |
//! | `server`        | one server: its cached listing, and how many calls it gets at once       |
//! | `mcp`           | the Model Context Protocol over streamable HTTP, and to a child process  |
//! | `openapi`       | operations of a document as tools                                        |
//! | `web_client`    | requests through `egress`, whose rules hold                              |
//! | `credentials`   | secrets in headers and variables; covered in everything that comes back  |
//!
//! Knows nothing of runs, workers, guests or callers.
//!
//! INVARIANT(not-given-not-there): a tool that a run was not granted is answered like one that does not exist,
//! whatever server it belongs to.
//! INVARIANT(approved-arguments): an approval is of one tool with certain arguments. Other arguments need another
//! one.
//! INVARIANT(one-call): a server that is slow, endless, huge, or answers something else costs the call that it
//! concerns, and a bounded amount of memory.
//! INVARIANT(credentials-stay): the value of a secret that a server got is covered in what it answers.
//!
//! # Why not the client of `rmcp`
//!
//! It makes trees of arguments and results, which come from guests and strangers; here they stay text. Its
//! transports bring an HTTP client and a library for processes of their own, and reconnect by rules of their own,
//! while `egress` has to see each request. What is left of the protocol are five messages. Tests speak with
//! a server of that library: Wardian's own.
//!
//! # Where a run meets its tools
//!
//! A use case opens [`RunTools`] for a run by [`Catalogue::open`], with the patterns of the skill's manifest or as
//! code of a call. [`RunTools::offered`] is what the program is told. Each call of it goes to [`RunTools::call`], with
//! the digest of the tool as the program knows it. An approval ([`ToolApproval`]) is of one tool with its arguments.
//! [`ServedCallEnd`] says how the call has ended.

mod answer;
mod call_end;
mod catalogue;
pub mod config;
mod credentials;
mod error;
mod fault;
mod grants;
mod mcp;
mod offered;
mod openapi;
mod run_tools;
mod server;
#[cfg(test)]
mod tests;
mod web_client;

pub use crate::answer::ToolAnswer;
pub use crate::call_end::ServedCallEnd;
pub use crate::catalogue::Catalogue;
pub use crate::error::ToolError;
pub use crate::grants::ToolGrants;
pub use crate::offered::OfferedTool;
pub use crate::run_tools::{OfferedTools, RunTools, ToolApproval, ToolCallOrder};
