//! Access: the host names that the server answers to, and the websites that may call it.

pub(crate) mod cors;
pub(crate) mod hosts;
