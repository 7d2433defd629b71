//! The limits of one run, and their two halves: those of its guest and those of its turn.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use wardian_vocabulary::units::{ByteCount, Fuel};

/// The most that one run may use. Every field is enforced; only fuel may be unlimited, because
/// counting it costs time and the wall clock bounds a run anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// Wall-clock time from the first instruction to the result. Default 30 s.
    pub wall_time: Duration,
    /// Instructions executed; `None` runs the unmetered code. Default none.
    pub fuel: Option<Fuel>,
    /// Linear memory of the guest, image included. Growth beyond it is refused, so that Python
    /// raises `MemoryError`. Default 512 MiB.
    pub memory: ByteCount,
    /// Bytes of all files in `/workspace`. Beyond it writes fail with `ENOSPC`. Default 256 MiB.
    pub workspace: ByteCount,
    /// Files, folders and links in `/workspace`. Beyond it creation fails with `ENOSPC`.
    /// Default 10,000.
    pub workspace_entries: u32,
    /// Open files at one time. Beyond it `EMFILE`. Default 256.
    pub open_files: u32,
    /// Bytes of stdout, stderr and log lines that are kept; the rest is counted and dropped.
    /// Default 1 MiB.
    pub logs: ByteCount,
    /// Host calls. Beyond it calls are refused. Default 10,000.
    pub host_calls: u32,
    /// Bytes of host calls, both ways. Beyond it calls are refused. Default 256 MiB.
    pub host_bytes: ByteCount,
}

impl RunLimits {
    /// The limits of a run unless the configuration or the call sets others.
    pub const DEFAULT: Self = Self {
        wall_time: Duration::from_secs(30),
        fuel: None,
        memory: ByteCount::mebibytes(512),
        workspace: ByteCount::mebibytes(256),
        workspace_entries: 10_000,
        open_files: 256,
        logs: ByteCount::mebibytes(1),
        host_calls: 10_000,
        host_bytes: ByteCount::mebibytes(256),
    };

    /// The highest limits that a request may set, unless the configuration sets others.
    pub const DEFAULT_CAP: Self = Self { wall_time: Duration::from_secs(300), ..Self::DEFAULT };

    /// The stricter of the two, field by field: a request can lower an operator's limits, never
    /// raise them.
    #[must_use]
    pub fn tightened_by(self, other: Self) -> Self {
        Self {
            wall_time: self.wall_time.min(other.wall_time),
            fuel: match (self.fuel, other.fuel) {
                (Some(one), Some(two)) => Some(one.min(two)),
                (one, two) => one.or(two),
            },
            memory: self.memory.min(other.memory),
            workspace: self.workspace.min(other.workspace),
            workspace_entries: self.workspace_entries.min(other.workspace_entries),
            open_files: self.open_files.min(other.open_files),
            logs: self.logs.min(other.logs),
            host_calls: self.host_calls.min(other.host_calls),
            host_bytes: self.host_bytes.min(other.host_bytes),
        }
    }
}

/// The ceilings on what a guest keeps between turns. A guest has them from its start, for its whole
/// life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupLimits {
    /// As [`RunLimits::memory`].
    pub memory: ByteCount,
    /// As [`RunLimits::workspace`].
    pub workspace: ByteCount,
    /// As [`RunLimits::workspace_entries`].
    pub workspace_entries: u32,
    /// As [`RunLimits::open_files`].
    pub open_files: u32,
}

impl SetupLimits {
    /// The lasting half of [`RunLimits::DEFAULT`].
    pub const DEFAULT: Self = RunLimits::DEFAULT.split().0;

    /// Bytes that a guest may hold: the memory of its program and the files of its workspace.
    #[must_use]
    pub const fn held(&self) -> ByteCount {
        ByteCount::bytes(self.memory.as_u64().saturating_add(self.workspace.as_u64()))
    }
}

/// The ceilings on one turn of a guest. The next turn has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnLimits {
    /// As [`RunLimits::wall_time`].
    pub wall_time: Duration,
    /// As [`RunLimits::fuel`]: set exactly if the guest's code
    /// [counts it](crate::job::Setup::counts_fuel).
    pub fuel: Option<Fuel>,
    /// As [`RunLimits::logs`].
    pub logs: ByteCount,
    /// As [`RunLimits::host_calls`].
    pub host_calls: u32,
    /// As [`RunLimits::host_bytes`].
    pub host_bytes: ByteCount,
}

