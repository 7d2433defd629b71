//! Requests that the gateway sends for itself, to a server that the operator has configured: tools of such
//! servers, for example.
//!
//! A guest has no part in it. The gateway makes a connection for one request, and checks it like any of a run:
//! the deny list, the addresses of names, certificates, the share of connections, and the limits.
//!
//! INVARIANT(no-redirects): a redirect is a response like any other. So a server cannot send the gateway
//! elsewhere, and a request leaves only for what its policy grants.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::rt::Executor as _;
use hyper::{Method, Request, Response};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::Egress;
use crate::config::NetworkLimits;
use crate::error::{NetworkError, errno};
use crate::guest::body::{CutOff, ResponseBody};
use crate::guest::checked_request::{Exchange, GuestBody};
use crate::meter::Meter;
use crate::names::KnownNames;
use crate::policy::RunPolicy;
use crate::policy::rules::NetworkRules;
use crate::policy::target::{RequestTarget, Transport};
use crate::world::metered::{Counting, FirstFailure, Metered};
use crate::world::tasks::TaskScope;
use crate::world::tls::Demand;
use crate::world::upstream::{Driver, Upstream};
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::SharePermit;

/// A request of the gateway. `Debug` shows no values of headers and no body.
pub struct OwnRequest {
    /// The method, such as `POST`.
    pub method: &'static str,
    /// The whole URL.
    pub url: String,
    /// Names and values of headers besides `Host` and the length.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

impl fmt::Debug for OwnRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnRequest")
            .field("method", &self.method)
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// A response to the gateway, whose body comes in pieces. Dropping it ends the connection.
#[derive(Debug)]
pub struct OwnResponse {
    status: u16,
    headers: HeaderMap,
    body: ResponseBody,
    failure: FirstFailure,
    _exchange: Box<Exchange>,
    _tasks: TaskScope,
    _permit: SharePermit,
}

impl OwnResponse {
    /// The status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// The value of a header, if there is one that is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    ///
    /// The connection failed, or the body is larger than the limits allow.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, NetworkError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(CutOff)) => return Err(self.failure.take().unwrap_or_else(broken)),
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
            }
        }
    }
}

impl Egress {
    /// Sends a request of the gateway for `tenant`, and waits for the head of the response.
    ///
    /// Cancellation: the connection ends.
    ///
    /// # Errors
    ///
    /// What `policy` and the operator's rules do not allow, and failures of the network.
    pub async fn send_own(
        &self,
        tenant: &TenantId,
        policy: RunPolicy,
        limits: NetworkLimits,
        request: OwnRequest,
    ) -> Result<OwnResponse, NetworkError> {
        let rules = NetworkRules::new(policy, Arc::clone(&self.denied), self.config.is_enabled);
        let target = rules.check_url(&request.url)?;
        let meter = Arc::new(Meter::new(tenant.clone(), limits));
        meter.add_connection()?;
        let failure = FirstFailure::default();
        let counting = Counting {
            host: meter.host(Some(&target.destination.host)),
            meter,
            failure: failure.clone(),
        };
        let permit = timeout(limits.connect_timeout, self.world.permits.acquire(tenant)).await;
        let busy = || NetworkError::new(errno::EAGAIN, "the server has no connection left now");
        let permit = permit.ok().ok_or_else(busy)?;

        let tasks = TaskScope::new();
        let connecting = Box::pin(self.connect_to(&target, &counting, &tasks));
        let (upstream, driver) = connecting.await?;
        tasks.spawner().execute(async move { drop(driver.await) });

        let exchange = Exchange {
            rules: Arc::new(rules),
            counting,
            transport: target.transport,
            destination: target.destination.clone(),
            may_get_secrets: false,
            upstream: tokio::sync::Mutex::new(upstream),
            deadline: watch::channel(None).0,
        };
        let answered = Box::pin(exchange.answer(outgoing(request, &target)?)).await;
        let Ok(response) = answered else { return Err(failure.take().unwrap_or_else(broken)) };
        let (head, body) = Response::into_parts(response);
        Ok(OwnResponse {
            status: head.status.as_u16(),
            headers: head.headers,
            body,
            failure,
            _exchange: Box::new(exchange),
            _tasks: tasks,
            _permit: permit,
        })
    }

    /// Connects to the server of `target`, over TLS if its scheme says so.
    async fn connect_to(
        &self,
        target: &RequestTarget,
        counting: &Counting,
        tasks: &TaskScope,
    ) -> Result<(Upstream, Driver), NetworkError> {
        let (dialer, meter) = (&self.world.dialer, &counting.meter);
        let (to, limits) = (&target.destination, meter.limits());
        let within: Duration = limits.connect_timeout;
        let addresses = KnownNames::default().resolve(dialer, meter, &to.host).await?;
        let stream = dialer.connect(meter.tenant(), to, &addresses, within).await?;
        let stream = Metered { stream, counting: counting.clone() };
        let head = limits.head.as_usize();
        let opened = match target.transport {
            Transport::Http => Upstream::open_http1(stream, head).await,
            Transport::Https => {
                let demand = Demand { is_verified: true, authorities: Vec::new() };
                let connecting = timeout(within, self.world.tls.connect(stream, &to.host, &demand));
                let late = || NetworkError::timeout("the TLS handshake took too long");
                let stream = connecting.await.ok().ok_or_else(late)?.map_err(|error| {
                    let text = format!("no TLS connection to `{}`: {error}", to.host);
                    NetworkError::new(errno::EPROTO, text)
                })?;
                match stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                    true => Upstream::open_http2(stream, head, tasks.spawner()).await,
                    false => Upstream::open_http1(stream, head).await,
                }
            }
        };
        opened.ok().ok_or_else(broken)
    }
}

/// The request as an [`Exchange`] takes it: a path, and the host in its header.
fn outgoing(
    request: OwnRequest,
    target: &RequestTarget,
) -> Result<Request<GuestBody>, NetworkError> {
    let unusable = || NetworkError::new(errno::EINVAL, "the request cannot be written as HTTP");
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok().ok_or_else(unusable)?;
        let mut value = HeaderValue::from_str(&value).ok().ok_or_else(unusable)?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    let authority = target.destination.authority(target.transport);
    let host = HeaderValue::from_str(&authority).ok().ok_or_else(unusable)?;
    headers.insert(header::HOST, host);
    let method = Method::from_bytes(request.method.as_bytes()).ok().ok_or_else(unusable)?;
    let built = Request::builder().method(method).uri(target.path.as_str());
    let body = Either::Right(Full::new(Bytes::from(request.body)));
    let mut built = built.body(body).ok().ok_or_else(unusable)?;
    *built.headers_mut() = headers;
    Ok(built)
}

fn broken() -> NetworkError {
    NetworkError::new(errno::ECONNRESET, "Connection reset by peer")
}
