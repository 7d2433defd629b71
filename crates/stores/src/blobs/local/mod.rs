//! The store on a local disk.

pub mod catalogue;
pub mod disk;
#[cfg(test)]
pub(crate) mod failure_tests;
#[cfg(any(test, feature = "testing"))]
pub mod faulty_disk;
pub(crate) mod id_scheme;
pub(crate) mod integrity;
pub(crate) mod local_blobs;
pub mod names;
pub mod read;
pub(crate) mod retention;
pub mod store;
pub(crate) mod tenant_folder;
#[cfg(test)]
pub mod testing;
pub mod verified_cache;
pub mod write;
