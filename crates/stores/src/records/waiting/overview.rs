//! A fleet as operators see it: its servers, and what waits.

use async_trait::async_trait;
use serde::Serialize;

use crate::database_error::DatabaseError;
use crate::records::server_id::RunHolder;

/// What an overview needs of a database.
#[async_trait]
pub(crate) trait FleetOverview: Send + Sync {
    /// Notes what a server says of itself.
    async fn describe(&self, holder: &RunHolder, facts: &ServerFacts) -> Result<(), DatabaseError>;

    /// The servers, by their ids, at most `most`.
    async fn servers(&self, most: u64) -> Result<Vec<FleetServer>, DatabaseError>;

    /// The tenants with runs in the background that have no record yet, at most `most`.
    async fn queues(&self, most: u64) -> Result<Vec<TenantQueue>, DatabaseError>;
}

/// What a server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFacts {
    /// The name of its machine, or container.
    pub host: String,
    /// Its version of Wardian.
    pub version: String,
    /// Names the settings that servers of one fleet have in common.
    pub settings: String,
}

/// A server, as others see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetServer {
    /// Its id.
    pub server: String,
    /// The name of its machine, or container; none of an earlier version.
    pub host: Option<String>,
    /// Its version of Wardian; none of an earlier version.
    pub version: Option<String>,
    /// Names the settings that servers of one fleet have in common; none of an earlier version.
    pub settings: Option<String>,
    /// Counts its starts, and the times at which others took its runs over.
    pub epoch: u64,
    /// Milliseconds that are left of its lease: 0 once it has ended.
    pub lease_ms: u64,
    /// Runs that it is about to begin.
    pub claimed: u64,
    /// Runs in the background that it executes.
    pub begun: u64,
}

/// The runs in the background of a tenant that have no record yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TenantQueue {
    /// The tenant.
    pub tenant: String,
    /// Those that wait for a server.
    pub waiting: u64,
    /// Those that a server is about to begin.
    pub claimed: u64,
    /// Those that a server executes.
    pub begun: u64,
    /// Milliseconds for which the oldest of those has waited that have not begun; 0 without one.
    pub oldest_ms: u64,
}
