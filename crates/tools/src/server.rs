//! One server of tools: what it offers to a tenant, its cached listing, and calls within its bounds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use crate::answer::ToolAnswer;
use crate::config::{CredentialScope, MAX_LISTINGS, ToolServerConfig, ToolSource};
use crate::credentials::CredentialSource;
use crate::error::ToolError;
use crate::fault::Fault;
use crate::mcp::{Asked, McpPeer, ProgramCommand, ProgramServer, WebServer, list, params_of_call};
use crate::offered::{Listing, OfferedTool, ToolDefinition};
use crate::openapi::{ApiPlace, ApiServer};
use crate::web_client::{AnswerBound, WebClient};
use wardian_egress::Egress;
use wardian_egress::config::three_quarters;
use wardian_stores::secrets::Secrets;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::FairShare;

/// Bytes of a message beside its content.
const BESIDE_CONTENT: usize = 64 << 10;

/// Codes of JSON-RPC with which a server says that a tool is not what was listed.
const CHANGED_CODES: [i64; 2] = [-32_602, -32_601];

/// How soon a server that was too slow is asked for its tools again, and how often the log is told of one that lists none.
pub(crate) const ASKED_AGAIN: Duration = Duration::from_secs(if cfg!(test) { 4 } else { 30 });

/// A server that does not list its tools and takes longer to say so is too slow.
const SLOW: Duration = Duration::from_secs(1);

/// A server.
#[derive(Debug)]
pub(crate) struct ToolServer {
    name: String,
    pub(crate) config: ToolServerConfig,
    backend: Backend,
    share: FairShare,
    listings: Mutex<BTreeMap<Option<TenantId>, CachedListing>>,
    /// Held while a listing is fetched, so that many runs do not fetch it at once.
    fetching: tokio::sync::Mutex<()>,
    /// When it was last asked for its tools, for whom it was too slow and has not listed them since. Another owner's
    /// credentials can be answered at once.
    late: Mutex<BTreeMap<Option<TenantId>, Instant>>,
    /// When the log was last told that it did not list them.
    told: Mutex<Option<Instant>>,
}

#[derive(Debug)]
enum Backend {
    Mcp(Box<McpPeer>),
    Api(Box<ApiServer>),
}

#[derive(Debug, Clone)]
struct CachedListing {
    listing: Arc<Listing>,
    fetched: Instant,
}

/// How far a call may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallBounds<'a> {
    pub(crate) tenant: &'a TenantId,
    pub(crate) deadline: Instant,
    pub(crate) memory: &'a CallMemory,
}

impl ToolServer {
    pub(crate) fn new(
        name: &str,
        config: ToolServerConfig,
        egress: &Egress,
        secrets: &Arc<Secrets>,
    ) -> Self {
        let credentials = |templates: &Vec<_>| CredentialSource {
            secrets: Arc::clone(secrets),
            scope: config.credentials,
            templates: Arc::from(templates.clone()),
        };
        let limits = &config.limits;
        let backend = match &config.source {
            ToolSource::Web { url, headers } => {
                let client = WebClient::new(egress.clone(), url.clone());
                let url = url.as_str().to_owned();
                let server = WebServer::new(client, url, credentials(headers));
                Backend::Mcp(Box::new(McpPeer::Web(server)))
            }
            ToolSource::Program { program, arguments, environment, folder } => {
                let largest = limits.result.as_usize().max(limits.listing.as_usize());
                let command = ProgramCommand {
                    name: name.to_owned(),
                    program: program.clone(),
                    arguments: arguments.clone(),
                    folder: folder.clone(),
                    longest_line: largest.saturating_add(BESIDE_CONTENT),
                };
                let server = ProgramServer::new(command, credentials(environment));
                Backend::Mcp(Box::new(McpPeer::Program(server)))
            }
            ToolSource::OpenApi { document, base, headers } => {
                let place = ApiPlace {
                    name: name.to_owned(),
                    egress: egress.clone(),
                    document: document.clone(),
                    base: base.clone(),
                    headers: credentials(headers),
                    most: limits.tools,
                    largest: limits.listing,
                };
                Backend::Api(Box::new(ApiServer::new(place)))
            }
        };
        let share = FairShare::new(limits.concurrent, three_quarters(limits.concurrent));
        let (listings, fetching) = (Mutex::default(), tokio::sync::Mutex::new(()));
        let (name, late, told) = (name.to_owned(), Mutex::default(), Mutex::default());
        Self { name, config, backend, share, listings, fetching, late, told }
    }

    /// The tenant whose credentials a listing for `tenant` needs; `None` if all tenants share it.
    fn owner(&self, tenant: &TenantId) -> Option<TenantId> {
        match self.config.credentials {
            CredentialScope::Server => None,
            CredentialScope::Tenant => Some(tenant.clone()),
        }
    }

    /// True if it was too slow when it was last asked for the tools of `tenant`. No run of it waits then: the server
    /// is asked [again](Self::is_asked_again) while they go on without its tools.
    pub(crate) fn was_late(&self, tenant: &TenantId) -> bool {
        self.late.lock().contains_key(&self.owner(tenant))
    }

    /// True if it was too slow, and it is time to ask it again. Whoever is told so asks it.
    pub(crate) fn is_asked_again(&self, tenant: &TenantId) -> bool {
        let mut late = self.late.lock();
        let Some(asked) = late.get_mut(&self.owner(tenant)) else { return false };
        let is_due = asked.elapsed() >= ASKED_AGAIN;
        if is_due {
            *asked = Instant::now();
        }
        is_due
    }

