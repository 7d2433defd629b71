//! Sessions over HTTP: what is below `/v1/sessions`, a notebook that is sent with the pictures of its cells, and
//! answers to runs that ask their callers.

pub(super) mod answers;
mod file_upload;
pub(super) mod files;
mod notebook_body;
mod request;
pub(super) mod routes;
