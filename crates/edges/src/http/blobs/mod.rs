//! Blobs as streams: `PUT` and `GET /v1/blobs`, and `GET`, `HEAD` and `DELETE /v1/blobs/{id}`.
//!
//! The content of a blob is never held as a whole: an upload and a download each hold some pieces,
//! which are charged to the memory budget for as long as the transfer takes.
//!
//! INVARIANT(inert-content): a blob that a browser is made to open runs nothing and is shown by no
//! page: it is an attachment of the stored type, in a sandbox, and for this origin alone.

pub(super) mod catalogue;
pub(super) mod conditions;
pub(super) mod content_answer;
pub(crate) mod content_body;
pub(super) mod disposition;
pub(super) mod download;
pub(super) mod query;
pub(super) mod range;
pub(super) mod upload;
pub(crate) mod upload_timeout;

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;

use crate::http::edge::Edge;
use crate::net::audited::note_refusal;
use crate::net::respond::{Failure, refuse};
use wardian_formats::protocol::error_codes::WireError;
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{
    BlobTransfers, Caller, CallerIdentity, Methods, ServiceError, Status, Transfers,
};
use wardian_stores::audit::AuditLog;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::error::ErrorKind;

/// The id in the path of a request. One that is not UTF-8 stays as it was sent: like every text
/// that is not an id it names no blob.
pub(crate) struct BlobPath(String);

impl<S: Send + Sync> FromRequestParts<S> for BlobPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let decoded = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(decoded.map_or_else(|_| parts.uri.path().to_owned(), |Path(id)| id)))
    }
}

/// One request, and the blobs that it is about.
struct BlobRequest<'a> {
    audit: &'a AuditLog,
    transfers: &'a BlobTransfers,
    caller: Caller,
    request_id: String,
}

impl<'a> BlobRequest<'a> {
    /// Begins to answer a request of this caller, which counts against the rate of its tenant. Fails
    /// if the server is not ready, or if the tenant has made too many calls.
    fn begin<M: Methods + Status + Transfers>(
        edge: &'a Edge<M>,
        identity: CallerIdentity,
    ) -> Result<Self, Box<Response>> {
        let request_id = edge.next_request_id();
        let Some(methods) = edge.readiness.methods() else {
            return Err(Box::new(edge.not_ready(&request_id)));
        };
        let caller = Caller::of(identity, request_id.clone(), CallMemory::new(&edge.budget));
        let (audit, transfers) = (&edge.audit, methods.transfers());
        let request = Self { audit, transfers, caller, request_id };
        match methods.count_call(&request.caller.tenant) {
            Ok(()) => Ok(request),
            Err(error) => Err(Box::new(request.failed(&error))),
        }
    }

    /// The answer to a request that failed.
    fn failed(&self, error: &ServiceError) -> Response {
        note_refusal(self.audit, &self.caller, error);
        let mut failure = Failure::of(error, &self.request_id);
        failure.status = status_of(error.kind());
        failure.into_response(RequestId::Null, &self.request_id)
    }

    /// The answer to a request with a mistake in its head.
    fn refused(&self, status: StatusCode, message: &str) -> Response {
        refuse(status, message, &self.request_id)
    }
}

/// The HTTP status for an error. The errors of `POST /rpc` are answers of the protocol and mostly
/// have status 200; here the status is the answer.
pub(crate) const fn status_of(kind: ErrorKind) -> u16 {
    match kind {
        ErrorKind::BlobNotFound
        | ErrorKind::FileNotFound
        | ErrorKind::RunNotFound
        | ErrorKind::SkillNotFound
        | ErrorKind::VersionNotFound
        | ErrorKind::SessionNotFound
        | ErrorKind::CheckpointNotFound => 404,
        ErrorKind::SessionExpired => 410,
        ErrorKind::InvalidParams => 400,
        ErrorKind::TooLarge => 413,
        ErrorKind::QuotaExceeded => 507,
        ErrorKind::Internal => 500,
        _ => WireError::of(kind).http_status,
    }
}

/// The value of a header that may be given once; an error if it is given twice or is not ASCII.
pub(super) fn single(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(format!("the header `{name}` must be ASCII")),
        },
        (Some(_), Some(_)) => Err(format!("the header `{name}` may be given once")),
    }
}
