//! The start and the end of pools and their workers.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::tests::{
    WrittenBlobs, command, config, config_of, error_type, has_ended, job, plays, run_script, start,
    until, watch,
};
use crate::{DispatchError, Pool, PoolConfig, WorkerCommand};
use wardian_vocabulary::error::{CauseChain, ErrorKind};

#[tokio::test]
async fn the_reason_for_not_starting_reaches_the_operator() {
    let startup_timeout = Duration::from_millis(300);
    for (role, reason) in [
        ("role-unable", "the sandbox cannot start: the engine is missing"),
        ("role-mute", "the process was not ready within 0.3 s"),
        ("role-nobody", "the process exited immediately with exit status: 0"),
    ] {
        let pool = Pool::start(PoolConfig { startup_timeout, ..config_of(role, 1) }).unwrap();
        let failure = pool.ready().await.unwrap_err();
        let chain = CauseChain(&failure).to_string();
        assert_eq!(chain, format!("no worker can be started: {reason}"), "{role}");
        assert_eq!(failure.to_string(), "no worker can be started");
        assert_eq!(failure.kind(), ErrorKind::Internal);
    }
    let nowhere =
        WorkerCommand { program: "/no/such/program".into(), ..WorkerCommand::same_program(vec![]) };
    let pool = Pool::start(PoolConfig::new(nowhere, 1)).unwrap();
    assert!(matches!(pool.ready().await, Err(DispatchError::Start(_))));
}

#[tokio::test]
async fn without_any_worker_nobody_waits_longer_than_the_queue_has() {
    let (queue_wait, first_wait) = (Duration::from_millis(300), Duration::from_secs(3_600));
    // A start that ran out of memory, a crash and a silent worker are transient: the next may succeed.
    for role in ["role-short", "role-nobody", "role-mute"] {
        let config = PoolConfig { queue_wait, first_wait, ..config_of(role, 1) };
        let pool = Pool::start(config).unwrap();
        let (job, mut host) = (job("return {}"), WrittenBlobs::default());
        let refused = timeout(Duration::from_secs(20), pool.run(&job, &mut host)).await.unwrap();
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Overloaded, "{role}: {refused:?}");
        assert!(refused.retry_after().is_some());
        let has_reason = matches!(refused, DispatchError::NoneStarted { .. });
        assert!(has_reason || role == "role-mute", "{role}: {refused:?}");
    }
}

#[tokio::test]
async fn nobody_waits_for_workers_that_cannot_start() {
    let nowhere =
        WorkerCommand { program: "/no/such/program".into(), ..WorkerCommand::same_program(vec![]) };
    for (config, reason) in [
        (config_of("role-unable", 1), "the sandbox cannot start: the engine is missing"),
        (config_of("role-unable", 3), "the sandbox cannot start: the engine is missing"),
        (PoolConfig::new(nowhere, 1), "the process cannot be started: "),
    ] {
        let pool = Pool::start(PoolConfig { queue_wait: Duration::from_secs(3_600), ..config });
        let pool = pool.unwrap();
        // Those that wait already, and those that come later.
        for _ in 0..3 {
            let (job, mut host) = (job("return {}"), WrittenBlobs::default());
            let run = timeout(Duration::from_secs(20), pool.run(&job, &mut host));
            let failure = run.await.unwrap().unwrap_err();
            let chain = CauseChain(&failure).to_string();
            assert!(chain.starts_with(&format!("no worker can be started: {reason}")), "{chain}");
        }
        assert_eq!(pool.report().queued, 0, "a run was left in the queue");
    }
}

