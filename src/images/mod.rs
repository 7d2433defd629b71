//! Memory images in the gateway: picks one for each run, and decides which ones are kept.
//!
//! An image is an interpreter that has imported what many programs need. The base image has the
//! common standard library, NumPy and pandas. Other packages take long to import; for runs that use
//! them there are images that hold them too: one for each [set of packages](PackageSet), made when
//! a run first needs it. Every run could begin as the base image: which image it begins as decides
//! how fast it is and nothing else.
//!
//! Knows nothing of how images are made: [`KeptImages`] finds them and [`ImageMaker`] makes them.

mod cache;
mod image;
mod imports;
mod package_set;
mod usage;

pub use crate::images::cache::{CachedImage, ImageCache, ImageRules};
pub use crate::images::image::{Image, ImageFault, ImageMaker, KeptImage, KeptImages};
pub use crate::images::package_set::{PackageSet, UnknownGroup};
pub use crate::images::usage::ImageUsage;
