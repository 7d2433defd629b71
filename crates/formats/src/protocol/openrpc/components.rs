//! The parts of the document that its methods refer to, and the table of errors.

use serde::Serialize;
use serde::ser::{Error as _, SerializeMap as _, Serializer};
use serde_json::value::RawValue;

use crate::protocol::error_codes::WireError;
use wardian_vocabulary::error::ErrorKind;

/// The schemas of results and events, as the text of a JSON object.
pub(super) const SCHEMAS: &str = include_str!("schemas.json");

/// Kinds of errors that every method can have. The codes of a list differ: all mistakes of a caller
/// share one code, and `data.kind` tells them apart.
pub(super) const OF_ALL: [ErrorKind; 6] = [
    ErrorKind::InvalidParams,
    ErrorKind::Unauthorized,
    ErrorKind::Forbidden,
    ErrorKind::RateLimited,
    ErrorKind::Overloaded,
    ErrorKind::Internal,
];

/// Further ones of methods that run a program.
pub(super) const OF_RUNS: [ErrorKind; 3] =
    [ErrorKind::QuotaExceeded, ErrorKind::SecretUnavailable, ErrorKind::PackagesMissing];

/// Further ones of code that runs in a session.
pub(super) const OF_SESSIONS: [ErrorKind; 3] =
    [ErrorKind::SessionBusy, ErrorKind::SessionConflict, ErrorKind::SessionDamaged];

/// A reference to a component of the document.
#[derive(Serialize)]
pub(super) struct Reference {
    #[serde(rename = "$ref")]
    target: String,
}

impl Reference {
    pub(super) fn to_schema(name: &str) -> Self {
        Self { target: format!("#/components/schemas/{name}") }
    }

    pub(super) fn to_error(kind: ErrorKind) -> Self {
        Self { target: format!("#/components/errors/{}", WireError::of(kind).label) }
    }
}

/// The member `components`.
pub(super) struct Components;

impl Serialize for Components {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let schemas: &RawValue = serde_json::from_str(SCHEMAS).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("schemas", schemas)?;
        map.serialize_entry("errors", &Errors)?;
        map.end()
    }
}

/// The errors that methods refer to.
struct Errors;

impl Serialize for Errors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kinds = OF_ALL.iter().chain(&OF_RUNS).chain(&OF_SESSIONS);
        serializer.collect_map(kinds.map(|kind| {
            let WireError { code, label, .. } = WireError::of(*kind);
            let data = Kind { kind: label };
            (label, KnownError { code, message: label.replace('_', " "), data })
        }))
    }
}

#[derive(Serialize)]
struct KnownError {
    code: i32,
    message: String,
    data: Kind,
}

#[derive(Serialize)]
struct Kind {
    kind: &'static str,
}

/// One value of `error.data.kind`.
#[derive(Serialize)]
pub(super) struct KindOfError {
    kind: &'static str,
    code: i32,
    http_status: u16,
}

impl KindOfError {
    pub(super) const fn of(wire: WireError) -> Self {
        let WireError { code, label, http_status } = wire;
        Self { kind: label, code, http_status }
    }
}
