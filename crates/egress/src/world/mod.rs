//! The way to servers: names, checked addresses, connections, TLS, HTTP.

pub(crate) mod dial;
pub mod metered;
pub mod resolver;
pub mod tasks;
pub mod tls;
pub(crate) mod upstream;
