//! One request of a guest, from its head to the head of the response.
//!
//! A guest follows redirects itself, so the target of each one is a further request, which is checked
//! here like the first.
//!
//! INVARIANT(every-request): each request on a connection is checked by itself, with the path that
//! is sent and the name that the connection was granted for. The gateway rebuilds the request;
//! of the guest's head only the method, the path and headers from end to end are left.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::timeout_at;

use crate::error::{NetworkError, errno};
use crate::guest::body::{
    BodyAllowance, CutOff, RequestBody, RequestDeadline, ResponseBody, too_large,
};
use crate::guest::failure::no_response;
use crate::policy::rules::NetworkRules;
use crate::policy::target::{Destination, RequestPath, RequestTarget, Transport};
use crate::rewrite::{MAX_REWRITTEN_BODY, RequestRewriter, ResponseFilter};
use crate::world::metered::Counting;
use crate::world::upstream::Upstream;

/// Headers that concern one connection, not the message.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("http2-settings"),
];

/// Passes requests of one connection on.
#[derive(Debug)]
pub struct Exchange {
    pub(crate) rules: Arc<NetworkRules>,
    pub(crate) counting: Counting,
    pub(crate) transport: Transport,
    pub(crate) destination: Destination,
    /// False if nobody knows who the server is.
    pub(crate) may_get_secrets: bool,
    pub(crate) upstream: tokio::sync::Mutex<Upstream>,
    pub(crate) deadline: watch::Sender<Option<Instant>>,
}

/// The body of a guest's request: as it arrives, or as a whole.
pub(crate) type GuestBody = Either<Incoming, Full<Bytes>>;

/// Why there is no response: a failure, or a server that said nothing.
type NoResponse = Option<NetworkError>;

impl Exchange {
    /// Answers a request. An error ends the connection; its reason is the connection's first
    /// failure.
    pub(crate) async fn answer(
        &self,
        request: Request<GuestBody>,
    ) -> Result<Response<ResponseBody>, CutOff> {
        self.pass_on(request).await.map_err(|reason| {
            if let Some(reason) = reason {
                self.counting.failure.set(reason);
            }
            CutOff
        })
    }

    async fn pass_on(
        &self,
        request: Request<GuestBody>,
    ) -> Result<Response<ResponseBody>, NoResponse> {
        let limits = *self.counting.meter.limits();
        let target = self.checked_target(&request).inspect_err(|error| self.note(error))?;
        self.counting.meter.add_request(&self.counting.host)?;
        let until = Instant::now() + limits.request_timeout;
        let deadline = RequestDeadline::start(&self.deadline, until);
        let is_head = request.method() == Method::HEAD;
        let last_sent = Arc::new(Mutex::new(Instant::now()));
        let mut upstream = self.upstream.lock().await;
        let rewriter = self.rules.rewriter().filter(|_| self.may_get_secrets);
        let filter = rewriter.and_then(|rewriter| rewriter.response_filter(&target));
        let mut request = request;
        if filter.is_some() {
            ask_for_the_whole(request.headers_mut());
        }
        let outgoing = self.outgoing(request, &target, upstream.is_http2(), &last_sent).await?;

        let mut sending = Box::pin(upstream.send(outgoing));
        let response = loop {
            let until = *last_sent.lock() + limits.first_byte_timeout;
            if let Ok(response) = timeout_at(until.into(), &mut sending).await {
                break response;
            }
            if *last_sent.lock() + limits.first_byte_timeout <= Instant::now() {
                return Err(Some(NetworkError::timeout("the server did not answer in time")));
            }
        };
        let response = response.map_err(|error| no_response(&error))?;
        let mut response = self.returned(response, is_head, deadline)?;
        if let Some(filter) = filter {
            filter_head(filter.as_ref(), &mut response);
            if !is_head {
                response.body_mut().filter = Some(filter);
            }
        }
        Ok(response)
    }

    /// Counts what rules refuse.
    fn note(&self, error: &NetworkError) {
        if error.errno() == errno::EACCES {
            self.counting.meter.add_refusal(Some(&self.destination.host));
        }
    }

