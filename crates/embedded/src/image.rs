//! The image of an embedding program.

use std::fmt;
use std::sync::Arc;

use crate::engine::Engine;
use crate::error::EmbeddedError;
use wardian_formats::job::image::ImageContent;
use wardian_image_builder::ImageError;
use wardian_images::PackageSet;
use wardian_sandbox::vfs::ImageDescriptors;

/// The memory of an interpreter that has imported packages. Programs begin as a private copy of it.
///
/// Every image has the common standard library, NumPy and pandas. What it has beyond them decides how
/// fast a program is and nothing else: the program imports the rest by itself.
#[derive(Clone)]
pub struct Image {
    content: Arc<ImageContent>,
}

impl Image {
    /// Loads the image with `packages`, such as [`PackageSet::NONE`], `"sklearn".parse()?`, or what a
    /// program imports: [`PackageSet::of_source`].
    ///
    /// An image that is not in the engine's cache is made, which takes seconds. All sandboxes share its
    /// memory: 87 MiB for the base image.
    ///
    /// # Errors
    ///
    /// [`EmbeddedError::Image`] if it cannot be made, and [`EmbeddedError::PublicSecret`] for
    /// one of [reproducible runs](PackageSet::is_reproducible).
    pub fn with(engine: &Engine, packages: PackageSet) -> Result<Self, EmbeddedError> {
        if packages.is_reproducible() {
            return Err(EmbeddedError::PublicSecret);
        }
        Ok(Self { content: engine.image(packages)?.content })
    }

    /// The files that its interpreter has open.
    pub(crate) fn descriptors(&self) -> Result<ImageDescriptors, ImageError> {
        let name = || self.content.name().to_owned();
        serde_json::from_str(self.content.open_files().get())
            .map_err(|fault| ImageError::Storage { name: name(), cause: fault.into() })
    }

    /// Its memory.
    pub(crate) fn content(&self) -> &ImageContent {
        &self.content
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("name", &self.content.name()).finish_non_exhaustive()
    }
}
