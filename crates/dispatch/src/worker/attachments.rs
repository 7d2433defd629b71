//! Tracks the attachments that a worker keeps, so that none is sent twice.
//!
//! INVARIANT(bounded-attachments): beyond the limits, the least recently used attachment is
//! detached first. An attachment that the current run needs, or a guest that is kept, is never detached.
//! An image that was replaced, so that no run can begin as it, is detached with the next run.

use std::collections::HashMap;
use std::sync::Weak;

use wardian_formats::job::attachment::AttachmentKey;
use wardian_formats::job::image::ImageContent;
use wardian_vocabulary::units::ByteCount;

/// The limits of the attachments that each worker keeps between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentLimits {
    /// Skills and blobs together. Default 96: each can cost the worker a descriptor.
    pub count: usize,
    /// Bytes of skills and blobs together. Default 256 MiB, shared with the gateway's copies.
    pub bytes: ByteCount,
    /// Memory images. Default 8: each may keep private memory for its next run.
    pub images: usize,
    /// Memory images, and the linear memories of the guests that are kept, as they are mapped. Beyond it the
    /// guests that were used longest ago are closed. Default: no bound.
    pub mapped: ByteCount,
}

impl Default for AttachmentLimits {
    fn default() -> Self {
        let (bytes, mapped) = (ByteCount::mebibytes(256), ByteCount::bytes(u64::MAX));
        Self { count: 96, bytes, images: 8, mapped }
    }
}

/// Skills, layers and blobs that the guests that a worker keeps may use: its limit on open files leaves room
/// for as many beside those of a run.
const MOST_PINNED: usize = 256;

/// The attachments of one worker. Images have their own limits: a run has exactly one, and their
/// pages are shared by all workers.
#[derive(Debug)]
pub(crate) struct SentAttachments {
    content: LimitedSet,
    images: LimitedSet,
    /// Bytes of images and linear memories that may be mapped.
    mapped: u64,
    run: u64,
}

/// Attachments that share one limit.
#[derive(Debug)]
struct LimitedSet {
    count: usize,
    bytes: u64,
    kept: HashMap<AttachmentKey, Kept>,
    kept_bytes: u64,
}

#[derive(Debug)]
struct Kept {
    size: u64,
    last_run: u64,
    /// Guests that are kept and use it.
    guests: usize,
    /// The image, for attached images. Jobs and the image cache own it.
    image: Option<Weak<ImageContent>>,
}

impl Kept {
    /// True if neither this run nor a guest that is kept uses it.
    const fn is_idle(&self, run: u64) -> bool {
        self.last_run < run && self.guests == 0
    }

    /// True for an image that no later run can use.
    fn is_over(&self) -> bool {
        self.image.as_ref().is_some_and(|image| image.strong_count() == 0)
    }
}

impl SentAttachments {
    pub(crate) fn new(limits: AttachmentLimits) -> Self {
        let set = |count, bytes| LimitedSet { count, bytes, kept: HashMap::new(), kept_bytes: 0 };
        let content = set(limits.count, limits.bytes.as_u64());
        let images = set(limits.images, u64::MAX);
        Self { content, images, mapped: limits.mapped.as_u64(), run: 0 }
    }

    pub(crate) fn has(&self, key: &AttachmentKey) -> bool {
        let set = if key.is_image() { &self.images } else { &self.content };
        set.kept.contains_key(key)
    }

    /// Begins a new run, which uses the attachments that are noted from now on.
    pub(crate) const fn open_run(&mut self) {
        self.run = self.run.saturating_add(1);
    }

    /// Notes that the current run uses `key`. Returns false if it is not attached.
    pub(crate) fn note_use(&mut self, key: &AttachmentKey) -> bool {
        let run = self.run;
        let kept = self.set_of(key).kept.get_mut(key);
        kept.map(|kept| kept.last_run = run).is_some()
    }

