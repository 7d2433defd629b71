//! The records of the service's own runs.

use crate::service::runs::Runs;
use crate::service::runs::history::RunHistory;
use crate::service::start::Discovery;

impl Runs for Discovery {
    fn runs(&self) -> &RunHistory {
        &self.runs
    }
}
