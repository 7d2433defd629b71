//! TLS on the address that the server listens on.
//!
//! The certificate and its key are read from two files, at the start and whenever the files change.
//! Connections that are open keep the certificate that they began with.
//!
//! INVARIANT(bounded-handshake): a handshake ends after `http.tls.handshake_timeout`, whatever a
//! client sends or withholds. A connection that shakes hands counts as an open one that waits for
//! its client, so it makes room for others like any idle connection.

mod endpoint;
mod error;
mod files;
mod validity;

pub use crate::http::tls::endpoint::{ReloadedCertificate, TlsEndpoint};
pub use crate::http::tls::error::TlsError;
pub use crate::http::tls::files::{PathStamp, TlsFiles};
