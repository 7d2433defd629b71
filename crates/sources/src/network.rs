//! The network of one command: each request is checked by the rules of the gateway's own requests, and what all of them
//! receive and take is bounded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use ipnet::IpNet;
use tokio::time::timeout;

use crate::error::SourceError;
use crate::web_url::WebUrl;
use wardian_egress::Egress;
use wardian_egress::config::{EgressConfig, NetworkLimits};
use wardian_egress::error::{NetworkError, errno};
use wardian_egress::own_request::{OwnRequest, OwnResponse};
use wardian_egress::policy::RunPolicy;
use wardian_egress::world::resolver::SystemResolver;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

/// Bytes that all responses of one command may have.
const MAX_RECEIVED: u64 = 512 << 20;

/// Time that all requests of one command may take.
const PATIENCE: Duration = Duration::from_mins(10);

/// Time without a byte after which a source is given up.
const STALLED: Duration = Duration::from_mins(1);

/// Networks that a host may be in if the user allows private addresses. Those of clouds for their own machines
/// (169.254.0.0/16) are not among them.
const PRIVATE: [&str; 7] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
    "::1/128",
];

/// Where a redirect may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    /// To the same host: repositories and packages that have another name now.
    SameHost,
    /// To any public host, without credentials: content whose digest is known, in the store behind a registry.
    KnownContent,
}

/// A request.
#[derive(Debug)]
pub(crate) struct WebRequest {
    pub(crate) method: &'static str,
    pub(crate) url: WebUrl,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Vec<u8>,
    pub(crate) redirects: Redirects,
}

impl WebRequest {
    pub(crate) const fn get(url: WebUrl) -> Self {
        Self {
            method: "GET",
            url,
            headers: Vec::new(),
            authorization: None,
            body: Vec::new(),
            redirects: Redirects::SameHost,
        }
    }
}

/// How the user lets sources be reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct WebOptions {
    /// Whether hosts that the user names may have private addresses.
    pub allows_private: bool,
}

/// The network, and what is left of the bounds of the command.
#[derive(Debug)]
pub(crate) struct WebNetwork {
    public: Egress,
    private: Option<Egress>,
    left: AtomicU64,
    deadline: Instant,
}

impl WebNetwork {
    /// Sets the network up, with the operator's proxy, authorities and deny list.
    pub(crate) fn new(config: &EgressConfig, options: WebOptions) -> Result<Self, SourceError> {
        // What runs may do is another question: the user himself asks here.
        let public = EgressConfig { is_enabled: true, ..config.clone() };
        let private = options.allows_private.then(|| with_private_ranges(public.clone()));
        let resolver = || Arc::new(SystemResolver::default());
        Ok(Self {
            public: Egress::new(public, resolver())?,
            private: private.map(|config| Egress::new(config, resolver())).transpose()?,
            left: AtomicU64::new(MAX_RECEIVED),
            deadline: Instant::now().checked_add(PATIENCE).unwrap_or_else(Instant::now),
        })
    }

    /// Sends a request once, and waits for the head of its answer. `named` is a URL whose host the user named.
    pub(crate) async fn send(
        &self,
        request: &WebRequest,
        named: &WebUrl,
    ) -> Result<OwnResponse, SourceError> {
        let url = &request.url;
        let is_named = url.authority == named.authority;
        let egress = self.private.as_ref().filter(|_| is_named).unwrap_or(&self.public);
        let left = self.deadline.saturating_duration_since(Instant::now());
        let limits = self.limits(request, left);
        let (policy, tenant) = (named_by_operator(url)?, TenantId::local());
        let sending = egress.send_own(&tenant, policy, limits, own_request(request));
        let response = timeout(left, Box::pin(sending)).await;
        let response = response.map_err(|_elapsed| SourceError::Server {
            url: url.named(),
            problem: "took too long".to_owned(),
        })?;
        response.map_err(|cause| self.refusal(url, cause, is_named))
    }