    /// Makes room for the missing attachments of the current run. Forgets others until the limits
    /// hold, and returns the forgotten ones, which must be detached.
    pub(crate) fn make_room(
        &mut self,
        incoming: impl Iterator<Item = (AttachmentKey, ByteCount)>,
    ) -> Vec<AttachmentKey> {
        let (mut content, mut images) = (Incoming::default(), Incoming::default());
        for (key, size) in incoming {
            let of_kind = if key.is_image() { &mut images } else { &mut content };
            of_kind.count = of_kind.count.saturating_add(1);
            of_kind.bytes = of_kind.bytes.saturating_add(size.as_u64());
        }
        let mut evicted = self.content.evict(self.run, content);
        evicted.extend(self.images.evict(self.run, images));
        evicted
    }

    /// Notes that `key` is attached, or will be before any later message reaches the worker.
    pub(crate) fn add(
        &mut self,
        key: AttachmentKey,
        size: ByteCount,
        image: Option<Weak<ImageContent>>,
    ) {
        let (last_run, size) = (self.run, size.as_u64());
        let set = self.set_of(&key);
        let guests = set.kept.get(&key).map_or(0, |kept| kept.guests);
        if set.kept.insert(key, Kept { size, last_run, guests, image }).is_none() {
            set.kept_bytes = set.kept_bytes.saturating_add(size);
        }
    }

    /// Notes that a guest that is kept uses these attachments.
    pub(crate) fn pin(&mut self, keys: &[AttachmentKey]) {
        for key in keys {
            if let Some(kept) = self.set_of(key).kept.get_mut(key) {
                kept.guests = kept.guests.saturating_add(1);
            }
        }
    }

    /// Notes that a guest that used these attachments is closed.
    pub(crate) fn unpin(&mut self, keys: &[AttachmentKey]) {
        for key in keys {
            if let Some(kept) = self.set_of(key).kept.get_mut(key) {
                kept.guests = kept.guests.saturating_sub(1);
            }
        }
    }

    /// True if guests that are kept use more than a worker can keep beside those of a run.
    pub(crate) fn has_many_pinned(&self) -> bool {
        let (content, bytes) = self.content.pinned();
        let (images, _) = self.images.pinned();
        content > MOST_PINNED || bytes > self.content.bytes || images > self.images.count
    }

    /// True if guests whose linear memories have so many bytes may be kept beside the images.
    pub(crate) const fn have_room_for(&self, guests: u64) -> bool {
        self.images.kept_bytes.saturating_add(guests) <= self.mapped
    }

    const fn set_of(&mut self, key: &AttachmentKey) -> &mut LimitedSet {
        if key.is_image() { &mut self.images } else { &mut self.content }
    }
}

/// The attachments that are about to be sent.
#[derive(Debug, Clone, Copy, Default)]
struct Incoming {
    count: usize,
    bytes: u64,
}

impl LimitedSet {
    fn evict(&mut self, run: u64, incoming: Incoming) -> Vec<AttachmentKey> {
        let over: Vec<AttachmentKey> = self
            .kept
            .iter()
            // The run may bring the same image as an object of its own: made again, or read again.
            .filter(|(_, kept)| kept.is_idle(run) && kept.is_over())
            .map(|(key, _)| key.clone())
            .collect();
        let mut evicted = Vec::new();
        for key in over {
            self.forget(&key);
            evicted.push(key);
        }
        while self.kept.len().saturating_add(incoming.count) > self.count
            || self.kept_bytes.saturating_add(incoming.bytes) > self.bytes
        {
            let idle = self.kept.iter().filter(|(_, kept)| kept.is_idle(run));
            let Some(key) = idle.min_by_key(|(_, kept)| kept.last_run).map(|(key, _)| key.clone())
            else {
                break;
            };
            self.forget(&key);
            evicted.push(key);
        }
        evicted
    }

    /// The number of attachments that guests use, and their bytes.
    fn pinned(&self) -> (usize, u64) {
        let pinned = self.kept.values().filter(|kept| kept.guests > 0);
        pinned.fold((0, 0), |(count, bytes), kept| {
            (count.saturating_add(1), bytes.saturating_add(kept.size))
        })
    }

