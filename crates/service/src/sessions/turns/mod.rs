//! The turns of cells: what is noted while they run, and their ends. Sessions that a first turn has made.

pub(super) mod begun_host;
pub(super) mod end_turn;
pub(super) mod not_begun;
pub(super) mod seen_requests;
pub(super) mod unknown_session;
