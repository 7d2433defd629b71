//! `POST /rpc`: one call or a batch of them.
//!
//! INVARIANT(notifications-do-nothing): a call without an id executes nothing. Nobody could learn
//! how it ended, and nobody would be charged.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use tracing::debug;

use crate::error::ErrorKind;
use crate::http::body::BodyFault;
use crate::http::respond::{Failure, closing, empty, json, json_bytes, refuse};
use crate::http::router::Edge;
use crate::ids::TenantId;
use crate::protocol::envelope::{self, Call, Incoming, Refusal, RequestId};
use crate::protocol::response;
use crate::protocol::{MethodCall, MethodResult};
use crate::service::{Caller, Methods};

/// Once the answers of a batch are longer than this, in bytes, its remaining calls are refused.
const MAX_BATCH_ANSWER: usize = 16 << 20;

/// A call that needs the request's body no longer.
struct Prepared {
    /// None for a notification.
    id: Option<RequestId>,
    call: Result<MethodCall, Failure>,
}

/// The calls of a body.
enum Calls {
    Single(Box<Prepared>),
    Batch(Vec<Prepared>),
}

/// One request's way to the methods.
struct Exchange<'a, M> {
    edge: &'a Edge<M>,
    methods: &'a M,
    caller: Caller,
}

pub(crate) async fn rpc<M: Methods>(
    State(edge): State<Arc<Edge<M>>>,
    request: Request,
) -> Response {
    let request_id = edge.next_request_id();
    let (parts, body) = request.into_parts();
    if !is_json(&parts.headers) {
        let message = "the `Content-Type` must be `application/json`";
        return closing(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, &request_id));
    }
    let Some(methods) = edge.gate.methods() else {
        let reasons = edge.gate.obstacles().join("; ");
        let failure = overloaded(&format!("the server is not ready: {reasons}"));
        return closing(failure.into_response(RequestId::Null, &request_id));
    };
    let (bytes, share) = match edge.bodies.read(body).await {
        Ok(body) => body.into_parts(),
        Err(fault) => return refuse_body(&edge, fault, &request_id),
    };
    let calls = read_calls(&bytes, edge.max_batch);
    drop(bytes);
    let caller = Caller { tenant: TenantId::local(), request_id };
    let exchange = Exchange { edge: &edge, methods, caller };
    let answer = match calls {
        Ok(Calls::Single(call)) => exchange.answer_single(call).await,
        Ok(Calls::Batch(calls)) => exchange.answer_batch(calls).await,
        Err(refusal) => {
            let (id, failure) = refused(refusal);
            failure.into_response(id, &exchange.caller.request_id)
        }
    };
    drop(share);
    answer
}

impl<M: Methods> Exchange<'_, M> {
    async fn answer_single(&self, call: Box<Prepared>) -> Response {
        let request_id = &self.caller.request_id;
        let Some(id) = call.id else {
            return empty(StatusCode::NO_CONTENT, request_id);
        };
        match self.execute(call.call).await {
            Ok(result) => json(200, &response::Response { id, outcome: Ok(result) }, request_id),
            Err(failure) => failure.into_response(id, request_id),
        }
    }

    /// Executes one call after the other, in their order.
    async fn answer_batch(&self, calls: Vec<Prepared>) -> Response {
        let request_id = &self.caller.request_id;
        let mut answers = vec![b'['];
        for Prepared { id, call } in calls {
            let Some(id) = id else { continue };
            let outcome = if answers.len() > MAX_BATCH_ANSWER {
                let message = "the answers of this batch are too long; send fewer calls at once";
                Err(Failure::of_kind(ErrorKind::TooLarge, message))
            } else {
                self.execute(call).await
            };
            let outcome = outcome.map_err(|failure| failure.body);
            if answers.len() > 1 {
                answers.push(b',');
            }
            let response = response::Response { id, outcome };
            if let Err(fault) = serde_json::to_writer(&mut answers, &response) {
                debug!(request.id = request_id, "an answer cannot be written: {fault}");
                return empty(StatusCode::INTERNAL_SERVER_ERROR, request_id);
            }
        }
        if answers.len() == 1 {
            return empty(StatusCode::NO_CONTENT, request_id);
        }
        answers.push(b']');
        json_bytes(200, answers.into(), request_id)
    }

    async fn execute(&self, call: Result<MethodCall, Failure>) -> Result<MethodResult, Failure> {
        let called = self.methods.call(&self.caller, call?);
        tokio::select! {
            biased;
            outcome = called => {
                outcome.map_err(|error| Failure::of(&error, &self.caller.request_id))
            }
            () = self.edge.gate.closed() => Err(overloaded("the server is shutting down")),
        }
    }
}

/// A failure that repeating the call soon may mend.
fn overloaded(message: &str) -> Failure {
    let soon = Duration::from_secs(1);
    Failure::of_kind(ErrorKind::Overloaded, message).retried_after(Some(soon))
}

/// Finds the calls in a body and checks their parameters.
fn read_calls(body: &[u8], max_batch: usize) -> Result<Calls, Refusal> {
    match envelope::parse(body, max_batch)? {
        Incoming::Single(call) => Ok(Calls::Single(Box::new(prepared(call)))),
        Incoming::Batch(calls) => Ok(Calls::Batch(calls.into_iter().map(entry).collect())),
    }
}

/// One entry of a batch.
fn entry(entry: Result<Call<'_>, Refusal>) -> Prepared {
    entry.map_or_else(
        |refusal| {
            let (id, failure) = refused(refusal);
            Prepared { id: Some(id), call: Err(failure) }
        },
        prepared,
    )
}

fn prepared(call: Call<'_>) -> Prepared {
    let parsed = MethodCall::parse(&call.method, call.params);
    let call_or_failure = parsed.map_err(|error| Failure::new(error.body(), 200));
    Prepared { id: call.id, call: call_or_failure }
}

fn refused(refusal: Refusal) -> (RequestId, Failure) {
    let status = refusal.error.wire().http_status;
    let body = refusal.error.body();
    (refusal.id, Failure::new(body, status))
}

/// True for `application/json`, with or without parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else { return false };
    let essence = kind.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn refuse_body<M>(edge: &Edge<M>, fault: BodyFault, request_id: &str) -> Response {
    debug!(request.id = request_id, "body refused: {fault:?}");
    let answer = match fault {
        BodyFault::TooLarge => {
            let message = format!("a body may hold {}", edge.bodies.largest());
            refuse(StatusCode::PAYLOAD_TOO_LARGE, &message, request_id)
        }
        BodyFault::TooSlow => {
            let message = "the body did not arrive in time";
            refuse(StatusCode::REQUEST_TIMEOUT, message, request_id)
        }
        BodyFault::Broken => {
            refuse(StatusCode::BAD_REQUEST, "the body cannot be read to its end", request_id)
        }
        BodyFault::NoRoom => {
            let failure = overloaded("too many large requests at once");
            failure.into_response(RequestId::Null, request_id)
        }
    };
    closing(answer)
}
