//! Orders to workers, and their answers.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::tests::{SOON, WrittenBlobs, config, error_type, job, logs, run, run_script, start};
use crate::{AttachmentLimits, BlobSource, CheckedPayload, PoolConfig, RunHost, SkillContent};
use wardian_formats::job::attachment::{Owner, PackedFile};
use wardian_formats::job::host::RequestKind;
use wardian_formats::job::message::Refusal;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::{BlobId, Digest, TenantId};
use wardian_vocabulary::units::ByteCount;

#[tokio::test]
async fn a_run_comes_back_with_its_output_logs_and_blobs() {
    let pool = start(config(1)).await;
    let mut host = WrittenBlobs::default();
    let source = "log hello\nblob text/plain small\nblob-of image/png 100000\nreturn {}";
    let finished = pool.run(&job(source), &mut host).await.unwrap();
    assert_eq!(error_type(&finished), "completed");
    assert_eq!(logs(&finished), ["hello"]);
    assert_eq!(finished.output.unwrap().into_bytes().unwrap(), b"{}");
    let written: Vec<_> = host.0.iter().map(|(kind, bytes)| (kind.as_str(), bytes.len())).collect();
    assert_eq!(written, [("text/plain", 5), ("image/png", 100_000)]);

    let finished = run_script(&pool, "return-of 5000000").await;
    assert_eq!(finished.output.unwrap().size(), ByteCount::bytes(5_000_000));
    let finished = run_script(&pool, "blob forbidden x\nreturn {}").await;
    assert_eq!(error_type(&finished), "QuotaExceeded");
    assert!(finished.output.is_none());
    assert_eq!(pool.report().counters.finished, 3);
}

#[tokio::test]
async fn skills_and_blobs_are_attached_once_and_detached_when_too_many() {
    let limits = AttachmentLimits { count: 2, ..AttachmentLimits::default() };
    let pool = start(PoolConfig { attachments: limits, ..config(1) }).await;
    let skill = |name: &str| {
        let files = vec![PackedFile { path: format!("{name}.md"), offset: 1, size: 3 }];
        Arc::new(SkillContent::new(
            Owner::Shared,
            Digest::of(name.as_bytes()),
            files,
            b"-abc-".as_slice().into(),
        ))
    };
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"content").unwrap();
    let id = BlobId::of_digest(&Digest::of(b"content"));
    let blob = BlobSource {
        tenant: TenantId::local(),
        id: id.clone(),
        file: Arc::new(file),
        size: ByteCount::bytes(7),
    };

    let source = format!("attached\nread one.md\nread {id}\nreturn {{}}");
    let mut first = job(&source);
    (first.guest.skills, first.guest.blobs) = (vec![skill("one")], vec![blob]);
    for _ in 0..3 {
        assert_eq!(logs(&run(&pool, &first).await), ["1 skills, 1 blobs", "abc", "content"]);
    }
    let mut second = job("attached\nread two.md");
    second.guest.skills = vec![skill("two")];
    let finished = run(&pool, &second).await;
    assert_eq!(logs(&finished)[1], "abc");
    assert!(["1 skills, 1 blobs", "2 skills, 0 blobs"].contains(&logs(&finished)[0]));
}

#[tokio::test]
async fn a_worker_knows_nothing_of_the_machine_but_its_run() {
    let pool = start(config(1)).await;
    let process = pool.report().workers[0].process;
    // Only root can read these files: other processes of the worker's user cannot.
    if let Ok(environment) = fs::read(format!("/proc/{process}/environ")) {
        assert_eq!(environment, b"");
        assert_eq!(fs::read_link(format!("/proc/{process}/cwd")).unwrap(), Path::new("/"));
    }
    let mut with_secret = job("secret TOKEN\nreturn {}");
    with_secret.guest.setup.environment.insert("TOKEN".into(), "hunter2".to_owned().into());
    assert_eq!(logs(&run(&pool, &with_secret).await), ["hunter2"]);
    assert_eq!(logs(&run_script(&pool, "secret TOKEN").await), [""]);
}

#[tokio::test]
async fn a_program_that_is_too_large_costs_no_worker() {
    let pool = start(config(1)).await;
    let huge = job(&"x".repeat(49 << 20));
    let refused = pool.run(&huge, &mut WrittenBlobs::default()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::TooLarge);
    assert_eq!(pool.report().workers[0].runs, 0);
}

/// A host whose blob store hangs.
struct NeverStores;

impl RunHost for NeverStores {
    async fn write_blob(&mut self, _: &str, _: CheckedPayload) -> Result<BlobId, Refusal> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_host_that_never_answers_blocks_neither_run_nor_worker() {
    let host_time = Duration::from_millis(200);
    let pool = start(PoolConfig { host_time, grace: SOON, ..config(1) }).await;
    let process = pool.report().workers[0].process;
    let mut job = job("blob text/plain x\nreturn {}");
    job.turn.limits.wall_time = Duration::from_secs(1);
    let ended = timeout(SOON, pool.run(&job, &mut NeverStores)).await.expect("it never ended");
    let finished = ended.unwrap();
    assert_eq!(error_type(&finished), "TimeoutError");
    assert!(finished.host_time.of(RequestKind::WriteBlob) >= host_time);
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    assert_eq!(pool.report().workers[0].process, process, "the worker was blamed for its host");
}

/// A host that has no room for outputs until it is told so.
struct FullHouse(Arc<tokio::sync::Notify>);

impl RunHost for FullHouse {
    async fn write_blob(&mut self, _: &str, _: CheckedPayload) -> Result<BlobId, Refusal> {
        Err(Refusal { error_type: "PolicyDenied".into(), message: "nothing is stored".into() })
    }

    async fn make_room(&mut self, output: ByteCount) {
        assert_eq!(output, ByteCount::bytes(300_000));
        self.0.notified().await;
    }
}

#[tokio::test]
async fn a_worker_whose_output_waits_for_room_gets_no_other_run() {
    let pool = start(config(1)).await;
    let there_is_room = Arc::new(tokio::sync::Notify::new());
    let mut host = FullHouse(Arc::clone(&there_is_room));
    let first_job = job("return-of 300000");
    let mut first = Box::pin(pool.run(&first_job, &mut host));
    let patience = Duration::from_millis(300);
    assert!(timeout(patience, &mut first).await.is_err(), "nobody waited for room");
    let second_job = job("return {}");
    let mut second = Box::pin(run(&pool, &second_job));
    assert!(timeout(patience, &mut second).await.is_err(), "the worker made another output");
    there_is_room.notify_one();
    assert_eq!(error_type(&first.await.unwrap()), "completed");
    assert_eq!(error_type(&second.await), "completed");

    // A caller that leaves while it waits for room does not cost the worker.
    let mut host = FullHouse(there_is_room);
    let left = timeout(patience, pool.run(&first_job, &mut host)).await;
    assert!(left.is_err(), "nobody waited for room");
    assert_eq!(error_type(&run(&pool, &second_job).await), "completed");
    assert_eq!(pool.report().counters.ended, 0);
}
