//! Who may call: the names by which the server is called, and the websites whose pages may.

pub(crate) mod cors;
pub(crate) mod hosts;
