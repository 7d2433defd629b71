//! The reason why a run failed, as its caller sees it. The texts come from the guest through a
//! worker that may be compromised, so none of them is trusted.
//!
//! INVARIANT(types-not-forged): the error types that the host assigns, such as `Timeout`, never
//! come from a guest, whatever names its exceptions have.

use crate::run::result::output::{head, one_line};
use wardian_formats::job::outcome::{MAX_CLASS, MAX_MESSAGE, MAX_TRACEBACK, RunFailure};
use wardian_formats::protocol::methods::execution::RunError;
use wardian_stores::records::INTERRUPTED;

/// The error type for exceptions whose class has a reserved or malformed name.
const ANY_EXCEPTION: &str = "Exception";

/// Error types that only the host assigns.
const RESERVED: [&str; 7] = [
    "Timeout",
    "FuelExhausted",
    "MemoryLimit",
    "StackOverflow",
    "SandboxCrash",
    "Cancelled",
    INTERRUPTED,
];

/// The `error` member of a result.
pub(crate) fn error_of(failure: &RunFailure) -> RunError {
    let message = failure.to_string();
    let (error_type, message) = match failure {
        RunFailure::Exception { class, .. } if RESERVED.contains(&class.as_str()) => {
            (ANY_EXCEPTION, format!("{class}: {message}"))
        }
        RunFailure::Exception { class, .. } if !is_name(class) => (ANY_EXCEPTION, message),
        _ => (failure.error_type(), message),
    };
    RunError {
        error_type: error_type.to_owned(),
        message: cut(&message, MAX_MESSAGE),
        traceback: failure.traceback().map(|text| cut(text, MAX_TRACEBACK)),
    }
}

/// True for a dotted Python name, such as `ValueError` or `package.Error`.
fn is_name(class: &str) -> bool {
    let is_identifier = |part: &str| {
        part.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
            && part.chars().next().is_some_and(|first| !first.is_numeric())
    };
    class.len() <= MAX_CLASS && class.split('.').all(is_identifier)
}

fn cut(text: &str, limit: usize) -> String {
    let start = head(text, limit);
    if start.len() == text.len() { text.to_owned() } else { format!("{start} [cut]") }
}

/// Describes a failure in one line. The type is added to a message of a single word: `assert x`
/// raises with no message, and the message of a `KeyError` is only the key.
pub(crate) fn summary_of(failure: &RunFailure) -> String {
    let (class, message) = (failure.error_type(), one_line(&failure.to_string()));
    if message.is_empty() {
        class.to_owned()
    } else if class == "KeyError" || !message.contains(' ') {
        one_line(&format!("{class}: {message}"))
    } else {
        message
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use wardian_vocabulary::units::{ByteCount, Fuel};

    fn raised(class: &str, message: &str) -> RunError {
        error_of(&RunFailure::Exception {
            class: class.to_owned(),
            message: message.to_owned(),
            traceback: Some("t".repeat(100_000)),
        })
    }

    #[test]
    fn types_not_forged_by_a_guest_that_names_its_exceptions_like_stops() {
        let stops = [
            RunFailure::Timeout { limit: Duration::ZERO, traceback: None },
            RunFailure::FuelExhausted { limit: Fuel(0) },
            RunFailure::MemoryLimit { limit: ByteCount::bytes(0), traceback: None },
            RunFailure::StackOverflow,
            RunFailure::SandboxCrash { reason: String::new() },
            RunFailure::Cancelled,
        ];
        let types = stops.iter().map(RunFailure::error_type).chain([INTERRUPTED]);
        assert_eq!(types.collect::<Vec<_>>(), RESERVED);
        assert_eq!(raised(INTERRUPTED, "m").error_type, "Exception");
        for stop in stops {
            assert_eq!(error_of(&stop).error_type, stop.error_type());
            let forged = raised(stop.error_type(), "m");
            assert_eq!(forged.error_type, "Exception");
            assert_eq!(forged.message, format!("{}: m", stop.error_type()));
        }
    }

    #[test]
    fn a_class_has_a_name_or_none() {
        for class in ["ValueError", "package.Error", "_Private", "Fehlér", "HostCallLimit"] {
            assert_eq!(raised(class, "m").error_type, class);
        }
        for class in ["", ".", "a..b", "a b", "a\nb", "<x>", "1a", "a.1", &"x".repeat(129)] {
            assert_eq!(raised(class, "m").error_type, "Exception", "{class}");
        }
    }

    #[test]
    fn texts_are_bounded() {
        let error = raised("E", &"é".repeat(100_000));
        assert!(error.message.len() <= MAX_MESSAGE + 6 && error.message.ends_with("é [cut]"));
        assert_eq!(error.traceback.unwrap().len(), MAX_TRACEBACK + 6);
        let crash = RunFailure::SandboxCrash { reason: "r".repeat(100_000) };
        assert!(error_of(&crash).message.len() <= MAX_MESSAGE + 6);
    }
}
