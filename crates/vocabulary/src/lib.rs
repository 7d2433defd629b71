//! Words of the house: plain values and small helpers that every other crate may use.

pub mod budget;
pub mod cgroup;
pub mod client_tls;
pub mod clock;
pub mod crypto;
pub mod error;
pub mod files;
pub mod framing;
pub mod heap;
pub mod ids;
pub mod quotas;
pub mod secret_text;
pub mod subprocess;
pub mod units;
