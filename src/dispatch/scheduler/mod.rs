//! Decides the order of runs, and the worker of each.
//!
//! | file            | purpose                                                                  |
//! | --------------- | ------------------------------------------------------------------------ |
//! | `queue.rs`      | waiting runs, fair between tenants                                       |
//! | `state.rs`      | the decisions: plain data, no tokio, no processes                        |
//! | `shared.rs`     | the state behind a lock; carries its decisions out and tells watchers    |
//! | `queued_run.rs` | a place in the queue, given up when it is dropped                        |
//! | `lease.rs`      | the right to use a worker for one run, given back when it is dropped     |
//!
//! Each file uses only those above it.

pub(crate) mod lease;
pub(crate) mod queue;
pub(crate) mod queued_run;
pub(crate) mod shared;
pub(crate) mod state;
