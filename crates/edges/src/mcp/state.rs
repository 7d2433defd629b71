//! The state that all messages of the protocol share.

use std::sync::Arc;

use rmcp::model::{ErrorCode, ErrorData, Tool};

use crate::mcp::features::code_mode::{CodeMode, CodeTool};
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
    /// What clients get instead of the tools of every server.
    pub code_mode: Option<CodeMode>,
}

impl McpState {
    pub(super) fn new(edge: Arc<ServiceState>, config: McpConfig) -> Arc<Self> {
        Arc::new(Self { edge, config, local: None, code_mode: None })
    }

    /// The state of a program that its user has started.
    pub(crate) fn of_user(
        edge: Arc<ServiceState>,
        config: McpConfig,
        local: LocalFolders,
        code_mode: Option<CodeMode>,
    ) -> Arc<Self> {
        Arc::new(Self { edge, config, local: Some(local), code_mode })
    }

    /// The skills, blobs and records, once they exist.
    pub(super) fn service(&self) -> Result<&Discovery, ErrorData> {
        let discovery = self.edge.readiness.methods().map(|gate| gate.discovery().as_ref());
        discovery.ok_or_else(|| error_of(self.edge.unready()))
    }

    /// True if models have the tool `session`: the operator wants it, and there are sessions.
    pub(crate) fn has_session_tool(&self) -> bool {
        let is_open = |gate: &Arc<Gate>| gate.discovery().sessions().is_open();
        self.code_mode.is_none()
            && self.config.session_tool
            && self.edge.readiness.methods().is_some_and(is_open)
    }

    /// The tool of code mode that has this name, in code mode.
    pub(crate) fn code_tool(&self, name: &str) -> Option<CodeTool> {
        self.code_mode.as_ref().and_then(|_| CodeTool::named(name))
    }

    /// True if each skill that can be executed is a tool.
    pub(crate) fn has_skill_tools(&self) -> bool {
        self.code_mode.is_none() && self.config.skills_as_tools
    }

    /// The tools that do not depend on skills.
    pub(crate) fn own_tools(&self) -> Vec<Tool> {
        let bounds = self.edge.readiness.limit_bounds().unwrap_or(LimitBounds::ANY);
        if let Some(code_mode) = &self.code_mode {
            return code_mode.tools(bounds);
        }
        let mut tools = own_tools(bounds);
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
