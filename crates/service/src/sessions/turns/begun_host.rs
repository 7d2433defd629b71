//! The host of a cell, which notes whether the cell has begun.
//!
//! A cell that has waited goes on when a worker has its order, and not while it waits for one: until then its
//! caller can leave, and it waits on.

use std::time::Duration;

use wardian_dispatch::{CheckedPayload, RunHost, RunStage};
use wardian_formats::job::message::Refusal;
use wardian_formats::job::network::{NetworkReply, NetworkRequest};
use wardian_formats::job::outcome::LogChunk;
use wardian_formats::job::session::asking::{CallerRequests, JsonText};
use wardian_sessions::Continuation;
use wardian_vocabulary::ids::BlobId;
use wardian_vocabulary::units::ByteCount;

/// The host of a cell.
pub(crate) struct BegunHost<'a, H> {
    host: &'a mut H,
    continuation: Continuation,
    /// True while a worker has the order.
    has_begun: bool,
    is_repeated: bool,
}

impl<'a, H: RunHost> BegunHost<'a, H> {
    /// The host of a cell that has not begun.
    pub(crate) const fn of(continuation: Continuation, host: &'a mut H) -> Self {
        Self { host, continuation, has_begun: false, is_repeated: false }
    }

    /// Notes that the guest was lost in which the cell was to run. It has asked nothing of the host, so the
    /// cell runs in another one.
    pub(crate) fn note_lost_guest(&mut self) {
        self.is_repeated |= self.has_begun;
        self.has_begun = false;
        self.continuation.note(false);
    }

    /// True if the cell was begun a second time.
    pub(crate) const fn is_repeated(&self) -> bool {
        self.is_repeated
    }
}

impl<H: RunHost> RunHost for BegunHost<'_, H> {
    fn note_stage(&mut self, stage: RunStage) {
        // After the loss of a worker, a cell may wait for the next one. It has done nothing then.
        self.has_begun = stage == RunStage::Running;
        self.continuation.note(self.has_begun);
        self.host.note_stage(stage);
    }

    async fn write_blob(&mut self, kind: &str, content: CheckedPayload) -> Result<BlobId, Refusal> {
        self.host.write_blob(kind, content).await
    }

    async fn make_room(&mut self, output: ByteCount) {
        self.host.make_room(output).await;
    }

    async fn ask_network(&mut self, request: NetworkRequest<'_>) -> NetworkReply {
        self.host.ask_network(request).await
    }

    async fn ask_caller(&mut self, requests: CallerRequests) -> Option<JsonText> {
        self.host.ask_caller(requests).await
    }

    fn longest_wait(&self) -> Option<Duration> {
        self.host.longest_wait()
    }

    fn hear(&mut self, printed: LogChunk) {
        self.host.hear(printed);
    }
}
