//! What a caller may know of itself and, with the scope `admin`, of the server: `GET /v1/caller`,
//! `/v1/metrics`, `/v1/overview` and `/v1/keys`. Only `keys.rs` changes anything.

pub(super) mod keys;

use std::io::Write as _;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::Response;
use serde::Serialize;
use tracing::error;

use crate::http::blobs::status_of;
use crate::http::edge::Edge;
use crate::net::answer::Answer;
use crate::net::audited::{PeerAddress, note_refusal};
use crate::net::respond::{Failure, json_bytes};
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{
    Caller, CallerCredential, CallerIdentity, Methods, ServiceError, Status, ensure_may_operate,
};
use wardian_telemetry::CONTENT_TYPE;
use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, Charge};
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::units::ByteCount;

/// Memory of one sample of the overview while it is answered, and the most of them.
const SAMPLE: ByteCount = ByteCount::bytes(104);
const SAMPLES: u64 = 24 * 60 + 1;

/// The answer of `/v1/caller`.
#[derive(Serialize)]
struct CallerView<'a> {
    tenant: &'a str,
    scopes: Vec<&'static str>,
    /// The prefix of a key, or `token:` and the subject of a token.
    credential: Option<&'a str>,
}

/// One request about the caller or the server.
struct Inquiry<'a, M> {
    edge: &'a Edge<M>,
    caller: Caller,
    request_id: String,
}

impl<'a, M: Methods + Status> Inquiry<'a, M> {
    /// Begins to answer a request of this caller, which counts as a call of its tenant.
    fn begin(
        edge: &'a Edge<M>,
        identity: CallerIdentity,
        address: Option<Extension<PeerAddress>>,
    ) -> Result<Self, Box<Response>> {
        let request_id = edge.next_request_id();
        let caller = Caller::of(identity, request_id.clone(), CallMemory::new(&edge.budget));
        let caller = caller.at(address.map(|Extension(PeerAddress(address))| address));
        let inquiry = Self { edge, caller, request_id };
        // A server that is starting has no rates yet, and an operator may want to look at it.
        match edge.readiness.methods().map(|methods| methods.count_call(&inquiry.caller.tenant)) {
            None | Some(Ok(())) => Ok(inquiry),
            Some(Err(error)) => Err(inquiry.failed(&error)),
        }
    }

    fn failed(&self, error: &ServiceError) -> Box<Response> {
        note_refusal(&self.edge.audit, &self.caller, error);
        let failure = Failure::of(error, &self.request_id);
        Box::new(failure.into_response(RequestId::Null, &self.request_id))
    }

    fn no_room(&self) -> Box<Response> {
        self.failed(&BudgetExhausted.into())
    }

    fn ensure_operator(&self) -> Result<(), Box<Response>> {
        ensure_may_operate(&self.caller).map_err(|error| self.failed(&error))
    }

    fn json(&self, value: &impl Serialize) -> Result<Response, Box<Response>> {
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        answer.write_json(value).map_err(|_no_room| self.no_room())?;
        Ok(guarded(json_bytes(200, answer.into_bytes(), &self.request_id)))
    }

    fn caller(&self) -> Result<Response, Box<Response>> {
        self.json(&CallerView {
            tenant: self.caller.tenant.as_str(),
            scopes: self.caller.rights.names(),
            credential: self.caller.credential.as_ref().map(CallerCredential::name),
        })
    }

    fn overview(&self) -> Result<Response, Box<Response>> {
        self.ensure_operator()?;
        let needed = ByteCount::bytes(SAMPLE.as_u64().saturating_mul(SAMPLES));
        self.caller.memory.reserve(needed).map_err(|_no_room| self.no_room())?;
        self.json(&self.edge.metrics.overview())
    }

    /// The answer to a request that failed, with the status that requests outside `/rpc` have.
    fn failed_with_status(&self, error: &ServiceError) -> Box<Response> {
        note_refusal(&self.edge.audit, &self.caller, error);
        let mut failure = Failure::of(error, &self.request_id);
        failure.status = status_of(error.kind());
        Box::new(failure.into_response(RequestId::Null, &self.request_id))
    }

    fn metrics(&self) -> Result<Response, Box<Response>> {
        self.ensure_operator()?;
        let text = self.edge.metrics.text().map_err(|fault| {
            error!(request.id = self.request_id, "the metrics cannot be written: {fault}");
            let failure = Failure::of_kind(ErrorKind::Internal, "the metrics cannot be written");
            Box::new(failure.into_response(RequestId::Null, &self.request_id))
        })?;
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        answer.write_all(text.as_bytes()).map_err(|_no_room| self.no_room())?;
        let mut answer = guarded(json_bytes(200, answer.into_bytes(), &self.request_id));
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        Ok(answer)
    }
}

/// Answers `GET /v1/caller`: the tenant and the scopes of whoever asks.
pub(super) async fn caller<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
) -> Response {
    let answer = Inquiry::begin(&edge, identity, address).and_then(|inquiry| inquiry.caller());
    answer.unwrap_or_else(|refusal| *refusal)
}

/// Answers `GET /v1/overview`: the last day of the server, for an operator.
pub(super) async fn overview<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
) -> Response {
    let answer = Inquiry::begin(&edge, identity, address).and_then(|inquiry| inquiry.overview());
    answer.unwrap_or_else(|refusal| *refusal)
}

/// Answers `GET /v1/metrics`: the metrics of the server, for an operator.
pub(super) async fn metrics<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
) -> Response {
    let answer = Inquiry::begin(&edge, identity, address).and_then(|inquiry| inquiry.metrics());
    answer.unwrap_or_else(|refusal| *refusal)
}

/// No page of another origin may embed the answer.
fn guarded(mut answer: Response) -> Response {
    let own = HeaderValue::from_static("same-origin");
    answer.headers_mut().insert(HeaderName::from_static("cross-origin-resource-policy"), own);
    answer
}
