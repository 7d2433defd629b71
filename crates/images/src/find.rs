//! Finding an image by its digest, for guests that were made from it, and how much is kept for others.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::{ImageCache, ImageTable, Ready};
use crate::image::ImageFault;
use crate::package_set::PackageSet;
use crate::pins::{PinFault, PinnedImages};
use crate::rules::ImageRules;
use wardian_formats::job::image::ImageContent;
use wardian_vocabulary::ids::Digest;

impl ImageTable {
    /// The images for runs beyond the base and the profiles.
    pub(super) fn beyond(&self, rules: &ImageRules) -> impl Iterator<Item = (&PackageSet, &Ready)> {
        self.ready.iter().filter(|(packages, _)| !rules.profiles.contains(packages))
    }

    /// Memory of these images, in bytes.
    pub(super) fn bytes_beyond(&self, rules: &ImageRules) -> u64 {
        let sizes = self.beyond(rules).map(|(_, ready)| ready.image.resident.as_u64());
        sizes.fold(0, u64::saturating_add)
    }
}

impl ImageCache {
    /// The image with this digest: a present one, or one that is loaded from the disk. Loading takes as
    /// long as copying its memory.
    ///
    /// # Errors
    ///
    /// The cache fails.
    pub(crate) fn find(&self, digest: Digest) -> Result<Option<Arc<ImageContent>>, ImageFault> {
        if let Some(present) = self.find_present(digest) {
            return Ok(Some(present));
        }
        for kept in self.shared.kept.list()? {
            // Only the right one is copied to memory.
            if self.shared.kept.is_current(kept.packages, digest)?
                && let Some(image) = self.shared.kept.find(kept.packages)?
                && image.content.digest() == digest
            {
                let content = Arc::clone(&image.content);
                self.shared.put(image);
                return Ok(Some(content));
            }
        }
        Ok(None)
    }

    /// The image with this digest, if it is in memory.
    #[must_use]
    pub fn find_present(&self, digest: Digest) -> Option<Arc<ImageContent>> {
        let base = self.base();
        let mut state = self.shared.state.lock();
        let others = state.ready.values().map(|ready| &ready.image.content);
        let found =
            others.chain([&base]).find(|content| content.digest() == digest).map(Arc::clone);
        found.or_else(|| state.former.find(digest, Instant::now()))
    }

    /// The image that a session began as, which was made for this version of the server: a present one,
    /// or one that is read from the files that are kept for sessions. Reading takes as long as copying
    /// and hashing its memory.
    ///
    /// # Errors
    ///
    /// The file is damaged or of another version, or the disk fails.
    pub fn find_pinned(
        &self,
        digest: Digest,
        pinned: &PinnedImages,
        version: Digest,
    ) -> Result<Option<Arc<ImageContent>>, PinFault> {
        // Several sessions of one image read it once.
        let _loading = self.shared.loading.lock();
        if let Some(present) = self.find_present(digest) {
            return Ok(Some(present));
        }
        let Some(image) = pinned.load(digest, version)? else {
            return self.find(digest).map_err(PinFault::Cache);
        };
        let content = Arc::clone(&image.content);
        let most = self.shared.rules.memory.as_u64();
        let mut state = self.shared.state.lock();
        let left = most.saturating_sub(state.bytes_beyond(&self.shared.rules));
        state.former.put(image, left, Instant::now());
        Ok(Some(content))
    }
}
