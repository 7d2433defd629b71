//! The turns of cells: what is noted while they run, and their ends; and what tenants have of the memory for
//! those that wait.

pub(super) mod begun_host;
pub(super) mod end_turn;
pub(super) mod restored_state;
pub(super) mod tenant_shares;
