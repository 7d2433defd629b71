//! Packs on both ways: those that a guest is resumed from, and the one that a worker makes after a cell.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use parking_lot::Mutex;
use tokio::task::spawn_blocking;

use crate::worker::payload::CheckedPayload;
use wardian_formats::job::message::INLINE_MAX;
use wardian_formats::job::session::asking::JsonText;
use wardian_formats::job::session::checkpoint::PackFacts;
use wardian_formats::job::socket;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// A pack for workers that resume a guest from it. Clones share its bytes.
#[derive(Clone)]
pub struct PackContent {
    pub(crate) bytes: PackBytes,
    /// Keeps the charge for as long as there is a clone.
    _memory: Option<CallMemory>,
}

/// The way in which the bytes of a pack travel.
#[derive(Clone)]
pub(crate) enum PackBytes {
    /// Within a frame.
    Inline(Arc<Vec<u8>>),
    /// As a sealed memory file, which all workers map.
    Shared(Arc<OwnedFd>, ByteCount),
}

/// Copies a long text to a memory file, beside the event loop.
///
/// # Errors
///
/// The operating system refuses the file or its memory.
pub(crate) async fn share_text(text: JsonText) -> io::Result<OwnedFd> {
    spawn_blocking(move || socket::share(text.as_str().as_bytes()))
        .await
        .map_err(io::Error::other)?
}

impl PackContent {
    /// The bytes of a pack. Larger packs are copied to a memory file here, so call it where it may take
    /// a while.
    ///
    /// # Errors
    ///
    /// The operating system refuses the file or its memory.
    pub fn new(bytes: Vec<u8>) -> io::Result<Self> {
        if bytes.len() <= INLINE_MAX {
            return Ok(Self::of(PackBytes::Inline(Arc::new(bytes))));
        }
        let (file, size) = (socket::share(&bytes)?, ByteCount::from(bytes.len()));
        Ok(Self::of(PackBytes::Shared(Arc::new(file), size)))
    }

    const fn of(bytes: PackBytes) -> Self {
        Self { bytes, _memory: None }
    }

    /// The same pack, which keeps the account that its bytes are charged to.
    #[must_use]
    pub fn charged_to(self, memory: &CallMemory) -> Self {
        Self { _memory: Some(memory.clone()), ..self }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn size(&self) -> ByteCount {
        match &self.bytes {
            PackBytes::Inline(bytes) => ByteCount::from(bytes.len()),
            PackBytes::Shared(_, size) => *size,
        }
    }
}

/// Prints no byte of the guest's memory.
impl fmt::Debug for PackContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackContent").field("size", &self.size()).finish()
    }
}

/// The packs that a guest is resumed from, oldest first, until a worker has read them.
#[derive(Debug)]
pub(crate) struct UnreadPacks {
    count: usize,
    packs: Mutex<Option<Vec<PackContent>>>,
}

impl UnreadPacks {
    pub(crate) fn new(packs: Vec<PackContent>) -> Self {
        Self { count: packs.len(), packs: Mutex::new(Some(packs)) }
    }

    /// The number of packs.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// The packs; `None` once they are released.
    pub(crate) fn all(&self) -> Option<Vec<PackContent>> {
        self.packs.lock().clone()
    }

    /// True once a worker has read them.
    pub(crate) fn are_released(&self) -> bool {
        self.packs.lock().is_none()
    }

    /// A worker has read them: their memory, and what they are charged to, is not needed any more.
    pub(crate) fn release(&self) {
        let packs = self.packs.lock().take();
        drop(packs);
    }
}

/// The pack of a guest whose turn is over, and the facts about it.
///
/// Its digest and its size are those of the bytes. All other facts are what its worker says.
pub struct CheckedPack {
    /// The facts.
    pub facts: PackFacts,
    /// The bytes, at most [`PAYLOAD_MAX`](wardian_formats::job::message::PAYLOAD_MAX).
    pub bytes: Vec<u8>,
}

/// Prints no byte of the guest's memory.
impl fmt::Debug for CheckedPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedPack").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// A worker sent another pack than the one that its facts describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its pack is not the one that it describes")]
pub(crate) struct ForgedPack;

impl CheckedPack {
    /// Reads a pack, and compares it with its facts. The inner error is one of the gateway.
    pub(crate) async fn check(
        facts: PackFacts,
        content: CheckedPayload,
    ) -> Result<Result<Self, io::Error>, ForgedPack> {
        if content.size() != facts.size {
            return Err(ForgedPack);
        }
        let read = move || -> io::Result<(Vec<u8>, Digest)> {
            let bytes = content.into_bytes()?;
            let digest = Digest::of(&bytes);
            Ok((bytes, digest))
        };
        // To hash a small one takes less time than to wake up another thread.
        let read = if facts.size.as_usize() <= INLINE_MAX {
            read()
        } else {
            spawn_blocking(read).await.unwrap_or_else(|ended| Err(io::Error::other(ended)))
        };
        match read {
            Ok((_, digest)) if digest != facts.digest => Err(ForgedPack),
            Ok((bytes, _)) => Ok(Ok(Self { facts, bytes })),
            Err(cause) => Ok(Err(cause)),
        }
    }
}

