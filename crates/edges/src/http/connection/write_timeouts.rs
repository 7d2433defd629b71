//! Time-outs of a connection for a client that does not take its answer.
//!
//! hyper has no timeout for answers. This stream lies directly on the socket, below the encryption,
//! so it sees which bytes a client takes. Encryption keeps some bytes of an answer back, and what
//! it keeps is written while the connection is flushed or closed.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::config::HttpConfig;
use crate::http::connection::alarm::Alarm;

/// Bytes of an answer for which a client gets another second.
const BYTES_PER_SECOND: u64 = 64 << 10;

/// A stream with deadlines for answers.
#[derive(Debug)]
pub(crate) struct TimedWrites<S> {
    stream: S,
    writing: Alarm,
    stalling: Alarm,
    write_timeout: Duration,
    stall_timeout: Duration,
    written: u64,
}

impl<S> TimedWrites<S> {
    pub(crate) fn new(stream: S, config: &HttpConfig) -> Self {
        Self {
            stream,
            writing: Alarm::default(),
            stalling: Alarm::default(),
            write_timeout: config.write_timeout,
            stall_timeout: config.stall_timeout,
            written: 0,
        }
    }

    /// Applies the time-outs to the result of a write. The time for an answer runs from the first
    /// write that has to wait until everything is written. A client that takes nothing at all has
    /// less time, because the answer occupies memory.
    fn wrote(
        &mut self,
        written: Poll<io::Result<usize>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            let bytes = written.as_ref().map_or(0, |count| u64::try_from(*count).unwrap_or(0));
            self.written = self.written.saturating_add(bytes);
            self.stalling.clear();
            return Poll::Ready(written);
        }
        if !self.writing.is_set() {
            self.written = 0;
            self.writing.set(self.write_timeout);
        }
        if !self.stalling.is_set() {
            self.stalling.set(self.stall_timeout);
        }
        if self.stalling.poll_rung(cx, Duration::ZERO).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let earned = Duration::from_secs(self.written / BYTES_PER_SECOND);
        self.writing.poll_rung(cx, earned).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedWrites<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedWrites<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.wrote(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// A flush reaches this stream only when everything above it is written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if flushed.is_ready() {
            self.writing.clear();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    const WRITE: Duration = Duration::from_millis(50);

    fn config() -> HttpConfig {
        HttpConfig { write_timeout: WRITE, ..HttpConfig::listening_on(([127, 0, 0, 1], 0).into()) }
    }

    #[tokio::test]
    async fn a_client_that_does_not_take_its_answer_is_disconnected() {
        let (_client, server) = duplex(64);
        let mut stream = TimedWrites::new(server, &config());
        let start = Instant::now();
        let error = stream.write_all(&[0; 65]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() >= WRITE);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_disconnected_after_the_stall_timeout() {
        let (mut client, server) = duplex(64);
        let config = HttpConfig { write_timeout: 100 * WRITE, stall_timeout: WRITE, ..config() };
        let mut stream = TimedWrites::new(server, &config);
        let start = Instant::now();
        // A client that takes a part now and then is not cut off.
        let drip = async {
            for _ in 0..4 {
                sleep(WRITE / 2).await;
                client.read_exact(&mut [0; 64]).await.unwrap();
            }
        };
        let answer = [0; 64 * 6];
        let (ended, ()) = tokio::join!(stream.write_all(&answer), drip);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!((2 * WRITE..20 * WRITE).contains(&start.elapsed()), "{:?}", start.elapsed());
    }

    #[tokio::test]
    async fn a_client_that_takes_its_answer_slowly_gets_time_for_what_it_takes() {
        let (mut client, server) = duplex(1 << 10);
        let mut stream = TimedWrites::new(server, &config());
        let start = Instant::now();
        let slow_reader = async {
            let mut buffer = vec![0; 64 << 10];
            while client.read_exact(&mut buffer).await.is_ok() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let answer = vec![0; 40 * (64 << 10)];
        let write = async {
            stream.write_all(&answer).await.unwrap();
            stream.flush().await.unwrap();
            drop(stream);
        };
        tokio::join!(slow_reader, write);
        assert!(start.elapsed() > 2 * WRITE, "{:?}", start.elapsed());
    }
}
