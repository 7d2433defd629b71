//! Sessions over HTTP: what is below `/v1/sessions`.

mod file_upload;
pub(super) mod files;
mod request;
pub(super) mod routes;
