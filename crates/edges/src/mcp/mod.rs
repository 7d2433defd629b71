//! The Model Context Protocol: skills, code and blobs as tools, prompts and resources of models.
//!
//! The library `rmcp` knows the protocol: its revisions, its messages, its headers. What comes from a
//! client or a guest passes beside it (see `wire`), so it is bounded, charged and kept as text as
//! everywhere else. Calls go to the same methods as those of `/rpc`, by the same way.
//!
//! INVARIANT(beside-the-library): the library reads no arguments of a tool and no result of a guest.
//! It gets a message of bounded size, and writes an answer into which the contents are laid.

mod features;
mod server;
mod state;
mod transport;
mod wire;

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;

use crate::mcp::state::{McpState, ServiceState};
use crate::net::Readiness;
use crate::net::body::Bodies;
use crate::net::state::EdgeState;
use wardian_service::{Authentication, Gate};
use wardian_vocabulary::budget::MemoryBudget;
use wardian_vocabulary::units::ByteCount;

pub use crate::mcp::features::code_mode::CodeMode;
pub use crate::mcp::features::local_files::{LocalFolders, SameName};
pub use crate::mcp::state::McpConfig;
pub use crate::mcp::transport::bridged::{BridgedMessage, addressed, chosen_revision, refusal};
pub use crate::mcp::transport::lines::LineFault;

/// The route of the protocol, for a server whose callers are known and whose hosts are checked.
pub fn routes_of(config: McpConfig) -> impl FnOnce(&Arc<ServiceState>) -> Router {
    move |edge| transport::http::route(McpState::new(Arc::clone(edge), config))
}

/// The bounds of messages on the standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StdioLimits {
    /// Largest message.
    pub max_message: ByteCount,
    /// Memory for all messages, results and answers together.
    pub memory: ByteCount,
}

/// Serves the local user, whose folders are open, perhaps in code mode: one message on each line of `input`, until its end.
///
/// # Errors
///
/// The thread that reads cannot be started.
pub async fn serve_lines<I: BufRead + Send + 'static>(
    service: Arc<Gate>,
    (config, local, code_mode): (McpConfig, LocalFolders, Option<CodeMode>),
    limits: StdioLimits,
    input: I,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let readiness = Readiness::waiting_for("the service");
    readiness.open(service);
    let budget = MemoryBudget::new(limits.memory);
    let bodies = Bodies::new(limits.max_message, Duration::MAX, &budget);
    let edge = EdgeState::new(Arc::new(readiness), bodies, budget, Authentication::Open);
    let state = McpState::of_user(Arc::new(edge), config, local, code_mode);
    Box::pin(transport::stdio::serve(state, input, output)).await
}

/// Reads the next message of `input`, a line that is not empty; `None` at its end. The line is at most
/// `largest` long.
///
/// # Errors
///
/// The line is refused, and the next one can be read; or the input failed.
pub fn read_line(
    input: &mut impl BufRead,
    largest: ByteCount,
) -> Result<Option<Vec<u8>>, LineFault> {
    let budget = MemoryBudget::new(ByteCount::bytes(u64::MAX));
    let line = transport::lines::next_line(input, &budget, largest);
    line.map(|line| line.map(|line| line.bytes))
}
