//! The gateway's network against real servers on loopback.

mod addresses;
mod encrypted;
mod filters;
mod framing;
mod limits;
mod own_requests;
mod requests;
mod scripted;
mod support;
mod urls;
