//! Skills that callers have published: a folder for each tenant, which only the server writes to.
//!
//! ```text
//! <data_dir>/published/<tenant>/acme.sales.report@1.0.0/
//! <data_dir>/published/<tenant>/.digests/acme.sales.report@1.0.0
//! ```
//!
//! INVARIANT(immutable-versions): a version of a skill that was published once has one content for
//! ever, also after it was removed. Its digest stays.
//!
//! INVARIANT(whole-or-not): a skill is checked in a hidden folder and renamed into its place, so it
//! is there as a whole or not at all, whenever the machine stops.

mod error;
mod package;
mod store;

pub use crate::registry::publishing::error::PublishError;
pub use crate::registry::publishing::package::pack;
pub(crate) use crate::registry::publishing::store::roots_in;
pub use crate::registry::publishing::store::{PublishBounds, PublishedStore, PublishedVersion};
