//! The endpoints for operators and load balancers: liveness, readiness, version and tools.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::http::config::EXPOSED;
use crate::http::edge::Edge;
use crate::net::respond::{json, refuse};
use wardian_formats::protocol::methods::limit_bounds::LimitBounds;
use wardian_formats::protocol::openrpc::OpenRpcDocument;
use wardian_formats::protocol::tools::{ToolFormat, described};
use wardian_service::{Methods, PreparationStep, Status};

/// The answer of `/readyz`.
#[derive(Serialize)]
struct Ready {
    ready: bool,
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    preparing: Option<Preparing>,
    /// Problems that do not prevent calls but that an operator should solve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The step that the first start is at.
#[derive(Serialize)]
struct Preparing {
    step: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining_ms: Option<u64>,
}

impl From<PreparationStep> for Preparing {
    fn from(PreparationStep { text, percent, remaining }: PreparationStep) -> Self {
        let milliseconds = |left: Duration| u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        Self { step: text, percent, remaining_ms: remaining.map(milliseconds) }
    }
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
    /// The sandbox of runs; empty until the server is ready.
    sandbox: BTreeMap<&'static str, String>,
}

/// The version of the Skills Protocol.
const PROTOCOL: &str = "0.1";

/// Answers `GET /healthz`: the process runs.
pub(super) async fn healthz<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    json(200, &Health { status: "ok" }, &edge.next_request_id())
}

/// Answers `GET /readyz`: whether calls can be executed, with the reasons if they cannot.
pub(super) async fn readyz<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    let reasons = edge.readiness.obstacles();
    let mut warnings = edge.readiness.warnings();
    warnings.extend(edge.is_exposed.then(|| EXPOSED.to_owned()));
    let preparing = edge.readiness.preparing().map(Preparing::from);
    let ready = Ready { ready: reasons.is_empty(), reasons, preparing, warnings };
    let status = if ready.ready { 200 } else { 503 };
    json(status, &ready, &edge.next_request_id())
}

/// Answers `GET /version`: the program, its version and its sandbox.
pub(super) async fn version<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    let (name, version) = ("wardian", env!("CARGO_PKG_VERSION"));
    let sandbox = edge.readiness.sandbox();
    json(200, &Version { name, version, protocol: PROTOCOL, sandbox }, &edge.next_request_id())
}

/// Answers `GET /tools`: the eight tools in the format of a model vendor.
pub(super) async fn tools<M: Methods + Status>(
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
    json(200, &described(format, bounds_of(&edge)), &request_id)
}

/// Answers `GET /openrpc.json`: the methods, as an OpenRPC document.
pub(super) async fn openrpc<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    json(200, &OpenRpcDocument::new(bounds_of(&edge)), &edge.next_request_id())
}

/// The bounds of limits. A server that is not ready does not know the smallest memory limit yet.
fn bounds_of<M: Methods + Status>(edge: &Edge<M>) -> LimitBounds {
    edge.readiness.limit_bounds().unwrap_or(LimitBounds::ANY)
}
