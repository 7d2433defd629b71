//! The table `workers`: the processes that run guests.

use std::thread;
use std::time::Duration;

use crate::reader::Reader;
use crate::settings::{CgroupUse, LimitsConfig, RequireLockdown, WorkersConfig};
use wardian_dispatch::memory_of;
use wardian_vocabulary::units::ByteCount;

/// Uid and gid of `nobody` nearly everywhere.
const NOBODY: u32 = 65_534;

/// Runs at once for each core, with those that wait.
const RUNS_FOR_A_CORE: usize = 4;

/// Reads the settings of the processes that run guests.
pub(crate) fn read_workers(reader: &mut Reader) -> WorkersConfig {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let count = reader.read_within("workers.count", cores, 1..=1_024);
    let max = reader.read_optional_within("workers.max", 1..=1_024);
    if let Some(max) = max.filter(|max| *max < count) {
        reader.complain(format!(
            "`workers.max` ({max}) must not be less than `workers.count` ({count})"
        ));
    }
    WorkersConfig {
        count,
        max: max.unwrap_or(count),
        spares: reader.read_within("workers.spares", 1, 0..=1_024),
        fork: reader.read_optional("workers.fork"),
        queue: reader.read_within("workers.queue", 256, 0..=1_000_000),
        memory: reader.read_optional("workers.memory"),
        queue_wait: reader.read_within(
            "workers.queue_wait",
            Duration::from_secs(30),
            Duration::from_millis(1)..=Duration::from_hours(1),
        ),
        detached_wait: reader.read_within(
            "workers.detached_wait",
            Duration::from_hours(1),
            Duration::from_secs(1)..=Duration::from_hours(7 * 24),
        ),
        uid: reader.read_within("workers.uid", NOBODY, 1..=u32::MAX - 1),
        gid: reader.read_within("workers.gid", NOBODY, 1..=u32::MAX - 1),
        require_lockdown: reader.read("workers.require_lockdown", RequireLockdown::Auto),
        cgroups: reader.read("workers.cgroups", CgroupUse::Auto),
        paranoid: reader.read("workers.paranoid", false),
        machine_memory: None,
    }
}

/// The runs at once, with those that wait, on a machine with this memory.
pub(crate) fn most_runs(
    reader: &Reader,
    workers: &WorkersConfig,
    limits: &LimitsConfig,
    memory: Option<ByteCount>,
) -> usize {
    if reader.is_set("workers.count") || reader.is_set("workers.max") {
        return workers.max;
    }
    let half = memory.map_or(0, |memory| memory.as_u64() / 2);
    let fits = half / memory_of(&limits.max).as_u64().max(1);
    let fits = usize::try_from(fits).unwrap_or(usize::MAX);
    workers.count.saturating_mul(RUNS_FOR_A_CORE).min(fits).clamp(workers.count, 1_024)
}

#[cfg(test)]
mod tests {
    use crate::settings::Config;
    use crate::{Flags, Surroundings};
    use wardian_vocabulary::units::ByteCount;

    fn runs(memory: Option<u64>, settings: &[(&str, &str)]) -> Result<(usize, usize), String> {
        let home = Some(std::path::PathBuf::from("/home/wardian"));
        let surroundings = Surroundings {
            data_dir: home.clone(),
            cache_dir: home,
            memory: memory.map(|gibibytes| ByteCount::mebibytes(gibibytes << 10)),
            ..Surroundings::default()
        };
        let settings = settings.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        let flags = Flags { settings: settings.collect(), ..Flags::default() };
        let config = Config::load(&surroundings, flags).map_err(|error| error.to_string())?;
        Ok((config.workers.count, config.workers.max))
    }

    #[test]
    fn runs_that_wait_are_bounded_by_the_memory_of_the_machine() {
        let (cores, most) = runs(Some(4_096), &[]).unwrap();
        assert_eq!(most, 4 * cores);
        assert_eq!(runs(Some(1), &[]).unwrap(), (cores, cores));
        assert_eq!(runs(None, &[]).unwrap(), (cores, cores), "nothing is known of the memory");
        let large = [("limits.max.memory", "4 GiB"), ("limits.max.workspace", "60 GiB")];
        assert_eq!(runs(Some(100), &large).unwrap(), (cores, cores));
        assert_eq!(runs(Some(4_096), &[("workers.count", "3")]).unwrap(), (3, 3));
        let both = [("workers.count", "3"), ("workers.max", "20")];
        assert_eq!(runs(None, &both).unwrap(), (3, 20));
        let wrong = runs(None, &[("workers.count", "3"), ("workers.max", "2")]).unwrap_err();
        assert!(wrong.contains("`workers.max` (2) must not be less than `workers.count` (3)"));
        assert_eq!(wrong.trim().lines().count(), 2, "{wrong}");
    }
}
