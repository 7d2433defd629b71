//! The memory limit of a worker, calculated from the configured limits of runs.
//!
//! The limits bound a compromised worker. An intact one stays far below them, since no run uses all
//! of its limits at once.

use wardian_config::Config;
use wardian_dispatch::AttachmentLimits;
use wardian_engine::code::compile::{EXCEPTION_HEAP_RESERVATION, LINEAR_MEMORY_RESERVATION};
use wardian_formats::job::message::PAYLOAD_MAX;
use wardian_image_builder::LARGEST_IMAGE;
use wardian_vocabulary::units::ByteCount;
use wardian_worker::GUEST_STACK;

/// The program itself with its heap, its threads' stacks but the guest's, frames on their way,
/// and tables of open files.
const PROGRAM: ByteCount = ByteCount::mebibytes(512);

/// Native code of both variants, and wasmtime's guards around a linear memory.
const CODE_AND_GUARDS: ByteCount = ByteCount::mebibytes(1 << 10);

/// Limits of a worker's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::assembly) struct WorkerMemory {
    /// Private memory that can be written to.
    pub(in crate::assembly) private: ByteCount,
    /// Address space, most of which is only reserved.
    pub(in crate::assembly) addresses: ByteCount,
    /// Memory that is really taken: the limit of a worker's cgroup.
    pub(in crate::assembly) taken: ByteCount,
    /// The memory file on its way to the gateway.
    pub(in crate::assembly) file: ByteCount,
}

impl WorkerMemory {
    /// The limits that this configuration asks for.
    pub(in crate::assembly) fn of(config: &Config) -> Self {
        let most = config.limits.max;
        // One more for the current run.
        let images = AttachmentLimits::default().images.saturating_add(1);
        let images = u64::try_from(images).unwrap_or(u64::MAX);
        // A growing vector exists twice for a moment. Host-call payloads and returned values exist
        // in addition to the files that they are made of.
        let used = [
            PROGRAM.as_u64(),
            u64::try_from(GUEST_STACK).unwrap_or(u64::MAX),
            most.memory.as_u64().saturating_mul(2),
            most.workspace.as_u64().saturating_mul(2),
            most.host_bytes.as_u64(),
            most.logs.as_u64().saturating_mul(2),
            AttachmentLimits::default().bytes.as_u64(),
        ];
        let used = used.into_iter().fold(0, u64::saturating_add);
        // Images are mapped privately. What a run has changed of one is memory of the run.
        let private = used.saturating_add(LARGEST_IMAGE.as_u64().saturating_mul(images));
        let reserved = LINEAR_MEMORY_RESERVATION
            .saturating_add(EXCEPTION_HEAP_RESERVATION)
            .saturating_add(LARGEST_IMAGE.as_u64())
            .saturating_add(CODE_AND_GUARDS.as_u64())
            .saturating_mul(images);
        let addresses = private.saturating_add(reserved).saturating_add(CODE_AND_GUARDS.as_u64());
        // A run's value lies in its memory, its blobs in its memory or its workspace.
        let file = most.memory.max(most.workspace).min(PAYLOAD_MAX);
        let taken = ByteCount::bytes(used.saturating_add(file.as_u64()));
        let (private, addresses) = (ByteCount::bytes(private), ByteCount::bytes(addresses));
        Self { private, addresses, taken, file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_config::{Flags, Surroundings};

    fn with(settings: &[(&str, &str)]) -> WorkerMemory {
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            ..Surroundings::default()
        };
        let settings = settings.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
        WorkerMemory::of(&Config::load(&surroundings, Flags { file: None, settings }).unwrap())
    }

    #[test]
    fn the_bounds_follow_the_limits_of_runs() {
        let usual = with(&[]);
        let gibibyte = 1 << 30;
        assert!(usual.private.as_u64() < 8 * gibibyte, "{usual:?}");
        assert_eq!(usual.taken, ByteCount::mebibytes(3_194));
        assert_eq!(usual.file, ByteCount::mebibytes(512));
        let more = with(&[("limits.max.memory", "4 GiB"), ("limits.max.workspace", "2 GiB")]);
        let added = more.private.as_u64() - usual.private.as_u64();
        assert_eq!(added, 2 * (4 * gibibyte - gibibyte / 2) + 2 * (2 * gibibyte - gibibyte / 4));
        let taken = more.taken.as_u64() - usual.taken.as_u64();
        assert_eq!(taken, added + gibibyte / 2);
        assert_eq!(more.file, PAYLOAD_MAX);
        assert!(more.addresses > usual.addresses);
    }
}
