//! Time-outs of a connection for headers and for the next request.
//!
//! hyper's own timeout for headers also closes idle connections. This stream sees all bytes and so
//! can tell the cases apart. It sees them without their encryption. The timeout for bodies is in
//! `net::body`, the one for answers in `connection::write_timeouts`.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::http::config::HttpConfig;
use crate::http::connection::alarm::Alarm;

/// Waiting for the first byte of a request.
const IDLE: u8 = 0;
/// Within the headers of a request.
const HEADERS: u8 = 1;
/// The request is being answered.
const BUSY: u8 = 2;
/// The answer is made; when it is written, the connection is idle.
const ANSWERED: u8 = 3;

/// The phase of a connection, shared by its stream, its service and the connection limit.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionPhase(Arc<SharedPhase>);

#[derive(Debug)]
struct SharedPhase {
    phase: AtomicU8,
    opened: Instant,
    /// The start of the wait for the client, in milliseconds since the connection was opened.
    waiting_since: AtomicU64,
    /// Notified when the connection becomes idle.
    rested: Arc<Notify>,
}

impl Default for ConnectionPhase {
    fn default() -> Self {
        Self::telling(Arc::default())
    }
}

impl ConnectionPhase {
    /// The phase of a new connection. Notifies `rested` whenever the connection becomes idle.
    pub(crate) fn telling(rested: Arc<Notify>) -> Self {
        let (phase, waiting_since) = (AtomicU8::new(IDLE), AtomicU64::new(0));
        Self(Arc::new(SharedPhase { phase, opened: Instant::now(), waiting_since, rested }))
    }

    /// Records that a request's headers are complete.
    pub(crate) fn begin_request(&self) {
        self.0.phase.store(BUSY, Ordering::Release);
    }

    /// Records that the answer to the request is made and handed over.
    pub(crate) fn end_request(&self) {
        self.0.phase.store(ANSWERED, Ordering::Release);
    }

    /// Returns the start of the wait for the client, or `None` if a request is being answered.
    pub(crate) fn waiting_since(&self) -> Option<Instant> {
        let milliseconds = self.0.waiting_since.load(Ordering::Acquire);
        let since = self.0.opened.checked_add(Duration::from_millis(milliseconds));
        since.filter(|_| matches!(self.now(), IDLE | HEADERS))
    }

    fn now(&self) -> u8 {
        self.0.phase.load(Ordering::Acquire)
    }

    /// Changes the phase to `to` if it is `from`. Returns true if it was.
    fn advance(&self, from: u8, to: u8) -> bool {
        let phase = &self.0.phase;
        phase.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Records that the answer is written, so the connection is idle.
    pub(crate) fn rest(&self) -> bool {
        let waited = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.waiting_since.store(waited, Ordering::Release);
        let is_resting = self.advance(ANSWERED, IDLE);
        if is_resting {
            self.0.rested.notify_one();
        }
        is_resting
    }
}

/// A stream with deadlines for requests.
#[derive(Debug)]
pub(crate) struct TimedStream<S> {
    stream: S,
    phase: ConnectionPhase,
    reading: Alarm,
    header_timeout: Duration,
    idle_timeout: Duration,
}

impl<S> TimedStream<S> {
    pub(crate) fn new(stream: S, phase: ConnectionPhase, config: &HttpConfig) -> Self {
        let mut reading = Alarm::default();
        // A new connection that sends nothing gets the header timeout, not the idle timeout.
        reading.set(config.header_timeout);
        let (header_timeout, idle_timeout) = (config.header_timeout, config.idle_timeout);
        Self { stream, phase, reading, header_timeout, idle_timeout }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let polled = Pin::new(&mut this.stream).poll_read(cx, buffer);
        match (&polled, this.phase.now()) {
            (Poll::Ready(_), IDLE) => {
                this.phase.advance(IDLE, HEADERS);
                this.reading.set(this.header_timeout);
                polled
            }
            (Poll::Pending, IDLE | HEADERS) => {
                let rung = this.reading.poll_rung(cx, Duration::ZERO);
                rung.map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            _ => polled,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// A flush means that an answer is written: hyper flushes only when its buffer is empty.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(cx));
        if self.phase.now() == ANSWERED && self.phase.rest() {
            let timeout = self.idle_timeout;
            self.reading.set(timeout);
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{sleep, timeout};

    use super::*;

    const HEADER: Duration = Duration::from_millis(20);
    const IDLE: Duration = Duration::from_millis(150);

    fn config() -> HttpConfig {
        HttpConfig {
            header_timeout: HEADER,
            idle_timeout: IDLE,
            ..HttpConfig::listening_on(([127, 0, 0, 1], 0).into())
        }
    }

    async fn time_until_timeout(stream: &mut (impl AsyncRead + Unpin)) -> Duration {
        let start = Instant::now();
        let error = stream.read_u8().await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        start.elapsed()
    }

    #[tokio::test]
    async fn a_silent_client_is_disconnected_after_the_header_timeout() {
        let (_client, server) = duplex(64);
        let mut stream = TimedStream::new(server, ConnectionPhase::default(), &config());
        assert!(time_until_timeout(&mut stream).await >= HEADER / 2);
    }

    #[tokio::test]
    async fn headers_have_one_deadline_however_often_a_byte_comes() {
        let (mut client, server) = duplex(1);
        let mut stream = TimedStream::new(server, ConnectionPhase::default(), &config());
        let drip = async {
            loop {
                sleep(Duration::from_millis(1)).await;
                client.write_u8(b'x').await.unwrap();
            }
        };
        let read = async {
            while stream.read_u8().await.is_ok() {}
            stream.read_u8().await.unwrap_err()
        };
        let error = tokio::select! { error = read => error, () = drip => unreachable!() };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn an_idle_connection_may_wait_longer_than_one_within_headers() {
        let (mut client, server) = duplex(64);
        let phase = ConnectionPhase::default();
        let mut stream = TimedStream::new(server, phase.clone(), &config());
        client.write_u8(b'x').await.unwrap();
        stream.read_u8().await.unwrap();
        phase.begin_request();
        phase.end_request();
        stream.write_all(b"answer").await.unwrap();
        stream.flush().await.unwrap();
        assert!(time_until_timeout(&mut stream).await >= IDLE);

        stream.phase.0.phase.store(HEADERS, Ordering::Release);
        assert!(stream.read_u8().await.is_err(), "the deadline has passed");
    }

    #[tokio::test]
    async fn a_request_that_is_being_answered_has_no_deadline_here() {
        let (_client, server) = duplex(64);
        let phase = ConnectionPhase::default();
        let mut stream = TimedStream::new(server, phase.clone(), &config());
        phase.begin_request();
        assert!(timeout(5 * HEADER, stream.read_u8()).await.is_err(), "it went on waiting");
    }
}
