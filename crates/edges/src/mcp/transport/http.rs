//! Streamable HTTP: `POST /mcp`, one message for each request.
//!
//! Hosts, origins, callers and connections are checked as those of `/rpc` before a request comes here.
//! The body is read by the same rules, and its arguments are cut out before the protocol library reads
//! the rest.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tracing::error;

use crate::mcp::server::McpServer;
use crate::mcp::state::McpState;
use crate::mcp::transport::active::{ActiveRequest, ActiveRequests, SessionKey, new_session};
use crate::mcp::wire::envelope::{
    CutMessage, IncomingRequest, MAX_REST, MessageSort, RefusedMessage, cut, memory_of,
};
use crate::mcp::wire::exchange::{McpExchange, ToolOrder};
use crate::mcp::wire::splice::Splicer;
use crate::mcp::wire::spliced_body::SplicedBody;
use crate::net::audited::PeerAddress;
use crate::net::body::{CALL_FACTOR, ReadBody, is_json, is_small};
use crate::net::calls::CallCount;
use crate::net::respond::{Failure, closing, empty, refuse, refuse_body};
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{Caller, CallerCredential, CallerIdentity, Methods as _};
use wardian_telemetry::traces::TraceScope;
use wardian_vocabulary::budget::CallMemory;

/// Bodies up to this size, in bytes, are read on the event loop.
const READ_AT_ONCE: usize = 256 << 10;

/// Names the session of a request, in the revisions before 2026-07-28.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

type Library = StreamableHttpService<McpServer, NeverSessionManager>;

/// The state of the route.
struct McpRoute {
    state: Arc<McpState>,
    library: Library,
    active: ActiveRequests,
}

/// The route of the protocol.
pub(crate) fn route(state: Arc<McpState>) -> Router {
    let server = McpServer::new(Arc::clone(&state));
    let config = StreamableHttpServerConfig::default()
        // The server has checked it by its own settings.
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_retry(None)
        .with_max_request_body_bytes(MAX_REST.saturating_mul(2));
    let sessions = Arc::new(NeverSessionManager::default());
    let library = Library::new(move || Ok(server.clone()), sessions, config);
    let route = McpRoute { state, library, active: ActiveRequests::default() };
    Router::new().route("/mcp", post(answer)).with_state(Arc::new(route))
}

/// One request, and who sent it.
struct Incoming {
    head: Parts,
    identity: CallerIdentity,
    request_id: String,
    memory: CallMemory,
    size: usize,
}

async fn answer(State(route): State<Arc<McpRoute>>, request: Request) -> Response {
    let request_id = route.state.edge.next_request_id();
    let mut answer = match Box::pin(read(&route, request, request_id.clone())).await {
        Ok((incoming, bytes)) => Box::pin(handle(&route, incoming, bytes)).await,
        Err(refusal) => *refusal,
    };
    let headers = answer.headers_mut();
    for (name, value) in empty(StatusCode::OK, &request_id).headers() {
        headers.insert(name.clone(), value.clone());
    }
    answer
}

/// Reads the body of a request, which counts as a call of its tenant.
async fn read(
    route: &McpRoute,
    request: Request,
    request_id: String,
) -> Result<(Incoming, Bytes), Box<Response>> {
    let edge = &route.state.edge;
    let (mut head, body) = request.into_parts();
    // The router has found out who calls, or has refused the request.
    let Some(identity) = head.extensions.remove::<CallerIdentity>() else {
        return Err(Box::new(closing(empty(StatusCode::INTERNAL_SERVER_ERROR, &request_id))));
    };
    if !is_json(&head.headers) {
        let message = "the `Content-Type` must be `application/json`";
        let refusal = refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, &request_id);
        return Err(Box::new(closing(refusal)));
    }
    let Some(methods) = edge.readiness.methods() else {
        return Err(Box::new(closing(edge.not_ready(&request_id))));
    };
    if !is_small(&body) {
        let memory = CallMemory::new(&edge.budget);
        let caller = Caller::of(identity.clone(), request_id.clone(), memory);
        if let Err(error) = methods.count_call(&identity.tenant) {
            let failure = edge.failed(&caller, &error);
            return Err(Box::new(closing(failure.into_response(RequestId::Null, &request_id))));
        }
        head.extensions.insert(CallCount::Done);
    }
    let ReadBody { bytes, charge } = match edge.bodies.read(body).await {
        Ok(body) => body,
        Err(fault) => {
            return Err(Box::new(refuse_body(fault, edge.bodies.largest(), &request_id)));
        }
    };
    let (size, memory) = (bytes.len(), CallMemory::holding(charge));
    Ok((Incoming { head, identity, request_id, memory, size }, bytes))
}

