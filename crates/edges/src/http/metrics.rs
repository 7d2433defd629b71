//! Counts requests, and shows the memory of requests.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use wardian_telemetry::{MetricReading, MetricSource, Metrics, number_of};
use wardian_vocabulary::budget::MemoryBudget;

/// The routes that are counted each by itself.
const ROUTES: [&str; 23] = [
    "/rpc",
    "/mcp",
    "/v1/blobs",
    "/v1/blobs/{id}",
    "/v1/blobs/{id}/verify",
    "/v1/runs",
    "/v1/runs/active",
    "/v1/runs/{id}",
    "/v1/runs/{id}/cancel",
    "/v1/runs/{id}/content",
    "/v1/runs/{id}/log",
    "/v1/caller",
    "/v1/keys",
    "/v1/keys/{prefix}/revoke",
    "/v1/overview",
    "/v1/metrics",
    "/console",
    "/console/{file}",
    "/healthz",
    "/readyz",
    "/version",
    "/tools",
    "/openrpc.json",
];

/// The label of all other paths.
pub(crate) const OTHER_ROUTES: &str = "(other)";

/// Counts a request by its route and the status of its answer.
pub(crate) async fn count_request(
    State(metrics): State<Arc<Metrics>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let route = route_of(&request);
    let answer = next.run(request).await;
    metrics.count_request(route, answer.status().as_u16(), began.elapsed());
    answer
}

/// The route of a request, as a label.
pub(crate) fn route_of(request: &Request) -> &'static str {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    ROUTES.into_iter().find(|known| Some(*known) == route).unwrap_or(OTHER_ROUTES)
}

/// The memory that requests and their answers are charged to.
#[derive(Debug)]
pub(crate) struct RequestMemory(pub(crate) Arc<MemoryBudget>);

impl MetricSource for RequestMemory {
    fn read(&self) -> Vec<MetricReading> {
        vec![
            MetricReading::gauge(
                "wardian_request_memory_bytes",
                "Memory used by requests and their answers",
                number_of(self.0.used().as_u64()),
            ),
            MetricReading::gauge(
                "wardian_request_memory_limit_bytes",
                "Memory limit for requests and their answers",
                number_of(self.0.limit().as_u64()),
            ),
        ]
    }
}
