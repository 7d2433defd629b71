//! Recorded answers of servers: what the tests of a skill use instead of the world.
//!
//! Requests pass the rules, the limits and the rewriting of every other request. Only the
//! connection is another one: it leads to a server in this process that answers from the
//! recording. Nothing is looked up and nothing is encrypted.

mod recording;
mod server;

pub use recording::{ExpectedBody, RecordedAnswer, RecordedExchange, RecordedRequest, Recording};

pub(crate) use server::RecordedServer;
pub use server::serve;
