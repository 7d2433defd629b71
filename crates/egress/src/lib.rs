//! Requests of guests to the world: the gateway checks each and sends it itself.
//!
//! A guest opens a byte stream to a host that its rules name. The stream ends in a parser of
//! HTTP/1.1 here. Each request is checked, rebuilt and sent over a connection that the gateway
//! made to an address that it checked, encrypted by the gateway, as HTTP/1.1 or HTTP/2. The
//! response goes back through the stream.
//!
//! ```text
//! guest -> network (operations) -> guest/pipe (bounded) -> guest/session (parser)
//!       -> policy (rules) -> rewrite (secrets) -> world (names, addresses, TLS, HTTP) -> server
//! ```
//!
//! The gateway sends requests of its own to servers of the operator (`own_request`), under the same
//! rules and without a guest.
//!
//! Knows nothing of runs, workers or skills but the patterns of a manifest. Follows no redirects:
//! the guest's library does, and each hop is a request that is checked.

pub mod config;
pub mod error;
pub mod guest;
pub mod meter;
mod names;
pub mod network;
pub mod own_request;
pub mod policy;
pub mod recorded;
pub mod rewrite;
pub mod scripted;
#[cfg(test)]
mod tests;
pub mod world;

use std::sync::Arc;

use crate::config::EgressConfig;
use crate::guest::session::World;
use crate::meter::Meter;
use crate::network::RunNetwork;
use crate::policy::RunPolicy;
use crate::policy::address::{AddressRules, NotPrivate};
use crate::policy::rules::NetworkRules;
use crate::recorded::Recording;
use crate::scripted::NetworkScript;
use crate::world::dial::Dialer;
use crate::world::resolver::Resolver;
use crate::world::tls::{Tls, TlsSetupError};
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::FairShare;

/// Why the network of guests cannot be set up: the operator's configuration is wrong.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// A range is not private.
    #[error(transparent)]
    PrivateRanges(#[from] NotPrivate),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// Heads have less room than the parser needs.
    #[error("the limit of heads is below 8 KiB")]
    SmallHeads,
}

/// Smallest buffer of the parser.
const MIN_HEAD: usize = 8 << 10;

/// The network of all guests of a gateway.
#[derive(Debug, Clone)]
pub struct Egress {
    config: EgressConfig,
    denied: Arc<[UrlPattern]>,
    world: Arc<World>,
}

impl Egress {
    /// Sets the network up. Reads the authorities of the system and of the operator.
    ///
    /// # Errors
    ///
    /// Says what is wrong in the configuration.
    pub fn new(config: EgressConfig, resolver: Arc<dyn Resolver>) -> Result<Self, EgressError> {
        if config.limits.head.as_usize() < MIN_HEAD {
            return Err(EgressError::SmallHeads);
        }
        let dialer = Dialer {
            resolver,
            addresses: AddressRules::new(&config.private_ranges)?,
            proxy: config.proxy.clone(),
        };
        let dialer = Arc::new(dialer);
        let tls = Arc::new(Tls::load(config.authorities.as_deref(), config.allows_unverified)?);
        let permits = FairShare::new(config.max_open_connections, config.most_of_tenant);
        let denied = Arc::from(config.denied.clone());
        let world = World { dialer, tls, permits, recording: None };
        Ok(Self { config, denied, world: Arc::new(world) })
    }

    /// The network of a run of `tenant` with these rules. Nothing happens before the guest asks.
    #[must_use]
    pub fn open(&self, tenant: &TenantId, policy: RunPolicy) -> RunNetwork {
        self.open_in(Arc::clone(&self.world), tenant, policy)
    }

    /// The network of a run whose requests are answered from `recording`. Rules and limits are
    /// those of every run.
    #[must_use]
    pub fn open_recorded(
        &self,
        tenant: &TenantId,
        policy: RunPolicy,
        recording: Arc<Recording>,
    ) -> RunNetwork {
        let World { dialer, tls, permits, .. } = &*self.world;
        let world = World {
            dialer: Arc::clone(dialer),
            tls: Arc::clone(tls),
            permits: permits.clone(),
            recording: Some(recording),
        };
        self.open_in(Arc::new(world), tenant, policy)
    }

    /// The network of a reproducible run: recorded under these rules, or replayed.
    #[must_use]
    pub fn open_scripted(
        &self,
        tenant: &TenantId,
        policy: RunPolicy,
        script: Arc<NetworkScript>,
    ) -> RunNetwork {
        self.open(tenant, policy).scripted(script)
    }

    fn open_in(&self, world: Arc<World>, tenant: &TenantId, policy: RunPolicy) -> RunNetwork {
        let rules = NetworkRules::new(policy, Arc::clone(&self.denied), self.config.is_enabled);
        RunNetwork::new(world, rules, Meter::new(tenant.clone(), self.config.limits))
    }
}
