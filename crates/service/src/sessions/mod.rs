//! Sessions: interpreters that calls use one after another.
//!
//! A cell is a run like any other, with a record of its own. What differs is its guest, which is that of the
//! cell before, and its end: the state after it is kept before the caller has the answer. The state is in
//! [`wardian_sessions`]; guests that workers keep in between are a cache.
//!
//! A session has no secrets, and no network but what the operator grants to all code: an earlier cell could
//! have replaced any module.

pub(crate) mod asking;
pub(crate) mod calls;
pub(crate) mod cell;
mod cell_parts;
mod earlier_parts;
pub(crate) mod files;
mod held;
pub(crate) mod held_cells;
mod kept_cells;
pub(crate) mod kept_guests;
pub(crate) mod notebook;
pub(crate) mod observed;
pub(crate) mod order;
pub(crate) mod reproducible;
pub(crate) mod room;
pub(crate) mod setup;
mod turns;
pub(crate) mod views;
mod whole_run;
