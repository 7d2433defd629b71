//! The status of a running server, for operators.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::service::Service;
use crate::start::PreparationStep;
use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_stores::audit::AuditLog;

/// The interface of a server's state for operators and load balancers.
pub trait Status: Send + Sync + 'static {
    /// The reasons why calls cannot be executed at the moment; empty if they can.
    fn obstacles(&self) -> Vec<String>;

    /// Problems that do not prevent calls but that an operator should solve.
    fn warnings(&self) -> Vec<String>;

    /// The sandbox of runs, as names and values.
    fn sandbox(&self) -> BTreeMap<&'static str, String>;

    /// The limits that calls may set.
    fn limit_bounds(&self) -> LimitBounds;

    /// How far the preparation of the engine is, before calls can be executed.
    fn preparing(&self) -> Option<PreparationStep> {
        None
    }
}

impl Status for Service {
    fn obstacles(&self) -> Vec<String> {
        let mut obstacles = Vec::new();
        if self.execution.pool.report().workers.is_empty() {
            obstacles.push("no worker is ready".to_owned());
        }
        if self.blobs.store.is_read_only() {
            obstacles.push("the blob store is not writable".to_owned());
        }
        obstacles
    }

    fn warnings(&self) -> Vec<String> {
        let report = self.execution.pool.report();
        let missing: BTreeSet<&String> =
            report.workers.iter().flat_map(|worker| &worker.report.missing).collect();
        let warning = |wall| format!("guests run without a wall of the lock-down: {wall}");
        let mut warnings: Vec<String> = missing.into_iter().map(warning).collect();
        let (records, logs) = self.runs.lost();
        if records > 0 || logs > 0 {
            warnings.push(format!(
                "{records} records of runs and {logs} logs of others were lost since the start: \
                the server's log has the reason"
            ));
        }
        if let Some(lines) = self.runs.audit().map(AuditLog::lost).filter(|lines| *lines > 0) {
            warnings.push(format!("{lines} lines of the audit log were lost since the start"));
        }
        warnings
    }

    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        let report = self.execution.pool.report();
        let Some(worker) = report.workers.first() else { return BTreeMap::new() };
        let images = self.images().report().into_iter().map(|image| image.name);
        BTreeMap::from([
            ("code", worker.report.code.join(" ")),
            ("images", images.collect::<Vec<_>>().join(" ")),
            ("huge_pages", worker.report.huge_pages.clone()),
            ("lockdown", worker.report.lockdown.join(" ")),
            ("lockdown_gaps", worker.report.partial.join("; ")),
            ("reset", worker.report.reset.clone()),
        ])
    }

    fn limit_bounds(&self) -> LimitBounds {
        self.policy.limits.bounds()
    }
}

impl<S: Status> Status for Arc<S> {
    fn obstacles(&self) -> Vec<String> {
        S::obstacles(self)
    }

    fn warnings(&self) -> Vec<String> {
        S::warnings(self)
    }

    fn sandbox(&self) -> BTreeMap<&'static str, String> {
        S::sandbox(self)
    }

    fn limit_bounds(&self) -> LimitBounds {
        S::limit_bounds(self)
    }

    fn preparing(&self) -> Option<PreparationStep> {
        S::preparing(self)
    }
}
