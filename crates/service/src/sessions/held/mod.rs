//! Cells that wait in the middle of a call: what bounds them, how they go on, and how they end with their
//! sessions and their interpreters.

pub(crate) mod ended_sessions;
pub(crate) mod going_on;
pub(crate) mod late_answers;
pub(crate) mod places;
pub(crate) mod session_guests;
