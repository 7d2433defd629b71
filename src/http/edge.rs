//! The state that all requests of a server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::response::Response;
use uuid::Uuid;

use crate::audit::AuditLog;
use crate::budget::MemoryBudget;
use crate::error::ErrorKind;
use crate::http::access::hosts::Hosts;
use crate::http::config::HttpConfig;
use crate::http::exchange::body::Bodies;
use crate::http::exchange::respond::Failure;
use crate::http::readiness::Readiness;
use crate::protocol::request_id::RequestId;
use crate::service::{Authentication, Methods, Status};
use crate::telemetry::Metrics;
use crate::telemetry::traces::Tracer;

/// What hears of all requests.
#[derive(Debug, Clone)]
pub(crate) struct Observers {
    pub(crate) audit: AuditLog,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) tracer: Tracer,
}

impl Default for Observers {
    fn default() -> Self {
        let (audit, tracer) = (AuditLog::default(), Tracer::default());
        Self { audit, metrics: Metrics::new(), tracer }
    }
}

/// The state that all requests share.
#[derive(Debug)]
pub(crate) struct Edge<M> {
    pub(crate) readiness: Arc<Readiness<M>>,
    pub(crate) bodies: Bodies,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) max_batch: usize,
    /// The base of the time for an upload, and its longest pause.
    pub(crate) upload_timeout: Duration,
    /// True if other machines can reach the server, and it does not authenticate them.
    pub(crate) is_exposed: bool,
    pub(crate) hosts: Hosts,
    pub(crate) authentication: Authentication,
    pub(crate) audit: AuditLog,
    pub(crate) metrics: Arc<Metrics>,
    started: String,
    requests: AtomicU64,
}

impl<M> Edge<M> {
    pub(crate) fn new(
        config: &HttpConfig,
        readiness: Arc<Readiness<M>>,
        budget: Arc<MemoryBudget>,
        authentication: Authentication,
        audit: AuditLog,
        metrics: Arc<Metrics>,
    ) -> Self {
        // The last 12 hexadecimal digits of a UUIDv7 are random.
        let started = Uuid::now_v7().simple().to_string().split_off(20);
        Self {
            readiness,
            bodies: Bodies::of(config, &budget),
            budget,
            max_batch: config.max_batch,
            upload_timeout: config.body_timeout,
            is_exposed: config.is_exposed() && !authentication.is_required(),
            hosts: Hosts::of(config),
            authentication,
            audit,
            metrics,
            started,
            requests: AtomicU64::new(1),
        }
    }

    /// Returns a new request id. It stays unique across restarts.
    pub(crate) fn next_request_id(&self) -> String {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        format!("req_{}_{number:x}", self.started)
    }
}

impl<M: Methods + Status> Edge<M> {
    /// The answer to a request for which the server is not ready.
    pub(crate) fn not_ready(&self, request_id: &str) -> Response {
        let reasons = self.readiness.obstacles().join("; ");
        let message = format!("the server is not ready: {reasons}");
        let failure = Failure::of_kind(ErrorKind::Overloaded, message);
        let failure = failure.retried_after(Some(Duration::from_secs(1)));
        failure.into_response(RequestId::Null, request_id)
    }
}
