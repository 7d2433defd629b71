//! The state that all messages of the protocol share.

use std::sync::Arc;

use rmcp::model::{ErrorCode, ErrorData, Tool};

use crate::mcp::features::local_files::LocalFolders;
use crate::mcp::features::tools::{own_tools, session_tool};
use crate::net::respond::Failure;
use crate::net::state::EdgeState;
use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_service::{Caller, Discovery, Gate, ServiceError};

/// The state of a server whose methods are a service, from its start on.
pub(crate) type ServiceState = EdgeState<Arc<Gate>>;

/// The settings of this edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct McpConfig {
    /// Whether each skill that can be executed is a tool of its own. Default false.
    pub skills_as_tools: bool,
    /// Whether models manage sessions with the tool `session`. Default true.
    pub session_tool: bool,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self { skills_as_tools: false, session_tool: true }
    }
}

/// The state that all messages share.
#[derive(Debug)]
pub(crate) struct McpState {
    pub(crate) edge: Arc<ServiceState>,
    pub config: McpConfig,
    /// The folders of the user who started this program; `None` for a server.
    pub local: Option<LocalFolders>,
}

impl McpState {
    pub(super) fn new(edge: Arc<ServiceState>, config: McpConfig) -> Arc<Self> {
        Arc::new(Self { edge, config, local: None })
    }

    /// The state of a program that its user has started.
    pub(crate) fn of_user(
        edge: Arc<ServiceState>,
        config: McpConfig,
        local: LocalFolders,
    ) -> Arc<Self> {
        Arc::new(Self { edge, config, local: Some(local) })
    }

    /// The skills, blobs and records, once they exist.
    pub(super) fn service(&self) -> Result<&Discovery, ErrorData> {
        let discovery = self.edge.readiness.methods().map(|gate| gate.discovery().as_ref());
        discovery.ok_or_else(|| error_of(self.edge.unready()))
    }

    /// True if models have the tool `session`: the operator wants it, and there are sessions.
    pub(crate) fn has_session_tool(&self) -> bool {
        let is_open = |gate: &Arc<Gate>| gate.discovery().sessions().is_open();
        self.config.session_tool && self.edge.readiness.methods().is_some_and(is_open)
    }

    /// The tools of every server.
    pub(crate) fn own_tools(&self) -> Vec<Tool> {
        let bounds = self.edge.readiness.limit_bounds();
        let mut tools = own_tools(bounds.unwrap_or(LimitBounds::ANY));
        if self.has_session_tool() {
            tools.push(session_tool());
        }
        if let Some(local) = &self.local {
            tools.iter_mut().for_each(|tool| local.describe(tool));
        }
        tools
    }

    /// The error of the protocol for an error of the service, which the audit log may note.
    pub(super) fn error(&self, caller: &Caller, error: &ServiceError) -> ErrorData {
        error_of(self.edge.failed(caller, error))
    }
}

/// A failure as an error of the protocol, with the code and the wording that it has everywhere.
pub(crate) fn error_of(failure: Failure) -> ErrorData {
    let body = *failure.body;
    let data = serde_json::to_value(&body.data).ok();
    ErrorData::new(ErrorCode(body.code), body.message, data)
}

/// The error for a fault of this server.
pub(super) fn internal(what: &'static str) -> ErrorData {
    ErrorData::internal_error(what, None)
}
