//! The bodies of an exchange: reading the request's and writing the answer's.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod respond;
