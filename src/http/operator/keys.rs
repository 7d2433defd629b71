//! `POST /v1/keys` and `POST /v1/keys/{prefix}/revoke`: keys that an operator makes and revokes.
//!
//! A key is answered once, in the answer to the request that made it, which no cache keeps. The audit
//! log names who made it.

use std::sync::Arc;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use crate::audit::{AuditEvent, AuditKind};
use crate::http::edge::Edge;
use crate::http::operator::{Inquiry, KeyView};
use crate::net::audited::PeerAddress;
use crate::net::body::{ReadBody, is_json};
use crate::net::respond::{closing, empty, refuse, refuse_body};
use crate::service::{CallerCredential, CallerIdentity, Methods, NewKey, Status};

/// Longest order for a key, in bytes.
const MAX_ORDER: usize = 16 << 10;

/// The answer to an order: the key, this once, and what lists show of it.
#[derive(Serialize)]
struct MadeKeyView<'a> {
    key: &'a str,
    #[serde(flatten)]
    listed: KeyView<'a>,
}

/// The answer to a revocation.
#[derive(Serialize)]
struct RevokedKeyView<'a> {
    prefix: &'a str,
    /// False if it was revoked before.
    revoked: bool,
}

impl<M: Methods + Status> Inquiry<'_, M> {
    async fn create_key(&self, request: Request) -> Result<Response, Box<Response>> {
        self.ensure_operator()?;
        if !is_json(request.headers()) {
            let message = "the `Content-Type` must be `application/json`";
            let refused = refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, message, &self.request_id);
            return Err(Box::new(closing(refused)));
        }
        let read = self.edge.bodies.read(request.into_body()).await;
        let ReadBody { bytes, charge: _charge } = read.map_err(|fault| {
            Box::new(refuse_body(fault, self.edge.bodies.largest(), &self.request_id))
        })?;
        let wrong = |reason: &str| {
            let message = format!(
                "the body must be a JSON object with `tenant`, `name` and perhaps `scopes` and \
                 `expires_ms`: {reason}"
            );
            Box::new(refuse(StatusCode::BAD_REQUEST, &message, &self.request_id))
        };
        if bytes.len() > MAX_ORDER {
            return Err(wrong("it is too long"));
        }
        let order: NewKey =
            serde_json::from_slice(&bytes).map_err(|fault| wrong(&fault.to_string()))?;
        let made = self.edge.authentication.create_key(&self.caller, &order).await;
        let (token, key) = made.map_err(|error| self.failed_with_status(&error))?;
        let by = format!("{} by {}", key.rights.names().join(","), self.name());
        let event = AuditEvent::new(AuditKind::KeyCreated).of_tenant(key.tenant.as_str());
        self.note(key.prefix.as_str(), event.about(&by));
        let view = MadeKeyView { key: token.reveal(), listed: KeyView::of(&key) };
        let mut answer = self.json(&view)?;
        *answer.status_mut() = StatusCode::CREATED;
        let never = HeaderValue::from_static("no-store");
        answer.headers_mut().insert(header::CACHE_CONTROL, never);
        Ok(answer)
    }

    async fn revoke_key(&self, prefix: &str) -> Result<Response, Box<Response>> {
        let ended = self.edge.authentication.revoke_key(&self.caller, prefix).await;
        let (prefix, revoked) = ended.map_err(|error| self.failed_with_status(&error))?;
        if revoked {
            let by = format!("by {}", self.name());
            self.note(prefix.as_str(), AuditEvent::new(AuditKind::KeyRevoked).about(&by));
        }
        self.json(&RevokedKeyView { prefix: prefix.as_str(), revoked })
    }

    /// The name of the credential of whoever asks.
    fn name(&self) -> &str {
        self.caller.credential.as_ref().map_or("nobody", CallerCredential::name)
    }

    /// Notes what became of a key.
    fn note(&self, key: &str, event: AuditEvent<'_>) {
        self.edge.audit.note(&AuditEvent {
            key: Some(key),
            address: self.caller.address,
            request_id: Some(&self.request_id),
            ..event
        });
    }
}

/// Answers `POST /v1/keys`: makes a key, for an operator.
pub(crate) async fn create<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    mut request: Request,
) -> Response {
    // The router has found out who calls, or has refused the request.
    let Some(identity) = request.extensions_mut().remove::<CallerIdentity>() else {
        return closing(empty(StatusCode::INTERNAL_SERVER_ERROR, &edge.next_request_id()));
    };
    let address = request.extensions().get::<PeerAddress>().copied().map(Extension);
    let answer = async { Inquiry::begin(&edge, identity, address)?.create_key(request).await };
    answer.await.unwrap_or_else(|refusal| *refusal)
}

/// Answers `POST /v1/keys/{prefix}/revoke`: revokes a key, for an operator. A body is not read.
pub(crate) async fn revoke<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
    prefix: Result<Path<String>, PathRejection>,
) -> Response {
    let prefix = prefix.map_or_else(|_malformed| String::new(), |Path(prefix)| prefix);
    let answer = async { Inquiry::begin(&edge, identity, address)?.revoke_key(&prefix).await };
    answer.await.unwrap_or_else(|refusal| *refusal)
}
