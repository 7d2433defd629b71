//! A connection whose bytes are counted as they travel, and which breaks at the run's limit.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::error::NetworkError;
use crate::meter::{HostMeter, Meter};

/// The first reason for which a connection fails. Libraries report their own errors for what
/// follows from it.
#[derive(Debug, Clone, Default)]
pub struct FirstFailure(Arc<Mutex<Option<NetworkError>>>);

impl FirstFailure {
    pub(crate) fn set(&self, error: NetworkError) {
        self.0.lock().get_or_insert(error);
    }

    pub(crate) fn take(&self) -> Option<NetworkError> {
        self.0.lock().take()
    }
}

/// Counts of a run and one of its hosts, and where to say that a limit is reached.
#[derive(Debug, Clone)]
pub struct Counting {
    pub(crate) meter: Arc<Meter>,
    pub(crate) host: Arc<HostMeter>,
    pub(crate) failure: FirstFailure,
}

impl Counting {
    fn check(&self, counted: Result<(), NetworkError>) -> io::Result<()> {
        counted.map_err(|error| {
            self.failure.set(error);
            io::Error::from(io::ErrorKind::QuotaExceeded)
        })
    }
}

/// The counted connection.
#[derive(Debug)]
pub struct Metered<S> {
    pub(crate) stream: S,
    pub(crate) counting: Counting,
}

fn count(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        let arrived = count(buffer.filled().len().saturating_sub(before));
        let Counting { meter, host, .. } = &self.counting;
        Poll::Ready(self.counting.check(meter.add_received(host, arrived)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
        let Counting { meter, host, .. } = &self.counting;
        self.counting.check(meter.add_sent(host, count(written)))?;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
