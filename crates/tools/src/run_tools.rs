//! What one run sees of the servers of tools, and how often it calls them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use tracing::{Instrument as _, debug};

use crate::answer::ToolAnswer;
use crate::error::ToolError;
use crate::grants::ToolGrants;
use crate::offered::{Listing, OfferedTool};
use crate::server::{CallBounds, ToolServer};
use wardian_formats::protocol::strict::{self, RootKind};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{Digest, TenantId};

/// Longest name that a message repeats, in characters.
const MAX_NAME: usize = 128;

/// The caller's approval of one call: of a tool with these arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolApproval(Digest);

impl ToolApproval {
    /// The approval of a call of `tool` with these arguments.
    #[must_use]
    pub fn new(tool: &str, arguments: &RawValue) -> Self {
        Self(approved(tool, arguments))
    }
}

/// The digest of what is approved of.
fn approved(tool: &str, arguments: &RawValue) -> Digest {
    let mut digest = Digest::in_pieces();
    digest.add(tool.as_bytes());
    digest.add(b"\0");
    digest.add(arguments.get().as_bytes());
    digest.finish()
}

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolCallOrder<'a> {
    /// Its name: `github.search_issues`.
    pub tool: &'a str,
    /// An object.
    pub arguments: &'a RawValue,
    /// The digest of the tool as it was listed to the program, if it was: another tool of this name is not called.
    pub listed: Option<Digest>,
    /// The caller's approval, if there is one.
    pub approval: Option<&'a ToolApproval>,
    /// When the run ends at the latest.
    pub deadline: Instant,
}

/// The tools of a run, as far as their servers answer.
#[derive(Debug, Default)]
pub struct OfferedTools {
    /// The tools, by server and name.
    pub tools: Vec<OfferedTool>,
    /// Servers that did not list theirs, each with the reason.
    pub unavailable: Vec<(String, String)>,
}

/// The tools of one run.
#[derive(Debug)]
pub struct RunTools {
    servers: Arc<BTreeMap<String, Arc<ToolServer>>>,
    tenant: TenantId,
    grants: ToolGrants,
    /// Calls of each server.
    calls: Mutex<BTreeMap<String, u32>>,
}

impl RunTools {
    pub(crate) fn new(
        servers: Arc<BTreeMap<String, Arc<ToolServer>>>,
        tenant: TenantId,
        grants: ToolGrants,
    ) -> Self {
        Self { servers, tenant, grants, calls: Mutex::default() }
    }

    /// True if a server may have tools for the run. Nothing is asked.
    #[must_use]
    pub fn may_have_some(&self) -> bool {
        self.servers.iter().any(|(name, server)| self.concerns(name, server))
    }

    fn concerns(&self, name: &str, server: &ToolServer) -> bool {
        let is_granted = match &self.grants {
            ToolGrants::Skill(patterns) => patterns.iter().any(|one| one.server() == name),
            ToolGrants::Code => !server.config.code.is_empty(),
            ToolGrants::Operator => true,
        };
        is_granted && server.is_seen_by(&self.tenant)
    }

