//! From the way a guest stopped to the failure that its caller sees.

use serde::Deserialize;
use wasmtime::Trap;

use crate::job::limits::RunLimits;
use crate::job::outcome::{MAX_MESSAGE, MAX_TRACEBACK, RunFailure, is_class_name};
use crate::sandbox::deadline::Stopped;
use crate::sandbox::preview1::Exited;

/// Stands at the end of a text that was cut.
const MARK: &str = " [cut]";

/// What the guest's runner sends when Python code raised. Text of a possibly hostile guest.
#[derive(Debug, Deserialize)]
pub struct Raised {
    #[serde(rename = "type")]
    class: String,
    message: String,
    traceback: Option<String>,
}

impl Raised {
    /// The failure, every text bounded and the class made to look like a name.
    #[must_use]
    pub fn into_failure(self, limits: &RunLimits, refused_memory: bool) -> RunFailure {
        if self.class == "MemoryError" && refused_memory {
            let traceback = self.traceback.map(|text| cut(text, MAX_TRACEBACK));
            return RunFailure::MemoryLimit { limit: limits.memory, traceback };
        }
        RunFailure::Exception {
            class: if is_class_name(&self.class) { self.class } else { "Exception".to_owned() },
            message: cut(self.message, MAX_MESSAGE),
            traceback: self.traceback.map(|text| cut(text, MAX_TRACEBACK)),
        }
    }
}

/// What stopped a call into the guest, if it did not return by itself.
pub(super) fn failure_of(
    error: &wasmtime::Error,
    limits: &RunLimits,
    refused_memory: bool,
) -> RunFailure {
    if let Some(Exited { code }) = error.downcast_ref::<Exited>() {
        return RunFailure::Exception {
            class: "SystemExit".to_owned(),
            message: format!("the program ended its process with exit code {code}"),
            traceback: None,
        };
    }
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return match stopped {
            Stopped::Deadline => RunFailure::Timeout { limit: limits.wall_time },
            Stopped::Cancelled => RunFailure::Cancelled,
        };
    }
    let trap = error.downcast_ref::<Trap>();
    match (trap, limits.fuel) {
        (Some(Trap::OutOfFuel), Some(limit)) => RunFailure::FuelExhausted { limit },
        // C code that runs out of its own stack writes below address zero.
        (Some(Trap::StackOverflow | Trap::MemoryOutOfBounds), _) => RunFailure::StackOverflow,
        _ if refused_memory => RunFailure::MemoryLimit { limit: limits.memory, traceback: None },
        (Some(Trap::UnreachableCodeReached), _) => crash("the interpreter aborted"),
        (Some(_), _) => crash("the interpreter crashed"),
        (None, _) => crash("the sandbox failed"),
    }
}

/// A crash with this reason.
pub(super) fn crash(reason: &str) -> RunFailure {
    RunFailure::SandboxCrash { reason: reason.to_owned() }
}

/// A text of `limit` bytes at most: if need be the first ones, cut between characters, and a mark.
fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let most = limit.saturating_sub(MARK.len());
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str(MARK);
    }
    text
}

#[cfg(test)]
mod tests {
    use wasmtime::Error;

    use super::*;
    use crate::units::Fuel;

    const LIMITS: RunLimits = RunLimits { fuel: Some(Fuel(9)), ..RunLimits::DEFAULT };

    fn raised(class: &str) -> Raised {
        Raised { class: class.to_owned(), message: "m".repeat(20_000), traceback: None }
    }

    #[test]
    fn every_stop_has_its_type() {
        let cases = [
            (Error::new(Exited { code: 3 }), "SystemExit"),
            (Error::new(Stopped::Deadline), "Timeout"),
            (Error::new(Stopped::Cancelled), "Cancelled"),
            (Error::new(Trap::OutOfFuel), "FuelExhausted"),
            (Error::new(Trap::StackOverflow), "StackOverflow"),
            (Error::new(Trap::MemoryOutOfBounds), "StackOverflow"),
            (Error::new(Trap::UnreachableCodeReached), "SandboxCrash"),
            (Error::new(Trap::IndirectCallToNull), "SandboxCrash"),
            (Error::msg("host"), "SandboxCrash"),
        ];
        for (error, expected) in cases {
            assert_eq!(failure_of(&error, &LIMITS, false).error_type(), expected, "{error:?}");
        }
    }

    #[test]
    fn an_abort_after_a_refused_growth_is_the_memory_limit() {
        let abort = Error::new(Trap::UnreachableCodeReached);
        assert_eq!(failure_of(&abort, &LIMITS, true).error_type(), "MemoryLimit");
        assert_eq!(raised("MemoryError").into_failure(&LIMITS, true).error_type(), "MemoryLimit");
        let own = raised("MemoryError").into_failure(&LIMITS, false);
        assert_eq!(own.error_type(), "MemoryError");
    }

    #[test]
    fn hostile_texts_are_bounded() {
        for class in ["", "a b", "<script>", &"x".repeat(200)] {
            assert_eq!(raised(class).into_failure(&LIMITS, false).error_type(), "Exception");
        }
        let failure = raised("ValueError").into_failure(&LIMITS, false);
        assert_eq!(failure.to_string().len(), MAX_MESSAGE);
        assert_eq!(cut("é".repeat(10), 9), "é [cut]");
        assert_eq!(cut("é".repeat(10), 20), "é".repeat(10));
    }
}
