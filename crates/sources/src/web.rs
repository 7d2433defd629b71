//! Requests to sources, under the rules of the gateway's own requests: names resolve to public addresses, certificates
//! are checked, and each redirect is decided here.
//!
//! INVARIANT(named-private-only): with `allows_private`, only hosts that the user named may have private addresses. A
//! server cannot send the command to another one.
//!
//! INVARIANT(credentials-stay): credentials go to the hosts that the user gave them for, never along a redirect to
//! another one.

use std::io::{self, Read};
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use tokio::runtime::{Builder, Runtime};

use crate::error::{SourceError, shown};
use crate::network::{Redirects, WebNetwork, WebOptions, WebRequest};
use crate::store::settings::StoreSettings;
use crate::web_url::{UrlCredentials, WebUrl};
use wardian_egress::config::EgressConfig;
use wardian_egress::own_request::OwnResponse;

/// Redirects of one request.
const MAX_REDIRECTS: usize = 5;

/// The network as sources are reached over it. It blocks, so it belongs to no thread of an asynchronous program.
#[derive(Debug)]
pub struct Web {
    runtime: Runtime,
    network: Arc<WebNetwork>,
    /// The user's token, and the one origin that gets it.
    token: Option<(String, UrlCredentials)>,
    stores: StoreSettings,
}

impl Web {
    /// Sets the network up, with the operator's proxy, authorities and deny list. `stores` says how object stores are
    /// reached.
    ///
    /// # Errors
    ///
    /// The configuration is wrong, or the machine has no room for it.
    pub fn new(
        config: &EgressConfig,
        options: WebOptions,
        stores: StoreSettings,
    ) -> Result<Self, SourceError> {
        let own = |cause| SourceError::File { path: "the network".to_owned(), cause };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(own)?;
        let network = Arc::new(WebNetwork::new(config, options)?);
        Ok(Self { runtime, network, token: None, stores })
    }

    /// How object stores are reached.
    #[must_use]
    pub const fn stores(&self) -> &StoreSettings {
        &self.stores
    }

    pub(crate) const fn network(&self) -> &Arc<WebNetwork> {
        &self.network
    }

    /// Waits for what takes place on the network.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
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
            let response = self.wait(self.network.send(&request, named))?;
            let url = request.url.clone();
            let response = WebResponse { web: self, response, url, piece: Bytes::new() };
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
            let piece = self.web.wait(self.web.network.piece(&mut self.response))?;
            let Some(piece) = piece else { return Ok(0) };
            self.piece = piece;
        }
        let count = self.piece.len().min(buffer.len());
        self.piece.split_to(count).copy_to_slice(buffer.get_mut(..count).unwrap_or_default());
        Ok(count)
    }
}
