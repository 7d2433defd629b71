//! The batteries that some images have imported, as images need them.

use std::fmt::Debug;
use std::io;

use wardian_formats::job::layer::LayerContent;
use wardian_vocabulary::ids::Digest;

/// The batteries of this program on this machine.
pub trait Batteries: Debug + Send + Sync {
    /// Names what they consist of, whether they are on this machine or not.
    fn digest(&self) -> Digest;

    /// Opens their layer, and its bytecode if it was compiled; `None` if they are not on this machine.
    ///
    /// # Errors
    ///
    /// The disk fails.
    fn open(&self) -> io::Result<Option<(LayerContent, Option<LayerContent>)>>;
}
