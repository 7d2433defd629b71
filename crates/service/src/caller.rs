//! The caller of a method.

use std::net::IpAddr;

use wardian_formats::job::limits::RunLimits;
use wardian_stores::tenants::{CallerCredential, CallerIdentity, Rights};
use wardian_telemetry::traces::TraceScope;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::TenantId;

/// The caller of a method: its tenant, its rights and limits, and the account of its memory.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Decides which blobs are visible.
    pub tenant: TenantId,
    /// The calls that it may make.
    pub rights: Rights,
    /// Its credential; none if the server asks for none.
    pub credential: Option<CallerCredential>,
    /// The address of its client, if it has one.
    pub address: Option<IpAddr>,
    /// Limits of its runs that are stricter than the operator's cap for all callers.
    pub limits: Option<RunLimits>,
    /// Names the request in the server's log.
    pub request_id: String,
    /// The number of runs that the call comes from, one within the other: 0 for a call of a client.
    pub nesting: u8,
    /// The span that those of the call are below.
    pub trace: TraceScope,
    /// The account of the memory that the call uses, until it is answered.
    pub memory: CallMemory,
}

impl Caller {
    /// The local user of this machine. Its calls share no memory budget with other callers.
    #[must_use]
    pub fn local(request_id: &str) -> Self {
        Self::known_by(request_id.to_owned(), CallMemory::unlimited())
    }

    /// A client that acts as the local user, with all rights. Its call is charged to `memory`.
    #[must_use]
    pub fn known_by(request_id: String, memory: CallMemory) -> Self {
        Self::of(CallerIdentity::local(), request_id, memory)
    }

    /// A client whose identity was found. Its call is charged to `memory`.
    #[must_use]
    pub fn of(identity: CallerIdentity, request_id: String, memory: CallMemory) -> Self {
        let CallerIdentity { tenant, rights, credential } = identity;
        let (address, limits, trace) = (None, None, TraceScope::default());
        let nesting = 0;
        Self { tenant, rights, credential, address, limits, request_id, nesting, trace, memory }
    }
}

impl Caller {
    /// The same caller, at this address.
    #[must_use]
    pub fn at(self, address: Option<IpAddr>) -> Self {
        Self { address, ..self }
    }
}

/// The tenant of this machine's user, and of every caller of a server that does not authenticate
/// them.
#[must_use]
pub fn sole_tenant() -> TenantId {
    TenantId::local()
}
