//! Answers the network of a repetition from a record, in the order of the record.
//!
//! INVARIANT(recorded-only): a request is answered only if the record has it next. After the first
//! one that it does not have, nothing is answered any more.

use parking_lot::Mutex;

use crate::error::{NetworkError, errno};
use crate::scripted::failure::error_of;
use wardian_formats::provenance::network::{
    NetworkDocument, NetworkEvent, NetworkExchange, NetworkFailure, NetworkRequestKey,
};
use wardian_vocabulary::ids::Digest;

/// Answers from a record.
#[derive(Debug)]
pub struct NetworkPlayer {
    granted: bool,
    events: Vec<NetworkEvent>,
    played: Mutex<Played>,
}

#[derive(Debug, Default)]
struct Played {
    /// Events that were used.
    next: usize,
    /// The request that the record does not have.
    unrecorded: Option<String>,
}

impl NetworkPlayer {
    /// Answers from this record.
    #[must_use]
    pub fn new(document: NetworkDocument) -> Self {
        let NetworkDocument { granted, events, .. } = document;
        Self { granted, events, played: Mutex::default() }
    }

    /// True if the recorded run was granted any host.
    pub const fn granted(&self) -> bool {
        self.granted
    }

    /// The differences between the record and what was asked of it, one line each.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let played = self.played.lock();
        if let Some(asked) = &played.unrecorded {
            let next = self.events.get(played.next).map_or_else(|| "nothing".to_owned(), named);
            return vec![format!("{asked} was not recorded; at this point the record has {next}")];
        }
        let unused = self.events.get(played.next..).unwrap_or_default();
        let few = unused.iter().take(MAX_UNUSED);
        few.map(|event| format!("{} was recorded, but not requested", named(event))).collect()
    }

    /// Takes the next event if it is the one that `fits`, which gives its answer.
    fn take<T>(
        &self,
        asked: impl FnOnce() -> String,
        fits: impl FnOnce(&NetworkEvent) -> Option<T>,
    ) -> Result<T, NetworkError> {
        let mut played = self.played.lock();
        let next = self.events.get(played.next).filter(|_| played.unrecorded.is_none());
        if let Some(answer) = next.and_then(fits) {
            played.next = played.next.saturating_add(1);
            return Ok(answer);
        }
        let asked = asked();
        let error = unrecorded(&asked);
        played.unrecorded.get_or_insert(asked);
        Err(error)
    }

    pub(crate) fn look_up(&self, asked: &str) -> Result<bool, NetworkError> {
        let answer = self.take(
            || format!("the look-up of `{asked}`"),
            |event| match event {
                NetworkEvent::LookUp { name, found, failure } if name == asked => {
                    Some((*found, failure.clone()))
                }
                _ => None,
            },
        )?;
        match answer {
            (Some(found), None) => Ok(found),
            (_, failure) => Err(outcome_of(failure.as_ref())),
        }
    }

    /// Begins a connection. The outer error is a refusal before it began.
    pub(crate) fn connect(
        &self,
        asked: &str,
        asked_port: u16,
    ) -> Result<Result<(), NetworkError>, NetworkError> {
        self.take(
            || format!("the connection to `{asked}:{asked_port}`"),
            |event| match event {
                NetworkEvent::Refuse { host, port, failure }
                    if host == asked && *port == asked_port =>
                {
                    Some(Err(outcome_of(Some(failure))))
                }
                NetworkEvent::Connect { host, port, failure }
                    if host == asked && *port == asked_port =>
                {
                    Some(Ok(failure.as_ref().map_or(Ok(()), |one| Err(outcome_of(Some(one))))))
                }
                _ => None,
            },
        )?
    }

    /// The answer to a request for TLS, and whether it is spoken from then on.
    pub(crate) fn encrypt(
        &self,
        on: u32,
        host: &str,
        request: &Digest,
    ) -> Result<(String, bool), NetworkError> {
        let (answer, agreed, failure) = self.take(
            || format!("TLS with `{host}`"),
            |event| match event {
                NetworkEvent::Encrypt { connection, request_sha256, answer, agreed, failure }
                    if *connection == on && request_sha256 == request =>
                {
                    Some((answer.clone(), *agreed, failure.clone()))
                }
                _ => None,
            },
        )?;
        match answer {
            Some(answer) if failure.is_none() => Ok((answer, agreed)),
            _ => Err(outcome_of(failure.as_ref())),
        }
    }

    pub(crate) fn exchange(
        &self,
        on: u32,
        request: &NetworkRequestKey,
    ) -> Result<NetworkExchange, NetworkError> {
        self.take(
            || format!("{} {}", request.method, request.url),
            |event| match event {
                NetworkEvent::Exchange(exchange)
                    if exchange.connection == on && exchange.request == *request =>
                {
                    Some((**exchange).clone())
                }
                _ => None,
            },
        )
    }
}

/// Most events without a use that are named.
const MAX_UNUSED: usize = 16;

/// An event in a sentence.
fn named(event: &NetworkEvent) -> String {
    match event {
        NetworkEvent::LookUp { name, .. } => format!("the look-up of `{name}`"),
        NetworkEvent::Refuse { host, port, .. } | NetworkEvent::Connect { host, port, .. } => {
            format!("the connection to `{host}:{port}`")
        }
        NetworkEvent::Encrypt { connection, .. } => format!("TLS on connection {connection}"),
        NetworkEvent::Exchange(exchange) => {
            format!("{} {}", exchange.request.method, exchange.request.url)
        }
    }
}

fn unrecorded(asked: &str) -> NetworkError {
    let text = format!("{asked} was not recorded, and a repetition has no other network access");
    NetworkError::new(errno::ECONNREFUSED, text)
}

/// The failure of an event; a record without one was made up.
fn outcome_of(failure: Option<&NetworkFailure>) -> NetworkError {
    let malformed = || NetworkError::new(errno::ECONNRESET, "the record has no answer");
    failure.map_or_else(malformed, error_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_up(name: &str) -> NetworkEvent {
        NetworkEvent::LookUp { name: name.to_owned(), found: Some(true), failure: None }
    }

    #[test]
    fn recorded_only() {
        let failure = Some(NetworkFailure { errno: 111, text: "Connection refused".into() });
        let connect = NetworkEvent::Connect { host: "a.test".into(), port: 80, failure };
        let events = vec![look_up("a.test"), connect, look_up("b.test")];
        let player = NetworkPlayer::new(NetworkDocument::new(true, events));
        assert_eq!(player.differences().len(), 3);
        assert_eq!(player.look_up("a.test"), Ok(true));
        assert_eq!(player.connect("a.test", 80).unwrap().unwrap_err().errno(), 111);
        let refused = player.connect("b.test", 80).unwrap_err();
        assert!(refused.text().contains("`b.test:80` was not recorded"), "{refused}");
        assert!(player.look_up("b.test").is_err(), "the record was left");
        let told = "the connection to `b.test:80` was not recorded; at this point the record has \
            the look-up of `b.test`";
        assert_eq!(player.differences(), [told]);
    }
}
