//! The settings of records.

use std::time::Duration;

use wardian_vocabulary::units::ByteCount;

/// The settings of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordsConfig {
    /// Whether runs leave records. Default true.
    pub is_enabled: bool,
    /// How long a record is kept; `None` keeps it forever. Default 30 days.
    pub max_age: Option<Duration>,
    /// Most records of one tenant; for a further one its oldest is removed. Default 100,000.
    pub max_count: u64,
    /// Maximum number of bytes of the log of one run that are kept. Default 1 MiB.
    pub max_log: ByteCount,
    /// Maximum number of bytes of all logs of one tenant; for further ones its oldest logs are
    /// removed, and their records stay. Default 1 GiB.
    pub log_quota: ByteCount,
    /// Whether records hold the values of arguments. Default false.
    pub keeps_arguments: bool,
    /// Whether the program, the arguments and the output of a run are kept next to its record, and
    /// whether a line of the program is its title. Default true.
    pub keeps_programs: bool,
    /// Maximum number of bytes of a program, and of its arguments, that are kept. Default 64 KiB.
    pub max_program: ByteCount,
    /// Whether the documents of reproducible runs are kept, which have their code, arguments, output
    /// and log. Default false.
    pub keeps_documents: bool,
}

impl Default for RecordsConfig {
    fn default() -> Self {
        Self {
            is_enabled: true,
            max_age: Some(Duration::from_hours(30 * 24)),
            max_count: 100_000,
            max_log: ByteCount::mebibytes(1),
            log_quota: ByteCount::mebibytes(1 << 10),
            keeps_arguments: false,
            keeps_programs: true,
            max_program: ByteCount::kibibytes(64),
            keeps_documents: false,
        }
    }
}
