//! What the gateway does for a run while a worker has it.

use std::future::Future;
use std::time::Duration;

use crate::CheckedPayload;
use wardian_formats::job::message::Refusal;
use wardian_formats::job::network::{NetworkReply, NetworkRequest};
use wardian_formats::job::outcome::LogChunk;
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The host of one run in the gateway: answers the guest's requests.
///
/// The time of an answer is accounted by the kind of the request: see
/// [`RequestKind`](wardian_formats::job::host::RequestKind). An answer that comes too late is dropped, and
/// the guest sees a `TimeoutError`.
pub trait RunHost: Send {
    /// Stores a blob. The kind and the content are the guest's and unchecked.
    ///
    /// # Errors
    ///
    /// The refusal; the guest sees it as an exception.
    fn write_blob(
        &mut self,
        kind: &str,
        content: CheckedPayload,
    ) -> impl Future<Output = Result<BlobId, Refusal>> + Send;

    /// Waits until an output of this size may be read. The worker gets no other run meanwhile,
    /// because unread outputs would fill the memory.
    fn make_room(&mut self, output: ByteCount) -> impl Future<Output = ()> + Send {
        let _no_bound = output;
        std::future::ready(())
    }

    /// Asks the network. The request is the guest's and unchecked but for its form. A wait of it
    /// counts against the run.
    fn ask_network(
        &mut self,
        request: NetworkRequest<'_>,
    ) -> impl Future<Output = NetworkReply> + Send {
        drop(request);
        std::future::ready(NetworkReply::no_network())
    }

    /// Asks the caller, which [hears](wardian_formats::job::session::cell::CellOrder::is_heard) along, for answers
    /// to these requests, which are the guest's and unchecked. `None` if none comes within moments. No time of the
    /// run passes meanwhile.
    fn ask_caller(
        &mut self,
        requests: CallerRequests,
    ) -> impl Future<Output = Option<JsonText>> + Send {
        drop(requests);
        std::future::ready(None)
    }

    /// Asked when a worker is free for the run, before anything of it is executed there. While this waits, the
    /// worker gets no other run. With `false` nothing is executed: the run ends as [`DispatchError::Withdrawn`].
    ///
    /// [`DispatchError::Withdrawn`]: crate::DispatchError::Withdrawn
    fn may_begin(&mut self) -> impl Future<Output = bool> + Send {
        std::future::ready(true)
    }

    /// Learns how far the run is. After the loss of a worker a run may wait once more.
    fn note_stage(&mut self, stage: RunStage) {
        let _nobody_asks = stage;
    }

    /// The longest wait for a worker; `None` for that of the pool's configuration.
    fn longest_wait(&self) -> Option<Duration> {
        None
    }

    /// Receives the output of the program while it is printed, if the run is streamed. The text is
    /// the guest's and unchecked.
    fn hear(&mut self, printed: LogChunk) {
        drop(printed);
    }
}

/// How far a run is that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStage {
    /// It waits for a worker.
    Queued,
    /// It has a worker.
    Running,
}
