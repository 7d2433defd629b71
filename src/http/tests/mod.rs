//! Tests of the edge, with fake methods.

mod rules;
mod sockets;
mod support;
