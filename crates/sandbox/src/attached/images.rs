//! The images that this process has, and the private memory that they keep between runs.
//!
//! INVARIANT(kept-memory): the slots of all idle images together keep at most the memory that the
//! sandbox's configuration allows. The least recently used image releases its memory first.

use std::collections::HashMap;
use std::sync::Arc;

use crate::attached::image::LoadedImage;
use wardian_formats::job::attachment::{AttachedName, AttachmentKey, Owner};
use wardian_vocabulary::ids::{Digest, TenantId};

/// The attached images, by key.
#[derive(Debug, Default)]
pub(crate) struct AttachedImages {
    images: HashMap<AttachmentKey, Shown>,
    runs: u64,
}

#[derive(Debug)]
struct Shown {
    image: Arc<LoadedImage>,
    last_run: u64,
}

impl AttachedImages {
    pub(crate) fn add(&mut self, key: AttachmentKey, image: LoadedImage) {
        self.images.insert(key, Shown { image: Arc::new(image), last_run: 0 });
    }

    pub(crate) fn remove(&mut self, key: &AttachmentKey) {
        self.images.remove(key);
    }

    /// The image for the next run, a run of `tenant`. The other images together may keep `keep`
    /// bytes of private memory.
    pub(crate) fn for_run(
        &mut self,
        tenant: &TenantId,
        digest: Digest,
        keep: usize,
    ) -> Option<Arc<LoadedImage>> {
        self.runs = self.runs.saturating_add(1);
        let name = AttachedName::Image(digest);
        let keys =
            Owner::visible_to(tenant).map(|owner| AttachmentKey { owner, name: name.clone() });
        let key = keys.iter().find(|key| self.images.contains_key(key))?;
        let shown = self.images.get_mut(key)?;
        shown.last_run = self.runs;
        let image = Arc::clone(&shown.image);
        if self.images.len() > 1 {
            self.trim(key, keep);
        }
        Some(image)
    }

    fn trim(&self, used: &AttachmentKey, keep: usize) {
        let mut idle: Vec<&Shown> =
            self.images.iter().filter(|(key, _)| *key != used).map(|(_, one)| one).collect();
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
    use crate::attached::image::ImageSpec;
    use crate::memory::{DirtyPages, MemoryImage, SlotRules, Verify, WASM_PAGE};
    use crate::vfs::ImageDescriptors;

    fn key(digest: Digest) -> AttachmentKey {
        AttachmentKey::shared(AttachedName::Image(digest))
    }

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
        images.add(key(one), image());
        assert_eq!(images.for_run(&TenantId::local(), one, 0).unwrap().length(), WASM_PAGE);
        assert!(images.for_run(&TenantId::local(), two, 0).is_none());
        images.remove(&key(one));
        assert!(images.for_run(&TenantId::local(), one, 0).is_none());
    }

    #[test]
    fn kept_memory_of_idle_images_is_bounded() {
        let mut images = AttachedImages::default();
        let digests = [b"one", b"two", b"six"].map(|name| Digest::of(name));
        for digest in digests {
            images.add(key(digest), image());
            images.for_run(&TenantId::local(), digest, usize::MAX).unwrap().pool().dirty_a_slot();
        }
        let page = crate::memory::PAGE;
        let kept = |images: &AttachedImages| {
            digests.map(|one| images.images[&key(one)].image.pool().kept())
        };
        assert_eq!(kept(&images), [page; 3]);
        images.for_run(&TenantId::local(), digests[2], 2 * page).unwrap();
        assert_eq!(kept(&images), [page; 3]);
        images.for_run(&TenantId::local(), digests[2], page).unwrap();
        assert_eq!(kept(&images), [0, page, page], "the one that ran longest ago goes");
        images.for_run(&TenantId::local(), digests[0], 0).unwrap();
        assert_eq!(kept(&images), [0, 0, 0]);
    }
}
