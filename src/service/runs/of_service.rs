//! The records of the service's own runs.

use crate::service::parts::Service;
use crate::service::runs::Runs;
use crate::service::runs::history::RunHistory;

impl Runs for Service {
    fn runs(&self) -> &RunHistory {
        &self.runs
    }
}
