//! The gateway's network against real servers on loopback.

mod addresses;
mod encrypted;
mod filters;
mod framing;
mod limits;
mod requests;
mod scripted;
mod support;
mod urls;