    /// Notes why it has not listed the tools of `tenant`, after so long. The log is told that from time to time.
    pub(crate) fn note_unlisted(&self, tenant: &TenantId, error: &ToolError, took: Duration) {
        let now = Instant::now();
        if matches!(error, ToolError::Late { .. }) || took >= SLOW {
            let (mut late, owner) = (self.late.lock(), self.owner(tenant));
            if late.len() >= MAX_LISTINGS && !late.contains_key(&owner) {
                late.clear();
            }
            late.insert(owner, now);
        }
        let mut told = self.told.lock();
        if told.is_none_or(|told| now.duration_since(told) >= ASKED_AGAIN) {
            *told = Some(now);
            let (name, fault) = (&self.name, error.for_operator());
            warn!(tools.server = %name, "`{name}` lists no tools: {fault}");
        }
    }

    /// True if `tenant` sees the server.
    pub(crate) fn is_seen_by(&self, tenant: &TenantId) -> bool {
        self.config.tenants.as_ref().is_none_or(|tenants| tenants.contains(tenant))
    }

    /// True if the operator lets the tool of this name be offered, if there is one.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        let config = &self.config;
        let is_allowed =
            config.allow.is_empty() || config.allow.iter().any(|glob| glob.matches(tool));
        is_allowed && !config.deny.iter().any(|glob| glob.matches(tool))
    }

    /// True if code of a call may use the tool of this name.
    pub(crate) fn is_for_code(&self, tool: &str) -> bool {
        self.config.code.iter().any(|glob| glob.matches(tool))
    }

    /// A tool as it is offered.
    pub(crate) fn offered(&self, tool: &ToolDefinition) -> OfferedTool {
        OfferedTool {
            name: format!("{}.{}", self.name, tool.name),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            output_schema: tool.output_schema.clone(),
            needs_approval: self.needs_approval(tool),
            digest: tool.digest(),
        }
    }

    /// True if a call of the tool needs the caller's approval.
    pub(crate) fn needs_approval(&self, tool: &ToolDefinition) -> bool {
        let is_listed = self.config.approve.iter().any(|glob| glob.matches(&tool.name));
        let is_approved = || self.config.approved.iter().any(|glob| glob.matches(&tool.name));
        is_listed || (tool.is_destructive && !is_approved())
    }

    /// The tools of the server, as they were listed not too long ago.
    ///
    /// Cancellation: the next caller fetches them.
    pub(crate) async fn listing(&self, bounds: CallBounds<'_>) -> Result<Arc<Listing>, Fault> {
        let owner = self.owner(bounds.tenant);
        if let Some(listing) = self.cached(owner.as_ref()) {
            return Ok(listing);
        }
        let fetching = timeout_at(bounds.deadline, self.fetching.lock()).await;
        let fetching = fetching.map_err(|_elapsed| Fault::Late)?;
        if let Some(listing) = self.cached(owner.as_ref()) {
            return Ok(listing);
        }
        let limits = &self.config.limits;
        let CallBounds { tenant, deadline, memory } = bounds;
        let memory = &memory.of_call();
        memory.reserve(limits.listing)?;
        // A change that the server tells of meanwhile counts for the next listing.
        let fetched = Instant::now();
        let listing = match &self.backend {
            Backend::Mcp(server) => {
                let most = (limits.listing, limits.tools);
                Box::pin(list(server, tenant, most, deadline, memory)).await?
            }
            Backend::Api(server) => server.list(memory).await?,
        };
        if listing.left_out() > 0 {
            let (name, count) = (&self.name, listing.left_out());
            let reasons = listing.reasons().join("; ");
            warn!(tools.server = %name, "`{name}` has {count} tools that cannot be offered: {reasons}");
        }
        self.late.lock().remove(&owner);
        let listing = Arc::new(listing);
        let mut listings = self.listings.lock();
        if listings.len() >= MAX_LISTINGS && !listings.contains_key(&owner) {
            listings.clear();
        }
        listings.insert(owner, CachedListing { listing: Arc::clone(&listing), fetched });
        drop(listings);
        drop(fetching);
        Ok(listing)
    }

    fn cached(&self, owner: Option<&TenantId>) -> Option<Arc<Listing>> {
        let mut listings = self.listings.lock();
        if let Backend::Mcp(server) = &self.backend
            && server.take_change()
        {
            listings.clear();
        }
        let cached = listings.get(&owner.cloned())?;
        let is_fresh = cached.fetched.elapsed() < self.config.limits.listing_age;
        is_fresh.then(|| Arc::clone(&cached.listing))
    }

    /// Calls a tool. It waits for its turn among the calls of all tenants. The most that its server may send is charged
    /// until the answer is returned.
    ///
    /// Cancellation: the server may execute the call all the same.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: &RawValue,
        bounds: CallBounds<'_>,
    ) -> Result<ToolAnswer, Fault> {
        let CallBounds { tenant, deadline, memory } = bounds;
        let permit = timeout_at(deadline, self.share.acquire(tenant)).await;
        let _permit = permit.map_err(|_elapsed| Fault::Late)?;
        let bound = self.config.limits.result;
        let memory = &memory.of_call();
        memory.reserve(bound)?;
        let called = match &self.backend {
            Backend::Mcp(server) => {
                let params = params_of_call(tool, arguments)?;
                let method = "tools/call";
                let asked = Asked { tenant, method, params: &params, bound, deadline, memory };
                Box::pin(server.ask(asked)).await.and_then(|result| ToolAnswer::of_call(&result))
            }
            Backend::Api(server) => {
                let bound = AnswerBound { size: bound, deadline };
                Box::pin(server.call(tenant, (tool, arguments), bound, memory)).await
            }
        };
        if let Err(Fault::Refused { code, .. }) = &called
            && CHANGED_CODES.contains(code)
        {
            // It may have other tools by now.
            self.listings.lock().clear();
        }
        called
    }
}
