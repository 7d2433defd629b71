//! The gateway's end of a worker's socket: asynchronous, driven by the run's own future.
//!
//! Cancellation: a receive that is dropped loses nothing. A send that is dropped may leave half
//! a frame behind; [`Channel::is_mid_frame`] tells, and the worker must be dropped then.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::task::{Context, Poll, Waker};

use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::job::frame::FrameError;
use crate::job::message::{FromWorker, Payload};
use crate::job::socket::{self, Incoming};

/// Why a worker cannot be heard any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// It closed its end, most likely by ending.
    #[error("the worker is gone")]
    Gone,
    /// The operating system reports an error.
    #[error("cannot use the socket to the worker")]
    Socket(#[from] io::Error),
    /// It breaks the rules.
    #[error("the worker breaks the rules of its socket")]
    Frame(#[from] FrameError),
}

/// The gateway's end of the socket.
#[derive(Debug)]
pub(super) struct Channel {
    socket: AsyncFd<OwnedFd>,
    incoming: Incoming,
    mid_frame: bool,
}

impl Channel {
    /// Speaks over `socket`, within the runtime of the caller.
    #[expect(deprecated, reason = "the safe constructor; an `OwnedFd` keeps its descriptor open")]
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let socket = AsyncFd::new(socket)?;
        Ok(Self { socket, incoming: Incoming::default(), mid_frame: false })
    }

    /// Sends whole frames; `descriptor` goes with the first byte.
    pub(super) async fn send(
        &mut self,
        mut bytes: &[u8],
        mut descriptor: Option<BorrowedFd<'_>>,
    ) -> Result<(), ChannelError> {
        self.mid_frame = true;
        while !bytes.is_empty() {
            let step = |socket: &OwnedFd| socket::send(socket.as_fd(), bytes, descriptor);
            let sent = self.socket.async_io(Interest::WRITABLE, step).await;
            let sent = sent.map_err(|error| match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ChannelError::Gone,
                _ => error.into(),
            })?;
            descriptor = None;
            bytes = bytes.get(sent..).unwrap_or_default();
        }
        self.mid_frame = false;
        Ok(())
    }

    /// Waits for the next message.
    pub(super) async fn receive(&mut self) -> Result<(FromWorker, Payload), ChannelError> {
        loop {
            if let Some(found) = self.incoming.take()? {
                return Ok(found);
            }
            let mut ready = self.socket.readable().await?;
            let incoming = &mut self.incoming;
            let step = |socket: &AsyncFd<OwnedFd>| {
                incoming.receive(socket.get_ref().as_fd(), RecvFlags::empty())
            };
            match ready.try_io(step) {
                Ok(Ok(arrival)) if arrival.bytes == 0 => return Err(ChannelError::Gone),
                // The socket is empty: to wait for more without asking saves a system call.
                Ok(Ok(arrival)) if arrival.drained => ready.clear_ready(),
                Ok(Ok(_)) | Err(_) => {}
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(ChannelError::Gone);
                }
                Ok(Err(error)) => return Err(error.into()),
            }
        }
    }

    /// True if a send was given up in the middle.
    pub(super) const fn is_mid_frame(&self) -> bool {
        self.mid_frame
    }

    /// True if the worker has said nothing since its last message was taken, and still listens.
    /// An idle worker that speaks or ends is of no use. Costs no system call in this case.
    pub(super) fn is_quiet(&mut self) -> bool {
        if !self.incoming.is_empty() {
            return false;
        }
        let mut context = Context::from_waker(Waker::noop());
        match self.socket.poll_read_ready(&mut context) {
            Poll::Pending => true,
            Poll::Ready(Err(_)) => false,
            Poll::Ready(Ok(mut ready)) => {
                let incoming = &mut self.incoming;
                let step = |socket: &AsyncFd<OwnedFd>| {
                    incoming.receive(socket.get_ref().as_fd(), RecvFlags::empty())
                };
                ready.try_io(step).is_err()
            }
        }
    }
}
