//! The order that the sandbox gets for a run, and the check of its limits.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use crate::error::EmbeddedError;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::{KeepFiles, Program, Setup, Turn};
use wardian_vocabulary::ids::{Digest, RunId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The times that a run may have, as in a server.
const TIMES: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_hours(24);

/// All that a memory of WebAssembly can have.
const MAX_MEMORY: ByteCount = ByteCount::mebibytes(4 << 10);

/// Most bytes of output that are kept, as in a server.
const MAX_LOGS: ByteCount = ByteCount::mebibytes(16);

/// Fewest open files: the interpreter has some of its own.
const LEAST_OPEN_FILES: u32 = 8;

/// The file name that tracebacks show.
const FILE_NAME: &str = "main.py";

/// Checks limits for runs that begin with `least_memory`.
pub(crate) fn check_limits(
    limits: &RunLimits,
    least_memory: ByteCount,
    is_metered: bool,
) -> Result<(), EmbeddedError> {
    let wrong = |limit, range| Err(EmbeddedError::Limit { limit, range });
    if !TIMES.contains(&limits.wall_time) {
        return wrong("wall_time", "from 1 ms to 24 hours".to_owned());
    }
    if !(least_memory..=MAX_MEMORY).contains(&limits.memory) {
        return wrong("memory", format!("from {least_memory}, the image's own, to {MAX_MEMORY}"));
    }
    if limits.logs > MAX_LOGS {
        return wrong("logs", format!("at most {MAX_LOGS}"));
    }
    if limits.open_files < LEAST_OPEN_FILES {
        return wrong("open_files", format!("at least {LEAST_OPEN_FILES}"));
    }
    if limits.fuel.is_some() && !is_metered {
        return Err(EmbeddedError::NotMetered);
    }
    Ok(())
}

/// What each guest is made with that begins as `image`: nothing but its limits.
pub(crate) fn setup(image: Digest, limits: &RunLimits) -> Setup {
    let (limits, turn) = limits.split();
    Setup {
        tenant: TenantId::local(),
        image,
        skills: Vec::new(),
        layers: Vec::new(),
        blobs: Vec::new(),
        hides_modules: false,
        environment: BTreeMap::new(),
        reproducible: None,
        counts_fuel: turn.fuel.is_some(),
        limits,
    }
}

/// The order to run `code` with `args`.
pub(crate) fn turn(code: &str, args: &Value, limits: &RunLimits) -> Result<Turn, EmbeddedError> {
    let args = args.as_object().ok_or(EmbeddedError::Arguments)?;
    let args = serde_json::value::to_raw_value(args);
    let (_, limits) = limits.split();
    Ok(Turn {
        id: RunId::generate(),
        program: Program::Code { source: code.to_owned(), file_name: FILE_NAME.to_owned() },
        entrypoint: None,
        args: args.ok().ok_or(EmbeddedError::Arguments)?,
        keep_files: KeepFiles::All,
        strict_output: false,
        stream_logs: false,
        profile: None,
        cell: None,
        files: None,
        limits,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use wardian_vocabulary::units::Fuel;

    fn check(change: impl FnOnce(&mut RunLimits), is_metered: bool) -> Result<(), String> {
        let mut limits = RunLimits::DEFAULT;
        change(&mut limits);
        let checked = check_limits(&limits, ByteCount::mebibytes(100), is_metered);
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn limits_that_no_run_can_have_are_refused_with_those_that_it_can() {
        assert_eq!(check(|_| (), false), Ok(()));
        assert_eq!(check(|limits| limits.fuel = Some(Fuel(1)), true), Ok(()));
        let metering = check(|limits| limits.fuel = Some(Fuel(1)), false).unwrap_err();
        assert!(metering.contains("`Engine::with_metering`"), "{metering}");
        for time in [Duration::ZERO, Duration::from_hours(25), Duration::MAX] {
            let wrong = check(|limits| limits.wall_time = time, false).unwrap_err();
            assert_eq!(wrong, "the limit `wall_time` must be from 1 ms to 24 hours");
        }
        for memory in [0, 99, 4097] {
            let memory = ByteCount::mebibytes(memory);
            let wrong = check(|limits| limits.memory = memory, false).unwrap_err();
            assert!(wrong.ends_with("from 100 MiB, the image's own, to 4 GiB"), "{wrong}");
        }
        assert!(check(|limits| limits.logs = ByteCount::bytes(u64::MAX), false).is_err());
        assert!(check(|limits| limits.open_files = 7, false).is_err());
    }

    #[test]
    fn arguments_are_an_object() {
        for args in [json!(null), json!([]), json!("x"), json!(7)] {
            let refused = turn("", &args, &RunLimits::DEFAULT).unwrap_err();
            assert!(matches!(refused, EmbeddedError::Arguments), "{args}");
        }
        let turn = turn("", &json!({"a": [1]}), &RunLimits::DEFAULT).unwrap();
        assert_eq!(turn.args.get(), r#"{"a":[1]}"#);
    }
}