/// The reason why there is no checkpoint after a cell that left its guest whole. The guest is not kept, unless
/// it is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum NotParked {
    /// A change of files was refused, and the state is as before.
    #[error("nothing has changed")]
    Unchanged,
    /// The guest has something that no pack can hold, or its state is too large.
    #[error("the state after the cell could not be saved: {reason}")]
    Unparkable {
        /// What a worker says, at most
        /// [`MAX_MESSAGE`](wardian_formats::job::outcome::MAX_MESSAGE) bytes.
        reason: String,
    },
    /// The worker was lost after the answer of the cell, or its pack was a wrong one.
    #[error("the sandbox broke while it saved the state after the cell, and was replaced")]
    WorkerLost,
    /// The worker did not send the state within its time for that.
    #[error(
        "the state after the cell could not be saved within {} s; keep less in variables and files, or \
         repeat the cell when the server is less busy",
        limit.as_secs()
    )]
    Late {
        /// The time.
        limit: Duration,
    },
    /// The gateway could not read the pack.
    #[error("the state after the cell could not be read")]
    Unread(#[source] io::Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::message::Payload;
    use wardian_formats::job::session::checkpoint::PACK_FORMAT;
    use wardian_vocabulary::budget::MemoryBudget;

    fn facts(bytes: &[u8]) -> PackFacts {
        let other = Digest::of(b"other");
        PackFacts {
            format: PACK_FORMAT,
            image: other,
            sequence: 1,
            base: None,
            digest: Digest::of(bytes),
            root: other,
            pages: 0,
            size: bytes.len().into(),
        }
    }

    fn payloads(bytes: &[u8]) -> [CheckedPayload; 2] {
        let shared = Payload::Shared(socket::share(bytes).unwrap(), bytes.len().into());
        [Payload::Inline(bytes.to_vec()), shared].map(|it| CheckedPayload::accept(it).unwrap())
    }

    #[tokio::test]
    async fn a_pack_is_what_its_facts_describe() {
        for bytes in [b"pack".to_vec(), vec![7; INLINE_MAX + 1]] {
            let right = facts(&bytes);
            for content in payloads(&bytes) {
                let checked = CheckedPack::check(right, content).await.unwrap().unwrap();
                assert!(checked.bytes == bytes && checked.facts == right);
            }
            let (digest, size) = (Digest::of(b"x"), ByteCount::from(bytes.len() + 1));
            for wrong in [PackFacts { digest, ..right }, PackFacts { size, ..right }] {
                let [inline, shared] = payloads(&bytes);
                assert_eq!(CheckedPack::check(wrong, inline).await.unwrap_err(), ForgedPack);
                assert_eq!(CheckedPack::check(wrong, shared).await.unwrap_err(), ForgedPack);
            }
        }
    }

    #[test]
    fn no_byte_of_a_pack_is_printed() {
        let bytes = b"hunter2".to_vec();
        let checked = CheckedPack { facts: facts(b"x"), bytes: bytes.clone() };
        let printed = format!("{:?} {checked:?}", PackContent::new(bytes).unwrap());
        assert!(!printed.contains("hunter2") && !printed.contains("104, 117"), "{printed}");
    }

    #[test]
    fn large_packs_travel_as_memory_files() {
        for (length, is_shared) in [(0, false), (INLINE_MAX, false), (INLINE_MAX + 1, true)] {
            let content = PackContent::new(vec![1; length]).unwrap();
            assert_eq!(content.size(), ByteCount::from(length));
            assert_eq!(matches!(content.bytes, PackBytes::Shared(..)), is_shared);
        }
    }

    #[test]
    fn packs_that_are_read_release_their_memory() {
        let budget = MemoryBudget::new(ByteCount::mebibytes(8));
        let memory = CallMemory::new(&budget);
        memory.reserve(ByteCount::mebibytes(1)).unwrap();
        let packs = [1, INLINE_MAX + 1].map(|length| vec![1; length]);
        let packs = packs.map(|bytes| PackContent::new(bytes).unwrap().charged_to(&memory));
        drop(memory);
        let unread = UnreadPacks::new(packs.to_vec());
        drop(packs);
        assert_eq!((unread.count(), unread.all().unwrap().len()), (2, 2));
        assert_eq!(budget.used(), ByteCount::mebibytes(1));
        assert!(!unread.are_released());
        unread.release();
        assert!(unread.are_released() && unread.all().is_none() && unread.count() == 2);
        assert_eq!(budget.used(), ByteCount::default());
    }
}
