//! The two halves of an exchange: the body that is read, the answer that is written.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod respond;
