//! The state that all requests over HTTP share.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::http::access::hosts::Hosts;
use crate::http::config::HttpConfig;
use crate::net::state::EdgeState;
use wardian_stores::audit::AuditLog;
use wardian_telemetry::Metrics;

/// What hears of all requests.
#[derive(Debug)]
pub(crate) struct Observers {
    pub audit: AuditLog,
    pub metrics: Arc<Metrics>,
}

impl Default for Observers {
    fn default() -> Self {
        Self { audit: AuditLog::default(), metrics: Metrics::new() }
    }
}

/// The state that all requests over HTTP share.
#[derive(Debug)]
pub(crate) struct Edge<M> {
    shared: Arc<EdgeState<M>>,
    pub max_batch: usize,
    /// The base of the time for an upload, and its longest pause.
    pub(crate) upload_timeout: Duration,
    /// True if other machines can reach the server, and it does not authenticate them.
    pub is_exposed: bool,
    pub hosts: Hosts,
}

impl<M> Edge<M> {
    pub(super) fn new(config: &HttpConfig, shared: Arc<EdgeState<M>>) -> Self {
        Self {
            max_batch: config.max_batch,
            upload_timeout: config.body_timeout,
            is_exposed: config.is_exposed() && !shared.authentication.is_required(),
            hosts: Hosts::of(config),
            shared,
        }
    }
}

impl<M> Deref for Edge<M> {
    type Target = EdgeState<M>;

    fn deref(&self) -> &EdgeState<M> {
        &self.shared
    }
}
