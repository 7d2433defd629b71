//! Errors of the socket to the gateway.

use std::io;

use wardian_formats::job::frame::FrameError;

/// Errors of the socket to the gateway.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The gateway closed its end, or ended, in the middle of something.
    #[error("the gateway is gone")]
    Gone,
    /// The operating system reports an error.
    #[error("cannot use the socket to the gateway")]
    Socket(#[from] io::Error),
    /// A message that breaks the rules.
    #[error("cannot read the gateway's messages")]
    Frame(#[from] FrameError),
    /// The content for the gateway cannot be read, or there is no memory for it. Nothing was sent.
    #[error("cannot send content to the gateway")]
    Content(#[source] io::Error),
}
