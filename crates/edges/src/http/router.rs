//! The routes of the server.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{delete, get, post, put};
use hyper::body::Body as _;
use tracing::debug;

use crate::http::access::cors::{preflight, vary};
use crate::http::access::credentials::{credential, is_public, refuse_caller};
use crate::http::access::hosts::HostFault;
use crate::http::blobs::catalogue::{list, remove, verify};
use crate::http::blobs::download::{describe, download};
use crate::http::blobs::upload::upload;
use crate::http::config::HttpConfig;
use crate::http::edge::{Edge, Observers};
use crate::http::metrics::count_request;
use crate::http::operations::{healthz, openrpc, readyz, tools, version};
use crate::http::operator;
use crate::http::rpc::rpc;
use crate::http::runs::routes as runs;
use crate::http::sessions::{answers, files, routes as sessions};
use crate::http::skills;
use crate::http::traced::trace_request;
use crate::net::audited::{PeerAddress, note_stranger, note_use};
use crate::net::body::Bodies;
use crate::net::readiness::Readiness;
use crate::net::respond::{closing, refuse};
use crate::net::state::EdgeState;
use wardian_service::{Authentication, Methods, Publishing, Runs, SessionCalls, Status, Transfers};
use wardian_telemetry::traces::Tracer;
use wardian_vocabulary::budget::MemoryBudget;

/// Builds the routes, with a memory budget of their own. Every caller is the local user.
pub fn router<M: Methods + Status + Transfers + Runs + Publishing + SessionCalls>(
    config: &HttpConfig,
    readiness: Arc<Readiness<M>>,
) -> Router {
    let budget = MemoryBudget::new(config.memory);
    let shared =
        shared_state(config, readiness, budget, Authentication::Open, &Observers::default());
    router_within(config, shared, Tracer::default(), Router::new())
}

/// The state of requests with this memory budget and these callers.
pub(crate) fn shared_state<M>(
    config: &HttpConfig,
    readiness: Arc<Readiness<M>>,
    budget: Arc<MemoryBudget>,
    authentication: Authentication,
    observers: &Observers,
) -> Arc<EdgeState<M>> {
    let bodies = Bodies::new(config.max_body, config.body_timeout, &budget);
    let state = EdgeState::new(readiness, bodies, budget, authentication);
    Arc::new(state.observed_by(observers.audit.clone(), Arc::clone(&observers.metrics)))
}

/// Builds the routes with this state, and adds those of other edges.
pub(crate) fn router_within<M: Methods + Status + Transfers + Runs + Publishing + SessionCalls>(
    config: &HttpConfig,
    shared: Arc<EdgeState<M>>,
    tracer: Tracer,
    others: Router,
) -> Router {
    let edge = Arc::new(Edge::new(config, shared));
    let routes = Router::new()
        .route("/rpc", post(rpc::<M>))
        .route("/v1/blobs", get(list::<M>).put(upload::<M>))
        .route("/v1/blobs/{id}", get(download::<M>).head(describe::<M>).delete(remove::<M>))
        .route("/v1/blobs/{id}/verify", post(verify::<M>))
        .route("/v1/runs", get(runs::list::<M>))
        .route("/v1/runs/active", get(runs::list_active::<M>))
        .route("/v1/runs/{id}", get(runs::show::<M>))
        .route("/v1/runs/{id}/answers", post(answers::take::<M>))
        .route("/v1/runs/{id}/cancel", post(runs::cancel::<M>))
        .route("/v1/runs/{id}/content", get(runs::content::<M>))
        .route("/v1/runs/{id}/log", get(runs::log::<M>))
        .route("/v1/runs/{id}/record", get(runs::document::<M>))
        .route("/v1/sessions", get(sessions::list::<M>).post(sessions::create::<M>))
        .route("/v1/sessions/{id}", get(sessions::show::<M>).delete(sessions::close::<M>))
        .route("/v1/sessions/{id}/cells", get(sessions::cells::<M>))
        .route("/v1/sessions/{id}/checkpoints", post(sessions::name_checkpoint::<M>))
        .route(
            "/v1/sessions/{id}/checkpoints/{checkpoint}",
            delete(sessions::forget_checkpoint::<M>),
        )
        .route("/v1/sessions/{id}/files", get(files::list::<M>))
        .route(
            "/v1/sessions/{id}/files/{*path}",
            get(files::read::<M>).put(files::write::<M>).delete(files::remove::<M>),
        )
        .route("/v1/sessions/{id}/fork", post(sessions::fork::<M>))
        .route("/v1/sessions/{id}/interrupt", post(sessions::interrupt::<M>))
        .route("/v1/sessions/{id}/notebook", get(sessions::notebook::<M>))
        .route("/v1/sessions/{id}/record", get(sessions::record::<M>))
        .route("/v1/sessions/{id}/restore", post(sessions::restore::<M>))
        .route(
            "/v1/skills/{name}/{version}",
            put(skills::publish::<M>).delete(skills::unpublish::<M>),
        )
        .route("/v1/caller", get(operator::caller::<M>))
        .route("/v1/keys", get(operator::keys::list::<M>).post(operator::keys::create::<M>))
        .route("/v1/keys/{prefix}/revoke", post(operator::keys::revoke::<M>))
        .route("/v1/overview", get(operator::overview::<M>))
        .route("/v1/metrics", get(operator::metrics::<M>))
        .route("/healthz", get(healthz::<M>))
        .route("/readyz", get(readyz::<M>))
        .route("/version", get(version::<M>))
        .route("/tools", get(tools::<M>))
        .route("/openrpc.json", get(openrpc::<M>))
        .merge(others.with_state(()))
        .method_not_allowed_fallback(wrong_method::<M>)
        .fallback(nothing_here::<M>);
    // Only requests of callers that are known have spans, so strangers fill no queue.
    let routes = match tracer.is_on() {
        true => routes.layer(from_fn_with_state(tracer, trace_request)),
        false => routes,
    };
    routes
        .layer(from_fn_with_state(Arc::clone(&edge), check_host::<M>))
        .layer(from_fn_with_state(Arc::clone(&edge.metrics), count_request))
        .with_state(edge)
}

