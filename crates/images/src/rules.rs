//! The limits of a server's images, and why a run cannot have the one of reproducible runs.

use std::time::Duration;

use crate::package_set::PackageSet;
use wardian_vocabulary::units::ByteCount;

/// The limits of a server's images.
#[derive(Debug, Clone)]
pub struct ImageRules {
    /// Images that are made at the start and kept.
    pub profiles: Vec<PackageSet>,
    /// True if images beyond the profiles are made when runs need them.
    pub on_need: bool,
    /// The number of different images that are made because runs need them. Beyond it, one image
    /// with all packages serves the rest.
    pub variety: usize,
    /// Memory of all images beyond the base and the profiles.
    pub memory: ByteCount,
    /// Disk space of all images.
    pub disk: ByteCount,
    /// The highest age of the secret of Python's hashes; `None` keeps it for ever.
    pub max_age: Option<Duration>,
}

/// The reason why a run cannot be reproducible now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReproducible {
    /// The image of reproducible runs is being made.
    #[error(
        "the memory image of reproducible runs is being built, which takes a few seconds, once; \
        try again then"
    )]
    InTheMaking,
    /// The image of reproducible runs could not be made a moment ago.
    #[error(
        "this server cannot make runs reproducible now: omit `reproducible`, or try again in a \
        few minutes"
    )]
    Failed,
}
