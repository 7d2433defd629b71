//! What a worker has been given to keep, so that it is not given again.
//!
//! INVARIANT(bounded-attachments): beyond the limits, what was not used for longest is taken
//! away first; what the run in hand needs is never taken away.

use std::collections::HashMap;

use crate::ids::{BlobId, Digest};
use crate::job::message::ToWorker;
use crate::units::ByteCount;

/// How much each worker keeps between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentLimits {
    /// Skills and blobs together. Default 96: each can cost the worker a descriptor.
    pub count: usize,
    /// Bytes of them together. Default 256 MiB, shared with the gateway's copies.
    pub bytes: ByteCount,
}

impl Default for AttachmentLimits {
    fn default() -> Self {
        Self { count: 96, bytes: ByteCount::mebibytes(256) }
    }
}

/// Something that can be attached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Skill(Digest),
    Blob(BlobId),
}

impl Key {
    /// The message that takes it away.
    pub(super) fn detach(self) -> ToWorker {
        match self {
            Self::Skill(digest) => ToWorker::DetachSkill { digest },
            Self::Blob(id) => ToWorker::DetachBlob { id },
        }
    }
}

/// What one worker keeps.
#[derive(Debug)]
pub(super) struct Attachments {
    limits: AttachmentLimits,
    kept: HashMap<Key, Kept>,
    bytes: u64,
    run: u64,
}

#[derive(Debug)]
struct Kept {
    size: u64,
    last_run: u64,
}

impl Attachments {
    pub(super) fn new(limits: AttachmentLimits) -> Self {
        Self { limits, kept: HashMap::new(), bytes: 0, run: 0 }
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        self.kept.contains_key(key)
    }

    /// Opens a new run: what follows is used by it.
    pub(super) const fn open_run(&mut self) {
        self.run = self.run.saturating_add(1);
    }

    /// Notes that the run in hand uses `key`. Returns true if it must be attached for that.
    pub(super) fn note_use(&mut self, key: Key, size: ByteCount) -> bool {
        let run = self.run;
        if let Some(kept) = self.kept.get_mut(&key) {
            kept.last_run = run;
            return false;
        }
        let size = size.as_u64();
        self.bytes = self.bytes.saturating_add(size);
        self.kept.insert(key, Kept { size, last_run: run });
        true
    }

    /// Forgets what is beyond the limits, and returns what must be detached for that.
    pub(super) fn evict(&mut self) -> Vec<Key> {
        let mut evicted = Vec::new();
        while self.kept.len() > self.limits.count || self.bytes > self.limits.bytes.as_u64() {
            let idle = self.kept.iter().filter(|(_, kept)| kept.last_run < self.run);
            let Some(key) = idle.min_by_key(|(_, kept)| kept.last_run).map(|(key, _)| key.clone())
            else {
                break;
            };
            if let Some(kept) = self.kept.remove(&key) {
                self.bytes = self.bytes.saturating_sub(kept.size);
            }
            evicted.push(key);
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::Skill(Digest::of(name.as_bytes()))
    }

    fn run(attachments: &mut Attachments, names: &[&str]) -> (usize, Vec<Key>) {
        attachments.open_run();
        let size = ByteCount::bytes(10);
        let new = names.iter().filter(|name| attachments.note_use(key(name), size)).count();
        (new, attachments.evict())
    }

    #[test]
    fn bounded_attachments_leave_in_the_order_of_their_last_use() {
        let limits = AttachmentLimits { count: 2, bytes: ByteCount::mebibytes(1) };
        let mut attachments = Attachments::new(limits);
        assert_eq!(run(&mut attachments, &["a", "b"]), (2, vec![]));
        assert_eq!(run(&mut attachments, &["a"]), (0, vec![]));
        assert_eq!(run(&mut attachments, &["c"]), (1, vec![key("b")]));
        assert!(attachments.has(&key("a")) && !attachments.has(&key("b")));
    }

    #[test]
    fn bounded_attachments_count_bytes_too() {
        let limits = AttachmentLimits { count: 100, bytes: ByteCount::bytes(25) };
        let mut attachments = Attachments::new(limits);
        run(&mut attachments, &["a", "b"]);
        let (_, evicted) = run(&mut attachments, &["c"]);
        assert_eq!(evicted.len(), 1);
        assert!(attachments.has(&key("c")));
    }

    #[test]
    fn a_run_keeps_what_it_needs_even_beyond_the_limits() {
        let limits = AttachmentLimits { count: 1, bytes: ByteCount::bytes(1) };
        let mut attachments = Attachments::new(limits);
        assert_eq!(run(&mut attachments, &["a", "b", "c"]), (3, vec![]));
        let (new, evicted) = run(&mut attachments, &["c"]);
        assert_eq!((new, evicted.len()), (0, 2));
    }
}
