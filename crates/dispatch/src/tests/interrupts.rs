//! Turns that their callers interrupt, in real processes.

use std::time::Duration;

use tokio::join;
use tokio::time::{sleep, timeout};

use crate::tests::{SOON, WrittenBlobs, config, error_type, job, logs, start, until};
use crate::{FinishedRun, HeldGuest, Pool, PoolConfig, TurnInterrupter};
use wardian_formats::job::session::cell::{CellOrder, INTERRUPT_GRACE};

async fn pool() -> Pool {
    start(PoolConfig { most_held: 2, ..config(1) }).await
}

async fn turn(guest: &mut HeldGuest, source: &str) -> FinishedRun {
    let (order, mut host) = (job(source), WrittenBlobs::default());
    let ended = guest.turn(&order.turn, &mut host);
    timeout(SOON, ended).await.expect("it goes on for ever").unwrap()
}

/// Interrupts the turn in progress, as soon as there is one.
async fn interrupt(interrupter: &TurnInterrupter) {
    while !interrupter.interrupt() {
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn an_interrupted_turn_ends_and_its_guest_goes_on() {
    let pool = pool().await;
    let mut guest = pool.open(job("").guest);
    let interrupter = guest.interrupter();
    assert!(!interrupter.interrupt(), "it has no turn");
    assert!(turn(&mut guest, "keep one\nreturn {}").await.is_guest_kept);
    for round in 0..3 {
        assert!(!interrupter.interrupt(), "between two turns");
        let interrupts = async {
            until(&pool, "running", |report| report.running == 1).await;
            interrupt(&interrupter).await;
            assert!(interrupter.interrupt(), "a second time has no other effect");
        };
        let (ended, ()) = join!(turn(&mut guest, "interruptible"), interrupts);
        assert_eq!((error_type(&ended), ended.is_guest_kept), ("KeyboardInterrupt", true));
        let next = turn(&mut guest, "kept\nreturn {}").await;
        assert_eq!((error_type(&next), logs(&next)), ("completed", vec!["one"]), "{round}");
    }
    assert_eq!(pool.report().counters.ended, 0, "no worker was lost");
}

#[tokio::test]
async fn a_turn_that_waits_for_its_worker_is_interrupted_when_it_begins() {
    let pool = pool().await;
    let mut guest = pool.open(job("").guest);
    let interrupter = guest.interrupter();
    let (ended, ()) = join!(turn(&mut guest, "keep x\ninterruptible"), interrupt(&interrupter));
    assert_eq!((error_type(&ended), ended.is_guest_kept), ("KeyboardInterrupt", true));
    assert_eq!(logs(&turn(&mut guest, "kept\nreturn {}").await), ["x"]);
}

#[tokio::test]
async fn an_interrupted_wait_ends_as_if_nothing_had_come() {
    let pool = pool().await;
    let mut guest = pool.open(job("").guest);
    let interrupter = guest.interrupter();
    let interrupts = async {
        until(&pool, "running", |report| report.running == 1).await;
        sleep(Duration::from_millis(20)).await;
        interrupt(&interrupter).await;
    };
    let (ended, ()) = join!(turn(&mut guest, "receive\ninterruptible"), interrupts);
    assert_eq!((error_type(&ended), logs(&ended)), ("KeyboardInterrupt", vec!["[0, 2]"]));
}

#[tokio::test]
async fn a_worker_has_a_second_more_for_a_cell() {
    let pool = start(PoolConfig { grace: Duration::from_millis(100), ..config(1) }).await;
    for cell in [None, Some(CellOrder::new(1, false))] {
        let mut job = job("hang");
        job.turn.limits.wall_time = Duration::from_millis(50);
        job.turn.cell = cell.clone();
        let ended = pool.open(job.guest).turn(&job.turn, &mut WrittenBlobs::default()).await;
        let ended = ended.unwrap();
        assert_eq!((error_type(&ended), ended.is_worker_lost), ("Timeout", true));
        let took = ended.outcome.usage.wall_time;
        assert_eq!(took >= INTERRUPT_GRACE, cell.is_some(), "{took:?}");
    }
}
