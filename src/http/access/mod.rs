//! Access: the host names that the server answers to, the websites that may call it, and the
//! credentials of callers.

pub(crate) mod cors;
pub(crate) mod credentials;
pub(crate) mod hosts;
