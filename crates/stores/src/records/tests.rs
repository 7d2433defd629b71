//! Tests of records: what is written, found, removed and lost.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use crate::database::{Database, DatabaseError};
use crate::records::RecordTail;
use crate::records::queue::Recorder;
use crate::records::table::{Row, SCHEMA};
use crate::records::{
    KnownKey, QUEUE_MEMORY, RecordTable, RecordWriter, RecordedArguments, RecordedLog,
    RecordedPhases, RecordedSkill, RecordsConfig, RequestKey, RunFilter, RunKind, RunOutcomeKind,
    RunRecord, RunSearch, SCANNED,
};
use wardian_formats::job::limits::RunLimits;
use wardian_formats::job::outcome::{LogChunk, Stream};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, Digest, RunId, SkillName, SkillVersion, TenantId};
use wardian_vocabulary::units::ByteCount;

/// The time of the first run, in milliseconds since the Unix epoch.
const START: u64 = 1_790_000_000_000;

struct Place {
    table: RecordTable,
    folder: TempDir,
}

impl Place {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let table = RecordTable::open(&folder.path().join("records.db")).await.unwrap();
        Self { table, folder }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("records.db")
    }

    /// A connection of another process to the same file.
    async fn beside(&self) -> Database {
        Database::open_with(&self.path(), &SCHEMA).await.unwrap()
    }
}

fn tenant(name: &str) -> TenantId {
    TenantId::parse(name).unwrap()
}

/// The id of a run that began so many milliseconds after [`START`].
fn id(number: u64) -> RunId {
    RunId::parse(&format!("run_{:012x}7{:019x}", START + number, number)).unwrap()
}

