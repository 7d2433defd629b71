//! `POST /rpc`: one call or a batch of them.
//!
//! INVARIANT(notifications-do-nothing): a call without an id executes nothing. Its client would
//! never get the result, and its memory would be charged to no request.
//!
//! INVARIANT(revoked-in-between): a call whose key is no longer valid when its turn comes is refused,
//! also if the key was valid when the request began.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use tokio::task::JoinError;
use tracing::{Instrument as _, error};

use crate::http::edge::Edge;
use crate::http::runs::events::{ListenedRun, WAITING, accepts_events, answer};
use crate::net::answer::{Answer, AnswerFault};
use crate::net::audited::{PeerAddress, note_refusal};
use crate::net::body::{CALL_FACTOR, ReadBody, is_json, is_small};
use crate::net::calls::CallCount;
use crate::net::respond::{Failure, closing, empty, json_bytes, refuse, refuse_body};
use wardian_formats::protocol::envelope::{self, Call, IncomingCalls, RefusedCall};
use wardian_formats::protocol::request_id::RequestId;
use wardian_formats::protocol::response;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_service::{Caller, CallerIdentity, Methods, Status, log_stream};
use wardian_telemetry::traces::TraceScope;
use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, Charge};
use wardian_vocabulary::error::ErrorKind;

/// Once the answers of a batch are longer than this, in bytes, its remaining calls are refused.
const MAX_BATCH_ANSWER: usize = 8 << 20;

/// Bodies up to this size, in bytes, are parsed on the event loop: that takes less time than a
/// switch of threads.
const READ_AT_ONCE: usize = 256 << 10;

/// A call that no longer borrows from the request's body.
struct ReadCall {
    /// None for a notification.
    id: Option<RequestId>,
    call: Result<MethodCall, Failure>,
}

impl ReadCall {
    /// True for a call that runs a program and is answered.
    const fn is_run(&self) -> bool {
        let is_run = matches!(&self.call, Ok(MethodCall::ExecuteSkill(_) | MethodCall::RunCode(_)));
        is_run && self.id.is_some()
    }
}

/// The calls of a body.
enum Calls {
    Single(Box<ReadCall>),
    Batch(Vec<ReadCall>),
}

/// One request and the methods that its calls go to.
struct Exchange<'a, M> {
    edge: &'a Arc<Edge<M>>,
    methods: &'a M,
    identity: CallerIdentity,
    peer: Option<IpAddr>,
    request_id: String,
    /// The span of the request.
    trace: TraceScope,
    /// The memory that the body is charged with.
    memory: CallMemory,
    /// True if the next call of the body has been counted against the rate of its tenant.
    is_counted: AtomicBool,
}

pub(super) async fn rpc<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    request: Request,
) -> Response {
    let request_id = edge.next_request_id();
    let (mut parts, body) = request.into_parts();
    // The router has found out who calls, or has refused the request.
    let Some(identity) = parts.extensions.remove::<CallerIdentity>() else {
        return closing(empty(StatusCode::INTERNAL_SERVER_ERROR, &request_id));
    };
    let trace = parts.extensions.remove::<TraceScope>().unwrap_or_default();
    let peer = parts.extensions.get::<PeerAddress>().map(|PeerAddress(address)| *address);
    if !is_json(&parts.headers) {
        let message = "the `Content-Type` must be `application/json`";
        return closing(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, &request_id));
    }
    let Some(methods) = edge.readiness.methods() else {
        return closing(edge.not_ready(&request_id));
    };
    let wants_events = accepts_events(&parts.headers);
    let is_counted = !is_small(&body);
    if is_counted && let Err(error) = methods.count_call(&identity.tenant) {
        let caller = Caller::of(identity, request_id.clone(), CallMemory::new(&edge.budget));
        note_refusal(&edge.audit, &caller.at(peer), &error);
        let failure = Failure::of(&error, &request_id);
        return closing(failure.into_response(RequestId::Null, &request_id));
    }
    let ReadBody { bytes, charge } = match edge.bodies.read(body).await {
        Ok(body) => body,
        Err(fault) => return refuse_body(fault, edge.bodies.largest(), &request_id),
    };
    let size = bytes.len();
    let memory = CallMemory::holding(charge);
    let calls = match calls_of(bytes, edge.max_batch, &memory).await {
        Ok(calls) => calls,
        Err(fault) => {
            error!(request.id = request_id, "a body was not read: {fault}");
            return empty(StatusCode::INTERNAL_SERVER_ERROR, &request_id);
        }
    };
    memory.shrink_to(size.saturating_mul(CALL_FACTOR));
    let is_counted = AtomicBool::new(is_counted);
    let exchange =
        Exchange { edge: &edge, methods, identity, peer, request_id, trace, memory, is_counted };
    match calls {
        Ok(Calls::Single(call)) if wants_events && call.is_run() => {
            exchange.answer_with_events(call).await
        }
        Ok(Calls::Single(call)) => exchange.answer_single(call).await,
        Ok(Calls::Batch(calls)) => exchange.answer_batch(calls).await,
        Err(refusal) => {
            let (id, failure) = refused(refusal);
            failure.into_response(id, &exchange.request_id)
        }
    }
}

