//! OCI registries: artifacts that are fetched, packages that are published, and their signatures.

pub(crate) mod artifact;
pub(crate) mod fetch;
pub(crate) mod push;
mod referrers;
mod session;
mod signed;
