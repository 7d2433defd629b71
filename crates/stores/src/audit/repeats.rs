//! Finds events that repeat, and counts them.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::hash::{BuildHasher as _, Hasher as _};
use std::net::IpAddr;
use std::time::Duration;

use crate::audit::event::{AuditEvent, AuditKind};

/// Most events that are remembered. Others are counted together for each sort.
const MAX_REMEMBERED: usize = 1_024;

/// Most of them that are events of sessions, so that these leave room for refusals.
const MAX_OF_SESSIONS: usize = 256;

/// Events of the last time, by a hash of what they are about.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    state: RandomState,
    remembered: HashMap<u64, Remembered>,
    /// Events of each sort that were not remembered, as there were too many.
    others: HashMap<AuditKind, u64>,
}

/// An event that was written.
#[derive(Debug)]
struct Remembered {
    kind: AuditKind,
    tenant: Option<String>,
    key: Option<String>,
    address: Option<IpAddr>,
    about: Option<String>,
    written: Duration,
    repeats: u64,
}

impl Remembered {
    fn event(&self) -> AuditEvent<'_> {
        AuditEvent {
            tenant: self.tenant.as_deref(),
            key: self.key.as_deref(),
            address: self.address,
            about: self.about.as_deref(),
            repeats: Some(self.repeats),
            ..AuditEvent::new(self.kind)
        }
    }
}

impl Repeats {
    /// True if the event is to be written; otherwise it was counted. Times are since any moment.
    pub(super) fn is_first(&mut self, event: &AuditEvent<'_>, now: Duration) -> bool {
        let mut hasher = self.state.build_hasher();
        event.identify(&mut hasher);
        let is_full = self.remembered.len() >= MAX_REMEMBERED
            || event.kind.is_of_sessions() && self.of_sessions() >= MAX_OF_SESSIONS;
        match self.remembered.entry(hasher.finish()) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.repeats = known.repeats.saturating_add(1);
                false
            }
            Entry::Vacant(_) if is_full => {
                let count = self.others.entry(event.kind).or_default();
                *count = count.saturating_add(1);
                false
            }
            Entry::Vacant(place) => {
                place.insert(Remembered {
                    kind: event.kind,
                    tenant: event.tenant.map(str::to_owned),
                    key: event.key.map(str::to_owned),
                    address: event.address,
                    about: event.about.map(str::to_owned),
                    written: now,
                    repeats: 0,
                });
                true
            }
        }
    }

    fn of_sessions(&self) -> usize {
        self.remembered.values().filter(|known| known.kind.is_of_sessions()).count()
    }

    /// Forgets the events whose time is over, or all of them at the end. Calls `write` with the
    /// counts of those that were repeated.
    pub(super) fn forget(
        &mut self,
        now: Duration,
        is_end: bool,
        write: &mut dyn FnMut(&AuditEvent<'_>),
    ) {
        let before = self.remembered.len();
        self.remembered.retain(|_, known| {
            let is_over = is_end || now.saturating_sub(known.written) >= known.kind.quiet();
            if is_over && known.repeats > 0 {
                write(&known.event());
            }
            !is_over
        });
        if is_end || self.remembered.len() < before {
            for (kind, count) in self.others.drain() {
                write(&AuditEvent {
                    repeats: Some(count),
                    ..AuditEvent::new(kind).about("(others)")
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(repeats: &mut Repeats, seconds: u64, is_end: bool) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        repeats.forget(Duration::from_secs(seconds), is_end, &mut |event| {
            found.push((event.about.unwrap_or_default().to_owned(), event.repeats.unwrap()));
        });
        found.sort();
        found
    }

    #[test]
    fn an_event_that_repeats_is_written_once_and_counted() {
        let mut repeats = Repeats::default();
        let denied = |about: &'static str| AuditEvent::new(AuditKind::Forbidden).about(about);
        let at = Duration::from_secs;
        assert!(repeats.is_first(&denied("code"), at(0)));
        assert!(repeats.is_first(&denied("blobs"), at(0)));
        for second in 1..=59 {
            let again = AuditEvent { request_id: Some("other"), ..denied("code") };
            assert!(!repeats.is_first(&again, at(second)));
            assert_eq!(counted(&mut repeats, second, false), []);
        }
        assert_eq!(counted(&mut repeats, 60, false), [("code".to_owned(), 59)]);
        assert!(repeats.is_first(&denied("code"), at(61)));
        assert!(!repeats.is_first(&denied("code"), at(62)));
        assert_eq!(counted(&mut repeats, 63, true), [("code".to_owned(), 1)]);
    }

    #[test]
    fn audit_is_bounded_however_many_events_there_are() {
        let mut repeats = Repeats::default();
        let mut written = 0;
        for number in 0..100_000 {
            let about = format!("host{number}.example");
            let event = AuditEvent::new(AuditKind::HostDenied).about(&about);
            written += usize::from(repeats.is_first(&event, Duration::ZERO));
        }
        assert_eq!((written, repeats.remembered.len()), (MAX_REMEMBERED, MAX_REMEMBERED));
        let others = 100_000 - u64::try_from(MAX_REMEMBERED).unwrap();
        assert_eq!(counted(&mut repeats, 60, false), [("(others)".to_owned(), others)]);
    }

    #[test]
    fn events_of_sessions_leave_room_for_refusals() {
        let mut repeats = Repeats::default();
        let mut written = 0;
        for number in 0..2_000 {
            let about = format!("ses_{number}");
            let event = AuditEvent::new(AuditKind::SessionCreated).about(&about);
            written += usize::from(repeats.is_first(&event, Duration::ZERO));
        }
        assert_eq!(written, MAX_OF_SESSIONS);
        let refused = AuditEvent::new(AuditKind::Forbidden).about("code");
        assert!(repeats.is_first(&refused, Duration::ZERO));
        let others = 2_000 - u64::try_from(MAX_OF_SESSIONS).unwrap();
        assert_eq!(counted(&mut repeats, 60, false), [("(others)".to_owned(), others)]);
    }
}
