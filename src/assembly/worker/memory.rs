//! The memory limit of a worker, calculated from the configured limits of runs.
//!
//! The limits bound a compromised worker. An intact one stays far below them, since no run uses all
//! of its limits at once.

use wardian_config::Config;
use wardian_dispatch::{AttachmentLimits, LEAST_OF_GUEST, MOST_HELD_BY_ONE};
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
        let Kept { guests, mapped, taken: kept } = Kept::of(config);
        let used = used.saturating_add(kept.as_u64());
        // Images are mapped privately. What a run has changed of one is memory of the run. A guest that is
        // kept has all of its memory mapped, and takes what it has changed.
        let private = used
            .saturating_add(LARGEST_IMAGE.as_u64().saturating_mul(images))
            .saturating_add(mapped.as_u64());
        let slot = LINEAR_MEMORY_RESERVATION
            .saturating_add(EXCEPTION_HEAP_RESERVATION)
            .saturating_add(CODE_AND_GUARDS.as_u64());
        let reserved = slot
            .saturating_add(LARGEST_IMAGE.as_u64())
            .saturating_mul(images)
            .saturating_add(slot.saturating_mul(guests));
        let addresses = private.saturating_add(reserved).saturating_add(CODE_AND_GUARDS.as_u64());
        // A run's value lies in its memory, its blobs in its memory or its workspace.
        let file = most.memory.max(most.workspace).min(PAYLOAD_MAX);
        let taken = ByteCount::bytes(used.saturating_add(file.as_u64()));
        let (private, addresses) = (ByteCount::bytes(private), ByteCount::bytes(addresses));
        Self { private, addresses, taken, file }
    }
}

/// The private memory that a worker may have at most, where it has no cgroup.
#[must_use]
pub fn most_private_memory(config: &Config) -> ByteCount {
    WorkerMemory::of(config).private
}

/// The memory that the guests of one worker may have mapped between their turns, as the sum of their limits: a
/// quarter of the machine's, so that a worker that was taken over does not have all of it where there are no
/// cgroups. Eight of the largest images fit in any case, and the largest guest.
pub(in crate::assembly) fn mapped_by_guests(config: &Config) -> ByteCount {
    let quarter = config.workers.machine_memory.map_or(0, |memory| memory.as_u64() / 4);
    let least = LARGEST_IMAGE.as_u64().saturating_mul(8);
    ByteCount::bytes(quarter.max(least).max(largest_guest(config)))
}

/// The limits of the largest guest.
fn largest_guest(config: &Config) -> u64 {
    let most = config.limits.max;
    most.memory.as_u64().saturating_add(most.workspace.as_u64()).max(LEAST_OF_GUEST.as_u64())
}

/// The guests that one worker may keep between their turns, what they have mapped, and what they may really
/// take.
struct Kept {
    guests: u64,
    mapped: ByteCount,
    taken: ByteCount,
}

impl Kept {
    fn of(config: &Config) -> Self {
        let sessions = &config.sessions;
        let guests = if sessions.is_enabled { sessions.warm.min(MOST_HELD_BY_ONE) } else { 0 };
        let taken = if guests > 0 { sessions.warm_memory } else { ByteCount::default() };
        let guests = u64::try_from(guests).unwrap_or(u64::MAX);
        // During the first turn of a further guest, the others are open still.
        let together = mapped_by_guests(config).as_u64();
        let guests = guests.min((together / LEAST_OF_GUEST.as_u64()).saturating_add(1));
        let largest = largest_guest(config);
        let mapped = largest.saturating_mul(guests).min(together.saturating_add(largest));
        Self { guests, mapped: ByteCount::bytes(mapped), taken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_config::{Flags, Surroundings};

    fn with(settings: &[(&str, &str)]) -> WorkerMemory {
        on_machine(None, settings)
    }

    fn on_machine(memory: Option<ByteCount>, settings: &[(&str, &str)]) -> WorkerMemory {
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            memory,
            ..Surroundings::default()
        };
        let settings = settings.iter().map(|(key, text)| ((*key).into(), (*text).into())).collect();
        WorkerMemory::of(&Config::load(&surroundings, Flags { file: None, settings }).unwrap())
    }

    #[test]
    fn the_bounds_follow_the_limits_of_runs() {
        let none_kept = ("sessions.warm", "0");
        let usual = with(&[none_kept]);
        let gibibyte = 1 << 30;
        assert!(usual.private.as_u64() < 8 * gibibyte, "{usual:?}");
        assert_eq!(usual.taken, ByteCount::mebibytes(3_194));
        assert_eq!(usual.file, ByteCount::mebibytes(512));
        let large = [("limits.max.memory", "4 GiB"), ("limits.max.workspace", "2 GiB"), none_kept];
        let more = with(&large);
        let added = more.private.as_u64() - usual.private.as_u64();
        assert_eq!(added, 2 * (4 * gibibyte - gibibyte / 2) + 2 * (2 * gibibyte - gibibyte / 4));
        let taken = more.taken.as_u64() - usual.taken.as_u64();
        assert_eq!(taken, added + gibibyte / 2);
        assert_eq!(more.file, PAYLOAD_MAX);
        assert!(more.addresses > usual.addresses);
        assert_eq!(with(&[("sessions.enabled", "false")]), usual);
    }

    #[test]
    fn the_bounds_have_room_for_guests_that_are_kept() {
        let (none, usual) = (with(&[("sessions.warm", "0")]), with(&[]));
        assert_eq!(usual.taken, ByteCount::mebibytes(3_194 + 512));
        let mebibytes = |bounds: WorkerMemory| bounds.private.as_u64() >> 20;
        // Where the machine's memory is not known: eight of the largest images, and the largest guest.
        assert_eq!(mebibytes(usual) - mebibytes(none), 8 * 512 + 768 + 512);
        let added = usual.addresses.as_u64() - none.addresses.as_u64();
        assert!(added > 9 * (5 << 30), "{added}");
        // More are kept by several workers.
        let more = with(&[("sessions.warm", "1000"), ("sessions.warm_memory", "2 GiB")]);
        assert_eq!(more.taken, ByteCount::mebibytes(3_194 + 2_048));
        assert_eq!(mebibytes(more) - mebibytes(none), 8 * 512 + 768 + 2_048);
        let few = with(&[("sessions.warm", "2")]);
        assert_eq!(mebibytes(few) - mebibytes(none), 2 * 768 + 512);
    }

    /// Guests that are kept count with what they map, of which a machine has a part for one worker.
    #[test]
    fn guests_that_are_kept_map_a_quarter_of_the_machine_and_the_largest_one() {
        assert!(LARGEST_IMAGE <= LEAST_OF_GUEST);
        let large = [("limits.max.memory", "2 GiB"), ("limits.max.workspace", "256 MiB")];
        let none = [large[0], large[1], ("sessions.warm", "0")];
        for (gibibytes, expected) in [(8, 4 << 10), (24, 6 << 10), (128, 32 << 10)] {
            let on = |settings: &[(&str, &str)]| {
                on_machine(Some(ByteCount::mebibytes(gibibytes << 10)), settings)
            };
            let added = on(&large).private.as_u64() - on(&none).private.as_u64();
            assert_eq!(added >> 20, expected + 2_048 + 256 + 512, "{gibibytes}");
        }
        // The worker of a machine of 24 GiB has less than the machine.
        let machine = ByteCount::mebibytes(24 << 10);
        assert!(on_machine(Some(machine), &large).private < machine);
    }
}
