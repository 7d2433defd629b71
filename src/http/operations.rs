//! Answers operators and load balancers: liveness, readiness and version.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::http::config::EXPOSED;
use crate::http::edge::Edge;
use crate::http::exchange::respond::{json, refuse};
use crate::protocol::schema::LimitBounds;
use crate::protocol::tools::{ToolFormat, described};
use crate::service::{Methods, Status};

/// The answer of `/readyz`.
#[derive(Serialize)]
struct Ready {
    ready: bool,
    reasons: Vec<String>,
    /// Problems that do not prevent calls and should be mended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The answer of `/healthz`.
#[derive(Serialize)]
struct Health {
    status: &'static str,
}

/// The answer of `/version`.
#[derive(Serialize)]
struct Version {
    name: &'static str,
    version: &'static str,
    protocol: &'static str,
    /// The walls around runs; empty until the server is ready.
    sandbox: BTreeMap<&'static str, String>,
}

/// Version of the Skills Protocol that is spoken.
const PROTOCOL: &str = "0.1";

/// The process is there and answers.
pub(crate) async fn healthz<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    json(200, &Health { status: "ok" }, &edge.next_request_id())
}

/// Calls can be executed, or why they cannot.
pub(crate) async fn readyz<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    let reasons = edge.readiness.obstacles();
    let mut warnings = edge.readiness.warnings();
    warnings.extend(edge.is_exposed.then(|| EXPOSED.to_owned()));
    let ready = Ready { ready: reasons.is_empty(), reasons, warnings };
    let status = if ready.ready { 200 } else { 503 };
    json(status, &ready, &edge.next_request_id())
}

/// The program and its version.
pub(crate) async fn version<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    let sandbox = edge.readiness.sandbox();
    json(200, &Version { name, version, protocol: PROTOCOL, sandbox }, &edge.next_request_id())
}

/// The eight tools in the format that a model's API expects.
pub(crate) async fn tools<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    RawQuery(query): RawQuery,
) -> Response {
    let request_id = edge.next_request_id();
    let format = match query.as_deref().unwrap_or_default() {
        "" | "format=plain" => ToolFormat::Plain,
        "format=openai" => ToolFormat::OpenAi,
        "format=anthropic" => ToolFormat::Anthropic,
        _ => {
            let message =
                "the only parameter is `format`, one of `plain`, `openai` and `anthropic`";
            return refuse(StatusCode::BAD_REQUEST, message, &request_id);
        }
    };
    // A server that is not ready does not know the least memory of a run yet.
    let bounds = edge.readiness.limit_bounds().unwrap_or(LimitBounds::ANY);
    json(200, &described(format, bounds), &request_id)
}
