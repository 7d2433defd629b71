//! The worker's end of its socket: blocking, one message at a time.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};

use rustix::net::RecvFlags;

use crate::job::frame::{self, FrameError};
use crate::job::message::{FromWorker, INLINE_MAX, Payload, ToWorker};
use crate::job::socket::{self, Incoming};
use crate::units::ByteCount;

/// Why no message can be sent or received any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The gateway closed its end, or ended, in the middle of something.
    #[error("the gateway is gone")]
    Gone,
    /// The operating system reports an error.
    #[error("cannot use the socket to the gateway")]
    Socket(#[from] io::Error),
    /// A message that breaks the rules.
    #[error("cannot understand the gateway")]
    Frame(#[from] FrameError),
}

/// The worker's end of the socket.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    incoming: Incoming,
}

impl Channel {
    /// Speaks over `socket`, a connected Unix stream socket in blocking mode.
    #[must_use]
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, incoming: Incoming::default() }
    }

    /// The socket's number, for the filter on system calls.
    #[must_use]
    pub fn raw_descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Sends `message`, and `content` as its payload: within the frame if it is small, as a
    /// memory file otherwise.
    ///
    /// # Errors
    ///
    /// The gateway is gone, memory is short, or the message is beyond the limits.
    pub fn send(&mut self, message: &FromWorker, content: &[u8]) -> Result<(), ChannelError> {
        if content.len() <= INLINE_MAX {
            return self.send_all(&frame::encode(message, content, false)?, None);
        }
        let bytes = frame::encode_shared(message, ByteCount::from(content.len()))?;
        let file = socket::share(content)?;
        self.send_all(&bytes, Some(file.as_fd()))
    }

    /// Waits for the next message; `None` when the gateway has closed its end.
    ///
    /// # Errors
    ///
    /// The gateway is gone in the middle of a message, or breaks the rules.
    pub fn receive(&mut self) -> Result<Option<(ToWorker, Payload)>, ChannelError> {
        loop {
            if let Some(found) = self.incoming.take()? {
                return Ok(Some(found));
            }
            if self.incoming.receive(self.socket.as_fd(), RecvFlags::empty())?.bytes == 0 {
                let between_frames = self.incoming.is_empty();
                return if between_frames { Ok(None) } else { Err(ChannelError::Gone) };
            }
        }
    }

    /// Looks for a message without waiting; `None` if there is none yet. Costs one system call.
    ///
    /// # Errors
    ///
    /// The gateway is gone or breaks the rules.
    pub fn glance(&mut self) -> Result<Option<(ToWorker, Payload)>, ChannelError> {
        if let Some(found) = self.incoming.take()? {
            return Ok(Some(found));
        }
        match self.incoming.receive(self.socket.as_fd(), RecvFlags::DONTWAIT) {
            Ok(arrival) if arrival.bytes == 0 => Err(ChannelError::Gone),
            Ok(_) => Ok(self.incoming.take()?),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn send_all(
        &self,
        mut bytes: &[u8],
        mut descriptor: Option<BorrowedFd<'_>>,
    ) -> Result<(), ChannelError> {
        while !bytes.is_empty() {
            let sent = match socket::send(self.socket.as_fd(), bytes, descriptor.take()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    return Err(ChannelError::Gone);
                }
                other => other?,
            };
            bytes = bytes.get(sent..).unwrap_or_default();
        }
        Ok(())
    }
}
