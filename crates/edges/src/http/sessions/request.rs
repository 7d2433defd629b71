//! One request about sessions: its caller, its parameters and its answer.

use std::io::Write as _;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::blobs::query::Parameters;
use crate::http::blobs::status_of;
use crate::http::edge::Edge;
use crate::net::answer::Answer;
use crate::net::audited::{PeerAddress, note_refusal};
use crate::net::body::ReadBody;
use crate::net::respond::{Failure, closing, empty, json_bytes, refuse, refuse_body};
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{
    Caller, CallerIdentity, Methods, ServiceError, SessionCalls, SessionRoom, Status,
};
use wardian_vocabulary::budget::{BudgetExhausted, CallMemory, Charge};

/// Longest body of a request about a session, in bytes.
const MAX_ORDER: usize = 256 << 10;

/// One request about sessions.
pub(super) struct SessionRequest<'a, M> {
    pub(super) edge: &'a Edge<M>,
    pub(super) methods: &'a M,
    pub(super) caller: Caller,
    pub(super) request_id: String,
}

/// An answer, or the refusal of the request.
pub(super) type RequestAnswer = Result<Response, Box<Response>>;

/// The id in a path.
pub(crate) type Named = Result<Path<String>, PathRejection>;

/// The caller of a request, whom the router has found out.
pub(crate) type Who = (Extension<CallerIdentity>, Option<Extension<PeerAddress>>);

impl<'a, M: Methods + Status + SessionCalls> SessionRequest<'a, M> {
    /// Begins to answer a request of this caller, which counts as a call of its tenant.
    pub(super) fn begin(edge: &'a Edge<M>, who: Who) -> Result<Self, Box<Response>> {
        let (Extension(identity), address) = who;
        let request_id = edge.next_request_id();
        let Some(methods) = edge.readiness.methods() else {
            return Err(Box::new(edge.not_ready(&request_id)));
        };
        let caller = Caller::of(identity, request_id.clone(), CallMemory::new(&edge.budget));
        let caller = caller.at(address.map(|Extension(PeerAddress(address))| address));
        let request = Self { edge, methods, caller, request_id };
        match methods.count_call(&request.caller.tenant) {
            Ok(()) => Ok(request),
            Err(error) => Err(request.failed(&error)),
        }
    }

    pub(super) fn room(&self) -> &SessionRoom {
        self.methods.sessions()
    }

    pub(super) fn failed(&self, error: &ServiceError) -> Box<Response> {
        note_refusal(&self.edge.audit, &self.caller, error);
        let mut failure = Failure::of(error, &self.request_id);
        failure.status = status_of(error.kind());
        Box::new(failure.into_response(RequestId::Null, &self.request_id))
    }

    pub(super) fn refused(&self, message: &str) -> Box<Response> {
        Box::new(refuse(StatusCode::BAD_REQUEST, message, &self.request_id))
    }

    pub(super) fn parameters(
        &self,
        query: Option<&str>,
        known: &[&str],
    ) -> Result<Parameters, Box<Response>> {
        Parameters::parse(query, known).map_err(|fault| self.refused(&fault))
    }

    pub(super) fn number(
        &self,
        parameters: &Parameters,
        name: &str,
    ) -> Result<Option<u64>, Box<Response>> {
        let number = parameters.find(name).map(str::parse).transpose();
        number.map_err(|_malformed| self.refused(&format!("`{name}` must be a number")))
    }

    /// The body as this order. An empty body is an order without members.
    pub(super) async fn order<T: DeserializeOwned>(
        &self,
        request: Request,
    ) -> Result<T, Box<Response>> {
        let ReadBody { bytes, charge: _charge } = self.body(request).await?;
        if bytes.len() > MAX_ORDER {
            return Err(self.refused(&format!("the body may have at most {MAX_ORDER} bytes")));
        }
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        // An array would be read as the members in their order.
        if !text.trim_ascii_start().starts_with(b"{") {
            return Err(self.refused("the body must be a JSON object"));
        }
        serde_json::from_slice(text)
            .map_err(|fault| self.refused(&format!("the body must be a JSON object: {fault}")))
    }

    /// The whole body.
    pub(super) async fn body(&self, request: Request) -> Result<ReadBody, Box<Response>> {
        let read = self.edge.bodies.read(request.into_body()).await;
        read.map_err(|fault| {
            Box::new(refuse_body(fault, self.edge.bodies.largest(), &self.request_id))
        })
    }

    /// The answer with this value.
    pub(super) fn json(&self, status: StatusCode, value: &impl Serialize) -> RequestAnswer {
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        let no_room = |_| self.failed(&BudgetExhausted.into());
        answer.write_json(value).map_err(no_room)?;
        Ok(json_bytes(status.as_u16(), answer.into_bytes(), &self.request_id))
    }

    /// The answer with a text that is JSON.
    pub(super) fn text(&self, made: Result<String, ServiceError>) -> RequestAnswer {
        let text = made.map_err(|error| self.failed(&error))?;
        let mut answer = Answer::charged_to(Charge::none(&self.edge.budget));
        let no_room = |_| self.failed(&BudgetExhausted.into());
        answer.write_all(text.as_bytes()).map_err(no_room)?;
        Ok(json_bytes(200, answer.into_bytes(), &self.request_id))
    }

    /// The answer to an operation of the service.
    pub(super) fn answer(
        &self,
        status: StatusCode,
        done: Result<impl Serialize, ServiceError>,
    ) -> RequestAnswer {
        self.json(status, &done.map_err(|error| self.failed(&error))?)
    }

    /// The answer without content to an operation of the service.
    pub(super) fn nothing(&self, done: Result<(), ServiceError>) -> RequestAnswer {
        done.map_err(|error| self.failed(&error))?;
        Ok(empty(StatusCode::NO_CONTENT, &self.request_id))
    }
}

/// The answer, whether the request succeeded or not. A refused request may have a body that was not
/// read.
pub(super) fn whole(answer: RequestAnswer) -> Response {
    answer.unwrap_or_else(|answer| closing(*answer))
}

/// The id in a path. A path that is not UTF-8 names no session.
pub(super) fn named(id: Named) -> String {
    id.map_or_else(|_malformed| String::new(), |Path(id)| id)
}
