//! Admission of runs, the queue, and callers that leave.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::tests::{WrittenBlobs, config, error_type, job, run, run_script, start, until};
use crate::{DispatchError, Isolation, Job, Pool, PoolConfig, PoolReport, memory_of};
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::error::ErrorKind;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::quotas::{TenantLimits, TenantPolicy, TimeQuota};
use wardian_vocabulary::units::ByteCount;

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
    assert!(matches!(refused, DispatchError::Overloaded { .. }), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::Overloaded);
    let report = pool.report();
    assert_eq!((report.workers.len(), report.counters.overloaded), (3, 1));
    assert_eq!(report.workers.iter().filter(|worker| worker.is_resting).count(), 1);
}

/// Polls runs until the pool is as `is_so` says, and checks that it stays so.
async fn drive_until(pool: &Pool, jobs: &[Job], what: &str, is_so: impl Fn(&PoolReport) -> bool) {
    let mut hosts: Vec<WrittenBlobs> = jobs.iter().map(|_| WrittenBlobs::default()).collect();
    let mut runs: Vec<_> =
        jobs.iter().zip(&mut hosts).map(|(job, host)| Box::pin(pool.run(job, host))).collect();
    let mut all = JoinAll(&mut runs);
    tokio::select! {
        biased;
        () = &mut all => panic!("a run ended by itself"),
        () = async {
            until(pool, what, &is_so).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(is_so(&pool.report()), "no longer {what}: {:?}", pool.report());
        } => {}
    }
}

#[tokio::test]
async fn runs_that_wait_make_room_and_those_that_compute_do_not() {
    let pool = start(PoolConfig { most_runs: 4, ..config(1) }).await;
    let jobs: Vec<Job> = (0..6).map(|_| job("wait")).collect();
    let full =
        |report: &PoolReport| (report.workers.len(), report.running, report.queued) == (4, 4, 2);
    drive_until(&pool, &jobs, "grown", full).await;
    until(&pool, "free", |report| report.running == 0).await;
    let jobs: Vec<Job> = ["wait", "compute", "wait", "wait"].map(job).into();
    let some = |report: &PoolReport| (report.running, report.queued) == (2, 2);
    drive_until(&pool, &jobs, "computing", some).await;
}

#[tokio::test]
async fn a_tenant_without_runs_begins_beyond_the_cores() {
    let isolation = Isolation::Process;
    let pool = start(PoolConfig { most_runs: 4, isolation, ..config(2) }).await;
    let tenants = ["a", "a", "a", "a", "b", "b"];
    let jobs: Vec<Job> = tenants.map(|tenant| job_of(tenant, "compute")).into();
    let one_more = |report: &PoolReport| (report.running, report.queued) == (3, 3);
    drive_until(&pool, &jobs, "three computing", one_more).await;
}

/// A pool of two scripted workers in which every tenant has these limits.
fn limiting(usual: TenantLimits) -> PoolConfig {
    PoolConfig { tenants: TenantPolicy { usual, ..TenantPolicy::NONE }, ..config(2) }
}

fn job_of(tenant: &str, source: &str) -> Job {
    let mut job = job(source);
    job.guest.setup.tenant = TenantId::parse(tenant).unwrap();
    job
}

#[tokio::test]
async fn a_tenant_at_its_bounds_is_refused_and_others_are_not() {
    let pool = start(limiting(TenantLimits { running: 1, queued: 1, ..TenantLimits::NONE })).await;
    let jobs: Vec<Job> = (0..2).map(|_| job_of("greedy", "wait")).collect();
    let mut hosts: Vec<WrittenBlobs> = (0..2).map(|_| WrittenBlobs::default()).collect();
    let mut runs: Vec<_> =
        jobs.iter().zip(&mut hosts).map(|(job, host)| Box::pin(pool.run(job, host))).collect();
    let mut others = JoinAll(&mut runs);
    tokio::select! {
        biased;
        () = &mut others => panic!("a run ended by itself"),
        _ = until(&pool, "full", |report| report.running == 1 && report.queued == 1) => {}
    }
    let greedy = job_of("greedy", "return {}");
    let (tenant, limits) = (&greedy.guest.setup.tenant, &RunLimits::DEFAULT);
    let early = pool.ensure_room(tenant, limits).unwrap_err();
    let refused = pool.run(&greedy, &mut WrittenBlobs::default()).await.unwrap_err();
    for refused in [early, refused] {
        assert!(matches!(refused, DispatchError::TenantBusy { .. }), "{refused}");
        assert_eq!(refused.kind(), ErrorKind::RateLimited);
        assert!(refused.retry_after().unwrap() >= Duration::from_millis(100));
    }
    assert_eq!((pool.report().counters.limited, pool.report().counters.overloaded), (2, 0));
    let modest = job_of("modest", "return {}");
    assert!(pool.ensure_room(&modest.guest.setup.tenant, limits).is_ok());
    assert_eq!(error_type(&run(&pool, &modest).await), "completed");
}

