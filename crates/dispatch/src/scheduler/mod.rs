//! Decides the order of runs, and the worker of each.
//!
//! | file            | purpose                                                                  |
//! | --------------- | ------------------------------------------------------------------------ |
//! | `claim.rs`      | new runs, and the decisions about them                                   |
//! | `queue/`        | all waiting runs, fair between tenants                                   |
//! | `idle.rs`       | idle workers, each for runs of its owner alone                           |
//! | `roster.rs`     | the workers and their accounts                                           |
//! | `held.rs`       | guests that workers keep between two turns                               |
//! | `growth.rs`     | how many runs are in progress, and how many workers exist for them        |
//! | `assignment.rs` | the worker of each run: plain data, no tokio, no processes               |
//! | `holding.rs`    | what becomes of kept guests: their turns, and who gives way to whom       |
//! | `status.rs`     | the parts of the state that others wait for                              |
//! | `shared.rs`     | the state behind a lock; carries its decisions out and tells watchers    |
//! | `queued_run.rs` | a place in the queue, given up when it is dropped                        |
//! | `lease.rs`      | the right to use a worker for one run, given back when it is dropped     |
//! | `watch.rs`      | finds out which runs wait while others want their place                  |
//!
//! Each file uses only those above it.

pub(crate) mod assignment;
pub(crate) mod claim;
pub(crate) mod growth;
pub(crate) mod held;
mod holding;
mod idle;
pub(crate) mod lease;
mod queue;
mod queued_run;
mod roster;
pub(crate) mod shared;
mod status;
pub(crate) mod watch;
