//! Finding an image by its digest, for guests that were made from it.

use std::sync::Arc;
use std::time::Instant;

use crate::cache::ImageCache;
use crate::image::ImageFault;
use wardian_formats::job::image::ImageContent;
use wardian_vocabulary::ids::Digest;

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
}
