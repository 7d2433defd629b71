//! The state that the requests of all edges of a server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::response::Response;
use uuid::Uuid;

use crate::net::body::Bodies;
use crate::net::readiness::Readiness;
use crate::net::respond::Failure;
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{Authentication, Methods, Status};
use wardian_stores::audit::AuditLog;
use wardian_telemetry::Metrics;
use wardian_vocabulary::budget::MemoryBudget;

/// The state that all requests share.
#[derive(Debug)]
pub struct EdgeState<M> {
    pub(crate) readiness: Arc<Readiness<M>>,
    pub(crate) bodies: Bodies,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) authentication: Authentication,
    pub(crate) audit: AuditLog,
    pub(crate) metrics: Arc<Metrics>,
    started: String,
    requests: AtomicU64,
}

impl<M> EdgeState<M> {
    /// The state of a server that lets these callers in, and reads bodies by these rules.
    pub fn new(
        readiness: Arc<Readiness<M>>,
        bodies: Bodies,
        budget: Arc<MemoryBudget>,
        authentication: Authentication,
    ) -> Self {
        // The last 12 hexadecimal digits of a UUIDv7 are random.
        let started = Uuid::now_v7().simple().to_string().split_off(20);
        Self {
            readiness,
            bodies,
            budget,
            authentication,
            audit: AuditLog::default(),
            metrics: Metrics::new(),
            started,
            requests: AtomicU64::new(1),
        }
    }

    /// Notes refusals in this log, and counts calls in these metrics.
    pub(crate) fn observed_by(self, audit: AuditLog, metrics: Arc<Metrics>) -> Self {
        Self { audit, metrics, ..self }
    }

    /// Returns a new request id. It stays unique across restarts.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("req_{}_{number:x}", self.started)
    }
}

impl<M: Methods + Status> EdgeState<M> {
    /// The failure of a call for which the server is not ready.
    pub(crate) fn unready(&self) -> Failure {
        let reasons = self.readiness.obstacles().join("; ");
        Failure::overloaded(&format!("the server is not ready: {reasons}"))
    }

    /// The answer to a request for which the server is not ready.
    pub(crate) fn not_ready(&self, request_id: &str) -> Response {
        self.unready().into_response(RequestId::Null, request_id)
    }
}
