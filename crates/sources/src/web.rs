//! Requests to sources, under the rules of the gateway's own requests: names resolve to public addresses, certificates
//! are checked, and each redirect is decided here.
//!
//! INVARIANT(named-private-only): with `allows_private`, only hosts that the user named may have private addresses. A
//! server cannot send the command to another one.
//!
//! INVARIANT(credentials-stay): credentials go to the hosts that the user gave them for, never along a redirect to
//! another one.

use std::cell::Cell;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use ipnet::IpNet;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::error::{SourceError, shown};
use crate::web_url::{UrlCredentials, WebUrl};
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

/// Redirects of one request.
const MAX_REDIRECTS: usize = 5;

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

/// The network as sources are reached over it. It blocks, so it belongs to no thread of an asynchronous program.
#[derive(Debug)]
pub struct Web {
    runtime: Runtime,
    public: Egress,
    private: Option<Egress>,
    /// The user's token, and the one origin that gets it.
    token: Option<(String, UrlCredentials)>,
    left: Cell<u64>,
    deadline: Instant,
}

impl Web {
    /// Sets the network up, with the operator's proxy, authorities and deny list.
    ///
    /// # Errors
    ///
    /// The configuration is wrong, or the machine has no room for it.
    pub fn new(config: &EgressConfig, options: WebOptions) -> Result<Self, SourceError> {
        let own = |cause| SourceError::File { path: "the network".to_owned(), cause };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(own)?;
        // What runs may do is another question: the user himself asks here.
        let public = EgressConfig { is_enabled: true, ..config.clone() };
        let private = options.allows_private.then(|| {
            let mut private = public.clone();
            private
                .private_ranges
                .extend(PRIVATE.iter().filter_map(|range| range.parse::<IpNet>().ok()));
            private
        });
        let resolver = || Arc::new(SystemResolver::default());
        Ok(Self {
            public: Egress::new(public, resolver())?,
            private: private.map(|config| Egress::new(config, resolver())).transpose()?,
            runtime,
            token: None,
            left: Cell::new(MAX_RECEIVED),
            deadline: Instant::now().checked_add(PATIENCE).unwrap_or_else(Instant::now),
        })
    }

    /// Lets the server of `place` have the user's token, and no other one.
    pub fn bind_token(&mut self, place: &WebUrl, token: UrlCredentials) {
        self.token = Some((place.origin(), token));
    }

    /// The credentials for a source at `place`: those in its URL, else the user's token if it is for that server.
    pub(crate) fn credentials(
        &self,
        of_url: Option<&UrlCredentials>,
        place: &WebUrl,
    ) -> Option<UrlCredentials> {
        let token = self.token.as_ref().filter(|(origin, _)| *origin == place.origin());
        of_url.or(token.map(|(_, token)| token)).cloned()
    }

    /// Sends a request and waits for the head of its answer. `named` is a URL whose host the user named.
    pub(crate) fn send(
        &self,
        mut request: WebRequest,
        named: &WebUrl,
    ) -> Result<WebResponse<'_>, SourceError> {
        for _hop in 0..=MAX_REDIRECTS {
            let response = self.send_once(&request, named)?;
            if !matches!(response.status(), 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let location = response.header("location").unwrap_or_default().to_owned();
            let next = request.url.follow(&location)?;
            let is_same = next.authority == request.url.authority
                && next.is_encrypted == request.url.is_encrypted;
            if !is_same && request.redirects == Redirects::SameHost {
                return Err(SourceError::Server {
                    url: request.url.named(),
                    problem: format!(
                        "redirects to another host, `{}`: name that place itself if you trust it",
                        shown(&next.named())
                    ),
                });
            }
            if request.method != "GET" {
                let problem = "redirects a request that sends something".to_owned();
                return Err(SourceError::Server { url: request.url.named(), problem });
            }
            if !is_same {
                request.authorization = None;
            }
            request.url = next;
        }
        Err(SourceError::Server {
            url: request.url.named(),
            problem: "redirects too often".to_owned(),
        })
    }

