//! A server of the protocol, whatever its transport.

use serde_json::value::RawValue;

use crate::fault::Fault;
use crate::mcp::asked::Asked;
use crate::mcp::program::ProgramServer;
use crate::mcp::web::WebServer;

/// A server of the protocol.
#[derive(Debug)]
pub(crate) enum McpPeer {
    /// Behind a URL.
    Web(WebServer),
    /// A program.
    Program(ProgramServer),
}

impl McpPeer {
    /// Sends a request, and returns the result. Its text has no values of the credentials.
    pub(crate) async fn ask(&self, asked: Asked<'_>) -> Result<Box<RawValue>, Fault> {
        match self {
            Self::Web(server) => Box::pin(server.ask(asked)).await,
            Self::Program(server) => Box::pin(server.ask(asked)).await,
        }
    }

    /// True once after each change that the server has told of.
    pub(crate) fn take_change(&self) -> bool {
        match self {
            Self::Web(server) => server.take_change(),
            Self::Program(server) => server.take_change(),
        }
    }
}
