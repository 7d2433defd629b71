//! One worker from the gateway's side: its process, its socket, and one run on it.
//!
//! A worker may be compromised, so its frames, payloads and outcomes are checked here.

pub(crate) mod activity;
pub(crate) mod attachments;
pub(crate) mod channel;
pub(crate) mod cpu_meter;
pub(crate) mod handle;
pub(crate) mod id;
pub(crate) mod payload;
pub(crate) mod process;
pub(crate) mod start_failure;
pub(crate) mod turn;
