//! Connections to addresses that were checked.
//!
//! INVARIANT(checked-address): a connection leads to the very address that was checked. If one of
//! the addresses of a name may not be reached, none is.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::config::ProxyAddress;
use crate::error::{NetworkError, errno};
use crate::policy::address::AddressRules;
use crate::policy::target::{Destination, HostName};
use crate::world::resolver::{Lookup, Resolver};
use wardian_vocabulary::ids::TenantId;

/// Addresses of a name that are tried.
const MAX_ADDRESSES: usize = 8;

/// Largest answer of a proxy to CONNECT.
const MAX_PROXY_HEAD: usize = 8 << 10;

/// Makes connections.
#[derive(Debug)]
pub(crate) struct Dialer {
    pub resolver: Arc<dyn Resolver>,
    pub addresses: AddressRules,
    pub proxy: Option<ProxyAddress>,
}

impl Dialer {
    /// Finds the addresses of `host` and checks them all. With a proxy there is nothing to find:
    /// the proxy looks names up.
    pub(crate) async fn resolve(
        &self,
        tenant: &TenantId,
        host: &HostName,
        within: Duration,
    ) -> Result<Vec<IpAddr>, NetworkError> {
        if self.proxy.is_some() {
            return Ok(Vec::new());
        }
        let mut found = found_in(self.resolver.lookup(tenant, host.as_str()), within).await?;
        if !found.iter().all(|address| self.addresses.allow(*address)) {
            return Err(NetworkError::denied(format!(
                "`{host}` resolves to an address that is not public; the operator's setting \
                 `network.private_ranges` can grant private ones"
            )));
        }
        found.truncate(MAX_ADDRESSES);
        Ok(found)
    }

    /// Connects to one of `addresses`, which [`resolve`](Self::resolve) checked, or through the
    /// proxy.
    pub(crate) async fn connect(
        &self,
        tenant: &TenantId,
        to: &Destination,
        addresses: &[IpAddr],
        within: Duration,
    ) -> Result<TcpStream, NetworkError> {
        let connecting = async {
            let Some(proxy) = &self.proxy else {
                return connect_to_any(addresses, to.port).await;
            };
            // The operator named the proxy, so its address is not checked.
            let looking = self.resolver.lookup_of_operator(tenant, proxy.host());
            let addresses = found_in(looking, within).await?;
            let mut stream = connect_to_any(&addresses, proxy.port()).await?;
            open_tunnel(&mut stream, proxy, to).await?;
            Ok(stream)
        };
        let late = || NetworkError::timeout("Connection timed out");
        timeout(within, connecting).await.unwrap_or_else(|_| Err(late()))
    }
}

/// The answer of a resolver, if it comes in time and has addresses.
async fn found_in(looking: Lookup<'_>, within: Duration) -> Result<Vec<IpAddr>, NetworkError> {
    match timeout(within, looking).await {
        Err(_) => Err(NetworkError::timeout("the name could not be looked up in time")),
        Ok(Ok(found)) if !found.is_empty() => Ok(found),
        Ok(_) => Err(NetworkError::new(errno::EHOSTUNREACH, "Name or service not known")),
    }
}

async fn connect_to_any(addresses: &[IpAddr], port: u16) -> Result<TcpStream, NetworkError> {
    let mut last = NetworkError::of_io(&io::ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        match TcpStream::connect(SocketAddr::new(*address, port)).await {
            Ok(stream) => {
                // Small requests go out at once; without it they only go out later.
                drop(stream.set_nodelay(true));
                return Ok(stream);
            }
            Err(error) => last = NetworkError::of_io(&error),
        }
    }
    Err(last)
}

/// Asks the proxy for a tunnel. Reads byte by byte: what follows the head belongs to the tunnel.
async fn open_tunnel(
    stream: &mut TcpStream,
    proxy: &ProxyAddress,
    to: &Destination,
) -> Result<(), NetworkError> {
    let broken = |error: io::Error| NetworkError::of_io(&error);
    stream.write_all(proxy.connect_head(to).as_bytes()).await.map_err(broken)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_PROXY_HEAD {
            return Err(NetworkError::new(errno::EPROTO, "the proxy's answer is too long"));
        }
        head.push(stream.read_u8().await.map_err(broken)?);
    }
    let status = head.get(9..12).filter(|_| head.starts_with(b"HTTP/1."));
    match status {
        Some(status) if status.starts_with(b"2") => Ok(()),
        Some(status) => {
            let status = String::from_utf8_lossy(status);
            let text = format!("the server's proxy refused the connection with status {status}");
            Err(NetworkError::new(errno::ECONNREFUSED, text))
        }
        None => Err(NetworkError::new(errno::EPROTO, "the proxy does not speak HTTP")),
    }
}