fn record(owner: &str, number: u64) -> RunRecord {
    let digest = Digest::of(b"x");
    let skill = number.is_multiple_of(2).then(|| RecordedSkill {
        name: SkillName::parse("acme.report").unwrap(),
        version: SkillVersion::parse("1.0.0").unwrap(),
        digest,
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
        cached: false,
    }
}

fn row(owner: &str, number: u64, log: usize) -> Row {
    let pieces = (log > 0).then(|| "x".repeat(log));
    let log_bytes = u64::try_from(log).unwrap();
    Row { log_bytes, ..Row::of(&record(owner, number), pieces, None).unwrap() }
}

/// Writes the runs of a tenant with these numbers.
async fn fill(table: &RecordTable, owner: &str, numbers: std::ops::Range<u64>, log: usize) {
    let rows: Vec<Row> = numbers.map(|number| row(owner, number, log)).collect();
    for rows in rows.chunks(1_000) {
        table.insert(rows, 0).await.unwrap();
    }
}

/// The numbers of all runs that are listed, in pages of `limit`, and the number of pages.
async fn listed(
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

async fn all(table: &RecordTable, owner: &str) -> Vec<u64> {
    listed(table, owner, &RunFilter::default(), 1_000).await.0
}

#[tokio::test]
async fn own_records_only_are_found() {
    let place = Place::new().await;
    fill(&place.table, "acme", 0..3, 10).await;
    fill(&place.table, "beta", 3..5, 10).await;
    assert_eq!(all(&place.table, "acme").await, [2, 1, 0]);
    assert_eq!(all(&place.table, "beta").await, [4, 3]);
    assert_eq!(all(&place.table, "nobody").await, [0_u64; 0]);
    let (acme, beta) = (tenant("acme"), tenant("beta"));
    for (run, is_found) in [(1, false), (3, true), (99, false)] {
        let found = place.table.find(&beta, None, &id(run)).await.unwrap();
        assert_eq!(found.is_some(), is_found, "{run}");
        let found = place.table.find_log(&beta, None, &id(run)).await.unwrap();
        assert_eq!(found.is_some(), is_found, "{run}");
        let found = place.table.read_log(&beta, &id(run)).await.unwrap();
        assert_eq!(found.is_some(), is_found, "{run}");
    }
    let code_only = place.table.find(&acme, Some(RunKind::RunCode), &id(2)).await.unwrap();
    assert_eq!(code_only, None, "it executed a skill");
}

#[tokio::test]
async fn filters_and_times_narrow_a_list() {
    let place = Place::new().await;
    fill(&place.table, "acme", 0..40, 0).await;
    let numbers = |filter: RunFilter| {
        let table = place.table.clone();
        async move { listed(&table, "acme", &filter, 7).await.0 }
    };
    let timeout = Some(RunOutcomeKind::Timeout);
    let skill = Some(SkillName::parse("acme.report").unwrap());
    let found = numbers(RunFilter { outcome: timeout, ..RunFilter::default() }).await;
    assert_eq!(found, [30, 20, 10, 0]);
    let since_ms = Some(START + 37);
    let found = numbers(RunFilter { since_ms, ..RunFilter::default() }).await;
    assert_eq!(found, [39, 38, 37]);
    let found = numbers(RunFilter { skill: skill.clone(), since_ms, ..RunFilter::default() }).await;
    assert_eq!(found, [38]);
    let kind = Some(RunKind::RunCode);
    let found = numbers(RunFilter { kind, outcome: timeout, skill, ..RunFilter::default() }).await;
    assert_eq!(found, [0_u64; 0]);
}

/// A filter that fits next to nothing reads a bounded number of records for each page.
#[tokio::test]
async fn a_rare_filter_costs_many_short_pages() {
    let place = Place::new().await;
    let count = SCANNED * 2 + 10;
    fill(&place.table, "acme", 0..count, 0).await;
    let rows = vec![Row { outcome: "sandbox_crash", ..row("acme", count, 0) }];
    place.table.insert(&rows, 0).await.unwrap();
    fill(&place.table, "acme", count + 1..count + 2, 0).await;
    let crash = Some(RunOutcomeKind::SandboxCrash);
    let filter = RunFilter { outcome: crash, ..RunFilter::default() };
    assert_eq!(listed(&place.table, "acme", &filter, 10).await, (vec![count], 3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever the size of pages and whatever is written between them, each run that was there at
    /// the beginning is listed once, in order.
    #[test]
    fn pages_lose_nothing_and_repeat_nothing(
        numbers in proptest::collection::btree_set(0_u64..2_000, 0..200),
        limit in 1_u64..40,
        by_outcome in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let place = Place::new().await;
            let rows: Vec<Row> = numbers.iter().map(|number| row("acme", *number, 0)).collect();
            place.table.insert(&rows, 0).await.unwrap();
            let outcome = by_outcome.then_some(RunOutcomeKind::Timeout);
            let filter = RunFilter { outcome, ..RunFilter::default() };
            let wanted: Vec<u64> = numbers
                .iter()
                .rev()
                .copied()
                .filter(|number| !by_outcome || number.is_multiple_of(10))
                .collect();
            let (mut found, mut cursor, mut newer) = (Vec::new(), None, 3_000);
            loop {
                let page =
                    place.table.list(&tenant("acme"), &filter, cursor.as_ref(), limit).await.unwrap();
                found.extend(page.runs.iter().map(|run| run.started_ms - START));
                newer += 10;
                place.table.insert(&[row("acme", newer, 0)], 0).await.unwrap();
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(found, wanted);
        });
    }
}

fn limits(max_count: u64, log_quota: u64) -> RecordsConfig {
    let log_quota = ByteCount::bytes(log_quota);
    RecordsConfig { max_count, log_quota, ..RecordsConfig::default() }
}

async fn trim(table: &RecordTable, config: &RecordsConfig) -> usize {
    for rounds in 1..1_000 {
        if !table.trim_to_limits(config).await.unwrap().has_more {
            return rounds;
        }
    }
    panic!("it does not end");
}

#[tokio::test]
async fn own_records_expire_and_never_those_of_another_tenant() {
    let place = Place::new().await;
    fill(&place.table, "acme", 0..2_100, 10).await;
    fill(&place.table, "beta", 0..20, 10).await;
    let rounds = trim(&place.table, &limits(30, u64::MAX / 4)).await;
    assert!(rounds > 3, "many are removed in small steps, not in {rounds}");
    assert_eq!(all(&place.table, "acme").await, (2_070..2_100).rev().collect::<Vec<_>>());
    assert_eq!(all(&place.table, "beta").await.len(), 20);
    assert_eq!(place.table.read_log(&tenant("acme"), &id(2_069)).await.unwrap(), None);
    assert!(place.table.read_log(&tenant("acme"), &id(2_070)).await.unwrap().is_some());
    // The sums are those of what is left.
    assert_eq!(trim(&place.table, &limits(30, 300)).await, 1);
    assert_eq!(all(&place.table, "acme").await.len(), 30);
    assert!(place.table.read_log(&tenant("acme"), &id(2_070)).await.unwrap().is_some());
}

#[tokio::test]
async fn logs_beyond_the_quota_go_before_their_records() {
    let place = Place::new().await;
    fill(&place.table, "acme", 0..1_000, 100).await;
    fill(&place.table, "beta", 0..10, 100).await;
    trim(&place.table, &limits(100_000, 2_050)).await;
    assert_eq!(all(&place.table, "acme").await.len(), 1_000);
    let acme = tenant("acme");
    for (run, size) in [(979, None), (980, Some(100)), (999, Some(100))] {
        let found = place.table.find_log(&acme, None, &id(run)).await.unwrap().unwrap();
        assert_eq!((found.bytes, found.size), (100, size), "{run}");
    }
    assert!(place.table.read_log(&tenant("beta"), &id(0)).await.unwrap().is_some());
}

#[tokio::test]
async fn old_records_are_removed_in_small_steps() {
    let place = Place::new().await;
    fill(&place.table, "acme", 0..1_700, 0).await;
    fill(&place.table, "beta", 1_690..1_710, 5).await;
    let mut steps = 0;
    while place.table.trim_to_age(START + 1_695).await.unwrap().has_more {
        steps += 1;
        assert!(steps < 100);
    }
    assert!(steps >= 3, "{steps}");
    assert_eq!(all(&place.table, "acme").await, [1_699, 1_698, 1_697, 1_696, 1_695]);
    assert_eq!(all(&place.table, "beta").await.len(), 15);
}

/// After an error that came too late, a batch is written again.
#[tokio::test]
async fn a_batch_that_is_written_twice_is_there_once() {
    let place = Place::new().await;
    for _ in 0..3 {
        fill(&place.table, "acme", 0..10, 7).await;
    }
    assert_eq!(all(&place.table, "acme").await.len(), 10);
    // With sums that were counted three times, records would be removed here.
    trim(&place.table, &limits(10, 70)).await;
    assert_eq!(all(&place.table, "acme").await.len(), 10);
    assert!(place.table.read_log(&tenant("acme"), &id(0)).await.unwrap().is_some());
}

fn writer(place: &Place, config: RecordsConfig) -> RecordWriter {
    let now = Duration::from_millis(START);
    RecordWriter::start(place.table.clone(), config, Clock::Fixed(now)).unwrap()
}

async fn until(mut happens: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if happens() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it does not happen");
}

fn hand_over(recorder: &Recorder, number: u64, text: &str) {
    let mut made = record("acme", number);
    let log = (!text.is_empty()).then(|| {
        let room = recorder.room_for_log(text.len(), 1).unwrap();
        made.log.bytes = ByteCount::from(text.len()).as_u64();
        (vec![LogChunk { stream: Stream::Stderr, text: text.to_owned() }], room)
    });
    recorder.hand_over(Box::new(made), log);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_thread_of_a_writer_that_is_not_closed_ends_with_it() {
    let place = Place::new().await;
    let writer = writer(&place, RecordsConfig::default());
    let queue = Arc::downgrade(&writer.recorder().0);
    drop(writer);
    assert_eq!(queue.strong_count(), 0, "the thread has let go of its queue");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_written_soon_and_all_of_them_at_the_end() {
    let place = Place::new().await;
    let writer = writer(&place, RecordsConfig::default());
    let recorder = writer.recorder().clone();
    hand_over(&recorder, 0, "a\0\u{1b}é\n");
    until(|| recorder.counts().written == 1).await;
    let beside = RecordTable::open(&place.path()).await.unwrap();
    let text = beside.find(&tenant("acme"), None, &id(0)).await.unwrap().unwrap();
    let read: RunRecord = serde_json::from_str(&text).unwrap();
    assert_eq!((&read.run_id, read.outcome), (&id(0), RunOutcomeKind::Timeout));
    let pieces = beside.read_log(&tenant("acme"), &id(0)).await.unwrap().unwrap();
    let pieces: Vec<LogChunk> = serde_json::from_str(&pieces).unwrap();
    assert_eq!(pieces[0].text, "a\0\u{1b}é\n");
    for number in 1..2_000 {
        hand_over(&recorder, number, "");
    }
    writer.close(Duration::from_secs(30)).await;
    assert_eq!(recorder.memory(), 0);
    let counts = recorder.counts();
    assert_eq!((counts.written, counts.lost, counts.waiting), (2_000, 0, 0));
    assert_eq!(all(&beside, "acme").await.len(), 2_000);
    hand_over(&recorder, 2_000, "");
    assert_eq!(recorder.counts().lost, 1, "nobody writes it any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn records_never_lost_silently_when_the_database_fails() {
    let place = Place::new().await;
    let writer = writer(&place, RecordsConfig::default());
    let recorder = writer.recorder().clone();
    let beside = place.beside().await;
    let change = |statement: &'static str| {
        let beside = beside.clone();
        async move { sqlx::query(statement).execute(beside.connections()).await.unwrap() }
    };
    change("ALTER TABLE runs RENAME TO away").await;
    for number in 0..50 {
        hand_over(&recorder, number, "text");
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    let counts = recorder.counts();
    assert_eq!((counts.written, counts.lost), (0, 0), "they wait");
    change("ALTER TABLE away RENAME TO runs").await;
    until(|| recorder.counts().written == 50).await;
    assert_eq!(all(&place.table, "acme").await.len(), 50);
    change("ALTER TABLE runs RENAME TO away").await;
    for number in 50..60 {
        hand_over(&recorder, number, "");
    }
    writer.close(Duration::from_millis(300)).await;
    until(|| recorder.counts().lost == 10).await;
    until(|| recorder.memory() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_bounded_while_they_wait() {
    let recorder = Recorder::new(RecordsConfig::default());
    let mut logs = 0_u64;
    while let Some(room) = recorder.room_for_log(1 << 20, 1) {
        let log = vec![LogChunk { stream: Stream::Stdout, text: "x".repeat(1 << 20) }];
        recorder.hand_over(Box::new(record("acme", logs)), Some((log, room)));
        logs += 1;
    }
    assert!((20..=24).contains(&logs), "{logs}");
    assert_eq!((recorder.counts().lost, recorder.counts().lost_logs), (0, 1));
    let mut number = logs;
    while recorder.counts().lost == 0 {
        recorder.hand_over(Box::new(record("acme", number)), None);
        number += 1;
        assert!(recorder.memory() <= QUEUE_MEMORY.as_u64());
    }
    assert!(number - logs > 1_000, "a flood of output leaves room for {} records", number - logs);
}

#[tokio::test]
async fn results_leave_room_for_records_while_they_wait() {
    let recorder = Recorder::new(RecordsConfig::default());
    let mut number = 0;
    while recorder.counts().lost_logs == 0 {
        let (result, document) = (Some("x".repeat(1 << 20)), None);
        let tail = RecordTail { result, document, content: None, until_written: None };
        recorder.hand_over_all(Box::new(detached("acme", number)), None, tail);
        number += 1;
    }
    assert!((20..=25).contains(&number), "{number}");
    assert_eq!(recorder.counts().lost, 0, "the record of the lost result is kept");
    for _ in 0..1_000 {
        recorder.hand_over(Box::new(record("acme", number)), None);
        number += 1;
    }
    assert_eq!((recorder.counts().lost, recorder.counts().waiting), (0, number));
}

#[tokio::test]
async fn a_document_without_room_does_not_cost_the_result() {
    let recorder = Recorder::new(RecordsConfig::default());
    let tail = |result: usize, document: usize| RecordTail {
        result: Some("r".repeat(result)),
        document: Some("d".repeat(document)),
        content: None,
        until_written: None,
    };
    recorder.hand_over_all(Box::new(detached("acme", 0)), None, tail(10 << 20, 10 << 20));
    recorder.hand_over_all(Box::new(detached("acme", 1)), None, tail(1 << 20, 10 << 20));
    let waiting = recorder.0.take(9, u64::MAX);
    let kept = waiting.iter().map(|one| (one.tail.result.is_some(), one.tail.document.is_some()));
    assert_eq!(kept.collect::<Vec<_>>(), [(true, true), (true, false)]);
    assert_eq!((recorder.counts().lost_logs, recorder.counts().lost), (1, 0));
    drop(waiting);
    assert_eq!(recorder.memory(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writer_keeps_to_the_limits() {
    let place = Place::new().await;
    fill(&place.table, "old", 0..10, 0).await;
    let config = RecordsConfig {
        max_count: 20,
        max_age: Some(Duration::from_millis(1)),
        ..RecordsConfig::default()
    };
    let now = Clock::Fixed(Duration::from_millis(START + 9));
    let writer = RecordWriter::start(place.table.clone(), config, now).unwrap();
    for number in 100..200 {
        hand_over(writer.recorder(), number, "");
    }
    for _ in 0..1_000 {
        let counts = (all(&place.table, "acme").await.len(), all(&place.table, "old").await.len());
        if counts == (20, 2) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!(
        "{:?} and {:?} are left",
        all(&place.table, "acme").await,
        all(&place.table, "old").await
    );
}

#[tokio::test]
async fn a_newer_and_a_damaged_file_are_refused_and_left_alone() {
    let place = Place::new().await;
    let path = place.path();
    let beside = place.beside().await;
    let newer = "UPDATE schema_version SET version = 9";
    sqlx::query(newer).execute(beside.connections()).await.unwrap();
    beside.close().await;
    place.table.close().await;
    let before = std::fs::read(&path).unwrap();
    let fault = RecordTable::open(&path).await.unwrap_err();
    assert!(matches!(fault, DatabaseError::NewerSchema { found: 9, known: 6, .. }), "{fault:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let broken = b"this is no database, but it is long enough to be read as if it were one";
    std::fs::write(&path, broken).unwrap();
    let fault = RecordTable::open(&path).await.unwrap_err();
    assert!(fault.to_string().ends_with("without records of runs"), "{fault}");
    assert_eq!(std::fs::read(&path).unwrap(), broken);
}

fn detached(owner: &str, number: u64) -> RunRecord {
    RunRecord { detached: true, outcome: RunOutcomeKind::Interrupted, ..record(owner, number) }
}

fn key(name: &str, call: &str) -> RequestKey {
    RequestKey { name: name.to_owned(), call: Digest::of(call.as_bytes()) }
}

#[tokio::test]
async fn names_of_calls_that_store_blobs_are_bounded_and_expire() {
    let place = Place::new().await;
    let (table, acme) = (&place.table, tenant("acme"));
    let note = async |name: &str, call: &str, now| {
        table.note_blob_key(&acme, &key(name, call), now).await.unwrap()
    };
    assert!(note("a", "one", 10).await && note("a", "one", 11).await);
    assert!(!note("a", "two", 12).await, "another call has the name");
    assert_eq!(table.find_key(&acme, &key("a", "one")).await.unwrap(), Some(KnownKey::SameBlob));
    let run = table.note_detached(&detached("acme", 1), Some(&key("a", "one"))).await.unwrap();
    assert!(run.is_some(), "a run has the name of a blob");
    table.note_detached(&detached("acme", 2), Some(&key("run", "three"))).await.unwrap();
    assert!(!note("run", "three", 13).await, "a blob has the name of a run");
    for number in 0..5 {
        assert!(note(&format!("b{number}"), "x", 20 + number).await);
    }
    let there = async |name: &str| {
        table.find_key(&acme, &key(name, "x")).await.unwrap() == Some(KnownKey::SameBlob)
    };
    assert!(!table.trim_names(3, None).await.unwrap(), "there is no more to remove");
    assert!(!there("b1").await && there("b2").await);
    table.trim_names(3, Some(24)).await.unwrap();
    assert!(!there("b3").await && there("b4").await);
    assert!(table.find_key(&tenant("beta"), &key("b4", "x")).await.unwrap().is_none());
}

/// A run with a name continues while its tenant makes so many others that its record is the oldest.
#[tokio::test]
async fn kept_names_outlive_the_records_of_their_runs_and_expire_by_themselves() {
    let place = Place::new().await;
    let (table, acme) = (&place.table, tenant("acme"));
    let named = detached("acme", 1);
    let there = async |name: &str| table.find_key(&acme, &key(name, "x")).await.unwrap().is_some();
    table.note_detached(&named, Some(&key("long", "x"))).await.unwrap();
    let others: Vec<Row> = (10..30).map(|number| row("acme", number, 0)).collect();
    table.insert(&others, 100).await.unwrap();
    let config = RecordsConfig { max_count: 5, ..RecordsConfig::default() };
    let trim = async |oldest| {
        while table.trim_to_limits(&config).await.unwrap().has_more {}
        while table.trim_names(config.max_count, oldest).await.unwrap() {}
    };
    trim(Some(1_000)).await;
    assert!(there("long").await, "the run goes on");
    table.insert(&[Row::of(&named, None, None).unwrap()], 2_000).await.unwrap();
    trim(Some(1_999)).await;
    assert_eq!(all(table, "acme").await.len(), 5);
    assert!(there("long").await, "it has just ended");
    trim(Some(2_001)).await;
    assert!(!there("long").await);
    // Beyond their number the oldest names go, in the order in which their runs ended.
    for number in 40..50 {
        let run = detached("acme", number);
        table.note_detached(&run, Some(&key(&number.to_string(), "x"))).await.unwrap();
    }
    for number in (40..49).rev() {
        let ended = Row::of(&detached("acme", number), None, None).unwrap();
        table.insert(&[ended], 10_000 - number).await.unwrap();
    }
    trim(None).await;
    for number in 40..50 {
        let is_kept = number < 45 || number == 49;
        assert_eq!(there(&number.to_string()).await, is_kept, "{number}");
    }
}

/// A kill at any point leaves a run that was noted with one record.
#[tokio::test]
async fn no_run_stays_in_progress_after_a_kill() {
    let place = Place::new().await;
    let (acme, beta) = (tenant("acme"), tenant("beta"));
    for number in 0..300 {
        assert_eq!(place.table.note_detached(&detached("acme", number), None).await.unwrap(), None);
    }
    place.table.note_detached(&detached("beta", 7), None).await.unwrap();
    // Two have ended before the kill.
    let mut ended = detached("acme", 1);
    ended.outcome = RunOutcomeKind::Completed;
    let result = "{\"n\":1}".to_owned();
    let rows = [
        Row::of(&ended, None, Some(result.clone())).unwrap(),
        Row::of(&detached("acme", 2), Some("[]".to_owned()), None).unwrap(),
    ];
    place.table.insert(&rows, 0).await.unwrap();
    assert_eq!(place.table.find_detached(&acme, None, &id(1)).await.unwrap(), None);
    assert!(place.table.find_detached(&acme, None, &id(3)).await.unwrap().is_some());
    assert_eq!(place.table.find_detached(&beta, None, &id(3)).await.unwrap(), None);
    place.table.close().await;
    let table = RecordTable::open(&place.path()).await.unwrap();
    assert_eq!(table.end_interrupted().await.unwrap(), 299);
    assert_eq!(table.end_interrupted().await.unwrap(), 0);
    assert_eq!(all(&table, "acme").await.len(), 300);
    let of = |outcome| RunFilter { outcome: Some(outcome), ..RunFilter::default() };
    let interrupted = of(RunOutcomeKind::Interrupted);
    assert_eq!(listed(&table, "acme", &interrupted, 1_000).await.0.len(), 299);
    assert_eq!(listed(&table, "acme", &of(RunOutcomeKind::Completed), 10).await.0, [1]);
    assert_eq!(table.read_result(&acme, &id(1)).await.unwrap(), Some(result));
    assert_eq!(table.find_result(&acme, &id(1)).await.unwrap(), Some(7));
    assert_eq!(table.find_result(&acme, &id(2)).await.unwrap(), None);
    let text = table.find(&beta, None, &id(7)).await.unwrap().unwrap();
    let read: RunRecord = serde_json::from_str(&text).unwrap();
    assert_eq!((read.outcome, read.detached), (RunOutcomeKind::Interrupted, true));
}

/// Records that are lost are written from their notes, and then removed like all others.
#[tokio::test]
async fn notes_of_runs_whose_records_are_lost_count_against_the_limits() {
    let place = Place::new().await;
    let (table, acme) = (&place.table, tenant("acme"));
    for number in 0..30 {
        let key = key(&format!("k{number}"), "a");
        table.note_detached(&detached("acme", number), Some(&key)).await.unwrap();
    }
    table.note_detached(&detached("beta", 3), None).await.unwrap();
    trim(table, &limits(10, 1 << 20)).await;
    let is_noted = async |owner: &TenantId, number: u64| {
        table.find_detached(owner, None, &id(number)).await.unwrap().is_some()
    };
    assert!(is_noted(&acme, 0).await && all(table, "acme").await.is_empty());
    // Two continue.
    let goes_on = |run: &RunId| *run == id(4) || *run == id(29);
    assert_eq!(table.end_lost(&acme, goes_on).await.unwrap(), 28);
    assert_eq!(table.end_lost(&acme, goes_on).await.unwrap(), 0);
    assert_eq!(all(table, "acme").await.len(), 28);
    let text = table.find(&acme, None, &id(7)).await.unwrap().unwrap();
    assert!(text.contains("interrupted"), "{text}");
    trim(table, &limits(10, 1 << 20)).await;
    assert_eq!(all(table, "acme").await.len(), 10);
    for number in [0, 4, 17, 19, 29] {
        let found = table.find_key(&acme, &key(&format!("k{number}"), "a")).await.unwrap();
        assert!(found.is_some(), "{number}");
        assert_eq!(is_noted(&acme, number).await, number == 4 || number == 29);
    }
    assert!(is_noted(&tenant("beta"), 3).await, "it is another's");
}

#[tokio::test]
async fn a_key_belongs_to_one_call_of_one_tenant_longer_than_its_record() {
    let place = Place::new().await;
    let (table, acme) = (&place.table, tenant("acme"));
    let note = |owner: &'static str, number: u64, key: RequestKey| async move {
        table.note_detached(&detached(owner, number), Some(&key)).await.unwrap()
    };
    assert_eq!(note("acme", 0, key("k", "a")).await, None);
    assert_eq!(note("acme", 1, key("k", "a")).await, Some(KnownKey::Run(id(0))));
    assert_eq!(note("acme", 1, key("k", "b")).await, Some(KnownKey::OtherCall));
    assert_eq!(note("beta", 2, key("k", "b")).await, None);
    assert_eq!(table.find_detached(&acme, None, &id(1)).await.unwrap(), None, "nothing is noted");
    table.forget_detached(&acme, &id(0)).await.unwrap();
    assert_eq!(table.find_key(&acme, &key("k", "a")).await.unwrap(), None);
    assert_eq!(note("acme", 3, key("k", "c")).await, None);
    table.end_interrupted().await.unwrap();
    assert_eq!(note("acme", 4, key("k", "c")).await, Some(KnownKey::Run(id(3))));
    assert_eq!(note("acme", 5, key("goes on", "d")).await, None);
    fill(table, "acme", 10..20, 0).await;
    trim(table, &limits(10, 70)).await;
    assert_eq!(table.find(&acme, None, &id(3)).await.unwrap(), None, "its record is gone");
    assert_eq!(note("acme", 21, key("k", "c")).await, Some(KnownKey::Run(id(3))));
    assert!(table.find_key(&tenant("beta"), &key("k", "b")).await.unwrap().is_some());
    table.trim_names(u64::MAX, Some(u64::MAX)).await.unwrap();
    assert_eq!(table.find_key(&acme, &key("k", "c")).await.unwrap(), None, "its time is over");
    // The run in progress is as old, and its call may come again.
    assert_eq!(note("acme", 21, key("goes on", "d")).await, Some(KnownKey::Run(id(5))));
}

/// What runs are found by goes with their records, and is that of their tenant alone.
#[tokio::test]
async fn titles_and_blobs_are_found_and_expire_with_their_runs() {
    let place = Place::new().await;
    let blob = BlobId::of_digest(&Digest::of(b"made"));
    for owner in ["acme", "beta"] {
        let rows: Vec<Row> = (0..4)
            .map(|number| {
                let title = Some(format!("Sums of {owner} {number}"));
                let record =
                    RunRecord { title, output_blobs: vec![blob.clone()], ..record(owner, number) };
                Row::of(&record, None, None).unwrap()
            })
            .collect();
        // A batch that is written again changes nothing.
        place.table.insert(&rows, 0).await.unwrap();
        place.table.insert(&rows, 0).await.unwrap();
    }
    let search = |text| RunFilter { search: RunSearch::of(text), ..RunFilter::default() };
    let by_blob = RunFilter { blob: Some(blob.clone()), ..RunFilter::default() };
    for (filter, found) in [
        (search("SUMS acme"), vec![3, 2, 1, 0]),
        (search("sums 2"), vec![2]),
        (search("beta"), vec![]),
        (search("acme.report 1.0.0"), vec![2, 0]),
        (by_blob.clone(), vec![3, 2, 1, 0]),
    ] {
        assert_eq!(listed(&place.table, "acme", &filter, 3).await.0, found, "{filter:?}");
    }
    trim(&place.table, &limits(1, u64::MAX)).await;
    for owner in ["acme", "beta"] {
        assert_eq!(listed(&place.table, owner, &by_blob, 9).await.0, [3]);
    }
    for count in ["SELECT COUNT(*) FROM run_titles", "SELECT COUNT(*) FROM run_blobs"] {
        let beside = place.beside().await;
        let left: i64 = sqlx::query_scalar(count).fetch_one(beside.connections()).await.unwrap();
        assert_eq!(left, 2, "{count}");
    }
}
