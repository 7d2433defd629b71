//! The settings `records.*`, `results.*` and `audit.*`.

use std::path::PathBuf;

use crate::environment::Surroundings;
use crate::reader::Reader;
use wardian_stores::audit::AuditConfig;
use wardian_stores::records::RecordsConfig;
use wardian_stores::results::ResultsConfig;
use wardian_vocabulary::units::ByteCount;

/// Reads the settings of records.
pub(crate) fn read_records(reader: &mut Reader) -> RecordsConfig {
    let usual = RecordsConfig::default();
    let largest = ByteCount::mebibytes(16);
    RecordsConfig {
        is_enabled: reader.read("records.enabled", usual.is_enabled),
        max_age: {
            let age = reader.read("records.max_age", usual.max_age.unwrap_or_default());
            (!age.is_zero()).then_some(age)
        },
        max_count: reader.read_within("records.max_count", usual.max_count, 1..=1_000_000_000),
        max_log: reader.read_within(
            "records.max_log",
            usual.max_log,
            ByteCount::bytes(0)..=largest,
        ),
        log_quota: reader.read_within(
            "records.log_quota",
            usual.log_quota,
            largest..=ByteCount::mebibytes(16 << 20),
        ),
        keeps_arguments: reader.read("records.arguments", usual.keeps_arguments),
        keeps_programs: reader.read("records.programs", usual.keeps_programs),
        max_program: reader.read_within(
            "records.max_program",
            usual.max_program,
            ByteCount::kibibytes(1)..=ByteCount::mebibytes(1),
        ),
        keeps_documents: reader.read("records.documents", usual.keeps_documents),
    }
}

/// Reads the bounds of kept results.
pub(crate) fn read_results(reader: &mut Reader) -> ResultsConfig {
    let usual = ResultsConfig::default();
    let largest = ByteCount::mebibytes(16 << 10);
    ResultsConfig {
        memory: reader.read_within("results.memory", usual.memory, ByteCount::bytes(0)..=largest),
        max_age: reader.read("results.max_age", usual.max_age),
        max_count: reader.read_within("results.max_count", usual.max_count, 0..=10_000_000),
    }
}

/// Reads the settings of the audit log.
pub(crate) fn read_audit(reader: &mut Reader, surroundings: &Surroundings) -> AuditConfig {
    let file: Option<PathBuf> = reader.read_optional("audit.file");
    AuditConfig {
        file: file.map(|path| surroundings.absolute(path)),
        every_event: reader.read("audit.every_event", false),
    }
}
