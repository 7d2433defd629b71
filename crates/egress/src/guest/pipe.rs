//! The two bounded buffers of a connection: one towards the guest, one from it.
//!
//! The guest's side is polled: it asks for readiness and takes what is there. The gateway's side is
//! an asynchronous stream. A full buffer stops the side that fills it.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

use crate::error::{NetworkError, errno};

/// Size of each buffer.
pub(crate) const BUFFER: usize = 64 << 10;

/// What a read of the guest gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamRead {
    /// Bytes, at least one.
    Bytes(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// The end of the stream.
    End,
}

/// A connection as both sides see it.
#[derive(Debug)]
pub struct Pipe {
    state: Mutex<PipeBuffers>,
    /// Told of everything that the guest may wait for. All pipes of a run share it.
    changed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct PipeBuffers {
    to_guest: VecDeque<u8>,
    from_guest: VecDeque<u8>,
    is_connected: bool,
    /// The guest writes no more.
    is_shut: bool,
    /// How the gateway ended the connection.
    end: Option<Result<(), NetworkError>>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    pub(crate) fn new(changed: Arc<Notify>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(PipeBuffers::default()), changed })
    }

    // The guest's side

    pub(crate) fn is_readable(&self) -> bool {
        let state = self.state.lock();
        !state.to_guest.is_empty() || state.end.is_some()
    }

    pub(crate) fn is_writable(&self) -> bool {
        let state = self.state.lock();
        let has_room = state.from_guest.len() < BUFFER || state.is_shut;
        state.end.is_some() || (state.is_connected && has_room)
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.state.lock().end, Some(Err(_)))
    }

    /// Takes up to `max` bytes. Bytes that arrived before the end come before it.
    pub(crate) fn take(&self, max: usize) -> Result<StreamRead, NetworkError> {
        let mut state = self.state.lock();
        if max > 0 && !state.to_guest.is_empty() {
            let count = max.min(state.to_guest.len());
            let bytes = state.to_guest.drain(..count).collect();
            wake(&mut state.writer);
            return Ok(StreamRead::Bytes(bytes));
        }
        match &state.end {
            Some(Ok(())) if state.to_guest.is_empty() => Ok(StreamRead::End),
            Some(Err(error)) if state.to_guest.is_empty() => Err(error.clone()),
            _ => Ok(StreamRead::Nothing),
        }
    }

    /// Adds bytes as far as there is room; of nothing, tells how connecting went.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<usize, NetworkError> {
        let mut state = self.state.lock();
        match &state.end {
            Some(Err(error)) => return Err(error.clone()),
            Some(Ok(())) if !bytes.is_empty() => return Err(broken_pipe()),
            None if !state.is_connected => {
                return Err(NetworkError::new(errno::ENOTCONN, "Socket is not connected"));
            }
            _ => {}
        }
        if state.is_shut && !bytes.is_empty() {
            return Err(broken_pipe());
        }
        let room = BUFFER.saturating_sub(state.from_guest.len());
        let accepted = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        state.from_guest.extend(accepted);
        if !accepted.is_empty() {
            wake(&mut state.reader);
        }
        Ok(accepted.len())
    }

    /// The guest writes no more.
    pub(crate) fn shut(&self) {
        let mut state = self.state.lock();
        state.is_shut = true;
        wake(&mut state.reader);
    }

    // The gateway's side

    pub(crate) fn set_connected(&self) {
        self.state.lock().is_connected = true;
        self.changed.notify_waiters();
    }

    /// Ends the connection. The first end counts.
    pub fn finish(&self, end: Result<(), NetworkError>) {
        let mut state = self.state.lock();
        state.end.get_or_insert(end);
        state.from_guest = VecDeque::new();
        drop(state);
        self.changed.notify_waiters();
    }
}

fn broken_pipe() -> NetworkError {
    NetworkError::new(errno::EPIPE, "Broken pipe")
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// The gateway's end of a pipe. Shutting it down leaves the guest's stream open: whoever runs the
/// connection decides how it ends.
#[derive(Debug)]
pub struct GatewayEnd(pub(crate) Arc<Pipe>);

impl GatewayEnd {
    /// The next byte of the guest, which stays in the pipe; nothing if the guest wrote none.
    pub(crate) async fn peek(&self) -> Option<u8> {
        std::future::poll_fn(|cx| {
            let mut state = self.0.state.lock();
            match state.from_guest.front() {
                Some(byte) => Poll::Ready(Some(*byte)),
                None if state.is_shut => Poll::Ready(None),
                None => {
                    state.reader = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl AsyncRead for GatewayEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.0.state.lock();
        if state.from_guest.is_empty() {
            if state.is_shut {
                return Poll::Ready(Ok(()));
            }
            state.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let (first, _) = state.from_guest.as_slices();
        let piece = first.get(..buffer.remaining().min(first.len())).unwrap_or_default();
        let count = piece.len();
        buffer.put_slice(piece);
        state.from_guest.drain(..count);
        drop(state);
        self.0.changed.notify_waiters();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for GatewayEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut state = self.0.state.lock();
        let room = BUFFER.saturating_sub(state.to_guest.len());
        if room == 0 {
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let accepted = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        state.to_guest.extend(accepted);
        drop(state);
        self.0.changed.notify_waiters();
        Poll::Ready(Ok(accepted.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
