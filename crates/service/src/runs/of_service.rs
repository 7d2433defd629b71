//! The records of the service's own runs.

use crate::runs::Runs;
use crate::runs::history::RunHistory;
use crate::start::Discovery;

impl Runs for Discovery {
    fn runs(&self) -> &RunHistory {
        &self.runs
    }
}
