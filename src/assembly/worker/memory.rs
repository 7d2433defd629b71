//! The memory limit of a worker, calculated from the configured limits of runs.
//!
//! The limits bound a compromised worker. An intact one stays far below them, since no run uses all
//! of its limits at once.

use wardian_config::Config;
use wardian_dispatch::{AttachmentLimits, MOST_HELD_BY_ONE};
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
    /// The part of `private` for images, and for the linear memories of guests that are kept.
    pub(in crate::assembly) mapped: ByteCount,
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
        let Kept { guests, taken: kept } = Kept::of(config);
        let used = used.saturating_add(kept.as_u64());
        // Images are mapped privately. What a run has changed of one is memory of the run. A guest that is
        // kept has all of its memory mapped, and takes what it has changed: one that had large objects and
        // was resumed has addresses for them and no pages, so what all take does not bound what is mapped.
        let images_mapped = LARGEST_IMAGE.as_u64().saturating_mul(images);
        let guest = most.memory.max(LARGEST_IMAGE).as_u64();
        let mapped = images_mapped.saturating_add(guest.saturating_mul(guests));
        let least = images_mapped.saturating_add(guest.saturating_mul(guests.min(1)));
        let mapped = mapped_within(config.machine_memory, used, least).min(mapped);
        let private = used.saturating_add(mapped);
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
        Self { private, addresses, taken, file, mapped: ByteCount::bytes(mapped) }
    }
}

/// What may be mapped beside the memory that is `used`, so that a worker that was taken over cannot have more
/// than half of this machine; but not less than the `least`, which all images and one guest need.
fn mapped_within(machine: Option<ByteCount>, used: u64, least: u64) -> u64 {
    let Some(machine) = machine else { return u64::MAX };
    (machine.as_u64() / 2).saturating_sub(used).max(least)
}

/// What bounds the memory of a worker's process, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerBounds {
    /// Private memory that it can have if it is taken over and has no cgroup.
    pub private: ByteCount,
    /// What its cgroup lets it take, if it has one.
    pub taken: ByteCount,
    /// The memory of the machine, if it is known.
    pub machine: Option<ByteCount>,
}

impl WorkerBounds {
    /// The bounds that this configuration asks for.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        let WorkerMemory { private, taken, .. } = WorkerMemory::of(config);
        Self { private, taken, machine: config.machine_memory }
    }
}

/// The guests that one worker may keep between their turns, and what they may really take.
struct Kept {
    guests: u64,
    taken: ByteCount,
}

impl Kept {
    fn of(config: &Config) -> Self {
        let sessions = &config.sessions;
        let guests = if sessions.is_enabled { sessions.warm.min(MOST_HELD_BY_ONE) } else { 0 };
        let taken = if guests > 0 { sessions.warm_memory } else { ByteCount::default() };
        Self { guests: u64::try_from(guests).unwrap_or(u64::MAX), taken }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wardian_config::{Flags, Surroundings};

    fn with(settings: &[(&str, &str)]) -> WorkerMemory {
        on(None, settings)
    }

    /// The bounds on a machine of so many GiB.
    fn on(gibibytes: Option<u64>, settings: &[(&str, &str)]) -> WorkerMemory {
        let surroundings = Surroundings {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            memory: gibibytes.map(|number| ByteCount::mebibytes(number << 10)),
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
        assert_eq!(mebibytes(usual) - mebibytes(none), 64 * 512 + 512);
        let added = usual.addresses.as_u64() - none.addresses.as_u64();
        assert!(added > 64 * (5 << 30), "{added}");
        assert_eq!((usual.mapped.as_u64() - none.mapped.as_u64()) >> 20, 64 * 512);
        // More are kept by several workers.
        let more = with(&[("sessions.warm", "1000"), ("sessions.warm_memory", "2 GiB")]);
        assert_eq!(more.taken, ByteCount::mebibytes(3_194 + 2_048));
        assert_eq!(mebibytes(more) - mebibytes(none), 128 * 512 + 2_048);
    }

    #[test]
    fn the_bounds_leave_half_of_the_machine_to_others() {
        let large = [("limits.max.memory", "2 GiB"), ("workers.count", "2")];
        let unbounded = with(&large);
        let gibibytes = |number: u64| ByteCount::mebibytes(number << 10);
        for machine in [32, 64, 128] {
            let half = on(Some(machine), &large);
            assert_eq!(half.private, gibibytes(machine / 2), "{half:?}");
            assert!(half.addresses < unbounded.addresses && half.taken == unbounded.taken);
            // What a run takes has room beside what is mapped.
            let rest = |bounds: WorkerMemory| bounds.private.as_u64() - bounds.mapped.as_u64();
            assert_eq!(rest(half), rest(unbounded));
        }
        assert_eq!(on(Some(1 << 10), &large), unbounded);
        // All images and one guest have room anywhere, so that a cell that waits is kept.
        let small = on(Some(4), &large);
        assert_eq!(small.mapped, ByteCount::mebibytes(9 * 512 + 2_048));
        assert!(small.private > gibibytes(4) && small.private < gibibytes(13), "{small:?}");
        let none_kept = on(Some(4), &[("sessions.warm", "0")]);
        assert_eq!(none_kept, with(&[("sessions.warm", "0")]));
    }
}