    /// The next piece of a body; `None` at its end.
    pub(crate) async fn piece(&self, response: &mut OwnResponse) -> io::Result<Option<Bytes>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let late = |_elapsed| io::Error::other("the source took too long");
        let piece = timeout(left.min(STALLED), response.piece()).await.map_err(late)?;
        let piece = piece.map_err(io::Error::other)?;
        let size = piece.as_ref().map_or(0, Bytes::len);
        let size = u64::try_from(size).unwrap_or(u64::MAX);
        let take = |left: u64| left.checked_sub(size);
        let taken = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.map_err(|_left| io::Error::other("the source sends too much"))?;
        Ok(piece)
    }

    fn limits(&self, request: &WebRequest, left: Duration) -> NetworkLimits {
        let room = self.left.load(Ordering::Relaxed);
        let usual = NetworkLimits::default();
        // What is published was bounded before it was packed.
        let body = ByteCount::from(request.body.len());
        NetworkLimits {
            received: ByteCount::bytes(room.saturating_add(1 << 20)),
            response_body: ByteCount::bytes(room),
            request_body: body.max(usual.request_body),
            sent: ByteCount::bytes(body.as_u64().saturating_add(1 << 20)).max(usual.sent),
            first_byte_timeout: usual.first_byte_timeout.min(left),
            request_timeout: left,
            ..usual
        }
    }

    /// A failed request, with the way out if the address is the reason.
    fn refusal(&self, url: &WebUrl, cause: NetworkError, is_named: bool) -> SourceError {
        let may_help = is_named && self.private.is_none() && cause.errno() == errno::EACCES;
        let url = url.named();
        match may_help {
            true => SourceError::Server {
                url,
                problem: format!("{cause}, and so does `--allow-private` for this command"),
            },
            false => SourceError::Network { url, cause },
        }
    }
}

/// The same with hosts that may have private addresses.
pub(crate) fn with_private_ranges(mut config: EgressConfig) -> EgressConfig {
    let ranges = PRIVATE.iter().filter_map(|range| range.parse::<IpNet>().ok());
    config.private_ranges.extend(ranges);
    config
}

/// The rules of a request to the server of this URL.
pub(crate) fn named_by_operator(url: &WebUrl) -> Result<RunPolicy, SourceError> {
    let pattern = UrlPattern::parse_host_of_machine(&url.origin()).map_err(|invalid| {
        SourceError::NotASource(format!("`{}` {}", url.origin(), invalid.problem))
    })?;
    Ok(RunPolicy::of_operator(vec![pattern]))
}

/// The request as the gateway sends its own.
pub(crate) fn own_request(request: &WebRequest) -> OwnRequest {
    let mut headers = request.headers.clone();
    headers.push(("user-agent".to_owned(), user_agent()));
    if let Some(authorization) = &request.authorization {
        headers.push(("authorization".to_owned(), authorization.clone()));
    }
    let (method, url) = (request.method, request.url.to_string());
    OwnRequest { method, url, headers, body: request.body.clone() }
}

fn user_agent() -> String {
    // Servers of git answer with their protocol to clients that name it so.
    format!("git/wardian-{}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server on loopback that answers with this, and then neither goes on nor ends.
    fn stalling(answer: &'static str) -> WebUrl {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // An answer that comes before the request is no answer.
            let length = stream.read(&mut [0; 4_096]).unwrap();
            assert!(length > 0);
            stream.write_all(answer.as_bytes()).unwrap();
            // Until the client is gone.
            stream.read_to_end(&mut Vec::new()).ok();
        });
        WebUrl::parse(&format!("http://localhost:{port}/x")).unwrap().0
    }

    async fn read_to_end(network: &mut WebNetwork, url: &WebUrl) -> Result<(), SourceError> {
        let mut response = network.send(&WebRequest::get(url.clone()), url).await?;
        loop {
            let piece = network.piece(&mut response).await;
            if piece.map_err(|fault| SourceError::damaged("it", fault))?.is_none() {
                return Ok(());
            }
        }
    }

    #[test]
    fn a_server_that_stalls_is_given_up_when_the_time_of_the_command_is_over() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for answer in ["", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"] {
            let options = WebOptions { allows_private: true };
            let mut network = WebNetwork::new(&EgressConfig::default(), options).unwrap();
            network.deadline = Instant::now() + Duration::from_millis(500);
            let url = stalling(answer);
            let got = runtime.block_on(read_to_end(&mut network, &url));
            let told = got.unwrap_err().to_string();
            let is_late =
                ["too long", "timed out", "in time"].iter().any(|word| told.contains(word));
            assert!(is_late, "{told}");
        }
    }
}
