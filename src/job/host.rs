//! What a guest may ask of the world outside its worker.

use std::io::{BufRead, Read as _};

use crate::ids::BlobId;
use crate::job::message::Refusal;
use crate::job::network::{NetworkReply, NetworkRequest};
use crate::job::outcome::LogChunk;
use crate::units::ByteCount;

/// The host of one run. Sandboxes ask it, and the worker's end of the socket to the gateway is one.
///
/// A new kind of request is a method here, a function of the guest, and a handler in the gateway.
pub trait Host {
    /// Stores a blob.
    ///
    /// # Errors
    ///
    /// A refusal, which the guest sees as an exception.
    fn write_blob(&mut self, kind: &str, content: &[u8]) -> Result<BlobId, Refusal>;

    /// Stores a blob of `size` bytes that are read from `content`. A host that can do so without a
    /// copy of its own does.
    ///
    /// # Errors
    ///
    /// As [`Host::write_blob`], and if the content ends too early.
    fn write_blob_from(
        &mut self,
        kind: &str,
        size: u64,
        content: &mut dyn BufRead,
    ) -> Result<BlobId, Refusal> {
        let mut bytes = Vec::new();
        match content.take(size).read_to_end(&mut bytes) {
            Ok(read) if ByteCount::from(read).as_u64() == size => self.write_blob(kind, &bytes),
            Ok(_) | Err(_) => Err(unreadable()),
        }
    }

    /// Asks the network. The request is shortened to what one message moves, and to the time that
    /// the run has left. The answer is that of [`NetworkReply::encode`].
    ///
    /// A host without one answers so; the guest says what to do about it.
    ///
    /// # Errors
    ///
    /// The run is cancelled.
    fn ask_network(&mut self, request: &NetworkRequest<'_>) -> Result<Vec<u8>, Refusal> {
        let _ = request;
        Ok(NetworkReply::no_network().encode())
    }

    /// What tells whether nobody waits for the run any more. Asked now and then while a guest
    /// runs, from another thread.
    fn is_cancelled(&self) -> IsCancelled;

    /// Gets what the guest prints as it comes, if the run wants that.
    fn listener(&self) -> Option<OutputListener> {
        None
    }
}

/// True once nobody waits for a run any more.
pub type IsCancelled = Box<dyn Fn() -> bool + Send>;

/// Gets what a guest prints as it comes.
pub type OutputListener = Box<dyn FnMut(LogChunk)>;

fn unreadable() -> Refusal {
    let message = "the file cannot be read".to_owned();
    Refusal { error_type: "OSError".to_owned(), message }
}