#[tokio::test]
async fn memory_admission_makes_runs_wait_for_one_another() {
    let one = memory_of(&RunLimits::DEFAULT);
    let pool = start(PoolConfig { memory: Some(one), ..config(2) }).await;
    let (busy, waiting) = (job("wait"), job("return {}"));
    let (mut host, mut other) = (WrittenBlobs::default(), WrittenBlobs::default());
    let mut waiting = Box::pin(pool.run(&waiting, &mut other));
    {
        let busy = pool.run(&busy, &mut host);
        tokio::pin!(busy);
        tokio::select! {
            biased;
            _ = &mut busy => panic!("ended by itself"),
            _ = &mut waiting => panic!("two runs do not fit into the memory"),
            _ = until(&pool, "queued", |report| report.queued == 1) => {}
        }
        assert!(
            pool.report().workers.iter().any(|worker| worker.is_resting),
            "it waits for memory"
        );
    }
    assert_eq!(error_type(&waiting.await.unwrap()), "completed");
    let mut large = job("return {}");
    large.guest.setup.limits.memory = ByteCount::bytes(one.as_u64() + 1);
    let refused = pool.run(&large, &mut WrittenBlobs::default()).await.unwrap_err();
    assert!(matches!(refused, DispatchError::TooMuchMemory), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn a_tenant_that_has_used_its_time_is_refused_and_the_server_itself_is_not() {
    let (time, period) = (Duration::from_millis(50), Duration::from_secs(3_600));
    let run_time = Some(TimeQuota { time, period });
    let pool = start(limiting(TenantLimits { run_time, ..TenantLimits::NONE })).await;
    let long = job_of("greedy", "wait");
    let mut host = WrittenBlobs::default();
    timeout(Duration::from_millis(100), pool.run(&long, &mut host)).await.unwrap_err();
    until(&pool, "free", |report| report.running == 0).await;
    let next = job_of("greedy", "return {}");
    let refused = pool.run(&next, &mut host).await.unwrap_err();
    assert!(matches!(refused, DispatchError::TimeUsed { .. }), "{refused}");
    assert_eq!(refused.kind(), ErrorKind::RateLimited);
    // 50 ms too many come back at 50 ms in an hour.
    assert!(refused.retry_after().unwrap() >= period * 9 / 10, "{:?}", refused.retry_after());
    assert_eq!(error_type(&pool.run_own(&next, &mut host).await.unwrap()), "completed");
    assert_eq!(error_type(&run(&pool, &job_of("modest", "return {}")).await), "completed");
}

#[tokio::test]
async fn a_tenant_at_its_limits_does_not_delay_the_server_itself() {
    let pool = start(limiting(TenantLimits { running: 1, queued: 0, ..TenantLimits::NONE })).await;
    let (long, own) = (job_of("greedy", "wait"), job_of("greedy", "return {}"));
    let [mut host, mut other, mut third] = [(); 3].map(|()| WrittenBlobs::default());
    tokio::select! {
        biased;
        _ = pool.run(&long, &mut host) => panic!("ended by itself"),
        () = async {
            until(&pool, "busy", |report| report.running == 1).await;
            let refused = pool.run(&own, &mut other).await.unwrap_err();
            assert!(matches!(refused, DispatchError::TenantBusy { .. }), "{refused}");
            assert_eq!(error_type(&pool.run_own(&own, &mut third).await.unwrap()), "completed");
        } => {}
    }
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
            assert!(matches!(refused, Err(DispatchError::Overloaded { .. })), "{refused:?}");
        }
    }
}

/// The test of the invariant `turn-of-every-tenant`.
#[tokio::test]
async fn turn_of_every_tenant_comes_however_long_the_runs_of_others_take() {
    let queue_wait = Duration::from_millis(50);
    let of = |tenant: &str, source: &str| {
        let mut job = job(source);
        job.guest.setup.tenant = TenantId::parse(tenant).unwrap();
        job
    };
    for (first_wait, is_served) in [(Duration::from_secs(20), true), (Duration::ZERO, false)] {
        let pool = start(PoolConfig { queue_wait, first_wait, ..config(1) }).await;
        let [busy, more, modest, too] = [
            of("greedy", "wait"),
            of("greedy", "return {}"),
            of("modest", "return {}"),
            of("modest", "return {}"),
        ];
        let [mut first, mut second, mut third, mut fourth] =
            [(); 4].map(|()| WrittenBlobs::default());
        let mut long = Box::pin(pool.run(&busy, &mut first));
        tokio::select! {
            biased;
            _ = &mut long => panic!("ended by itself"),
            _ = until(&pool, "busy", |report| report.running == 1) => {}
        }
        let next = pool.run(&modest, &mut third);
        let behind = pool.run(&too, &mut fourth);
        tokio::pin!(next, behind);
        tokio::select! {
            biased;
            _ = &mut long => panic!("ended by itself"),
            refused = pool.run(&more, &mut second) => {
                assert!(matches!(refused, Err(DispatchError::Overloaded { .. })), "{refused:?}");
            }
            _ = &mut next, if is_served => panic!("it did not wait"),
        }
        if !is_served {
            assert!(matches!(next.await, Err(DispatchError::Overloaded { .. })));
            continue;
        }
        // A second run of the tenant is not its next.
        tokio::select! {
            biased;
            _ = &mut next => panic!("it did not wait"),
            refused = &mut behind => {
                assert!(matches!(refused, Err(DispatchError::Overloaded { .. })), "{refused:?}");
            }
        }
        drop(long);
        let served = timeout(Duration::from_secs(10), next).await.unwrap();
        assert!(served.is_ok(), "{served:?}");
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
            job.guest.setup.tenant = TenantId::parse(name).unwrap();
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
