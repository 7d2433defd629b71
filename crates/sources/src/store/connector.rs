//! The network of sources as the library `object_store` uses it.
//!
//! Bodies come as a whole and within the bound of their request, so nothing that a store sends can be larger than what was
//! asked for. Only the headers that are needed are handed on.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, HOST, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use object_store::{ClientOptions, HeaderMap};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::error::SourceError;
use crate::network::WebRequest;
use crate::store::network::StoreNetwork;
use crate::store::trouble::{MAX_REFUSAL, StoreRefusal, StoreTrouble};
use crate::web_url::WebUrl;
use wardian_egress::error::errno;
use wardian_egress::own_request::OwnResponse;

/// Most bytes of the body of an answer; an extension of requests. Others than these have small answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyBound(pub(super) usize);

/// Lets the body of an answer come in pieces; an extension of requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamedBody;

/// Pieces of a body that wait for their reader.
const PIECES: usize = 4;

/// A body whose pieces come from a task.
struct Pieces(mpsc::Receiver<io::Result<Bytes>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let piece = ready!(self.0.poll_recv(context));
        Poll::Ready(piece.map(|piece| {
            piece
                .map(Frame::data)
                .map_err(|fault| HttpError::new(HttpErrorKind::Interrupted, fault))
        }))
    }
}

/// Sends the requests of one store.
#[derive(Debug, Clone)]
pub(super) struct StoreConnector {
    pub(super) network: Arc<dyn StoreNetwork>,
    /// The servers that the user's environment names.
    pub(super) named: Vec<WebUrl>,
    pub(super) is_signed: bool,
    pub(super) trouble: Arc<Mutex<Option<StoreTrouble>>>,
}

impl HttpConnector for StoreConnector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for StoreConnector {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        *self.trouble.lock() = None;
        self.exchange(request).await.map_err(|error| {
            let kind = kind_of(&error);
            let text = error.to_string();
            *self.trouble.lock() = Some(StoreTrouble { is_missing_object: false, error });
            HttpError::new(kind, io::Error::other(text))
        })
    }
}

impl StoreConnector {
    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, SourceError> {
        let (head, body) = request.into_parts();
        let (url, _) = WebUrl::parse(&head.uri.to_string())?;
        let strange =
            |problem: &str| SourceError::Server { url: url.named(), problem: problem.to_owned() };
        let named = self.named.iter().find(|one| one.origin() == url.origin());
        let named = named.ok_or_else(|| strange("is another server than the store's"))?;
        let method = match head.method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::DELETE => "DELETE",
            Method::PUT => "PUT",
            Method::POST => "POST",
            _ => return Err(strange("gets no such request")),
        };
        let body = body.collect().await.map_err(|_fault| strange("gets no such body"))?;
        let request = WebRequest {
            method,
            headers: headers_of(&head.headers),
            body: body.to_bytes().to_vec(),
            ..WebRequest::get(url.clone())
        };
        let most = head.extensions.get::<BodyBound>().map_or(MAX_REFUSAL, |bound| bound.0);
        let mut response = self.network.send(&request, named).await?;
        let status = StatusCode::from_u16(response.status())
            .map_err(|_fault| strange("answers with a status that is none"))?;
        if status.is_success() && head.extensions.get::<StreamedBody>().is_some() {
            return Ok(self.streamed(status, response));
        }
        if status.is_success() {
            let body = self.whole(&mut response, &url, most).await?;
            let body = body.ok_or_else(|| too_large(&url, most))?;
            return Ok(answer(status, &response, body));
        }
        let body = self.whole(&mut response, &url, MAX_REFUSAL).await?.unwrap_or_default();
        let region = response.header("x-amz-bucket-region");
        let (code, is_signed) = (status.as_u16(), self.is_signed);
        let refusal = StoreRefusal { url: &url, status: code, region, body: &body, is_signed };
        let trouble = refusal.trouble();
        // What the store says has been read, and the library tells this instead. A redirect is not followed.
        let told = trouble.error.to_string().into_bytes();
        *self.trouble.lock() = Some(trouble);
        Ok(answer(status, &response, told))
    }

    /// An answer whose body is handed on as it comes.
    fn streamed(&self, status: StatusCode, mut response: OwnResponse) -> HttpResponse {
        let (sender, pieces) = mpsc::channel(PIECES);
        let network = Arc::clone(&self.network);
        let length = response.header("content-length").map(str::to_owned);
        let mut head = answer(status, &response, Vec::new());
        if let Some(length) = length.and_then(|length| HeaderValue::from_str(&length).ok()) {
            head.headers_mut().insert(CONTENT_LENGTH, length);
        }
        let kind = response.header("content-type");
        if let Some(kind) = kind.and_then(|kind| HeaderValue::from_str(kind).ok()) {
            head.headers_mut().insert(CONTENT_TYPE, kind);
        }
        tokio::spawn(async move {
            loop {
                let piece = network.piece(&mut response).await.transpose();
                let Some(piece) = piece else { return };
                let is_last = piece.is_err();
                // Nobody reads on, if the receiver is gone.
                if sender.send(piece).await.is_err() || is_last {
                    return;
                }
            }
        });
        head.map(|_none| HttpResponseBody::new(Pieces(pieces)))
    }

    /// The body of an answer; `None` if it is larger than `most`.
    async fn whole(
        &self,
        response: &mut OwnResponse,
        url: &WebUrl,
        most: usize,
    ) -> Result<Option<Vec<u8>>, SourceError> {
        let mut whole = Vec::new();
        loop {
            let piece = self.network.piece(response).await;
            let broken = |fault: io::Error| SourceError::Server {
                url: url.named(),
                problem: format!("the answer breaks off: {fault}"),
            };
            let Some(piece) = piece.map_err(broken)? else { return Ok(Some(whole)) };
            if whole.len().saturating_add(piece.len()) > most {
                return Ok(None);
            }
            whole.extend_from_slice(&piece);
        }
    }
}

fn too_large(url: &WebUrl, most: usize) -> SourceError {
    SourceError::TooLarge(format!("{} answers with more than {} KiB", url.named(), most >> 10))
}

/// The headers of a request but for those that the network writes.
fn headers_of(headers: &HeaderMap) -> Vec<(String, String)> {
    let is_ours = |name: &HeaderName| *name != HOST && *name != CONTENT_LENGTH;
    let own = headers.iter().filter(|(name, _)| is_ours(name));
    own.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect()
}

/// The answer for the library, which wants a length and a tag of every object. The content is compared by who asked for it,
/// so a store may leave them out.
fn answer(status: StatusCode, response: &OwnResponse, body: Vec<u8>) -> HttpResponse {
    let tag = response.header("etag").and_then(|tag| HeaderValue::from_str(tag).ok());
    let length = HeaderValue::from(body.len());
    let mut answer = Response::new(HttpResponseBody::from(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(ETAG, tag.unwrap_or(HeaderValue::from_static("\"\"")));
    answer.headers_mut().insert(CONTENT_LENGTH, length);
    answer
}

/// Whether a request may be repeated. What the rules forbid stays forbidden.
fn kind_of(error: &SourceError) -> HttpErrorKind {
    match error {
        SourceError::Network { cause, .. } if cause.errno() == errno::EACCES => {
            HttpErrorKind::Unknown
        }
        SourceError::Network { .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    }
}
