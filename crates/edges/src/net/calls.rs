//! One call of any edge: admitted, executed, counted, and told to the audit log.

use crate::net::audited::note_refusal;
use crate::net::respond::Failure;
use crate::net::state::EdgeState;
use wardian_formats::protocol::error_codes::WireError;
use wardian_formats::protocol::{MethodCall, MethodResult};
use wardian_service::{Caller, LogListener, Methods, ServiceError, Status};
use wardian_telemetry::traces::{AttributeValue, OpenSpan, SpanName};
use wardian_vocabulary::error::ErrorKind;

/// The labels of a call that names no method, and of one that succeeds.
const NO_METHOD: &str = "(none)";
const OK: &str = "ok";

/// Whether a call was counted against the rate of its tenant before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallCount {
    Due,
    Done,
}

impl<M: Methods + Status> EdgeState<M> {
    /// Confirms the credential of a call, and counts it against the rate of its tenant. Malformed
    /// calls count too.
    pub(crate) fn admit(
        &self,
        methods: &M,
        caller: &Caller,
        count: CallCount,
    ) -> Result<(), Failure> {
        let confirmed = self.authentication.confirm(caller.credential.as_ref());
        let counted = confirmed.and_then(|()| match count {
            CallCount::Done => Ok(()),
            CallCount::Due => methods.count_call(&caller.tenant),
        });
        counted.map_err(|error| {
            self.metrics.count_call(NO_METHOD, WireError::of(error.kind()).label);
            self.failed(caller, &error)
        })
    }

    /// Executes a call, and counts it by its end. Dropping the future cancels the call.
    pub(crate) async fn execute(
        &self,
        methods: &M,
        caller: &Caller,
        call: Result<MethodCall, Failure>,
        listener: Option<LogListener>,
    ) -> Result<MethodResult, Failure> {
        let method = call.as_ref().map_or(NO_METHOD, MethodCall::method);
        let mut span = caller.trace.begin(SpanName::of(method));
        let below;
        let caller = match span.is_recorded() {
            true => {
                below = Caller { trace: span.scope().clone(), ..caller.clone() };
                &below
            }
            false => caller,
        };
        // If the client leaves, nobody says anything else.
        span.fail("cancelled");
        let outcome = match call {
            Ok(call) => {
                let called = methods.call_listening(caller, call, listener);
                tokio::select! {
                    biased;
                    outcome = called => outcome.map_err(|error| self.failed(caller, &error)),
                    () = self.readiness.closed() => Err(cut_off()),
                }
            }
            Err(failure) => Err(failure),
        };
        let result = outcome.as_ref().map_or_else(|failure| failure.body.data.kind, |_| OK);
        self.metrics.count_call(method, result);
        describe(&mut span, method, caller, outcome.as_ref().err());
        outcome
    }

    /// The failure for an error of the service, which the audit log may note.
    pub fn failed(&self, caller: &Caller, error: &ServiceError) -> Failure {
        note_refusal(&self.audit, caller, error);
        Failure::of(error, &caller.request_id)
    }
}

/// Says in the span of a call what was called, by which tenant, and how it ended.
fn describe(span: &mut OpenSpan, method: &'static str, caller: &Caller, failure: Option<&Failure>) {
    if !span.is_recorded() {
        return;
    }
    span.set("rpc.system.name", "jsonrpc");
    span.set("rpc.method", if method == NO_METHOD { "_OTHER" } else { method });
    span.set("jsonrpc.protocol.version", "2.0");
    span.set("wardian.tenant.id", AttributeValue::text(caller.tenant.as_str()));
    span.set("wardian.request.id", AttributeValue::text(&caller.request_id));
    match failure {
        None => span.succeed(),
        Some(failure) => {
            let code = failure.body.code.to_string();
            span.set("rpc.response.status_code", AttributeValue::text(&code));
            span.fail(failure.body.data.kind);
        }
    }
}

/// The failure of a call that the end of the server has cut off: it may have been executed in part.
fn cut_off() -> Failure {
    Failure::of_kind(ErrorKind::Overloaded, "the server is shutting down")
}
