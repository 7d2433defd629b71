//! Requests to one server of the operator. The rules of `egress` hold; answers come in bounded pieces.

use bytes::Bytes;
use tokio::time::{Instant, timeout_at};

use crate::fault::Fault;
use wardian_egress::Egress;
use wardian_egress::config::NetworkLimits;
use wardian_egress::own_request::{OwnRequest, OwnResponse};
use wardian_egress::policy::RunPolicy;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Bytes of heads and encryption that an answer may have beyond its body.
const BESIDE_BODY: u64 = 1 << 20;

/// Sends requests to one place.
#[derive(Debug, Clone)]
pub(crate) struct WebClient {
    egress: Egress,
    policy: RunPolicy,
}

/// How far an answer may go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerBound {
    /// The most bytes of its body.
    pub(crate) size: ByteCount,
    /// The end of its last byte.
    pub(crate) deadline: Instant,
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub(crate) struct WebAnswer {
    response: OwnResponse,
    bound: AnswerBound,
    taken: u64,
}

impl WebClient {
    /// A client of the server at `place`: an exact URL, or one with `/` at its end for all below it.
    pub(crate) fn new(egress: Egress, place: UrlPattern) -> Self {
        Self { egress, policy: RunPolicy::of_operator(vec![place]) }
    }

    /// Sends a request and waits for the head of its answer.
    ///
    /// Cancellation: the connection ends.
    pub(crate) async fn send(
        &self,
        tenant: &TenantId,
        request: OwnRequest,
        bound: AnswerBound,
    ) -> Result<WebAnswer, Fault> {
        let left = bound.deadline.saturating_duration_since(Instant::now());
        let usual = NetworkLimits::default();
        let limits = NetworkLimits {
            received: ByteCount::bytes(bound.size.as_u64().saturating_add(BESIDE_BODY)),
            response_body: bound.size,
            connect_timeout: usual.connect_timeout.min(left),
            first_byte_timeout: left,
            request_timeout: left,
            ..usual
        };
        let sending = self.egress.send_own(tenant, self.policy.clone(), limits, request);
        let response = timeout_at(bound.deadline, Box::pin(sending)).await;
        let response = response.map_err(|_elapsed| Fault::Late)??;
        Ok(WebAnswer { response, bound, taken: 0 })
    }
}

impl WebAnswer {
    pub(crate) const fn status(&self) -> u16 {
        self.response.status()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.header(name)
    }

    /// The kind of content, without its parameters.
    pub(crate) fn content_type(&self) -> String {
        let kind = self.header("content-type").unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, Fault> {
        let piece = timeout_at(self.bound.deadline, self.response.piece()).await;
        let piece = piece.map_err(|_elapsed| Fault::Late)??;
        let size = piece.as_ref().map_or(0, Bytes::len);
        self.taken = self.taken.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
        if self.taken > self.bound.size.as_u64() { Err(Fault::TooLarge) } else { Ok(piece) }
    }

    /// All of the body.
    pub(crate) async fn whole(&mut self) -> Result<Vec<u8>, Fault> {
        let mut whole = Vec::new();
        while let Some(piece) = self.piece().await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}
