//! The test double, and the tests that every database passes.
//!
//! | file             | purpose                                                                  |
//! | ---------------- | ------------------------------------------------------------------------ |
//! | `memory.rs`      | the test double, which is also the model                                 |
//! | `lists.rs`       | records are found and listed                                             |
//! | `retention.rs`   | records expire                                                           |
//! | `in_progress.rs` | runs in the background, their names, and the servers that have them      |
//! | `keys.rs`        | keys of the API                                                          |
//! | `model_tests.rs` | any order of statements has the same answers in all databases            |
//! | `sessions.rs`    | sessions, their cells, checkpoints and packs                             |
//! | `session_model_tests.rs`, `memory_sessions.rs` | the same for sessions                        |

mod in_progress;
mod keys;
mod lists;
mod memory;
mod memory_sessions;
mod model_tests;
mod retention;
mod session_model_tests;
mod sessions;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::database::sqlite::testing::{execute, records_at};
use crate::database::tests::memory::MemoryRecords;
use crate::records::row::Row;
use crate::records::store::RecordStore;
use crate::records::{
    RecordTable, RecordedArguments, RecordedLog, RecordedPhases, RecordedSkill, RecordsConfig,
    RequestKey, RunFilter, RunKind, RunOutcomeKind, RunRecord, ServerId, ServerRecords,
};
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{Digest, RunId, SkillName, SkillVersion, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The time of the first run, in milliseconds since the Unix epoch.
pub(crate) const START: u64 = 1_790_000_000_000;

/// A database of records.
pub(crate) struct Place {
    pub(crate) table: RecordTable,
    pub(super) store: Arc<dyn RecordStore>,
    /// The clock of its leases, in milliseconds since the Unix epoch.
    time: &'static AtomicU64,
    engine: Engine,
}

enum Engine {
    Sqlite(TempDir),
    Memory(MemoryRecords),
}

impl Place {
    /// An empty one of each kind.
    pub(crate) async fn all() -> [Self; 2] {
        let folder = tempfile::tempdir().unwrap();
        let time: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(START)));
        let store = records_at(&folder.path().join("records.db"), Clock::Set(time)).await;
        let sqlite = Self::of(Engine::Sqlite(folder), store, time);
        let time: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(START)));
        let memory = MemoryRecords::new(Clock::Set(time));
        let store = Arc::new(memory.clone());
        [sqlite, Self::of(Engine::Memory(memory), store, time)]
    }

    fn of(engine: Engine, store: Arc<dyn RecordStore>, time: &'static AtomicU64) -> Self {
        Self { table: RecordTable::new(Arc::clone(&store)), store, time, engine }
    }

    /// Its name. A test that prints it says where it failed.
    pub(crate) fn name(&self) -> &'static str {
        match &self.engine {
            Engine::Sqlite(_) => "SQLite",
            Engine::Memory(_) => "the test double",
        }
    }

    /// The file, if it has one.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match &self.engine {
            Engine::Sqlite(folder) => Some(folder.path().join("records.db")),
            Engine::Memory(_) => None,
        }
    }

    /// The same database, as another process opens it.
    pub(crate) async fn beside(&self) -> RecordTable {
        RecordTable::new(match &self.engine {
            Engine::Sqlite(folder) => {
                records_at(&folder.path().join("records.db"), Clock::Set(self.time)).await
            }
            Engine::Memory(memory) => Arc::new(memory.clone()),
        })
    }

    /// A server of its own that uses the database.
    pub(crate) async fn server(&self) -> ServerRecords {
        ServerRecords::join(self.beside().await, ServerId::generate()).await.unwrap().0
    }

    /// Lets time pass for leases.
    pub(crate) fn pass(&self, time: Duration) {
        let milliseconds = u64::try_from(time.as_millis()).unwrap();
        self.time.fetch_add(milliseconds, Ordering::AcqRel);
    }

    /// Lets statements on records fail from now on, or work again.
    pub(crate) async fn set_broken(&self, is_broken: bool) {
        match (&self.engine, is_broken) {
            (Engine::Memory(memory), _) => memory.set_broken(is_broken),
            (Engine::Sqlite(folder), true) => {
                let path = folder.path().join("records.db");
                execute(&path, "ALTER TABLE runs RENAME TO away").await;
            }
            (Engine::Sqlite(folder), false) => {
                let path = folder.path().join("records.db");
                execute(&path, "ALTER TABLE away RENAME TO runs").await;
            }
        }
    }
}

