//! The HTTP edge: `POST /rpc`, blobs as streams below `/v1/blobs`, and the operations endpoints.
//!
//! The edge translates bytes into calls of [`Methods`] and [`Transfers`], and results into bytes. It
//! decides only which requests it accepts, by their size, speed, host and origin.
//!
//! INVARIANT(no-secrets-out): an answer never shows a path of this machine, a cause or a dump.
//! An internal error is one fixed sentence and the id of the request, under which the log has the
//! causes.
//! INVARIANT(bounded-connections): whatever a client sends or withholds, each connection ends
//! after a bounded time and holds a bounded part of the memory.
//!
//! # Why
//!
//! Answers are not compressed: an answer may hold a secret next to an attacker's text, and its
//! length would reveal the secret. Browsers may call only on behalf of the websites that the
//! configuration names (see `access::cors`).

mod access;
mod admin;
mod blobs;
mod config;
mod connection;
mod edge;
mod metrics;
mod operations;
mod operator;
mod router;
mod rpc;
mod runs;
mod server;
mod sessions;
mod shutdown;
mod skills;
#[cfg(test)]
mod tests;
mod tls;
mod traced;

pub use crate::http::config::{
    CONNECTION_MEMORY, EXPOSED, HttpConfig, TLS_MEMORY, share_of_an_address,
};
pub use crate::http::router::router;
pub use crate::http::server::{HttpError, LiveHttpConfig, Server};
#[cfg(test)]
pub(crate) use crate::http::shutdown::Stage;
pub use crate::http::shutdown::{InputEnd, stop_on_signals};
pub use crate::http::tls::{PathStamp, ReloadedCertificate, TlsEndpoint, TlsError, TlsFiles};
pub use crate::net::readiness::Readiness;

#[cfg(doc)]
use wardian_service::{Methods, Transfers};
