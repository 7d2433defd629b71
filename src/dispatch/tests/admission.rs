//! Admission of runs, the queue, and callers that leave.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::dispatch::tests::{
    WrittenBlobs, config, error_type, job, run, run_script, start, until,
};
use crate::dispatch::{DispatchError, Job, PoolConfig};
use crate::error::ErrorKind;
use crate::ids::TenantId;

#[tokio::test]
async fn nothing_leaks_when_a_caller_goes_away() {
    let grace = Duration::from_millis(300);
    let pool = start(PoolConfig { grace, ..config(1) }).await;
    for (source, starts) in [("wait", 1), ("hang", 2), ("wait", 2)] {
        let job = job(source);
        let mut host = WrittenBlobs::default();
        let impatient = timeout(Duration::from_millis(20), pool.run(&job, &mut host));
        impatient.await.unwrap_err();
        let left = Instant::now();
        let report = until(&pool, "free", |report| {
            report.running == 0 && report.workers.iter().any(|worker| worker.is_resting)
        })
        .await;
        assert!(left.elapsed() < Duration::from_secs(1), "{source}: {:?}", left.elapsed());
        assert_eq!(report.counters.started, starts, "after {source}");
        assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    }
}

#[tokio::test]
async fn nothing_leaks_when_a_caller_leaves_the_queue() {
    let pool = start(config(1)).await;
    let (busy, waiting) = (job("wait"), job("return {}"));
    let (mut host, mut other) = (WrittenBlobs::default(), WrittenBlobs::default());
    {
        let busy = pool.run(&busy, &mut host);
        let waiting = pool.run(&waiting, &mut other);
        tokio::pin!(busy, waiting);
        tokio::select! {
            biased;
            _ = &mut busy => panic!("ended by itself"),
            _ = &mut waiting => panic!("did not wait"),
            _ = until(&pool, "queued", |report| report.queued == 1) => {}
        }
    }
    let report = until(&pool, "free", |report| report.running == 0).await;
    assert_eq!(report.queued, 0);
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
}

#[tokio::test]
async fn nothing_leaks_when_a_caller_leaves_before_it_takes_its_worker() {
    let pool = start(config(1)).await;
    let (busy, waiting) = (job("wait"), job("return {}"));
    let (mut host, mut other) = (WrittenBlobs::default(), WrittenBlobs::default());
    {
        let waiting = pool.run(&waiting, &mut other);
        tokio::pin!(waiting);
        {
            let busy = pool.run(&busy, &mut host);
            tokio::pin!(busy);
            tokio::select! {
                biased;
                _ = &mut busy => panic!("ended by itself"),
                _ = &mut waiting => panic!("did not wait"),
                _ = until(&pool, "queued", |report| report.queued == 1) => {}
            }
        }
        // The worker is granted to the waiting run, which is no longer polled.
        until(&pool, "granted", |report| report.queued == 0 && report.running == 1).await;
    }
    let report = until(&pool, "free", |report| report.running == 0).await;
    assert_eq!(report.counters.started, 1);
    assert!(report.workers.iter().all(|worker| worker.is_resting));
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
}

#[tokio::test]
async fn admission_is_bounded_by_workers_and_the_queue() {
    let pool = start(PoolConfig { queue: 2, spares: 1, ..config(2) }).await;
    let jobs: Vec<Job> = (0..5).map(|_| job("wait")).collect();
    let mut hosts: Vec<WrittenBlobs> = (0..5).map(|_| WrittenBlobs::default()).collect();
    let mut runs: Vec<_> =
        jobs.iter().zip(&mut hosts).map(|(job, host)| Box::pin(pool.run(job, host))).collect();
    let mut last = runs.pop().unwrap();
    let mut others = JoinAll(&mut runs);
    tokio::select! {
        biased;
        () = &mut others => panic!("a run ended by itself"),
        _ = until(&pool, "full", |report| report.running == 2 && report.queued == 2) => {}
    }
    let refused = (&mut last).await.unwrap_err();
    assert!(matches!(refused, DispatchError::Overloaded), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Overloaded);
    let report = pool.report();
    assert_eq!((report.workers.len(), report.counters.overloaded), (3, 1));
    assert_eq!(report.workers.iter().filter(|worker| worker.is_resting).count(), 1);
}

/// Polls futures that are not expected to end.
struct JoinAll<'runs, F>(&'runs mut Vec<Pin<Box<F>>>);

impl<F: Future> Future for JoinAll<'_, F> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        for run in self.0.iter_mut() {
            if run.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

#[tokio::test]
async fn a_run_waits_no_longer_than_the_limit() {
    let queue_wait = Duration::from_millis(50);
    let pool = start(PoolConfig { queue_wait, ..config(1) }).await;
    let (busy, waiting) = (job("wait"), job("return {}"));
    let (mut host, mut other) = (WrittenBlobs::default(), WrittenBlobs::default());
    tokio::select! {
        biased;
        _ = pool.run(&busy, &mut host) => panic!("ended by itself"),
        refused = pool.run(&waiting, &mut other) => {
            assert!(matches!(refused, Err(DispatchError::Overloaded)), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn one_tenant_cannot_keep_another_waiting() {
    let pool = Arc::new(start(config(1)).await);
    let runs: Vec<_> = (0..20)
        .map(|number| {
            let pool = Arc::clone(&pool);
            let mut job = job("return {}");
            let name = if number == 19 { "modest" } else { "greedy" };
            job.spec.tenant = TenantId::parse(name).unwrap();
            tokio::spawn(async move {
                run(&pool, &job).await;
                (name, Instant::now())
            })
        })
        .collect();
    let mut ends = Vec::new();
    for run in runs {
        ends.push(run.await.unwrap());
    }
    ends.sort_by_key(|(_, end)| *end);
    let place = ends.iter().position(|(name, _)| *name == "modest").unwrap();
    assert!(place <= 3, "served as number {place}");
}
