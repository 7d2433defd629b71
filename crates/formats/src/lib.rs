//! Bytes in, typed values out: skills, the protocol, notebooks, orders of runs, and what proves a run.

pub mod job;
pub mod notebook;
pub mod protocol;
pub mod provenance;
pub mod skill;
