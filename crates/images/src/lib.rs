//! Memory images in the gateway: picks one for each run, and decides which ones are kept.
//!
//! An image is the memory of an interpreter that has already imported packages. The base image has
//! the common standard library, NumPy and pandas. Other packages are slow to import; there is one
//! image for each [set of packages](PackageSet), made when a run first needs it. Every run could
//! begin as the base image: the choice of the image affects only the speed of the run.
//!
//! A session needs the image that it began as for as long as it exists, and [`PinnedImages`] keeps it.
//!
//! Knows nothing of how images are made: [`KeptImages`] finds them and [`ImageMaker`] makes them.

mod attempts;
mod cache;
mod find;
mod former;
mod image;
mod imports;
mod package_set;
mod pins;
mod renewal;
mod rules;
mod usage;
mod waiting;

pub use crate::cache::ImageCache;
pub use crate::image::{Image, ImageFault, ImageMaker, ImageRenewals, KeptImage, KeptImages};
pub use crate::package_set::PackageSet;
pub use crate::pins::{PinFault, PinnedImages, PinnedReport};
pub use crate::rules::{ImageRules, NotReproducible};
pub use crate::usage::ImageUsage;
