//! The settings `sessions.*`.

use std::path::PathBuf;
use std::time::Duration;

use crate::reader::Reader;
use crate::settings::SessionSettings;
use wardian_sessions::SessionsConfig;
use wardian_vocabulary::units::ByteCount;

/// Longest life of a session.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Guests that workers keep between the calls of a session, unless the operator says how many.
const USUALLY_WARM: usize = 64;

/// The memory that they may take, unless the operator says how much.
const USUAL_WARM_MEMORY: ByteCount = ByteCount::mebibytes(512);

/// Reads the settings of sessions, whose states are kept in the folder `root`.
pub(crate) fn read_sessions(reader: &mut Reader, root: PathBuf) -> SessionSettings {
    let usual = SessionsConfig::at(root);
    let shortest = Duration::from_secs(1);
    SessionSettings {
        is_enabled: reader.read("sessions.enabled", true),
        warm: reader.read_within("sessions.warm", USUALLY_WARM, 0..=1_000),
        warm_memory: reader.read_within(
            "sessions.warm_memory",
            USUAL_WARM_MEMORY,
            ByteCount::mebibytes(16)..=ByteCount::mebibytes(1 << 20),
        ),
        store: SessionsConfig {
            max_sessions: reader.read_within("sessions.max", usual.max_sessions, 1..=1_000_000),
            max_parked: reader.read_within(
                "sessions.quota",
                usual.max_parked,
                ByteCount::mebibytes(1)..=ByteCount::mebibytes(16 << 20),
            ),
            max_images: reader.read_within(
                "sessions.images",
                usual.max_images,
                ByteCount::mebibytes(1)..=ByteCount::mebibytes(16 << 20),
            ),
            idle: reader.read_within("sessions.idle", usual.idle, shortest..=LONGEST),
            max_age: reader.read_within("sessions.max_age", usual.max_age, shortest..=LONGEST),
            longest_wait: reader.read_within(
                "sessions.longest_wait",
                usual.longest_wait,
                shortest..=LONGEST,
            ),
            longest_save: usual.longest_save,
            sync: reader.read("sessions.sync", usual.sync),
            boot: boot_id(),
            root: usual.root,
        },
    }
}

/// Names the time since the machine was started.
fn boot_id() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(boot.trim().to_owned())
}
