//! The gateway's end of a worker's socket: asynchronous, driven by the run's own future.
//!
//! Cancellation: a receive that is dropped loses nothing. A send that is dropped may leave half
//! a frame behind; [`Channel::is_mid_frame`] tells, and the worker must be dropped then.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net;

use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::net::UnixStream;

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
    socket: UnixStream,
    incoming: Incoming,
    mid_frame: bool,
}

impl Channel {
    /// Speaks over `socket`, within the runtime of the caller.
    pub(super) fn new(socket: OwnedFd) -> io::Result<Self> {
        let socket = net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        let socket = UnixStream::from_std(socket)?;
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
            let step = || socket::send(self.socket.as_fd(), bytes, descriptor);
            let sent = self.socket.async_io(Interest::WRITABLE, step).await.map_err(ended)?;
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
            self.socket.readable().await?;
            if self.receive_some().map_err(ended)? == Some(0) {
                return Err(ChannelError::Gone);
            }
        }
    }

    /// Receives what is there, without waiting: how many bytes, or `None` if nothing is.
    fn receive_some(&mut self) -> io::Result<Option<usize>> {
        let mut bytes = None;
        let step = || {
            let arrival = self.incoming.receive(self.socket.as_fd(), RecvFlags::empty())?;
            bytes = Some(arrival.bytes);
            // To let the runtime know that the socket is empty saves the system call that would
            // find out later. It must not be told on suspicion: epoll reports arrivals by edges, so
            // nobody would wake this task for bytes that are there already.
            let is_empty = arrival.drained && arrival.bytes > 0;
            if is_empty { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        };
        match self.socket.try_io(Interest::READABLE, step) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            Ok(()) | Err(_) => Ok(bytes),
        }
    }

    /// True if a send was given up in the middle.
    pub(super) const fn is_mid_frame(&self) -> bool {
        self.mid_frame
    }

    /// True if the worker has said nothing since its last message was taken, and still listens.
    /// An idle worker that speaks or ends is of no use. Costs no system call as a rule.
    pub(super) fn is_quiet(&mut self) -> bool {
        self.incoming.is_empty() && matches!(self.receive_some(), Ok(None))
    }
}

fn ended(error: io::Error) -> ChannelError {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ChannelError::Gone,
        _ => error.into(),
    }
}
