//! Records what a run exchanges with the world.

use parking_lot::Mutex;

use crate::error::NetworkError;
use crate::scripted::cookies::CookieJar;
use crate::scripted::failure::failure_of;
use wardian_formats::provenance::document::{MAX_DOCUMENT, MAX_PIECES};
use wardian_formats::provenance::network::{NetworkDocument, NetworkEvent};

/// Maximum number of bytes that the events of a record have in its canonical form.
const MAX_EVENTS: usize = 24 << 20;

/// Most events of a record.
const MAX_COUNT: usize = 19_000;

/// Room for failures that are recorded when the record is full.
const RESERVE: usize = 4 << 20;

const _: () = assert!(((MAX_EVENTS + RESERVE) as u64) < MAX_DOCUMENT.as_u64());
const _: () = assert!(MAX_COUNT < MAX_PIECES);

/// Records what a run exchanges with the world.
#[derive(Debug, Default)]
pub struct NetworkRecorder {
    recorded: Mutex<Recorded>,
    pub(super) cookies: CookieJar,
}

#[derive(Debug, Default)]
struct Recorded {
    granted: bool,
    events: Vec<NetworkEvent>,
    /// Bytes of the events.
    size: usize,
    is_incomplete: bool,
}

impl NetworkRecorder {
    /// Notes whether the run was granted any host.
    pub fn note_grant(&self, granted: bool) {
        self.recorded.lock().granted = granted;
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// The record is full. The event is not in it, and the guest must not get its answer.
    pub fn add(&self, event: NetworkEvent) -> Result<(), NetworkError> {
        self.add_within(event, MAX_EVENTS, MAX_COUNT)
    }

    /// Adds a failure, for which there is room also if the record is full.
    pub(crate) fn add_failure(&self, event: NetworkEvent) {
        let added = self.add_within(event, MAX_EVENTS.saturating_add(RESERVE), MAX_PIECES);
        if added.is_err() {
            self.recorded.lock().is_incomplete = true;
        }
    }

    fn add_within(
        &self,
        event: NetworkEvent,
        bytes: usize,
        count: usize,
    ) -> Result<(), NetworkError> {
        let size = event.size().saturating_add(1);
        let mut recorded = self.recorded.lock();
        let after = recorded.size.saturating_add(size);
        if after > bytes || recorded.events.len() >= count {
            return Err(full());
        }
        recorded.size = after;
        recorded.events.push(event);
        Ok(())
    }

    /// Adds an event that says how an operation ended: `event` of a failure, if there is one.
    pub(crate) fn add_outcome<T>(
        &self,
        outcome: Result<T, NetworkError>,
        event: impl Fn(Result<&T, &NetworkError>) -> NetworkEvent,
    ) -> Result<T, NetworkError> {
        let error = match outcome {
            Ok(value) => match self.add(event(Ok(&value))) {
                Ok(()) => return Ok(value),
                Err(full) => full,
            },
            Err(error) => error,
        };
        self.add_failure(event(Err(&error)));
        Err(error)
    }

    /// Records whether there is such a host.
    pub(crate) fn look_up(
        &self,
        name: &str,
        found: Result<bool, NetworkError>,
    ) -> Result<bool, NetworkError> {
        self.add_outcome(found, |found| NetworkEvent::LookUp {
            name: name.to_owned(),
            found: found.ok().copied(),
            failure: found.err().map(failure_of),
        })
    }

    /// Records that a connection was refused before it began.
    pub fn refuse(&self, host: &str, port: u16, error: &NetworkError) {
        let (host, failure) = (host.to_owned(), failure_of(error));
        self.add_failure(NetworkEvent::Refuse { host, port, failure });
    }

    /// The bytes that a response may have until the record is full.
    pub fn room(&self) -> usize {
        MAX_EVENTS.saturating_sub(self.recorded.lock().size)
    }

    /// The record so far; none if it lacks something that did not fit.
    #[must_use]
    pub fn document(&self) -> Option<NetworkDocument> {
        let recorded = self.recorded.lock();
        let document = || NetworkDocument::new(recorded.granted, recorded.events.clone());
        (!recorded.is_incomplete).then(document)
    }
}

/// The failure of what has no room in the record.
pub(super) fn full() -> NetworkError {
    NetworkError::limit(format!(
        "the network record of this run is full: it holds at most {} MiB and {MAX_COUNT} events",
        MAX_EVENTS >> 20
    ))
}
