//! What `wardian doctor` finds out about one subject.

use std::fmt;

use serde::Serialize;

/// The grades of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// All is well.
    Good,
    /// It works, but not as well as it could.
    Degraded,
    /// It does not work.
    Bad,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Good => "good",
            Self::Degraded => "degraded",
            Self::Bad => "bad",
        })
    }
}

/// What was found out about one subject.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Diagnosis {
    pub(super) what: &'static str,
    pub(super) state: State,
    pub(super) says: String,
    /// The advice, unless all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<String>,
}

impl Diagnosis {
    pub(super) fn good(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, state: State::Good, says: says.into(), advice: None }
    }

    pub(super) fn degraded(what: &'static str, says: impl Into<String>, advice: &str) -> Self {
        let advice = Some(advice.to_owned());
        Self { what, state: State::Degraded, says: says.into(), advice }
    }

    pub(super) fn bad(what: &'static str, says: impl Into<String>, advice: &str) -> Self {
        Self { what, state: State::Bad, says: says.into(), advice: Some(advice.to_owned()) }
    }
}
