//! Checks the outcome that a worker sends. A compromised worker can claim anything, but an outcome
//! that passes is within the run's limits.

use std::time::Duration;

use wardian_formats::job::TurnLimits;
use wardian_formats::job::outcome::{
    LeftFile, LeftFiles, LogChunk, Logs, MAX_BLOB_NAMES, MAX_CLASS, MAX_LEFT_FILES, MAX_LEFT_PATH,
    MAX_MESSAGE, MAX_NOT_KEPT, MAX_TRACEBACK, RunFailure, RunOutcome, RunUsage, Stream,
    is_class_name,
};
use wardian_formats::job::profile::{FuelProfile, ProfileOrder, ProfileText};
use wardian_formats::job::session::cell::{CellOrder, CellOutcome};
use wardian_vocabulary::units::ByteCount;

/// Bytes that an invalid byte of output can become when it is replaced.
const REPLACED: u64 = 3;

/// The reason why an outcome cannot be true. A working sandbox never sends such an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImplausibleOutcome {
    /// More log than the limit allows.
    #[error("it has more log output than its limit allows")]
    Logs,
    /// An exception whose texts are longer than any sandbox sends, or whose class is not a name.
    #[error("it has a failure that no sandbox reports")]
    Failure,
    /// A profile that was not ordered, or is too long.
    #[error("it has a profile that no sandbox produces")]
    Profile,
    /// More files, or longer texts about them, than any sandbox lists.
    #[error("its list of files is one that no sandbox produces")]
    Files,
    /// Longer texts about converted values than any sandbox sends.
    #[error("its list of converted values is one that no sandbox produces")]
    Conversions,
    /// Something of a cell for a turn that is none, or nothing for one that is, or more than any
    /// sandbox displays.
    #[error("what it says of its cell is nothing that a sandbox says")]
    Cell,
}

/// Returns the outcome of a turn if it can be true. Usage beyond the limits and beyond the guest's
/// `memory` is cut to them, and to the time since the turn was ordered, or the one before it.
///
/// # Errors
///
/// More log, or longer texts, than a sandbox can have sent.
pub fn check_outcome(
    mut outcome: RunOutcome,
    memory: ByteCount,
    limits: &TurnLimits,
    (elapsed, since_last): (Duration, Option<Duration>),
) -> Result<RunOutcome, ImplausibleOutcome> {
    if !can_be_logged(&outcome.logs, limits) {
        return Err(ImplausibleOutcome::Logs);
    }
    if outcome.end.as_ref().err().is_some_and(|failure| !can_be_reported(failure)) {
        return Err(ImplausibleOutcome::Failure);
    }
    if !can_be_listed(&outcome.files) || outcome.blob_names.len() > MAX_BLOB_NAMES {
        return Err(ImplausibleOutcome::Files);
    }
    if !outcome.conversions.is_bounded() {
        return Err(ImplausibleOutcome::Conversions);
    }
    let has_failed = outcome.end.is_err();
    let is_sound =
        |cell: &CellOutcome| cell.is_bounded() && (cell.requests.is_empty() || !has_failed);
    if !outcome.cell.as_deref().is_none_or(is_sound) {
        return Err(ImplausibleOutcome::Cell);
    }
    let usage = outcome.usage;
    outcome.usage = RunUsage {
        wall_time: usage.wall_time.min(elapsed),
        // A run has one thread.
        cpu_time: usage.cpu_time.map(|time| time.min(elapsed)),
        fuel: usage.fuel,
        memory_peak: usage.memory_peak.min(memory),
        host_calls: usage.host_calls.min(limits.host_calls),
        last_reset: usage.last_reset.zip(since_last).map(|(time, since)| time.min(since)),
        resumed: usage.resumed.map(|time| time.min(elapsed)),
    };
    Ok(outcome)
}

