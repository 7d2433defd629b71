//! A guest: the state in its store, the calls between it and its host, and its life from open to
//! close.

pub(crate) mod calls;
mod hold;
pub mod open;
pub mod state;

pub use crate::run::guest::open::OpenGuest;
pub use crate::run::guest::state::Guest;
