//! Object stores with the interface of S3: packages of skills lie in them as in a folder.
//!
//! ```text
//! s3://bucket/prefix/acme.sales.report/1.0.0.tar                           the package, never replaced
//! s3://bucket/prefix/acme.sales.report/1.0.0.0123456789abcdef.dsse.json    a signature of it
//! ```
//!
//! The crate `object_store` writes and signs the requests; they are sent by the network of sources, under the same rules and
//! bounds as all others.
//!
//! INVARIANT(store-credentials-stay): credentials of object stores are in no message and no log, and go to the store that
//! the user's environment names, not to one that a lock names, and along no redirect.

pub(crate) mod bucket;
mod connector;
mod credentials_file;
mod network;
pub(crate) mod objects;
pub(crate) mod place;
pub(crate) mod settings;
pub(crate) mod shelf;
mod trouble;
