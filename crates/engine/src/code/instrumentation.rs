//! The two choices that decide the checks in native code, and the module with these checks.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::code::metering::transform::with_metering;
use crate::code::polls::{Interruption, with_polls};
use crate::code::split_data::SplitError;

/// The kind of limit that code obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// Can be stopped, and has no other checks: the fast variant and the default. Runs are limited
    /// in time.
    Timed,
    /// Counts instructions as well, and gives NaNs the same bits wherever a program sees them: for
    /// fuel limits and reproducible runs.
    Metered,
}

impl Variant {
    /// Both, the default first.
    pub const ALL: [Self; 2] = [Self::Timed, Self::Metered];

    /// The name in messages and file names.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timed => "timed",
            Self::Metered => "metered",
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The checks in native code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Instrumentation {
    /// The kind of limit.
    pub variant: Variant,
    /// The way in which a guest is stopped.
    pub interruption: Interruption,
}

impl Instrumentation {
    /// Adds the checks that are part of the module to `module`. The others are wasmtime's.
    ///
    /// # Errors
    ///
    /// The module cannot be read, or has code that cannot be checked.
    pub fn apply(self, module: &[u8]) -> Result<Cow<'_, [u8]>, SplitError> {
        match (self.variant, self.interruption) {
            (Variant::Timed, Interruption::Polls) => with_polls(module).map(Cow::Owned),
            (Variant::Timed, Interruption::Epochs) => Ok(Cow::Borrowed(module)),
            (Variant::Metered, _) => with_metering(module).map(Cow::Owned),
        }
    }
}

impl From<Variant> for Instrumentation {
    /// The variant with the default way to stop it.
    fn from(variant: Variant) -> Self {
        Self { variant, interruption: Interruption::default() }
    }
}
