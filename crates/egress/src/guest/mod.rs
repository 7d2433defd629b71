//! The guest's side of a connection: a byte stream that ends in a parser of the gateway.

pub(crate) mod activity;
pub mod body;
pub mod checked_request;
pub mod failure;
pub mod hello;
pub mod pipe;
pub mod session;
