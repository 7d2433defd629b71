//! The records of a tenant's runs, for the edges, and where the runs of this server leave theirs.
//!
//! A caller sees the runs that its scopes let it make: those of `execute_skill` with `execute`, and
//! those of `run_code` with `code`. All others, and those of other tenants, are answered as runs
//! that do not exist.

pub(crate) mod active;
mod choice;
mod elsewhere;
pub(crate) mod history;
mod in_progress;
pub(crate) mod noted;
mod waits;

use std::sync::Arc;

pub use crate::runs::active::{ActiveRunView, ActiveRuns};
pub use crate::runs::choice::RunListOrder;
pub use crate::runs::history::{FoundRun, Journal, RunHistory, RunList};
pub use crate::runs::in_progress::{ActiveRunList, CancelledRun};

/// The interface of the records of runs for the edges.
pub trait Runs: Send + Sync + 'static {
    /// The records.
    fn runs(&self) -> &RunHistory;
}

impl<R: Runs> Runs for Arc<R> {
    fn runs(&self) -> &RunHistory {
        R::runs(self)
    }
}
