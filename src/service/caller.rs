//! The caller of a method.

use crate::budget::CallMemory;
use crate::ids::TenantId;
use crate::job::limits::RunLimits;
use crate::service::rights::Rights;

/// The caller of a method: its tenant, its rights and limits, and the account of its memory.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Decides which blobs are visible.
    pub tenant: TenantId,
    /// The calls that it may make.
    pub rights: Rights,
    /// Limits of its runs that are stricter than the operator's cap for all callers.
    pub limits: Option<RunLimits>,
    /// Names the request in the server's log.
    pub request_id: String,
    /// The account of the memory that the call uses, until it is answered.
    pub memory: CallMemory,
}

impl Caller {
    /// The local user of this machine. Its calls share no memory budget with other callers.
    #[must_use]
    pub fn local(request_id: &str) -> Self {
        Self::known_by(request_id.to_owned(), CallMemory::unlimited())
    }

    /// A client whose call is charged to `memory`. Every client acts as the local user, with all
    /// rights.
    #[must_use]
    pub fn known_by(request_id: String, memory: CallMemory) -> Self {
        Self { tenant: sole_tenant(), rights: Rights::ALL, limits: None, request_id, memory }
    }
}

/// The tenant of every caller: callers are not authenticated yet. No other code chooses a tenant.
#[must_use]
pub fn sole_tenant() -> TenantId {
    TenantId::local()
}
