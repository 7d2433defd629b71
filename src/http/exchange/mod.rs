//! An exchange: reading the body of the request, writing that of the answer, and the span of both.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod respond;
pub(crate) mod traced;
