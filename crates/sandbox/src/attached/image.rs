//! An image that guests begin as.

use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::SandboxError;
use crate::memory::{MemoryImage, SlotPool, SlotRules};
use crate::vfs::ImageDescriptors;

/// The parts that an image is loaded from.
#[derive(Debug)]
pub struct ImageSpec {
    /// Sealed memory file.
    pub memory: OwnedFd,
    /// Files that the interpreter has open in the image.
    pub descriptors: ImageDescriptors,
}

/// An image in use.
pub(crate) struct LoadedImage {
    pool: Arc<SlotPool>,
    descriptors: ImageDescriptors,
    length: usize,
}

impl fmt::Debug for LoadedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedImage").field("length", &self.length).finish_non_exhaustive()
    }
}

impl LoadedImage {
    pub(crate) fn load(spec: ImageSpec, rules: &Arc<SlotRules>) -> Result<Self, SandboxError> {
        let image = MemoryImage::open(spec.memory)?;
        let length = image.length();
        let pool = SlotPool::new(image, Arc::clone(rules));
        Ok(Self { pool, descriptors: spec.descriptors, length })
    }

    pub(crate) const fn pool(&self) -> &Arc<SlotPool> {
        &self.pool
    }

    pub(crate) const fn descriptors(&self) -> &ImageDescriptors {
        &self.descriptors
    }

    /// Bytes of memory that a guest has from the start.
    pub(crate) const fn length(&self) -> usize {
        self.length
    }
}
