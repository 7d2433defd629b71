//! The events of the edge in the audit log: uses of credentials, and refusals.

use std::net::IpAddr;

use wardian_formats::protocol::error_codes::WireError;
use wardian_service::{Caller, CallerCredential, CallerIdentity, RefusedCaller, ServiceError};
use wardian_stores::audit::{AuditEvent, AuditKind, AuditLog};
use wardian_vocabulary::error::ErrorKind;

/// The address of the client of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

/// Notes the use of a key or of a token.
pub(crate) fn note_use(audit: &AuditLog, identity: &CallerIdentity, peer: Option<PeerAddress>) {
    if let Some(credential) = &identity.credential {
        let kind = match credential {
            CallerCredential::Key(_) => AuditKind::KeyUsed,
            CallerCredential::Token(_) => AuditKind::TokenUsed,
        };
        audit.note(&AuditEvent {
            tenant: Some(identity.tenant.as_str()),
            key: Some(credential.name()),
            address: peer.map(|PeerAddress(address)| address),
            ..AuditEvent::new(kind)
        });
    }
}

/// Notes a request without a valid credential, with the reason if it is known.
pub(crate) fn note_stranger(
    audit: &AuditLog,
    refused: &RefusedCaller,
    peer: Option<PeerAddress>,
    request_id: &str,
) {
    if refused.error.kind() == ErrorKind::Unauthorized {
        audit.note(&AuditEvent {
            address: peer.map(|PeerAddress(address)| address),
            request_id: Some(request_id),
            about: refused.reason.as_deref(),
            ..AuditEvent::new(AuditKind::Unauthorized)
        });
    }
}

/// Notes that a caller has changed the skills of its tenant.
pub(crate) fn note_skill(audit: &AuditLog, caller: &Caller, kind: AuditKind, skill: &str) {
    audit.note(&AuditEvent {
        tenant: Some(caller.tenant.as_str()),
        key: caller.credential.as_ref().map(CallerCredential::name),
        address: caller.address,
        request_id: Some(&caller.request_id),
        ..AuditEvent::new(kind).about(skill)
    });
}

/// Notes that a caller was refused something, because it lacks a scope or its tenant has reached a
/// limit. Other errors are none of the audit log's events.
pub(crate) fn note_refusal(audit: &AuditLog, caller: &Caller, error: &ServiceError) {
    let (kind, about) = match (error, error.kind()) {
        // The credential was valid when the request began.
        (_, ErrorKind::Unauthorized) => (AuditKind::Unauthorized, "revoked or expired"),
        (ServiceError::Forbidden { right }, _) => (AuditKind::Forbidden, *right),
        (_, kind @ (ErrorKind::RateLimited | ErrorKind::QuotaExceeded)) => {
            (AuditKind::QuotaReached, WireError::of(kind).label)
        }
        _ => return,
    };
    audit.note(&AuditEvent {
        tenant: Some(caller.tenant.as_str()),
        key: caller.credential.as_ref().map(CallerCredential::name),
        address: caller.address,
        request_id: Some(&caller.request_id),
        ..AuditEvent::new(kind).about(about)
    });
}