impl TurnLimits {
    /// The passing half of [`RunLimits::DEFAULT`].
    pub const DEFAULT: Self = RunLimits::DEFAULT.split().1;
}

impl RunLimits {
    /// The limits of the run's guest and of its only turn.
    #[must_use]
    pub const fn split(self) -> (SetupLimits, TurnLimits) {
        let Self {
            wall_time,
            fuel,
            memory,
            workspace,
            workspace_entries,
            open_files,
            logs,
            host_calls,
            host_bytes,
        } = self;
        (
            SetupLimits { memory, workspace, workspace_entries, open_files },
            TurnLimits { wall_time, fuel, logs, host_calls, host_bytes },
        )
    }

    /// The limits of a guest and of one of its turns together.
    #[must_use]
    pub const fn of(setup: SetupLimits, turn: TurnLimits) -> Self {
        let SetupLimits { memory, workspace, workspace_entries, open_files } = setup;
        let TurnLimits { wall_time, fuel, logs, host_calls, host_bytes } = turn;
        Self {
            wall_time,
            fuel,
            memory,
            workspace,
            workspace_entries,
            open_files,
            logs,
            host_calls,
            host_bytes,
        }
    }
}

/// The files of a workspace that are stored as blobs after the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepFiles {
    /// All that are new or changed, within bounds of the operator's, but no hidden ones. What a
    /// caller gets that asks for nothing else.
    Usual(KeepBounds),
    /// Images and PDF files, such as `plt.savefig` writes. Only records of earlier versions have it.
    Figures,
    /// All of them.
    All,
    /// Those whose path below the workspace fits one of these glob patterns.
    Matching(Vec<String>),
    /// None of them.
    Nothing,
}

impl Default for KeepFiles {
    fn default() -> Self {
        Self::Usual(KeepBounds::DEFAULT)
    }
}

impl KeepFiles {
    /// Blobs that may be stored beyond the run's limits on calls and bytes.
    #[must_use]
    pub const fn allowance(&self) -> KeepBounds {
        match self {
            Self::Usual(bounds) => *bounds,
            Self::Figures | Self::All | Self::Matching(_) | Self::Nothing => KeepBounds::NONE,
        }
    }
}

/// The bounds on files that are kept without being asked for. They come on top of the run's own
/// limits on calls and bytes, which a program may have used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepBounds {
    /// Maximum number of files. Default 50, at most
    /// [`MAX_LEFT_FILES`](crate::job::outcome::MAX_LEFT_FILES).
    pub count: u32,
    /// Maximum number of bytes of one file. Default 64 MiB.
    pub max_size: ByteCount,
    /// Maximum number of bytes of all of them. Default 128 MiB.
    pub total_size: ByteCount,
}

impl KeepBounds {
    /// The bounds unless the configuration sets others.
    pub const DEFAULT: Self = Self {
        count: 50,
        max_size: ByteCount::mebibytes(64),
        total_size: ByteCount::mebibytes(128),
    };

    /// Nothing.
    pub const NONE: Self =
        Self { count: 0, max_size: ByteCount::bytes(0), total_size: ByteCount::bytes(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_can_lower_a_limit() {
        let asked = RunLimits { wall_time: Duration::from_secs(5), ..RunLimits::DEFAULT };
        assert_eq!(RunLimits::DEFAULT_CAP.tightened_by(asked), asked);
        let metered = RunLimits { fuel: Some(Fuel(5)), ..RunLimits::DEFAULT };
        assert_eq!(RunLimits::DEFAULT.tightened_by(metered), metered);
    }

    #[test]
    fn a_request_cannot_raise_a_limit() {
        let cap = RunLimits { fuel: Some(Fuel(1_000)), ..RunLimits::DEFAULT };
        let asked = RunLimits {
            fuel: Some(Fuel(u64::MAX)),
            wall_time: Duration::MAX,
            memory: ByteCount::bytes(u64::MAX),
            ..cap
        };
        assert_eq!(cap.tightened_by(asked), cap);
        assert_eq!(cap.tightened_by(RunLimits { fuel: None, ..cap }), cap);
    }
}
