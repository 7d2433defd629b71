//! The store of blobs in an object store, which servers share, with copies on this machine.
//!
//! An object has the key `<prefix>/blobs/<tenant>/<id>`. What is uploaded is spooled to a [store on the local
//! disk](crate::blobs::LocalBlobStore) first, which hashes it, and stays there as the copy from which this
//! server reads. What has no copy is fetched, and compared with its id before anybody sees it. A table in the
//! database has the sizes, names and uses, and says which objects exist: see [`rows`].
//!
//! | file              | purpose                                                     |
//! | ----------------- | ----------------------------------------------------------- |
//! | `objects.rs`      | what is needed of an object store                           |
//! | `rows.rs`         | what is needed of a database                                |
//! | `parts.rs`        | the parts of the store, and its rows                        |
//! | `place.rs`        | the keys of objects                                         |
//! | `remote_blobs.rs` | the store                                                   |
//! | `publishing.rs`   | content becomes a blob                                      |
//! | `copies.rs`       | files with the content                                      |
//! | `retention.rs`    | blobs expire, and what was left half done is ended          |

mod copies;
pub(crate) mod id_keys;
pub(crate) mod objects;
pub(crate) mod owner;
pub(super) mod parts;
mod place;
mod publishing;
pub(crate) mod reconcile;
pub(crate) mod remote_blobs;
mod retention;
pub(crate) mod rows;
