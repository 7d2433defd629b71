//! Tests of records that are written: what waits, is written, and is lost.

use std::sync::Arc;
use std::time::Duration;

use crate::database::tests::{Place, START, detached, fill, id, numbers, record, tenant};
use crate::records::RecordTail;
use crate::records::queue::Recorder;
use crate::records::{QUEUE_MEMORY, RecordWriter, RecordsConfig, RunOutcomeKind, RunRecord};
use wardian_formats::job::outcome::{LogChunk, Stream};
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::units::ByteCount;

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
    for place in Place::all().await {
        let writer = writer(&place, RecordsConfig::default());
        let queue = Arc::downgrade(&writer.recorder().0);
        drop(writer);
        assert_eq!(queue.strong_count(), 0, "the thread has let go of its queue");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_written_soon_and_all_of_them_at_the_end() {
    for place in Place::all().await {
        let writer = writer(&place, RecordsConfig::default());
        let recorder = writer.recorder().clone();
        hand_over(&recorder, 0, "a\0\u{1b}é\n");
        until(|| recorder.counts().written == 1).await;
        let beside = place.beside().await;
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
        assert_eq!(numbers(&beside, "acme").await.len(), 2_000);
        hand_over(&recorder, 2_000, "");
        assert_eq!(recorder.counts().lost, 1, "nobody writes it any more");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn records_never_lost_silently_when_the_database_fails() {
    for place in Place::all().await {
        let writer = writer(&place, RecordsConfig::default());
        let recorder = writer.recorder().clone();
        place.set_broken(true).await;
        for number in 0..50 {
            hand_over(&recorder, number, "text");
        }
        tokio::time::sleep(Duration::from_millis(700)).await;
        let counts = recorder.counts();
        assert_eq!((counts.written, counts.lost), (0, 0), "they wait");
        place.set_broken(false).await;
        until(|| recorder.counts().written == 50).await;
        assert_eq!(numbers(&place.table, "acme").await.len(), 50);
        place.set_broken(true).await;
        for number in 50..60 {
            hand_over(&recorder, number, "");
        }
        writer.close(Duration::from_millis(300)).await;
        until(|| recorder.counts().lost == 10).await;
        until(|| recorder.memory() == 0).await;
    }
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
        let tail = RecordTail { result, document, ..RecordTail::default() };
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
        ..RecordTail::default()
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
    for place in Place::all().await {
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
            let counts = (
                numbers(&place.table, "acme").await.len(),
                numbers(&place.table, "old").await.len(),
            );
            if counts == (20, 2) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(numbers(&place.table, "acme").await.len(), 20, "{}", place.name());
        assert_eq!(numbers(&place.table, "old").await.len(), 2, "{}", place.name());
    }
}
