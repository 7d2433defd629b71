//! The worker's end of its socket: blocking, one message at a time.

use std::io::{self, BufRead};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::net::RecvFlags;

use crate::link::error::ChannelError;
use crate::link::outbox::{Outbox, filled};
use wardian_formats::job::frame;
use wardian_formats::job::message::{FromWorker, INLINE_MAX, Payload, ToWorker};
use wardian_formats::job::socket::{self, Incoming};
use wardian_vocabulary::units::ByteCount;

/// The worker's end of the socket.
#[derive(Debug)]
pub struct Channel {
    socket: Arc<OwnedFd>,
    incoming: Incoming,
    /// `None` until the worker is about to lock itself down: earlier, other threads may open files,
    /// so no descriptor can be reserved.
    outbox: Option<Outbox>,
}

impl Channel {
    /// Speaks over `socket`, a connected Unix stream socket in blocking mode.
    #[must_use]
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket: Arc::new(socket), incoming: Incoming::default(), outbox: None }
    }

    /// The socket's number, for the filter on system calls.
    #[must_use]
    pub(crate) fn raw_descriptor(&self) -> RawFd {
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
            return send_all(self.socket.as_fd(), &frame::encode(message, content, false)?, None);
        }
        self.share(message, ByteCount::from(content.len()).as_u64(), &mut &*content)
    }

    /// Sends `message`, and `size` bytes of `content` as its payload. A large payload is copied
    /// piece by piece to a memory file.
    ///
    /// # Errors
    ///
    /// As [`Channel::send`]; [`ChannelError::Content`] if nothing was sent.
    pub(crate) fn send_from(
        &mut self,
        message: &FromWorker,
        size: u64,
        content: &mut dyn BufRead,
    ) -> Result<(), ChannelError> {
        if ByteCount::bytes(size) > ByteCount::from(INLINE_MAX) {
            return self.share(message, size, content);
        }
        let mut bytes = vec![0; ByteCount::bytes(size).as_usize()];
        content.read_exact(&mut bytes).map_err(ChannelError::Content)?;
        self.send(message, &bytes)
    }

    fn share(
        &mut self,
        message: &FromWorker,
        size: u64,
        content: &mut dyn BufRead,
    ) -> Result<(), ChannelError> {
        let bytes = frame::encode_shared(message, ByteCount::bytes(size))?;
        let socket = self.socket.as_fd();
        let post = |file: BorrowedFd<'_>| send_all(socket, &bytes, Some(file));
        match &mut self.outbox {
            Some(outbox) => outbox.share(size, content, post),
            None => post(filled(size, content).map_err(ChannelError::Content)?.as_fd()),
        }
    }

    /// Reserves the descriptor under which memory files are written, for the filter on system
    /// calls.
    ///
    /// # Errors
    ///
    /// The operating system refuses a memory file.
    pub(crate) fn outbox_descriptor(&mut self) -> Result<RawFd, ChannelError> {
        let outbox = Outbox::open()?;
        Ok(self.outbox.insert(outbox).number())
    }

    /// Waits for the next message. Returns `None` if the gateway has closed its end.
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

    /// What was received with the last message, and is not taken yet.
    #[must_use]
    pub(crate) fn holds(&self) -> Unasked {
        if self.incoming.is_empty() {
            return Unasked::Nothing;
        }
        Unasked::of(self.incoming.untaken())
    }

    /// A view of the socket for another thread.
    #[must_use]
    pub(crate) fn peek(&self) -> SocketPeek {
        SocketPeek(Arc::clone(&self.socket))
    }
}

/// What a gateway sends during a turn without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// Nothing.
    Nothing,
    /// [`ToWorker::Interrupt`]. A gateway sends it once in a turn at most.
    Interruption,
    /// [`ToWorker::Cancel`], also after an interruption, or the end of the gateway.
    Cancellation,
}

/// The bytes of [`ToWorker::Interrupt`] as a frame.
const INTERRUPTION: &[u8] = b"\x0b\0\0\0\0\0\0\0\0\0\0\0\"interrupt\"";

impl Unasked {
    /// What these bytes are. An interruption is so short that the kernel moves it in one piece, so a part
    /// of a message is one of a cancellation.
    fn of(bytes: &[u8]) -> Self {
        if bytes == INTERRUPTION { Self::Interruption } else { Self::Cancellation }
    }
}

fn send_all(
    socket: BorrowedFd<'_>,
    mut bytes: &[u8],
    mut descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), ChannelError> {
    while !bytes.is_empty() {
        let sent = match socket::send(socket, bytes, descriptor.take()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Err(ChannelError::Gone);
            }
            other => other?,
        };
        bytes = bytes.get(sent..).unwrap_or_default();
    }
    Ok(())
}

/// Looks at a channel's socket and takes nothing from it.
#[derive(Debug, Clone)]
pub(crate) struct SocketPeek(Arc<OwnedFd>);

impl SocketPeek {
    /// What has arrived and was not received yet. Costs one system call.
    #[must_use]
    pub(crate) fn look(&self) -> Unasked {
        // One byte more tells whether something follows.
        let mut bytes = [0; INTERRUPTION.len() + 1];
        match socket::peek(self.0.as_fd(), &mut bytes) {
            Ok(length) => Unasked::of(bytes.get(..length).unwrap_or_default()),
            // A failed call counts as nothing seen; the next call may succeed.
            Err(_) => Unasked::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_is_told_from_everything_else() {
        let frame = |message: &ToWorker| frame::encode(message, &[], false).unwrap();
        let interrupt = frame(&ToWorker::Interrupt);
        assert_eq!(interrupt, INTERRUPTION);
        assert_eq!(Unasked::of(&interrupt), Unasked::Interruption);
        let cancel = frame(&ToWorker::Cancel);
        for bytes in [&[], &interrupt[..5], &cancel, &[interrupt.clone(), cancel.clone()].concat()]
        {
            assert_eq!(Unasked::of(bytes), Unasked::Cancellation, "{bytes:?}");
        }
    }
}
