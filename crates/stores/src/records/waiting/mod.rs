//! Runs of a fleet that wait in the database for a server.
//!
//! | part           | does                                                                     |
//! | -------------- | ------------------------------------------------------------------------ |
//! | `order.rs`     | a call as it waits, and what came of its submission                       |
//! | `run_queue.rs` | what a database must do: each statement is a method                       |
//! | `overview.rs`  | the fleet as operators see it                                             |
//! | `of_server.rs` | the queue as one server uses it                                           |
//!
//! A run waits, is claimed by a server in its epoch, and then begins: it becomes a run in progress of that server,
//! and is in the queue no more. Until then anybody may end it, and what a server has claimed waits again once its
//! epoch is over.
//!
//! INVARIANT(begun-once): a run leaves the queue once: to the server that begins it, or to its end.
//!
//! INVARIANT(one-end): the end of a run is written while its server has it, or by whoever ends what the server has left,
//! and never by both. An end that was seen does not change.

mod of_server;
pub(crate) mod order;
pub(crate) mod overview;
pub(crate) mod run_queue;

pub use crate::records::waiting::order::{
    ClaimedRun, QueuedOrder, Submitted, UnrecordedState, UnrecordedView,
};
pub use crate::records::waiting::overview::{FleetServer, ServerFacts, TenantQueue};
pub use crate::records::waiting::run_queue::QueueCounts;
