//! Workers that end by themselves, and workers that have to be ended.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Signal, pidfd_send_signal};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::PoolConfig;
use crate::tests::{config, error_type, has_ended, job, run, run_script, start, until, watch};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_run_one_crash_and_the_others_go_on() {
    let pool = start(config(2)).await;
    for (number, way) in ["abort", "panic", "break"].into_iter().enumerate() {
        let (broken, fine) =
            tokio::join!(run_script(&pool, way), run_script(&pool, "log x\nreturn {}"));
        assert_eq!(error_type(&broken), "SandboxCrash", "{way}");
        assert_eq!(error_type(&fine), "completed", "beside {way}");
        let report = until(&pool, "back to size", |report| report.workers.len() == 2).await;
        assert_eq!(report.counters.crashed, number as u64 + 1);
        assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
    }
}

/// Nobody can make a server look broken with programs that crash.
#[tokio::test]
async fn a_program_that_breaks_its_interpreter_is_no_fault_of_the_machine() {
    let pool = start(config(1)).await;
    let worker = pool.report().workers[0].process;
    for number in 1..=3 {
        assert_eq!(error_type(&run_script(&pool, "trap").await), "SandboxCrash");
        let counters = pool.report().counters;
        assert_eq!((counters.crashed, counters.broke_interpreter), (0, number));
    }
    assert_eq!(pool.report().workers[0].process, worker, "no worker was lost");
}

/// The next run arrives before the cleaning up fails, during it, or afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_run_is_lost_to_a_worker_that_could_not_be_cleaned_up() {
    let pool = start(config(1)).await;
    for milliseconds in [0, 1, 5, 30, 100, 300] {
        for pause in [0, 10, 60] {
            let spoiled = run_script(&pool, &format!("spoil {milliseconds}\nreturn 1")).await;
            assert_eq!(error_type(&spoiled), "completed", "it has its answer already");
            tokio::time::sleep(Duration::from_millis(pause)).await;
            let next = run_script(&pool, "log x\nreturn 2").await;
            assert_eq!(error_type(&next), "completed", "{milliseconds} ms, then {pause} ms");
            assert_eq!(next.output.unwrap().into_bytes().unwrap(), b"2");
        }
    }
    let counters = pool.report().counters;
    assert_eq!((counters.crashed, counters.violations), (0, 0), "{counters:?}");
    assert!(counters.repeated > 0, "no run was sent to a worker that had to decline it");
}

#[tokio::test]
async fn a_worker_that_does_not_stop_in_time_is_killed() {
    let grace = Duration::from_millis(50);
    let pool = start(PoolConfig { grace, ..config(1) }).await;
    let process = watch(pool.report().workers[0].process);
    let mut endless = job("hang");
    endless.turn.limits.wall_time = Duration::from_millis(100);

    let started = Instant::now();
    let finished = run(&pool, &endless).await;

    assert_eq!(error_type(&finished), "Timeout");
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert!(has_ended(&process));
    assert_eq!(pool.report().counters.overdue, 1);
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn back_to_size_after_every_kill_under_load() {
    let pool = Arc::new(start(config(2)).await);
    let load = Arc::clone(&pool);
    let (stop, mut stopped) = oneshot::channel::<()>();
    let load = tokio::spawn(async move {
        let (mut fine, mut crashed) = (0_u64, 0_u64);
        while stopped.try_recv().is_err() {
            let source = "log x\nreturn {}";
            let (one, two) = tokio::join!(run_script(&load, source), run_script(&load, source));
            for finished in [one, two] {
                match error_type(&finished) {
                    "completed" => fine += 1,
                    "SandboxCrash" => crashed += 1,
                    other => panic!("ended as {other}"),
                }
            }
        }
        (fine, crashed)
    });
    for round in 0..30 {
        let report = until(&pool, "full", |report| report.workers.len() == 2).await;
        let victim = report.workers[round % 2].clone();
        pidfd_send_signal(watch(victim.process), Signal::KILL).unwrap();
        let killed = Instant::now();
        until(&pool, "back to size", |report| {
            report.workers.len() == 2 && report.workers.iter().all(|w| w.id != victim.id)
        })
        .await;
        assert!(killed.elapsed() < Duration::from_millis(2_000), "{:?}", killed.elapsed());
    }
    stop.send(()).unwrap();
    let (fine, crashed) = load.await.unwrap();
    assert!(crashed <= 30, "{crashed} runs for 30 kills");
    assert!(fine > 30, "{fine}");
    assert_eq!(pool.report().counters.crashed, crashed);
}

#[tokio::test]
async fn back_to_size_without_a_pause_after_idle_workers_were_killed() {
    let pool = start(config(1)).await;
    for round in 1..=3 {
        let victim = pool.report().workers[0].clone();
        pidfd_send_signal(watch(victim.process), Signal::KILL).unwrap();
        let report = until(&pool, "back to size", |report| {
            report.workers.first().is_some_and(|worker| worker.id != victim.id)
        });
        let counters = report.await.counters;
        assert_eq!((counters.ended, counters.failed_starts), (round, 0));
    }
}

#[tokio::test]
async fn a_run_gets_a_worker_although_all_have_just_died() {
    let pool = start(config(5)).await;
    for worker in pool.report().workers {
        let process = watch(worker.process);
        pidfd_send_signal(&process, Signal::KILL).unwrap();
        assert!(has_ended(&process));
    }
    // The pool has not noticed it yet: its tasks run on this thread.
    assert_eq!(error_type(&run_script(&pool, "return {}").await), "completed");
}

#[tokio::test]
async fn a_worker_that_floods_its_standard_error_still_completes_its_run() {
    let pool = start(config(1)).await;
    assert_eq!(error_type(&run_script(&pool, "complain 100000\nreturn {}").await), "completed");
}
