//! The rules by which servers of a fleet share a queue of runs: plain values, which are told the time and the answers of
//! the database. Whoever performs what they decide is elsewhere, and so is the simulation's model of it.
//!
//! | part          | decides                                                                 |
//! | ------------- | ----------------------------------------------------------------------- |
//! | `lease.rs`    | when a server may judge others                                          |
//! | `node.rs`     | what a server claims, begins and gives back                             |
//! | `held.rs`     | how far each run is that it has claimed                                  |
//! | `orders.rs`   | the statements that it asks for                                          |
//!
//! A run is claimed by a server in its epoch, begins when it has a worker, and is executed once the database says that
//! it has begun. The database moves each run from claimed to begun once, and answers the same question in the same way
//! again: so a server whose question had no answer asks again, and executes nothing meanwhile.
//!
//! INVARIANT(executed-after-begin): a run is executed only after an answer that says so, and only once.

mod held;
mod lease;
mod node;
mod orders;
#[cfg(test)]
mod protocol_tests;
#[cfg(test)]
mod simulation;

pub use crate::lease::{AfterRenewal, LeaseRules};
pub use crate::node::{FleetNode, NodeBounds};
pub use crate::orders::{
    BeginOrder, ClaimOrder, Decided, GiveBackOrder, Lost, StatementUnanswered,
};
