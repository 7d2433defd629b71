//! Sessions over HTTP: their routes, and a notebook that is sent with the pictures of its cells.

mod notebook_body;
pub(super) mod routes;
