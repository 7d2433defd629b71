//! The settings `database.*` and `fleet.*`: what servers share.

use std::path::PathBuf;
use std::time::Duration;

use crate::environment::Surroundings;
use crate::reader::Reader;
use crate::settings::{BlobsConfig, DatabaseConfig, FleetSettings};
use wardian_stores::records::RecordsConfig;

/// How long a lease lasts unless it is set.
const LEASE: Duration = Duration::from_secs(5);

/// Reads where keys and records are, and how the server takes part in a fleet.
pub(crate) fn read_database(
    reader: &mut Reader,
    surroundings: &Surroundings,
) -> (DatabaseConfig, FleetSettings) {
    let url_file: Option<PathBuf> = reader.read_optional("database.url_file");
    let database = DatabaseConfig { url_file: url_file.map(|path| surroundings.absolute(path)) };
    let key_file: Option<PathBuf> = reader.read_optional("fleet.key_file");
    let (shortest, longest) = (Duration::from_millis(1_500), Duration::from_secs(60));
    let fleet = FleetSettings {
        key_file: key_file.map(|path| surroundings.absolute(path)),
        lease: reader.read_within("fleet.lease", LEASE, shortest..=longest),
    };
    (database, fleet)
}

/// Refuses a fleet without what its servers share.
pub(crate) fn check_fleet(
    reader: &mut Reader,
    fleet: &FleetSettings,
    (database, blobs, records): (&DatabaseConfig, &BlobsConfig, &RecordsConfig),
) {
    if fleet.key_file.is_none() {
        return;
    }
    for (is_met, need) in [
        (
            database.url_file.is_some(),
            "`database.url_file`: its servers find each other in a database",
        ),
        (blobs.store.is_some(), "`blobs.store`: a run finds the blobs of its call on any server"),
        (records.is_enabled, "`records.enabled = true`: calls wait in the database of records"),
    ] {
        if !is_met {
            reader.complain(format!("`fleet.key_file` needs {need}"));
        }
    }
}
