//! The fleet: calls in the background wait in the database, and any server with room executes them.
//!
//! | part            | does                                                                              |
//! | --------------- | --------------------------------------------------------------------------------- |
//! | `order.rs`      | what a call asks for, as it waits in the database                                  |
//! | `seal.rs`       | seals orders with the key of the fleet: a database has backups                     |
//! | `member.rs`     | this server in the fleet: what it has claimed and begun, by the rules of the fleet |
//! | `submission.rs` | a call becomes an order                                                            |
//! | `placed_run.rs` | a run that came out of the queue, from its claim to its end                        |
//! | `execute.rs`    | an order becomes a run of this server                                              |
//! | `error.rs`      | errors of calls in a fleet                                                        |
//! | `driver.rs`     | claims, begins and gives back, as the rules say                                    |
//!
//! A run is executed by the server, in the epoch, that has moved it from the queue to the runs that are begun, and the
//! database moves each once. What has begun is never begun again.
//!
//! An order that no server can execute ends as `refused` when the longest wait for a worker is over.

mod driver;
pub(crate) mod error;
mod execute;
pub(crate) mod member;
pub(crate) mod order;
pub(crate) mod placed_run;
mod seal;
mod submission;

pub use crate::fleet::driver::FleetTasks;
pub use crate::fleet::error::FleetError;
pub use crate::fleet::member::FleetParts;
pub use crate::fleet::seal::{FleetKey, FleetKeyError};
