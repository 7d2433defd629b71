//! HTTP to a server, version 1.1 or 2, over a connection that stands.

use std::future::Future;
use std::pin::Pin;

use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::guest::body::RequestBody;
use crate::world::tasks::Spawner;

/// Lines of a head; more are an error.
pub(crate) const MAX_HEADERS: usize = 256;

/// Bytes that HTTP/2 may have under way for one response.
const WINDOW: u32 = 256 << 10;

/// Works off a connection until it ends.
pub(crate) type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// A way to send requests.
#[derive(Debug)]
pub(crate) enum Upstream {
    Http1(http1::SendRequest<RequestBody>),
    Http2(http2::SendRequest<RequestBody>),
}

impl Upstream {
    pub(crate) async fn open_http1<S>(stream: S, head: usize) -> hyper::Result<(Self, Driver)>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut builder = http1::Builder::new();
        builder.max_buf_size(head).max_headers(MAX_HEADERS);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        Ok((Self::Http1(sender), Box::pin(connection)))
    }

    pub(crate) async fn open_http2<S>(
        stream: S,
        head: usize,
        spawner: &Spawner,
    ) -> hyper::Result<(Self, Driver)>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut builder = http2::Builder::new(spawner.clone());
        builder
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .max_header_list_size(u32::try_from(head).unwrap_or(u32::MAX))
            .max_send_buf_size(64 << 10)
            .max_concurrent_reset_streams(8);
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await?;
        Ok((Self::Http2(sender), Box::pin(connection)))
    }

    /// True if no request can be sent any more.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::Http1(sender) => sender.is_closed(),
            Self::Http2(sender) => sender.is_closed(),
        }
    }

    pub(crate) const fn is_http2(&self) -> bool {
        matches!(self, Self::Http2(_))
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> hyper::Result<Response<Incoming>> {
        match self {
            Self::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Self::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}
