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
    /// Memory images. Default 8: what each keeps for the next run is private memory.
    pub images: usize,
}

impl Default for AttachmentLimits {
    fn default() -> Self {
        Self { count: 96, bytes: ByteCount::mebibytes(256), images: 8 }
    }
}

/// Something that can be attached.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Skill(Digest),
    Blob(BlobId),
    Image(Digest),
}

impl Key {
    /// The message that takes it away.
    pub(super) fn detach(self) -> ToWorker {
        match self {
            Self::Skill(digest) => ToWorker::DetachSkill { digest },
            Self::Blob(id) => ToWorker::DetachBlob { id },
            Self::Image(digest) => ToWorker::DetachImage { digest },
        }
    }
}

/// What one worker keeps. Images have limits of their own: a run has exactly one, and their
/// pages are shared by all workers.
#[derive(Debug)]
pub(super) struct Attachments {
    content: Shelf,
    images: Shelf,
    run: u64,
}

/// What is kept within one limit.
#[derive(Debug)]
struct Shelf {
    count: usize,
    bytes: u64,
    kept: HashMap<Key, Kept>,
    kept_bytes: u64,
}

#[derive(Debug)]
struct Kept {
    size: u64,
    last_run: u64,
}

impl Attachments {
    pub(super) fn new(limits: AttachmentLimits) -> Self {
        let shelf = |count, bytes| Shelf { count, bytes, kept: HashMap::new(), kept_bytes: 0 };
        let content = shelf(limits.count, limits.bytes.as_u64());
        Self { content, images: shelf(limits.images, u64::MAX), run: 0 }
    }

    pub(super) fn has(&self, key: &Key) -> bool {
        let shelf = if matches!(key, Key::Image(_)) { &self.images } else { &self.content };
        shelf.kept.contains_key(key)
    }

    /// Opens a new run: what follows is used by it.
    pub(super) const fn open_run(&mut self) {
        self.run = self.run.saturating_add(1);
    }

    /// Notes that the run in hand uses `key`. Returns true if it must be attached for that.
    pub(super) fn note_use(&mut self, key: Key, size: ByteCount) -> bool {
        let run = self.run;
        let is_image = matches!(key, Key::Image(_));
        let shelf = if is_image { &mut self.images } else { &mut self.content };
        if let Some(kept) = shelf.kept.get_mut(&key) {
            kept.last_run = run;
            return false;
        }
        let size = size.as_u64();
        shelf.kept_bytes = shelf.kept_bytes.saturating_add(size);
        shelf.kept.insert(key, Kept { size, last_run: run });
        true
    }

    /// Forgets what is beyond the limits, and returns what must be detached for that.
    pub(super) fn evict(&mut self) -> Vec<Key> {
        let mut evicted = self.content.evict(self.run);
        evicted.extend(self.images.evict(self.run));
        evicted
    }
}

impl Shelf {
    fn evict(&mut self, run: u64) -> Vec<Key> {
        let mut evicted = Vec::new();
        while self.kept.len() > self.count || self.kept_bytes > self.bytes {
            let idle = self.kept.iter().filter(|(_, kept)| kept.last_run < run);
            let Some(key) = idle.min_by_key(|(_, kept)| kept.last_run).map(|(key, _)| key.clone())
            else {
                break;
            };
            if let Some(kept) = self.kept.remove(&key) {
                self.kept_bytes = self.kept_bytes.saturating_sub(kept.size);
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
        let limits = AttachmentLimits { count: 2, ..AttachmentLimits::default() };
        let mut attachments = Attachments::new(limits);
        assert_eq!(run(&mut attachments, &["a", "b"]), (2, vec![]));
        assert_eq!(run(&mut attachments, &["a"]), (0, vec![]));
        assert_eq!(run(&mut attachments, &["c"]), (1, vec![key("b")]));
        assert!(attachments.has(&key("a")) && !attachments.has(&key("b")));
    }

    #[test]
    fn bounded_attachments_count_bytes_too() {
        let limits =
            AttachmentLimits { bytes: ByteCount::bytes(25), ..AttachmentLimits::default() };
        let mut attachments = Attachments::new(limits);
        run(&mut attachments, &["a", "b"]);
        let (_, evicted) = run(&mut attachments, &["c"]);
        assert_eq!(evicted.len(), 1);
        assert!(attachments.has(&key("c")));
    }

    #[test]
    fn bounded_attachments_count_images_on_their_own() {
        let limits = AttachmentLimits { count: 1, images: 2, ..AttachmentLimits::default() };
        let mut attachments = Attachments::new(limits);
        let image = |name: &str| Key::Image(Digest::of(name.as_bytes()));
        for name in ["a", "b", "c"] {
            attachments.open_run();
            assert!(attachments.note_use(image(name), ByteCount::mebibytes(4_000)));
            attachments.note_use(key("skill"), ByteCount::bytes(10));
            let evicted = if name == "c" { vec![image("a")] } else { vec![] };
            assert_eq!(attachments.evict(), evicted, "{name}");
        }
        assert!(attachments.has(&image("b")) && attachments.has(&key("skill")));
    }

    #[test]
    fn a_run_keeps_what_it_needs_even_beyond_the_limits() {
        let limits = AttachmentLimits { count: 1, bytes: ByteCount::bytes(1), images: 1 };
        let mut attachments = Attachments::new(limits);
        assert_eq!(run(&mut attachments, &["a", "b", "c"]), (3, vec![]));
        let (new, evicted) = run(&mut attachments, &["c"]);
        assert_eq!((new, evicted.len()), (0, 2));
    }
}
