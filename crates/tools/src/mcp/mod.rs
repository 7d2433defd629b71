//! MCP servers: over streamable HTTP, or as programs of this machine.

mod asked;
mod events;
mod lines;
mod listed;
mod message;
mod peer;
mod program;
mod web;

pub(crate) use crate::mcp::asked::Asked;
pub(crate) use crate::mcp::listed::{list, params_of_call};
pub(crate) use crate::mcp::peer::McpPeer;
pub(crate) use crate::mcp::program::{ProgramCommand, ProgramServer};
pub(crate) use crate::mcp::web::WebServer;
