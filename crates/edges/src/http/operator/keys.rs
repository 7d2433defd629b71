//! `GET /v1/keys`, `POST /v1/keys` and `POST /v1/keys/{prefix}/revoke`: the keys that an
//! operator sees, makes and revokes.
//!
//! A key is answered once, in the answer to the request that made it, which no cache keeps. The audit
//! log names who made it.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;

use crate::http::edge::Edge;
use crate::http::operator::Inquiry;
use crate::net::audited::PeerAddress;
use crate::net::body::{ReadBody, is_json};
use crate::net::respond::{closing, empty, refuse, refuse_body};
use wardian_service::{ApiKey, CallerCredential, CallerIdentity, Methods, NewKey, Status};
use wardian_stores::audit::{AuditEvent, AuditKind};
use wardian_vocabulary::units::ByteCount;

/// Memory of one key while the list is made, with its part of the answer.
const LISTED_KEY: ByteCount = ByteCount::kibibytes(1);

/// Longest order for a key, in bytes.
const MAX_ORDER: usize = 16 << 10;

/// The answer of `/v1/keys`.
#[derive(Serialize)]
struct KeyListView<'a> {
    /// False if the server takes no keys.
    accepted: bool,
    keys: Vec<KeyView<'a>>,
}

/// A key, without anything secret. Times are in milliseconds since the Unix epoch.
#[derive(Serialize)]
struct KeyView<'a> {
    prefix: &'a str,
    tenant: &'a str,
    name: &'a str,
    scopes: Vec<&'static str>,
    created_ms: u64,
    expires_ms: Option<u64>,
    revoked_ms: Option<u64>,
    last_used_ms: Option<u64>,
}

impl<'a> KeyView<'a> {
    fn of(key: &'a ApiKey) -> Self {
        Self {
            prefix: key.prefix.as_str(),
            tenant: key.tenant.as_str(),
            name: &key.name,
            scopes: key.rights.names(),
            created_ms: milliseconds(key.created),
            expires_ms: key.expires.map(milliseconds),
            revoked_ms: key.revoked.map(milliseconds),
            last_used_ms: key.last_used.map(milliseconds),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

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
    /// False if it was already revoked.
    revoked: bool,
}

impl<M: Methods + Status> Inquiry<'_, M> {
    fn list_keys(&self) -> Result<Response, Box<Response>> {
        self.ensure_operator()?;
        let ring = self.edge.authentication.keys();
        let count = ring.map_or(0, |ring| u64::try_from(ring.count()).unwrap_or(u64::MAX));
        let needed = ByteCount::bytes(LISTED_KEY.as_u64().saturating_mul(count));
        self.caller.memory.reserve(needed).map_err(|_no_room| self.no_room())?;
        let keys = ring.map(|ring| ring.list()).unwrap_or_default();
        let keys = keys.iter().map(KeyView::of).collect();
        self.json(&KeyListView { accepted: ring.is_some(), keys })
    }

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
                "the body must be a JSON object with `tenant`, `name` and optionally `scopes` and \
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

/// Answers `GET /v1/keys`: the keys of all tenants, for an operator.
pub(crate) async fn list<M: Methods + Status>(
    State(edge): State<Arc<Edge<M>>>,
    Extension(identity): Extension<CallerIdentity>,
    address: Option<Extension<PeerAddress>>,
) -> Response {
    let answer = Inquiry::begin(&edge, identity, address).and_then(|inquiry| inquiry.list_keys());
    answer.unwrap_or_else(|refusal| *refusal)
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
