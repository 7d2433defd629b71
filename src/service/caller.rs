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
    /// The most that its runs may use, if that is less than the operator allows everybody.
    pub limits: Option<RunLimits>,
    /// Names the request in the server's log.
    pub request_id: String,
    /// The memory that the call is charged with, until it is answered.
    pub memory: CallMemory,
}

impl Caller {
    /// This machine's own user. Its calls share the memory with no other caller.
    #[must_use]
    pub fn local(request_id: &str) -> Self {
        Self::known_by(request_id.to_owned(), CallMemory::unlimited())
    }

    /// A client whose call is charged to `memory`. Every client is this machine's own user, with
    /// all rights.
    #[must_use]
    pub fn known_by(request_id: String, memory: CallMemory) -> Self {
        Self { tenant: sole_tenant(), rights: Rights::ALL, limits: None, request_id, memory }
    }
}

/// The tenant of every caller, because nothing tells callers apart yet. No other code chooses one.
#[must_use]
pub fn sole_tenant() -> TenantId {
    TenantId::local()
}
