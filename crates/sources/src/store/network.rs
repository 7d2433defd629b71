//! How requests to a store are sent: within the bounds of a command, or by a server for as long as it runs.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::time::timeout;

use crate::error::SourceError;
use crate::network::{WebNetwork, WebRequest, named_by_operator, own_request, with_private_ranges};
use crate::web_url::WebUrl;
use wardian_egress::Egress;
use wardian_egress::config::{EgressConfig, NetworkLimits};
use wardian_egress::own_request::OwnResponse;
use wardian_egress::world::resolver::SystemResolver;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Time that a request of a server may take, with its answer.
const PATIENCE: Duration = Duration::from_mins(5);

/// Time without a byte after which a request is given up.
const STALLED: Duration = Duration::from_secs(20);

/// Sends requests to a store.
#[async_trait]
pub(super) trait StoreNetwork: fmt::Debug + Send + Sync + 'static {
    /// Sends a request once, and waits for the head of its answer. `named` is a URL whose host the user named.
    async fn send(&self, request: &WebRequest, named: &WebUrl) -> Result<OwnResponse, SourceError>;

    /// The next piece of a body; `None` at its end.
    async fn piece(&self, response: &mut OwnResponse) -> io::Result<Option<Bytes>>;
}

#[async_trait]
impl StoreNetwork for WebNetwork {
    async fn send(&self, request: &WebRequest, named: &WebUrl) -> Result<OwnResponse, SourceError> {
        Self::send(self, request, named).await
    }

    async fn piece(&self, response: &mut OwnResponse) -> io::Result<Option<Bytes>> {
        Self::piece(self, response).await
    }
}

/// The network of a server. The operator names the store, which may have a private address.
#[derive(Debug)]
pub(super) struct ServerNetwork {
    egress: Egress,
    /// Most bytes of a body.
    largest: ByteCount,
}

impl ServerNetwork {
    /// Sets the network up, for bodies of at most `largest` bytes.
    pub(super) fn new(config: &EgressConfig, largest: ByteCount) -> Result<Self, SourceError> {
        let config = with_private_ranges(EgressConfig { is_enabled: true, ..config.clone() });
        Ok(Self { egress: Egress::new(config, Arc::new(SystemResolver::default()))?, largest })
    }
}

#[async_trait]
impl StoreNetwork for ServerNetwork {
    async fn send(&self, request: &WebRequest, named: &WebUrl) -> Result<OwnResponse, SourceError> {
        let room = ByteCount::bytes(self.largest.as_u64().saturating_add(1 << 20));
        let limits = NetworkLimits {
            received: room,
            response_body: room,
            request_body: room,
            sent: room,
            request_timeout: PATIENCE,
            ..NetworkLimits::default()
        };
        let (policy, tenant) = (named_by_operator(named)?, TenantId::local());
        let sending = self.egress.send_own(&tenant, policy, limits, own_request(request));
        let network = |cause| SourceError::Network { url: request.url.named(), cause };
        Box::pin(sending).await.map_err(network)
    }

    async fn piece(&self, response: &mut OwnResponse) -> io::Result<Option<Bytes>> {
        let late = |_elapsed| io::Error::new(io::ErrorKind::TimedOut, "the store stalls");
        timeout(STALLED, response.piece()).await.map_err(late)?.map_err(io::Error::other)
    }
}
