//! Answers the requests of one connection from a recording.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::DuplexStream;

use crate::error::{NetworkError, errno};
use crate::policy::target::{Destination, RequestPath, RequestTarget, Transport};
use crate::recorded::Recording;
use crate::recorded::recording::SentRequest;
use crate::world::metered::FirstFailure;
use crate::world::upstream::MAX_HEADERS;

/// Headers that the server writes itself.
const FRAMING: [header::HeaderName; 3] =
    [header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION];

/// Where a connection leads to, and how.
#[derive(Debug)]
pub struct RecordedServer {
    pub recording: Arc<Recording>,
    pub destination: Destination,
    pub transport: Transport,
    /// Longest head, in bytes.
    pub(crate) max_head: usize,
    /// Longest body of a request, in bytes.
    pub max_body: usize,
    /// Receives the failure that the recording has, or that it has nothing.
    pub failure: FirstFailure,
}

/// The failure was noted and ends the connection.
#[derive(Debug, thiserror::Error)]
#[error("the recorded answer is a failure")]
struct RecordedFailure;

/// Serves `stream` until the other side closes it, or until an answer is a failure.
pub async fn serve(stream: DuplexStream, server: RecordedServer) {
    let mut builder = http1::Builder::new();
    builder
        .auto_date_header(false)
        .header_read_timeout(None)
        .max_headers(MAX_HEADERS)
        .max_buf_size(server.max_head);
    let server = Arc::new(server);
    let answer = service_fn(move |request| {
        let server = Arc::clone(&server);
        async move {
            let failure = server.failure.clone();
            server.answer(request).await.map_err(|error| {
                failure.set(error);
                RecordedFailure
            })
        }
    });
    // A failure was noted where it happened.
    drop(builder.serve_connection(TokioIo::new(stream), answer).await);
}

impl RecordedServer {
    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, NetworkError> {
        let malformed = || NetworkError::new(errno::EPROTO, "the request is malformed");
        let (head, body) = request.into_parts();
        let body = Limited::new(body, self.max_body).collect().await;
        let body = body.ok().ok_or_else(malformed)?.to_bytes();
        let path = head.uri.path_and_query().map_or("", |path| path.as_str());
        let target = RequestTarget {
            transport: self.transport,
            destination: self.destination.clone(),
            path: RequestPath::parse(path).ok().ok_or_else(malformed)?,
        };
        let sent = SentRequest {
            method: &head.method,
            target: &target,
            headers: &head.headers,
            body: &body,
        };
        let (status, headers, body) = self.recording.answer(&sent)?;
        let mut response = Response::new(Full::new(body.clone()));
        *response.status_mut() = status;
        *response.headers_mut() = headers.clone();
        for name in &FRAMING {
            response.headers_mut().remove(name);
        }
        Ok(response)
    }
}
