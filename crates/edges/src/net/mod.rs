//! Code that all edges share: the state of a server's requests, bodies that are bounded in size and
//! time, answers that are charged until they are taken, and the failures of calls.
//!
//! Knows no route and no protocol but the shape of a failed call.

pub mod answer;
pub mod audited;
pub mod body;
pub mod calls;
pub mod readiness;
pub mod respond;
pub mod state;

pub use crate::net::readiness::Readiness;
