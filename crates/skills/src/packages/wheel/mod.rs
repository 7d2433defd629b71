//! Unpacks wheels. A wheel is untrusted: its digest says that it is the locked one, not that it is
//! harmless.
//!
//! INVARIANT(pure-python): a layer holds no native code, no compiled Python, no file that the
//! interpreter runs at its start, and no path that leads out of it or means another one elsewhere.
//!
//! INVARIANT(bounded-wheel): the memory for a wheel is bounded before it is taken: by the size of
//! the archive, the number of entries, and the length of what they unpack to.

mod error;
mod file_name;
mod kind;
mod layout;
mod metadata;
mod path;
mod record;
mod shipped;
#[cfg(test)]
mod tests;
mod unpack;

pub(crate) use crate::packages::wheel::error::WheelError;
pub(crate) use crate::packages::wheel::file_name::NativeTags;
pub use crate::packages::wheel::file_name::WheelName;
pub(crate) use crate::packages::wheel::kind::WheelKind;
pub use crate::packages::wheel::path::{collision_key, path_fault};
pub(crate) use crate::packages::wheel::shipped::shipped;

pub use crate::packages::wheel::unpack::{Unpacked, UnpackedFile, WheelLimits, unpack};
