//! The way to servers: names, checked addresses, connections, TLS, HTTP.

pub(crate) mod dial;
pub(crate) mod metered;
pub mod resolver;
pub(crate) mod tasks;
pub(crate) mod tls;
pub(crate) mod upstream;
