//! The guest's side of a connection: a byte stream that ends in a parser of the gateway.

pub(crate) mod activity;
pub(crate) mod body;
pub(crate) mod exchange;
pub(crate) mod failure;
pub mod hello;
pub mod pipe;
pub(crate) mod session;
