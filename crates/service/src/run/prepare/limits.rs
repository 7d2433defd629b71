//! Resolves the limits of a run from the limits that a call asks for.

use std::time::Duration;

use wardian_formats::job::KeepBounds;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::protocol::methods::execution::{ReproducibleParam, RequestedLimits};
use wardian_formats::protocol::methods::limit_bounds::{Bounds, LimitBounds};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_vocabulary::units::{ByteCount, Fuel};

/// The limits that an operator sets.
#[derive(Debug, Clone, Copy)]
pub struct LimitPolicy {
    /// The limits of a run whose call sets none.
    pub default: RunLimits,
    /// The highest limits that a call can set.
    pub cap: RunLimits,
    /// The memory of a reproducible run whose call sets none.
    pub reproducible_memory: ByteCount,
    /// The smallest memory limit: the size of the base image.
    pub least_memory: ByteCount,
    /// The bounds on files that are kept without being asked for.
    pub keep_files: KeepBounds,
}

/// The smallest fuel limit: the interpreter needs this much before the program's first line.
pub(crate) const LEAST_FUEL: u64 = 1_000_000;

/// Fuel for centuries.
pub(crate) const UNLIMITED: Fuel = Fuel(1 << 62);

/// The fuel of a program of the self-test: more than its time can use up.
const SELF_TEST_FUEL: Fuel = Fuel(1_000_000_000_000);

/// The smallest workspace limit, in bytes: room for one small file.
const LEAST_WORKSPACE: u64 = 4_096;

impl LimitPolicy {
    /// The policy for a caller whose runs may use at most `limits`.
    #[must_use]
    pub(crate) fn for_caller(&self, limits: Option<RunLimits>) -> Self {
        Self { cap: limits.map_or(self.cap, |limits| self.cap.tightened_by(limits)), ..*self }
    }

    /// The policy for the runs of a call that asks for `reproducible` ones, or does not.
    #[must_use]
    pub(crate) fn for_reproducible(&self, reproducible: Option<ReproducibleParam>) -> Self {
        let is_asked = reproducible.is_some_and(|asked| asked != ReproducibleParam::Flag(false));
        let memory = if is_asked { self.reproducible_memory } else { self.default.memory };
        Self { default: RunLimits { memory, ..self.default }, ..*self }
    }

    /// Returns the limits of a run whose call sets `requested`.
    ///
    /// # Errors
    ///
    /// A limit that exceeds the operator's, or that is too small for any run.
    pub fn resolve(&self, requested: &RequestedLimits) -> Result<RunLimits, ParamsError> {
        let RequestedLimits { fuel, memory_bytes, workspace_bytes, host_calls, .. } = *requested;
        let mut limits = self.default.tightened_by(self.cap);
        let bounds = self.bounds();
        let timeout = requested.timeout_place.parameter();
        if let Some(asked) = within(timeout, requested.timeout_ms, bounds.timeout)? {
            limits.wall_time = Duration::from_millis(asked);
        }
        if let Some(asked) = within("limits.fuel", fuel, bounds.fuel)? {
            limits.fuel = Some(Fuel(asked));
        }
        if let Some(asked) = within("limits.memory_bytes", memory_bytes, bounds.memory)? {
            limits.memory = ByteCount::bytes(asked);
        }
        if let Some(asked) = within("limits.workspace_bytes", workspace_bytes, bounds.workspace)? {
            limits.workspace = ByteCount::bytes(asked);
        }
        if let Some(asked) = within("limits.host_calls", host_calls, bounds.host_calls)? {
            limits.host_calls = u32::try_from(asked).unwrap_or(u32::MAX);
        }
        Ok(limits)
    }

    /// The limits of a program of the self-test, which proves the sandbox and not the operator's
    /// limits: those that a program uses up in little time are at least the defaults.
    pub(crate) fn of_self_test(&self, requested: &RequestedLimits) -> RunLimits {
        let (own, usual) = (self.default.tightened_by(self.cap), RunLimits::DEFAULT);
        let asked = requested.timeout_ms.map(Duration::from_millis);
        RunLimits {
            wall_time: asked.unwrap_or(own.wall_time.max(usual.wall_time)),
            fuel: own.fuel.map(|fuel| fuel.max(SELF_TEST_FUEL)),
            open_files: own.open_files.max(usual.open_files),
            workspace_entries: own.workspace_entries.max(usual.workspace_entries),
            logs: own.logs.max(usual.logs),
            host_calls: own.host_calls.max(usual.host_calls),
            host_bytes: own.host_bytes.max(usual.host_bytes),
            ..own
        }
    }

    /// The limits that a call may set. The published schemas show the same bounds.
    pub fn bounds(&self) -> LimitBounds {
        let cap = &self.cap;
        let longest = u64::try_from(cap.wall_time.as_millis()).unwrap_or(u64::MAX);
        LimitBounds {
            timeout: Bounds::between(1, longest),
            fuel: Bounds { least: LEAST_FUEL, most: cap.fuel.map(|Fuel(most)| most) },
            memory: Bounds::between(self.least_memory.as_u64(), cap.memory.as_u64()),
            workspace: Bounds::between(LEAST_WORKSPACE, cap.workspace.as_u64()),
            host_calls: Bounds::between(1, cap.host_calls.into()),
        }
    }
}