    /// True if the name is that of a granted tool of a server, if the server has it. Nothing is asked.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.server_of(name).is_some()
    }

    /// The server of a granted tool, and the tool's own name.
    fn server_of<'n>(&self, name: &'n str) -> Option<(&Arc<ToolServer>, &'n str)> {
        let (server_name, tool) = name.split_once('.')?;
        let server = self.servers.get(server_name)?;
        self.includes(server_name, server, tool).then_some((server, tool))
    }

    fn includes(&self, name: &str, server: &ToolServer, tool: &str) -> bool {
        server.is_seen_by(&self.tenant)
            && server.allows(tool)
            && self.grants.include((name, server), tool)
    }

    /// Lists the granted tools of all servers, which are asked at once. One that was too slow is not waited for: it is
    /// asked again from time to time, meanwhile.
    ///
    /// Cancellation: programs that are about to start for it are killed, but those of a server that was too slow.
    pub async fn offered(&self, deadline: Instant, memory: &CallMemory) -> OfferedTools {
        let (mut listings, mut asked) = (BTreeMap::new(), JoinSet::new());
        for (name, server) in &*self.servers {
            if !self.concerns(name, server) {
                continue;
            }
            let timeout = server.config.limits.timeout;
            let (of_server, memory) = ((name.clone(), Arc::clone(server)), memory.of_call());
            if server.was_late(&self.tenant) {
                listings.insert(name, Err(ToolError::Late { tool: name.clone() }.to_string()));
                if server.is_asked_again(&self.tenant) {
                    let until = earlier(Instant::now() + timeout, timeout);
                    let asking = listed(of_server, self.tenant.clone(), until, memory);
                    tokio::spawn(asking.in_current_span());
                }
                continue;
            }
            // A task that ends without an answer was stopped with this server.
            listings.insert(name, Err("this server stops".to_owned()));
            let until = earlier(deadline, timeout);
            asked.spawn(listed(of_server, self.tenant.clone(), until, memory).in_current_span());
        }
        while let Some(ended) = asked.join_next().await {
            let Ok((name, listing)) = ended else { continue };
            let Some((name, _)) = self.servers.get_key_value(&name) else { continue };
            listings.insert(name, listing);
        }
        self.granted(listings)
    }

    /// The granted tools of listings, and the reasons where there are none.
    fn granted(&self, listings: BTreeMap<&String, Result<Arc<Listing>, String>>) -> OfferedTools {
        let mut offered = OfferedTools::default();
        for (name, listing) in listings {
            match (listing, self.servers.get(name)) {
                (Ok(listing), Some(server)) => {
                    let granted =
                        listing.tools().filter(|tool| self.includes(name, server, &tool.name));
                    offered.tools.extend(granted.map(|tool| server.offered(tool)));
                }
                (Err(reason), _) => offered.unavailable.push((name.clone(), reason)),
                (Ok(_), None) => {}
            }
        }
        offered
    }

    /// Calls a tool.
    ///
    /// Cancellation: its server may execute the call all the same.
    ///
    /// # Errors
    ///
    /// The reason for which there is no answer, for the program.
    pub async fn call(
        &self,
        order: ToolCallOrder<'_>,
        memory: &CallMemory,
    ) -> Result<ToolAnswer, ToolError> {
        let Some((server, tool)) = self.server_of(order.tool) else {
            return Err(unknown(order.tool));
        };
        let called = Box::pin(self.call_of(server, tool, order, memory)).await;
        if let Err(error) = &called {
            debug!("a call of a tool ended: {}", error.for_operator());
        }
        called
    }

    async fn call_of(
        &self,
        server: &Arc<ToolServer>,
        tool: &str,
        order: ToolCallOrder<'_>,
        memory: &CallMemory,
    ) -> Result<ToolAnswer, ToolError> {
        let full_name = order.tool;
        let limits = &server.config.limits;
        let deadline = earlier(order.deadline, limits.timeout);
        let bounds = CallBounds { tenant: &self.tenant, deadline, memory };
        check_arguments(order, limits.arguments.as_usize())?;
        let listing = Box::pin(server.listing(bounds)).await;
        let listing = listing.map_err(|fault| ToolError::of(fault, full_name))?;
        let definition = listing.find(tool).ok_or_else(|| unknown(full_name))?;
        if order.listed.is_some_and(|listed| listed != definition.digest()) {
            return Err(ToolError::Changed { tool: full_name.to_owned() });
        }
        if server.needs_approval(definition) {
            let of = approved(full_name, order.arguments);
            if order.approval.is_none_or(|approval| approval.0 != of) {
                return Err(ToolError::NeedsApproval { tool: full_name.to_owned() });
            }
        }
        let server_name = full_name.split('.').next().unwrap_or_default();
        self.count(server_name, limits.calls_per_run)?;
        let called = Box::pin(server.call(tool, order.arguments, bounds)).await;
        called.map_err(|fault| ToolError::of(fault, full_name))
    }

    /// Counts a call that goes to a server.
    fn count(&self, server: &str, limit: u32) -> Result<(), ToolError> {
        let mut calls = self.calls.lock();
        let count = calls.entry(server.to_owned()).or_default();
        if *count >= limit {
            return Err(ToolError::TooManyCalls { server: server.to_owned(), limit });
        }
        *count = count.saturating_add(1);
        Ok(())
    }
}

/// The name of a server, with its listing for a tenant or the reason why there is none.
async fn listed(
    (name, server): (String, Arc<ToolServer>),
    tenant: TenantId,
    deadline: tokio::time::Instant,
    memory: CallMemory,
) -> (String, Result<Arc<Listing>, String>) {
    let began = Instant::now();
    let bounds = CallBounds { tenant: &tenant, deadline, memory: &memory };
    let listing = Box::pin(server.listing(bounds)).await.map_err(|fault| {
        let error = ToolError::of(fault, &name);
        server.note_unlisted(&tenant, &error, began.elapsed());
        error.for_operator()
    });
    (name, listing)
}

/// Checks that arguments are an object that all parsers read alike, within the operator's bound.
fn check_arguments(order: ToolCallOrder<'_>, most: usize) -> Result<(), ToolError> {
    let wrong = |problem: String| ToolError::Arguments { tool: order.tool.to_owned(), problem };
    let text = order.arguments.get();
    if text.len() > most {
        return Err(wrong(format!("are larger than {most} bytes")));
    }
    match strict::read_output(text) {
        Ok(RootKind::Object) => Ok(()),
        Ok(_) => Err(wrong("must be an object".to_owned())),
        Err(_) => Err(wrong("have no single meaning".to_owned())),
    }
}

/// The same answer for what does not exist and for what was not granted.
fn unknown(name: &str) -> ToolError {
    ToolError::Unknown { tool: name.chars().take(MAX_NAME).collect() }
}

/// The earlier of a deadline and the end of `timeout` from now on.
fn earlier(deadline: Instant, timeout: Duration) -> tokio::time::Instant {
    let own = Instant::now().checked_add(timeout);
    own.map_or(deadline, |own| own.min(deadline)).into()
}
