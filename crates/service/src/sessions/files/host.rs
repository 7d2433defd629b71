//! The host of a turn without a program: takes the content that the worker sends.

use std::sync::Arc;

use crate::run::execute::host::OutputRoom;
use wardian_dispatch::{CheckedPayload, RunHost};
use wardian_formats::job::message::Refusal;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{BlobId, Digest};
use wardian_vocabulary::units::ByteCount;

/// Takes one content, and charges it to the call for as long as that has memory of it.
#[derive(Debug)]
pub(crate) struct FilesHost {
    memory: CallMemory,
    room: OutputRoom,
    content: Option<Arc<CheckedPayload>>,
}

impl FilesHost {
    pub(crate) fn of(memory: &CallMemory) -> Self {
        let (memory, room) = (memory.clone(), OutputRoom::of_call(memory.clone()));
        Self { memory, room, content: None }
    }

    /// The content that has come.
    pub(crate) fn content(&self) -> Option<Arc<CheckedPayload>> {
        self.content.clone()
    }
}

impl RunHost for FilesHost {
    async fn write_blob(
        &mut self,
        _kind: &str,
        content: CheckedPayload,
    ) -> Result<BlobId, Refusal> {
        if self.content.is_some() || self.memory.reserve(content.size()).is_err() {
            let message = "the server has no memory for the content".to_owned();
            return Err(Refusal { error_type: "MemoryError".to_owned(), message });
        }
        self.content = Some(Arc::new(content));
        // It is no blob, and its worker asks for nothing but an answer.
        Ok(BlobId::of_digest(&Digest::of(b"")))
    }

    async fn make_room(&mut self, output: ByteCount) {
        self.room.make(output).await;
    }
}