fn within(parameter: &str, asked: Option<u64>, bounds: Bounds) -> Result<Option<u64>, ParamsError> {
    match asked {
        Some(value) if !bounds.allow(value) => {
            Err(ParamsError::wrong(parameter, bounds.expectation(), value.to_string()))
        }
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: LimitPolicy = LimitPolicy {
        default: RunLimits::DEFAULT,
        cap: RunLimits::DEFAULT_CAP,
        reproducible_memory: RunLimits::DEFAULT.memory,
        least_memory: ByteCount::mebibytes(128),
        keep_files: KeepBounds::DEFAULT,
    };

    fn asked(change: impl FnOnce(&mut RequestedLimits)) -> Result<RunLimits, String> {
        let mut requested = RequestedLimits::default();
        change(&mut requested);
        POLICY.resolve(&requested).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_that_asks_for_nothing_gets_the_defaults() {
        assert_eq!(asked(|_| ()), Ok(RunLimits::DEFAULT));
    }

    #[test]
    fn reproducible_runs_do_not_get_what_the_machine_can_bear() {
        let large = RunLimits { memory: ByteCount::mebibytes(2_048), ..RunLimits::DEFAULT };
        let policy = LimitPolicy { default: large, cap: large, ..POLICY };
        let memory = |asked| {
            let resolved = policy.for_reproducible(asked).resolve(&RequestedLimits::default());
            resolved.unwrap().memory
        };
        assert_eq!(memory(None), large.memory);
        assert_eq!(memory(Some(ReproducibleParam::Flag(false))), large.memory);
        let inputs = ReproducibleParam::Inputs { seed: 1, epoch: 2, cache: false };
        for asked in [ReproducibleParam::Flag(true), inputs] {
            assert_eq!(memory(Some(asked)), RunLimits::DEFAULT.memory);
        }
    }

    #[test]
    fn a_request_can_ask_for_more_than_the_default_up_to_the_cap() {
        let limits = asked(|limits| limits.timeout_ms = Some(300_000)).unwrap();
        assert_eq!(limits.wall_time, Duration::from_secs(300));
    }

    #[test]
    fn a_caller_can_have_lower_limits_and_no_higher_ones() {
        let second = Duration::from_secs(1);
        let low = RunLimits { wall_time: second, ..RunLimits::DEFAULT };
        let low = POLICY.for_caller(Some(low));
        assert_eq!(low.resolve(&RequestedLimits::default()).unwrap().wall_time, second);
        let asks = RequestedLimits { timeout_ms: Some(1_001), ..RequestedLimits::default() };
        assert!(low.resolve(&asks).is_err());
        let high = RunLimits { wall_time: Duration::MAX, ..RunLimits::DEFAULT };
        assert_eq!(POLICY.for_caller(Some(high)).cap.wall_time, POLICY.cap.wall_time);
        assert_eq!(POLICY.for_caller(None).cap, POLICY.cap);
    }

    #[test]
    fn bounds_are_what_is_taken() {
        type Set = fn(&mut RequestedLimits, u64);
        let bounds = POLICY.bounds();
        let limits: [(Bounds, Set); 5] = [
            (bounds.timeout, |limits, value| limits.timeout_ms = Some(value)),
            (bounds.fuel, |limits, value| limits.fuel = Some(value)),
            (bounds.memory, |limits, value| limits.memory_bytes = Some(value)),
            (bounds.workspace, |limits, value| limits.workspace_bytes = Some(value)),
            (bounds.host_calls, |limits, value| limits.host_calls = Some(value)),
        ];
        for (Bounds { least, most }, set) in limits {
            let is_taken = |value| asked(|limits| set(limits, value)).is_ok();
            assert!(is_taken(least) && !is_taken(least - 1), "{least}");
            let Some(most) = most else { continue };
            assert!(is_taken(most) && !is_taken(most + 1), "{most}");
        }
    }

    #[test]
    fn a_limit_above_the_cap_or_too_small_to_start_is_refused() {
        assert_eq!(
            asked(|limits| limits.timeout_ms = Some(300_001)).unwrap_err(),
            "parameter `limits.timeout_ms` must be an integer between 1 and 300000, got 300001"
        );
        assert!(asked(|limits| limits.fuel = Some(1)).is_err());
        assert!(asked(|limits| limits.memory_bytes = Some(1 << 20)).is_err());
        assert!(asked(|limits| limits.memory_bytes = Some(u64::MAX)).is_err());
        assert!(asked(|limits| limits.workspace_bytes = Some(10)).is_err());
        assert!(asked(|limits| limits.host_calls = Some(10_001)).is_err());
    }
}
