//! Tenants with their own workers, on real processes.

use std::collections::{BTreeMap, BTreeSet};

use crate::tests::{WrittenBlobs, config, error_type, job, start, until};
use crate::{Isolation, Job, Pool, PoolConfig, WorkerId, WorkerOwner};
use wardian_vocabulary::ids::TenantId;

fn apart(workers: usize, spares: usize) -> PoolConfig {
    PoolConfig { spares, isolation: Isolation::Process, ..config(workers) }
}

fn tenant(who: usize) -> TenantId {
    TenantId::parse(&format!("tenant-{who}")).unwrap()
}

fn job_of(who: usize, source: &str) -> Job {
    let mut job = job(source);
    job.guest.setup.tenant = tenant(who);
    job
}

/// Runs a script, and returns the worker that had it with the type of its end.
async fn run_of(pool: &Pool, who: usize, source: &str) -> (WorkerId, String) {
    let finished = pool.run(&job_of(who, source), &mut WrittenBlobs::default()).await.unwrap();
    (finished.worker, error_type(&finished).to_owned())
}

#[tokio::test]
async fn no_worker_serves_two_tenants_whatever_ends_their_runs() {
    let pool = start(apart(2, 1)).await;
    let mut served: BTreeMap<WorkerId, BTreeSet<usize>> = BTreeMap::new();
    let scripts = ["return {}", "abort", "return {}", "spoil 1", "panic", "return {}"];
    for round in 0..24 {
        let one = run_of(&pool, round % 3, scripts[round % scripts.len()]);
        let other = run_of(&pool, (round / 2) % 5, "return {}");
        let ((first, _), (second, end)) = tokio::join!(one, other);
        assert_eq!(end, "completed", "round {round}");
        served.entry(first).or_default().insert(round % 3);
        served.entry(second).or_default().insert((round / 2) % 5);
    }
    for (worker, tenants) in &served {
        assert_eq!(tenants.len(), 1, "worker {worker} has served {tenants:?}");
    }
    let report = pool.report();
    assert!(report.counters.given_up > 5, "tenants did change: {:?}", report.counters);
    for worker in &report.workers {
        let owner = served.get(&worker.id).map(|tenants| tenant(*tenants.first().unwrap()));
        assert_eq!(worker.owner, owner.map(WorkerOwner::Tenant));
    }
}

#[tokio::test]
async fn results_for_all_tenants_come_from_workers_that_have_served_none() {
    let pool = start(apart(2, 1)).await;
    let (own, _) = run_of(&pool, 1, "return {}").await;
    let compilation = job_of(1, "return {}");
    let mut host = WrittenBlobs::default();
    let compiled = pool.run_own(&compilation, &mut host).await.unwrap().worker;
    let again = pool.run_own(&compilation, &mut host).await.unwrap().worker;
    assert_ne!(compiled, own);
    assert_eq!(compiled, again, "the server is an owner like any");
    assert_eq!(run_of(&pool, 1, "return {}").await.0, own, "the tenant keeps its worker");
}

#[tokio::test]
async fn a_pool_with_one_worker_changes_it_for_each_tenant() {
    let pool = start(apart(1, 0)).await;
    let mut workers = BTreeSet::new();
    for round in 0..6 {
        workers.insert(run_of(&pool, round, "return {}").await.0);
    }
    assert_eq!(workers.len(), 6);
    let counters = pool.report().counters;
    assert_eq!((counters.given_up, counters.awaited), (5, 5));
}

#[tokio::test]
async fn a_caller_that_leaves_while_its_worker_starts_loses_nothing() {
    let pool = start(apart(1, 0)).await;
    run_of(&pool, 0, "return {}").await;
    let job = job_of(1, "return {}");
    let mut host = WrittenBlobs::default();
    tokio::select! {
        biased;
        _ = pool.run(&job, &mut host) => panic!("no process starts at once"),
        () = std::future::ready(()) => {}
    }
    let report = until(&pool, "ready", |report| report.workers.iter().any(|one| one.runs == 0));
    assert_eq!(report.await.running, 0);
    assert_eq!(run_of(&pool, 2, "return {}").await.1, "completed");
}

#[tokio::test]
async fn a_pool_that_shuts_down_ends_runs_whose_worker_is_starting() {
    let pool = start(apart(1, 0)).await;
    run_of(&pool, 0, "return {}").await;
    let job = job_of(1, "return {}");
    let mut host = WrittenBlobs::default();
    let (ended, ()) = tokio::join!(pool.run(&job, &mut host), async {
        until(&pool, "promised", |report| report.running == 1).await;
        pool.shut_down(std::time::Duration::from_secs(10)).await;
    });
    assert_eq!(error_type(&ended.unwrap()), "completed", "an admitted run is not lost");
    assert!(pool.report().workers.is_empty());
}
