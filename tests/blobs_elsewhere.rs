//! A run with blobs over a store that is no disk: what the run mounts is a verified copy in memory, and
//! what it stores goes into that store.
//!
//! The pool starts its workers from the program that is running, so this one is a program of its own.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic; that is how it fails")]
#![expect(clippy::indexing_slicing, reason = "JSON that is not there reads as null")]

#[path = "it/support/cache.rs"]
#[expect(dead_code, reason = "this test starts no commands")]
mod cache;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use wardian::assembly::{MeteredCode, Runtime, SkillsRead, Stores};
use wardian_config::{Config, Flags, Surroundings};
use wardian_engine::progress::Lines;
use wardian_formats::protocol::MethodResult;
use wardian_service::{Caller, Service};
use wardian_stores::blobs::testing::{DerivedIdKeys, MemoryBlobs};
use wardian_stores::blobs::{BlobPart, BlobStore as _, BlobStoreConfig};
use wardian_telemetry::Metrics;
use wardian_vocabulary::clock::Clock;
use wardian_vocabulary::ids::{BlobId, TenantId};
use wardian_vocabulary::units::ByteCount;

/// Sums a column of the blob that it is given, stores a text, and leaves a file.
const PROGRAM: &str = "
import csv, io, os, runtime

def main(args):
    with open('/blobs/' + args['id'], 'rb') as file:
        content = file.read()
    with open('sales.csv') as file:
        rows = list(csv.DictReader(file))
    runtime.blobs.write_text('made', name='made.txt')
    with open('left.txt', 'w') as file:
        file.write('left')
    return {'bytes': len(content), 'sum': sum(int(row['amount']) for row in rows)}
";

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("worker") {
        return wardian::cli::main();
    }
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    threads.block_on(Box::pin(check()));
    ExitCode::SUCCESS
}

async fn check() {
    let data = tempfile::tempdir().unwrap();
    let runtime = started(data.path()).await;
    let config = BlobStoreConfig::at("/nowhere".into());
    let memory = MemoryBlobs::new(config, Clock::System, Arc::new(DerivedIdKeys));
    let service = runtime.service.with_blobs(memory.clone().into(), 2);
    let caller = Caller::local("test");

    let rows: String = (0..20_000).map(|n| format!("{n},{}\n", n % 7)).collect();
    let content = format!("id,amount\n{rows}");
    let params = json!({"content": content, "kind": "text/csv", "name": "sales.csv"});
    let params = serde_json::from_value(params).unwrap();
    let blob = service.discovery().create_blob(&caller, params).await.unwrap();
    let id = blob.blob_id.to_string();
    let result = run(&service, &caller, &id).await;
    assert_eq!(result["status"], "completed", "{result}");
    let sum: u64 = (0..20_000).map(|n| n % 7).sum();
    assert_eq!(result["output"], json!({"bytes": content.len(), "sum": sum}), "{result}");

    let made: BlobId = serde_json::from_value(result["output_blobs"][0].clone()).unwrap();
    let local = TenantId::local();
    let all = ByteCount::bytes(u64::MAX);
    let stored = memory.read(&local, &made, BlobPart::Head, all).await.unwrap();
    assert_eq!(stored.bytes, b"made");
    assert_eq!(stored.blob.name.unwrap().as_str(), "made.txt");
    let left: BlobId = serde_json::from_value(result["files"][0]["blob_id"].clone()).unwrap();
    assert_eq!(memory.read(&local, &left, BlobPart::Head, all).await.unwrap().bytes, b"left");
    assert_eq!(runtime.blobs.usage(&local).unwrap().blobs, 0, "a blob is on the disk");

    // A damaged blob reaches no run.
    memory.damage(&local, &blob.blob_id);
    let params = json!({"language": "python", "code": "1", "input_blobs": [&id]});
    let params = serde_json::from_value(params).unwrap();
    let refused = service.run_code(&caller, params, None).await.unwrap_err();
    assert_eq!(refused.to_string(), format!("blob `{id}` is damaged"));
    assert_eq!(memory.set_aside(), 1);
    drop(service);
    runtime.shut_down(Duration::ZERO).await;
}

async fn run(service: &Service, caller: &Caller, id: &str) -> Value {
    let params = json!({
        "language": "python",
        "code": PROGRAM,
        "args": {"id": id},
        "input_blobs": [id],
        "keep_files": true,
    });
    let params = serde_json::from_value(params).unwrap();
    match service.run_code(caller, params, None).await.unwrap() {
        MethodResult::Run(result) => serde_json::to_value(result).unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn started(data: &std::path::Path) -> Runtime {
    let cache = cache::own_cache();
    let settings = [
        ("data_dir", data.to_str().unwrap()),
        ("cache_dir", cache.to_str().unwrap()),
        ("workers.count", "1"),
        ("workers.spares", "0"),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let flags = Flags { file: None, settings: settings.into() };
    let config = Config::load(&Surroundings::default(), flags).unwrap();
    let stores = Stores::open(&config, SkillsRead::Once).unwrap();
    let (read, progress) = (move || stores.read(), Lines::new(std::io::stderr()));
    let metered = MeteredCode::IfThere;
    let metrics = Metrics::new();
    let runtime = Runtime::start(&config, metered, read, metrics, None, &progress).await.unwrap();
    runtime.ready().await.unwrap();
    runtime
}