    fn forget(&mut self, key: &AttachmentKey) {
        if let Some(kept) = self.kept.remove(key) {
            self.kept_bytes = self.kept_bytes.saturating_sub(kept.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::attachment::AttachedName;
    use wardian_vocabulary::ids::Digest;

    fn key(name: &str) -> AttachmentKey {
        AttachmentKey::shared(AttachedName::Skill(Digest::of(name.as_bytes())))
    }

    fn run(attachments: &mut SentAttachments, names: &[&str]) -> (usize, Vec<AttachmentKey>) {
        let keys: Vec<AttachmentKey> = names.iter().map(|name| key(name)).collect();
        use_all(attachments, &keys, ByteCount::bytes(10))
    }

    /// Starts a run with these keys. Returns the number of new ones, and the detached ones.
    fn use_all(
        attachments: &mut SentAttachments,
        keys: &[AttachmentKey],
        size: ByteCount,
    ) -> (usize, Vec<AttachmentKey>) {
        attachments.open_run();
        let new: Vec<&AttachmentKey> =
            keys.iter().filter(|key| !attachments.note_use(key)).collect();
        let evicted = attachments.make_room(new.iter().map(|key| ((*key).clone(), size)));
        new.iter().for_each(|key| attachments.add((*key).clone(), size, None));
        (new.len(), evicted)
    }

    #[test]
    fn attachments_of_guests_that_are_kept_stay_until_these_are_closed() {
        let limits = AttachmentLimits { count: 2, ..AttachmentLimits::default() };
        let mut attachments = SentAttachments::new(limits);
        let all = |names: &[&str]| names.iter().map(|name| key(name)).collect::<Vec<_>>();
        run(&mut attachments, &["a", "b"]);
        attachments.pin(&all(&["a", "b"]));
        run(&mut attachments, &["b"]);
        attachments.pin(&all(&["b"]));
        let (new, evicted) = run(&mut attachments, &["c"]);
        assert_eq!((new, evicted), (1, vec![]), "nothing may be detached");
        assert!(!attachments.has_many_pinned());
        attachments.unpin(&all(&["a", "b"]));
        assert_eq!(run(&mut attachments, &["d"]).1, all(&["a", "c"]), "one guest is left");
        attachments.unpin(&all(&["b"]));
        assert_eq!(run(&mut attachments, &["e"]).1, all(&["b"]));
        let many: Vec<String> = (0..=MOST_PINNED).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        run(&mut attachments, &many);
        attachments.pin(&all(&many));
        assert!(attachments.has_many_pinned());
    }

    #[test]
    fn bounded_attachments_are_detached_in_the_order_of_their_last_use() {
        let limits = AttachmentLimits { count: 2, ..AttachmentLimits::default() };
        let mut attachments = SentAttachments::new(limits);
        assert_eq!(run(&mut attachments, &["a", "b"]), (2, vec![]));
        assert_eq!(run(&mut attachments, &["a"]), (0, vec![]));
        assert_eq!(run(&mut attachments, &["c"]), (1, vec![key("b")]));
        assert!(attachments.has(&key("a")) && !attachments.has(&key("b")));
    }

    #[test]
    fn bounded_attachments_count_bytes_too() {
        let limits =
            AttachmentLimits { bytes: ByteCount::bytes(25), ..AttachmentLimits::default() };
        let mut attachments = SentAttachments::new(limits);
        run(&mut attachments, &["a", "b"]);
        let (_, evicted) = run(&mut attachments, &["c"]);
        assert_eq!(evicted.len(), 1);
        assert!(attachments.has(&key("c")));
    }

    #[test]
    fn bounded_attachments_drop_replaced_images() {
        use std::sync::Arc;
        let mut attachments = SentAttachments::new(AttachmentLimits::default());
        let made = |name: &str| {
            let memory = wardian_formats::job::socket::share(name.as_bytes()).unwrap();
            let open_files = serde_json::value::to_raw_value(&()).unwrap();
            let digest = Digest::of(name.as_bytes());
            let memory = (memory, ByteCount::bytes(3));
            Arc::new(ImageContent::new(name.to_owned(), digest, memory, open_files))
        };
        let images = ["old", "new"].map(made);
        for image in &images {
            attachments.open_run();
            let key = AttachmentKey::shared(AttachedName::Image(image.digest()));
            assert_eq!(attachments.make_room([(key.clone(), image.length())].into_iter()), []);
            attachments.add(key, image.length(), Some(Arc::downgrade(image)));
        }
        let [old, new] = images;
        attachments.open_run();
        assert!(attachments.note_use(&AttachmentKey::shared(AttachedName::Image(new.digest()))));
        assert_eq!(attachments.make_room([].into_iter()), []);
        let gone = AttachmentKey::shared(AttachedName::Image(old.digest()));
        drop(old);
        assert_eq!(attachments.make_room([].into_iter()), std::slice::from_ref(&gone));
        assert!(
            !attachments.has(&gone)
                && attachments.has(&AttachmentKey::shared(AttachedName::Image(new.digest())))
        );
    }

    #[test]
    fn an_image_that_was_read_again_stays_for_the_run_that_needs_it() {
        let mut attachments = SentAttachments::new(AttachmentLimits::default());
        let key = AttachmentKey::shared(AttachedName::Image(Digest::of(b"image")));
        attachments.open_run();
        assert_eq!(attachments.make_room([(key.clone(), ByteCount::bytes(3))].into_iter()), []);
        // The object that the first run brought is gone: nothing points to it.
        attachments.add(key.clone(), ByteCount::bytes(3), Some(Weak::new()));
        attachments.open_run();
        assert!(attachments.note_use(&key));
        assert_eq!(attachments.make_room([].into_iter()), [], "the run begins as this image");
        attachments.open_run();
        assert_eq!(attachments.make_room([].into_iter()), [key], "no run needs it any more");
    }

    #[test]
    fn bounded_attachments_do_not_count_an_attachment_that_was_never_sent() {
        let mut attachments = SentAttachments::new(AttachmentLimits::default());
        attachments.open_run();
        assert!(!attachments.note_use(&key("a")));
        attachments.make_room([(key("a"), ByteCount::bytes(10))].into_iter());
        // The run was abandoned here.
        assert_eq!(run(&mut attachments, &["a"]), (1, vec![]), "it is not attached");
        assert_eq!(run(&mut attachments, &["a"]), (0, vec![]));
    }

    #[test]
    fn bounded_attachments_count_images_on_their_own() {
        let limits = AttachmentLimits { count: 1, images: 2, ..AttachmentLimits::default() };
        let mut attachments = SentAttachments::new(limits);
        let image =
            |name: &str| AttachmentKey::shared(AttachedName::Image(Digest::of(name.as_bytes())));
        for name in ["a", "b", "c"] {
            let keys = [image(name), key("skill")];
            let (new, evicted) = use_all(&mut attachments, &keys, ByteCount::mebibytes(100));
            assert_eq!(new, if name == "a" { 2 } else { 1 }, "{name}");
            assert_eq!(evicted, if name == "c" { vec![image("a")] } else { vec![] }, "{name}");
        }
        assert!(attachments.has(&image("b")) && attachments.has(&key("skill")));
    }

    #[test]
    fn a_run_keeps_what_it_needs_even_beyond_the_limits() {
        let bytes = ByteCount::bytes(1);
        let limits = AttachmentLimits { count: 1, bytes, images: 1, ..<_>::default() };
        let mut attachments = SentAttachments::new(limits);
        assert_eq!(run(&mut attachments, &["a", "b", "c"]), (3, vec![]));
        let (new, evicted) = run(&mut attachments, &["c"]);
        assert_eq!((new, evicted.len()), (0, 2));
    }
}
