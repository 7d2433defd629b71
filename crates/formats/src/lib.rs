//! Bytes in, typed values out: skills, the protocol, orders of runs, and what proves a run.

pub mod job;
pub mod protocol;
pub mod provenance;
pub mod skill;
