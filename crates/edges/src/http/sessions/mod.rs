//! Sessions over HTTP: what is below `/v1/sessions`, and a notebook that is sent with the pictures of its cells.

mod file_upload;
pub(super) mod files;
mod notebook_body;
mod request;
pub(super) mod routes;
