//! Everything that needs neither an engine nor workers: skills, blobs, records of runs.

use std::fmt;
use std::sync::Arc;

use crate::authorisation::ensure_may_call;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::runs::Runs;
use crate::runs::history::RunHistory;
use crate::sessions::room::SessionRoom;
use crate::transfers::{BlobTransfers, Transfers};
use wardian_formats::protocol::methods::execution::{ExecuteSkillParams, RunCodeParams};
use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_formats::protocol::openrpc::OpenRpcDocument;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_skills::registry::Registry;
use wardian_skills::registry::publishing::PublishedStore;
use wardian_stores::blobs::Blobs;
use wardian_vocabulary::quotas::CallRates;

/// The part of a [`Service`](crate::Service) that finds and reads skills, blobs, records and sessions.
/// It is there as soon as the skills are read.
pub struct Discovery {
    pub(crate) registry: Arc<Registry>,
    pub(crate) blobs: Blobs,
    pub(crate) rates: Arc<CallRates>,
    pub(crate) transfers: BlobTransfers,
    pub(crate) runs: RunHistory,
    pub(crate) sessions: SessionRoom,
    /// The skills that callers have published; `None` if they may publish none.
    pub published: Option<Arc<PublishedStore>>,
}

/// The parts of a [`Discovery`].
#[derive(Debug)]
pub struct DiscoveryParts {
    /// The skills.
    pub registry: Arc<Registry>,
    /// The blobs.
    pub blobs: Blobs,
    /// The rates of calls.
    pub rates: CallRates,
    /// Most uploads of blobs, and most downloads, at one time.
    pub max_transfers: usize,
    /// The skills that callers have published; `None` if they may publish none.
    pub published: Option<Arc<PublishedStore>>,
}

impl Discovery {
    /// Builds it from its parts.
    #[must_use]
    pub fn new(parts: DiscoveryParts) -> Arc<Self> {
        let DiscoveryParts { registry, blobs, rates, max_transfers, published } = parts;
        let transfers = BlobTransfers::new(blobs.clone(), max_transfers);
        let (rates, runs) = (Arc::new(rates), RunHistory::default());
        let sessions = SessionRoom::default();
        Arc::new(Self { registry, blobs, rates, transfers, runs, sessions, published })
    }

    /// The same skills and rates, with other blobs and without the records.
    pub fn with_blobs(&self, blobs: Blobs, max_transfers: usize) -> Arc<Self> {
        let (registry, rates) = (Arc::clone(&self.registry), Arc::clone(&self.rates));
        let transfers = BlobTransfers::new(blobs.clone(), max_transfers);
        let runs = RunHistory::default();
        let sessions = SessionRoom::default();
        Arc::new(Self { registry, blobs, rates, transfers, runs, sessions, published: None })
    }

    /// The skills.
    #[must_use]
    pub const fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The sessions.
    #[must_use]
    pub const fn sessions(&self) -> &SessionRoom {
        &self.sessions
    }

    /// The blobs.
    #[must_use]
    pub const fn blobs(&self) -> &Blobs {
        &self.blobs
    }

    /// Performs a call that executes nothing. One that executes something is checked and handed back.
    pub(crate) async fn call(
        &self,
        caller: &Caller,
        call: MethodCall,
        bounds: LimitBounds,
    ) -> Result<MethodResult, NotDiscovery> {
        let refused = NotDiscovery::Refused;
        ensure_may_call(caller, &call).map_err(refused)?;
        Ok(match call {
            MethodCall::ListSkills(params) => {
                MethodResult::ListSkills(self.list_skills(caller, &params).map_err(refused)?)
            }
            MethodCall::DescribeSkill(params) => {
                MethodResult::DescribeSkill(self.describe_skill(caller, &params).map_err(refused)?)
            }
            MethodCall::ReadSkillFile(params) => {
                MethodResult::ReadSkillFile(self.read_skill_file(caller, &params).map_err(refused)?)
            }
            MethodCall::CreateBlob(params) => {
                MethodResult::CreateBlob(self.create_blob(caller, params).await.map_err(refused)?)
            }
            MethodCall::ReadBlob(params) => {
                MethodResult::ReadBlob(self.read_blob(caller, params).await.map_err(refused)?)
            }
            MethodCall::LoadSkillsProtocolGuide(_) => {
                MethodResult::LoadSkillsProtocolGuide(self.guide().map_err(refused)?)
            }
            MethodCall::Discover => MethodResult::Discover(OpenRpcDocument::new(bounds)),
            MethodCall::ExecuteSkill(params) => {
                return Err(NotDiscovery::Executes(ExecutingCall::Skill(Box::new(params))));
            }
            MethodCall::RunCode(params) => {
                return Err(NotDiscovery::Executes(ExecutingCall::Code(Box::new(params))));
            }
        })
    }
}

/// The reason why a call has no result of [`Discovery`].
#[derive(Debug)]
pub(crate) enum NotDiscovery {
    /// The call executes something. The caller may make it.
    Executes(ExecutingCall),
    /// The call was refused.
    Refused(ServiceError),
}

/// A call that executes something.
#[derive(Debug)]
pub(crate) enum ExecutingCall {
    Skill(Box<ExecuteSkillParams>),
    Code(Box<RunCodeParams>),
}

impl Runs for Discovery {
    fn runs(&self) -> &RunHistory {
        &self.runs
    }
}

impl Transfers for Discovery {
    fn transfers(&self) -> &BlobTransfers {
        &self.transfers
    }
}

impl fmt::Debug for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery").finish_non_exhaustive()
    }
}
