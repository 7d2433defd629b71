//! Tests of the edge, with fake methods.

mod operator;
mod rules;
mod sockets;
mod support;