#[tokio::test]
async fn waiting_runs_get_workers_that_start_after_all() {
    let config = config_of("role-unable", 1);
    let able = config_of("role-worker", 1).command;
    let pool = Pool::start(config).unwrap();
    pool.ready().await.unwrap_err();
    // As after an update of the engine.
    pool.replace_workers(able).await.ok();
    let last = Instant::now() + Duration::from_secs(60);
    loop {
        let (job, mut host) = (job("return {}"), WrittenBlobs::default());
        match pool.run(&job, &mut host).await {
            Ok(finished) => return assert_eq!(error_type(&finished), "completed"),
            Err(failure) => assert!(Instant::now() < last, "{failure:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_pool_that_shuts_down_waits_for_runs_and_then_ends_them() {
    let pool = start(config(2)).await;
    let processes: Vec<_> =
        pool.report().workers.iter().map(|worker| watch(worker.process)).collect();
    let (patient, endless) = (job("complain 20000\nreturn {}"), job("wait"));
    let (mut host, mut other) = (WrittenBlobs::default(), WrittenBlobs::default());
    let end = async {
        until(&pool, "busy", |report| report.running == 2).await;
        pool.shut_down(Duration::from_millis(500)).await;
    };
    let (patient, endless, ()) =
        tokio::join!(pool.run(&patient, &mut host), pool.run(&endless, &mut other), end);
    assert_eq!(error_type(&patient.unwrap()), "completed");
    assert_eq!(error_type(&endless.unwrap()), "Cancelled");
    assert!(processes.iter().all(has_ended));
    let refused = pool.run(&job("return {}"), &mut WrittenBlobs::default()).await;
    assert!(matches!(refused, Err(DispatchError::ShuttingDown)), "{refused:?}");
    assert_eq!(pool.report().counters.crashed, 0, "{:?}", pool.report());
}

#[test]
fn no_orphans_when_a_pool_or_its_runtime_is_dropped() {
    for drops_pool in [true, false] {
        let runtime = Runtime::new().unwrap();
        let pool = runtime.block_on(start(config(2)));
        let processes: Vec<_> =
            pool.report().workers.iter().map(|worker| watch(worker.process)).collect();
        if drops_pool {
            drop(pool);
        } else {
            drop(runtime);
        }
        assert!(processes.iter().all(has_ended));
    }
}

/// A gateway in a separate process, with a worker whose guest ignores its cancellation.
#[test]
fn the_process_that_is_a_gateway() {
    if !plays("role-gateway") {
        return;
    }
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let pool = start(config(1)).await;
        let job = job("hang");
        let mut host = WrittenBlobs::default();
        let says = async {
            let report = until(&pool, "busy", |report| report.running == 1).await;
            writeln!(io::stdout(), "\n> {}", report.workers[0].process).unwrap();
            std::future::pending::<()>().await;
        };
        tokio::join!(pool.run(&job, &mut host), says).0.unwrap();
    });
}

#[test]
fn no_orphans_when_the_gateway_is_killed() {
    let WorkerCommand { program, arguments, .. } =
        command("tests::lifetime::the_process_that_is_a_gateway", "role-gateway");
    let mut gateway = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(gateway.stdout.take().unwrap()).lines();
    let mut numbers = lines.filter_map(|line| line.unwrap().strip_prefix("> ")?.parse().ok());
    let worker = watch(numbers.next().unwrap());
    gateway.kill().unwrap();
    gateway.wait().unwrap();
    assert!(has_ended(&worker));
}

#[tokio::test]
async fn workers_are_replaced_between_runs_and_never_within_one() {
    let pool = Arc::new(start(config(2)).await);
    let before: BTreeSet<u32> = pool.report().workers.iter().map(|one| one.process).collect();
    let running = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move {
            for _ in 0..50 {
                assert!(run_script(&pool, "return {}").await.outcome.end.is_ok());
            }
        }
    });
    pool.replace_workers(config(2).command).await.unwrap();
    running.await.unwrap();
    let report = pool.report();
    let after: BTreeSet<u32> = report.workers.iter().map(|one| one.process).collect();
    assert_eq!(after.len(), 2);
    assert!(after.is_disjoint(&before), "{before:?} {after:?}");
    assert_eq!((report.counters.finished, report.counters.crashed), (50, 0));
}
