//! The handler of the protocol's requests: each goes to the feature that answers it.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest, CustomResult,
    ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetSkillRequestParams,
    GetSkillResult, GetTaskParams, GetTaskResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceDirectoryRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, UpdateTaskParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};

use crate::mcp::features::code_mode;
use crate::mcp::features::skills::{list as skill_list, skill_tools};
use crate::mcp::features::{call, prompts, resources, tasks};
use crate::mcp::state::{McpState, internal};
use crate::mcp::wire::exchange::McpExchange;

/// What a model learns about this server.
const INSTRUCTIONS: &str = "Runs skills and Python in sandboxes. Call load_skills_protocol_guide once \
    before other tools; then list_skills, describe_skill, execute_skill, or run_code. Pass large data \
    as blobs.";

/// Skills that are looked at for one page of tools.
const PAGE: usize = 100;

/// The methods of this server. A request of one of them that the protocol library cannot read has
/// wrong parameters.
const METHODS: [&str; 14] = [
    "server/discover",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/directory/read",
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "skills/list",
    "skills/get",
];

/// Methods that only the revisions before 2026-07-28 have.
const LEGACY_METHODS: [&str; 2] = ["initialize", "ping"];

/// Handles the requests of one connection, or of one message.
#[derive(Debug, Clone)]
pub(crate) struct McpServer {
    state: Arc<McpState>,
}

impl McpServer {
    pub(super) const fn new(state: Arc<McpState>) -> Self {
        Self { state }
    }

    /// The tools: those of every server first, then those of skills.
    fn tools(
        &self,
        cursor: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = if cursor.is_none() { self.state.own_tools() } else { Vec::new() };
        let mut next_cursor = None;
        if self.state.has_skill_tools() {
            let exchange = McpExchange::of(&context.extensions);
            let exchange = exchange.ok_or_else(|| internal("no exchange"))?;
            let caller = &exchange.caller;
            let page = self.state.service()?.published_skills(caller, PAGE, cursor);
            let page = page.map_err(|error| self.state.error(caller, &error))?;
            tools.extend(page.skills.iter().filter_map(skill_tools::tool));
            next_cursor = page.next_cursor;
        } else if cursor.is_some() {
            return Err(ErrorData::invalid_params("the list of tools has a single page", None));
        }
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = next_cursor;
        Ok(result)
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("wardian", env!("CARGO_PKG_VERSION"));
        let implementation = implementation.with_title("Wardian");
        if self.state.code_mode.is_some() {
            // Files that runs keep are resources.
            let capabilities = ServerCapabilities::builder().enable_tools().enable_resources();
            return ServerConfig::new(capabilities.build())
                .with_server_info(implementation)
                .with_instructions(code_mode::INSTRUCTIONS);
        }
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_skills_with_directory_read()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|params| params.cursor);
        std::future::ready(self.tools(cursor.as_deref(), &context)).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        // The name and the arguments were cut out of the message.
        let CallToolRequestParams { input_responses, request_state, .. } = request;
        let answers = request_state.map(|state| (state, input_responses.unwrap_or_default()));
        call::call_tool(&self.state, answers, context).await
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        std::future::ready(Ok(prompts::list())).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&self.state, &request, &context).await.map(Into::into)
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list(&self.state, request, &context).await
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        std::future::ready(Ok(resources::templates(&self.state))).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.state, &request, &context).await.map(Into::into)
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        skill_list::list(&self.state, request, &context).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        skill_list::get(&self.state, &request, &context).await
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        std::future::ready(skill_list::read_folder(&self.state, &request, &context)).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        tasks::get(&self.state, request, &context).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // No run asks its client for anything.
        tasks::ensure_known(&self.state, &request.task_id, &context).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        tasks::cancel(&self.state, request, &context).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let is_legacy = context.meta.protocol_version().is_none();
        let is_known = METHODS.contains(&method) || is_legacy && LEGACY_METHODS.contains(&method);
        let error = if is_known {
            let message = format!("the parameters of `{method}` are invalid");
            ErrorData::invalid_params(message, None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "this server has no such method", None)
        };
        std::future::ready(Err(error)).await
    }
}
