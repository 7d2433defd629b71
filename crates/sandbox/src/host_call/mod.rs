//! Host calls: a guest's requests for things outside of its memory, and the answers.

pub mod account;
pub(crate) mod cell;
pub(crate) mod file_request;
pub mod host_calls;
#[cfg(test)]
pub(crate) mod hostile_tests;
pub(crate) mod keep_files;
pub(crate) mod replies;
pub(crate) mod request;
mod show;
