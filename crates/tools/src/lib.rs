//! Tools of servers that the operator has configured: MCP servers, and APIs that an OpenAPI document describes.
//!
//! ```text
//! RunTools (grants, counts, approvals, records) -> server (listing, share of tenants)
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
//! code of a call, and asks [`RunTools::is_named`] for each tool that the guest calls. If it is, [`RunTools::reply`]
//! answers instead of the caller: a [`ToolReply`] is the `output` or the `error` of the request.
//! [`ToolReply::NeedsApproval`] becomes a request of kind `approval` with the tool and the arguments. Its answer is yes
//! ([`ToolApproval::new`] with the same arguments), no (an `error` for the guest), or changed arguments (an approval of
//! those). [`RunTools::records`] belongs into the record of the run and the audit log; the words of [`ToolCallEnd`] are
//! labels for metrics.

mod answer;
mod catalogue;
pub mod config;
mod credentials;
mod error;
mod fault;
mod grants;
mod mcp;
mod offered;
mod openapi;
mod record;
mod run_tools;
mod server;
#[cfg(test)]
mod tests;
mod web_client;

pub use crate::answer::ToolAnswer;
pub use crate::catalogue::Catalogue;
pub use crate::error::ToolError;
pub use crate::grants::ToolGrants;
pub use crate::offered::OfferedTool;
pub use crate::record::{ToolCallEnd, ToolCallRecord};
pub use crate::run_tools::{OfferedTools, RunTools, ToolApproval, ToolCallOrder, ToolReply};