async fn handle(route: &McpRoute, incoming: Incoming, bytes: Bytes) -> Response {
    let message = if bytes.len() <= READ_AT_ONCE {
        cut(&bytes)
    } else {
        match incoming.memory.on_thread(move || cut(&bytes)).await {
            Ok(message) => message,
            Err(fault) => {
                error!(request.id = incoming.request_id, "a message was not read: {fault}");
                return empty(StatusCode::INTERNAL_SERVER_ERROR, &incoming.request_id);
            }
        }
    };
    let CutMessage { rest, sort } = match message {
        Ok(message) => message,
        Err(RefusedMessage { id, error }) => {
            return Failure::new(error.body(), 400).into_response(id, &incoming.request_id);
        }
    };
    match sort {
        MessageSort::Request(id, request) => {
            let answered = Box::pin(handle_request(route, incoming, rest, (id, request)));
            answered.await
        }
        MessageSort::Cancellation(id) => {
            let session = session_of(&incoming.identity, &incoming.head.headers);
            if let Some(session) = session {
                route.active.give_up(session, &id);
            }
            pass_on(route, incoming.head, rest).await
        }
        MessageSort::Notification => pass_on(route, incoming.head, rest).await,
        MessageSort::Response => {
            let message = "this server sends no requests, so there is nothing to respond to";
            refuse(StatusCode::BAD_REQUEST, message, &incoming.request_id)
        }
    }
}

async fn handle_request(
    route: &McpRoute,
    incoming: Incoming,
    rest: Vec<u8>,
    (id, request): (RequestId, IncomingRequest),
) -> Response {
    let Incoming { mut head, identity, request_id, memory, size } = incoming;
    let edge = &route.state.edge;
    let count = head.extensions.remove::<CallCount>().unwrap_or(CallCount::Due);
    let trace = head.extensions.remove::<TraceScope>().unwrap_or_default();
    let peer = head.extensions.get::<PeerAddress>().map(|PeerAddress(address)| *address);
    let session = session_of(&identity, &head.headers);
    // What the call has needs less than the body did; the library's tree of the rest needs more.
    memory.shrink_to(size.saturating_mul(CALL_FACTOR));
    let caller = Caller::of(identity, request_id.clone(), memory.of_call()).at(peer);
    let caller = Caller { trace, ..caller };
    if let Some(methods) = edge.readiness.methods()
        && let Err(failure) = edge.admit(methods, &caller, count)
    {
        return failure.into_response(id, &request_id);
    }
    if let Err(full) = caller.memory.reserve(memory_of(rest.len())) {
        return Failure::overloaded(&full.to_string()).into_response(id, &request_id);
    }
    let is_first = matches!(request, IncomingRequest::Initialize);
    let order = match request {
        IncomingRequest::Call { tool, arguments } => Some(ToolOrder { tool, arguments }),
        IncomingRequest::Initialize | IncomingRequest::Other => None,
    };
    let exchange = match McpExchange::new(caller, &edge.budget, order) {
        Ok(exchange) => exchange,
        Err(fault) => {
            error!(request.id = request_id, "a request was not started: {fault}");
            return empty(StatusCode::INTERNAL_SERVER_ERROR, &request_id);
        }
    };
    let active = session.map(|session| route.active.enter(session, &id, &exchange));
    head.extensions.insert(Arc::clone(&exchange));
    let answer = pass_on(route, head, rest).await;
    let answer = with_contents(answer, &exchange, active);
    if is_first { with_session(answer) } else { answer }
}

/// Hands a message to the protocol library.
async fn pass_on(route: &McpRoute, mut head: Parts, rest: Vec<u8>) -> Response {
    head.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(rest.len()));
    let answer = route.library.handle(Request::from_parts(head, Body::from(rest))).await;
    answer.map(Body::new)
}

/// Lays the contents into the answer. The request can be given up until its end.
fn with_contents(
    answer: Response,
    exchange: &Arc<McpExchange>,
    active: Option<ActiveRequest>,
) -> Response {
    let (mut head, body) = answer.into_parts();
    head.headers.remove(header::CONTENT_LENGTH);
    let splicer = Splicer::new(Arc::clone(&exchange.splices));
    let body = SplicedBody::new(body, splicer, (active, Arc::clone(exchange)));
    Response::from_parts(head, Body::new(body))
}

/// Hands out the name of a session with the answer to the first request.
fn with_session(mut answer: Response) -> Response {
    let session = new_session().ok().and_then(|name| HeaderValue::from_str(&name).ok());
    if let Some(session) = session.filter(|_| answer.status() == StatusCode::OK) {
        answer.headers_mut().insert(SESSION, session);
    }
    answer
}

fn session_of(identity: &CallerIdentity, headers: &HeaderMap) -> Option<SessionKey> {
    let session = headers.get(SESSION)?.to_str().ok()?;
    let credential = identity.credential.as_ref().map(CallerCredential::name);
    SessionKey::of(&identity.tenant, credential, session)
}