/// Finds the calls in a body. A large body is parsed on another thread.
async fn calls_of(
    bytes: Bytes,
    max_batch: usize,
    memory: &CallMemory,
) -> Result<Result<Calls, RefusedCall>, JoinError> {
    if bytes.len() <= READ_AT_ONCE {
        return Ok(read_calls(&bytes, max_batch));
    }
    memory.on_thread(move || read_calls(&bytes, max_batch)).await
}

impl<M: Methods + Status> Exchange<'_, M> {
    /// Answers a run with events. The run has a separate task.
    async fn answer_with_events(&self, call: Box<ReadCall>) -> Response {
        let ReadCall { id, call } = *call;
        let request_id = self.request_id.clone();
        let Some(id) = id else {
            return empty(StatusCode::NO_CONTENT, &request_id);
        };
        let caller = self.caller();
        if let Err(exhausted) = caller.memory.reserve(WAITING) {
            return Failure::overloaded(&exhausted.to_string()).into_response(id, &request_id);
        }
        if let Err(failure) = self.count(&caller) {
            return failure.into_response(id, &request_id);
        }
        let (listener, logs) = log_stream(WAITING);
        let listener = listener.answering();
        let (edge, memory) = (Arc::clone(self.edge), caller.memory.clone());
        let task = async move {
            let Some(methods) = edge.readiness.methods() else {
                return Err(Failure::overloaded("the server is shutting down"));
            };
            edge.execute(methods, &caller, call, Some(listener)).await
        };
        let task = tokio::spawn(task.in_current_span());
        answer(self.edge, ListenedRun { memory, id, request_id, task, logs }).await
    }

    async fn answer_single(&self, call: Box<ReadCall>) -> Response {
        let request_id = self.request_id.as_str();
        let Some(id) = call.id else {
            return empty(StatusCode::NO_CONTENT, request_id);
        };
        let caller = self.caller();
        match self.execute(&caller, call.call).await {
            Ok(result) => {
                let mut answer = self.answer();
                let response = response::Response { id, outcome: Ok(result) };
                match answer.write_json(&response) {
                    Ok(()) => json_bytes(200, answer.into_bytes(), request_id),
                    Err(AnswerFault::NoRoom) => no_room().into_response(response.id, request_id),
                    Err(AnswerFault::Unwritable(fault)) => unwritable(&fault, request_id),
                }
            }
            Err(failure) => failure.into_response(id, request_id),
        }
    }

    /// Executes one call after the other, in their order. Once the answers together are too long,
    /// each remaining call is refused.
    async fn answer_batch(&self, calls: Vec<ReadCall>) -> Response {
        let request_id = self.request_id.as_str();
        let mut answer = self.answer();
        for ReadCall { id, call } in calls {
            let Some(id) = id else { continue };
            let caller = self.caller();
            let outcome = if answer.len() > MAX_BATCH_ANSWER {
                let message = "the answers of this batch are too long; send fewer calls at once";
                Err(Failure::of_kind(ErrorKind::TooLarge, message))
            } else {
                self.execute(&caller, call).await
            };
            let outcome = outcome.map_err(|failure| *failure.body);
            let response = response::Response { id, outcome };
            let separator = if answer.len() == 0 { b'[' } else { b',' };
            let written = match answer.push(separator).and_then(|()| answer.write_json(&response)) {
                Err(AnswerFault::NoRoom) => {
                    let outcome = Err(*no_room().body);
                    answer.write_json(&response::Response::<()> { id: response.id, outcome })
                }
                written => written,
            };
            match written {
                Ok(()) => {}
                Err(AnswerFault::NoRoom) => {
                    return no_room().into_response(RequestId::Null, request_id);
                }
                Err(AnswerFault::Unwritable(fault)) => return unwritable(&fault, request_id),
            }
        }
        if answer.len() == 0 {
            return empty(StatusCode::NO_CONTENT, request_id);
        }
        if answer.push(b']').is_err() {
            return no_room().into_response(RequestId::Null, request_id);
        }
        json_bytes(200, answer.into_bytes(), request_id)
    }

    /// Returns the caller of one call. The call has its own charge, released with its result,
    /// and shares the charge of the body.
    fn caller(&self) -> Caller {
        let memory = self.memory.of_call();
        let caller = Caller::of(self.identity.clone(), self.request_id.clone(), memory);
        Caller { trace: self.trace.clone(), ..caller.at(self.peer) }
    }

    fn answer(&self) -> Answer {
        Answer::charged_to(Charge::none(&self.edge.budget))
    }

    async fn execute(
        &self,
        caller: &Caller,
        call: Result<MethodCall, Failure>,
    ) -> Result<MethodResult, Failure> {
        self.count(caller)?;
        self.edge.execute(self.methods, caller, call, None).await
    }

    /// Confirms the credential of a call, and counts it against the rate of its tenant. Malformed calls
    /// count too.
    fn count(&self, caller: &Caller) -> Result<(), Failure> {
        let count = match self.is_counted.swap(false, Ordering::Relaxed) {
            true => CallCount::Done,
            false => CallCount::Due,
        };
        self.edge.admit(self.methods, caller, count)
    }
}