    fn checked_target(&self, request: &Request<GuestBody>) -> Result<RequestTarget, NetworkError> {
        let host = &self.destination.host;
        let uri = request.uri();
        if matches!(*request.method(), Method::CONNECT | Method::TRACE) {
            let text = format!("the method {} is never sent", request.method());
            return Err(NetworkError::denied(text));
        }
        if uri.scheme().is_some() || uri.authority().is_some() {
            let text =
                format!("requests to `{host}` must have a path, not a URL: this is not a proxy");
            return Err(NetworkError::denied(text));
        }
        let mut names = request.headers().get_all(header::HOST).iter();
        let name = names.next().and_then(|name| name.to_str().ok());
        if names.next().is_some() || !name.is_some_and(|name| self.destination.is_named_by(name)) {
            let text = format!(
                "the connection was granted for `{host}`: the header `Host` must name that host"
            );
            return Err(NetworkError::denied(text));
        }
        let path = uri.path_and_query().map_or("", |path| path.as_str());
        let path = RequestPath::parse(path).map_err(|invalid| {
            NetworkError::denied(format!("the request to `{host}` {invalid}"))
        })?;
        let target = RequestTarget {
            transport: self.transport,
            destination: self.destination.clone(),
            path,
        };
        self.rules.check_request(&target)?;
        Ok(target)
    }

    /// The request as it is sent.
    async fn outgoing(
        &self,
        request: Request<GuestBody>,
        target: &RequestTarget,
        is_http2: bool,
        last_sent: &Arc<Mutex<Instant>>,
    ) -> Result<Request<RequestBody>, NetworkError> {
        let limit = self.counting.meter.limits().request_body.as_u64();
        let (mut head, mut body) = request.into_parts();
        if body.size_hint().lower() > limit {
            return Err(too_large("request"));
        }
        drop_hop_by_hop(&mut head.headers);
        head.headers.remove(header::HOST);
        head.headers.remove(header::EXPECT);
        let has_length = body.is_end_stream() || body.size_hint().exact().is_some();
        let mut rewriting = None;
        if let Some(rewriter) = self.rules.rewriter().filter(|_| self.may_get_secrets) {
            rewrite_headers(rewriter.as_ref(), target, &mut head.headers)?;
            if rewriter.rewrites_body(target) {
                rewriting = self.rules.begin_rewriting().await;
                let whole = rewritten_body(rewriter.as_ref(), target, body).await?;
                if head.headers.contains_key(header::CONTENT_LENGTH) {
                    head.headers.insert(header::CONTENT_LENGTH, whole.len().into());
                }
                body = Either::Right(Full::new(whole));
            }
        }
        let authority = self.destination.authority(self.transport);
        let malformed = || NetworkError::new(errno::EPROTO, "the request is malformed");
        if is_http2 {
            let uri = format!("{}://{authority}{}", self.transport.as_str(), target.path.as_str());
            head.uri = uri.parse::<Uri>().ok().ok_or_else(malformed)?;
            head.version = Version::HTTP_2;
        } else {
            let host = HeaderValue::from_str(&authority).ok().ok_or_else(malformed)?;
            head.headers.insert(header::HOST, host);
            if !has_length && matches!(body, Either::Left(_)) {
                let chunked = HeaderValue::from_static("chunked");
                head.headers.insert(header::TRANSFER_ENCODING, chunked);
            }
            head.version = Version::HTTP_11;
        }
        let allowed = BodyAllowance::new(limit, "request", self.counting.failure.clone());
        let body =
            RequestBody { body, allowed, last_sent: Arc::clone(last_sent), _rewriting: rewriting };
        Ok(Request::from_parts(head, body))
    }

    /// The response as the guest gets it.
    fn returned(
        &self,
        response: Response<Incoming>,
        is_head: bool,
        deadline: RequestDeadline,
    ) -> Result<Response<ResponseBody>, NetworkError> {
        let limit = self.counting.meter.limits().response_body.as_u64();
        let (mut head, body) = response.into_parts();
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            let text = "the server switched protocols, which is not supported";
            return Err(NetworkError::new(errno::EPROTO, text));
        }
        if !is_head && body.size_hint().lower() > limit {
            return Err(too_large("response"));
        }
        if head.version != Version::HTTP_2 {
            check_framing(&mut head.headers)?;
        }
        if !is_head && body.is_end_stream() {
            // A status without a body may come with the length of another response.
            head.headers.remove(header::CONTENT_LENGTH);
        }
        let is_last = head.version == Version::HTTP_10 || has_token(&head.headers, "close");
        drop_hop_by_hop(&mut head.headers);
        if is_last {
            head.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        head.version = Version::HTTP_11;
        let allowed = BodyAllowance::new(limit, "response", self.counting.failure.clone());
        Ok(Response::from_parts(
            head,
            ResponseBody { body, allowed, filter: None, _deadline: deadline },
        ))
    }
}

