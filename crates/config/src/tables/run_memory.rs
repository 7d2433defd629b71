//! The default of `limits.memory`, which depends on the machine.

use crate::reader::Reader;
use crate::settings::WorkersConfig;
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::units::ByteCount;

/// The largest default. CPython on WebAssembly has sizes of 32 bits, so no object is larger anyway.
const LARGEST: ByteCount = ByteCount::mebibytes(2 << 10);

/// Defaults are multiples of this, so that they read well.
const STEP: u64 = 64 << 20;

/// The memory of a run unless `limits.memory` is set.
///
/// Half of the machine's memory holds two runs for each worker at this limit, and a quarter holds
/// one, with their workspaces. It is never less than [`RunLimits::DEFAULT`] unless another setting
/// demands it.
pub(crate) fn usual_memory(
    reader: &Reader,
    workers: &WorkersConfig,
    machine: Option<ByteCount>,
) -> ByteCount {
    let least = RunLimits::DEFAULT.memory;
    let set = |key| reader.preview::<ByteCount>(key);
    let workspace = set("limits.workspace").unwrap_or(RunLimits::DEFAULT.workspace).as_u64();
    let workers_count = u64::try_from(workers.count).unwrap_or(u64::MAX);
    let machine = machine.map_or(0, ByteCount::as_u64);
    let part = (machine / 4) / workers_count.max(1);
    let fits = part.saturating_sub(workspace) / STEP * STEP;
    let usual = ByteCount::bytes(fits).clamp(least, LARGEST);
    // A smaller number that somebody wrote down decides, as if the default were what it always was.
    let max = set("limits.max.memory").unwrap_or(usual).max(least);
    let of_all = workers
        .memory
        .map_or(usual, |all| ByteCount::bytes(all.as_u64().saturating_sub(workspace)).max(least));
    usual.min(max).min(of_all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Flags, Surroundings};

    fn config(gibibytes: Option<u64>, settings: &[(&str, &str)]) -> Config {
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            memory: gibibytes.map(|number| ByteCount::mebibytes(number << 10)),
            ..Surroundings::default()
        };
        let settings = settings.iter().map(|(key, text)| ((*key).into(), (*text).into()));
        Config::load(&surroundings, Flags { file: None, settings: settings.collect() }).unwrap()
    }

    fn memory(gibibytes: Option<u64>, settings: &[(&str, &str)]) -> u64 {
        let config = config(gibibytes, settings);
        assert!(config.limits.max.memory >= config.limits.default.memory);
        config.limits.default.memory.as_u64() >> 20
    }

    #[test]
    fn the_default_is_what_the_machine_can_bear() {
        let two = ("workers.count", "2");
        let eight = ("workers.count", "8");
        assert_eq!(memory(None, &[two]), 512, "nothing is known of the machine");
        assert_eq!(memory(Some(1), &[two]), 512, "never less");
        assert_eq!(memory(Some(8), &[two]), 768);
        assert_eq!(memory(Some(12), &[two]), 1_280);
        assert_eq!(memory(Some(24), &[two]), 2_048, "never more");
        assert_eq!(memory(Some(16), &[eight]), 512);
        assert_eq!(memory(Some(64), &[eight]), 1_792);
    }

    #[test]
    fn a_quarter_of_the_machine_holds_a_run_of_each_worker() {
        for gibibytes in 1..200 {
            for count in ["1", "2", "3", "7", "64"] {
                let config = config(Some(gibibytes), &[("workers.count", count)]);
                let default = config.limits.default;
                let each = default.memory.as_u64() + default.workspace.as_u64();
                let all = each * u64::try_from(config.workers.count).unwrap();
                let is_least = default.memory == RunLimits::DEFAULT.memory;
                assert!(is_least || all <= (gibibytes << 30) / 4, "{gibibytes} GiB, {count}");
            }
        }
    }

    #[test]
    fn other_settings_lower_the_default() {
        let two = ("workers.count", "2");
        assert_eq!(memory(Some(24), &[two, ("limits.max.memory", "1 GiB")]), 1_024);
        assert_eq!(memory(Some(24), &[two, ("workers.memory", "1 GiB")]), 768);
        assert_eq!(memory(Some(24), &[two, ("limits.workspace", "4 GiB")]), 512);
        assert_eq!(memory(Some(24), &[two, ("limits.memory", "3 GiB")]), 3_072);
    }

    #[test]
    fn reproducible_runs_have_the_same_memory_on_every_machine() {
        let repeatable = |settings| config(Some(24), settings).limits.reproducible_memory;
        assert_eq!(repeatable(&[]), ByteCount::mebibytes(512));
        assert_eq!(repeatable(&[("limits.memory", "1 GiB")]), ByteCount::mebibytes(1_024));
        assert_eq!(
            repeatable(&[("limits.max.memory", "256 MiB"), ("limits.memory", "256 MiB")]),
            ByteCount::mebibytes(256)
        );
    }
}