/// Checks that an outcome has a profile only if one was ordered, and no longer one than a sandbox
/// sends. Nothing looks into it here.
///
/// # Errors
///
/// It has another one.
pub(crate) fn check_profile(
    profile: Option<&ProfileText>,
    order: Option<ProfileOrder>,
) -> Result<(), ImplausibleOutcome> {
    let is_bounded = |text: &ProfileText| text.as_str().len() <= FuelProfile::MAX_TEXT;
    match profile {
        Some(text) if order.is_none() || !is_bounded(text) => Err(ImplausibleOutcome::Profile),
        _ => Ok(()),
    }
}

/// Checks that an outcome is one of a cell if and only if the turn was, and that nothing was reseeded
/// without an order. That blobs exist which it displays is not checked here.
///
/// # Errors
///
/// It is another one.
pub(crate) fn check_cell(
    cell: Option<&CellOutcome>,
    order: Option<&CellOrder>,
) -> Result<(), ImplausibleOutcome> {
    match (cell, order) {
        (None, None) => Ok(()),
        (Some(cell), Some(order)) if order.reseed || !cell.reseeded => Ok(()),
        _ => Err(ImplausibleOutcome::Cell),
    }
}

fn can_be_logged(logs: &Logs, limits: &TurnLimits) -> bool {
    let bytes: u64 = logs
        .chunks
        .iter()
        .fold(0, |sum, chunk| sum.saturating_add(ByteCount::from(chunk.text.len()).as_u64()));
    // An empty chunk comes from a host call, so the limit on calls bounds their number.
    let chunks = ByteCount::from(logs.chunks.len()).as_u64();
    let most_chunks = limits.logs.as_u64().saturating_add(limits.host_calls.into());
    bytes <= limits.logs.as_u64().saturating_mul(REPLACED)
        && chunks <= most_chunks
        && are_ends(&logs.ends)
}

/// True for the ends of at most the standard output and the error stream.
fn are_ends(ends: &[LogChunk]) -> bool {
    let is_bounded = |end: &LogChunk| end.text.len() <= Logs::MAX_END;
    let streams: Vec<Stream> = ends.iter().map(|end| end.stream).take(3).collect();
    let may_be = [&[][..], &[Stream::Stdout], &[Stream::Stderr], &[Stream::Stdout, Stream::Stderr]];
    may_be.contains(&streams.as_slice()) && ends.iter().all(is_bounded)
}

fn can_be_reported(failure: &RunFailure) -> bool {
    match failure {
        RunFailure::Exception { class, message, traceback } => {
            is_class_name(class)
                && message.len() <= MAX_MESSAGE
                && traceback.as_ref().is_none_or(|text| text.len() <= MAX_TRACEBACK)
        }
        RunFailure::MemoryLimit { traceback, .. } | RunFailure::Timeout { traceback, .. } => {
            traceback.as_ref().is_none_or(|text| text.len() <= MAX_TRACEBACK)
        }
        RunFailure::SandboxCrash { reason } => reason.len() <= MAX_MESSAGE,
        _ => true,
    }
}

