//! Skills that callers publish: `PUT` and `DELETE /v1/skills/{name}/{version}`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::http::blobs::query::Parameters;
use crate::http::blobs::status_of;
use crate::http::edge::Edge;
use crate::net::audited::{PeerAddress, note_refusal, note_skill};
use crate::net::respond::{Failure, empty, json, refuse};
use wardian_formats::protocol::request_id::RequestId;
use wardian_service::{
    Caller, CallerIdentity, Discovery, Methods, PublishResult, Publishing, ServiceError, Status,
};
use wardian_stores::audit::AuditKind;
use wardian_vocabulary::budget::CallMemory;

/// One request about a version of a skill.
struct SkillRequest<'a, M> {
    edge: &'a Edge<M>,
    skills: &'a Discovery,
    caller: Caller,
    request_id: String,
}

/// The name and the version in a path.
type Named = Result<Path<(String, String)>, PathRejection>;

impl<'a, M: Methods + Status + Publishing> SkillRequest<'a, M> {
    /// Begins to answer a request of this caller, which counts as a call of its tenant.
    fn begin(
        edge: &'a Edge<M>,
        identity: CallerIdentity,
        address: Option<Extension<PeerAddress>>,
    ) -> Result<Self, Box<Response>> {
        let request_id = edge.next_request_id();
        let ready =
            edge.readiness.methods().and_then(|methods| Some((methods, methods.publishing()?)));
        let Some((methods, skills)) = ready else {
            return Err(Box::new(edge.not_ready(&request_id)));
        };
        let caller = Caller::of(identity, request_id.clone(), CallMemory::new(&edge.budget));
        let caller = caller.at(address.map(|Extension(PeerAddress(address))| address));
        let request = Self { edge, skills, caller, request_id };
        match methods.count_call(&request.caller.tenant) {
            Ok(()) => Ok(request),
            Err(error) => Err(Box::new(request.failed(&error))),
        }
    }

    fn failed(&self, error: &ServiceError) -> Response {
        note_refusal(&self.edge.audit, &self.caller, error);
        let mut failure = Failure::of(error, &self.request_id);
        failure.status = match error {
            ServiceError::Publish(error) if error.is_conflict() => 409,
            ServiceError::Publish(error) if error.is_missing() => 404,
            other => status_of(other.kind()),
        };
        failure.into_response(RequestId::Null, &self.request_id)
    }

    fn refused(&self, message: &str) -> Response {
        refuse(StatusCode::BAD_REQUEST, message, &self.request_id)
    }

    async fn publish(&self, (name, version): (&str, &str), query: Option<&str>) -> Response {
        let parameters = match Parameters::parse(query, &["blob"]) {
            Ok(parameters) => parameters,
            Err(fault) => return self.refused(&fault),
        };
        let Some(blob) = parameters.find("blob") else {
            return self.refused(
                "`blob` must be the id of the blob with the skill's package: store it with `PUT \
                /v1/blobs` first",
            );
        };
        match self.skills.publish_skill(&self.caller, (name, version), blob).await {
            Ok(done) => {
                if done.is_new {
                    self.note(AuditKind::SkillPublished, &done);
                }
                let status = if done.is_new { 201 } else { 200 };
                json(status, &done, &self.request_id)
            }
            Err(error) => self.failed(&error),
        }
    }

    fn note(&self, kind: AuditKind, done: &PublishResult) {
        let skill = format!("{}@{}#{}", done.name, done.version, done.digest);
        note_skill(&self.edge.audit, &self.caller, kind, &skill);
    }

    async fn unpublish(&self, (name, version): (&str, &str), query: Option<&str>) -> Response {
        if let Err(fault) = Parameters::parse(query, &[]) {
            return self.refused(&fault);
        }
        match self.skills.unpublish_skill(&self.caller, (name, version)).await {
            Ok(()) => {
                let skill = format!("{name}@{version}");
                note_skill(&self.edge.audit, &self.caller, AuditKind::SkillUnpublished, &skill);
                empty(StatusCode::NO_CONTENT, &self.request_id)
            }
            Err(error) => self.failed(&error),
        }
    }
}

/// Answers `PUT /v1/skills/{name}/{version}`. A body is not read.
pub(super) async fn publish<M: Methods + Status + Publishing>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    named: Named,
    RawQuery(query): RawQuery,
) -> Response {
    let (name, version) = words(named);
    match SkillRequest::begin(&edge, identity, address) {
        Ok(request) => request.publish((&name, &version), query.as_deref()).await,
        Err(answer) => *answer,
    }
}

/// Answers `DELETE /v1/skills/{name}/{version}`.
pub(super) async fn unpublish<M: Methods + Status + Publishing>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    named: Named,
    RawQuery(query): RawQuery,
) -> Response {
    let (name, version) = words(named);
    match SkillRequest::begin(&edge, identity, address) {
        Ok(request) => request.unpublish((&name, &version), query.as_deref()).await,
        Err(answer) => *answer,
    }
}

/// A path that is not UTF-8 names no skill.
fn words(named: Named) -> (String, String) {
    named.map_or_else(|_malformed| Default::default(), |Path(words)| words)
}
