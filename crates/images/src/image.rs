//! An image, and the interfaces that find and make images.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use crate::package_set::PackageSet;
use crate::usage::ImageUsage;
use wardian_formats::job::image::ImageContent;
use wardian_vocabulary::ids::Digest;
use wardian_vocabulary::units::ByteCount;

/// The reason why images cannot be found or made, for the log.
pub type ImageFault = Box<dyn Error + Send + Sync>;

/// An image that is ready to be sent to workers.
#[derive(Debug)]
pub struct Image {
    /// The packages that it holds beyond the base.
    pub packages: PackageSet,
    /// The content that workers get.
    pub content: Arc<ImageContent>,
    /// Memory that it takes on this machine. All workers share it.
    pub resident: ByteCount,
}

/// An image on the disk.
#[derive(Debug, Clone, Copy)]
pub struct KeptImage {
    /// The packages that it holds beyond the base.
    pub packages: PackageSet,
    /// Disk space that it takes.
    pub size: ByteCount,
    /// Its use so far.
    pub usage: ImageUsage,
}

/// Counts of the images that were due to be rebuilt with a new hash secret, since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImageRenewals {
    /// Those that took the place of old ones.
    pub renewed: u64,
    /// Attempts that failed. The old image stays in use, and is tried again.
    pub failed: u64,
}

/// The images on the disk that fit this version of the program.
pub trait KeptImages: Send + Sync + 'static {
    /// The image for `packages`, if it is on the disk. Takes as long as copying its memory.
    ///
    /// # Errors
    ///
    /// The disk fails.
    fn find(&self, packages: PackageSet) -> Result<Option<Image>, ImageFault>;

    /// Lists all of them.
    ///
    /// # Errors
    ///
    /// The disk cannot be read.
    fn list(&self) -> Result<Vec<KeptImage>, ImageFault>;

    /// Removes images until they take no more than `limit`, but none of those in `used`: first
    /// those of other versions of this program, then the least recently used ones.
    /// Returns the bytes that were freed.
    ///
    /// # Errors
    ///
    /// The disk cannot be changed, or another process is adding to it.
    fn shrink(
        &self,
        limit: ByteCount,
        used: &BTreeSet<PackageSet>,
    ) -> Result<ByteCount, ImageFault>;

    /// Draws another secret for Python's hashes if the present one was drawn before `oldest`, a
    /// time since the Unix epoch. Returns true if a secret was drawn; no image on the disk is
    /// [current](Self::is_current) then.
    ///
    /// # Errors
    ///
    /// The disk fails.
    fn renew_secret(&self, oldest: Duration) -> Result<bool, ImageFault>;

    /// True if the image for `packages` with that digest is the one on the disk for the present
    /// secret.
    ///
    /// # Errors
    ///
    /// The disk fails.
    fn is_current(&self, packages: PackageSet, digest: Digest) -> Result<bool, ImageFault>;

    /// Notes that `more` runs began as the image, the last of them at `now`, a time since the Unix
    /// epoch. A note that is lost costs the next start time, nothing else.
    fn note_use(&self, packages: PackageSet, more: u64, now: Duration);
}

/// Makes images on the disk. That takes seconds and hundreds of megabytes of memory, so a server
/// does it in a child process.
pub trait ImageMaker: Send {
    /// Makes the image for `packages`, if it is not on the disk.
    ///
    /// # Errors
    ///
    /// The image could not be made.
    fn make(&self, packages: PackageSet) -> Result<(), ImageFault>;
}
