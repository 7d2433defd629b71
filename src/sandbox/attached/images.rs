//! The images that this process has, and the private memory that they keep between runs.
//!
//! INVARIANT(kept-memory): slots of images that do not run keep no more than the sandbox's
//! configuration says, all together. What was not used for longest goes first.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ids::Digest;
use crate::sandbox::attached::image::LoadedImage;

/// Images by the digest of their memory.
#[derive(Debug, Default)]
pub(crate) struct AttachedImages {
    images: HashMap<Digest, Shown>,
    runs: u64,
}

#[derive(Debug)]
struct Shown {
    image: Arc<LoadedImage>,
    last_run: u64,
}

impl AttachedImages {
    pub(crate) fn add(&mut self, digest: Digest, image: LoadedImage) {
        self.images.insert(digest, Shown { image: Arc::new(image), last_run: 0 });
    }

    pub(crate) fn remove(&mut self, digest: &Digest) {
        self.images.remove(digest);
    }

    /// The image for the next run. The others may keep `keep` bytes of private memory.
    pub(crate) fn for_run(&mut self, digest: &Digest, keep: usize) -> Option<Arc<LoadedImage>> {
        self.runs = self.runs.saturating_add(1);
        let shown = self.images.get_mut(digest)?;
        shown.last_run = self.runs;
        let image = Arc::clone(&shown.image);
        if self.images.len() > 1 {
            self.trim(digest, keep);
        }
        Some(image)
    }

    fn trim(&self, used: &Digest, keep: usize) {
        let mut idle: Vec<&Shown> =
            self.images.iter().filter(|(digest, _)| *digest != used).map(|(_, one)| one).collect();
        idle.sort_unstable_by_key(|shown| std::cmp::Reverse(shown.last_run));
        let mut kept: usize = 0;
        for shown in idle {
            kept = kept.saturating_add(shown.image.pool().kept());
            if kept > keep {
                shown.image.pool().release();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::attached::image::ImageSpec;
    use crate::sandbox::memory::{DirtyPages, MemoryImage, SlotRules, Verify, WASM_PAGE};
    use crate::sandbox::vfs::ImageDescriptors;

    fn image() -> LoadedImage {
        let memory = MemoryImage::seal([7; WASM_PAGE].as_slice()).unwrap();
        let rules = SlotRules::new(1 << 20, Verify::Never, DirtyPages::best());
        let spec = ImageSpec { memory, descriptors: ImageDescriptors::default() };
        LoadedImage::load(spec, &rules).unwrap()
    }

    #[test]
    fn an_image_is_found_until_it_is_removed() {
        let mut images = AttachedImages::default();
        let (one, two) = (Digest::of(b"one"), Digest::of(b"two"));
        images.add(one, image());
        assert_eq!(images.for_run(&one, 0).unwrap().length(), WASM_PAGE);
        assert!(images.for_run(&two, 0).is_none());
        images.remove(&one);
        assert!(images.for_run(&one, 0).is_none());
    }

    #[test]
    fn kept_memory_of_idle_images_is_bounded() {
        let mut images = AttachedImages::default();
        let digests = [b"one", b"two", b"six"].map(|name| Digest::of(name));
        for digest in digests {
            images.add(digest, image());
            images.for_run(&digest, usize::MAX).unwrap().pool().dirty_a_slot();
        }
        let page = crate::sandbox::memory::PAGE;
        let kept =
            |images: &AttachedImages| digests.map(|one| images.images[&one].image.pool().kept());
        assert_eq!(kept(&images), [page; 3]);
        images.for_run(&digests[2], 2 * page).unwrap();
        assert_eq!(kept(&images), [page; 3]);
        images.for_run(&digests[2], page).unwrap();
        assert_eq!(kept(&images), [0, page, page], "the one that ran longest ago goes");
        images.for_run(&digests[0], 0).unwrap();
        assert_eq!(kept(&images), [0, 0, 0]);
    }
}
