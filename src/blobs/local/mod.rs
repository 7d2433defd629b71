//! The store on a local disk.

pub mod catalogue;
pub mod disk;
#[cfg(test)]
pub(crate) mod failure_tests;
#[cfg(test)]
pub(crate) mod faulty_disk;
pub(crate) mod id_scheme;
pub(crate) mod names;
pub mod read;
pub mod retention;
pub(crate) mod store;
pub(crate) mod tenant_folder;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod verified;
pub mod write;
