//! Translate between the world and `service`, and never decide: HTTP, MCP, the console.

pub mod console;
pub mod http;
pub mod mcp;
pub mod net;
