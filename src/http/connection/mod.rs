<<<<<<< HEAD
//! One connection: how many there are, and how long each step may take.
=======
//! Connections: their number, the check of their request heads, and the time-outs of each step
//! of an exchange.
>>>>>>> main

pub(crate) mod limit;
pub(crate) mod repoll;
pub(crate) mod timeouts;
