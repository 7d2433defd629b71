//! Large content kept outside the conversation, named by the hash of its kind and bytes.
//!
//! Knows nothing of methods or runs: bytes in, [`BlobId`](crate::ids::BlobId) out, per tenant. All
//! calls block; callers bring a thread.
//!
//! ```text
//! <root>/lock                      held while a server uses the store
//! <root>/drafts/draft-<n>          being written; removed at the next start
//! <root>/tenants/<tenant>/<id>     content, then a trailer with kind, size and time
//! <root>/quarantine/...            damaged files, set aside and never removed
//! ```
//!
//! INVARIANT(acknowledged-is-durable): when `put` has answered, the blob survives a crash of the
//! server and a loss of power.
//!
//! INVARIANT(whole-or-absent): a crash or an error at any point leaves a blob as it was or leaves
//! none; no reader ever sees part of one.
//!
//! INVARIANT(intact-or-error): bytes that do not have the hash they are named by are never handed
//! out; the file is set aside.
//!
//! INVARIANT(tenants-apart): what one tenant stored does not exist for another, not even as a
//! different error.
//!
//! # Why
//!
//! A failed sync of a file is harmless: the draft is thrown away and nothing was promised. A
//! failed sync of a folder is not: the kernel may forget the failure together with the change, and
//! a second attempt would succeed without having written anything. So after one the store takes
//! no more writes until it is opened again; reads go on.

mod config;
pub mod content;
mod error;
pub mod local;
mod store;

pub use crate::blobs::config::BlobStoreConfig;
pub use crate::blobs::content::trailer::StoredBlob;
pub use crate::blobs::error::BlobError;
pub use crate::blobs::local::store::LocalBlobStore;
pub use crate::blobs::local::tenant_folder::TenantUsage;
pub use crate::blobs::store::{BlobPart, BlobStore, BlobWindow, OpenBlob, SweepReport};