/// True if `Connection` lists `token`.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    let tokens = values.filter_map(|value| value.to_str().ok()).flat_map(|text| text.split(','));
    tokens.into_iter().any(|listed| listed.trim().eq_ignore_ascii_case(token))
}

/// Drops headers that concern one connection: the known ones, those that `Connection` lists, and
/// those for proxies.
fn drop_hop_by_hop(headers: &mut HeaderMap) {
    // Framing is decided again, so nobody can ask to drop its headers.
    let is_framing = |name: &str| name == "content-length" || name == "host";
    let listed: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .filter(|name| !is_framing(name.as_str()))
        .collect();
    let for_proxies = headers.keys().filter(|name| name.as_str().starts_with("proxy-"));
    let for_proxies: Vec<HeaderName> = for_proxies.cloned().collect();
    for name in listed.iter().chain(&for_proxies).chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

/// Asks for a response that a filter can look at: what is compressed cannot be read, and a part
/// could show a part of a value, which nothing recognises.
fn ask_for_the_whole(headers: &mut HeaderMap) {
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.remove(header::RANGE);
    headers.remove(header::IF_RANGE);
}

/// Checks that a response of HTTP/1 has one length, so that its end means the same to everybody.
/// Equal lengths become one (RFC 9110, 8.6).
///
/// The parser lets `Transfer-Encoding` win over a length, and reads any last coding but `chunked`
/// to the end of the connection. The first is how responses are smuggled past one reader to
/// another, and the second would reach the program as content.
fn check_framing(headers: &mut HeaderMap) -> Result<(), NetworkError> {
    let malformed = |text: &'static str| Err(NetworkError::new(errno::EPROTO, text));
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if headers.contains_key(header::CONTENT_LENGTH) {
            return malformed("the server's response has a length and a transfer coding");
        }
        if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return malformed("the server's response has a transfer coding other than `chunked`");
        }
        return Ok(());
    }
    let lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    let mut lengths = lengths.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    let Some(first) = lengths.next().map(<[u8]>::trim_ascii) else { return Ok(()) };
    let is_number = !first.is_empty() && first.iter().all(u8::is_ascii_digit);
    let length = std::str::from_utf8(first).ok().and_then(|digits| digits.parse::<u64>().ok());
    match length.filter(|_| is_number && lengths.all(|other| other.trim_ascii() == first)) {
        Some(length) => {
            headers.insert(header::CONTENT_LENGTH, length.into());
            Ok(())
        }
        None => malformed("the server's response has conflicting lengths"),
    }
}

/// Lets a rewriter change headers.
fn rewrite_headers(
    rewriter: &dyn RequestRewriter,
    target: &RequestTarget,
    headers: &mut HeaderMap,
) -> Result<(), NetworkError> {
    for (name, value) in headers.iter_mut() {
        let Some(other) = rewriter.rewrite_header(target, name.as_str(), value.as_bytes()) else {
            continue;
        };
        // The text must not show the value.
        let unusable =
            || NetworkError::new(errno::EINVAL, "a secret cannot be represented in a header");
        *value = HeaderValue::from_bytes(&other).ok().ok_or_else(unusable)?;
        value.set_sensitive(true);
    }
    Ok(())
}

/// Lets a filter look at the head of a response. The text besides the status is dropped.
fn filter_head(filter: &dyn ResponseFilter, response: &mut Response<ResponseBody>) {
    response.extensions_mut().clear();
    let headers = response.headers_mut();
    let unnamed = headers.keys().filter(|name| filter.header(name.as_str().as_bytes()).is_some());
    for name in unnamed.cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
    for value in headers.values_mut() {
        if let Some(other) = filter.header(value.as_bytes()) {
            let other = HeaderValue::from_bytes(&other);
            *value = other.unwrap_or_else(|_invalid| HeaderValue::from_static(""));
        }
    }
}

async fn rewritten_body(
    rewriter: &dyn RequestRewriter,
    target: &RequestTarget,
    body: GuestBody,
) -> Result<Bytes, NetworkError> {
    let collected = Limited::new(body, MAX_REWRITTEN_BODY).collect().await;
    let collected = collected.ok().ok_or_else(|| too_large("request"))?;
    Ok(rewriter.rewrite_body(target, collected.to_bytes().to_vec()).into())
}
