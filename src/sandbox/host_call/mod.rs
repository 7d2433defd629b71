//! What a guest asks of the world outside of its memory, and who answers.

pub mod door;
pub(crate) mod file_request;
pub mod host_calls;
#[cfg(test)]
pub(crate) mod hostile_tests;
pub(crate) mod keep_files;
pub(crate) mod replies;
