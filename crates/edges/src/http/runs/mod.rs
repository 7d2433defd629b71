//! Runs over HTTP: the answer of a run as events, and runs that are known by their ids.

pub(super) mod events;
pub(super) mod routes;
