//! What operators see of sessions: lines of the audit log, and metrics.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tracing::info;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::sessions::asking::decision::DecidedCall;
use crate::sessions::held::session_guests::SessionGuests;
use wardian_images::PinnedImages;
use wardian_sessions::{SessionTotals, Sessions};
use wardian_stores::audit::{AuditEvent, AuditKind, AuditLog};
use wardian_stores::records::{RecordedToolCall, ToolCallEnd};
use wardian_stores::tenants::CallerCredential;
use wardian_telemetry::Metrics;
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::ids::{SessionId, TenantId};

/// An event of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionEvent {
    /// It was made.
    Created,
    /// It was made of a checkpoint of another one.
    Forked,
    /// It went back to a checkpoint.
    Restored,
    /// Its caller closed it.
    Closed,
    /// Its time was over.
    Expired,
    /// A call found that its state cannot be used.
    Damaged,
}

impl SessionEvent {
    const ALL: [Self; 6] =
        [Self::Created, Self::Forked, Self::Restored, Self::Closed, Self::Expired, Self::Damaged];

    /// Its name in metrics.
    const fn name(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Forked => "forked",
            Self::Restored => "restored",
            Self::Closed => "closed",
            Self::Expired => "expired",
            Self::Damaged => "damaged",
        }
    }

    /// Its sort in the audit log.
    const fn kind(self) -> AuditKind {
        match self {
            Self::Created => AuditKind::SessionCreated,
            Self::Forked => AuditKind::SessionForked,
            Self::Restored => AuditKind::SessionRestored,
            Self::Closed => AuditKind::SessionClosed,
            Self::Expired => AuditKind::SessionExpired,
            Self::Damaged => AuditKind::SessionDamaged,
        }
    }
}

/// Takes the events of sessions. Clones share what is counted; the default one counts nothing.
#[derive(Debug, Clone, Default)]
pub struct SessionObserver(Arc<Observed>);

#[derive(Debug, Default)]
struct Observed {
    audit: AuditLog,
    metrics: Option<Arc<Metrics>>,
    /// The sums when they were last read.
    totals: Mutex<SessionTotals>,
    /// The images that open sessions began as.
    images: OnceLock<PinnedImages>,
    /// What workers keep of sessions.
    guests: OnceLock<SessionGuests>,
}

impl SessionObserver {
    /// Events become lines of this log, and are counted in these metrics.
    #[must_use]
    pub fn new(audit: AuditLog, metrics: Arc<Metrics>) -> Self {
        metrics.show_session_events(SessionEvent::ALL.map(SessionEvent::name));
        metrics.show_tool_calls(ToolCallEnd::ALL.map(ToolCallEnd::name));
        Self(Arc::new(Observed { audit, metrics: Some(metrics), ..Observed::default() }))
    }

    /// Ends the sessions whose time is over, with what workers keep of them, removes the images that no
    /// session needs any more, and reads the sums over the other sessions. Returns the number of those that have ended.
    ///
    /// # Errors
    ///
    /// The store fails.
    pub async fn tend(&self, sessions: &Sessions) -> Result<usize, ServiceError> {
        if let Some(guests) = self.0.guests.get() {
            // A session whose cell has the turn does not end by itself.
            guests.end_expired(sessions).await?;
        }
        let ended = sessions.end_expired().await?;
        for (tenant, session) in &ended {
            self.end_alone(SessionEvent::Expired, tenant, session);
        }
        let totals = sessions.totals().await?;
        *self.0.totals.lock() = totals;
        if let Some(images) = self.0.images.get() {
            remove_surplus_images(images, sessions).await?;
        }
        Ok(ended.len())
    }

    /// From now on, images that no session needs any more are removed from these.
    pub(crate) fn tend_images(&self, images: &PinnedImages) {
        self.0.images.set(images.clone()).ok();
    }

    /// From now on, these guests are closed with their sessions.
    pub(crate) fn tend_guests(&self, guests: &SessionGuests) {
        self.0.guests.set(guests.clone()).ok();
    }

    /// Notes the end of a session that no caller has caused, and closes what workers keep of it.
    pub(crate) fn end_alone(&self, event: SessionEvent, owner: &TenantId, session: &SessionId) {
        if let Some(guests) = self.0.guests.get() {
            guests.end(session);
        }
        self.note_alone(event, owner, session);
    }

