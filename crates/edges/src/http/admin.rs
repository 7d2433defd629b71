//! The address for operators: metrics and health, on a separate listener. It is not encrypted and
//! knows no callers, so only the operator's machines should reach it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::get;
use tracing::error;

use crate::http::config::HttpConfig;
use crate::http::edge::{Edge, Observers};
use crate::http::operations::{healthz, readyz, version};
use crate::http::router::shared_state;
use crate::net::readiness::Readiness;
use crate::net::respond::{closing, empty, refuse};
use wardian_service::{Authentication, Methods, Status};
use wardian_telemetry::{CONTENT_TYPE, Metrics};
use wardian_vocabulary::budget::MemoryBudget;
use wardian_vocabulary::units::ByteCount;

/// Maximum number of connections. A few collectors of metrics are there, and no clients.
const MAX_CONNECTIONS: usize = 64;

/// The settings of the listener for operators.
pub(crate) fn admin_config(listen: SocketAddr, config: &HttpConfig) -> HttpConfig {
    HttpConfig {
        allowed_hosts: config.allowed_hosts.clone(),
        serves_console: false,
        max_connections: MAX_CONNECTIONS,
        max_connections_per_address: MAX_CONNECTIONS,
        max_body: ByteCount::default(),
        memory: ByteCount::default(),
        ..HttpConfig::listening_on(listen)
    }
}

/// The routes for operators.
pub(crate) fn admin_router<M: Methods + Status>(
    config: &HttpConfig,
    readiness: Arc<Readiness<M>>,
    metrics: Arc<Metrics>,
) -> Router {
    let budget = MemoryBudget::new(config.memory);
    // Callers are not asked for keys, and cannot call anything.
    let observers = Observers { metrics, ..Observers::default() };
    let shared = shared_state(config, readiness, budget, Authentication::Open, &observers);
    let mut edge = Edge::new(config, shared);
    // Whoever reaches this address can run nothing, so there is nothing to warn of.
    edge.is_exposed = false;
    let edge = Arc::new(edge);
    Router::new()
        .route("/metrics", get(show_metrics::<M>))
        .route("/healthz", get(healthz::<M>))
        .route("/readyz", get(readyz::<M>))
        .route("/version", get(version::<M>))
        .fallback(nothing_here::<M>)
        .layer(from_fn_with_state(Arc::clone(&edge), check_host::<M>))
        .with_state(edge)
}

/// Refuses websites, whatever their name resolves to.
async fn check_host<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    request: Request,
    next: Next,
) -> Response {
    match edge.hosts.check(request.uri(), request.headers()) {
        Ok(None) => next.run(request).await,
        Ok(Some(_)) | Err(_) => {
            let message = "this host name or origin is not allowed; an operator can add host names \
                           to `http.allowed_hosts`";
            closing(refuse(StatusCode::FORBIDDEN, message, &edge.next_request_id()))
        }
    }
}

async fn show_metrics<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    let request_id = edge.next_request_id();
    match edge.metrics.text() {
        Ok(text) => {
            let mut answer = empty(StatusCode::OK, &request_id);
            *answer.body_mut() = Body::from(text);
            let kind = HeaderValue::from_static(CONTENT_TYPE);
            answer.headers_mut().insert(header::CONTENT_TYPE, kind);
            answer
        }
        Err(fault) => {
            error!(request.id = request_id, "the metrics cannot be written: {fault}");
            empty(StatusCode::INTERNAL_SERVER_ERROR, &request_id)
        }
    }
}

async fn nothing_here<M: Methods + Status>(State(edge): State<Arc<Edge<M>>>) -> Response {
    let message = "nothing is served at this path: metrics are at `/metrics`, and calls go to the \
        address of `listen`";
    closing(refuse(StatusCode::NOT_FOUND, message, &edge.next_request_id()))
}
