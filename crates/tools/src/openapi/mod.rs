//! HTTP APIs that an OpenAPI document (3.0 or 3.1) describes: each operation is a tool.
//!
//! The document is the operator's, so it is read as a tree. Arguments come from guests: of them only the first level
//! is taken apart.

mod api;
mod arguments;
mod document;
mod operation;
mod references;

pub(crate) use crate::openapi::api::{ApiPlace, ApiServer};