async fn check_host<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
    request: Request,
    next: Next,
) -> Response {
    let mut answer = match edge.hosts.check(request.uri(), request.headers()) {
        Ok(None) => answer_caller(&edge, request, next).await,
        Ok(Some(permission)) => {
            let mut answer = answer_website(&edge, request, next).await;
            permission.grant(&mut answer);
            answer
        }
        Err(fault) => refuse_host(&edge, fault),
    };
    if edge.hosts.depend_on_origin() {
        vary(&mut answer);
    }
    answer
}

/// Answers an allowed website. Its browser may send a preflight request.
async fn answer_website<M: Methods + Status + Transfers>(
    edge: &Edge<M>,
    request: Request,
    next: Next,
) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    match preflight(method, path, request.headers(), || edge.next_request_id()) {
        // A preflight request has no body. If this one has, the connection is closed.
        Some(answer) if request.body().is_end_stream() => answer,
        Some(answer) => closing(answer),
        None => answer_caller(edge, request, next).await,
    }
}

/// Answers a caller that is known, or refuses it before anything of its body is read.
async fn answer_caller<M: Methods + Status + Transfers>(
    edge: &Edge<M>,
    mut request: Request,
    next: Next,
) -> Response {
    if is_public(request.uri().path()) {
        return next.run(request).await;
    }
    let address = request.extensions().get::<PeerAddress>().copied();
    match edge.authentication.identify(credential(request.headers())) {
        Ok(identity) => {
            note_use(&edge.audit, &identity, address);
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
        Err(refused) => {
            let request_id = edge.next_request_id();
            note_stranger(&edge.audit, &refused, address, &request_id);
            if let Some(reason) = &refused.reason {
                debug!(request.id = request_id, "caller refused: {reason}");
            }
            let answer = refuse_caller(&refused.error, request.headers(), &request_id);
            if request.body().is_end_stream() { answer } else { closing(answer) }
        }
    }
}

fn refuse_host<M>(edge: &Edge<M>, fault: HostFault) -> Response {
    let (status, message) = match fault {
        HostFault::Malformed => {
            (StatusCode::BAD_REQUEST, "a request must have exactly one valid host")
        }
        HostFault::Host => (
            StatusCode::FORBIDDEN,
            "this host name is not allowed; an operator can add it to `http.allowed_hosts`",
        ),
        HostFault::Origin => (
            StatusCode::FORBIDDEN,
            "this origin is not allowed; an operator can add it to `http.allowed_origins`",
        ),
    };
    let request_id = edge.next_request_id();
    debug!(request.id = request_id, "request refused: {message}");
    closing(refuse(status, message, &request_id))
}

async fn nothing_here<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
) -> Response {
    let message = "nothing is served at this path; calls go to `/rpc`";
    closing(refuse(StatusCode::NOT_FOUND, message, &edge.next_request_id()))
}

async fn wrong_method<M: Methods + Status + Transfers>(
    State(edge): State<Arc<Edge<M>>>,
) -> Response {
    let message = "this path does not support the method: the header `Allow` lists those that it \
        does";
    closing(refuse(StatusCode::METHOD_NOT_ALLOWED, message, &edge.next_request_id()))
}
