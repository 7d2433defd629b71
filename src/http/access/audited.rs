//! The events of the edge in the audit log: uses of keys, and refusals.

use std::net::IpAddr;

use crate::audit::{AuditEvent, AuditKind, AuditLog};
use crate::error::ErrorKind;
use crate::protocol::error_codes::WireError;
use crate::service::{Caller, CallerIdentity, KeyPrefix, ServiceError};

/// The address of the client of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

/// Notes the use of a key.
pub(crate) fn note_key(audit: &AuditLog, identity: &CallerIdentity, peer: Option<PeerAddress>) {
    if let Some(key) = &identity.key {
        audit.note(&AuditEvent {
            tenant: Some(identity.tenant.as_str()),
            key: Some(key.as_str()),
            address: peer.map(|PeerAddress(address)| address),
            ..AuditEvent::new(AuditKind::KeyUsed)
        });
    }
}

/// Notes a request without a valid key.
pub(crate) fn note_stranger(
    audit: &AuditLog,
    error: &ServiceError,
    peer: Option<PeerAddress>,
    request_id: &str,
) {
    if error.kind() == ErrorKind::Unauthorized {
        audit.note(&AuditEvent {
            address: peer.map(|PeerAddress(address)| address),
            request_id: Some(request_id),
            ..AuditEvent::new(AuditKind::Unauthorized)
        });
    }
}

/// Notes that a caller was refused something, because it lacks a scope or its tenant has reached a
/// limit. Other errors are none of the audit log's events.
pub(crate) fn note_refusal(audit: &AuditLog, caller: &Caller, error: &ServiceError) {
    let (kind, about) = match (error, error.kind()) {
        // The key was valid when the request began.
        (_, ErrorKind::Unauthorized) => (AuditKind::Unauthorized, "revoked or expired"),
        (ServiceError::Forbidden { right }, _) => (AuditKind::Forbidden, *right),
        (_, kind @ (ErrorKind::RateLimited | ErrorKind::QuotaExceeded)) => {
            (AuditKind::QuotaReached, WireError::of(kind).label)
        }
        _ => return,
    };
    audit.note(&AuditEvent {
        tenant: Some(caller.tenant.as_str()),
        key: caller.key.as_ref().map(KeyPrefix::as_str),
        address: caller.address,
        request_id: Some(&caller.request_id),
        ..AuditEvent::new(kind).about(about)
    });
}
