//! Names to addresses.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

use tokio::net::lookup_host;

use crate::egress::config::three_quarters;
use crate::ids::TenantId;
use crate::quotas::FairShare;

/// Look-ups of the system at one time; each takes a thread.
const MAX_LOOKUPS: usize = 32;

/// The answer of a resolver, when it comes.
pub type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name.
///
/// The gateway uses [`SystemResolver`]. Tests that build an [`Egress`](crate::egress::Egress) may
/// pass another one. No configuration replaces it: a program that is tested from outside reaches
/// the servers of a test through a proxy instead.
pub trait Resolver: Debug + Send + Sync {
    /// Finds all addresses of `name`, in the order to try them, for a run of `tenant`.
    fn lookup<'a>(&'a self, tenant: &'a TenantId, name: &'a str) -> Lookup<'a>;
}

/// The resolver of the operating system. Tenants share its threads.
#[derive(Debug)]
pub struct SystemResolver {
    permits: FairShare,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { permits: FairShare::new(MAX_LOOKUPS, three_quarters(MAX_LOOKUPS)) }
    }
}

impl Resolver for SystemResolver {
    fn lookup<'a>(&'a self, tenant: &'a TenantId, name: &'a str) -> Lookup<'a> {
        Box::pin(async move {
            let permit = self.permits.acquire(tenant).await;
            let name = name.to_owned();
            // The task holds the permit: a look-up that nobody waits for any more still counts.
            let found = tokio::spawn(async move {
                let found = lookup_host((name.as_str(), 0)).await;
                drop(permit);
                found.map(|found| found.map(|address| address.ip()).collect())
            });
            found.await.map_err(io::Error::other)?
        })
    }
}
