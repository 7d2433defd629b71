//! Failures that a guest sees: an error number of Linux and a text, which become an `OSError`.

use std::borrow::Cow;
use std::io;

/// A failure of a network operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct NetworkError {
    errno: i32,
    text: Cow<'static, str>,
}

/// Error numbers of Linux, which are those of the guest.
pub mod errno {
    /// No connection has this handle.
    pub(crate) const EBADF: i32 = 9;
    /// The server has no room for another connection now.
    pub(crate) const EAGAIN: i32 = 11;
    /// The rules forbid it.
    pub const EACCES: i32 = 13;
    /// An argument makes no sense.
    pub const EINVAL: i32 = 22;
    /// The run has too many connections open.
    pub const EMFILE: i32 = 24;
    /// The connection is closed for writing.
    pub(crate) const EPIPE: i32 = 32;
    /// The peer does not speak the protocol.
    pub(crate) const EPROTO: i32 = 71;
    /// A head is too large.
    pub(crate) const EMSGSIZE: i32 = 90;
    /// The peer closed the connection too early.
    pub(crate) const ECONNRESET: i32 = 104;
    /// The connection is not made yet.
    pub(crate) const ENOTCONN: i32 = 107;
    /// It took too long.
    pub const ETIMEDOUT: i32 = 110;
    /// Nobody listens there.
    pub(crate) const ECONNREFUSED: i32 = 111;
    /// There is no way to the host, or no such host.
    pub(crate) const EHOSTUNREACH: i32 = 113;
    /// A limit of the run is reached.
    pub const EDQUOT: i32 = 122;
}

impl NetworkError {
    pub(crate) fn new(errno: i32, text: impl Into<Cow<'static, str>>) -> Self {
        Self { errno, text: text.into() }
    }

    /// The error number.
    #[must_use]
    pub const fn errno(&self) -> i32 {
        self.errno
    }

    /// The text, for `OSError.strerror`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn denied(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(errno::EACCES, text)
    }

    pub(crate) fn limit(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(errno::EDQUOT, text)
    }

    pub(crate) fn timeout(text: &'static str) -> Self {
        Self::new(errno::ETIMEDOUT, text)
    }

    /// A failure of the system. The text is one of a few, so that it tells nothing of the host.
    pub(crate) fn of_io(error: &io::Error) -> Self {
        let (errno, text) = match error.kind() {
            io::ErrorKind::ConnectionRefused => (errno::ECONNREFUSED, "Connection refused"),
            io::ErrorKind::TimedOut => (errno::ETIMEDOUT, "Connection timed out"),
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => (errno::ECONNRESET, "Connection reset by peer"),
            _ => (errno::EHOSTUNREACH, "No route to host"),
        };
        Self::new(errno, text)
    }
}