fn can_be_listed(files: &LeftFiles) -> bool {
    let is_bounded = |file: &LeftFile| {
        file.path.len() <= MAX_LEFT_PATH
            && file.problem.as_ref().is_none_or(|text| text.len() <= MAX_NOT_KEPT)
            && file.kept.as_ref().is_none_or(|kept| kept.kind.len() <= MAX_CLASS)
    };
    files.listed.len() <= MAX_LEFT_FILES && files.listed.iter().all(is_bounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_formats::job::SetupLimits;
    use wardian_formats::job::outcome::Conversions;
    use wardian_formats::job::session::cell::{
        DisplayBundle, DisplayContent, DisplayPart, MAX_BUNDLES, MAX_INLINE, MAX_INLINE_TOTAL,
        MAX_PARTS,
    };

    const LIMITS: TurnLimits = TurnLimits::DEFAULT;
    const MEMORY: ByteCount = SetupLimits::DEFAULT.memory;

    fn failed(failure: RunFailure) -> Result<RunOutcome, ImplausibleOutcome> {
        let outcome = RunOutcome {
            end: Err(failure),
            logs: Logs::default(),
            files: LeftFiles::default(),
            blob_names: Vec::new(),
            usage: RunUsage::default(),
            conversions: Conversions::default(),
            profile: None,
            cell: None,
        };
        check_outcome(outcome, MEMORY, &LIMITS, (Duration::ZERO, None))
    }

    fn exception(class: &str, message: usize, traceback: usize) -> RunFailure {
        RunFailure::Exception {
            class: class.to_owned(),
            message: "m".repeat(message),
            traceback: Some("t".repeat(traceback)),
        }
    }

    #[test]
    fn ends_of_logs_are_those_of_a_sandbox() {
        let checks = |ends: &[(Stream, usize)]| {
            let end = |(stream, length): &(Stream, usize)| LogChunk {
                stream: *stream,
                text: "x".repeat(*length),
            };
            let ends = ends.iter().map(end).collect();
            can_be_logged(&Logs { ends, ..Logs::default() }, &LIMITS)
        };
        let (out, error) = ((Stream::Stdout, Logs::MAX_END), (Stream::Stderr, Logs::MAX_END));
        for sound in [&[][..], &[out], &[error], &[out, error]] {
            assert!(checks(sound), "{sound:?}");
        }
        let (long, other) = ((Stream::Stdout, Logs::MAX_END + 1), (Stream::Log, 1));
        for forged in [&[long][..], &[other], &[out, out], &[error, out], &[out, error, error]] {
            assert!(!checks(forged), "{forged:?}");
        }
    }

    #[test]
    fn usage_beyond_the_time_of_the_gateway_is_cut() {
        let (claimed, elapsed) = (Duration::from_hours(9), Duration::from_secs(2));
        let usage = RunUsage {
            wall_time: claimed,
            cpu_time: Some(claimed),
            last_reset: Some(claimed),
            resumed: Some(claimed),
            ..RunUsage::default()
        };
        let (logs, files) = (Logs::default(), LeftFiles::default());
        let outcome = RunOutcome {
            end: Ok(()),
            logs,
            files,
            blob_names: Vec::new(),
            conversions: Conversions::default(),
            usage,
            profile: None,
            cell: None,
        };
        for since_last in [None, Some(elapsed * 3)] {
            let outcome = outcome.clone();
            let checked =
                check_outcome(outcome, MEMORY, &LIMITS, (elapsed, since_last)).unwrap().usage;
            assert_eq!((checked.wall_time, checked.cpu_time), (elapsed, Some(elapsed)));
            assert_eq!(checked.last_reset, since_last);
        }
    }

    #[test]
    fn outcomes_of_a_sandbox_pass() {
        let text = |length: usize| Some("t".repeat(length));
        let long =
            RunFailure::Timeout { limit: Duration::ZERO, traceback: text(MAX_TRACEBACK + 1) };
        assert!(failed(long).is_err());
        for failure in [
            exception("ValueError", MAX_MESSAGE, MAX_TRACEBACK),
            exception("pandas.errors.ParserError", 0, 0),
            RunFailure::SandboxCrash { reason: "the interpreter crashed".to_owned() },
            RunFailure::Cancelled,
            RunFailure::Timeout { limit: Duration::ZERO, traceback: text(MAX_TRACEBACK) },
        ] {
            assert!(failed(failure.clone()).is_ok(), "{failure:?}");
        }
    }

    #[test]
    fn lists_of_files_that_no_sandbox_makes_are_refused() {
        let file = |path: usize, problem: usize| LeftFile {
            path: "p".repeat(path),
            size: ByteCount::bytes(1),
            kept: None,
            problem: Some("x".repeat(problem)),
        };
        let passes = |listed: Vec<LeftFile>| {
            let outcome = RunOutcome {
                end: Ok(()),
                logs: Logs::default(),
                files: LeftFiles { listed, total: 1 },
                blob_names: Vec::new(),
                usage: RunUsage::default(),
                conversions: Conversions::default(),
                profile: None,
                cell: None,
            };
            check_outcome(outcome, MEMORY, &LIMITS, (Duration::ZERO, None)).is_ok()
        };
        let longest = file(MAX_LEFT_PATH, MAX_NOT_KEPT);
        assert!(passes(vec![longest.clone(); MAX_LEFT_FILES]));
        assert!(!passes(vec![longest; MAX_LEFT_FILES + 1]));
        assert!(!passes(vec![file(MAX_LEFT_PATH + 1, 0)]));
        assert!(!passes(vec![file(1, MAX_NOT_KEPT + 1)]));
    }

    #[test]
    fn a_profile_that_was_not_ordered_or_is_too_long_is_refused() {
        let text = |length: usize| -> ProfileText {
            serde_json::from_str(&format!("\"{}\"", "a".repeat(length - 2))).unwrap()
        };
        let order = Some(ProfileOrder { interval: ProfileOrder::DEFAULT_INTERVAL });
        let longest = text(FuelProfile::MAX_TEXT);
        assert_eq!(check_profile(Some(&longest), order), Ok(()));
        assert_eq!(check_profile(None, order), Ok(()));
        assert_eq!(check_profile(None, None), Ok(()));
        let too_long = text(FuelProfile::MAX_TEXT + 1);
        for (profile, order) in [(&too_long, order), (&longest, None)] {
            let refused = check_profile(Some(profile), order);
            assert_eq!(refused, Err(ImplausibleOutcome::Profile));
        }
    }

    #[test]
    fn displays_beyond_their_bounds_are_refused() {
        let text = |length: usize| DisplayPart {
            kind: "text/plain".to_owned(),
            content: DisplayContent::Text("x".repeat(length)),
        };
        let passes = |display: Vec<DisplayBundle>| {
            let cell = Some(Box::new(CellOutcome { display, ..CellOutcome::default() }));
            let outcome = RunOutcome {
                end: Ok(()),
                logs: Logs::default(),
                files: LeftFiles::default(),
                blob_names: Vec::new(),
                usage: RunUsage::default(),
                conversions: Conversions::default(),
                profile: None,
                cell,
            };
            check_outcome(outcome, MEMORY, &LIMITS, (Duration::ZERO, None)).is_ok()
        };
        let bundle = |length: usize| DisplayBundle { parts: vec![text(length)] };
        assert!(passes(vec![bundle(1); MAX_BUNDLES]));
        assert!(passes(vec![bundle(MAX_INLINE)]));
        assert!(!passes(vec![bundle(1); MAX_BUNDLES + 1]));
        assert!(!passes(vec![bundle(MAX_INLINE + 1)]));
        assert!(!passes(vec![bundle(MAX_INLINE); MAX_INLINE_TOTAL / MAX_INLINE + 1]));
        assert!(!passes(vec![DisplayBundle { parts: vec![text(1); MAX_PARTS + 1] }]));
    }

    #[test]
    fn an_outcome_is_one_of_a_cell_if_the_turn_was() {
        let order = |reseed| Some(CellOrder::new(1, reseed));
        let outcome = |reseeded| Some(CellOutcome { reseeded, ..CellOutcome::default() });
        for (cell, order, passes) in [
            (None, None, true),
            (outcome(false), order(false), true),
            (outcome(false), order(true), true),
            (outcome(true), order(true), true),
            (outcome(true), order(false), false),
            (outcome(false), None, false),
            (None, order(false), false),
        ] {
            assert_eq!(
                check_cell(cell.as_ref(), order.as_ref()).is_ok(),
                passes,
                "{cell:?} {order:?}"
            );
        }
    }

    #[test]
    fn texts_that_no_sandbox_sends_are_refused() {
        for failure in [
            exception("", 0, 0),
            exception("<script>", 0, 0),
            exception(&"x".repeat(200), 0, 0),
            exception("ValueError", MAX_MESSAGE + 1, 0),
            exception("ValueError", 0, MAX_TRACEBACK + 1),
            RunFailure::SandboxCrash { reason: "r".repeat(MAX_MESSAGE + 1) },
        ] {
            assert_eq!(failed(failure).unwrap_err(), ImplausibleOutcome::Failure);
        }
    }
}
