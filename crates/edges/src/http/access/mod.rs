//! Access: the host names that the server answers to, the websites that may call it, and the
//! credentials of callers.

pub(crate) mod cors;
pub(super) mod credentials;
pub(super) mod hosts;