pub(crate) fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

/// The id of a run that began so many milliseconds after [`START`].
pub(crate) fn id(number: u64) -> RunId {
    RunId::parse(&format!("run_{:012x}7{:019x}", START + number, number)).unwrap()
}

pub(crate) fn record(owner: &str, number: u64) -> RunRecord {
    let digest = Digest::of(b"x");
    let skill = number.is_multiple_of(2).then(|| RecordedSkill {
        name: SkillName::parse("acme.report").unwrap(),
        version: SkillVersion::parse("1.0.0").unwrap(),
        digest,
        signer: Some("ed25519:k".to_owned()),
    });
    RunRecord {
        run_id: id(number),
        tenant: tenant(owner),
        key: None,
        request_id: "req_1".to_owned(),
        trace_id: None,
        label: None,
        title: None,
        kind: if skill.is_some() { RunKind::ExecuteSkill } else { RunKind::RunCode },
        detached: false,
        started_ms: START + number,
        duration_us: 1_234,
        outcome: match number % 10 {
            0 => RunOutcomeKind::Timeout,
            _ => RunOutcomeKind::Completed,
        },
        error: None,
        skill,
        code: None,
        entrypoint: None,
        arguments: RecordedArguments { digest, size_bytes: 2, value: None },
        mounted_skills: Vec::new(),
        layers: vec![digest],
        input_blobs: Vec::new(),
        wardian: "0.1.0".to_owned(),
        engine: digest,
        image: None,
        limits: (&RunLimits::DEFAULT).into(),
        reproducible: None,
        phases_us: RecordedPhases::default(),
        cpu_us: None,
        memory_peak_bytes: Some(1 << 20),
        fuel: None,
        host_calls: Some(1),
        output: None,
        output_blobs: Vec::new(),
        output_blobs_total: 0,
        log: RecordedLog::default(),
        network: None,
        tool_calls: Vec::new(),
        cached: false,
    }
}

pub(crate) fn row(owner: &str, number: u64, log: usize) -> Row {
    let pieces = (log > 0).then(|| "x".repeat(log));
    let log_bytes = u64::try_from(log).unwrap();
    Row { log_bytes, ..Row::of(&record(owner, number), pieces, None).unwrap() }
}

/// Writes the runs of a tenant with these numbers.
pub(crate) async fn fill(
    table: &RecordTable,
    owner: &str,
    numbers: std::ops::Range<u64>,
    log: usize,
) {
    let rows: Vec<Row> = numbers.map(|number| row(owner, number, log)).collect();
    for rows in rows.chunks(1_000) {
        table.insert(rows, 0).await.unwrap();
    }
}

/// The numbers of all runs that are listed, in pages of `limit`, and the number of pages.
pub(crate) async fn listed(
    table: &RecordTable,
    owner: &str,
    filter: &RunFilter,
    limit: u64,
) -> (Vec<u64>, usize) {
    let (mut found, mut cursor, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = table.list(&tenant(owner), filter, cursor.as_ref(), limit).await.unwrap();
        assert!(u64::try_from(page.runs.len()).unwrap() <= limit);
        found.extend(page.runs.iter().map(|run| run.started_ms - START));
        pages += 1;
        cursor = page.next;
        if cursor.is_none() {
            return (found, pages);
        }
    }
}

pub(crate) async fn numbers(table: &RecordTable, owner: &str) -> Vec<u64> {
    listed(table, owner, &RunFilter::default(), 1_000).await.0
}

pub(crate) fn limits(max_count: u64, log_quota: u64) -> RecordsConfig {
    let log_quota = ByteCount::bytes(log_quota);
    RecordsConfig { max_count, log_quota, ..RecordsConfig::default() }
}

pub(crate) async fn trim(table: &RecordTable, config: &RecordsConfig) -> usize {
    for rounds in 1..1_000 {
        if !table.trim_to_limits(config).await.unwrap().has_more {
            return rounds;
        }
    }
    panic!("it does not end");
}

pub(crate) fn detached(owner: &str, number: u64) -> RunRecord {
    RunRecord { detached: true, outcome: RunOutcomeKind::Interrupted, ..record(owner, number) }
}

pub(crate) fn key(name: &str, call: &str) -> RequestKey {
    RequestKey { name: name.to_owned(), call: Digest::of(call.as_bytes()) }
}
