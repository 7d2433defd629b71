//! The tables `limits` and `limits.max`.

use std::time::Duration;

use crate::reader::Reader;
use crate::settings::LimitsConfig;
use crate::value::SettingValue;
use wardian_formats::job::KeepBounds;
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::message::PAYLOAD_MAX;
use wardian_formats::job::outcome::MAX_LEFT_FILES;
use wardian_vocabulary::units::{ByteCount, Fuel};

/// Keys of the limits on runs.
struct LimitKeys {
    timeout: &'static str,
    fuel: &'static str,
    memory: &'static str,
    workspace: &'static str,
    workspace_entries: &'static str,
    open_files: &'static str,
    logs: &'static str,
    host_calls: &'static str,
    host_bytes: &'static str,
}

const DEFAULT_KEYS: LimitKeys = LimitKeys {
    timeout: "limits.timeout",
    fuel: "limits.fuel",
    memory: "limits.memory",
    workspace: "limits.workspace",
    workspace_entries: "limits.workspace_entries",
    open_files: "limits.open_files",
    logs: "limits.logs",
    host_calls: "limits.host_calls",
    host_bytes: "limits.host_bytes",
};

const MAX_KEYS: LimitKeys = LimitKeys {
    timeout: "limits.max.timeout",
    fuel: "limits.max.fuel",
    memory: "limits.max.memory",
    workspace: "limits.max.workspace",
    workspace_entries: "limits.max.workspace_entries",
    open_files: "limits.max.open_files",
    logs: "limits.max.logs",
    host_calls: "limits.max.host_calls",
    host_bytes: "limits.max.host_bytes",
};

/// A maximum that is not set is at least the default, so that raising one number is enough. `memory`
/// is the default of `limits.memory`.
pub(crate) fn read_limits(reader: &mut Reader, memory: ByteCount) -> LimitsConfig {
    let usual = RunLimits { memory, ..RunLimits::DEFAULT };
    let default = read_run_limits(reader, &DEFAULT_KEYS, usual);
    let max = read_run_limits(reader, &MAX_KEYS, raised_to(RunLimits::DEFAULT_CAP, default));
    let default = RunLimits { fuel: default.fuel.or(max.fuel), ..default };
    for (of_default, of_max) in values(default).into_iter().zip(values(max)) {
        if of_default.size > of_max.size && of_max.size.is_some() {
            reader.complain(format!(
                "`limits.{}` ({}) must not exceed `limits.max.{}` ({})",
                of_default.key, of_default.shown, of_max.key, of_max.shown
            ));
        }
    }
    let reproducible_memory = if reader.is_set(DEFAULT_KEYS.memory) {
        default.memory
    } else {
        default.memory.min(RunLimits::DEFAULT.memory)
    };
    let keep_files = read_keep_bounds(reader);
    LimitsConfig { default, max, reproducible_memory, keep_files }
}

/// The bounds on files that are kept without being asked for.
fn read_keep_bounds(reader: &mut Reader) -> KeepBounds {
    let usual = KeepBounds::DEFAULT;
    let most = u32::try_from(MAX_LEFT_FILES).unwrap_or(u32::MAX);
    let count = reader.read_within("limits.keep_files.count", usual.count, 0..=most);
    let (none, total) = (ByteCount::bytes(0), ByteCount::mebibytes(64 << 10));
    let mut size = |key, usual, most| reader.read_within(key, usual, none..=most);
    let max_size = size("limits.keep_files.max_size", usual.max_size, PAYLOAD_MAX);
    let total_size = size("limits.keep_files.total_size", usual.total_size, total);
    KeepBounds { count, max_size, total_size }
}

/// One limit, to compare it with another of its kind.
struct LimitValue {
    key: &'static str,
    /// `None` if it is unlimited.
    size: Option<u128>,
    /// The value in the form of a configuration file.
    shown: String,
}

fn values(limits: RunLimits) -> [LimitValue; 9] {
    let bytes = |key, value: ByteCount| limit(key, value.as_u64().into(), &value);
    let count = |key, value: u32| limit(key, value.into(), &value);
    let fuel = limits.fuel.map(|Fuel(fuel)| fuel);
    [
        limit("timeout", limits.wall_time.as_nanos(), &limits.wall_time),
        LimitValue {
            key: "fuel",
            size: fuel.map(u128::from),
            shown: fuel.unwrap_or_default().to_toml().to_string(),
        },
        bytes("memory", limits.memory),
        bytes("workspace", limits.workspace),
        count("workspace_entries", limits.workspace_entries),
        count("open_files", limits.open_files),
        bytes("logs", limits.logs),
        count("host_calls", limits.host_calls),
        bytes("host_bytes", limits.host_bytes),
    ]
}

fn limit(key: &'static str, size: u128, value: &impl SettingValue) -> LimitValue {
    LimitValue { key, size: Some(size), shown: value.to_toml().to_string() }
}

fn read_run_limits(reader: &mut Reader, keys: &LimitKeys, usual: RunLimits) -> RunLimits {
    const SMALLEST_MEMORY: ByteCount = ByteCount::mebibytes(64);
    const WASM_MEMORY: ByteCount = ByteCount::mebibytes(4 << 10);
    const DISKLESS: ByteCount = ByteCount::mebibytes(64 << 10);
    let times = Duration::from_millis(1)..=Duration::from_hours(24);
    let fuel = reader.read_optional::<u64>(keys.fuel);
    RunLimits {
        wall_time: reader.read_within(keys.timeout, usual.wall_time, times),
        fuel: fuel.map(Fuel).or(usual.fuel),
        memory: reader.read_within(keys.memory, usual.memory, SMALLEST_MEMORY..=WASM_MEMORY),
        workspace: reader.read_within(
            keys.workspace,
            usual.workspace,
            ByteCount::bytes(0)..=DISKLESS,
        ),
        workspace_entries: reader.read_within(
            keys.workspace_entries,
            usual.workspace_entries,
            0..=10_000_000,
        ),
        open_files: reader.read_within(keys.open_files, usual.open_files, 8..=65_536),
        logs: reader.read_within(
            keys.logs,
            usual.logs,
            ByteCount::bytes(0)..=ByteCount::mebibytes(16),
        ),
        host_calls: reader.read(keys.host_calls, usual.host_calls),
        host_bytes: reader.read(keys.host_bytes, usual.host_bytes),
    }
}

/// `limits`, each number at least that of `least`.
fn raised_to(limits: RunLimits, least: RunLimits) -> RunLimits {
    RunLimits {
        wall_time: limits.wall_time.max(least.wall_time),
        fuel: limits.fuel,
        memory: limits.memory.max(least.memory),
        workspace: limits.workspace.max(least.workspace),
        workspace_entries: limits.workspace_entries.max(least.workspace_entries),
        open_files: limits.open_files.max(least.open_files),
        logs: limits.logs.max(least.logs),
        host_calls: limits.host_calls.max(least.host_calls),
        host_bytes: limits.host_bytes.max(least.host_bytes),
    }
}
