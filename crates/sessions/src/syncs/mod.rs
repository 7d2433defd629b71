//! When states survive a loss of power.

mod durability;
pub(crate) mod unsynced;