/// The failure of a call that was executed but whose answer does not fit into memory. It names no
/// delay after which the call should be repeated.
fn no_room() -> Failure {
    let message = format!("{BudgetExhausted}; the call was executed");
    Failure::of_kind(ErrorKind::Overloaded, message)
}

fn unwritable(fault: &serde_json::Error, request_id: &str) -> Response {
    error!(request.id = request_id, "an answer cannot be written as JSON: {fault}");
    empty(StatusCode::INTERNAL_SERVER_ERROR, request_id)
}

/// Finds the calls in a body and checks their parameters.
fn read_calls(body: &[u8], max_batch: usize) -> Result<Calls, RefusedCall> {
    match envelope::parse(body, max_batch)? {
        IncomingCalls::Single(call) => Ok(Calls::Single(Box::new(read_call(call)))),
        IncomingCalls::Batch(calls) => Ok(Calls::Batch(calls.into_iter().map(entry).collect())),
    }
}

/// Prepares one entry of a batch.
fn entry(entry: Result<Call<'_>, RefusedCall>) -> ReadCall {
    entry.map_or_else(
        |refusal| {
            let (id, failure) = refused(refusal);
            ReadCall { id: Some(id), call: Err(failure) }
        },
        read_call,
    )
}

fn read_call(call: Call<'_>) -> ReadCall {
    let parsed = MethodCall::parse_with_discover(&call.method, call.params);
    let call_or_failure = parsed.map_err(|error| Failure::new(error.body(), 200));
    ReadCall { id: call.id, call: call_or_failure }
}

fn refused(refusal: RefusedCall) -> (RequestId, Failure) {
    let status = refusal.error.wire().http_status;
    let body = refusal.error.body();
    (refusal.id, Failure::new(body, status))
}
