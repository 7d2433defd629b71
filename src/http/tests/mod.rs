//! The edge before methods that behave as a test wants.

mod rules;
mod sockets;
mod support;
