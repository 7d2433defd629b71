//! The gateway's end of a worker's socket: asynchronous, driven by the run's own future.
//!
//! Frames are queued first and sent later, so that a send can be cancelled at any point.
//!
//! INVARIANT(whole-frames): each queued frame is sent to its end before any later frame, even if
//! futures are dropped meanwhile. A dropped receive loses no bytes either.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net;
use std::sync::Arc;

use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::net::UnixStream;

use wardian_formats::job::frame::FrameError;
use wardian_formats::job::message::{FromWorker, Payload};
use wardian_formats::job::socket::{self, Incoming};

/// The reason why a worker can no longer be reached.
#[derive(Debug, thiserror::Error)]
pub enum WorkerChannelError {
    /// The worker closed its end; most likely its process ended.
    #[error("the worker is gone")]
    Gone,
    /// The operating system reports an error.
    #[error("cannot use the socket to the worker")]
    Socket(#[from] io::Error),
    /// The worker sent a frame that breaks the rules.
    #[error("the worker violates the protocol of its socket")]
    Frame(#[from] FrameError),
}

/// The bytes of one frame or more, and the descriptor that goes with the first of them.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes: Arc<Vec<u8>>,
    descriptor: Option<OwnedFd>,
}

impl Frames {
    pub(crate) const fn new(bytes: Arc<Vec<u8>>) -> Self {
        Self { bytes, descriptor: None }
    }

    pub(crate) fn with_descriptor(bytes: Vec<u8>, descriptor: OwnedFd) -> Self {
        Self { bytes: Arc::new(bytes), descriptor: Some(descriptor) }
    }
}

impl From<Vec<u8>> for Frames {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Arc::new(bytes))
    }
}

/// The gateway's end of the socket.
#[derive(Debug)]
pub(crate) struct WorkerChannel {
    socket: UnixStream,
    incoming: Incoming,
    outgoing: VecDeque<Frames>,
    /// Bytes of the first of `outgoing` that were sent.
    sent: usize,
}

impl WorkerChannel {
    /// A channel over `socket`, within the runtime of the caller. A message longer than
    /// `max_message` is an error.
    pub(crate) fn new(socket: OwnedFd, max_message: usize) -> io::Result<Self> {
        let socket = net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        let socket = UnixStream::from_std(socket)?;
        let (incoming, outgoing) = (Incoming::with_limit(max_message), VecDeque::new());
        Ok(Self { socket, incoming, outgoing, sent: 0 })
    }

    /// Queues frames behind the queued ones. [`WorkerChannel::flush`] sends them.
    pub(crate) fn queue(&mut self, frames: Frames) {
        self.outgoing.push_back(frames);
    }

    /// Sends all queued frames. Cancellation: the rest stays queued.
    pub(crate) async fn flush(&mut self) -> Result<(), WorkerChannelError> {
        while let Some((rest, descriptor)) = self.unsent() {
            let step = || socket::send(self.socket.as_fd(), rest, descriptor);
            let sent = self.socket.async_io(Interest::WRITABLE, step).await.map_err(ended)?;
            self.note_sent(sent);
        }
        Ok(())
    }

    /// Queues frames and sends all queued frames, if the socket has room for them at this moment.
    pub(crate) fn send_at_once(&mut self, frames: Frames) -> Result<(), WorkerChannelError> {
        self.queue(frames);
        while let Some((rest, descriptor)) = self.unsent() {
            let sent = socket::send(self.socket.as_fd(), rest, descriptor).map_err(ended)?;
            self.note_sent(sent);
        }
        Ok(())
    }

    /// The rest of the first queued frames, and the descriptor that goes with it.
    fn unsent(&self) -> Option<(&[u8], Option<BorrowedFd<'_>>)> {
        let first = self.outgoing.front()?;
        Some((first.bytes.get(self.sent..)?, first.descriptor.as_ref().map(OwnedFd::as_fd)))
    }

    fn note_sent(&mut self, bytes: usize) {
        let Some(first) = self.outgoing.front_mut() else { return };
        first.descriptor = None;
        self.sent = self.sent.saturating_add(bytes);
        if self.sent >= first.bytes.len() {
            self.outgoing.pop_front();
            self.sent = 0;
        }
    }

    /// Queues frames and sends all queued frames. Cancellation: the rest stays queued.
    pub(crate) async fn send(&mut self, frames: Frames) -> Result<(), WorkerChannelError> {
        self.queue(frames);
        self.flush().await
    }

    /// Waits for the next message.
    pub(crate) async fn receive(&mut self) -> Result<(FromWorker, Payload), WorkerChannelError> {
        loop {
            if let Some(found) = self.incoming.take()? {
                return Ok(found);
            }
            self.socket.readable().await?;
            if self.receive_some().map_err(ended)? == Some(0) {
                return Err(WorkerChannelError::Gone);
            }
        }
    }

    /// Receives the bytes that have arrived, without waiting. Returns their number, or `None` if
    /// there are none.
    fn receive_some(&mut self) -> io::Result<Option<usize>> {
        let mut bytes = None;
        let step = || {
            let arrival = self.incoming.receive(self.socket.as_fd(), RecvFlags::empty())?;
            bytes = Some(arrival.bytes);
            // Reporting an empty socket to the runtime saves a later system call. It must be
            // certain: epoll is edge-triggered here, so nothing would wake this task for bytes that
            // have already arrived.
            let is_empty = arrival.drained && arrival.bytes > 0;
            if is_empty { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        };
        match self.socket.try_io(Interest::READABLE, step) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            Ok(()) | Err(_) => Ok(bytes),
        }
    }

    /// True if the worker has sent nothing since its last message was taken, and has not closed its
    /// end. An idle worker for which this is false is broken. This usually costs no system call.
    pub(crate) fn is_quiet(&mut self) -> bool {
        self.incoming.is_empty() && matches!(self.receive_some(), Ok(None))
    }
}

fn ended(error: io::Error) -> WorkerChannelError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => WorkerChannelError::Gone,
        _ => error.into(),
    }
}
