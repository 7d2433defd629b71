//! Networks of reproducible runs: recorded as they happen, or replayed from a record.
//!
//! A guest sees the same in both. Each of its operations is answered when nothing is under way any
//! more, requests leave one after another, and responses come whole, in the form that the record
//! has. So neither the time that a server takes nor the pieces in which its bytes arrive enter the
//! run.

mod conversation;
mod cookies;
mod failure;
mod message;
mod player;
mod recorder;
mod script;

pub use player::NetworkPlayer;
pub use recorder::NetworkRecorder;
pub use script::NetworkScript;

pub(crate) use conversation::Conversation;
