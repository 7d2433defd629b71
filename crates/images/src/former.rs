//! Images of earlier hash secrets, in memory for the sessions that began as them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::pins::PinnedImage;
use wardian_formats::job::image::ImageContent;
use wardian_vocabulary::ids::Digest;

/// How long such an image stays in memory after its last use.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Images that no new run begins as.
#[derive(Debug, Default)]
pub(super) struct FormerImages(BTreeMap<Digest, Former>);

#[derive(Debug)]
struct Former {
    image: PinnedImage,
    used: Instant,
}

impl FormerImages {
    /// Memory that they take, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let sizes = self.0.values().map(|former| former.image.resident.as_u64());
        sizes.fold(0, u64::saturating_add)
    }

    /// Adds an image, and drops others until they take at most `most` bytes. The new one stays.
    pub(super) fn put(&mut self, image: PinnedImage, most: u64, now: Instant) {
        self.shrink(most.saturating_sub(image.resident.as_u64()));
        self.0.insert(image.content.digest(), Former { image, used: now });
    }

    pub(super) fn find(&mut self, digest: Digest, now: Instant) -> Option<Arc<ImageContent>> {
        let former = self.0.get_mut(&digest)?;
        former.used = now;
        Some(Arc::clone(&former.image.content))
    }

    /// Drops those that were used longest ago, until the others take at most `most` bytes.
    pub(super) fn shrink(&mut self, most: u64) {
        while self.bytes() > most {
            let oldest = self.0.iter().min_by_key(|(_, former)| former.used);
            let Some(oldest) = oldest.map(|(digest, _)| *digest) else { return };
            self.0.remove(&oldest);
        }
    }

    /// Drops those that have not been used for a while, and that no interpreter has now.
    pub(super) fn drop_idle(&mut self, now: Instant) {
        self.0.retain(|_, former| {
            let is_held = Arc::strong_count(&former.image.content) > 1;
            is_held || now.saturating_duration_since(former.used) < IDLE
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::value::RawValue;

    use super::*;
    use crate::cache::ImageCache;
    use crate::image::{Image, ImageFault, KeptImage, KeptImages};
    use crate::package_set::PackageSet;
    use crate::pins::PinnedImages;
    use crate::rules::ImageRules;
    use wardian_formats::job::socket;
    use wardian_vocabulary::units::ByteCount;

    const SIZE: ByteCount = ByteCount::mebibytes(100);

    fn image(name: &str) -> PinnedImage {
        let memory = socket::share(name.as_bytes()).unwrap();
        let open_files = RawValue::from_string("{}".to_owned()).unwrap();
        let digest = Digest::of(name.as_bytes());
        let content = ImageContent::new(name.to_owned(), digest, (memory, SIZE), open_files);
        PinnedImage { content: Arc::new(content), resident: SIZE }
    }

    /// A cache of images that was emptied.
    struct EmptyDisk;

    impl KeptImages for EmptyDisk {
        fn find(&self, _: PackageSet) -> Result<Option<Image>, ImageFault> {
            Ok(None)
        }

        fn list(&self) -> Result<Vec<KeptImage>, ImageFault> {
            Ok(Vec::new())
        }

        fn shrink(&self, _: ByteCount, _: &BTreeSet<PackageSet>) -> Result<ByteCount, ImageFault> {
            Ok(ByteCount::default())
        }

        fn renew_secret(&self, _: Duration) -> Result<bool, ImageFault> {
            Ok(false)
        }

        fn is_current(&self, _: PackageSet, _: Digest) -> Result<bool, ImageFault> {
            Ok(false)
        }

        fn note_use(&self, _: PackageSet, _: u64, _: Duration) {}
    }

    #[test]
    fn an_image_of_sessions_is_read_once_and_does_not_become_one_for_runs() {
        let rules = ImageRules {
            profiles: Vec::new(),
            on_need: false,
            variety: 0,
            memory: ByteCount::default(),
            disk: SIZE,
            max_age: None,
        };
        let PinnedImage { content, resident } = image("base");
        let base = Image { packages: PackageSet::NONE, content, resident };
        let cache = ImageCache::new(Box::new(EmptyDisk), base, rules);
        let (folder, version) = (tempfile::tempdir().unwrap(), Digest::of(b"version"));
        let pinned = PinnedImages::at(folder.path().to_owned(), SIZE);
        let memory = vec![7; 64 << 10];
        let (digest, length) = (Digest::of(&memory), ByteCount::from(memory.len()));
        let open_files = RawValue::from_string("{}".to_owned()).unwrap();
        let memory = socket::share(&memory).unwrap();
        let old = ImageContent::new("base".to_owned(), digest, (memory, length), open_files);
        assert!(cache.find_pinned(digest, &pinned, version).unwrap().is_none());
        pinned.pin(&old, &old, version).unwrap();
        let find = || cache.find_pinned(digest, &pinned, version).unwrap().unwrap();
        let found = find();
        assert_eq!(found.digest(), digest);
        assert!(Arc::ptr_eq(&found, &find()));
        let picked = cache.pick(PackageSet::NONE, PackageSet::NONE, ByteCount::mebibytes(4 << 10));
        assert_eq!(picked.digest(), cache.base().digest());
        assert_eq!(cache.report().len(), 1);
    }

    fn has(former: &FormerImages, name: &str) -> bool {
        former.0.contains_key(&Digest::of(name.as_bytes()))
    }

    #[test]
    fn the_image_that_was_used_longest_ago_gives_way_and_the_newest_stays() {
        let (mut former, start) = (FormerImages::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        let most = 2 * SIZE.as_u64();
        former.put(image("one"), most, after(1));
        former.put(image("two"), most, after(2));
        assert!(former.find(Digest::of(b"one"), after(3)).is_some());
        former.put(image("three"), most, after(4));
        assert!(has(&former, "one") && has(&former, "three") && !has(&former, "two"));
        former.put(image("four"), 0, after(5));
        assert!(has(&former, "four") && former.bytes() == SIZE.as_u64());
    }

    #[test]
    fn an_image_that_is_not_used_is_dropped_unless_an_interpreter_has_it() {
        let (mut former, start) = (FormerImages::default(), Instant::now());
        former.put(image("one"), u64::MAX, start);
        former.put(image("two"), u64::MAX, start);
        let held = former.find(Digest::of(b"two"), start);
        former.drop_idle(start + IDLE - Duration::from_secs(1));
        assert!(has(&former, "one"));
        former.drop_idle(start + IDLE);
        assert!(has(&former, "two") && !has(&former, "one"));
        drop(held);
        former.drop_idle(start + IDLE);
        assert!(!has(&former, "two"));
    }
}