    fn send_once(
        &self,
        request: &WebRequest,
        named: &WebUrl,
    ) -> Result<WebResponse<'_>, SourceError> {
        let url = &request.url;
        let is_named = url.authority == named.authority;
        let egress = self.private.as_ref().filter(|_| is_named).unwrap_or(&self.public);
        let pattern = UrlPattern::parse_host_of_machine(&url.origin()).map_err(|invalid| {
            SourceError::NotASource(format!("`{}` {}", url.origin(), invalid.problem))
        })?;
        let mut headers = request.headers.clone();
        headers.push(("user-agent".to_owned(), user_agent()));
        if let Some(authorization) = &request.authorization {
            headers.push(("authorization".to_owned(), authorization.clone()));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let most = ByteCount::bytes(self.left.get());
        let usual = NetworkLimits::default();
        // What is published was bounded before it was packed.
        let body = ByteCount::from(request.body.len());
        let limits = NetworkLimits {
            received: ByteCount::bytes(self.left.get().saturating_add(1 << 20)),
            response_body: most,
            request_body: body.max(usual.request_body),
            sent: ByteCount::bytes(body.as_u64().saturating_add(1 << 20)).max(usual.sent),
            first_byte_timeout: usual.first_byte_timeout.min(left),
            request_timeout: left,
            ..usual
        };
        let own = OwnRequest {
            method: request.method,
            url: url.to_string(),
            headers,
            body: request.body.clone(),
        };
        let (policy, tenant) = (RunPolicy::of_operator(vec![pattern]), TenantId::local());
        let sending = egress.send_own(&tenant, policy, limits, own);
        let limited = async { timeout(left, Box::pin(sending)).await };
        let response = self.runtime.block_on(limited).map_err(|_elapsed| SourceError::Server {
            url: url.named(),
            problem: "took too long".to_owned(),
        })?;
        let response = response.map_err(|cause| self.refusal(url, cause, is_named))?;
        Ok(WebResponse { web: self, response, url: url.clone(), piece: Bytes::new() })
    }
}

impl Web {
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

fn user_agent() -> String {
    // Servers of git answer with their protocol to clients that name it so.
    format!("git/wardian-{}", env!("CARGO_PKG_VERSION"))
}

/// An answer, whose body is read as it comes.
#[derive(Debug)]
pub(crate) struct WebResponse<'w> {
    web: &'w Web,
    response: OwnResponse,
    /// The place that answered, after redirects.
    url: WebUrl,
    piece: Bytes,
}

impl WebResponse<'_> {
    pub(crate) const fn status(&self) -> u16 {
        self.response.status()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.header(name)
    }

    pub(crate) const fn url(&self) -> &WebUrl {
        &self.url
    }

    /// The kind of content, without its parameters.
    pub(crate) fn content_type(&self) -> String {
        let kind = self.header("content-type").unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// Refuses every answer but 200.
    pub(crate) fn expect_ok(self) -> Result<Self, SourceError> {
        let problem = match self.status() {
            200 => return Ok(self),
            401 | 403 => {
                "asks for other credentials (401 or 403): if it is private, give a token with \
                          `--token-file` or WARDIAN_SOURCE_TOKEN"
                    .to_owned()
            }
            404 => "does not exist, or is private (404)".to_owned(),
            status => format!("answers with status {status}"),
        };
        Err(SourceError::Server { url: self.url.named(), problem })
    }

    /// All of a body of at most `most` bytes.
    pub(crate) fn whole(mut self, most: u64) -> Result<Vec<u8>, SourceError> {
        let mut whole = Vec::new();
        let url = self.url.named();
        let read = (&mut self).take(most.saturating_add(1)).read_to_end(&mut whole);
        read.map_err(|fault| SourceError::Server {
            url: url.clone(),
            problem: shown(&fault.to_string()),
        })?;
        if u64::try_from(whole.len()).unwrap_or(u64::MAX) > most {
            let problem = format!("answers with more than {} KiB", most >> 10);
            return Err(SourceError::Server { url, problem });
        }
        Ok(whole)
    }
}

impl Read for WebResponse<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let left = self.web.deadline.saturating_duration_since(Instant::now());
            let response = &mut self.response;
            let next = async { timeout(left.min(STALLED), response.piece()).await };
            let piece = self.web.runtime.block_on(next);
            let late = |_elapsed| io::Error::other("the source took too long");
            let piece = piece.map_err(late)?.map_err(io::Error::other)?;
            let Some(piece) = piece else { return Ok(0) };
            let size = u64::try_from(piece.len()).unwrap_or(u64::MAX);
            let left = self.web.left.get().checked_sub(size);
            let left = left.ok_or_else(|| io::Error::other("the source sends too much"))?;
            self.web.left.set(left);
            self.piece = piece;
        }
        let count = self.piece.len().min(buffer.len());
        self.piece.split_to(count).copy_to_slice(buffer.get_mut(..count).unwrap_or_default());
        Ok(count)
    }
}
