//! Stores large content outside the conversation, named by the hash of its kind and bytes, which is
//! keyed for each tenant.
//!
//! This module knows no methods and no runs. It stores bytes of a tenant under a
//! [`BlobId`](wardian_vocabulary::ids::BlobId). Two interfaces divide the work: a [`BlobStore`] keeps
//! blobs, wherever that is, and [`BlobFiles`] gives a local descriptor of a blob's verified content to
//! those that read files. [`LocalBlobs`] is both. Its store is a folder:
//!
//! ```text
//! <root>/lock                      held while a server uses the store
//! <root>/drafts/draft-<n>          being written; removed at the next start
//! <root>/tenants/<tenant>/<id>     content, then a trailer with kind, size and time
//! <root>/tenants/<tenant>/<id>.name  the names that the tenant gave the blob
//! <root>/quarantine/...            damaged files, set aside and never removed
//! ```
//!
//! INVARIANT(acknowledged-is-durable): when `put` has answered, the blob survives a crash of the
//! server and a loss of power.
//!
//! INVARIANT(whole-or-absent): after a crash or an error at any point, a blob is whole or absent.
//! No reader ever sees a part of a blob.
//!
//! INVARIANT(intact-or-error): bytes whose hash differs from their id are never returned; their
//! file is set aside.
//!
//! INVARIANT(tenants-apart): a blob of one tenant does not exist for another. The error is the same
//! as for a blob that was never stored.
//!
//! # Why
//!
//! A failed sync of a file is harmless: the draft is removed and the call fails. A failed sync of a
//! folder is not: the kernel may drop the change and the failure, and a second sync would succeed
//! without writing anything. So after a failed sync of a folder the store refuses writes until it
//! is opened again; reads continue.

mod config;
pub mod content;
mod error;
mod files;
pub(crate) mod id_key_table;
mod id_keys;
mod listing;
pub mod local;
mod pin;
pub(crate) mod remote;
mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use crate::blobs::config::BlobStoreConfig;
pub use crate::blobs::content::trailer::StoredBlob;
pub use crate::blobs::error::BlobError;
pub use crate::blobs::files::{BlobFiles, BlobVerdict, Blobs, OnDamage, OpenBlob};
pub use crate::blobs::id_key_table::BlobIdKeyTable;
pub use crate::blobs::id_keys::{BlobIdKeys, NoIdKeys};
pub use crate::blobs::listing::{BlobOrder, BlobPage, BlobPlace, ListedBlob, MAX_ORDERED};
pub use crate::blobs::local::local_blobs::LocalBlobs;
pub use crate::blobs::local::retention::SweepReport;
pub use crate::blobs::local::store::LocalBlobStore;
pub use crate::blobs::pin::BlobPin;
pub use crate::blobs::remote::id_keys::ObjectIdKeys;
pub use crate::blobs::remote::objects::{
    BlobObjects, ObjectContent, ObjectPage, ObjectReader, Overwrite, WrittenObject,
};
pub use crate::blobs::remote::owner::PlaceOwner;
pub use crate::blobs::remote::reconcile::{Compared, Reconciling, StoreDifference};
pub use crate::blobs::remote::remote_blobs::RemoteBlobs;
pub use crate::blobs::store::{
    BlobFuture, BlobPart, BlobStore, BlobWindow, BlobWriter, HeldBlob, NewBlob, TenantUsage,
    WrittenBlob,
};
