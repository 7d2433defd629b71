//! Code that all edges share: the state of a server's requests, bodies that are bounded in size and
//! time, answers that are charged until they are taken, and the failures of calls.
//!
//! Knows no route and no protocol but the shape of a failed call.

pub(crate) mod answer;
pub(crate) mod audited;
pub(crate) mod body;
pub(crate) mod calls;
pub(crate) mod readiness;
pub(crate) mod respond;
pub(crate) mod state;

pub use crate::net::readiness::Readiness;
