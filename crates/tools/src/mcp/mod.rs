//! MCP servers: over streamable HTTP, or as programs of this machine.

mod asked;
mod events;
mod lines;
mod listed;
mod mcp_server;
mod message;
mod program;
mod web;

pub(crate) use crate::mcp::asked::Asked;
pub(crate) use crate::mcp::listed::{list, params_of_call};
pub(crate) use crate::mcp::mcp_server::McpServer;
pub(crate) use crate::mcp::program::{ProgramCommand, ProgramServer};
pub(crate) use crate::mcp::web::WebServer;
