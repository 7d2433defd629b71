//! A fleet in one process: servers that follow the rules, a database with the isolation of the real one, and everything
//! that can go wrong between them, in an order that a seed decides.
//!
//! | part          | purpose                                                                          |
//! | ------------- | -------------------------------------------------------------------------------- |
//! | `dice.rs`     | chance that follows from a seed                                                  |
//! | `database.rs` | the tables, and each statement as one step                                       |
//! | `server.rs`   | a server in all of its lives, which performs what the rules decide               |
//! | `world.rs`    | time, statements on their way, what goes wrong, and what must hold               |
//! | `tests.rs`    | ten thousand fleets, and faults that are put into the protocol to be found       |

mod database;
mod dice;
mod server;
mod tests;
mod world;
