//! Kept results of runs that repeat: the answer to the same run later, without a worker.
//!
//! Knows nothing of runs or their results: it keeps values under digests. Values are kept in memory,
//! so a restart forgets them.
//!
//! INVARIANT(own-results): a value is found by the tenant that it was kept for, and by no other one.
//!
//! | file        | purpose                                       |
//! | ----------- | --------------------------------------------- |
//! | `config.rs` | the bounds                                    |
//! | `cache.rs`  | finds, keeps and forgets values               |

mod cache;
mod config;

pub use crate::results::cache::KeptValues;
pub use crate::results::config::ResultsConfig;
