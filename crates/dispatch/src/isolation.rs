//! Which runs may follow one another in a worker process.

use std::fmt;

use wardian_vocabulary::ids::TenantId;

/// The runs that a worker process may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Runs of all tenants follow one another in a worker.
    #[default]
    Shared,
    /// A worker serves one tenant and never another. Runs whose results all tenants use, such as
    /// compilations of shared skills, have their own workers.
    Process,
}

impl Isolation {
    /// The owner of a worker that serves a run of `tenant`.
    pub(super) fn owner_of(self, tenant: &TenantId) -> WorkerOwner {
        match self {
            Self::Shared => WorkerOwner::Everyone,
            Self::Process => WorkerOwner::Tenant(tenant.clone()),
        }
    }

    /// The owner of a worker that serves a run whose result all tenants use.
    pub(super) const fn owner_for_all(self) -> WorkerOwner {
        match self {
            Self::Shared => WorkerOwner::Everyone,
            Self::Process => WorkerOwner::Server,
        }
    }
}

/// The party whose runs a worker serves, from its first run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerOwner {
    /// All tenants, and the server itself.
    Everyone,
    /// The server itself: its self-test, and runs whose results all tenants use.
    Server,
    /// One tenant.
    Tenant(TenantId),
}

impl fmt::Display for WorkerOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("everyone"),
            Self::Server => f.write_str("the server"),
            Self::Tenant(tenant) => write!(f, "tenant `{tenant}`"),
        }
    }
}