    /// Notes an event that a caller has caused. `about` begins with the id of the session.
    pub(crate) fn note(&self, event: SessionEvent, caller: &Caller, about: &str) {
        self.count(event);
        self.0.audit.note(&AuditEvent {
            tenant: Some(caller.tenant.as_str()),
            key: caller.credential.as_ref().map(CallerCredential::name),
            address: caller.address,
            request_id: Some(&caller.request_id),
            ..AuditEvent::new(event.kind()).about(about)
        });
    }

    /// Notes a call of a tool whose end this caller has brought.
    pub(crate) fn note_call(&self, caller: &Caller, session: &SessionId, call: &RecordedToolCall) {
        let RecordedToolCall { id, tool, arguments, result, end, .. } = call;
        let end = end.name();
        if let Some(metrics) = &self.0.metrics {
            metrics.count_tool_call(end);
        }
        // The name is the longest part, and the only one that may be cut.
        let about = format!("{session} {id} {end} {arguments} {result} {tool}");
        self.0.audit.note(&AuditEvent {
            key: caller.credential.as_ref().map(CallerCredential::name),
            address: caller.address,
            request_id: Some(&caller.request_id),
            ..AuditEvent::new(AuditKind::ToolCalled).of_tenant(caller.tenant.as_str()).about(&about)
        });
    }

    /// Notes what a caller has decided about a call of a tool that needs an approval.
    pub(crate) fn note_decision(&self, tenant: &TenantId, session: &SessionId, call: &DecidedCall) {
        let DecidedCall { id, tool, arguments, word, by } = call;
        let about = format!("{session} {id} {word} {arguments} {tool}");
        self.0.audit.note(&AuditEvent {
            key: by.key.as_deref(),
            address: by.address,
            request_id: Some(&by.request_id),
            ..AuditEvent::new(AuditKind::ToolDecided).of_tenant(tenant.as_str()).about(&about)
        });
    }

    /// Notes an event without a caller.
    fn note_alone(&self, event: SessionEvent, tenant: &TenantId, session: &SessionId) {
        self.count(event);
        let line = AuditEvent::new(event.kind()).of_tenant(tenant.as_str());
        self.0.audit.note(&line.about(session.as_str()));
    }

    /// Counts an interpreter that was made of its states in this time.
    pub(crate) fn count_resume(&self, time: Duration) {
        if let Some(metrics) = &self.0.metrics {
            metrics.count_session_resume(time);
        }
    }

    /// The sums over all sessions when they were last read.
    pub(crate) fn totals(&self) -> SessionTotals {
        *self.0.totals.lock()
    }

    fn count(&self, event: SessionEvent) {
        if let Some(metrics) = &self.0.metrics {
            metrics.count_session(event.name());
        }
    }
}

/// Removes the files of images that no open session names.
async fn remove_surplus_images(
    images: &PinnedImages,
    sessions: &Sessions,
) -> Result<(), ServiceError> {
    let (alone, named) = (images.alone().await, sessions.images().await?);
    let (images, memory) = (images.clone(), CallMemory::unlimited());
    let removing = memory.on_thread(move || {
        let removed = images.keep_only(&named);
        // Sessions may be made again, also if nobody waits for the end of this thread.
        drop(alone);
        removed
    });
    match removing.await.map_err(ServiceError::Interrupted)?? {
        0 => {}
        count => info!(count, "images that no session needs any more were removed: {count}"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_and_shown_before_the_first_one() {
        let metrics = Metrics::new();
        let observer = SessionObserver::new(AuditLog::default(), Arc::clone(&metrics));
        observer.note(SessionEvent::Created, &Caller::local("test"), "ses_a");
        let session = SessionId::of_random(&[1; 16]);
        observer.note_alone(SessionEvent::Expired, &TenantId::local(), &session);
        let text = metrics.text().unwrap();
        for (event, count) in [("created", 1), ("expired", 1), ("damaged", 0)] {
            let line = format!("wardian_session_events_total{{event=\"{event}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
        SessionObserver::default().note(SessionEvent::Closed, &Caller::local("test"), "ses_a");
    }
}
