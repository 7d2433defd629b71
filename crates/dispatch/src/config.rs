//! The settings of a pool.

use std::time::Duration;

use crate::isolation::Isolation;
use crate::supervisor::cgroups::WorkerCgroups;
use crate::supervisor::spawner::WorkerCommand;
use crate::worker::attachments::AttachmentLimits;
use wardian_formats::job::frame;
use wardian_vocabulary::quotas::TenantPolicy;
use wardian_vocabulary::units::ByteCount;

/// Guests that one worker keeps at most, unless the configuration says otherwise. Their addresses are those
/// of half a terabyte, of which a process has 128.
pub const MOST_HELD_BY_ONE: usize = 128;

/// Set by operators.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// The command that starts a worker.
    pub command: WorkerCommand,
    /// Gives each process its own cgroup. Default: none.
    pub cgroups: Option<WorkerCgroups>,
    /// Runs that compute at once. One for each core is right.
    pub workers: usize,
    /// Runs at once, with those that wait. Default: `workers`.
    pub most_runs: usize,
    /// Additional workers that replace lost ones at once. Each costs memory. Default 1.
    pub spares: usize,
    /// Guests that workers may keep between two turns. The memory of each counts against `memory`. Beyond
    /// this number the guest that was used longest ago is closed. Default 0: each guest is closed after its
    /// first turn.
    pub most_held: usize,
    /// Guests that one worker may keep. Each takes addresses of its process. Default
    /// [`MOST_HELD_BY_ONE`].
    pub most_held_by_one: usize,
    /// The memory that workers that keep guests may really take, all together. Beyond it the guests that
    /// were used longest ago are closed. Default: no bound.
    pub held_memory: Option<ByteCount>,
    /// The runs that may follow one another in a worker. Default: those of all tenants.
    pub isolation: Isolation,
    /// Runs that may wait for a worker, of all tenants together. Default 256.
    pub queue: usize,
    /// The memory that all runs in progress and all guests that are kept may use together, as the
    /// sum of their limits. A run waits until it fits. Default: no bound besides the number of workers.
    pub memory: Option<ByteCount>,
    /// The limits of tenants. Default: none.
    pub tenants: TenantPolicy,
    /// How long a run may wait for a worker. Default 30 s.
    pub queue_wait: Duration,
    /// How long the first run of a tenant may wait if the tenant has no run in progress. Default:
    /// `queue_wait`, which is also the least.
    pub first_wait: Duration,
    /// How long a worker may take to become ready. Default 60 s: the first one may have to read
    /// the engine from a slow disk.
    pub startup_timeout: Duration,
    /// How long after its wall-clock limit, or after its caller has gone away, a run may take to
    /// end before its worker is killed. Default 1 s.
    pub grace: Duration,
    /// The most time by which the gateway's own work for a run, such as storing its blobs, extends
    /// the run. Default 60 s: a gibibyte on a slow disk.
    pub host_time: Duration,
    /// The attachments that each worker keeps between runs.
    pub attachments: AttachmentLimits,
    /// Longest message of a worker, in bytes. Default: enough for the largest configurable log.
    pub max_message: usize,
}

impl PoolConfig {
    /// The defaults for `workers` workers that are started by `command`.
    #[must_use]
    pub fn new(command: WorkerCommand, workers: usize) -> Self {
        Self {
            command,
            cgroups: None,
            workers,
            most_runs: workers,
            spares: 1,
            most_held: 0,
            most_held_by_one: MOST_HELD_BY_ONE,
            held_memory: None,
            isolation: Isolation::Shared,
            queue: 256,
            memory: None,
            tenants: TenantPolicy::NONE,
            queue_wait: Duration::from_secs(30),
            first_wait: Duration::ZERO,
            startup_timeout: Duration::from_secs(60),
            grace: Duration::from_secs(1),
            host_time: Duration::from_secs(60),
            attachments: AttachmentLimits::default(),
            max_message: frame::MESSAGE_MAX,
        }
    }
}
