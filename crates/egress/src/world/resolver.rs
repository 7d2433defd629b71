//! Names to addresses.
//!
//! INVARIANT(absolute-names): a name means the same host wherever the gateway runs. The resolver of
//! the system is asked for it with a dot at its end, so that no search domain of the machine is
//! appended, or it is a name of the machine's own file of hosts.

use std::fmt::Debug;
use std::fs::File;
use std::future::Future;
use std::io::{self, BufRead, BufReader, Read as _};
use std::net::IpAddr;
use std::pin::Pin;

use tokio::net::lookup_host;

use crate::config::three_quarters;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::FairShare;

/// Look-ups of the system at one time; each takes a thread.
const MAX_LOOKUPS: usize = 32;

/// The file of hosts of the operating system.
const HOSTS: &str = "/etc/hosts";

/// The part of it that is read, in bytes. Lists against advertisements have several megabytes.
const MAX_HOSTS: u64 = 16 << 20;

/// The answer of a resolver, when it comes.
pub type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Finds the addresses of a name.
///
/// The gateway uses [`SystemResolver`]. Tests that build an [`Egress`](crate::Egress) may
/// pass another one. No configuration replaces it: a program that is tested from outside reaches
/// the servers of a test through a proxy instead.
pub trait Resolver: Debug + Send + Sync {
    /// Finds all addresses of `name`, in the order to try them, for a run of `tenant`.
    fn lookup<'a>(&'a self, tenant: &'a TenantId, name: &'a str) -> Lookup<'a>;

    /// Finds all addresses of a name or an address that the operator has written down, as every
    /// program of the machine would find them.
    fn lookup_of_operator<'a>(&'a self, tenant: &'a TenantId, name: &'a str) -> Lookup<'a> {
        self.lookup(tenant, name)
    }
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
            let is_local = is_local(name).await;
            self.ask(tenant, spelt(name, is_local)).await
        })
    }

    fn lookup_of_operator<'a>(&'a self, tenant: &'a TenantId, name: &'a str) -> Lookup<'a> {
        Box::pin(self.ask(tenant, name.to_owned()))
    }
}

impl SystemResolver {
    async fn ask(&self, tenant: &TenantId, name: String) -> io::Result<Vec<IpAddr>> {
        let permit = self.permits.acquire(tenant).await;
        // The task holds the permit: a look-up that nobody waits for any more still counts.
        let found = tokio::spawn(async move {
            let found = lookup_host((name, 0)).await;
            drop(permit);
            found.map(|found| found.map(|address| address.ip()).collect())
        });
        found.await.map_err(io::Error::other)?
    }
}

/// The spelling in which the system is asked for a name.
fn spelt(name: &str, is_local: bool) -> String {
    let dot = if is_local { "" } else { "." };
    format!("{name}{dot}")
}

/// True if the machine's own file of hosts names the host. The system does not look there for a name
/// with a dot at its end.
async fn is_local(name: &str) -> bool {
    let wanted = name.to_owned();
    let read = move || {
        // A machine without the file has no names in it.
        let Ok(file) = File::open(HOSTS) else { return false };
        names_host(BufReader::new(file.take(MAX_HOSTS)), &wanted)
    };
    tokio::task::spawn_blocking(read).await.unwrap_or(false)
}

/// True if a file of hosts has an address for `name`.
fn names_host(hosts: impl BufRead, name: &str) -> bool {
    hosts.lines().map_while(Result::ok).any(|line| {
        let mut words = line.split('#').next().unwrap_or_default().split_ascii_whitespace();
        let is_entry = words.next().is_some_and(|address| address.parse::<IpAddr>().is_ok());
        is_entry && words.any(|word| word.eq_ignore_ascii_case(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_names_unless_the_file_of_hosts_has_them_as_whole_words() {
        let hosts = "127.0.0.1\tlocalhost\n::1 ip6-localhost # api.example.com\n\
                     10.1.2.3  api.internal  Other.Internal\nnonsense x.y\n# 10.1.2.4 gone.internal\n";
        for name in ["localhost", "api.internal", "other.internal"] {
            assert!(names_host(hosts.as_bytes(), name), "{name}");
            assert_eq!(spelt(name, true), name);
        }
        for name in ["api.example.com", "x.y", "gone.internal", "internal", "api", "10.1.2.3", ""] {
            assert!(!names_host(hosts.as_bytes(), name), "{name}");
            assert_eq!(spelt(name, false), format!("{name}."));
        }
    }

    #[tokio::test]
    async fn an_operator_may_write_an_address() {
        let (resolver, tenant) = (SystemResolver::default(), TenantId::local());
        for address in ["127.0.0.1", "::1"] {
            let found = resolver.lookup_of_operator(&tenant, address).await.unwrap();
            assert_eq!(found, [address.parse::<IpAddr>().unwrap()]);
        }
    }

    #[tokio::test]
    async fn names_of_the_file_of_hosts_are_found() {
        let resolver = SystemResolver::default();
        let found = resolver.lookup(&TenantId::local(), "localhost").await.unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }
}
